"""Hits of requests that run together, against the simulator's model, which shares no code with it.

The model is driven in the order of what the engine does: admissions, growth, blocks stored, ends
and preemptions, none of their results told to it. With twins that wait, choices, chunks,
preemption, cancellations and pools that are too small, it must say the same: every admission's hit,
every refusal for want of room, every eviction, and after each step what is used, cached and free.
"""

import random
from collections import Counter

import pytest
from engine_support import small_engine

from hitpath.engine.errors import Overloaded
from hitpath.engine.events import Admitted, Evicted, Preempted
from hitpath.engine.records import GenerationRequest, SamplingParams, token_array
from hitpath.sim.models.contract import Request
from hitpath.sim.models.own_engine import OwnModel, OwnSettings

NUM_ROUNDS = 24


class Follower:
    """Does in the model what the engine does to its tables, and compares what comes of it."""

    def __init__(self, **settings):
        self.engine = small_engine(max_model_len=192, **settings)
        self.engine._observe = self.engine.cache._observe = self.observe
        self.engine._scheduler._observe = self.observe
        at = self.engine.settings
        self.model = OwnModel(OwnSettings(at.num_blocks, at.block_size, at.eviction))
        self.numbers, self.told, self.computed = {}, {}, {}
        self.preempted = None
        self.admitted, self.counts = [], Counter()
        cache = self.engine.cache
        self.real = {name: getattr(cache, name) for name in ("admit", "grow", "store", "release")}
        for name in self.real:
            setattr(cache, name, getattr(self, name))

    def observe(self, record):
        if isinstance(record, Admitted):
            self.admitted.append(record)
        elif isinstance(record, Preempted):
            self.preempted = record.request_id, record.choice
            self.counts["preempted"] += 1
        elif isinstance(record, Evicted):
            self.counts["evicted"] += len(record.hits) * record.block_size

    def number(self, sequence):
        return self.numbers.setdefault(sequence.name, len(self.numbers))

    def tell(self, sequence):
        """Tokens that were sampled since the model last heard of this sequence."""
        known = self.told[sequence.name]
        self.model.generate(self.number(sequence), sequence.tokens[known:].tolist())
        self.told[sequence.name] = sequence.num_tokens

    # ---- in place of the cache's own

    def admit(self, sequence, found):
        done = self.real["admit"](sequence, found)
        asked = sequence.request
        tokens = asked.tokens.tolist()
        request = Request(self.number(sequence), tokens, asked.cache_salt, priority=asked.priority)
        hit = self.model.admit(request, num_new=0)
        assert (hit is not None) == done
        if hit is not None:
            assert hit.tokens == sequence.num_computed
            self.told[sequence.name] = sequence.num_tokens
            self.computed[sequence.name] = hit.tokens
        return done

    def grow(self, sequence):
        done = self.real["grow"](sequence)
        self.tell(sequence)
        assert self.model.extend(self.number(sequence), 1) == done
        self.computed[sequence.name] += done
        return done

    def store(self, sequence):
        self.real["store"](sequence)
        more = sequence.num_computed - self.computed[sequence.name]
        assert self.model.extend(self.number(sequence), more)
        self.computed[sequence.name] += more
        self.model.processed(self.number(sequence))

    def release(self, sequence):
        self.real["release"](sequence)
        if self.preempted == sequence.name:
            self.tell(sequence)
            self.model.preempt(self.number(sequence))
        else:
            self.model.finish(self.number(sequence))
        self.preempted = None

    # ---- from outside

    def submit(self, name, tokens, salt, draw):
        params = SamplingParams(
            max_tokens=draw.randrange(1, 40),
            temperature=0,
            ignore_eos=True,
            n=draw.choice([1, 1, 1, 2]),
        )
        request = GenerationRequest(name, token_array(tokens), params, salt, draw.randrange(3))
        try:
            self.engine.submit(request)
        except Overloaded:
            self.counts["refused"] += 1

    def step(self):
        for chunk in self.engine.step():
            self.counts["finished"] += chunk.finish is not None
        gone = sum(eviction.num_tokens for eviction in self.model.take_evictions())
        assert gone == self.counts.pop("evicted", 0)
        self.counts["gone"] += gone
        self.model.check()
        stats, standing = self.engine.stats(), self.model.occupancy()
        assert (stats.used_blocks, stats.cached_blocks, stats.free_blocks) == (
            standing.used,
            standing.cached,
            standing.free,
        )


def run_mixed(follower, draw):
    """Twins, sharers and strangers, submitted while others run; some leave early."""
    heads = [[draw.randrange(3, 150) for _ in range(draw.randrange(5, 60))] for _ in range(4)]
    name = 0
    for _ in range(NUM_ROUNDS):
        head = draw.choice(heads)[: draw.randrange(1, 60)]
        tokens = head + [draw.randrange(3, 150) for _ in range(draw.randrange(1, 40))]
        salt = draw.choice([None, None, None, "s"])
        for _ in range(draw.choice([0, 1, 1, 3])):
            follower.submit(f"r{name}", tokens, salt, draw)
            name += 1
        if draw.random() < 0.1 and name:
            follower.engine.abort(f"r{draw.randrange(name)}")
        for _ in range(draw.randrange(1, 6)):
            follower.step()
    while follower.engine.has_work:
        follower.step()


CASES = [
    ("blocks", "lru", 1, "fcfs", True),
    ("radix", "lru", 16, "longest_hit", True),
    ("blocks", "lfu", 4, "longest_hit", False),
    ("radix", "lfu", 1, "fcfs", True),
    ("blocks", "priority", 16, "fcfs", True),
    ("radix", "priority", 4, "fcfs", False),
]


@pytest.mark.parametrize(("index", "eviction", "size", "admission", "twins"), CASES)
def test_hits_of_requests_that_run_together_are_predicted(index, eviction, size, admission, twins):
    follower = Follower(
        index=index,
        eviction=eviction,
        block_size=size,
        num_blocks=-(-192 // size),
        admission=admission,
        wait_for_twin=twins,
        max_batch_tokens=48,
        max_running=6,
        max_waiting=12,
    )
    run_mixed(follower, random.Random(f"{eviction} {size}"))
    counts, admitted = follower.counts, follower.admitted
    assert counts["preempted"], "nobody was preempted: this says nothing of it"
    assert counts["gone"] > 200, "the pool was never too small"
    assert counts["finished"] > 15
    assert any(record.resumed and record.cached_tokens for record in admitted)
    assert any(not record.resumed and record.cached_tokens for record in admitted)


@pytest.mark.parametrize("waits", [True, False])
def test_twins_that_wait_hit_what_the_model_says(waits):
    follower = Follower(num_blocks=60, block_size=4, wait_for_twin=waits, max_batch_tokens=64)
    for name in "abc":
        follower.submit(name, list(range(3, 53)), None, random.Random(1))
    while follower.engine.has_work:
        follower.step()
    hits = {record.request_id: record.cached_tokens for record in follower.admitted}
    assert hits["a"] == 0
    assert hits["b"] == (48 if waits else 0)
    assert hits["c"] == 48, "there is no room for it in the first step"
