"""The prefix tree as a picture needs it: the biggest stretches, the rest summed up.

A stretch is a run of prompt tokens that the same requests pass. Its area is its tokens times
its requests: over all stretches these add up to the prompt tokens that the trace has ids for.
Cost: linear in the tree and the requests' paths; what is drawn is at most MOST_NODES.
"""

from dataclasses import dataclass

import numpy as np

from hitpath._jit import kernel
from hitpath.accounting.ledger import Ledger
from hitpath.core import ABSENT
from hitpath.index.forest import Tree
from hitpath.report.html.words import printable
from hitpath.sim.events import ARRIVAL, Events
from hitpath.sim.reuse import node_tokens
from hitpath.traces.blocking import Blocks
from hitpath.traces.table import Ints, Labels, Trace

MOST_NODES = 700
_SMALLEST_FRAC = 1 / 20_000
_UNSET, _MIXED = -2, -3


@dataclass(frozen=True, slots=True)
class TreeNode:
    """`parent`: index in PrefixTree.nodes, -1 for the first. begin_token, tokens: where in the
    prompt, and how long. own_area = tokens x requests; area: with everything below. own_hit: hit
    tokens of own_area. num_merged: small stretches that this node stands for, else 0."""

    parent: int
    name: str
    begin_token: int
    tokens: int
    num_requests: int
    own_area: int
    own_hit: int
    area: int
    num_merged: int
    first_request: str


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """`nodes` top down, the whole trace first; num_stretches of the tree in all."""

    nodes: tuple[TreeNode, ...]
    num_stretches: int


@dataclass(frozen=True, slots=True)
class _Sums:
    """One entry a node of the forest; see _walk, _representatives and _below."""

    through: Ints
    own_hit: Ints
    first: Ints
    tenant: Ints
    session: Ints
    top: Ints
    length: Ints
    own: Ints
    area: Ints


@kernel
def _walk(
    tree: Tree,
    ends: Ints,
    hits: Ints,
    tenants: Ints,
    sessions: Ints,
    tokens: Ints,
    block_size: int,
    through: Ints,
    own_hit: Ints,
    first: Ints,
    tenant: Ints,
    session: Ints,
) -> None:
    """Requests through each node, hit tokens in it, its first request, its only labels."""
    for s in range(len(ends)):
        node = ends[s]
        while True:
            through[node] += 1
            begin = tree.depth[node] * block_size
            own_hit[node] += min(max(hits[s] - begin, 0), tokens[node])
            if first[node] < 0:
                first[node] = s
                tenant[node] = tenants[s]
                session[node] = sessions[s]
            if tenant[node] != tenants[s]:
                tenant[node] = -3
            if session[node] != sessions[s]:
                session[node] = -3
            if node < tree.num_roots:
                break
            node = tree.parent[node]


@kernel
def _representatives(tree: Tree, order: Ints, through: Ints, top: Ints) -> None:
    """top[node]: the highest node of its stretch. Outputs cut stretches that nobody parts in."""
    for node in order:
        up = tree.parent[node]
        same = node >= tree.num_roots and up >= tree.num_roots and through[node] == through[up]
        top[node] = top[up] if same else node


@kernel
def _below(tree: Tree, order: Ints, area: Ints) -> None:
    """Add every node's area to its parent's, leaves first."""
    for node in order:
        if node >= tree.num_roots:
            area[tree.parent[node]] += area[node]


def prefix_tree(trace: Trace, ledger: Ledger, events: Events, blocks: Blocks) -> PrefixTree:
    """The stretches of all counted prompts, at most MOST_NODES of them and one rest each."""
    sums = _sums(trace, ledger, events, blocks)
    tree = events.forest.tree
    heads = np.flatnonzero((sums.top == np.arange(len(sums.top))) & (sums.through > 0))
    heads = heads[(heads < tree.num_roots) | (sums.own[heads] > 0)]
    # Parents first among equals: a parent's area is never smaller, its depth never larger.
    order = np.lexsort((heads, tree.depth[heads], -sums.area[heads]))
    heads = heads[order]
    total = int(sums.area[heads[heads < tree.num_roots]].sum())
    shown = heads[:MOST_NODES]
    shown = shown[sums.area[shown] >= total * _SMALLEST_FRAC]
    above = _parents(tree, sums)
    rows = events.request[np.flatnonzero((events.kind == ARRIVAL) & ledger.counted[events.request])]
    made = _Builder(trace, rows, sums, tree, blocks.block_size, total)
    made.add_all(shown, above)
    made.add_rests(heads, above)
    stretches = int(np.count_nonzero(heads >= tree.num_roots))
    return PrefixTree(tuple(made.nodes), stretches)


def _parents(tree: Tree, sums: _Sums) -> Ints:
    """Of each head: the head above it; -1 for roots."""
    above = sums.top[tree.parent]
    above[: tree.num_roots] = -1
    return above


def _sums(trace: Trace, ledger: Ledger, events: Events, blocks: Blocks) -> _Sums:
    tree = events.forest.tree
    num = len(tree.parent)
    arrivals = np.flatnonzero((events.kind == ARRIVAL) & ledger.counted[events.request])
    rows = events.request[arrivals]
    tokens = node_tokens(trace, events, blocks)
    through, own_hit = (np.zeros(num, dtype=np.int64) for _ in range(2))
    first = np.full(num, ABSENT, dtype=np.int64)
    tenant, session = (np.full(num, _UNSET, dtype=np.int64) for _ in range(2))
    _walk(
        tree,
        events.lookup_end[arrivals],
        ledger.hit[rows],
        trace.tenant.codes[rows],
        trace.session.codes[rows],
        tokens,
        blocks.block_size,
        through,
        own_hit,
        first,
        tenant,
        session,
    )
    down = np.argsort(tree.depth + (np.arange(num) >= tree.num_roots), kind="stable")
    top = np.zeros(num, dtype=np.int64)
    _representatives(tree, down, through, top)
    area = tokens * through
    _below(tree, down[::-1].copy(), area)

    def joined(column: Ints) -> Ints:
        sums = np.zeros(num, dtype=np.int64)
        np.add.at(sums, top, column)
        return sums

    own = joined(tokens * through)
    return _Sums(through, joined(own_hit), first, tenant, session, top, joined(tokens), own, area)


class _Builder:
    """Puts nodes in a list, parents before children, and remembers where each one went."""

    def __init__(
        self, trace: Trace, rows: Ints, sums: _Sums, tree: Tree, block_size: int, total: int
    ) -> None:
        self.trace, self.rows, self.sums, self.tree = trace, rows, sums, tree
        self.block_size = block_size
        whole = TreeNode(-1, "all prompts", 0, 0, len(rows), 0, 0, total, 0, "")
        self.nodes = [whole]
        self.index: dict[int, int] = {}
        visited_roots = np.flatnonzero(sums.through[: tree.num_roots] > 0)
        self.only_root = int(visited_roots[0]) if len(visited_roots) == 1 else -1
        if self.only_root >= 0:
            self.index[self.only_root] = 0

    def add_all(self, heads: Ints, above: Ints) -> None:
        sums = self.sums
        for node in heads.tolist():
            if node in self.index:
                continue
            is_root = node < self.tree.num_roots
            first_row = int(self.rows[sums.first[node]])
            self.index[node] = len(self.nodes)
            self.nodes.append(
                TreeNode(
                    0 if is_root else self.index[int(above[node])],
                    self._context_name(first_row) if is_root else self._name(node),
                    int(self.tree.depth[node]) * self.block_size,
                    0 if is_root else int(sums.length[node]),
                    int(sums.through[node]),
                    0 if is_root else int(sums.own[node]),
                    0 if is_root else int(sums.own_hit[node]),
                    int(sums.area[node]),
                    0,
                    printable(self.trace.ids[first_row]),
                )
            )

    def add_rests(self, heads: Ints, above: Ints) -> None:
        """One node for all small children of each node shown, with all that is below them."""
        hit_below = self.sums.own_hit.copy()
        place = heads[np.argsort(-self.tree.depth[heads], kind="stable")]
        for node in place.tolist():
            up = int(above[node])
            if up >= 0:
                hit_below[up] += hit_below[node]
        small: dict[int, list[int]] = {}
        for node in heads.tolist():
            if node not in self.index:
                up = int(above[node])
                parent = self.index.get(up, -1) if up >= 0 else 0
                if parent >= 0:
                    small.setdefault(parent, []).append(node)
        for parent, members in small.items():
            sums = self.sums
            area = int(sums.area[members].sum())
            begin = int(self.tree.depth[members[0]]) * self.block_size
            requests = int(sums.through[members].sum())
            name = f"{len(members):,} other" + ("s" if len(members) > 1 else "")
            hits = int(hit_below[members].sum())
            self.nodes.append(
                TreeNode(parent, name, begin, 0, requests, area, hits, area, len(members), "")
            )

    def _name(self, node: int) -> str:
        """The only session or tenant of a stretch, else how many share it."""
        for labels, code in (
            (self.trace.session, int(self.sums.session[node])),
            (self.trace.tenant, int(self.sums.tenant[node])),
        ):
            if code >= 0:
                return _label(labels, code)
        first = printable(self.trace.ids[int(self.rows[self.sums.first[node]])])
        return first if int(self.sums.through[node]) == 1 else f"shared, first in {first}"

    def _context_name(self, row: int) -> str:
        context = self.trace.contexts[int(self.trace.context[row])]
        told = [context.model, context.salt, context.adapter, context.media_salt]
        told += [f"{name} {value}" for name, value in context.others]
        names = [printable(part) for part in told if part]
        return "context " + ", ".join(names) if names else "no salt, no adapter"


def _label(labels: Labels, code: int) -> str:
    return printable(labels.names[code])
