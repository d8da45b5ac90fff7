"""The kernels of the array index: a log of rows, and an open-addressing table that finds them.

The log is uint64 [capacity + 1, 1 + words], rows in the order in which they were first stored. A
row is a key and the bit mask of the workers that hold it: worker ``w`` is bit ``w % 64`` of column
``1 + w // 64``. A row without workers is dead (removed) or not used yet; the last one never is
used. Blocks of one prompt are stored one after the other, so the row after the one just found is
nearly always the next one wanted: `match` tries it first, and walks through memory in order
instead of at random. It is a hint only; the key in the row decides.

The table `slots` is uint32 [a power of two, at least twice the capacity]: row + 1, or 0 for
empty (so every key, 0 too, is legal); linear probing. Deletion shifts entries back, so there are
no tombstones, and dead rows are in no slot.

No function here multiplies beyond 64 bits or takes from below 0, so plain Python (JIT off) and
compiled code agree without any wrapping. Indexes are unsigned where speed counts: a signed one
would be tested for "negative, from the end" on each access. Copies are not counted here.
"""

import numpy as np
import numpy.typing as npt

from hitpath._jit import kernel

Log = npt.NDArray[np.uint64]
Slots = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]
Lengths = npt.NDArray[np.int64]

_0 = np.uint64(0)
_1 = np.uint64(1)
_16 = np.uint64(16)
_32 = np.uint64(32)
_LOW_32 = np.uint64(0xFFFFFFFF)
_GOLDEN_32 = np.uint64(0x9E3779B1)  # 2**32 / golden ratio, odd


@kernel
def home(key: np.uint64, slot_mask: np.uint64) -> np.uint64:
    """The slot where the search for a key starts; slot_mask = number of slots - 1.

    The factor spreads keys that are plain running numbers (Mooncake's hash_ids), which linear
    probing would otherwise pile up into one long run; the fold lets high bits take part.
    """
    mixed = ((key ^ (key >> _32)) & _LOW_32) * _GOLDEN_32
    # Bits in the middle of the product depend on most bits of the key; its low bits do not.
    return (mixed >> _16) & slot_mask


@kernel
def find(slots: Slots, log: Log, key: np.uint64) -> np.uint64:
    """The slot of a key or, if it has none, the empty slot where it would go."""
    slot_mask = np.uint64(len(slots) - 1)
    slot = home(key, slot_mask)
    while True:
        entry = np.uint64(slots[slot])
        if entry == _0 or log[entry - _1, _0] == key:
            return slot
        slot = (slot + _1) & slot_mask


@kernel
def store(
    slots: Slots,
    log: Log,
    used: int,
    keys: Keys,
    start: int,
    column: np.uint64,
    bit: np.uint64,
    doubles: Keys,
) -> tuple[int, int, int]:
    """Set `bit` for keys [start, n) until the log, of which `used` rows are used, is full.

    Returns (position of the first key not done, rows used, number of doubles). A key whose bit
    was set already is written to the front of `doubles` (as long as `keys`).
    """
    num_doubles = 0
    for i in range(start, len(keys)):
        key = keys[i]
        slot = find(slots, log, key)
        entry = np.uint64(slots[slot])
        if entry == _0:
            if used == len(log) - 1:
                return i, used, num_doubles
            log[np.uint64(used), _0] = key
            log[np.uint64(used), column] = bit
            used += 1
            slots[slot] = used
        elif log[entry - _1, column] & bit:
            doubles[num_doubles] = key
            num_doubles += 1
        else:
            log[entry - _1, column] |= bit
    return len(keys), used, num_doubles


@kernel
def _free_slot(slots: Slots, log: Log, slot: np.uint64) -> None:
    """Empty a slot: pull back each entry of the run that the gap would cut off."""
    slot_mask = np.uint64(len(slots) - 1)
    num_slots = np.uint64(len(slots))
    gap = slot
    at = (gap + _1) & slot_mask
    while slots[at] != 0:
        start = home(log[np.uint64(slots[at]) - _1, _0], slot_mask)
        # Distances go forward round the ring. A search from `start` to `at` passes the gap, and
        # would end there, exactly when `start` is at least as far behind `at` as the gap is.
        if (at + num_slots - start) & slot_mask >= (at + num_slots - gap) & slot_mask:
            slots[gap] = slots[at]
            gap = at
        at = (at + _1) & slot_mask
    slots[gap] = 0


@kernel
def remove(
    slots: Slots, log: Log, keys: Keys, column: np.uint64, bit: np.uint64
) -> tuple[int, int]:
    """Clear `bit` for each key; returns (rows that died, keys that did not have the bit)."""
    num_died = 0
    num_unknown = 0
    for i in range(len(keys)):
        slot = find(slots, log, keys[i])
        entry = np.uint64(slots[slot])
        if entry == _0 or not log[entry - _1, column] & bit:
            num_unknown += 1
            continue
        row = entry - _1
        log[row, column] ^= bit
        held = _0
        for word in range(1, log.shape[1]):
            held |= log[row, word]
        if held == _0:
            _free_slot(slots, log, slot)
            num_died += 1
    return num_died, num_unknown


@kernel
def copy_rows(source: Log, slots: Slots, log: Log) -> int:
    """Move the rows with workers, in order, to the front of `log`; returns their number.

    `slots` is all zeros on entry. `log` may be `source` itself: no row moves towards the end.
    """
    used = 0
    slot_mask = np.uint64(len(slots) - 1)
    for row in range(len(source)):
        held = _0
        for word in range(1, source.shape[1]):
            held |= source[row, word]
        if held != _0:
            for word in range(source.shape[1]):
                log[used, word] = source[row, word]
            used += 1
            # All keys differ, so none needs comparing.
            slot = home(source[row, 0], slot_mask)
            while slots[slot] != 0:
                slot = (slot + _1) & slot_mask
            slots[slot] = used
    return used


@kernel
def _lowest_bit(word: np.uint64) -> int:
    """Position of the lowest set bit of a word that is not 0, by halving."""
    position = 0
    for width in (32, 16, 8, 4, 2, 1):
        if word & ((_1 << np.uint64(width)) - _1) == _0:
            word >>= np.uint64(width)
            position += width
    return position


@kernel
def _write(lengths: Lengths, column: np.uint64, workers: np.uint64, length: int) -> None:
    """Write one length for each worker of a mask."""
    base = (np.int64(column) - 1) * 64
    while workers != _0:
        lengths[base + _lowest_bit(workers)] = length
        workers &= workers - _1


@kernel
def _match_column(slots: Slots, log: Log, keys: Keys, column: np.uint64, lengths: Lengths) -> None:
    """`match` for the 64 workers of one column."""
    alive = ~_0
    row = np.uint64(len(log) - 2)  # the row after it is never used, so no hint for the first key
    for i in range(len(keys)):
        key = keys[i]
        row += _1
        # A row that lacks the key or any worker here says nothing: its key may live elsewhere.
        if log[row, _0] != key or log[row, column] == _0:
            entry = np.uint64(slots[find(slots, log, key)])
            if entry == _0:
                if i > 0:
                    _write(lengths, column, alive, i)
                return
            row = entry - _1
        still = alive & log[row, column]
        if still != alive:
            if i > 0:  # those without the first key have length 0, as `lengths` says already
                _write(lengths, column, alive ^ still, i)
            if still == _0:
                return
            alive = still
    if len(keys) > 0:
        _write(lengths, column, alive, len(keys))


@kernel
def match(slots: Slots, log: Log, keys: Keys, lengths: Lengths) -> None:
    """Write each worker's number of leading keys held to `lengths` (zeros on entry)."""
    for column in range(1, log.shape[1]):
        _match_column(slots, log, keys, np.uint64(column), lengths)
