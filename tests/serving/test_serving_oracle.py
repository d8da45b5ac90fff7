"""The simulator against a slow one that is written straight from the rules: every figure, to the
bit, for random fleets and traffic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving_cases import random_case
from slow_fleet import SlowFleet

from hitpath.sim.serving.records import ENDINGS
from hitpath.sim.serving.simulate import simulate_serving


def simulate(case):
    return simulate_serving(case.tree, case.router_tree, case.requests, case.arrivals, case.fleet)


def run_slowly(case):
    slow = SlowFleet(case.jobs, case.arrivals, case.fleet, case.node_of)
    slow.run()
    return slow


def of_requests(slow):
    """Columns as the outcome names them."""
    names = {
        "sent_s": "sent",
        "admit_s": "admit",
        "first_token_s": "first",
        "finish_s": "finish",
        "worker": "routed",
        "decode_worker": "decoder",
        "hit_tokens": "hit",
        "hit_host_tokens": "host",
        "hit_remote_tokens": "remote",
        "believed_match": "matched",
        "num_preemptions": "preemptions",
        "computed_tokens": "total",
        "recomputed_tokens": "recomputed",
    }
    return {name: [job.out[short] for job in slow.jobs] for name, short in names.items()}


def of_workers(slow):
    return {
        "busy_s": [w.busy for w in slow.workers],
        "num_steps": [w.num_steps for w in slow.workers],
        "computed_tokens": [w.computed for w in slow.workers],
        "output_tokens": [w.output for w in slow.workers],
        "evicted_blocks": [w.evicted for w in slow.workers],
        "peak_blocks": [w.peak for w in slow.workers],
        "longest_queue": [w.longest for w in slow.workers],
        "num_preemptions": [w.preemptions for w in slow.workers],
        "waiting_integral": [w.integrals[0] for w in slow.workers],
        "running_integral": [w.integrals[1] for w in slow.workers],
        "used_integral": [w.integrals[2] for w in slow.workers],
    }


def samples_of(slow):
    """What is left of the samples of every moment where there is room for so many."""
    kept, every = [], 1
    for tick, figures in enumerate(slow.samples):
        if tick % every == 0 and len(kept) == slow.fleet.max_samples:
            kept, every = kept[::2], 2 * every
        if tick % every == 0:
            kept.append((tick * slow.fleet.sample_s, figures))
    return kept, every * slow.fleet.sample_s


def compare(case):
    outcome, slow = simulate(case), run_slowly(case)
    outcome.check(case.requests)
    for name, column in of_requests(slow).items():
        np.testing.assert_array_equal(getattr(outcome, name), column, err_msg=name)
    for rung, short in enumerate(("hit", "hit", "r2", "r3")):
        column = [job.out[short] for job in slow.jobs]
        np.testing.assert_array_equal(outcome.granted[rung], column, err_msg=f"rung {rung}")
    assert [ENDINGS[code] for code in outcome.ending] == [job.out["ending"] for job in slow.jobs]
    for name, column in of_workers(slow).items():
        np.testing.assert_array_equal(getattr(outcome.per_worker, name), column, err_msg=name)
    for name, times in (("queue_time_s", slow.queue_time), ("use_time_s", slow.use_time)):
        column = getattr(outcome, name)
        assert {i: column[i] for i in np.flatnonzero(column)} == times, name
    kept, interval = samples_of(slow)
    samples = outcome.samples
    assert interval == samples.interval_s
    np.testing.assert_array_equal(samples.time_s, [time for time, _ in kept])
    columns = (
        samples.waiting,
        samples.running,
        samples.used_blocks,
        samples.cached_blocks,
        samples.told_waiting,
        samples.told_used_blocks,
    )
    ours = np.stack(columns, axis=2)
    np.testing.assert_array_equal(
        ours, np.array([figures for _, figures in kept]).reshape(ours.shape)
    )
    if case.arrivals.drain:
        np.testing.assert_array_equal(outcome.stage_start_s, slow.stage_start)
    assert outcome.end_s == slow.now
    return outcome


@settings(max_examples=150)
@given(st.integers(0, 2**40))
def test_every_figure_is_that_of_the_rules(seed):
    compare(random_case(seed))


@pytest.mark.parametrize("router", ["dynamo", "dynamo:cost_block=1,prefill_scale=0", "hitpath"])
def test_what_is_active_is_counted_as_the_rules_say(router):
    """Routers whose choice hangs on the distinct blocks of the requests in flight."""
    for seed in range(100):
        compare(random_case(seed, router))


def test_the_cases_reach_everything():
    """What the comparison compares does happen."""
    seen = dict.fromkeys(
        ("preempted", "host", "remote", "handed", "refused", "failed", "too large", "in flight")
    )
    for seed in range(150):
        outcome = simulate(random_case(seed))
        names = [ENDINGS[code] for code in outcome.ending]
        seen["preempted"] = seen["preempted"] or bool(outcome.num_preemptions.any())
        seen["host"] = seen["host"] or bool(outcome.hit_host_tokens.any())
        seen["remote"] = seen["remote"] or bool(outcome.hit_remote_tokens.any())
        seen["handed"] = seen["handed"] or bool((outcome.decode_worker >= 0).any())
        seen["refused"] = seen["refused"] or "refused_full" in names
        seen["failed"] = seen["failed"] or "failed_worker" in names
        seen["too large"] = seen["too large"] or "too_large" in names
        seen["in flight"] = seen["in flight"] or bool(
            (outcome.granted[2] > outcome.granted[1]).any()
        )
    assert all(seen.values()), seen


@pytest.mark.parametrize("seed", range(40))
def test_the_same_again(seed):
    first, second = simulate(random_case(seed)), simulate(random_case(seed))
    for name in ("finish_s", "worker", "granted", "computed_tokens"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
