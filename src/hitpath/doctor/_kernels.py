"""Kernels of the search for relatives: chunks cut by content, votes of earlier requests, beginnings
that are shared. Arrays and numbers only; all integers of positions are int64."""

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.traces.table import Ints, Symbols

Hashes = NDArray[np.uint64]
LEAST_CHUNK = 8
"""Symbols of a chunk, at least."""


@kernel
def mix(value: np.uint64) -> np.uint64:
    """A symbol spread over 64 bits (the finaliser of SplitMix64)."""
    value = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def fill_chunks(
    flat: Symbols, offsets: Ints, table: Hashes, bits: int, hashes: Hashes, ends: Ints
) -> int:
    """Chunk hashes of all rows one after the other; ends[i]: chunks up to the end of row i. A chunk
    ends where the last symbols hash to `bits` zeros, so that the same text gives the same chunks
    wherever it stands. table: mixed values of small symbols. Returns the number of chunks, or -1
    where `hashes` is too short."""
    count = 0
    shift = np.uint64(64 - bits)
    one = np.uint64(1)
    zero = np.uint64(0)
    prime = np.uint64(0x100000001B3)
    small = len(table)
    for row in range(len(offsets) - 1):
        gear, chunk, length = zero, zero, 0
        for at in range(offsets[row], offsets[row + 1]):
            symbol = flat[at]
            mixed = table[symbol] if symbol < small else mix(np.uint64(symbol))
            gear = (gear << one) + mixed
            chunk = (chunk ^ mixed) * prime
            length += 1
            if length >= LEAST_CHUNK and gear >> shift == zero:
                if count == len(hashes):
                    return -1
                hashes[count] = chunk ^ (chunk >> np.uint64(29))
                count += 1
                chunk, length = zero, 0
        if length:
            if count == len(hashes):
                return -1
            hashes[count] = chunk ^ (chunk >> np.uint64(29))
            count += 1
        ends[row] = count
    return count


@kernel
def common_symbols(flat: Symbols, offsets: Ints, one: int, other: int) -> int:
    """Leading symbols that two rows share."""
    a, b = offsets[one], offsets[other]
    most = min(offsets[one + 1] - a, offsets[other + 1] - b)
    same = 0
    while same < most and flat[a + same] == flat[b + same]:
        same += 1
    return same


@kernel
def overlap_of(ids: Ints, ends: Ints, stamp: Ints, mark: int, row: int) -> int:
    """Chunks of a row that the marked one has too."""
    begin = ends[row - 1] if row else 0
    shared = 0
    for at in range(begin, ends[row]):
        if stamp[ids[at]] == mark:
            shared += 1
    return shared


@kernel
def find_nearest(
    ids: Ints,
    ends: Ints,
    num_ids: int,
    flat: Symbols,
    offsets: Ints,
    session: Ints,
    num_sessions: int,
    most_back: int,
    closer: int,
    nearest: Ints,
    in_session: NDArray[np.bool_],
    shared: Ints,
) -> None:
    """The nearest earlier relative of every row, -1 for none; shared: its chunks in common.

    Of the same session: one of its last `most_back` requests that has at least half as many chunks
    in common as the best of them; the latest, unless an earlier one shares `closer` symbols more.
    Else of all: those that most chunks were seen in last, the one with most chunks in common.
    """
    num_rows = len(ends)
    last = np.full(num_ids, -1, dtype=np.int64)
    stamp = np.full(num_ids, -1, dtype=np.int64)
    votes = np.zeros(num_rows, dtype=np.int64)
    touched = np.zeros(num_rows, dtype=np.int64)
    recent = np.full((num_sessions, most_back), -1, dtype=np.int64)
    scores = np.zeros(most_back, dtype=np.int64)
    for row in range(num_rows):
        begin = ends[row - 1] if row else 0
        size = ends[row] - begin
        for at in range(begin, ends[row]):
            stamp[ids[at]] = row
        best, best_shared = -1, 0
        code = session[row]
        if code >= 0:
            most = 0
            for k in range(most_back):
                scores[k] = 0
                if recent[code, k] >= 0:
                    scores[k] = overlap_of(ids, ends, stamp, row, recent[code, k])
                    most = max(most, scores[k])
            if most > 0 and (most * 10 >= size or size < 8):
                best_common = -1
                for k in range(most_back):  # the latest first
                    other = recent[code, k]
                    if other >= 0 and 2 * scores[k] >= most:
                        common = common_symbols(flat, offsets, row, other)
                        if best < 0 or common >= best_common + closer:
                            best, best_shared, best_common = other, scores[k], common
        in_session[row] = best >= 0
        if best < 0:
            num_touched = 0
            for at in range(begin, ends[row]):
                other = last[ids[at]]
                if other >= 0:
                    if votes[other] == 0:
                        touched[num_touched] = other
                        num_touched += 1
                    votes[other] += 1
            for _ in range(4):
                top, most_votes = -1, 0
                for k in range(num_touched):
                    other = touched[k]
                    num = votes[other]
                    if num > 0 and (num > most_votes or (num == most_votes and other > top)):
                        top, most_votes = other, num
                if top < 0:
                    break
                score = overlap_of(ids, ends, stamp, row, top)
                if score > best_shared or (score == best_shared and top > best):
                    best, best_shared = top, score
                votes[top] = 0
            for k in range(num_touched):
                votes[touched[k]] = 0
        nearest[row], shared[row] = best, best_shared
        for at in range(begin, ends[row]):
            last[ids[at]] = row
        if code >= 0:
            for k in range(most_back - 1, 0, -1):
                recent[code, k] = recent[code, k - 1]
            recent[code, 0] = row
