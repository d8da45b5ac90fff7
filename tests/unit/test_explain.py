"""One request explained: its numbers are the ledger's, its relative is the nearest one."""

import json

import numpy as np
import pytest

from cli import call
from hitpath.core import CAUSES, InputError, Setting
from hitpath.report.explain import explain
from hitpath.spine import analyze_trace
from hitpath.traces import read_trace
from hitpath.traces.synthetic import demo_rows
from support import shared_data, trace_of_rows, write_jsonl


def test_numbers_are_the_ledgers(tmp_path):
    trace = trace_of_rows(tmp_path, demo_rows(0)[:150])
    setting = Setting(engine="lru", capacity_tokens=60_000, workers=2, router="round-robin")
    analysis = analyze_trace(trace, setting)
    ledger = analysis.ledger
    for row in range(0, 150, 7):
        found = explain(analysis, trace.ids[row])
        assert found.hit_tokens == ledger.hit[row]
        assert [found.causes[c] for c in CAUSES if found.causes[c] is not None] == [
            ledger.cause(c)[row] for c in CAUSES if c not in ledger.rungs.unknown
        ]
        assert found.best_worker_tokens == ledger.rungs.model[3, row]
        mine = trace.prompts.flat[trace.prompts.offsets[row] : trace.prompts.offsets[row + 1]]
        if found.relative is not None:
            other = trace.ids.index(found.relative.id)
            theirs = trace.prompts.flat[
                trace.prompts.offsets[other] : trace.prompts.offsets[other + 1]
            ]
            shared = found.relative.shared_tokens
            assert other < row
            assert np.array_equal(mine[:shared], theirs[:shared])
            assert shared == len(mine) or shared == len(theirs) or mine[shared] != theirs[shared]
            # Outputs are in what was ever computed, prompts alone are relatives.
            assert shared <= ledger.rungs.model[5, row]


def test_the_first_difference_and_the_holder(tmp_path):
    rows = [
        {"id": "a", "arrival_s": 0, "tokens": list(range(40)), "worker": "w0"},
        {"id": "b", "arrival_s": 5, "tokens": [*range(35), 99, 98], "worker": "w1"},
        {"id": "c", "arrival_s": 6, "tokens": [*range(40)], "worker": "w1"},
        {"id": "d", "arrival_s": 7, "tokens": [7], "worker": "w1"},
    ]
    analysis = analyze_trace(trace_of_rows(tmp_path, rows), Setting(block_size=16))
    b = explain(analysis, "b")
    assert (b.relative.id, b.relative.shared_tokens, b.relative.seconds_before) == ("a", 35, 5.0)
    assert (b.relative.here, b.relative.there) == ("token 99", "token 35")
    assert (b.best_worker, b.best_worker_tokens) == ("w0", 32)
    assert (b.hit_tokens, b.causes["elsewhere"], b.causes["rounding"]) == (0, 32, 3)
    c = explain(analysis, "c")
    assert (c.relative.id, c.relative.here, c.relative.there) == ("a", None, None)
    assert explain(analysis, "d").best_worker is None
    assert explain(analysis, "a").relative is None
    with pytest.raises(InputError, match="'z' is not in this trace of 4"):
        explain(analysis, "z")


def test_block_ids_and_the_command(tmp_path):
    path = str(shared_data("mooncake/conversation_trace.jsonl"))
    trace = read_trace([path])
    analysis = analyze_trace(trace, Setting())
    found = explain(analysis, "12030")
    assert found.relative.shared_tokens == analysis.ledger.rungs.model[5, 12030]
    assert found.relative.here.startswith("block ")
    demo = write_jsonl(tmp_path / "d.jsonl", demo_rows(0)[:60])
    name = demo_rows(0)[40]["id"]
    told = json.loads(call("explain", name, demo, "--json", "-").text)
    assert told["id"] == name
    page = call("explain", name, demo).text
    assert f"{told['hit_tokens']:,} of {told['prompt_tokens']:,} prompt tokens hit" in page
    assert told["relative"]["id"] in page
    assert call("explain", "nobody", demo).code == 2
