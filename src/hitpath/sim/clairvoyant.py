"""The most that one cache of a given size could have hit, had it known the future.

After each request any of its blocks and of the cache's may be kept, up to the capacity.
Keeping the blocks whose next use is soonest is optimal (each kept interval between two uses
is worth one block; Belady 1966), and since whoever uses a block uses all blocks before it,
what is kept is always a prefix. A block is worth keeping only until the next event that
brings it anyway: if that event does not count it as a hit (the partial last block, the last
block under the last-token rule, a finish), it is dropped first.
"""

import heapq

import numpy as np

from hitpath._jit import kernel
from hitpath.index.forest import node_paths
from hitpath.sim.events import Events
from hitpath.traces.table import Ints

MAX_TOUCHES = 100_000_000
"""Above this many (event, node) pairs the bound is not computed: about 4 GB of arrays."""


@kernel
def _touches_by_node(num_nodes, offsets, nodes, begin, event):  # type: ignore[no-untyped-def]
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


@kernel
def _run(  # type: ignore[no-untyped-def]
    depth,
    length,
    request,
    is_lookup,
    is_insert,
    limit,
    capacity,
    offsets,
    nodes,
    begin,
    event,
    hit_blocks,
):
    num_nodes = len(depth)
    kept = np.zeros(num_nodes, dtype=np.int64)
    next_use = np.full(num_nodes, -1, dtype=np.int64)
    at = begin[:-1].copy()
    used = 0
    heap = [(0, 0, -1)]
    heapq.heappop(heap)
    for e in range(len(request)):
        if is_lookup[e]:
            hits = 0
            for i in range(offsets[e], offsets[e + 1]):
                node = nodes[i]
                if depth[node] != hits or kept[node] == 0:
                    break
                hits += kept[node]
            hit_blocks[request[e]] = min(hits, limit[request[e]])
        for i in range(offsets[e], offsets[e + 1]):
            node = nodes[i]
            while at[node] < begin[node + 1] and event[at[node]] <= e:
                at[node] += 1
            if not is_insert[e]:
                continue
            used -= kept[node]
            kept[node] = 0
            next_use[node] = -1
            if at[node] < begin[node + 1]:
                following = event[at[node]]
                if is_lookup[following]:
                    room = limit[request[following]] - depth[node]
                    kept[node] = max(0, min(length[node], room))
                    next_use[node] = following
            if kept[node] > 0:
                used += kept[node]
                heapq.heappush(heap, (-next_use[node], -depth[node], node))
        while used > capacity:
            soon, deep, node = heapq.heappop(heap)
            if kept[node] == 0 or next_use[node] != -soon:
                continue
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
        forest.depth,
        forest.length,
        events.request,
        events.lookup_end >= 0,
        events.insert_end >= 0,
        limit,
        capacity_blocks,
        offsets,
        nodes,
        begin,
        event,
        hit_blocks,
    )
    return hit_blocks
