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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.core import ABSENT

Ints = NDArray[np.int64]
Symbols = NDArray[np.uint8] | NDArray[np.uint32] | NDArray[np.uint64]


class Tree(NamedTuple):
    """The nodes, as kernels take them; one entry a node, roots first.

    parent: node above (a root's is itself). depth: symbols before the node. length: symbols in
    it (0 for a root). first: flat position of its first symbol.
    """

    parent: Ints
    depth: Ints
    length: Ints
    first: Ints
    num_roots: int


@dataclass(frozen=True, slots=True)
class Forest:
    """The tree, and for each sequence: `end`, the node at which it ends (all of it), and
    `match`, its leading symbols that an earlier sequence has."""

    tree: Tree
    end: Ints
    match: Ints

    @property
    def num_nodes(self) -> int:
        """Roots included."""
        return len(self.tree.parent)

    def check(self) -> None:
        """Structure: depths add up along parents, every sequence ends where it should."""
        parent, depth, length, _, num_roots = self.tree
        nodes = np.arange(num_roots, self.num_nodes)
        up = parent[nodes]
        assert np.array_equal(depth[nodes], depth[up] + length[up])
        assert np.all(length[nodes] > 0)
        assert np.all(self.match <= depth[self.end] + length[self.end])


@kernel
def _slot_of(symbol: np.uint64, node: int, mask: np.uint64) -> np.uint64:
    mixed = (symbol ^ (np.uint64(node) * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    return (mixed ^ (mixed >> np.uint64(31))) & mask


@kernel
def _find_child(
    slots: Ints, symbols: Symbols, tree: Tree, node: int, symbol: np.uint64
) -> np.int64:
    """Slot that holds the child of `node` on `symbol`, or the empty slot where it belongs."""
    mask = np.uint64(len(slots) - 1)
    slot = _slot_of(np.uint64(symbol), node, mask)
    while True:
        child = slots[np.int64(slot)]
        if child < 0 or (tree.parent[child] == node and symbols[tree.first[child]] == symbol):
            return np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@kernel
def _split(tree: Tree, child: int, upper: int, same: int) -> None:
    """Make `upper` the first `same` symbols of `child`, which keeps the rest and its number:
    sequences that end there still do."""
    tree.parent[upper] = tree.parent[child]
    tree.depth[upper] = tree.depth[child]
    tree.length[upper] = same
    tree.first[upper] = tree.first[child]
    tree.parent[child] = upper
    tree.depth[child] += same
    tree.length[child] -= same
    tree.first[child] += same


@kernel
def _build(
    symbols: Symbols,
    starts: Ints,
    lengths: Ints,
    roots: Ints,
    tree: Tree,
    slots: Ints,
    end: Ints,
    match: Ints,
) -> int:
    """Insert every sequence; returns the number of nodes. Arrays are filled in place."""
    num_nodes = tree.num_roots
    for s in range(len(starts)):
        at = starts[s]
        stop = at + lengths[s]
        node = roots[s]
        matched = lengths[s]
        while at < stop:
            slot = _find_child(slots, symbols, tree, node, symbols[at])
            child = slots[slot]
            if child < 0:
                # [at, stop) is new: a leaf
                matched = at - starts[s]
                slots[slot] = num_nodes
                tree.parent[num_nodes] = node
                tree.depth[num_nodes] = matched
                tree.length[num_nodes] = stop - at
                tree.first[num_nodes] = at
                node = num_nodes
                num_nodes += 1
                break
            there = tree.first[child]
            most = min(tree.length[child], stop - at)
            same = 1
            while same < most and symbols[there + same] == symbols[at + same]:
                same += 1
            at += same
            node = child
            if same < tree.length[child]:
                node = num_nodes
                num_nodes += 1
                slots[slot] = node
                _split(tree, child, node, same)
                lower = _find_child(slots, symbols, tree, node, symbols[there + same])
                slots[lower] = child
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
    depth, length, first = (np.zeros(most, dtype=np.int64) for _ in range(3))
    tree = Tree(np.arange(most, dtype=np.int64), depth, length, first, num_roots)
    slots = np.full(1 << max(4, (2 * most).bit_length()), ABSENT, dtype=np.int64)
    end, match = (np.zeros(len(starts), dtype=np.int64) for _ in range(2))
    n = _build(symbols, starts, lengths, roots, tree, slots, end, match)
    nodes = Tree(
        tree.parent[:n].copy(), depth[:n].copy(), length[:n].copy(), first[:n].copy(), num_roots
    )
    return Forest(nodes, end, match)


@kernel
def _paths(tree: Tree, ends: Ints, offsets: Ints, nodes: Ints) -> None:
    """Pass 1 (nodes empty): offsets; pass 2: nodes from the root's child down to the end."""
    fill = len(nodes) > 0
    for s in range(len(ends)):
        node = ends[s]
        count = 0
        while node >= tree.num_roots:
            if fill:
                nodes[offsets[s + 1] - 1 - count] = node
            count += 1
            node = tree.parent[node]
        if not fill:
            offsets[s + 1] = offsets[s] + count


def node_paths(forest: Forest, ends: Ints) -> tuple[Ints, Ints]:
    """(offsets [len(ends) + 1], nodes): the path to each end node, top down, roots left out."""
    offsets = np.zeros(len(ends) + 1, dtype=np.int64)
    _paths(forest.tree, ends, offsets, np.zeros(0, dtype=np.int64))
    nodes = np.zeros(int(offsets[-1]), dtype=np.int64)
    if len(nodes):
        _paths(forest.tree, ends, offsets, nodes)
    return offsets, nodes


@kernel
def _match_by_label(
    tree: Tree, ends: Ints, labels: Ints, slots: Ints, keys: Ints, best: Ints
) -> int:
    """Returns how many sequences were done before the table of marks became too full."""
    mask = np.uint64(len(slots) - 1)
    used = 0
    for s in range(len(ends)):
        if labels[s] < 0:
            continue
        node = ends[s]
        while node >= tree.num_roots:
            slot = _slot_of(np.uint64(labels[s]), node, mask)
            while slots[np.int64(slot)] >= 0 and not (
                slots[np.int64(slot)] == node and keys[np.int64(slot)] == labels[s]
            ):
                slot = (slot + np.uint64(1)) & mask
            if slots[np.int64(slot)] == node:
                # Marked: so are all nodes above. Everything down to its end was shared.
                best[s] = tree.depth[node] + tree.length[node]
                break
            if used * 2 >= len(slots):
                return s
            slots[np.int64(slot)] = node
            keys[np.int64(slot)] = labels[s]
            used += 1
            node = tree.parent[node]
    return len(ends)


def match_by_label(forest: Forest, ends: Ints, labels: Ints) -> Ints:
    """Leading symbols that an earlier sequence *with the same label* has; [len(ends)].

    ends: end nodes in serving order; labels: a code each, negative = no label (0 matched).
    """
    size = 1 << max(6, (4 * len(ends)).bit_length())
    while True:
        best, keys = np.zeros(len(ends), dtype=np.int64), np.zeros(size, dtype=np.int64)
        slots = np.full(size, ABSENT, dtype=np.int64)
        if _match_by_label(forest.tree, ends, labels, slots, keys, best) == len(ends):
            return best
        size *= 2


@kernel
def _visits(tree: Tree, order: Ints, counts: Ints) -> None:
    for node in order:
        if node >= tree.num_roots:
            counts[tree.parent[node]] += counts[node]


def visits(forest: Forest, ends: Ints) -> Ints:
    """How many of the sequences pass through each node; [num_nodes]."""
    counts = np.bincount(ends, minlength=forest.num_nodes).astype(np.int64)
    _visits(forest.tree, np.argsort(-forest.tree.depth, kind="stable"), counts)
    return counts


@kernel
def _root_of(tree: Tree, node: int) -> int:
    while node >= tree.num_roots:
        node = tree.parent[node]
    return node


@kernel
def _num_large(symbols: Symbols, tree: Tree, small: int) -> int:
    count = 0
    for node in range(tree.num_roots, len(tree.parent)):
        for at in range(tree.first[node], tree.first[node] + tree.length[node]):
            count += symbols[at] >= small
    return count


@kernel
def _has_repeats(
    symbols: Symbols, tree: Tree, seen: NDArray[np.bool_], slots: Ints, slot_roots: Ints
) -> bool:
    """seen[symbol] holds small symbols of the only root, the table (slots, slot_roots) others."""
    mask = np.uint64(len(slots) - 1)
    for node in range(tree.num_roots, len(tree.parent)):
        root = _root_of(tree, node)
        for at in range(tree.first[node], tree.first[node] + tree.length[node]):
            symbol = symbols[at]
            if symbol < len(seen):
                if seen[np.int64(symbol)]:
                    return True
                seen[np.int64(symbol)] = True
                continue
            slot = _slot_of(np.uint64(symbol), root, mask)
            while slots[np.int64(slot)] >= 0:
                same_root = slot_roots[np.int64(slot)] == root
                if same_root and symbols[slots[np.int64(slot)]] == symbol:
                    return True
                slot = (slot + np.uint64(1)) & mask
            slots[np.int64(slot)] = at
            slot_roots[np.int64(slot)] = root
    return False


def symbols_are_prefixes(symbols: Symbols, forest: Forest) -> bool:
    """Whether each symbol stands at one place under its root: equal symbol, equal prefix.

    Symbols below twice their number (ids that a trace numbers from 0) are looked up in a plain
    array, which is read in order; others, and all where there are several roots, in a table.
    """
    distinct = int(forest.tree.length.sum())
    seen = np.zeros(2 * distinct if forest.tree.num_roots == 1 else 0, dtype=np.bool_)
    large = _num_large(symbols, forest.tree, len(seen))
    size = 1 << max(4, (2 * int(large)).bit_length())
    slots, slot_roots = (np.full(size, ABSENT, dtype=np.int64) for _ in range(2))
    return not _has_repeats(symbols, forest.tree, seen, slots, slot_roots)
