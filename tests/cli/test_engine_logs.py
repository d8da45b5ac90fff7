"""`hitpath analyze` of an engine's log or metrics: from files and standard input, the document,
and one line for options that need requests."""

import gzip
import json

import pytest

from cli import ROOT, call, is_one_line, process
from support import shared_data

LINE = (
    "(APIServer pid=7) INFO 11-10 11:42:50 [loggers.py:127] Engine 000: Avg prompt throughput: 5.1 "
    "tokens/s, Avg generation throughput: 0.1 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV "
    "cache usage: 0.1%, Prefix cache hit rate: 62.5%\n"
)
METRICS = (
    'vllm:prefix_cache_queries_total{{engine="0",model_name="m"}} {}\n'
    'vllm:prefix_cache_hits_total{{engine="0",model_name="m"}} {}\n'
)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "server.log"
    path.write_text("a line of no use\n" * 3 + LINE)
    return path


def test_a_log_is_read_without_an_option(log):
    ended = call("analyze", log)
    assert (ended.code, ended.err) == (0, "")
    lines = [line.strip() for line in ended.text.splitlines()]
    assert lines[1] == "62.5 % of prompt tokens hit in the engine's own cache"
    assert lines[2] == "window: the last 1,000 requests before 11-10 11:42:50"
    assert lines[3].startswith("weighted by tokens from vLLM 0.9, by blocks before")


def test_standard_input_is_read_once_and_whole(log):
    from_file = json.loads(call("analyze", log, "--json", "-").text)
    from_pipe = json.loads(call("analyze", "-", "--json", "-", stdin=log.read_bytes()).text)
    assert from_pipe["num_lines"] == from_file["num_lines"] == 4
    assert from_pipe["observations"][0]["rate"] == 0.625
    assert from_pipe["inputs"] == ["stdin"]


def test_a_compressed_log(tmp_path):
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(LINE.encode()))
    assert "62.5 % of prompt tokens" in call("analyze", path).text


def test_two_scrapes_answer_for_the_time_between_them(tmp_path):
    for name, queries, hits in (("before", 1000, 500), ("after", 3000, 800)):
        (tmp_path / name).write_text(METRICS.format(queries, hits))
    ended = call("analyze", tmp_path / "before", tmp_path / "after", "--json", tmp_path / "o.json")
    assert ended.text.splitlines()[1].strip().startswith("15.00 % of prompt tokens")
    document = json.loads((tmp_path / "o.json").read_text())
    answer = document["observations"][document["answer"]["observations"][0]]
    assert (answer["hit"], answer["total"], answer["kind"]) == (300, 2000, "difference")
    assert answer["window"]["kind"] == "between_scrapes"


def test_the_same_input_gives_the_same_bytes(log):
    assert call("analyze", log).out == call("analyze", log).out
    assert call("analyze", log, "--json", "-").out == call("analyze", log, "--json", "-").out


@pytest.mark.parametrize(
    "options",
    [
        ("--html", "x.html"),
        ("--per-request", "x.jsonl"),
        ("--ledger", "x.parquet"),
        ("--svg", "x.svg"),
        ("--sample", "0.1"),
        ("--engine", "lru", "--capacity-tokens", "64"),
        ("--last-token",),
        ("--outputs", "insert"),
        ("--block-size", "32"),
        ("--workers", "2"),
        ("--seed", "1"),
        ("--split-models",),
    ],
)
def test_options_that_need_requests_are_refused(log, options, monkeypatch):
    monkeypatch.chdir(log.parent)
    ended = call("analyze", log, *options)
    assert ended.code == 2
    assert ended.out == b""
    assert is_one_line(ended.err)
    assert "needs requests" in ended.err
    assert sorted(path.name for path in log.parent.iterdir()) == ["server.log"]


def test_other_commands_say_what_reads_it(log):
    ended = call("explain", "r1", log)
    assert ended.code == 2
    assert is_one_line(ended.err)
    assert "`hitpath analyze`" in ended.err


def test_a_log_and_a_trace_are_not_mixed(log, tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text('{"id": 1, "arrival_s": 0, "tokens": [1, 2, 3]}\n')
    ended = call("analyze", trace, log)
    assert ended.code == 2
    assert "give them apart" in ended.err


def test_a_bad_sample_is_one_line_or_listed(tmp_path):
    path = tmp_path / "m.prom"
    path.write_text(METRICS.format(4, 1) + "vllm:prefix_cache_hits_total -1\n")
    ended = call("analyze", path)
    assert ended.code == 2
    assert is_one_line(ended.err)
    assert "m.prom:3: vllm:prefix_cache_hits: -1 is no count" in ended.err
    listed = call("analyze", path, "--skip-bad-rows", "--json", "-")
    assert [row["place"][-2:] for row in json.loads(listed.text)["skipped_rows"]] == [":3"]


def test_a_closed_reader_ends_it_quietly(log):
    for i in range(200):
        with log.open("a") as file:
            file.write(LINE.replace("pid=7", f"pid={i}"))
    ended = process(f"hitpath analyze {log} | head -1", ROOT)
    assert ended.stderr == b""


def test_the_real_excerpts_together():
    folder = shared_data("engine_logs")
    ended = call(
        "analyze", *sorted(folder.glob("*_log*.txt")), *sorted(folder.glob("*metrics*.txt"))
    )
    assert (ended.code, ended.err) == (0, "")
    assert "Not known from this" in ended.text
