"""Workers with an LRU cache each, exactly as docs/what-counts-as-a-hit.md defines it.

At an arrival: what every worker holds of the prompt (nothing changes), the router's pick, then
all blocks of the prompt are inserted on that worker tail first, so that a parent is always
more recent than its children, and the oldest blocks are dropped until the capacity holds.

State is kept a node of the forest, not a block: an entry is "worker v holds the first
`resident` blocks of this node", in one doubly linked list a worker, most recent first. That
is the same cache: whatever touches a node touches all of it, and blocks of one node leave
from its end. Cost: a few entries a request, whatever the prompt's length.
"""

from dataclasses import dataclass

import numpy as np

from hitpath._jit import kernel
from hitpath.core import ABSENT
from hitpath.routing.policies import longest_match
from hitpath.sim.events import Events
from hitpath.traces.table import Ints

UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class FleetOutcome:
    """One entry a request. worker: who served it. resident: leading ids held there at its
    arrival. best: the most that any worker held."""

    worker: Ints
    resident: Ints
    best: Ints
    num_workers: int

    def check(self) -> None:
        """No worker holds more than the best one."""
        assert np.all(self.resident <= self.best)
        assert np.all((self.worker >= 0) & (self.worker < self.num_workers))


@kernel
def _unlink(entry, owner, newer, older, head, tail):  # type: ignore[no-untyped-def]
    before, after = newer[entry], older[entry]
    if before >= 0:
        older[before] = after
    else:
        head[owner] = after
    if after >= 0:
        newer[after] = before
    else:
        tail[owner] = before


@kernel
def _push(entry, owner, newer, older, head, tail):  # type: ignore[no-untyped-def]
    newer[entry] = -1
    older[entry] = head[owner]
    if head[owner] >= 0:
        newer[head[owner]] = entry
    else:
        tail[owner] = entry
    head[owner] = entry


@kernel
def _look_up(node, parent, depth, length, num_roots, path, first_entry, sibling, owner, resident, held):  # type: ignore[no-untyped-def] # noqa: E501
    """Fill held[v] = leading ids that worker v holds of the path to `node`."""
    held[:] = 0
    count = 0
    while node >= num_roots:
        path[count] = node
        count += 1
        node = parent[node]
    for i in range(count - 1, -1, -1):
        node = path[i]
        goes_on = False
        entry = first_entry[node]
        while entry >= 0:
            v = owner[entry]
            if held[v] == depth[node] and resident[entry] > 0:
                held[v] += resident[entry]
                goes_on = goes_on or resident[entry] == length[node]
            entry = sibling[entry]
        if not goes_on:
            break


@kernel
def _run(  # type: ignore[no-untyped-def]
    parent,
    depth,
    length,
    num_roots,
    request,
    lookup_end,
    insert_end,
    given,
    limit,
    prompt_tokens,
    block_size,
    capacity,
    worker,
    resident_ids,
    best_ids,
    num_workers,
    first_entry,
    sibling,
    owner,
    resident,
    newer,
    older,
):
    head = np.full(num_workers, -1, dtype=np.int64)
    tail = np.full(num_workers, -1, dtype=np.int64)
    used = np.zeros(num_workers, dtype=np.int64)
    loads = np.zeros(num_workers, dtype=np.int64)
    held = np.zeros(num_workers, dtype=np.int64)
    path = np.zeros(len(parent), dtype=np.int64)
    num_entries = 0
    for e in range(len(request)):
        r = request[e]
        if lookup_end[e] >= 0:
            _look_up(
                lookup_end[e],
                parent,
                depth,
                length,
                num_roots,
                path,
                first_entry,
                sibling,
                owner,
                resident,
                held,
            )
            best_ids[r] = held.max()
            w = given[r]
            if w < 0:
                w = longest_match(np.minimum(held, limit[r]), loads)
            worker[r] = w
            resident_ids[r] = held[w]
            loads[w] += prompt_tokens[r] - min(held[w], limit[r]) * block_size
        w = worker[r]
        node = insert_end[e]
        while node >= num_roots:
            entry = first_entry[node]
            while entry >= 0 and owner[entry] != w:
                entry = sibling[entry]
            if entry < 0:
                entry = num_entries
                num_entries += 1
                owner[entry] = w
                sibling[entry] = first_entry[node]
                first_entry[node] = entry
            elif resident[entry] > 0:
                _unlink(entry, w, newer, older, head, tail)
            used[w] += length[node] - resident[entry]
            resident[entry] = length[node]
            _push(entry, w, newer, older, head, tail)
            node = parent[node]
        while 0 <= capacity < used[w]:
            entry = tail[w]
            dropped = min(resident[entry], used[w] - capacity)
            resident[entry] -= dropped
            used[w] -= dropped
            if resident[entry] == 0:
                _unlink(entry, w, newer, older, head, tail)


def simulate_fleet(
    events: Events,
    *,
    given_worker: Ints,
    num_workers: int,
    limit: Ints,
    prompt_tokens: Ints,
    block_size: int,
    capacity_blocks: int | None,
) -> FleetOutcome:
    """Serve every request.

    given_worker: the worker of each request, ABSENT where the prefix router decides. limit:
    most leading blocks that may count as a hit. capacity_blocks: per worker, None = unlimited.
    """
    forest = events.forest
    num_requests = len(prompt_tokens)
    paths = _num_entries(events, num_workers)
    worker, resident_ids, best_ids = (np.zeros(num_requests, dtype=np.int64) for _ in range(3))
    first_entry = np.full(forest.num_nodes, ABSENT, dtype=np.int64)
    sibling, newer, older = (np.full(paths, ABSENT, dtype=np.int64) for _ in range(3))
    owner, resident = (np.zeros(paths, dtype=np.int64) for _ in range(2))
    _run(
        forest.parent,
        forest.depth,
        forest.length,
        forest.num_roots,
        events.request,
        events.lookup_end,
        events.insert_end,
        given_worker,
        limit,
        prompt_tokens,
        block_size,
        UNLIMITED if capacity_blocks is None else capacity_blocks,
        worker,
        resident_ids,
        best_ids,
        num_workers,
        first_entry,
        sibling,
        owner,
        resident,
        newer,
        older,
    )
    return FleetOutcome(worker, resident_ids, best_ids, num_workers)


@kernel
def _path_nodes(parent, num_roots, ends):  # type: ignore[no-untyped-def]
    total = 0
    for node in ends:
        while node >= num_roots:
            total += 1
            node = parent[node]
    return total


def _num_entries(events: Events, num_workers: int) -> int:
    """No more entries than nodes x workers, nor than nodes inserted."""
    forest = events.forest
    most = forest.num_nodes * num_workers
    if num_workers > 1:
        most = min(most, int(_path_nodes(forest.parent, forest.num_roots, events.insert_end)))
    return most

