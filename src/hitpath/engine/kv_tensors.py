"""The KV cache's tensors: for each layer keys and values [kv head, slot, dim], by whole blocks.

Slot = block x block size + place in the block. Blocks from `num_blocks` on are compact: int8 with a
scale for each token and head (int8.py). Whoever reads a context gets a view where its blocks are
one run of full precision, else a copy gathered by block. `moved` counts the bytes that did move, so
that tests can say what a hit costs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from hitpath.engine.int8 import quantise, restore
from hitpath.engine.pool import Blocks

KeysValues = tuple[torch.Tensor, torch.Tensor]
Numbers = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


@dataclass(slots=True)
class BytesMoved:
    """Of keys and values, in full precision: written by computing them, read by attention (in place
    or copied), of these copied in order to be read, and made int8."""

    written: int = 0
    read: int = 0
    gathered: int = 0
    quantised: int = 0


@dataclass(frozen=True, slots=True)
class KVShape:
    """Sizes of one cache; `num_compact` blocks come after `num_blocks`."""

    num_layers: int
    num_kv_heads: int
    head_dim: int
    num_blocks: int
    block_size: int
    num_compact: int = 0


@dataclass(frozen=True, slots=True)
class Slots:
    """Slots of full precision, int64 [T]; `first` where they are one run."""

    numbers: torch.Tensor
    first: int | None


@dataclass(frozen=True, slots=True)
class Pages:
    """Whole pages to read, of any tier: `numbers` int64 [N] within the tier of full pages, and
    where compact ones stand among them (`compact_at`, `compact`; None without any)."""

    numbers: torch.Tensor
    compact_at: torch.Tensor | None
    compact: torch.Tensor | None


@dataclass(frozen=True, slots=True)
class Where:
    """The first `num_tokens` tokens of some blocks: one run from `first_slot`, or `pages`."""

    num_tokens: int
    first_slot: int | None
    pages: Pages | None


class KVTensors:
    """Allocated once; memory is taken by the system as blocks are first written."""

    def __init__(self, shape: KVShape, dtype: torch.dtype, device: torch.device) -> None:
        self.block_size = shape.block_size
        self.dtype = dtype
        self.device = device
        self.moved = BytesMoved()
        self.num_kv_heads = shape.num_kv_heads
        self.head_dim = shape.head_dim
        self._num_blocks = shape.num_blocks
        heads = (shape.num_layers, 2, shape.num_kv_heads)
        # One block more than the pool knows: where rows of padding are written (graphs.py).
        num_slots = (shape.num_blocks + 1) * shape.block_size
        self.padding_block = shape.num_blocks
        num_compact = shape.num_compact * shape.block_size
        # Zeros, not what was left in memory: padded tables read slots that nobody has written, and
        # a masked weight of 0 times NaN is NaN. The pages cost nothing until they are written.
        self._all = torch.zeros((*heads, num_slots, shape.head_dim), dtype=dtype, device=device)
        compact = (*heads, num_compact, shape.head_dim)
        self._compact = torch.zeros(compact, dtype=torch.int8, device=device)
        self._scales = torch.zeros(compact[:-1], dtype=torch.float32, device=device)
        self._bytes_per_slot: int = 2 * shape.num_kv_heads * shape.head_dim * dtype.itemsize

    @property
    def bytes_per_token(self) -> int:
        """Over all layers, in full precision."""
        num_layers: int = self._all.shape[0]
        return self._bytes_per_slot * num_layers

    # ---- where things stand

    def where(self, blocks: Blocks, num_tokens: int) -> Where:
        """`num_tokens` tokens from the start of these blocks."""
        blocks = blocks[: -(-num_tokens // self.block_size)]
        if not len(blocks) or (
            blocks[-1] < self._num_blocks and bool((np.diff(blocks) == 1).all())
        ):
            first = int(blocks[0]) * self.block_size if len(blocks) else 0
            return Where(num_tokens, first, None)
        return Where(num_tokens, None, self._pages(blocks.astype(np.int64), self._num_blocks))

    def slots(self, blocks: Blocks, first: int, end: int) -> Numbers:
        """Slots of the tokens [first, end) of a table; compact ones count on from full ones."""
        at = np.arange(first, end)
        size = self.block_size
        slots: Numbers = blocks[at // size].astype(np.int64) * size + at % size
        return slots

    def slots_to_write(self, slots: Numbers) -> Slots:
        """With `first`, if the slots are consecutive."""
        one_run = bool((np.diff(slots) == 1).all())
        return Slots(self.tensor(slots), int(slots[0]) if one_run else None)

    def slots_to_read(self, slots: Numbers) -> Pages:
        """Slots of any tier as pages of one token."""
        return self._pages(slots, self._num_blocks * self.block_size)

    def is_compact(self, blocks: Blocks) -> npt.NDArray[np.bool_]:
        """Which of these blocks are int8."""
        return blocks >= self._num_blocks

    def tensor(self, array: Array) -> torch.Tensor:
        """An array on the device of the cache."""
        return torch.from_numpy(array).to(self.device)

    def _pages(self, numbers: Numbers, num_full: int) -> Pages:
        is_compact = numbers >= num_full
        if not is_compact.any():
            return Pages(self.tensor(numbers), None, None)
        return Pages(
            self.tensor(np.where(is_compact, 0, numbers)),
            self.tensor(np.flatnonzero(is_compact)),
            self.tensor(numbers[is_compact] - num_full),
        )

    # ---- writing

    def write(self, layer: int, slots: Slots, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Keys and values [T, kv head, dim] into slots [T]."""
        for kept, new in zip(self._all[layer], (keys, values), strict=True):
            if slots.first is None:
                kept.index_copy_(1, slots.numbers, new.transpose(0, 1))
            else:
                kept[:, slots.first : slots.first + len(new)].copy_(new.transpose(0, 1))
        self.moved.written += len(keys) * self._bytes_per_slot

    def compact_blocks(self, source: Blocks, target: Blocks) -> None:
        """The KV of full blocks into compact ones, as int8."""
        size = self.block_size
        num_tokens = len(source) * size
        taken = self.tensor(self.slots(source, 0, num_tokens))
        given = self.tensor(self.slots(target, 0, num_tokens) - self._num_blocks * size)
        quantised, scales = quantise(self._all.index_select(3, taken))
        self._compact.index_copy_(3, given, quantised)
        self._scales.index_copy_(3, given, scales)
        self.moved.quantised += num_tokens * self.bytes_per_token

    # ---- reading

    def read(self, layer: int, where: Where) -> KeysValues:
        """Keys and values [kv head, num_tokens, dim]: a view of a run, else a copy."""
        if where.pages is not None:
            keys, values = self.read_pages(layer, where.pages)
            return keys[:, : where.num_tokens], values[:, : where.num_tokens]
        assert where.first_slot is not None
        end = where.first_slot + where.num_tokens
        self.moved.read += where.num_tokens * self._bytes_per_slot
        keys, values = self._all[layer]
        return keys[:, where.first_slot : end], values[:, where.first_slot : end]

    def paged(self, layer: int) -> KeysValues:
        """All blocks of full precision where they stand: [block, kv head, block_size, dim]."""
        shape = (self.num_kv_heads, -1, self.block_size, self.head_dim)
        keys, values = (kept.view(shape).transpose(0, 1) for kept in self._all[layer])
        return keys, values

    def read_slots(self, layer: int, pages: Pages) -> KeysValues:
        """Keys and values of single slots, copied: [kv head, N, dim]."""
        return self._gather(layer, pages, 1)

    def read_pages(self, layer: int, pages: Pages) -> KeysValues:
        """Keys and values of whole blocks, copied: [kv head, N x block_size, dim]."""
        return self._gather(layer, pages, self.block_size)

    def _gather(self, layer: int, pages: Pages, page_size: int) -> KeysValues:
        num_bytes = len(pages.numbers) * page_size * self._bytes_per_slot
        self.moved.read += num_bytes
        self.moved.gathered += num_bytes
        heads, dim = self.num_kv_heads, self.head_dim
        found = []
        for which in (0, 1):
            full = self._all[layer, which].view(heads, -1, page_size * dim)
            out = full.index_select(1, pages.numbers)
            if pages.compact is not None and pages.compact_at is not None:
                compact = self._compact[layer, which].view(heads, -1, page_size, dim)
                scales = self._scales[layer, which].view(heads, -1, page_size)
                exact = restore(
                    compact.index_select(1, pages.compact),
                    scales.index_select(1, pages.compact),
                    self.dtype,
                )
                out.index_copy_(1, pages.compact_at, exact.flatten(2))
            found.append(out.view(heads, -1, dim))
        return found[0], found[1]
