"""Who shares what, and how far apart in time: origin of hits, shared prefixes, reuse gaps."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.index.forest import Tree, match_by_label, visits
from hitpath.sim.events import ARRIVAL, Events
from hitpath.traces.blocking import Blocks
from hitpath.traces.table import Floats, Ints, Trace

TTLS_S = (10, 60, 300, 600, 1800, 3600, 86400)
Mask = NDArray[np.bool_]
_GRID_S = np.unique(np.concatenate([np.array(TTLS_S, dtype=np.float64), np.logspace(-2, 7, 181)]))


@dataclass(frozen=True, slots=True)
class SharedPrefix:
    """A stretch of tokens [begin, end) after a common beginning that `num_requests` requests
    have. reusable_tokens = (num_requests - 1) x its length; over all stretches these add up
    to what an unlimited cache reuses (whole blocks and matched partial ones)."""

    begin_token: int
    end_token: int
    num_requests: int
    reusable_tokens: int
    first_request: str


@dataclass(frozen=True, slots=True)
class ReuseGaps:
    """Time since a block was last used, over all reusable blocks, weighted by tokens.

    within[i]: tokens whose gap is at most TTLS_S[i]. median_s: upper edge of its step of a
    grid of 20 steps a decade. num_negative: gaps that clocks make negative, taken as 0.
    """

    tokens: int
    within: tuple[int, ...]
    median_s: float | None
    num_negative: int


def shared_with(events: Events, blocks: Blocks, labels: Ints) -> Ints:
    """Leading ids of each prompt that an earlier request of the same label brought (its prompt,
    and its output where outputs are kept)."""
    inserts = np.where(events.insert_end >= 0, events.insert_end, events.lookup_end)
    used = (events.kind == ARRIVAL) | (events.insert_end >= 0)
    ends = np.where(events.kind == ARRIVAL, events.lookup_end, inserts)[used]
    matched = match_by_label(events.forest, ends, labels[events.request[used]])
    arrivals = events.kind[used] == ARRIVAL
    shared = np.zeros(len(labels), dtype=np.int64)
    shared[events.request[used][arrivals]] = matched[arrivals]
    return shared


def node_tokens(trace: Trace, events: Events, blocks: Blocks) -> Ints:
    """Tokens in each node: block size x blocks, a partial last block by its rest."""
    tree = events.forest.tree
    tokens = tree.length * blocks.block_size
    rows = np.flatnonzero(blocks.partial_tokens > 0)
    ends = events.lookup_end[events.arrival_of[rows]]
    full = tree.length[ends] * blocks.block_size
    tokens[ends] = full - blocks.block_size + blocks.partial_tokens[rows]
    return tokens


@kernel
def _join(tree: Tree, order: Ints, through: Ints, tokens: Ints) -> None:
    """Move the tokens of a node that all who pass its parent pass to that parent (outputs cut
    prompts at places where no prompt ends)."""
    for node in order:
        up = tree.parent[node]
        if up >= tree.num_roots and through[node] == through[up]:
            tokens[up] += tokens[node]
            tokens[node] = 0


def shared_prefixes(
    trace: Trace, events: Events, blocks: Blocks, counted: Mask, most: int
) -> list[SharedPrefix]:
    """The stretches with the most reusable tokens, at most `most` of them."""
    forest = events.forest
    arrivals = np.flatnonzero((events.kind == ARRIVAL) & counted[events.request])
    through = visits(forest, events.lookup_end[arrivals])
    tokens = node_tokens(trace, events, blocks)
    _join(forest.tree, np.argsort(-forest.tree.depth, kind="stable"), through, tokens)
    reusable = np.maximum(through - 1, 0) * tokens
    reusable[: forest.tree.num_roots] = 0
    order = np.argsort(-reusable, kind="stable")[:most]
    first_of = _first_visitor(forest.tree, events.lookup_end[arrivals])
    found = []
    for node in order[reusable[order] > 0]:
        begin = int(forest.tree.depth[node]) * blocks.block_size
        length = int(tokens[node])
        row = int(events.request[arrivals[first_of[node]]])
        found.append(
            SharedPrefix(
                begin, begin + length, int(through[node]), int(reusable[node]), trace.ids[row]
            )
        )
    return found


@kernel
def _first_visitor(tree: Tree, ends: Ints) -> Ints:
    first = np.full(len(tree.parent), -1, dtype=np.int64)
    for s in range(len(ends)):
        node = ends[s]
        while node >= tree.num_roots and first[node] < 0:
            first[node] = s
            node = tree.parent[node]
    return first


@kernel
def _gaps(
    tree: Tree, ends: Ints, times: Floats, limit: Ints, grid: Floats, weight: Ints, last: Floats
) -> int:
    """Add each reused node's blocks to weight[step of its gap]; returns negative gaps."""
    negative = 0
    for s in range(len(ends)):
        node = ends[s]
        while node >= tree.num_roots:
            blocks = min(tree.length[node], limit[s] - tree.depth[node])
            if blocks > 0 and not np.isnan(last[node]):
                gap = times[s] - last[node]
                negative += gap < 0  # counts in the first step
                weight[np.searchsorted(grid, gap)] += blocks
            last[node] = times[s]
            node = tree.parent[node]
    return negative


def reuse_gaps(trace: Trace, events: Events, limit: Ints, block_size: int) -> ReuseGaps:
    """limit: most leading blocks of each request that may count (0: it counts none)."""
    forest = events.forest
    arrivals = np.flatnonzero(events.kind == ARRIVAL)
    rows = events.request[arrivals]
    weight = np.zeros(len(_GRID_S) + 1, dtype=np.int64)
    last = np.full(forest.num_nodes, np.nan)
    negative = _gaps(
        forest.tree,
        events.lookup_end[arrivals],
        trace.arrival_s[rows],
        limit[rows],
        _GRID_S,
        weight,
        last,
    )
    total = int(weight.sum())
    steps = np.cumsum(weight)
    within = tuple(int(steps[np.searchsorted(_GRID_S, ttl)]) * block_size for ttl in TTLS_S)
    middle = int(np.searchsorted(steps, total / 2))
    median = float(_GRID_S[middle]) if total and middle < len(_GRID_S) else None
    return ReuseGaps(total * block_size, within, median, int(negative))
