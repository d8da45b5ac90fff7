"""Which block is free, in use, or cached and idle: states, reference counts, pins, order of going.

A block is `block_size` token slots of the KV cache and is known by its number. It is FREE, or USED
by at least one table (`references` says by how many), or CACHED: idle, but in the index. The pool
knows no tokens, keys or tensors. Blocks come in one tier, or in two (full precision and compact,
see `int8.py`): a tier is a range of numbers with a free list of its own.

All methods take arrays of different blocks (int32 [n]); a whole prompt is one call. Not threadsafe.
"""

from collections.abc import Callable
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from hitpath._jit import kernel
from hitpath.engine.policies import RANK_RULES, UNRANKED, Ranks
from hitpath.engine.settings import PolicyName

Blocks = npt.NDArray[np.int32]
NO_BLOCKS: Blocks = np.empty(0, dtype=np.int32)


class BlockState(IntEnum):
    """Where a block stands; each block is in one state."""

    FREE = 0
    USED = 1
    CACHED = 2


_FREE, _USED, _CACHED = (np.uint8(state) for state in BlockState)


class Tier:
    """A range of blocks [first, end) with its free ones: a stack, lowest number on top at first,
    so that what is taken together is mostly one run of slots."""

    def __init__(self, first: int, end: int) -> None:
        self.first = first
        self.end = end
        self._stack: Blocks = np.arange(end - 1, first - 1, -1, dtype=np.int32)
        self.num_free = end - first

    def take(self, num_blocks: int) -> Blocks:
        """The top ones, in the order in which they come off. ValueError for more than there are."""
        if num_blocks > self.num_free:
            raise ValueError(f"{num_blocks} blocks wanted, {self.num_free} free")
        self.num_free -= num_blocks
        return self._stack[self.num_free : self.num_free + num_blocks][::-1].copy()

    def give(self, blocks: Blocks) -> None:
        """Back on top; the first of them comes off first."""
        self._stack[self.num_free : self.num_free + len(blocks)] = blocks[::-1]
        self.num_free += len(blocks)

    def free_blocks(self) -> Blocks:
        """A copy, for checks."""
        return self._stack[: self.num_free].copy()


class BlockPool:
    """`num_blocks` blocks of full precision and, after them, `num_compact` of the other tier."""

    def __init__(
        self,
        num_blocks: int,
        policy: PolicyName,
        clock: Callable[[], float],
        num_compact: int = 0,
    ) -> None:
        total = num_blocks + num_compact
        self.num_blocks = total
        self.full = Tier(0, num_blocks)
        self.compact = Tier(num_blocks, total)
        self._rule = RANK_RULES[policy]
        self._clock = clock
        self.state = np.full(total, _FREE, dtype=np.uint8)
        self.references = np.zeros(total, dtype=np.int32)
        self.pins = np.zeros(total, dtype=np.int32)
        self.indexed = np.zeros(total, dtype=np.bool_)
        self.hits = np.zeros(total, dtype=np.int64)
        self.priority = np.zeros(total, dtype=np.int64)
        self.stored_s = np.zeros(total, dtype=np.float64)
        self.idle_since_s = np.zeros(total, dtype=np.float64)
        self._rank: Ranks = np.full(total, UNRANKED, dtype=np.int64)
        self._serial = 0

    # ---- counts

    def count(self, state: BlockState, tier: Tier | None = None) -> int:
        """How many blocks (of a tier) are in this state."""
        states = self.state if tier is None else self.state[tier.first : tier.end]
        return int(np.count_nonzero(states == state))

    def num_available(self, tier: Tier) -> int:
        """Free ones and those that may be evicted."""
        ranks = self._rank[tier.first : tier.end]
        return tier.num_free + int(np.count_nonzero(ranks != UNRANKED))

    # ---- life of a block

    def take(self, num_blocks: int, tier: Tier) -> Blocks:
        """Free -> used, with one reference each, not indexed."""
        blocks = tier.take(num_blocks)
        self.state[blocks] = _USED
        self.references[blocks] = 1
        return blocks

    def share(self, blocks: Blocks, priority: int, hits: int) -> None:
        """One more table holds these used or cached blocks; a lookup's find is 1 hit."""
        _share(blocks, self.state, self.references, self.hits, self._rank, hits, UNRANKED)
        np.maximum.at(self.priority, blocks, priority)

    def store(self, blocks: Blocks, priority: int) -> None:
        """Used blocks that the index holds from now on."""
        self.indexed[blocks] = True
        self.hits[blocks] = 0
        self.priority[blocks] = priority
        self.stored_s[blocks] = self._clock()

    def release(self, blocks: Blocks) -> Blocks:
        """One table fewer holds them; the last block of a table is let go first.

        Those that nobody holds any more become cached (indexed ones) or free. Returns the blocks
        that fell idle and are cached, tail first.
        """
        idle = np.empty(len(blocks), dtype=np.int32)
        num_idle = _release(blocks, self.references, idle)
        idle = idle[:num_idle]
        kept = self.indexed[idle]
        self._free(idle[~kept])
        cached = idle[kept]
        self.state[cached] = _CACHED
        self.idle_since_s[cached] = self._clock()
        self._rank_anew(cached)
        return cached

    def unindex(self, blocks: Blocks) -> None:
        """The index forgot these; the idle ones of them are free now."""
        self.indexed[blocks] = False
        self._free(blocks[self.state[blocks] == _CACHED])

    def victims(self, num_blocks: int, tier: Tier) -> Blocks:
        """The `num_blocks` cached blocks that go first, in their order. Changes nothing."""
        ranks = self._rank[tier.first : tier.end]
        if num_blocks == 1:
            found = np.array([ranks.argmin()])
        elif num_blocks < len(ranks):
            found = np.argpartition(ranks, num_blocks)[:num_blocks]
        else:
            found = np.arange(len(ranks))[:num_blocks]
        found = found[np.argsort(ranks[found])]
        if len(found) < num_blocks or (num_blocks and ranks[found[-1]] == UNRANKED):
            raise ValueError(f"{num_blocks} blocks wanted, fewer can be evicted")
        return (found + tier.first).astype(np.int32)

    def evictable(self, tier: Tier) -> Blocks:
        """All cached blocks of a tier that are not pinned, in the order of their numbers."""
        ranks = self._rank[tier.first : tier.end]
        return (np.flatnonzero(ranks != UNRANKED) + tier.first).astype(np.int32)

    def lowest(self, blocks: Blocks, num_blocks: int) -> Blocks:
        """Those of these cached blocks that go first, in their order."""
        return blocks[np.argsort(self._rank[blocks])][:num_blocks]

    def pin(self, blocks: Blocks) -> None:
        """Indexed blocks that stay, used or not, until they are unpinned as often."""
        self.pins[blocks] += 1
        self._rank[blocks] = UNRANKED

    def unpin(self, blocks: Blocks) -> None:
        self.pins[blocks] -= 1
        self._rank_anew(blocks[(self.state[blocks] == _CACHED)][::-1])

    def move(self, source: Blocks, target: Blocks) -> None:
        """All that is known of `source` holds for `target` (taken before); source becomes free."""
        for column in (
            self.state,
            self.references,
            self.pins,
            self.indexed,
            self.hits,
            self.priority,
            self.stored_s,
            self.idle_since_s,
            self._rank,
        ):
            column[target] = column[source]
        self.pins[source] = 0
        self.references[source] = 0
        self._free(source)

    # ---- within

    def _rank_anew(self, blocks: Blocks) -> None:
        free_to_go = blocks[self.pins[blocks] == 0]
        serials = np.arange(self._serial, self._serial + len(free_to_go), dtype=np.int64)
        self._serial += len(free_to_go)
        hits, priorities = self.hits[free_to_go], self.priority[free_to_go]
        self._rank[free_to_go] = self._rule(serials, hits, priorities)

    def _free(self, blocks: Blocks) -> None:
        self.state[blocks] = _FREE
        self.indexed[blocks] = False
        self._rank[blocks] = UNRANKED
        for tier in (self.full, self.compact):
            tier.give(blocks[(blocks >= tier.first) & (blocks < tier.end)][::-1])

    def check(self, references: npt.NDArray[np.int64]) -> None:
        """Conservation: free + cached + used = total, and `references` (how many tables hold each
        block, as counted from the tables) are those of the pool. Raises AssertionError."""
        free, used, cached = (self.count(state) for state in BlockState)
        assert free + used + cached == self.num_blocks, "blocks are lost"
        np.testing.assert_array_equal(self.references, references)
        np.testing.assert_array_equal(self.state == _USED, self.references > 0)
        stacks = np.sort(np.concatenate([t.free_blocks() for t in (self.full, self.compact)]))
        np.testing.assert_array_equal(stacks, np.flatnonzero(self.state == _FREE))
        assert not self.indexed[self.state == _FREE].any(), "a free block is indexed"
        assert self.indexed[self.state == _CACHED].all(), "a cached block is not indexed"
        ranked = (self.state == _CACHED) & (self.pins == 0)
        np.testing.assert_array_equal(self._rank != UNRANKED, ranked)
        assert (self.pins >= 0).all(), "a pin was taken off that nobody put on"
        assert self.indexed[self.pins > 0].all(), "a pinned block is not indexed"


@kernel
def _share(
    blocks: Blocks,
    state: npt.NDArray[np.uint8],
    references: Blocks,
    hits: npt.NDArray[np.int64],
    rank: Ranks,
    more_hits: int,
    unranked: np.int64,
) -> None:
    for block in blocks:
        references[block] += 1
        hits[block] += more_hits
        state[block] = 1
        rank[block] = unranked


@kernel
def _release(blocks: Blocks, references: Blocks, idle: Blocks) -> int:
    """Tail first; those at no reference go into `idle`, whose length is returned."""
    count = 0
    for i in range(len(blocks) - 1, -1, -1):
        block = blocks[i]
        references[block] -= 1
        if references[block] == 0:
            idle[count] = block
            count += 1
    return count
