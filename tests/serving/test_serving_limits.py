"""Limits in which the simulator must be something simpler."""

import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from serving_cases import TERMS, Traffic, random_case, random_traffic, requests_of
from serving_toys import distinct_requests, fleet_of, serve

from hitpath.core import ABSENT
from hitpath.routing.registry import ROUTERS, make_router
from hitpath.sim.events import ARRIVAL, Events
from hitpath.sim.fleet import simulate_fleet
from hitpath.sim.serving.records import Arrivals, FleetSettings, WorkerGroup, WorkerSettings
from hitpath.sim.serving.simulate import simulate_serving
from hitpath.sim.serving.step_time import fixed_steps, instant_steps

MOST = 1 << 16


def traffic_of(seed, num=150):
    rng = np.random.default_rng(seed)
    prompts = []
    for _ in range(num):
        prompt = rng.integers(0, 2, int(rng.integers(1, 25))).tolist()
        if prompts and rng.random() < 0.5:
            prompt = (prompts[int(rng.integers(len(prompts)))] + prompt)[:40]
        prompts.append(prompt)
    return prompts


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.parametrize("capacity", [None, 22])
@pytest.mark.parametrize("seed", range(4))
def test_infinitely_fast_it_is_the_fleet_of_caches(seed, capacity, num_workers):
    """Every hit of sim/fleet.py: whole blocks, most recent kept, and no time in between."""
    block = 2
    prompts = [prompt[: len(prompt) // block * block] or [0, 1] for prompt in traffic_of(seed)]
    forest, _, requests, _, _ = requests_of(
        Traffic(prompts, [(None, 1)] * len(prompts), block, block)
    )
    settings = WorkerSettings(
        block_size=block, capacity_blocks=capacity, max_batch_tokens=MOST, last_token=False
    )
    num = len(prompts)
    times = np.arange(num, dtype=np.float64)
    fleet = fleet_of(settings, instant_steps(MOST, 256), num_workers)
    outcome = simulate_serving(forest.tree, None, requests, Arrivals.at(times), fleet)
    outcome.check(requests)
    rows = np.arange(num)
    events = Events(forest, rows, np.full(num, ARRIVAL), forest.end, forest.end, rows)
    expected = simulate_fleet(
        events,
        given_worker=rows % num_workers,
        num_workers=num_workers,
        limit=requests.whole_blocks,
        prompt_tokens=requests.prompt_tokens,
        block_size=block,
        capacity_blocks=capacity,
    )
    np.testing.assert_array_equal(outcome.worker, expected.worker)
    np.testing.assert_array_equal(outcome.hit_tokens, expected.resident * block)
    np.testing.assert_array_equal(outcome.granted[3], expected.best * block)
    assert outcome.hit_tokens.sum() > 0


def test_with_one_worker_every_router_gives_the_same():
    rng = np.random.default_rng(4)
    forest, _, requests, _, _ = requests_of(random_traffic(rng, 2, 2))
    settings = WorkerSettings(block_size=2, capacity_blocks=40, max_batch_tokens=16, max_running=4)
    arrivals = Arrivals.at(np.arange(len(requests)) * 0.25)
    outcomes = []
    for name in ROUTERS:
        router = make_router(name, 1, 3, TERMS)
        group = WorkerGroup(1, settings, fixed_steps(16, 4, 0.5))
        fleet = FleetSettings((group,), router)
        outcomes.append(simulate_serving(forest.tree, forest.tree, requests, arrivals, fleet))
    for outcome in outcomes:
        np.testing.assert_array_equal(outcome.finish_s, outcomes[0].finish_s)
        np.testing.assert_array_equal(outcome.granted, outcomes[0].granted)
    assert outcomes[0].hit_tokens.sum() > 0
    assert len(outcomes) > 10


def test_memory_does_not_grow_with_time_nor_steps():
    def most_bytes(output_tokens, pause_s):
        tree, requests = distinct_requests(300, 10)
        requests.output_tokens[:] = output_tokens
        settings = WorkerSettings(
            block_size=16, capacity_blocks=4000, max_batch_tokens=64, max_running=8
        )
        fleet = fleet_of(settings, fixed_steps(64, 8, 0.01), 2, sample_s=0.5, max_samples=64)
        arrivals = Arrivals.at(np.arange(300) * pause_s)
        tracemalloc.start()
        outcome = simulate_serving(tree, None, requests, arrivals, fleet)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        outcome.check(requests)
        assert len(outcome.samples.time_s) <= 64
        return peak, int(outcome.per_worker.num_steps.sum())

    most_bytes(10, 0.1)  # compiled
    short, few = most_bytes(10, 0.1)
    long, many = most_bytes(10_000, 100.0)
    assert many > 500 * few
    assert long < 1.1 * short


def test_without_the_compiler_every_figure_is_the_same():
    """The slow simulator against the kernels as plain Python, a few cases."""
    code = (
        "from serving_cases import random_case\n"
        "from test_serving_oracle import compare\n"
        "for seed in range(6): compare(random_case(seed))\n"
        "print('compared')\n"
    )
    here = Path(__file__).resolve().parent
    paths = os.pathsep.join([str(here), str(here.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths},
    )
    assert done.stdout == "compared\n", done.stderr


def test_a_reply_is_reused_by_the_next_turn():
    """Prompt 5 and reply 6: the last token of the reply has no KV, so 10 tokens are there."""
    prompt, reply = [1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]
    settings = WorkerSettings(block_size=2, max_batch_tokens=64, max_running=4)
    fleet = fleet_of(settings, fixed_steps(64, 4, 1.0))
    chat = [prompt, [*prompt, *reply, 12]]
    _, outcome = serve(chat, [6, 1], [0.0, 100.0], fleet, [reply, None])
    assert outcome.hit_tokens.tolist() == [0, 10]
    assert ABSENT not in outcome.worker.tolist()


def test_threads_do_not_see_each_other():
    """Several simulations at once, without the GIL, give what each gives alone."""
    cases = [random_case(seed) for seed in range(24)]

    def finish(case):
        trees = case.tree, case.router_tree
        return simulate_serving(*trees, case.requests, case.arrivals, case.fleet).finish_s

    alone = [finish(case) for case in cases]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(finish, cases))
    for first, second in zip(alone, together, strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_hundred_steps_in_one_go_are_a_hundred_steps():
    """What runs ahead of the other workers stops at every sample, and counts the same."""
    settings = WorkerSettings(block_size=4, capacity_blocks=90, max_batch_tokens=64, max_running=8)
    prompts = [[row] * 6 for row in range(6)]
    outcomes = [
        serve(prompts, [150] * 6, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], fleet)[1]
        for fleet in (
            fleet_of(settings, fixed_steps(64, 8, 0.25), 2, sample_s=sample_s, max_samples=4096)
            for sample_s in (0.25, 1000.0)
        )
    ]
    often, seldom = outcomes
    assert len(often.samples.time_s) > 100 > len(seldom.samples.time_s)
    np.testing.assert_array_equal(often.finish_s, seldom.finish_s)
    for name in ("busy_s", "num_steps", "peak_blocks", "used_integral", "output_tokens"):
        ours, theirs = getattr(often.per_worker, name), getattr(seldom.per_worker, name)
        np.testing.assert_array_equal(ours, theirs)


def test_an_entry_of_history_lasts_to_the_end_of_its_time():
    """Believed at the very moment at which it is as old as its time to live, not after."""
    prompts = [[1, 2, 3, 4]] * 3
    forest, router_forest, requests, _, _ = requests_of(Traffic(prompts, [(None, 1)] * 3, 2, 2))
    settings = WorkerSettings(block_size=2, max_batch_tokens=64, max_running=8)
    router = make_router("llmd-approx:block=2,ttl=8", 1, 0)
    fleet = FleetSettings((WorkerGroup(1, settings, fixed_steps(64, 8, 0.5)),), router)
    arrivals = Arrivals.at(np.array([0.0, 8.0, 16.25]))
    trees = forest.tree, router_forest.tree
    outcome = simulate_serving(*trees, requests, arrivals, fleet)
    assert outcome.believed_match.tolist() == [0, 4, 0]


def test_who_was_admitted_first_releases_first():
    """Two requests end their replies in one step; the third takes what is free and two of the
    four blocks that they left: the first one's."""
    prompts = [[1] * 4, [2] * 4, [3] * 8, [2, 2, 2, 2, 9]]
    settings = WorkerSettings(block_size=2, capacity_blocks=6, max_batch_tokens=64, max_running=8)
    fleet = fleet_of(settings, fixed_steps(64, 8, 1.0), checked=True)
    _, outcome = serve(prompts, [2, 2, 1, 1], [0.0, 0.0, 10.0, 20.0], fleet)
    assert outcome.finish_s[:2].tolist() == [2.0, 2.0]
    assert outcome.hit_tokens.tolist() == [0, 0, 0, 4]


def test_a_run_looks_up_between_slices_and_can_be_stopped():
    """What is called between slices sees the run come on, changes nothing, and may end it."""
    num = 200_000
    tree, requests = distinct_requests(num, 1)
    settings = WorkerSettings(block_size=16, max_batch_tokens=64, max_running=8)
    fleet = fleet_of(settings, fixed_steps(64, 8, 0.5))
    arrivals = Arrivals.at(np.arange(num, dtype=np.float64))
    shares = []
    looked = simulate_serving(tree, None, requests, arrivals, fleet, shares.append)
    assert len(shares) >= 2
    assert shares == sorted(shares)
    assert 0 < shares[0] < 1
    plain = simulate_serving(tree, None, requests, arrivals, fleet)
    np.testing.assert_array_equal(looked.finish_s, plain.finish_s)

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_serving(tree, None, requests, arrivals, fleet, stop)
