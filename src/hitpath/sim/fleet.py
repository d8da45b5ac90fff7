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
from typing import NamedTuple

import numpy as np

from hitpath._jit import kernel
from hitpath.core import ABSENT
from hitpath.index.forest import Tree
from hitpath.routing.policies import longest_match
from hitpath.sim.events import Events
from hitpath.traces.table import Ints

UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class FleetOutcome:
    """One entry a request. worker: who served it. resident: leading ids held there at its
    arrival. best: the most that any worker held, best_worker: the first that did. granted:
    rungs 0 to 3 in tokens [4, N], where an engine's own model has them; host: how many tokens of
    rung 0 come from the host's tier then."""

    worker: Ints
    resident: Ints
    best: Ints
    best_worker: Ints
    num_workers: int
    granted: Ints | None = None
    host: Ints | None = None

    def check(self) -> None:
        """No worker holds more than the best one."""
        assert np.all(self.resident <= self.best)
        assert np.all((self.worker >= 0) & (self.worker < self.num_workers))


class _Entries(NamedTuple):
    """Entry e: worker `owner[e]` holds the first `resident[e]` blocks of a node. `first[node]`
    and `sibling[e]` chain a node's entries; `newer[e]` and `older[e]` a worker's, ABSENT ends.
    """

    first: Ints
    sibling: Ints
    owner: Ints
    resident: Ints
    newer: Ints
    older: Ints


class _Workers(NamedTuple):
    """One entry a worker: ends of its list, blocks in use, tokens computed, and scratch: the
    leading blocks that it holds of the prompt at hand."""

    newest: Ints
    oldest: Ints
    used: Ints
    load: Ints
    held: Ints


class _Requests(NamedTuple):
    """One entry a request: what is given, then what is found out."""

    given: Ints
    limit: Ints
    prompt_tokens: Ints
    worker: Ints
    resident: Ints
    best: Ints
    best_worker: Ints


@kernel
def _unlink(entries: _Entries, workers: _Workers, entry: int, w: int) -> None:
    before, after = entries.newer[entry], entries.older[entry]
    if before >= 0:
        entries.older[before] = after
    else:
        workers.newest[w] = after
    if after >= 0:
        entries.newer[after] = before
    else:
        workers.oldest[w] = before


@kernel
def _push(entries: _Entries, workers: _Workers, entry: int, w: int) -> None:
    newest = workers.newest[w]
    entries.newer[entry] = -1
    entries.older[entry] = newest
    if newest >= 0:
        entries.newer[newest] = entry
    else:
        workers.oldest[w] = entry
    workers.newest[w] = entry


@kernel
def _look_up(tree: Tree, entries: _Entries, held: Ints, node: int, path: Ints) -> None:
    """Fill held[v] = leading ids that worker v holds of the path to `node`."""
    held[:] = 0
    count = 0
    while node >= tree.num_roots:
        path[count] = node
        count += 1
        node = tree.parent[node]
    for i in range(count - 1, -1, -1):
        node = path[i]
        goes_on = False
        entry = entries.first[node]
        while entry >= 0:
            v = entries.owner[entry]
            resident = entries.resident[entry]
            if held[v] == tree.depth[node] and resident > 0:
                held[v] += resident
                goes_on = goes_on or resident == tree.length[node]
            entry = entries.sibling[entry]
        if not goes_on:
            break


@kernel
def _insert(
    tree: Tree, entries: _Entries, workers: _Workers, node: int, w: int, num_entries: int
) -> int:
    """Make the path to `node` the most recent blocks of worker w, tail first; returns the
    number of entries."""
    while node >= tree.num_roots:
        entry = entries.first[node]
        while entry >= 0 and entries.owner[entry] != w:
            entry = entries.sibling[entry]
        if entry < 0:
            entry = num_entries
            num_entries += 1
            entries.owner[entry] = w
            entries.sibling[entry] = entries.first[node]
            entries.first[node] = entry
        elif entries.resident[entry] > 0:
            _unlink(entries, workers, entry, w)
        workers.used[w] += tree.length[node] - entries.resident[entry]
        entries.resident[entry] = tree.length[node]
        _push(entries, workers, entry, w)
        node = tree.parent[node]
    return num_entries


@kernel
def _run(
    tree: Tree,
    request: Ints,
    lookup_end: Ints,
    insert_end: Ints,
    requests: _Requests,
    entries: _Entries,
    workers: _Workers,
    block_size: int,
    capacity: int,
) -> None:
    path = np.zeros(len(tree.parent), dtype=np.int64)
    held = workers.held
    num_entries = 0
    for e in range(len(request)):
        r = request[e]
        if lookup_end[e] >= 0:
            _look_up(tree, entries, held, lookup_end[e], path)
            limit = requests.limit[r]
            w = requests.given[r]
            if w < 0:
                w = longest_match(np.minimum(held, limit), workers.load)
            requests.worker[r] = w
            requests.resident[r] = held[w]
            requests.best_worker[r] = held.argmax()
            requests.best[r] = held[requests.best_worker[r]]
            workers.load[w] += requests.prompt_tokens[r] - min(held[w], limit) * block_size
        w = requests.worker[r]
        num_entries = _insert(tree, entries, workers, insert_end[e], w, num_entries)
        while 0 <= capacity < workers.used[w]:
            entry = workers.oldest[w]
            dropped = min(entries.resident[entry], workers.used[w] - capacity)
            entries.resident[entry] -= dropped
            workers.used[w] -= dropped
            if entries.resident[entry] == 0:
                _unlink(entries, workers, entry, w)


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
    requests = _Requests(given_worker, limit, prompt_tokens, *_zeros(4, len(prompt_tokens)))
    _run(
        events.forest.tree,
        events.request,
        events.lookup_end,
        events.insert_end,
        requests,
        _no_entries(events, num_workers),
        _Workers(*_absent(2, num_workers), *_zeros(3, num_workers)),
        block_size,
        UNLIMITED if capacity_blocks is None else capacity_blocks,
    )
    return FleetOutcome(
        requests.worker, requests.resident, requests.best, requests.best_worker, num_workers
    )


def _absent(count: int, size: int) -> list[Ints]:
    return [np.full(size, ABSENT, dtype=np.int64) for _ in range(count)]


def _zeros(count: int, size: int) -> list[Ints]:
    return [np.zeros(size, dtype=np.int64) for _ in range(count)]


@kernel
def _path_nodes(tree: Tree, ends: Ints) -> int:
    total = 0
    for end in ends:
        node = end
        while node >= tree.num_roots:
            total += 1
            node = tree.parent[node]
    return total


def _no_entries(events: Events, num_workers: int) -> _Entries:
    """Room for as many entries as nodes x workers, or as nodes are inserted."""
    forest = events.forest
    most = forest.num_nodes * num_workers
    if num_workers > 1:
        most = min(most, int(_path_nodes(forest.tree, events.insert_end)))
    (first,) = _absent(1, forest.num_nodes)
    sibling, newer, older = _absent(3, most)
    owner, resident = _zeros(2, most)
    return _Entries(first, sibling, owner, resident, newer, older)
