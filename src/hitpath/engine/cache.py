"""The prefix cache: a pool of blocks, an index over them, and the tables of the sequences.

Everything that changes a table goes through here, and so does every event. A hit copies block
numbers, never KV. A block can be found once the step that filled it is over (as in SGLang); of
two sequences that computed the same block, the second gives its copy back.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hitpath.engine.block_index import BlockIndex
from hitpath.engine.compaction import least_worth
from hitpath.engine.contract import PrefixIndex, entries
from hitpath.engine.errors import RequestError
from hitpath.engine.events import (
    BlocksRemoved,
    BlocksStored,
    CacheCleared,
    Evicted,
    EvictionReason,
    Observe,
)
from hitpath.engine.pool import NO_BLOCKS, BlockPool, Blocks, BlockState
from hitpath.engine.radix_index import RadixIndex
from hitpath.engine.records import Tokens
from hitpath.engine.sequence import Sequence
from hitpath.engine.settings import IndexName, PolicyName
from hitpath.keys import block_keys, context_root

INDEXES: dict[IndexName, Callable[[int, int], PrefixIndex]] = {
    "blocks": BlockIndex,
    "radix": RadixIndex,
}


def salt_root(salt: str | None) -> int:
    """The root of the key chain of a salt."""
    return context_root({"cache_salt": salt})


def runs_of(numbers: npt.NDArray[np.integer[Any]]) -> list[tuple[int, int]]:
    """Rising numbers as runs [start, end) of consecutive ones."""
    if not len(numbers):
        return []
    edges = np.flatnonzero(np.diff(numbers) != 1) + 1
    starts, ends = np.append(0, edges), np.append(edges, len(numbers)) - 1
    return list(zip(numbers[starts].tolist(), (numbers[ends] + 1).tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class ResidentPrefix:
    """A cached prefix that no cached block continues; `tokens` are its first ones."""

    num_tokens: int
    tokens: tuple[int, ...]
    cache_salt: str | None
    num_blocks: int
    in_use: bool
    pinned: bool
    hits: int
    idle_s: float


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What a cache is made of; `num_compact` blocks of it are int8."""

    num_blocks: int
    block_size: int
    index: IndexName
    policy: PolicyName
    enabled: bool
    num_compact: int = 0


CopyKV = Callable[[Blocks, Blocks], None]
"""copy_kv(source, target) puts the KV of full blocks into compact ones, as int8."""


def nothing_to_copy(source: Blocks, target: Blocks) -> None:
    """For caches of one tier, where no block ever moves."""


class PrefixCache:
    """Lookup, admission, growth, storing, release, clearing and pinning of blocks."""

    def __init__(
        self,
        shape: CacheShape,
        clock: Callable[[], float],
        observe: Observe,
        copy_kv: CopyKV = nothing_to_copy,
    ) -> None:
        self.shape = shape
        self.block_size = shape.block_size
        self.pool = BlockPool(shape.num_blocks, shape.policy, clock, shape.num_compact)
        self.index = INDEXES[shape.index](self.pool.num_blocks, shape.block_size)
        self.epoch = 0
        self.tables_version = 0
        self.evicted_blocks: Counter[EvictionReason] = Counter()
        self._clock = clock
        self._observe = observe
        self._key_of = np.zeros(self.pool.num_blocks, dtype=np.uint64)
        self._copy_kv = copy_kv
        self._holders: set[Sequence] = set()
        self._pinned: dict[int, Blocks] = {}
        self._next_pin = 0

    # ---- the life of a table

    def lookup(self, sequence: Sequence) -> Blocks:
        """The blocks of the longest reusable prefix: `B * min(m // B, (L - 1) // B)` tokens of L,
        m of them cached, for at least one token is always computed. Changes only its keys."""
        wanted = sequence.request.params.prompt_logprobs is not None and not sequence.num_output
        if not self.shape.enabled or wanted:
            return NO_BLOCKS
        sequence.extend_keys(self.block_size)
        most = (sequence.num_tokens - 1) // self.block_size
        salt = sequence.request.cache_salt
        return self.index.match(salt, sequence.tokens, sequence.keys, most)

    def admit(self, sequence: Sequence, found: Blocks) -> bool:
        """Give a sequence without blocks the found ones and new ones for all its tokens.

        False, and nothing changed, where there is no room.
        """
        pool = self.pool
        missing = -(-sequence.num_tokens // self.block_size) - len(found)
        of_full = found[found < pool.full.end]
        lost = int(np.count_nonzero((pool.state[of_full] == 2) & (pool.pins[of_full] == 0)))
        if pool.full.num_free < missing and pool.num_available(pool.full) - lost < missing:
            return False
        pool.share(found, sequence.request.priority, hits=1)
        fresh = self._take(missing, sequence.request.request_id)
        sequence.blocks = np.concatenate([found, fresh])
        self._holders.add(sequence)
        sequence.num_computed = len(found) * self.block_size
        sequence.num_stored = len(found)
        sequence.epoch = self.epoch
        self._compact_shared(found)
        return True

    def grow(self, sequence: Sequence) -> bool:
        """Room for all its tokens; False, and nothing changed, where there is none."""
        missing = -(-sequence.num_tokens // self.block_size) - len(sequence.blocks)
        if missing <= 0:
            return True
        full = self.pool.full
        if full.num_free < missing and self.pool.num_available(full) < missing:
            return False
        fresh = self._take(missing, sequence.request.request_id)
        sequence.blocks = np.concatenate([sequence.blocks, fresh])
        return True

    def store(self, sequence: Sequence) -> None:
        """Let others find the blocks that are computed in full by now."""
        whole = sequence.num_computed // self.block_size
        first = sequence.num_stored
        if whole == first or not self.shape.enabled or sequence.epoch != self.epoch:
            return
        sequence.extend_keys(self.block_size)
        salt, blocks = sequence.request.cache_salt, sequence.blocks
        standing = self.index.insert(salt, sequence.tokens, sequence.keys, blocks[:whole], first)
        own = blocks[first:whole].copy()
        new = standing == own
        self.pool.share(standing[~new], sequence.request.priority, hits=0)
        self.pool.store(own[new], sequence.request.priority)
        blocks[first:whole] = standing
        self.pool.release(own[~new])
        self._key_of[own[new]] = sequence.keys[first:whole][new]
        sequence.num_stored = whole
        for start, end in runs_of(np.flatnonzero(new)):
            self._tell_stored(sequence, first + start, first + end)
        self._compact_shared(standing[~new])

    def release(self, sequence: Sequence) -> None:
        """The sequence holds nothing any more; what is stored stays in the cache."""
        idle = self.pool.release(sequence.blocks)
        self._holders.discard(sequence)
        sequence.blocks = NO_BLOCKS
        sequence.num_computed = sequence.num_stored = 0
        self._compact_idle(idle)

    # ---- asked for from outside

    def clear(self) -> int:
        """Forget all: nothing is found any more, pins are off, and what runs now is not stored.
        Returns how many tokens could be found before."""
        stored = np.flatnonzero(self.pool.indexed).astype(np.int32)
        idle = stored[self.pool.state[stored] == BlockState.CACHED]
        self._tell_evicted(idle, "cleared", None)
        self.index.clear()
        self.pool.pins[:] = 0
        self._pinned.clear()
        self.pool.unindex(stored)
        self.epoch += 1
        self._observe(CacheCleared())
        return len(stored) * self.block_size

    def pin(self, tokens: Tokens, salt: str | None, room_tokens: int) -> tuple[int, int]:
        """Keep what is cached of this prefix: (number of the pin, tokens that it keeps).

        Raises RequestError where fewer blocks than `room_tokens` need would be left unpinned.
        """
        keys = block_keys(tokens, self.block_size, salt_root(salt))
        blocks = self.index.match(salt, tokens, keys, len(tokens) // self.block_size)
        pinned = np.flatnonzero(self.pool.pins[: self.pool.full.end])
        pinned = np.union1d(pinned, blocks[blocks < self.pool.full.end])
        if (self.pool.full.end - len(pinned)) * self.block_size < room_tokens:
            raise RequestError("pin", f"would leave less room than {room_tokens:,} tokens")
        self.pool.pin(blocks)
        number, self._next_pin = self._next_pin, self._next_pin + 1
        self._pinned[number] = blocks
        return number, len(blocks) * self.block_size

    def unpin(self, number: int) -> bool:
        """False where there is no such pin (any more: clearing takes all off)."""
        blocks = self._pinned.pop(number, None)
        if blocks is None:
            return False
        self.pool.unpin(blocks)
        self._compact_idle(blocks[self.pool.state[blocks] == BlockState.CACHED][::-1])
        return True

    def check(self, sequences: Iterable[Sequence]) -> None:
        """Conservation over pool, index and tables. Raises AssertionError."""
        references = np.zeros(self.pool.num_blocks, dtype=np.int64)
        for sequence in sequences:
            assert len(np.unique(sequence.blocks)) == len(sequence.blocks), "twice in one table"
            references[sequence.blocks] += 1
            assert sequence.num_computed <= len(sequence.blocks) * self.block_size
            if sequence.epoch == self.epoch:
                assert self.pool.indexed[sequence.blocks[: sequence.num_stored]].all()
        self.pool.check(references)
        self.index.check()
        stored = sorted(entries(self.index, self.block_size).values())
        np.testing.assert_array_equal(stored, np.flatnonzero(self.pool.indexed))
        pins = np.zeros(self.pool.num_blocks, dtype=np.int64)
        for blocks in self._pinned.values():
            pins[blocks] += 1
        np.testing.assert_array_equal(self.pool.pins, pins)

    # ---- the compact tier

    def _compact_shared(self, blocks: Blocks) -> None:
        """Used blocks that have more than one holder by now: as many as find room, from the head
        of the chain on."""
        if not self.shape.num_compact:
            return
        blocks = blocks[blocks < self.pool.full.end]
        room = self.pool.num_available(self.pool.compact)
        self._compact(blocks[:room])

    def _compact_idle(self, blocks: Blocks) -> None:
        """Blocks that fell idle, tail first; the worth of what finds no room decides what goes."""
        if not self.shape.num_compact:
            return
        blocks = blocks[blocks < self.pool.full.end]
        going = least_worth(self.pool, blocks)
        self._tell_evicted(going[going >= self.pool.compact.first], "capacity", None)
        self._tell_evicted(going[going < self.pool.compact.first], "compact_full", None)
        self._forget(going)
        kept = blocks[self.pool.state[blocks] == BlockState.CACHED]
        self._compact(kept[len(kept) - min(len(kept), self.pool.compact.num_free) :])

    def _compact(self, blocks: Blocks) -> None:
        if not len(blocks):
            return
        missing = len(blocks) - self.pool.compact.num_free
        if missing > 0:
            self._evict(self.pool.victims(missing, self.pool.compact), None)
        target = self.pool.take(len(blocks), self.pool.compact)
        self._copy_kv(blocks, target)
        self.pool.move(blocks, target)
        self.index.rename(blocks, target)
        self._key_of[target] = self._key_of[blocks]
        names = np.arange(self.pool.num_blocks, dtype=np.int32)
        names[blocks] = target
        for sequence in self._holders:
            sequence.blocks = names[sequence.blocks]
        self._pinned = {number: names[pinned] for number, pinned in self._pinned.items()}
        self.tables_version += 1

    # ---- within

    def _take(self, num_blocks: int, request_id: str) -> Blocks:
        missing = num_blocks - self.pool.full.num_free
        if missing > 0:
            self._evict(self.pool.victims(missing, self.pool.full), request_id)
        return self.pool.take(num_blocks, self.pool.full)

    def _evict(self, blocks: Blocks, request_id: str | None) -> None:
        self._tell_evicted(blocks, "capacity", request_id)
        self._forget(blocks)

    def _forget(self, blocks: Blocks) -> None:
        if not len(blocks):
            return
        self.index.remove(blocks)
        self.pool.unindex(blocks)
        self._observe(BlocksRemoved(tuple(self._key_of[blocks].tolist())))

    def _tell_evicted(self, blocks: Blocks, reason: EvictionReason, request_id: str | None) -> None:
        if not len(blocks):
            return
        now, pool = self._clock(), self.pool
        self.evicted_blocks[reason] += len(blocks)
        self._observe(
            Evicted(
                reason=reason,
                policy=self.shape.policy,
                block_size=self.block_size,
                for_request=request_id,
                idle_s=tuple((now - pool.idle_since_s[blocks]).tolist()),
                resident_s=tuple((now - pool.stored_s[blocks]).tolist()),
                hits=tuple(pool.hits[blocks].tolist()),
            )
        )

    def _tell_stored(self, sequence: Sequence, first: int, end: int) -> None:
        size = self.block_size
        self._observe(
            BlocksStored(
                keys=tuple(sequence.keys[first:end].tolist()),
                parent_key=int(sequence.keys[first - 1]) if first else None,
                tokens=tuple(sequence.tokens[first * size : end * size].tolist()),
                block_size=size,
                cache_salt=sequence.request.cache_salt,
                first_block=first,
            )
        )
