"""The exact LRU hit count of one cache at every capacity, in one pass.

LRU is a stack algorithm: a block hits at capacity C exactly when it is among the C most
recently used blocks, whatever C is (Mattson et al. 1970). Here the stack is kept as runs: all
blocks last used by the same event form one run, ordered from the prompt's beginning, and a
request that shares their prefix takes them from the front of that run. So the distances of a
run are consecutive numbers, and a request costs a few runs, not thousands of blocks.
A Fenwick tree over events counts the blocks of more recent runs.

Exact for the LRU of docs/what-counts-as-a-hit.md and one cache. Not for engines with other
orders of eviction.
"""

from dataclasses import dataclass

import numpy as np

from hitpath._jit import kernel
from hitpath.sim.events import Events
from hitpath.traces.table import Ints


@dataclass(frozen=True, slots=True)
class Curve:
    """`hits[c]` = blocks that hit in a cache of c blocks, c from 0; the last is the ceiling."""

    hits: Ints
    block_size: int

    @property
    def ceiling(self) -> int:
        """Blocks that hit in an unlimited cache."""
        return int(self.hits[-1])

    def at(self, capacity_blocks: int) -> int:
        """Hit blocks at a capacity."""
        return int(self.hits[min(capacity_blocks, len(self.hits) - 1)])

    def smallest_for(self, share: float) -> int | None:
        """Fewest blocks that reach `share` of the ceiling; None where nothing can hit."""
        if self.ceiling == 0:
            return None
        return int(np.searchsorted(self.hits, np.ceil(share * self.ceiling - 1e-9), side="left"))

    def check(self) -> None:
        """A larger cache never hits less, an empty one never hits."""
        assert self.hits[0] == 0
        assert np.all(np.diff(self.hits) >= 0)


@kernel
def _add(tree, index, amount):  # type: ignore[no-untyped-def]
    index += 1
    while index < len(tree):
        tree[index] += amount
        index += index & -index


@kernel
def _sum_to(tree, index):  # type: ignore[no-untyped-def]
    """Sum of entries 0..index."""
    index += 1
    total = 0
    while index > 0:
        total += tree[index]
        index -= index & -index
    return total


@kernel
def _distances(  # type: ignore[no-untyped-def]
    parent, depth, length, num_roots, request, lookup_end, insert_end, limit, starts
):
    """Difference array of hits by stack distance: starts[d] += 1 opens a run at distance d."""
    num_events = len(request)
    tree = np.zeros(num_events + 1, dtype=np.int64)
    stamp = np.full(len(parent), -1, dtype=np.int64)
    path = np.zeros(len(parent), dtype=np.int64)
    total = 0
    for e in range(num_events):
        count = 0
        node = lookup_end[e]
        while node >= num_roots:
            path[count] = node
            count += 1
            node = parent[node]
        run, run_begin, above = -1, 0, 0
        for i in range(count - 1, -1, -1):
            node = path[i]
            room = limit[request[e]] - depth[node]
            if stamp[node] < 0 or room <= 0:
                break
            if stamp[node] != run:
                run, run_begin = stamp[node], depth[node]
                above = total - _sum_to(tree, run)
            nearest = above + depth[node] - run_begin + 1
            starts[nearest] += 1
            starts[nearest + min(length[node], room)] -= 1
        inserted = 0
        node = insert_end[e]
        while node >= num_roots:
            inserted += length[node]
            if stamp[node] >= 0:
                _add(tree, stamp[node], -length[node])
                total -= length[node]
            stamp[node] = e
            node = parent[node]
        if inserted:
            _add(tree, e, inserted)
            total += inserted


def lru_curve(events: Events, limit: Ints, block_size: int) -> Curve:
    """limit: most leading blocks of each request that may count (0: the request counts none)."""
    forest = events.forest
    starts = np.zeros(int(forest.length.sum()) + 2, dtype=np.int64)
    _distances(
        forest.parent,
        forest.depth,
        forest.length,
        forest.num_roots,
        events.request,
        events.lookup_end,
        events.insert_end,
        limit,
        starts,
    )
    return Curve(np.cumsum(np.cumsum(starts[:-1])), block_size)
