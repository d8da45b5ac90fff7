"""The LRU curve at every capacity, and the clairvoyant bound, against the oracle."""

import functools
import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from hitpath.core import Setting
from hitpath.spine import analyze_trace
from oracle.traffic import random_requests
from oracle.world import (
    all_ids,
    clairvoyant_exhaustive,
    clairvoyant_greedy,
    lru_hit_blocks,
    run,
    whole_ids,
)
from support import chained_trace, token_trace


def one_cache(seed: int, num_requests: int):
    rng = random.Random(seed)
    block_size = rng.choice([1, 2, 3, 4])
    requests = random_requests(
        rng,
        num_requests=num_requests,
        block_size=block_size,
        num_workers=1,
        num_salts=rng.choice([0, 2]),
        with_outputs=False,
        with_reported=False,
    )
    return requests, block_size, rng.random() < 0.5


@pytest.mark.parametrize("make", [token_trace, chained_trace])
def test_curve_equals_a_simulation_at_every_capacity(make):
    for seed in range(120):
        requests, block_size, last_token = one_cache(seed, 1 + seed % 40)
        trace = make(requests) if make is token_trace else make(requests, block_size)
        setting = Setting(block_size=block_size, last_token=last_token)
        curve = analyze_trace(trace, setting).curve
        curve.check()
        for capacity in range(len(curve.hits) + 2):
            expected = sum(lru_hit_blocks(requests, block_size, capacity, last_token))
            assert curve.at(capacity) == expected, (seed, capacity)
        for share in (0.5, 0.8, 0.99, 1.0):
            smallest = curve.smallest_for(share)
            if smallest is not None:
                assert curve.at(smallest) >= share * curve.ceiling > curve.at(smallest - 1)


def test_curve_follows_outputs():
    for seed in range(60):
        rng = random.Random(seed)
        requests = random_requests(
            rng, num_requests=25, block_size=3, num_workers=1, with_reported=False
        )
        setting = Setting(block_size=3, outputs="insert")
        curve = analyze_trace(token_trace(requests), setting).curve
        for capacity in (1, 2, 5, 9, 20, 60):
            rows = run(requests, block_size=3, capacity_blocks=capacity, outputs="insert")
            assert curve.at(capacity) * 3 == sum(row.modelled_hit for row in rows)


def test_clairvoyant_is_the_optimum_on_tiny_traces():
    for seed in range(200):
        requests, block_size, last_token = one_cache(seed, 7)
        for capacity in (1, 2, 3):
            setting = Setting(
                engine="lru",
                capacity_tokens=capacity * block_size,
                block_size=block_size,
                last_token=last_token,
            )
            kept = analyze_trace(token_trace(requests), setting).split.kept
            best = clairvoyant_exhaustive(requests, block_size, capacity, last_token)
            assert int(kept.sum()) == best * block_size, (seed, capacity)


def test_clairvoyant_of_each_request():
    """On larger traces: the totals of the oracle's greedy order, and a valid split."""
    for seed in range(200):
        requests, block_size, last_token = one_cache(seed, 30)
        capacity = 1 + seed % 12
        setting = Setting(
            engine="lru",
            capacity_tokens=capacity * block_size,
            block_size=block_size,
            last_token=last_token,
        )
        analysis = analyze_trace(token_trace(requests), setting)
        greedy = clairvoyant_greedy(requests, block_size, capacity, last_token, until_refetch=True)
        split = analysis.split
        assert int(split.kept.sum()) == sum(greedy) * block_size
        assert split.kept.sum() >= analysis.ledger.rungs.model[0].sum()
        assert np.all(split.policy >= 0)
        assert np.all(split.capacity >= 0)
        assert np.array_equal(split.policy + split.capacity, analysis.ledger.cause("evicted"))


def test_clairvoyant_knows_outputs():
    """Blocks that a finish brings anyway are not worth keeping until then: never worse than LRU."""
    for seed in range(100):
        rng = random.Random(seed)
        requests = random_requests(
            rng, num_requests=30, block_size=3, num_workers=1, with_reported=False
        )
        setting = Setting(engine="lru", capacity_tokens=24, block_size=3, outputs="insert")
        analysis = analyze_trace(token_trace(requests), setting)
        assert analysis.split.kept.sum() >= analysis.ledger.rungs.model[0].sum()


def events_of(requests, block_size):
    """(is it an arrival, ids, ids that may count) in order of time, outputs kept."""
    events, running = [], []

    def finish(r):
        events.append((False, all_ids(r.context, r.whole, block_size), 0))

    for i, r in enumerate(requests):
        due = [j for j in running if requests[j].finish_s <= r.arrival_s]
        for j in sorted(due, key=lambda j: (requests[j].finish_s, j)):
            finish(requests[j])
            running.remove(j)
        whole = whole_ids(r.context, r.tokens, block_size)
        kept = all_ids(r.context, r.tokens, block_size) if r.output is None else whole
        events.append((True, kept, len(whole)))
        if r.output is not None and r.finish_s is None:
            finish(r)
        elif r.output is not None:
            running.append(i)
    for j in sorted(running, key=lambda j: (requests[j].finish_s, j)):
        finish(requests[j])
    return events


def best_of_all_choices(events, capacity):
    """The most hits over every choice of what to keep after each event."""

    @functools.cache
    def best(e, kept):
        if e == len(events):
            return 0
        is_arrival, ids, countable = events[e]
        hits = 0
        if is_arrival:
            while hits < countable and ids[hits] in kept:
                hits += 1
        there = sorted(kept | set(ids))
        size = min(capacity, len(there))
        return hits + max(best(e + 1, frozenset(c)) for c in itertools.combinations(there, size))

    return best(0, frozenset())


def test_clairvoyant_with_outputs_is_the_optimum_on_tiny_traces():
    """A finish brings its blocks anyway: what is needed only then is not worth keeping."""
    with_finish = 0
    for seed in range(150):
        rng = random.Random(seed)
        requests = random_requests(
            rng,
            num_requests=6,
            block_size=2,
            num_workers=1,
            max_new_tokens=3,
            num_models=1,
            num_salts=0,
            num_adapters=0,
            with_reported=False,
        )
        requests = [
            replace(r, finish_s=None if r.finish_s is None else max(r.finish_s, r.arrival_s))
            for r in requests
        ]
        with_finish += any(r.output is not None and r.finish_s is not None for r in requests)
        events = events_of(requests, 2)
        for capacity in (1, 2, 3):
            setting = Setting(
                engine="lru", capacity_tokens=2 * capacity, block_size=2, outputs="insert"
            )
            kept = analyze_trace(token_trace(requests), setting).split.kept
            assert int(kept.sum()) == 2 * best_of_all_choices(events, capacity), (seed, capacity)
    assert with_finish > 50
