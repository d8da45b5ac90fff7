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
from hitpath.index.forest import Tree
from hitpath.sim.events import Events
from hitpath.traces.table import Ints


@dataclass(frozen=True, slots=True)
class Curve:
    """`hits[i]` = blocks that hit in a cache of i x step blocks, i from 0; the last is the
    ceiling. `step` is 1 (every size) but for sampled traces."""

    hits: Ints
    block_size: int
    step: int = 1

    @property
    def ceiling(self) -> int:
        """Blocks that hit in an unlimited cache."""
        return int(self.hits[-1])

    def at(self, capacity_blocks: int) -> int:
        """Hit blocks at a capacity."""
        return int(self.hits[min(capacity_blocks // self.step, len(self.hits) - 1)])

    def smallest_for(self, share: float) -> int | None:
        """Fewest blocks that reach `share` of the ceiling; None where nothing can hit."""
        if self.ceiling == 0:
            return None
        enough = np.ceil(share * self.ceiling - 1e-9)
        return int(np.searchsorted(self.hits, enough, side="left")) * self.step

    @property
    def largest(self) -> int:
        """Blocks in the smallest cache that reaches the ceiling."""
        return int(np.searchsorted(self.hits, self.ceiling, side="left")) * self.step

    def check(self) -> None:
        """A larger cache never hits less, an empty one never hits."""
        assert self.hits[0] == 0
        assert np.all(np.diff(self.hits) >= 0)


@kernel
def _add(tree: Ints, index: int, amount: int) -> None:
    index += 1
    while index < len(tree):
        tree[index] += amount
        index += index & -index


@kernel
def _sum_to(tree: Ints, index: int) -> int:
    """Sum of entries 0..index."""
    index += 1
    total = 0
    while index > 0:
        total += tree[index]
        index -= index & -index
    return total


@kernel
def _add_run(starts: Ints, nearest: int, beyond: int, step: int) -> None:
    """Hits at the distances [nearest, beyond)."""
    if step == 1:
        starts[nearest] += 1
        starts[beyond] -= 1
        return
    while nearest < beyond:
        # A cache of i x step blocks holds distances up to and including i x step.
        bound = ((nearest - 1) // step + 1) * step
        starts[bound // step] += min(bound + 1, beyond) - nearest
        nearest = bound + 1


@kernel
def _distances(
    nodes: Tree,
    request: Ints,
    lookup_end: Ints,
    insert_end: Ints,
    limit: Ints,
    step: int,
    starts: Ints,
) -> None:
    """Hits by stack distance, at starts[distance // step]. With step 1 as a difference array:
    starts[d] += 1 opens a run of hits at distance d, and -1 closes it."""
    recent = np.zeros(len(request) + 1, dtype=np.int64)
    stamp = np.full(len(nodes.parent), -1, dtype=np.int64)
    path = np.zeros(len(nodes.parent), dtype=np.int64)
    total = 0
    for e in range(len(request)):
        count = 0
        node = lookup_end[e]
        while node >= nodes.num_roots:
            path[count] = node
            count += 1
            node = nodes.parent[node]
        run, run_begin, above = -1, 0, 0
        for i in range(count - 1, -1, -1):
            node = path[i]
            room = limit[request[e]] - nodes.depth[node]
            if stamp[node] < 0 or room <= 0:
                break
            if stamp[node] != run:
                run, run_begin = stamp[node], nodes.depth[node]
                above = total - _sum_to(recent, run)
            nearest = above + nodes.depth[node] - run_begin + 1
            _add_run(starts, nearest, nearest + min(nodes.length[node], room), step)
        inserted = 0
        node = insert_end[e]
        while node >= nodes.num_roots:
            inserted += nodes.length[node]
            if stamp[node] >= 0:
                _add(recent, stamp[node], -nodes.length[node])
                total -= nodes.length[node]
            stamp[node] = e
            node = nodes.parent[node]
        if inserted:
            _add(recent, e, inserted)
            total += inserted


def lru_curve(events: Events, limit: Ints, block_size: int, step: int = 1) -> Curve:
    """limit: most leading blocks of each request that may count (0: the request counts none).
    step: resolution in blocks; 1 is exact at every size."""
    tree = events.forest.tree
    starts = np.zeros(int(tree.length.sum()) // step + 3, dtype=np.int64)
    _distances(
        tree,
        events.request,
        events.lookup_end,
        events.insert_end,
        limit,
        step,
        starts,
    )
    for _ in range(2 if step == 1 else 1):
        np.cumsum(starts, out=starts)
    return Curve(starts, block_size, step)
