"""The most that one cache of a given size could have hit, had it known the future.

After each request any of its blocks and of the cache's may be kept, up to the capacity.
Keeping the blocks whose next use is soonest is optimal (each kept interval between two uses
is worth one block; Belady 1966), and since whoever uses a block uses all blocks before it,
what is kept is always a prefix. A block is worth keeping only until the next event that
brings it anyway: if that event does not count it as a hit (the partial last block, the last
block under the last-token rule, a finish), it is dropped first.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.index.forest import Tree, node_paths
from hitpath.sim.events import Events
from hitpath.traces.table import Ints

Mask = NDArray[np.bool_]
MAX_TOUCHES = 100_000_000
"""Above this many (event, node) pairs the bound is not computed: about 4 GB of arrays."""


@kernel
def _touches_by_node(num_nodes: int, offsets: Ints, nodes: Ints, begin: Ints, event: Ints) -> None:
    """Group the pairs (event, node) by node, events rising."""
    for node in nodes:
        begin[node + 1] += 1
    for node in range(num_nodes):
        begin[node + 1] += begin[node]
    fill = begin[:-1].copy()
    for e in range(len(offsets) - 1):
        for i in range(offsets[e], offsets[e + 1]):
            event[fill[nodes[i]]] = e
            fill[nodes[i]] += 1


class _Touches(NamedTuple):
    """Pairs (event, node) both ways: event e touches nodes[offsets[e]:offsets[e + 1]], top
    down; node n is touched at event[begin[n]:begin[n + 1]]."""

    offsets: Ints
    nodes: Ints
    begin: Ints
    event: Ints


@kernel
def _worth(tree: Tree, node: int, following: int, request: Ints, lookup: Mask, limit: Ints) -> int:
    """How many leading blocks of a node its next event counts as hits."""
    if not lookup[following]:
        return 0
    room: int = limit[request[following]] - tree.depth[node]
    worth: int = max(0, min(tree.length[node], room))
    return worth


@kernel
def _hits(tree: Tree, touches: _Touches, e: int, kept: Ints) -> int:
    """Leading kept blocks of the prompt that event e looks up."""
    hits = 0
    for i in range(touches.offsets[e], touches.offsets[e + 1]):
        node = touches.nodes[i]
        if tree.depth[node] != hits or kept[node] == 0:
            break
        hits += kept[node]
    return hits


@kernel
def _run(
    tree: Tree,
    touches: _Touches,
    request: Ints,
    lookup: Mask,
    insert: Mask,
    limit: Ints,
    capacity: int,
    hit_blocks: Ints,
) -> None:
    kept = np.zeros(len(tree.parent), dtype=np.int64)
    next_use = np.full(len(tree.parent), -1, dtype=np.int64)
    at = touches.begin[:-1].copy()
    used = 0
    heap = [(0, 0, -1)]  # (minus next use, minus depth, node): the least wanted first
    heapq.heappop(heap)
    for e in range(len(request)):
        if lookup[e]:
            hit_blocks[request[e]] = min(_hits(tree, touches, e, kept), limit[request[e]])
        for i in range(touches.offsets[e], touches.offsets[e + 1]):
            node = touches.nodes[i]
            while at[node] < touches.begin[node + 1] and touches.event[at[node]] <= e:
                at[node] += 1
            if not insert[e]:
                continue
            used -= kept[node]
            kept[node] = 0
            next_use[node] = -1
            if at[node] < touches.begin[node + 1]:
                next_use[node] = touches.event[at[node]]
                kept[node] = _worth(tree, node, next_use[node], request, lookup, limit)
            if kept[node] > 0:
                used += kept[node]
                heapq.heappush(heap, (-next_use[node], -tree.depth[node], node))
        while used > capacity:
            soon, deep, node = heapq.heappop(heap)
            if kept[node] == 0 or next_use[node] != -soon:
                continue  # an older entry of a node that was used since
            dropped = min(kept[node], used - capacity)
            kept[node] -= dropped
            used -= dropped
            if kept[node] > 0:
                heapq.heappush(heap, (soon, deep, node))


def clairvoyant_hits(events: Events, limit: Ints, capacity_blocks: int) -> Ints | None:
    """Hit blocks of each request under the clairvoyant order; None for too large a trace.

    limit: most leading blocks of each request that may count (0: it counts none).
    """
    forest = events.forest
    ends = np.where(events.insert_end >= 0, events.insert_end, events.lookup_end)
    ends = np.where(ends >= 0, ends, 0)
    offsets, nodes = node_paths(forest, ends)
    if len(nodes) > MAX_TOUCHES:
        return None
    begin = np.zeros(forest.num_nodes + 1, dtype=np.int64)
    event = np.zeros(len(nodes), dtype=np.int64)
    _touches_by_node(forest.num_nodes, offsets, nodes, begin, event)
    hit_blocks = np.zeros(len(limit), dtype=np.int64)
    _run(
        forest.tree,
        _Touches(offsets, nodes, begin, event),
        events.request,
        events.lookup_end >= 0,
        events.insert_end >= 0,
        limit,
        capacity_blocks,
        hit_blocks,
    )
    return hit_blocks
