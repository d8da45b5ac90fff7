"""Prefix index by chained block keys, as vLLM has it, with the content compared on every hit.

A hash table of entries that are the blocks themselves: `heads[key % size]` starts a list linked
through `following`. An entry has its key, its tokens and its parent. The number after the last
block ends a list; contexts are parents with numbers from there on, never used twice.
"""

import numpy as np
import numpy.typing as npt

from hitpath._jit import kernel
from hitpath.engine.contract import Chain, Keys, entries
from hitpath.engine.pool import Blocks
from hitpath.engine.records import Tokens

Numbers = npt.NDArray[np.int64]


class BlockIndex:
    """See `contract.PrefixIndex`. Memory: 4 bytes a token and about 40 a block."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self._block_size = block_size
        self._end = num_blocks
        size = 1 << max(4, (2 * num_blocks - 1).bit_length())
        self._heads: Blocks = np.full(size, num_blocks, dtype=np.int32)
        self._following: Blocks = np.full(num_blocks, num_blocks, dtype=np.int32)
        self._keys: Keys = np.zeros(num_blocks, dtype=np.uint64)
        self._parents: Numbers = np.zeros(num_blocks, dtype=np.int64)
        self._tokens = np.zeros((num_blocks, block_size), dtype=np.uint32)
        self._stored = np.zeros(num_blocks, dtype=np.bool_)
        self._contexts: dict[str | None, int] = {}
        self._salts: dict[int, str | None] = {}
        self._num_first: dict[int, int] = {}  # first blocks of each context
        self._next_context = num_blocks + 1

    @property
    def num_stored(self) -> int:
        return int(np.count_nonzero(self._stored))

    def match(self, salt: str | None, tokens: Tokens, keys: Keys, most_blocks: int) -> Blocks:
        found = np.empty(most_blocks, dtype=np.int32)
        context = self._contexts.get(salt)
        if context is None:
            return found[:0]
        count = _match(
            tokens,
            keys,
            np.int64(context),
            self._heads,
            self._following,
            self._keys,
            self._parents,
            self._tokens,
            found,
        )
        return found[:count]

    def insert(
        self, salt: str | None, tokens: Tokens, keys: Keys, blocks: Blocks, first: int
    ) -> Blocks:
        parent = int(blocks[first - 1]) if first else self._context(salt)
        standing = np.empty(len(blocks) - first, dtype=np.int32)
        for i in range(first, len(blocks)):
            content = tokens[i * self._block_size : (i + 1) * self._block_size]
            block = self._find(int(keys[i]), parent, content)
            if block is None:
                block = int(blocks[i])
                self._link(block, keys[i], parent, content)
            standing[i - first] = parent = block
        return standing

    def remove(self, blocks: Blocks) -> None:
        for block in blocks.tolist():
            self._unlink(block)
            parent = int(self._parents[block])
            if parent > self._end:
                self._num_first[parent] -= 1
                if not self._num_first[parent]:
                    del self._num_first[parent], self._contexts[self._salts.pop(parent)]

    def rename(self, source: Blocks, target: Blocks) -> None:
        """O(stored blocks): children are found by looking at all parents."""
        names = np.arange(self._end, dtype=np.int64)
        names[source] = target
        for old, new in zip(source.tolist(), target.tolist(), strict=True):
            self._unlink(old)
            self._tokens[new], self._parents[new] = self._tokens[old], self._parents[old]
            self._push(new, self._keys[old])
        below = self._stored & (self._parents < self._end)
        self._parents[below] = names[self._parents[below]]

    def clear(self) -> None:
        self._heads[:] = self._end
        self._stored[:] = False
        self._contexts.clear()
        self._salts.clear()
        self._num_first.clear()

    def chains(self) -> list[Chain]:
        parents = self._parents[self._stored]
        leaf = self._stored.copy()
        leaf[parents[parents < self._end]] = False
        found = []
        for at in np.flatnonzero(leaf).tolist():
            path = []
            while at < self._end:
                path.append(at)
                at = int(self._parents[at])
            blocks = np.array(path[::-1], dtype=np.int32)
            found.append(Chain(self._salts[at], self._tokens[blocks].ravel(), blocks))
        return found

    def check(self) -> None:
        linked = []
        for head in np.flatnonzero(self._heads != self._end).tolist():
            at = int(self._heads[head])
            while at != self._end:
                assert int(self._keys[at]) & (len(self._heads) - 1) == head, "in a wrong list"
                linked.append(at)
                at = int(self._following[at])
        assert sorted(linked) == np.flatnonzero(self._stored).tolist(), "lists and marks differ"
        parents = self._parents[self._stored]
        assert self._stored[parents[parents < self._end]].all(), "a block outlives its parent"
        firsts = np.unique(parents[parents > self._end], return_counts=True)
        assert dict(zip(*(a.tolist() for a in firsts), strict=True)) == self._num_first
        every = entries(self, self._block_size)
        assert len(every) == self.num_stored, "two blocks of the same tokens"

    def _context(self, salt: str | None) -> int:
        context = self._contexts.get(salt)
        if context is None:
            context = self._contexts[salt] = self._next_context
            self._salts[context] = salt
            self._num_first[context] = 0
            self._next_context += 1
        return context

    def _find(self, key: int, parent: int, content: Tokens) -> int | None:
        at = int(self._heads[key & (len(self._heads) - 1)])
        while at != self._end:
            if (
                int(self._keys[at]) == key
                and int(self._parents[at]) == parent
                and np.array_equal(self._tokens[at], content)
            ):
                return at
            at = int(self._following[at])
        return None

    def _link(self, block: int, key: np.uint64, parent: int, content: Tokens) -> None:
        self._tokens[block], self._parents[block] = content, parent
        self._push(block, key)
        if parent > self._end:
            self._num_first[parent] += 1

    def _push(self, block: int, key: np.uint64) -> None:
        head = int(key) & (len(self._heads) - 1)
        self._keys[block] = key
        self._following[block] = self._heads[head]
        self._heads[head] = block
        self._stored[block] = True

    def _unlink(self, block: int) -> None:
        head = int(self._keys[block]) & (len(self._heads) - 1)
        at, before = int(self._heads[head]), None
        while at != block:
            at, before = int(self._following[at]), at
        if before is None:
            self._heads[head] = self._following[block]
        else:
            self._following[before] = self._following[block]
        self._stored[block] = False


@kernel
def _match(
    tokens: Tokens,
    keys: Keys,
    context: np.int64,
    heads: Blocks,
    following: Blocks,
    entry_keys: Keys,
    parents: Numbers,
    entry_tokens: npt.NDArray[np.uint32],
    found: Blocks,
) -> int:
    """Fill `found` up to the first block that does not stand; return how many do."""
    end = len(following)
    block_size = entry_tokens.shape[1]
    mask = np.uint64(len(heads) - 1)
    parent = context
    for i in range(len(found)):
        key = keys[i]
        at = heads[key & mask]
        start = i * block_size
        while at != end:
            if entry_keys[at] == key and parents[at] == parent:
                same = True
                for j in range(block_size):
                    same &= entry_tokens[at, j] == tokens[start + j]
                if same:
                    break
            at = following[at]
        if at == end:
            return i
        found[i] = at
        parent = np.int64(at)
    return len(found)
