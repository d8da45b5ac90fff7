"""`hitpath analyze --engine vllm@0.30` and the like: settings, ladder and page."""

import pytest

from hitpath.core import Setting, SettingError
from hitpath.sim.rungs import NO_FLIGHTS, NO_STATES
from hitpath.spine import analyze, analyze_trace
from models.test_from_trace import asked
from models.worlds import B
from oracle.world import Request as Asked
from support import shared_data, token_trace, trace_of_rows


@pytest.mark.parametrize("engine", ["vllm", "vllm@0.22", "sglang", "trtllm", "hitpath"])
@pytest.mark.parametrize("seed", range(2))
def test_the_ladder_adds_up_under_a_small_cache(engine, seed):
    setting = Setting(engine=engine, capacity_tokens=80, block_size=B)
    analysis = analyze_trace(token_trace(asked(seed)), setting)
    ledger = analysis.ledger
    ledger.check()
    assert ledger.total(ledger.hit) > 0
    assert ledger.total(ledger.cause("evicted")) > 0
    unlimited = analyze_trace(token_trace(asked(seed)), Setting(last_token=True, block_size=1))
    assert (ledger.hit <= unlimited.ledger.hit).all()


def test_state_rules_are_known_and_flights_are_not():
    trace = token_trace(asked(1))
    modelled = analyze_trace(trace, Setting(engine="vllm", capacity_tokens=8000, block_size=B))
    plain = analyze_trace(trace, Setting(engine="lru", capacity_tokens=8000, block_size=B))
    assert modelled.ledger.rungs.unknown["in_flight"] == NO_FLIGHTS
    assert "ineligible" not in modelled.ledger.rungs.unknown
    assert plain.ledger.rungs.unknown["ineligible"] == NO_STATES


def test_the_engines_own_unit_is_taken_where_the_trace_leaves_it_open():
    tokens = tuple(range(40))
    trace = token_trace([Asked(tokens, arrival_s=0.0), Asked(tokens, arrival_s=1.0)])
    hits = {}
    for engine in ("vllm", "sglang", "trtllm", "llamacpp", "hitpath"):
        analysis = analyze_trace(trace, Setting(engine=engine, capacity_tokens=4000))
        hits[engine] = int(analysis.ledger.hit[1])
    assert hits == {"vllm": 32, "sglang": 39, "trtllm": 39, "llamacpp": 39, "hitpath": 32}


PAGED = ["vllm", "vllm@0.22", "sglang", "trtllm", "hitpath"]


@pytest.mark.parametrize(
    ("engine", "size"), [("llamacpp", 1), *((engine, size) for engine in PAGED for size in (1, 16))]
)
def test_each_turn_hits_what_was_computed_in_the_turn_before(engine, size, tmp_path):
    """Prompt and reply but its last token, at most all of the new prompt but one, in whole units
    (TensorRT-LLM and llama.cpp: any length)."""
    talk, rows, expected, computed = list(range(150)), [], [], 0
    for turn in range(6):
        unit = 1 if engine in ("trtllm", "llamacpp") else size
        expected.append(min(computed, len(talk) - 1) // unit * unit)
        reply = [1000 * turn + 7 * i for i in range(33)]
        computed = len(talk) + len(reply) - 1
        row = {"id": str(turn), "arrival_s": 2.0 * turn, "finish_s": 2.0 * turn + 1}
        rows.append({**row, "tokens": list(talk), "output_ids": reply})
        talk += [*reply, *range(5000 + 100 * turn, 5000 + 100 * turn + 11 * turn)]
    setting = Setting(engine=engine, capacity_tokens=8000, block_size=size, outputs="insert")
    analysis = analyze_trace(trace_of_rows(tmp_path, rows), setting)
    assert analysis.ledger.rungs.model[0].tolist() == expected


def test_real_sessions_agree_with_the_plain_cache_where_there_is_room():
    path = str(shared_data("coding_agent_sessions") / "trace_0291.json")
    large = 1 << 28
    real = analyze([path], Setting(engine="vllm@0.32", capacity_tokens=large, block_size=64))
    plain = analyze([path], Setting(last_token=True))
    assert real.hit_rate == plain.hit_rate


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"engine": "vllm"}, "needs --capacity-tokens"),
        ({"engine": "lru@1", "capacity_tokens": 9}, "not one of"),
        ({"engine": "vllm@0.33", "capacity_tokens": 99}, "newer than 0.32"),
    ],
)
def test_what_cannot_be_honoured_is_refused(options, cause):
    with pytest.raises(SettingError, match=cause):
        analyze_trace(token_trace(asked(0)), Setting(**options))


def test_a_router_that_looks_into_caches_is_refused(tmp_path):
    rows = [{"id": str(i), "arrival_s": i, "tokens": [1, 2, 3, i]} for i in range(3)]
    setting = Setting(engine="vllm", capacity_tokens=99, workers=2, router="prefix")
    with pytest.raises(SettingError, match="cannot be used with --engine vllm"):
        analyze_trace(trace_of_rows(tmp_path, rows), setting)


def test_the_last_token_rule_is_in_the_setting():
    assert Setting(engine="sglang", capacity_tokens=99).last_token
