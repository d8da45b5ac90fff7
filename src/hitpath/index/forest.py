"""The prefix forest: every sequence of a trace in one compressed tree, one root a context.

A node is a run of symbols that every sequence passing through it shares; it points into the
flat array of the sequence that brought it, so the tree owns no symbols. Built in serving
order, each sequence's `match` is the number of leading symbols that any earlier sequence of
the same root has: exact, without hashing more than one symbol a node.

Once built, all sequences that touch a node touch the whole of it. So whatever happens to
blocks (last use, residency, eviction) happens to nodes, and a request costs a handful of
nodes instead of thousands of blocks. Nodes are numbered roots first; `parent` of a root is
itself. Symbols may be tokens or block ids. Not thread-safe while building; immutable after.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel

Ints = NDArray[np.int64]
Symbols = NDArray[np.uint32] | NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Forest:
    """Shapes: the first four have one entry a node, the last two one a sequence.

    parent: node above. depth: symbols before the node. length: symbols in it (0 for a root).
    first: flat position of its first symbol. end: node at which the sequence ends (all of
    it). match: leading symbols that an earlier sequence has.
    """

    parent: Ints
    depth: Ints
    length: Ints
    first: Ints
    end: Ints
    match: Ints
    num_roots: int

    @property
    def num_nodes(self) -> int:
        """Roots included."""
        return len(self.parent)

    def check(self) -> None:
        """Structure: depths add up along parents, every sequence ends where it should."""
        nodes = np.arange(self.num_roots, self.num_nodes)
        up = self.parent[nodes]
        assert np.array_equal(self.depth[nodes], self.depth[up] + self.length[up])
        assert np.all(self.length[nodes] > 0)
        assert np.all(self.match <= self.depth[self.end] + self.length[self.end])


@kernel
def _slot_of(symbol: np.uint64, node: int, mask: np.uint64) -> np.uint64:
    mixed = (symbol ^ (np.uint64(node) * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    return (mixed ^ (mixed >> np.uint64(31))) & mask


@kernel
def _find_child(slots: Ints, mask, symbols, parent, first, node, symbol):  # type: ignore[no-untyped-def]
    """Slot that holds the child of `node` on `symbol`, or the empty slot where it belongs."""
    slot = _slot_of(np.uint64(symbol), node, mask)
    while True:
        child = slots[np.int64(slot)]
        if child < 0 or (parent[child] == node and symbols[first[child]] == symbol):
            return np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@kernel
def _build(  # type: ignore[no-untyped-def]
    symbols, starts, lengths, roots, num_roots, parent, depth, length, first, slots, end, match
):
    """Insert every sequence; returns the number of nodes. Arrays are filled in place."""
    mask = np.uint64(len(slots) - 1)
    num_nodes = num_roots
    for s in range(len(starts)):
        at = starts[s]
        stop = at + lengths[s]
        node = roots[s]
        matched = lengths[s]
        while at < stop:
            slot = _find_child(slots, mask, symbols, parent, first, node, symbols[at])
            child = slots[slot]
            if child < 0:
                # [at, stop) is new: a leaf
                matched = at - starts[s]
                slots[slot] = num_nodes
                parent[num_nodes] = node
                depth[num_nodes] = matched
                length[num_nodes] = stop - at
                first[num_nodes] = at
                node = num_nodes
                num_nodes += 1
                break
            there = first[child]
            most = min(length[child], stop - at)
            same = 1
            while same < most and symbols[there + same] == symbols[at + same]:
                same += 1
            at += same
            if same < length[child]:
                # The upper part becomes a node of its own; the lower one keeps its number, so
                # that sequences ending there still do.
                upper = num_nodes
                num_nodes += 1
                slots[slot] = upper
                parent[upper] = node
                depth[upper] = depth[child]
                length[upper] = same
                first[upper] = there
                parent[child] = upper
                depth[child] += same
                length[child] -= same
                first[child] = there + same
                lower = _find_child(
                    slots, mask, symbols, parent, first, upper, symbols[there + same]
                )
                slots[lower] = child
                node = upper
            else:
                node = child
        end[s] = node
        match[s] = matched
    return num_nodes


def build_forest(symbols: Symbols, starts: Ints, lengths: Ints, roots: Ints) -> Forest:
    """Insert sequences in the given order.

    symbols: flat array; sequence s is symbols[starts[s]:starts[s] + lengths[s]].
    roots: dense root number of each sequence (0 .. max). Cost: linear in the symbols.
    """
    num_roots = int(roots.max()) + 1 if len(roots) else 0
    most = num_roots + 2 * len(starts)
    parent = np.arange(most, dtype=np.int64)
    depth, length, first = (np.zeros(most, dtype=np.int64) for _ in range(3))
    # A root has no symbol of its own: -1 parents keep it from being anybody's child.
    slots = np.full(1 << max(4, (2 * most).bit_length()), -1, dtype=np.int64)
    end, match = (np.zeros(len(starts), dtype=np.int64) for _ in range(2))
    num_nodes = _build(
        symbols, starts, lengths, roots, num_roots, parent, depth, length, first, slots, end, match
    )
    return Forest(
        parent[:num_nodes].copy(),
        depth[:num_nodes].copy(),
        length[:num_nodes].copy(),
        first[:num_nodes].copy(),
        end,
        match,
        num_roots,
    )


@kernel
def _paths(parent, num_roots, end, offsets, nodes):  # type: ignore[no-untyped-def]
    """Pass 1 (nodes empty): offsets; pass 2: nodes from the root's child down to the end."""
    fill = len(nodes) > 0
    for s in range(len(end)):
        node = end[s]
        count = 0
        while node >= num_roots:
            if fill:
                nodes[offsets[s + 1] - 1 - count] = node
            count += 1
            node = parent[node]
        if not fill:
            offsets[s + 1] = offsets[s] + count


def node_paths(forest: Forest, ends: Ints) -> tuple[Ints, Ints]:
    """(offsets [len(ends) + 1], nodes): the path to each end node, top down, roots left out."""
    offsets = np.zeros(len(ends) + 1, dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int64)
    _paths(forest.parent, forest.num_roots, ends, offsets, nothing)
    nodes = np.zeros(int(offsets[-1]), dtype=np.int64)
    if len(nodes):
        _paths(forest.parent, forest.num_roots, ends, offsets, nodes)
    return offsets, nodes


@kernel
def _match_by_label(parent, depth, length, num_roots, end, label, slots, keys, best):  # type: ignore[no-untyped-def]
    mask = np.uint64(len(slots) - 1)
    used = 0
    for s in range(len(end)):
        if label[s] < 0:
            continue
        node = end[s]
        while node >= num_roots:
            slot = _slot_of(np.uint64(label[s]), node, mask)
            while slots[np.int64(slot)] >= 0 and not (
                slots[np.int64(slot)] == node and keys[np.int64(slot)] == label[s]
            ):
                slot = (slot + np.uint64(1)) & mask
            if slots[np.int64(slot)] == node:
                # Marked: so are all nodes above. Everything down to its end was shared.
                best[s] = depth[node] + length[node]
                break
            if used * 2 >= len(slots):
                return s
            slots[np.int64(slot)] = node
            keys[np.int64(slot)] = label[s]
            used += 1
            node = parent[node]
    return len(end)


def match_by_label(forest: Forest, ends: Ints, labels: Ints) -> Ints:
    """Leading symbols that an earlier sequence *with the same label* has; [len(ends)].

    ends: end nodes in serving order; labels: a code each, negative = no label (0 matched).
    """
    size = 1 << max(6, (4 * len(ends)).bit_length())
    while True:
        best = np.zeros(len(ends), dtype=np.int64)
        slots = np.full(size, -1, dtype=np.int64)
        keys = np.zeros(size, dtype=np.int64)
        done = _match_by_label(
            forest.parent,
            forest.depth,
            forest.length,
            forest.num_roots,
            ends,
            labels,
            slots,
            keys,
            best,
        )
        if done == len(ends):
            return best
        size *= 2


@kernel
def _visits(parent, order, num_roots, visits):  # type: ignore[no-untyped-def]
    for node in order:
        if node >= num_roots:
            visits[parent[node]] += visits[node]


def visits(forest: Forest, ends: Ints) -> Ints:
    """How many of the sequences pass through each node; [num_nodes]."""
    counts = np.bincount(ends, minlength=forest.num_nodes).astype(np.int64)
    deepest_first = np.argsort(-forest.depth, kind="stable")
    _visits(forest.parent, deepest_first, forest.num_roots, counts)
    return counts
