"""Router policies: one decision at a time and in bulk are the same; nothing is changed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.core import Setting, SettingError
from hitpath.routing.policies import PrefixRouter, make_policy
from hitpath.spine import analyze_trace
from support import trace_of_rows

SESSIONS = [None, "a", "b", "a", None, "c", "b", "a", None, "d"] * 20
NAMES = ("random", "round-robin", "session", "prefix")


def zeros(n):
    return np.zeros(n, dtype=np.int64)


@pytest.mark.parametrize("name", ["random", "round-robin", "session"])
def test_bulk_equals_one_by_one(name):
    policy = make_policy(name, 5, 11)
    bulk = policy.fixed(SESSIONS)
    one = [policy.pick(i, s, zeros(5), zeros(5)).worker for i, s in enumerate(SESSIONS)]
    assert bulk.tolist() == one
    assert set(one) <= set(range(5))


def test_random_depends_on_the_seed_and_is_even():
    first, second = (make_policy("random", 4, s).fixed([None] * 4000) for s in (1, 2))
    assert not np.array_equal(first, second)
    assert np.bincount(first, minlength=4).min() > 850


def test_a_session_stays_on_its_worker():
    workers = make_policy("session", 7, 0).fixed(SESSIONS)
    for name in "abcd":
        assert len({int(w) for w, s in zip(workers, SESSIONS, strict=True) if s == name}) == 1
    assert len(set(workers.tolist())) > 3


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=9),
)
def test_prefix_takes_the_longest_then_the_least_loaded_then_the_first(workers):
    match = np.array([m for m, _ in workers], dtype=np.int64)
    loads = np.array([load for _, load in workers], dtype=np.int64)
    before = match.copy(), loads.copy()
    decision = PrefixRouter(len(workers)).pick(0, None, match, loads)
    expected = min(range(len(workers)), key=lambda w: (-match[w], loads[w], w))
    assert decision.worker == expected
    assert str(match[expected]) in decision.reason
    assert np.array_equal(match, before[0])
    assert np.array_equal(loads, before[1])


def rows():
    return [
        {
            "id": i,
            "arrival_s": i,
            "segments": [["sys", 64], [f"s{i % 3}", 32 * (1 + i // 3)]],
            "session": f"s{i % 3}",
        }
        for i in range(30)
    ]


def test_prefix_routing_equals_picking_one_by_one(tmp_path):
    """The bulk kernel against a replay that asks the policy and keeps sets of blocks."""
    trace = trace_of_rows(tmp_path, rows())
    analysis = analyze_trace(trace, Setting(workers=3, router="prefix", block_size=16))
    policy = PrefixRouter(3)
    held = [set(), set(), set()]
    loads = zeros(3)
    for i in range(len(trace)):
        tokens = tuple(trace.prompts.flat[trace.prompts.offsets[i] : trace.prompts.offsets[i + 1]])
        blocks = [tokens[: 16 * (b + 1)] for b in range(len(tokens) // 16)]
        match = np.array(
            [next((n for n, b in enumerate(blocks) if b not in h), len(blocks)) for h in held]
        )
        worker = policy.pick(i, None, match, loads).worker
        assert analysis.workers.codes[i] == worker
        assert analysis.ledger.hit[i] == match[worker] * 16
        loads[worker] += len(tokens) - match[worker] * 16
        held[worker] |= set(blocks)


@pytest.mark.parametrize("router", NAMES)
def test_one_worker_makes_every_router_equal(tmp_path, router):
    trace = trace_of_rows(tmp_path, rows())
    alone = analyze_trace(trace, Setting(block_size=16)).ledger
    routed = analyze_trace(trace, Setting(block_size=16, workers=1, router=router)).ledger
    assert np.array_equal(alone.hit, routed.hit)


def test_settings_that_contradict_the_trace(tmp_path):
    trace = trace_of_rows(tmp_path, [{**row, "worker": "w0"} for row in rows()])
    with pytest.raises(SettingError, match="names its own workers"):
        analyze_trace(trace, Setting(workers=2, router="random"))
    with pytest.raises(SettingError, match="needs --workers"):
        Setting(router="random")
    assert Setting(workers=2).router == "round-robin"
    assert Setting(workers=1).router is None
