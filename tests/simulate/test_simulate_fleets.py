"""What fleets do, end to end: turns behind replies, prefill apart from decode, tiers, failing
workers, blocks without a name, rows in any order. Small runs with steps of constant time."""

import numpy as np
import pytest

from hitpath.core import ABSENT, Setting
from hitpath.serving_spine import prepare, servable, simulate_trace
from hitpath.sim.serving_file import ChangePart, FleetFile, Link, Load, RouterPart, Tier, Worker
from hitpath.sim.serving_rows import take_rows
from support import trace_of_rows

READ = Setting()
STEADY = Worker(capacity_tokens=4096, step_s=0.01, token_s=0.0001, kv_bytes_per_token=1000.0)


def rows_of(count, sessions=3, prompt=64, output=5):
    """Turns of `sessions` sessions: each prompt is the one before and 32 tokens more."""
    rows = []
    for i in range(count):
        session, turn = i % sessions, i // sessions
        tokens = [1000 * session + t for t in range(prompt + 32 * turn)]
        rows.append(
            {
                "id": f"r{i}",
                "arrival_s": 0.1 * i,
                "session": f"s{session}",
                "tokens": tokens,
                "output_tokens": output,
            }
        )
    return rows


def run(tmp_path, rows=None, **changed):
    trace = trace_of_rows(tmp_path, rows or rows_of(12))
    return simulate_trace(servable(trace, READ), READ, FleetFile(**{"worker": STEADY, **changed}))


def test_a_turn_comes_think_time_after_the_reply(tmp_path):
    simulation = run(tmp_path, load=Load(arrivals="closed", think_s=2.0))
    outcome, follows = simulation.served.outcome, simulation.prepared.sending.follows
    after = np.flatnonzero(follows != ABSENT)
    waited = outcome.sent_s[after] - outcome.finish_s[follows[after]]
    assert waited == pytest.approx(np.full(len(after), 2.0))
    assert simulation.serving.whole.endings["served"] == 12


def test_a_lone_request_takes_the_steps_that_it_needs(tmp_path):
    simulation = run(tmp_path, rows_of(1, prompt=100, output=5))
    outcome = simulation.served.outcome
    assert outcome.ttft_s[0] == pytest.approx(0.01 + 100 * 0.0001)
    assert outcome.e2e_s[0] == pytest.approx(outcome.ttft_s[0] + 4 * (0.01 + 0.0001))


def test_a_constant_of_the_client_is_in_ttft_and_e2e(tmp_path):
    plain, later = (
        run(tmp_path, ttft_constant_s=seconds).serving.whole.latency for seconds in (0.0, 0.25)
    )
    assert later.ttft_s.p50 == pytest.approx(plain.ttft_s.p50 + 0.25)
    assert later.e2e_s.mean == pytest.approx(plain.e2e_s.mean + 0.25)
    assert later.tpot_s.mean == pytest.approx(plain.tpot_s.mean)


def test_prefill_and_decode_on_workers_of_their_own(tmp_path):
    simulation = run(
        tmp_path,
        workers=(Worker(count=2, role="prefill"), Worker(count=1, role="decode")),
        transfer=Link(bytes_per_s=1e6, latency_s=0.05),
    )
    outcome = simulation.served.outcome
    assert set(outcome.worker.tolist()) <= {0, 1}
    assert set(outcome.decode_worker.tolist()) == {2}
    assert [w.role for w in simulation.serving.per_worker] == ["prefill", "prefill", "decode"]
    assert simulation.serving.whole.endings["served"] == 12


def test_hits_from_a_lower_tier_are_told_apart(tmp_path):
    small = Worker(capacity_tokens=256, step_s=0.01, token_s=0.0, kv_bytes_per_token=1000.0)
    rows = rows_of(24, sessions=6, prompt=96)
    without = run(tmp_path, rows, worker=small)
    tiered = run(tmp_path, rows, worker=small, host=Tier(tokens=100_000, bytes_per_s=1e9))
    assert tiered.serving.hit_tokens_by_tier["host"] > 0
    assert tiered.serving.whole.hit_tokens > without.serving.whole.hit_tokens
    assert without.serving.hit_tokens_by_tier["host"] == 0


def test_a_worker_that_fails_takes_its_requests_with_it(tmp_path):
    rows = rows_of(12, output=200)
    simulation = run(
        tmp_path,
        rows,
        workers=(Worker(count=2),),
        changes=(ChangePart(time_s=0.55, worker=0, change="fail"),),
    )
    endings = simulation.serving.whole.endings
    assert endings["failed_worker"] > 0
    assert endings["served"] + endings["failed_worker"] == 12
    outcome = simulation.served.outcome
    late = outcome.sent_s > 0.55
    assert set(outcome.worker[late].tolist()) == {1}


def test_blocks_that_the_trace_does_not_name_hit_nothing(tmp_path):
    """Ids of the first two blocks only, of prompts of five: the rest is everybody's own."""
    rows = [
        {
            "timestamp": 1000 * i,
            "input_length": 5 * 512,
            "output_length": 3,
            "hash_ids": [1, 2, 3, 4, 5] if i < 2 else [1, 2, 3 + 10 * i, 4 + 10 * i, 5 + 10 * i],
        }
        for i in range(4)
    ]
    trace = trace_of_rows(tmp_path, rows)
    whole = servable(trace, READ)
    file = FleetFile(worker=Worker(unlimited=True, step_s=0.0, token_s=0.0))
    inputs = prepare(whole, READ, file).inputs
    depth = (inputs.tree.tree.depth + inputs.tree.tree.length)[inputs.requests.end_node]
    assert depth.tolist() == [5, 5, 5, 5]
    hits = simulate_trace(whole, READ, file).served.outcome.hit_tokens
    assert hits.tolist() == [0, 4 * 512, 2 * 512, 2 * 512]


def test_what_the_trace_reported_is_left_aside(tmp_path):
    rows = rows_of(6)
    for row in rows:
        row["reported"] = {"cached_tokens": 48, "counting": "inclusive"}
        row["worker"] = "theirs"
    analysis = run(tmp_path, rows).analysis
    assert set(analysis.ledger.rungs.reported.tolist()) == {ABSENT}
    assert analysis.workers.names == ("worker 0",)
    assert analysis.ledger.total(analysis.ledger.unexplained) == 0


def test_rows_are_taken_in_any_order(tmp_path):
    trace = trace_of_rows(tmp_path, rows_of(5))
    rows = np.array([4, 0, 2])
    taken = take_rows(trace, rows)
    assert taken.ids == ("r4", "r0", "r2")
    assert taken.arrival_s.tolist() == trace.arrival_s[rows].tolist()
    for i, row in enumerate(rows.tolist()):
        begin, end = taken.prompts.offsets[i : i + 2]
        theirs = trace.prompts.flat[trace.prompts.offsets[row] : trace.prompts.offsets[row + 1]]
        assert np.array_equal(taken.prompts.flat[begin:end], theirs)
    assert taken.session.of(1) == "s0"


def test_a_router_with_an_index_of_its_own_counts_in_the_trace_s_blocks(tmp_path):
    rows = [
        {"timestamp": i, "input_length": 1024, "output_length": 3, "hash_ids": [1, i]}
        for i in range(4)
    ]
    trace = servable(trace_of_rows(tmp_path, rows), READ)
    worker = Worker(unlimited=True, step_s=0.0, token_s=0.0, count=2)
    file = FleetFile(worker=worker, router=RouterPart(name="llmd-approx"))
    prepared = prepare(trace, READ, file)
    assert prepared.plan.router.block_tokens == 512
    assert any("blocks of 512 tokens, not 16" in note for note in prepared.plan.notes)
    assert prepared.inputs.router_tree is not None
