"""Prefix index as a radix tree over token ids, as SGLang has it. Keys are not looked at.

An edge is a run of whole blocks: its tokens and the blocks that hold their KV. The children of a
node are told apart by the tokens of their first block. A run is split where prompts part, at a
block's edge, and a leaf grows in place while its prompt goes on.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hitpath.engine.contract import Chain, Keys, entries
from hitpath.engine.pool import NO_BLOCKS, Blocks
from hitpath.engine.records import Tokens

NO_TOKENS: Tokens = np.empty(0, dtype=np.uint32)


@dataclass(slots=True, eq=False)
class Node:
    """A run and what follows it; `parent` is None for the root of a context."""

    number: int
    parent: "Node | None"
    tokens: Tokens = field(default_factory=lambda: NO_TOKENS)
    blocks: Blocks = field(default_factory=lambda: NO_BLOCKS)
    children: "dict[bytes, Node]" = field(default_factory=dict)


class RadixIndex:
    """See `contract.PrefixIndex`. Memory: 4 bytes a token, 8 a block, and the nodes."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self._block_size = block_size
        self._roots: dict[str | None, Node] = {}
        self._nodes: dict[int, Node] = {}
        self._next_number = 0
        self._owner: npt.NDArray[np.int64] = np.zeros(num_blocks, dtype=np.int64)

    @property
    def num_stored(self) -> int:
        return sum(len(node.blocks) for node in self._nodes.values())

    def match(self, salt: str | None, tokens: Tokens, keys: Keys, most_blocks: int) -> Blocks:
        node = self._roots.get(salt)
        if node is None:
            return NO_BLOCKS
        tokens = tokens[: most_blocks * self._block_size]
        runs = []
        while (child := node.children.get(self._head(tokens))) is not None:
            same = self._num_same(child, tokens)
            runs.append(child.blocks[:same])
            if same < len(child.blocks):
                break
            tokens, node = tokens[same * self._block_size :], child
        return np.concatenate(runs) if runs else NO_BLOCKS

    def insert(
        self, salt: str | None, tokens: Tokens, keys: Keys, blocks: Blocks, first: int
    ) -> Blocks:
        tokens = tokens[first * self._block_size : len(blocks) * self._block_size]
        blocks, before = blocks[first:], blocks[:first]
        if not len(blocks):
            return NO_BLOCKS
        node = self._end_of(int(before[-1])) if first else self._root(salt)
        standing = []
        while (child := node.children.get(self._head(tokens))) is not None:
            same = self._num_same(child, tokens)
            standing.append(child.blocks[:same])
            tokens, blocks = tokens[same * self._block_size :], blocks[same:]
            node = child if same == len(child.blocks) else self._split(child, same)
            if not len(blocks):
                return np.concatenate(standing)
        self._append(node, tokens, blocks)
        return np.concatenate([*standing, blocks])

    def remove(self, blocks: Blocks) -> None:
        owners = self._owner[blocks]
        edges = np.flatnonzero(np.diff(owners)) + 1
        for run in np.split(blocks, edges):
            if len(run):
                self._cut(self._nodes[int(self._owner[run[0]])], len(run))

    def rename(self, source: Blocks, target: Blocks) -> None:
        names = np.arange(len(self._owner), dtype=np.int32)
        names[source] = target
        self._owner[target] = self._owner[source]
        for number in np.unique(self._owner[target]).tolist():
            node = self._nodes[number]
            node.blocks = names[node.blocks]

    def clear(self) -> None:
        self._roots.clear()
        self._nodes.clear()

    def chains(self) -> list[Chain]:
        found = []
        for salt, root in self._roots.items():
            waiting: list[tuple[Node, list[Node]]] = [(root, [])]
            while waiting:
                node, path = waiting.pop()
                waiting += [(child, [*path, child]) for child in node.children.values()]
                if path and not node.children:
                    tokens = np.concatenate([part.tokens for part in path])
                    found.append(Chain(salt, tokens, np.concatenate([p.blocks for p in path])))
        return found

    def check(self) -> None:
        for number, node in self._nodes.items():
            assert number == node.number, "a node under another number"
            assert len(node.blocks), "an empty run"
            assert len(node.tokens) == len(node.blocks) * self._block_size, "tokens and blocks"
            assert (self._owner[node.blocks] == number).all(), "a block of another node"
            assert node.parent is not None, "a root among the runs"
            assert node.parent.children[self._head(node.tokens)] is node, "not its parent's child"
        assert all(root.children for root in self._roots.values()), "a context without blocks"
        every = entries(self, self._block_size)
        assert len(every) == self.num_stored, "nodes and tree differ"

    def _head(self, tokens: Tokens) -> bytes:
        return tokens[: self._block_size].tobytes()

    def _num_same(self, node: Node, tokens: Tokens) -> int:
        """Whole blocks that the run and the tokens begin with."""
        length = min(len(node.tokens), len(tokens))
        different = node.tokens[:length] != tokens[:length]
        same = int(different.argmax()) if different.any() else length
        return same // self._block_size

    def _root(self, salt: str | None) -> Node:
        root = self._roots.get(salt)
        if root is None:
            root = self._roots[salt] = Node(self._number(), None)
        return root

    def _number(self) -> int:
        self._next_number += 1
        return self._next_number

    def _end_of(self, block: int) -> Node:
        """The node whose run ends with this stored block; made, if the run goes on after it."""
        node = self._nodes[int(self._owner[block])]
        count = int(np.flatnonzero(node.blocks == block)[0]) + 1
        return node if count == len(node.blocks) else self._split(node, count)

    def _split(self, node: Node, count: int) -> Node:
        """Its first `count` blocks as a node of their own, above it, which is returned."""
        parent, at = node.parent, count * self._block_size
        assert parent is not None
        upper = Node(self._number(), parent, node.tokens[:at], node.blocks[:count])
        parent.children[self._head(node.tokens)] = upper
        node.parent, node.tokens, node.blocks = upper, node.tokens[at:], node.blocks[count:]
        upper.children[self._head(node.tokens)] = node
        self._nodes[upper.number] = upper
        self._owner[upper.blocks] = upper.number
        return upper

    def _append(self, node: Node, tokens: Tokens, blocks: Blocks) -> None:
        """A run after a node: a leaf is longer by it, any other node gets a child."""
        if node.parent is None or node.children:
            leaf = Node(self._number(), node, tokens.copy(), blocks.copy())
            node.children[self._head(tokens)] = leaf
            self._nodes[leaf.number] = leaf
        else:
            leaf = node
            leaf.tokens = np.concatenate([leaf.tokens, tokens])
            leaf.blocks = np.concatenate([leaf.blocks, blocks])
        self._owner[blocks] = leaf.number

    def _cut(self, node: Node, count: int) -> None:
        """Take the last `count` blocks off a leaf; a leaf without blocks goes."""
        assert not node.children, "a block with stored children cannot be removed"
        assert node.parent is not None
        if count < len(node.blocks):
            node.blocks = node.blocks[:-count]
            node.tokens = node.tokens[: -count * self._block_size]
            return
        parent = node.parent
        del parent.children[self._head(node.tokens)], self._nodes[node.number]
        if parent.parent is None and not parent.children:
            self._roots = {salt: root for salt, root in self._roots.items() if root is not parent}
