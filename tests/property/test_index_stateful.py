"""The fast prefix index against the obvious one, after every step of any history."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hitpath.index.arrays import ArrayIndex
from hitpath.index.oracle import OracleIndex

GOLDEN_INVERSE = pow(0x9E3779B1, -1, 2**32)
# Few values, so that histories meet; three kinds of trouble for the table: running numbers (0 is
# one of them), keys that start their search at the same slot (product 0 .. 40 before the shift
# by 16), and keys that differ in their high half only.
POOL = [
    *range(30),
    *(GOLDEN_INVERSE * low % 2**32 for low in range(1, 40)),
    *((high << 32) ^ high ^ 77 for high in range(1, 40)),
    2**64 - 1,
    2**63,
]
pool_keys = st.lists(st.sampled_from(POOL), max_size=30)
runs = st.tuples(st.integers(0, len(POOL) - 1), st.integers(0, 60)).map(
    lambda run: POOL[run[0] : run[0] + run[1]]
)
keys_of_any_kind = st.one_of(pool_keys, runs, st.lists(st.integers(0, 2**64 - 1), max_size=5))


def u64(keys):
    return np.array(keys, dtype=np.uint64)


class IndexMachine(RuleBasedStateMachine):
    @initialize(num_workers=st.sampled_from([1, 3, 64, 65, 200]))
    def start(self, num_workers):
        self.fast = ArrayIndex(num_workers)
        self.oracle = OracleIndex(num_workers)
        # A few workers, at the edges of mask words, so that histories meet.
        self.workers = sorted({w for w in (0, 1, 63, 64, 199) if w < num_workers})
        self.last = u64([])

    def worker(self, number):
        return self.workers[number % len(self.workers)]

    @rule(number=st.integers(0, 4), keys=keys_of_any_kind)
    def store(self, number, keys):
        self.last = u64(keys)
        self.fast.store(self.worker(number), self.last)
        self.oracle.store(self.worker(number), self.last)

    @rule(number=st.integers(0, 4), keys=keys_of_any_kind)
    def remove(self, number, keys):
        self.last = u64(keys)
        worker = self.worker(number)
        assert self.fast.remove(worker, self.last) == self.oracle.remove(worker, self.last)

    @rule(number=st.integers(0, 4), step=st.sampled_from([-1, 1, 2]))
    def remove_held(self, number, step):
        """Whole clusters go, front to back, back to front, or every second block."""
        worker = self.worker(number)
        held = u64(list(self.oracle.dump().get(worker, {}))[::step])
        assert self.fast.remove(worker, held) == self.oracle.remove(worker, held) == 0

    @rule(number=st.integers(0, 4), first=st.integers(0, 2**40), count=st.integers(1, 700))
    def store_many(self, number, first, count):
        """Growth, more than once."""
        self.last = np.arange(first, first + count, dtype=np.uint64)
        self.fast.store(self.worker(number), self.last)
        self.oracle.store(self.worker(number), self.last)

    @rule(number=st.integers(0, 4))
    def clear(self, number):
        self.fast.clear(self.worker(number))
        self.oracle.clear(self.worker(number))

    @rule(keys=keys_of_any_kind)
    def match(self, keys):
        np.testing.assert_array_equal(self.fast.match(u64(keys)), self.oracle.match(u64(keys)))

    @invariant()
    def same(self):
        if not hasattr(self, "fast"):
            return  # before `start`
        self.fast.check()
        assert self.fast.dump() == self.oracle.dump()
        for wanted in (self.last, u64(POOL), u64(POOL[::-1])):
            np.testing.assert_array_equal(self.fast.match(wanted), self.oracle.match(wanted))


TestIndex = IndexMachine.TestCase
# The first calls may compile, hence no deadline.
TestIndex.settings = settings(deadline=None, max_examples=60, stateful_step_count=40)
