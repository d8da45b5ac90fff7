"""Traces of lengths only: sums over who reports, and no hit rate from nothing."""

import io
import json
from fractions import Fraction

import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cli import call
from hitpath.core import ABSENT, CAUSES, Setting, SettingError
from hitpath.report.lengths import lengths_document, write_lengths_per_request
from hitpath.report.rows import ledger_table
from hitpath.spine import analyze
from hitpath.summary import LengthsAnalysis
from hitpath.traces import read_trace
from support import write_jsonl
from unit.test_docs import ROOT, keys_of

ROWS = [
    {"id": "a", "arrival_s": 0, "prompt_tokens": 100, "output_tokens": 5, "session": "s"},
    {
        "id": "b",
        "arrival_s": 10,
        "prompt_tokens": 200,
        "session": "s",
        "finish_s": 14,
        "reported": {"cached_tokens": 0, "ttft_s": 0.5, "cache_write_tokens": 150},
    },
    {
        "id": "c",
        "arrival_s": 20,
        "prompt_tokens": 300,
        "output_tokens": 7,
        "session": "t",
        "reported": {"cached_by_tier": {"host": 60, "device": 120}, "ttft_s": 0.1},
    },
    {"id": "d", "arrival_s": 30, "prompt_tokens": 50, "reported": {"cached_tokens": 51}},
]


def analysed(tmp_path, rows, **options) -> LengthsAnalysis:
    path = str(write_jsonl(tmp_path / "t.jsonl", rows))
    found = analyze([path], Setting(**options))
    assert isinstance(found, LengthsAnalysis)
    return found


def test_rates_are_over_the_requests_that_report(tmp_path):
    found = analysed(tmp_path, ROWS)
    assert (found.prompt_tokens, found.hit_tokens) == (600, 180)  # d contradicts itself
    assert (found.missed_tokens, found.not_reported_tokens) == (320, 100)
    assert found.hit_rate.token_weighted == 180 / 500
    assert found.hit_rate.request_mean_token_full == pytest.approx((0 + 0.6) / 2)
    assert found.hit_rate.block_weighted is None
    assert found.steady.token_weighted == 180 / 300
    assert found.written_tokens == 150
    assert found.output_tokens == 12
    assert found.quantiles["ttft_s"].num_requests == 2
    assert found.quantiles["ttft_s"].values[1] == pytest.approx(0.3)
    assert found.quantiles["duration_s"].values == (4.0,) * 5
    assert [(s.name, s.num_requests, s.median_ttft_s) for s in found.by_share] == [
        ("no hit", 1, 0.5),
        ("50 to 90 %", 1, 0.1),
    ]
    by_session = {g.name: (g.num_requests, g.hit_tokens) for g in found.groups["session"]}
    assert by_session == {"s": (1, 0), "t": (1, 180)}
    assert all(g.possible_tokens is None for g in found.groups["session"])
    assert any("1 of 3 requests do not report" in note for note in found.warnings)


def test_the_document_has_every_key_of_an_analysis_and_says_why_null(tmp_path):
    document = lengths_document(analysed(tmp_path, ROWS))
    assert document["tokens"]["hit_by_tier"] == {"device": 120, "host": 60, "unknown": 0}
    assert document["tokens"]["causes"] == dict.fromkeys(CAUSES)
    assert set(document["tokens"]["not_known"]) == set(CAUSES)
    assert document["hit_rate_not_known"] is None
    rungs = [(rung["tokens"], rung["hit_rate"]) for rung in document["ladder"]]
    assert rungs == [(180, 0.36), *[(None, None)] * 7, (600, 1.0)]
    assert document["excluded_rows"][0]["id"] == "d"


def test_every_key_is_documented(tmp_path):
    page = (ROOT / "docs" / "json-output.md").read_text()
    keys = {*keys_of(lengths_document(analysed(tmp_path, ROWS)))}
    assert not [key for key in sorted(keys) if f"`{key}`" not in page]


def test_no_report_no_rate(tmp_path):
    rows = [{"id": i, "arrival_s": i, "prompt_tokens": 10 + i} for i in range(5)]
    found = analysed(tmp_path, rows)
    document = lengths_document(found)
    assert found.hit_tokens is None
    assert document["tokens"]["hit"] is None
    assert document["hit_rate"]["token_weighted"] is None
    assert "cannot be known" in document["hit_rate_not_known"]
    path = str(write_jsonl(tmp_path / "n.jsonl", rows))
    shown = call("analyze", path)
    assert shown.code == 0
    assert "No hit rate: lengths and times only" in shown.text
    assert " 0.00 %" not in shown.text


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--engine", "lru", "--capacity-tokens", "100"], "--engine lru"),
        (["--block-size", "16"], "--block-size"),
        (["--last-token"], "--last-token"),
        (["--outputs", "insert"], "--outputs insert"),
        (["--workers", "2"], "--workers"),
        (["--split-models"], "--split-models"),
        (["--sample", "0.1"], "--sample"),
    ],
)
def test_options_that_model_are_refused(tmp_path, options, named):
    path = str(write_jsonl(tmp_path / "t.jsonl", ROWS))
    refused = call("analyze", path, *options)
    assert refused.code == 2
    assert refused.err.startswith(f"hitpath: error: {named}: nothing to model here")


def test_explain_is_refused(tmp_path):
    path = str(write_jsonl(tmp_path / "t.jsonl", ROWS))
    refused = call("explain", "a", path)
    assert refused.code == 2
    assert "nothing to explain" in refused.err


def test_rows_and_ledger_have_the_columns_of_every_analysis(tmp_path):
    found = analysed(tmp_path, ROWS)
    lines = io.BytesIO()
    write_lengths_per_request(found, lines)
    rows = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [row["hit_tokens"] for row in rows] == [None, 0, 180, None]
    assert [row["reported_hit_tokens"] for row in rows] == [None, 0, 180, 51]
    assert [row["excluded"] for row in rows] == [False, False, False, True]
    path = str(write_jsonl(tmp_path / "t.jsonl", ROWS))
    ledger = tmp_path / "l.parquet"
    assert call("analyze", path, "--ledger", str(ledger)).code == 0
    table = pq.read_table(ledger)
    other = write_jsonl(
        tmp_path / "o.jsonl", [{"id": "x", "arrival_s": 0, "segments": [["a", 40]]}]
    )
    usual = ledger_table(analyze([str(other)], Setting()))
    assert table.schema.names == usual.schema.names
    assert table.schema.types == usual.schema.types
    assert table["hit_tokens"].to_pylist() == [None, 0, 180, None]
    assert table["cold"].null_count == len(table)


def test_a_written_part_beyond_the_prompt_is_excluded(tmp_path):
    rows = [{**ROWS[1], "reported": {"cached_tokens": 60, "cache_write_tokens": 141}}]
    trace = read_trace([str(write_jsonl(tmp_path / "t.jsonl", [ROWS[0], *rows]))])
    assert [problem.field for problem in trace.excluded.values()] == ["reported.cache_write_tokens"]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 500), st.none() | st.integers(0, 600), st.none() | st.floats(0, 9)
        ),
        min_size=1,
        max_size=30,
    )
)
def test_sums_against_plain_fractions(tmp_path_factory, told):
    rows = []
    for i, (prompt, hit, ttft_s) in enumerate(told):
        reported = {"cached_tokens": hit, "ttft_s": ttft_s}
        rows.append({"id": i, "arrival_s": i, "prompt_tokens": prompt, "reported": reported})
    assume(any(h is None or h <= p for p, h, _ in told))  # else nothing is left to sum up
    found = analysed(tmp_path_factory.mktemp("t"), rows)
    good = [(p, h) for p, h, _ in told if h is not None and h <= p]
    total = sum(p for p, _ in good)
    rate = Fraction(sum(h for _, h in good), total) if total else None
    assert found.hit_rate.token_weighted == (None if rate is None else float(rate))
    assert found.not_reported_tokens == sum(p for p, h, _ in told if h is None)
    assert sum(step.num_requests for step in found.by_share) == sum(p > 0 for p, _ in good)


def test_a_setting_error_names_the_option(tmp_path):
    with pytest.raises(SettingError, match="--last-token"):
        analysed(tmp_path, ROWS, last_token=True)


def test_what_text_in_bytes_reports_is_shown_apart(tmp_path):
    """Tokens of the engine stand beside bytes, and are in none of their rates."""
    rows = [
        {"id": i, "arrival_s": i, "prompt": "one prompt of forty bytes, near enough."}
        | {"reported": {"cached_tokens": hit, "prompt_tokens": 10, "counting": "inclusive"}}
        for i, hit in enumerate([0, 8])
    ]
    rows.append({"id": 2, "arrival_s": 2, "prompt": "other", "reported": {"cached_tokens": 3}})
    path = str(write_jsonl(tmp_path / "t.jsonl", rows))
    found = analyze([path], Setting(block_size=1))
    assert found.ledger.rungs.reported.tolist() == [ABSENT] * 3
    assert (found.apart.num_requests, found.apart.hit_tokens) == (2, 8)
    assert found.apart.hit_rate == 8 / 20
    shown = call("analyze", path)
    assert "40.00 %" in shown.text
    assert "2 requests, in the engine's tokens" in shown.text


def test_a_server_that_leaves_zeros_out_is_suspected(tmp_path):
    """vLLM before 0.24 reports no hit of 0: the rate over who reports is too high."""
    rows = [
        {"id": i, "arrival_s": i, "prompt_tokens": 10, "reported": {"cached_tokens": hit}}
        for i, hit in enumerate([None, 4, 8])
    ]
    suspected = "some servers leave a hit of 0 out"
    assert any(suspected in note for note in analysed(tmp_path, rows).warnings)
    rows[0]["reported"] = {"cached_tokens": 0}
    assert not any(suspected in note for note in analysed(tmp_path, rows).warnings)
    rows[1]["reported"] = {}
    assert not any(suspected in note for note in analysed(tmp_path, rows).warnings)


def test_nothing_is_left_where_every_request_contradicts_itself(tmp_path):
    """A wrong tokenizer makes every prompt's length differ: an error, not a page of zeros."""
    rows = [
        {"id": i, "arrival_s": i, "tokens": [1, 2, 3]}
        | {"reported": {"prompt_tokens": 4, "counting": "inclusive", "cached_tokens": 1}}
        for i in range(3)
    ]
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    refused = call("analyze", path)
    assert refused.code == 2
    assert "reported.prompt_tokens: all 3 requests contradict themselves" in refused.err
    assert "the model's own tokenizer" in refused.err
    written = call("convert", path, "--out", tmp_path / "o.jsonl")
    assert written.code == 0
    assert "3 requests contradict themselves and are marked excluded" in written.text
