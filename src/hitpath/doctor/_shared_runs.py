"""The kernel that finds what two prompts of ids share behind their common beginning.

Arrays and numbers only. Plain form and kernel are one: tests/doctor/test_shared_runs.py compares
both with a slow rule.
"""

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.traces.table import Ints, Symbols

GRAM = 8
"""Ids that follow each other: what an anchor is made of."""
LEAST_RUN = 16
_NONE, _OFTEN = -1, -2


@kernel
def gram_at(symbols: Symbols, at: int) -> np.uint64:
    """A hash of the GRAM ids from `at` on."""
    total = np.uint64(0)
    for k in range(GRAM):
        part = np.uint64(symbols[at + k])
        total = total * np.uint64(0x9E3779B97F4A7C15) + (part ^ (part << np.uint64(17)))
    return total


@kernel
def fill_places(
    symbols: Symbols, first: int, keys: NDArray[np.uint64], places: Ints, bits: int
) -> None:
    """A table (open addressing, 2**bits slots, places all _NONE) of every anchor from `first` on
    and where it stands; _OFTEN where it stands more than once."""
    mask = len(places) - 1
    shift = np.uint64(64 - bits)
    for at in range(first, len(symbols) - GRAM + 1):
        gram = gram_at(symbols, at)
        slot = np.int64((gram * np.uint64(0xD6E8FEB86659FD93)) >> shift)
        while places[slot] != _NONE and keys[slot] != gram:
            slot = (slot + 1) & mask
        if places[slot] == _NONE:
            keys[slot] = gram
            places[slot] = at
        else:
            places[slot] = _OFTEN


@kernel
def fill_runs(
    there: Symbols,
    here: Symbols,
    common: int,
    keys: NDArray[np.uint64],
    places: Ints,
    bits: int,
    runs: Ints,
) -> int:
    """Runs that both have, by their place in `here`: rows of (place there, place here, length) in
    `runs`, which has room for one every GRAM ids. Returns their number."""
    mask = len(places) - 1
    shift = np.uint64(64 - bits)
    num = 0
    floor = common
    at = common
    while at <= len(here) - GRAM:
        gram = gram_at(here, at)
        slot = np.int64((gram * np.uint64(0xD6E8FEB86659FD93)) >> shift)
        while places[slot] != _NONE and keys[slot] != gram:
            slot = (slot + 1) & mask
        place = places[slot]
        if place < 0:
            at += 1
            continue
        size = 0
        most = min(len(there) - place, len(here) - at)
        while size < most and there[place + size] == here[at + size]:
            size += 1
        back = 0
        while (
            place - back > common
            and at - back > floor
            and there[place - back - 1] == here[at - back - 1]
        ):
            back += 1
        if size + back >= LEAST_RUN:
            runs[num, 0], runs[num, 1], runs[num, 2] = place - back, at - back, size + back
            num += 1
            floor = at + size
        at += max(size, 1)
    return num


def shared_runs(there: Symbols, here: Symbols, common: int) -> list[tuple[int, int, int]]:
    """Stretches of at least LEAST_RUN ids behind the first `common` that both have, moved ones too:
    (place there, place here, length) by their place here. Found by anchors that stand once
    there."""
    num = len(there) - common - GRAM + 1
    if num <= 0 or len(here) - common < GRAM:
        return []
    bits = max(4, int(2 * num - 1).bit_length())
    keys = np.empty(1 << bits, dtype=np.uint64)
    places = np.full(1 << bits, _NONE, dtype=np.int64)
    fill_places(there, common, keys, places, bits)
    runs = np.empty((len(here) // LEAST_RUN + 1, 3), dtype=np.int64)
    found = fill_runs(there, here, common, keys, places, bits, runs)
    return [(a, b, n) for a, b, n in runs[:found].tolist()]
