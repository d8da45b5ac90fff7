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
_MOST_CHARACTERS = 80
_UNSET, _MIXED = -2, -3


@dataclass(frozen=True, slots=True)
class TreeNode:
    """`parent`: index in PrefixTree.nodes, -1 for the first. begin_token, tokens: where in the
    prompt, and how long. own_area = tokens x requests; area: with everything below. own_hit: hit
    tokens of own_area. num_merged: small stretches that this node stands for, else 0. first_row:
    its first request's row in the trace; -1 where the node is no stretch."""

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
    first_row: int = -1


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
    hit_below: Ints


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
def _below(tree: Tree, order: Ints, sums: Ints) -> None:
    """Add every node's sum to its parent's, leaves first."""
    for node in order:
        if node >= tree.num_roots:
            sums[tree.parent[node]] += sums[node]


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
    above = _parents(tree, sums)
    rows = events.request[np.flatnonzero((events.kind == ARRIVAL) & ledger.counted[events.request])]
    made = _Builder(trace, rows, sums, tree, blocks.block_size, total)
    made.add_all(heads[:MOST_NODES], above)
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
    area, hit_below = tokens * through, own_hit.copy()
    for column in (area, hit_below):
        _below(tree, down[::-1].copy(), column)

    def joined(column: Ints) -> Ints:
        sums = np.zeros(num, dtype=np.int64)
        np.add.at(sums, top, column)
        return sums

    own = joined(tokens * through)
    return _Sums(
        through,
        joined(own_hit),
        first,
        tenant,
        session,
        top,
        joined(tokens),
        own,
        area,
        hit_below,
    )


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
                    _brief(self.trace.ids[first_row]),
                    -1 if is_root else first_row,
                )
            )

    def add_rests(self, heads: Ints, above: Ints) -> None:
        """One node for all small children of each node shown, with all that is below them."""
        sums, depth = self.sums, self.tree.depth
        index = np.full(len(above), -1, dtype=np.int64)
        index[list(self.index)] = list(self.index.values())
        up = above[heads]
        parent = np.where(up < 0, 0, index[up])
        small = (index[heads] < 0) & (parent >= 0)
        members, parent = heads[small], parent[small]
        parents, first, group = np.unique(parent, return_index=True, return_inverse=True)

        def summed(column: Ints) -> list[int]:
            total = np.zeros(len(parents), dtype=np.int64)
            np.add.at(total, group, column)
            return [int(value) for value in total]

        for shown, begin, num, requests, area, hits in zip(
            parents.tolist(),
            (depth[members[first]] * self.block_size).tolist(),
            summed(np.ones_like(members)),
            summed(sums.through[members]),
            summed(sums.area[members]),
            summed(sums.hit_below[members]),
            strict=True,
        ):
            name = f"{num:,} other" + ("s" if num > 1 else "")
            self.nodes.append(TreeNode(shown, name, begin, 0, requests, area, hits, area, num, ""))

    def _name(self, node: int) -> str:
        """The only session or tenant of a stretch, else how many share it."""
        for labels, code in (
            (self.trace.session, int(self.sums.session[node])),
            (self.trace.tenant, int(self.sums.tenant[node])),
        ):
            if code >= 0:
                return _label(labels, code)
        first = _brief(self.trace.ids[int(self.rows[self.sums.first[node]])])
        return first if int(self.sums.through[node]) == 1 else f"shared, first in {first}"

    def _context_name(self, row: int) -> str:
        context = self.trace.contexts[int(self.trace.context[row])]
        told = [context.model, context.salt, context.adapter, context.media_salt]
        told += [f"{name} {value}" for name, value in context.others]
        names = [_brief(part) for part in told if part]
        return "context " + ", ".join(names) if names else "no salt, no adapter"


def _label(labels: Labels, code: int) -> str:
    return _brief(labels.names[code])


def _brief(name: str) -> str:
    """A name fit for a box; a thousand very long ones must not fill the page."""
    shown = printable(name)
    return shown if len(shown) <= _MOST_CHARACTERS else f"{shown[: _MOST_CHARACTERS - 1]}…"
