"""`hitpath.observe`: what an engine's log or metrics say, from Python. Lines are written by hand
from the documented shape (the sources are named in the readers)."""

import json

import pytest

import hitpath
from cli import call

LINE = (
    "INFO 11-10 {at} [loggers.py:127] Engine {engine:03}: Avg prompt throughput: 812.3 tokens/s, "
    "Prefix cache hit rate: {rate}%\n"
)
METRICS = (
    'vllm:prefix_cache_hits_total{{engine="0"}} {hits}\n'
    'vllm:prefix_cache_queries_total{{engine="0"}} {queries}\n'
    'vllm:cache_config_info{{block_size="16",enable_prefix_caching="True"}} 1.0\n'
)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "vllm.log"
    path.write_text(LINE.format(at="11:42:50", engine=0, rate="60.0"))
    return path


@pytest.fixture
def scrapes(tmp_path):
    paths = []
    for i, (hits, queries) in enumerate(((300, 1000), (900, 2000))):
        paths.append(tmp_path / f"m{i}.txt")
        paths[-1].write_text(METRICS.format(hits=hits, queries=queries))
    return paths


def test_counters_of_two_scrapes(scrapes):
    found = hitpath.observe(scrapes)
    assert found.hit_rate == 600 / 1000
    assert found.engines == ("vllm",)
    [between] = [row for row in found.rates.to_pylist() if row["in_answer"]]
    assert (between["hit"], between["total"], between["unit"]) == (600, 1000, "tokens")
    assert (between["kind"], between["rate"]) == ("difference", 0.6)
    assert between["window"].startswith("between the scrapes")
    [since] = [row for row in found.rates.to_pylist() if not row["in_answer"]]
    assert (since["hit"], since["total"], since["rate"]) == (900, 2000, 0.45)
    assert found.facts["vllm", "prefix caching"] == "on"
    assert found.document["answer"]["text"] == found.answer
    assert (
        repr(found)
        == "Observed(60.00 % of prompt tokens hit in the engine's own cache; 2 rates of ('vllm',))"
    )


def test_it_is_the_commands_document(scrapes, log):
    for paths in (scrapes, [log]):
        told = json.loads(call("analyze", *paths, "--json", "-").text)
        found = hitpath.observe(paths)
        assert json.loads(json.dumps(found.document)) == told
        assert list(found.traps) == told["traps"]
        assert list(found.not_known) == told["not_known"]
        assert found.rates.num_rows == len(told["observations"])


def test_rates_that_cannot_be_added_are_no_one_rate(log):
    log.write_text(
        LINE.format(at="11:42:50", engine=0, rate="60.0")
        + LINE.format(at="11:42:51", engine=1, rate="90.0")
    )
    found = hitpath.observe(log)
    assert found.hit_rate is None
    assert found.answer == "60.0 % and 90.0 % of prompt tokens hit in the engine's own cache"
    assert [row["worker"] for row in found.rates.to_pylist()] == ["engine 0", "engine 1"]
    assert found.rates["hit"].to_pylist() == [None, None]


def test_what_cannot_be_right_is_told_or_left_out(scrapes):
    scrapes[0].write_text(METRICS.format(hits="-1", queries=2000))
    with pytest.raises(hitpath.InputError, match="prefix_cache_hits: -1 is no count"):
        hitpath.observe(scrapes[0])
    found = hitpath.observe(scrapes[0], skip_bad_rows=True)
    assert found.document["num_skipped_rows"] == 1
    assert (found.hit_rate, found.answer) == (None, None)
    assert repr(found) == "Observed(no hit rate; 0 rates of ())"


def test_a_log_is_no_trace_and_a_trace_no_log(log, tmp_path):
    for call_it in (
        hitpath.analyze,
        hitpath.read,
        lambda path: hitpath.diff(path, path),
        lambda path: hitpath.convert(path, tmp_path / "o.jsonl"),
    ):
        with pytest.raises(hitpath.InputError, match=r"in Python hitpath\.observe"):
            call_it(log)
    rows = [{"id": 1, "arrival_s": 0, "tokens": [1]}]
    trace = tmp_path / "t.jsonl"
    trace.write_text(json.dumps(rows[0]) + "\n")
    with pytest.raises(hitpath.InputError, match=r"a trace is for hitpath\.analyze"):
        hitpath.observe(trace)
    with pytest.raises(hitpath.InputError, match="give them apart"):
        hitpath.observe([log, trace])
    with pytest.raises(hitpath.InputError, match="no rows"):
        hitpath.observe(rows)
    with pytest.raises(hitpath.InputError, match="no such file"):
        hitpath.observe(tmp_path / "nothing.log")
