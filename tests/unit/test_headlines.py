"""What a page says before its numbers: whose figure it is, and what must be known to quote it."""

import pytest

from cli import call
from support import write_jsonl

LENGTHS = [{"id": "a", "arrival_s": 0, "prompt_tokens": 100}]


@pytest.mark.parametrize("rows", [LENGTHS, [{"id": 1, "arrival_s": 0, "prompt": "text"}]])
def test_a_model_sizes_only_tokens(tmp_path, rows):
    refused = call("analyze", write_jsonl(tmp_path / "t.jsonl", rows), "--model", "llama-3.1-8b")
    assert refused.code == 2
    assert refused.err.startswith("hitpath: error: --model: ")


def test_the_headline_says_whose_figure_it_is(tmp_path):
    row = {"arrival_s": 0, "segments": [["a", 64]]}
    told = {"reported": {"cached_tokens": 32}}
    for rows, source in (
        ([row], "modelled for an unlimited cache"),
        ([{**row, **told}], "as reported (modelled: 0.00 %)"),
        ([{**row, **told}, row], "reported where told, else modelled"),
    ):
        path = write_jsonl(tmp_path / "t.jsonl", [{"id": i, **r} for i, r in enumerate(rows)])
        assert f"of prompt tokens hit, {source}" in call("analyze", path).text


def test_a_router_that_leaves_workers_idle_is_called_out(tmp_path):
    """Longest prefix without load sends everything that begins alike to one worker."""
    rows = [
        {"id": i, "arrival_s": i, "segments": [["system", 64], [f"q{i}", 16]]} for i in range(9)
    ]
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    lopsided = call("analyze", path, "--workers", "3", "--router", "prefix")
    assert "worker 0 served 100% of the prompt tokens, 2 of 3 workers none" in lopsided.text
    assert "served" not in call("analyze", path, "--workers", "3").text


def test_replies_that_are_not_in_the_trace_are_missed_in_words(tmp_path):
    plain = {"id": 0, "arrival_s": 0, "tokens": [1] * 32}
    kept = [
        {**plain, "output_ids": [2] * 16},
        {"id": 1, "arrival_s": 1, "tokens": [1] * 32 + [2] * 16},
    ]
    path = write_jsonl(tmp_path / "t.jsonl", [plain])
    assert "the replies' tokens are not in this trace" in call("analyze", path).text
    path = write_jsonl(tmp_path / "t.jsonl", kept)
    assert "16 missed tokens are replies that came back" in call("analyze", path).text
    with_outputs = call("analyze", path, "--outputs", "insert").text
    assert "replies" not in with_outputs
