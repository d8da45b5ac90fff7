"""Kernels of the search for relatives: chunks cut by content, votes of earlier requests, beginnings
that are shared. Arrays and numbers only; all integers of positions are int64."""

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.traces.table import Ints, Symbols

Hashes = NDArray[np.uint64]
LEAST_CHUNK = 8
"""Symbols of a chunk, at least."""
FIRST_CHUNKS, EVERY_CHUNK = 512, 32
"""Beginnings of so many chunks are all remembered, then those of each so many more."""
BEGINNINGS = 1 << 20
"""How many beginnings are remembered."""


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
    """Chunks of a row that the marked one has too, each time that they stand there."""
    begin = ends[row - 1] if row else 0
    shared = 0
    for at in range(begin, ends[row]):
        if stamp[ids[at]] == mark:
            shared += 1
    return shared


@kernel
def nearest_of_session(
    ids: Ints, ends: Ints, stamp: Ints, row: int, recent: Ints, near: int
) -> tuple[int, int]:
    """(row, its chunks in common) of the nearest of a session's earlier requests, the latest first
    in `recent`; (-1, 0) for none. Of the last `near` it is the latest that has at least half as
    many chunks in common as the best of them: an older one may be nearer, where two forms take
    turns, and is not what this request goes on from. Those before are looked at where none of these
    has half of its chunks."""
    size = ends[row] - (ends[row - 1] if row else 0)
    scores = np.zeros(len(recent), dtype=np.int64)
    most, stop = 0, 0
    while stop < len(recent) and recent[stop] >= 0 and (stop < near or 2 * most < size):
        score = overlap_of(ids, ends, stamp, row, recent[stop])
        if score * 10 >= size or size < 8:
            scores[stop] = score
            most = max(most, score)
        stop += 1
    for k in range(stop):
        if scores[k] > 0 and 2 * scores[k] >= most:
            return recent[k], scores[k]
    return -1, 0


@kernel
def nearest_of_all(
    ids: Ints, ends: Ints, stamp: Ints, row: int, last: Ints, votes: Ints, touched: Ints
) -> tuple[int, int]:
    """(row, its chunks in common) of the four in which most chunks were seen last; (-1, 0) for
    none. votes is all 0 before and after."""
    num_touched = 0
    for at in range(ends[row - 1] if row else 0, ends[row]):
        other = last[ids[at]]
        if other >= 0:
            if votes[other] == 0:
                touched[num_touched] = other
                num_touched += 1
            votes[other] += 1
    best, best_shared = -1, 0
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
    return best, best_shared


@kernel
def longest_beginning(ids: Ints, begin: int, end: int, keys: Hashes, rows: Ints, row: int) -> int:
    """The latest earlier row that begins with most of the chunks [begin, end), -1 for none; the
    row's own beginnings are remembered. keys, rows: by the hash of a beginning, a place for each of
    their hashes, so that a later one may take it."""
    mask = np.uint64(len(keys) - 1)
    chain = np.uint64(0)
    found = -1
    for at in range(begin, end):
        chain = mix(chain ^ np.uint64(ids[at]))
        if at - begin >= FIRST_CHUNKS and (at - begin) % EVERY_CHUNK:
            continue
        slot = np.int64(chain & mask)
        if keys[slot] == chain:
            found = rows[slot]
        keys[slot] = chain
        rows[slot] = row
    return found


@kernel
def leading_chunks(ids: Ints, ends: Ints, one: int, other: int) -> int:
    """Chunks that two rows begin with."""
    a = ends[one - 1] if one else 0
    b = ends[other - 1] if other else 0
    most = min(ends[one] - a, ends[other] - b)
    same = 0
    while same < most and ids[a + same] == ids[b + same]:
        same += 1
    return same


@kernel
def nearer(
    ids: Ints, ends: Ints, stamp: Ints, row: int, other: int, shared: int, deep: int
) -> tuple[int, int]:
    """(row, its chunks in common): of two that have nearly as much in common, the one that has more
    of it at the beginning. shared: of `other`; deep: -1 for none."""
    if deep < 0 or deep == other:
        return other, shared
    score = overlap_of(ids, ends, stamp, row, deep)
    is_longer = leading_chunks(ids, ends, row, deep) > leading_chunks(ids, ends, row, other)
    if 10 * score >= 9 * shared and is_longer:
        return deep, score
    return other, shared


@kernel
def find_nearest(
    ids: Ints,
    ends: Ints,
    num_ids: int,
    session: Ints,
    num_sessions: int,
    backs: tuple[int, int],
    nearest: Ints,
    in_session: NDArray[np.bool_],
    shared: Ints,
    elsewhere: Ints,
) -> None:
    """The nearest earlier relative of every row, -1 for none; shared: its chunks in common. backs:
    of how many requests of the session, and of how many where those have nothing in common; else of
    all requests. elsewhere: of all requests, where that of the session shares less than half."""
    num_rows = len(ends)
    last = np.full(num_ids, -1, dtype=np.int64)
    stamp = np.full(num_ids, -1, dtype=np.int64)
    votes = np.zeros(num_rows, dtype=np.int64)
    touched = np.zeros(num_rows, dtype=np.int64)
    recent = np.full((num_sessions, backs[1]), -1, dtype=np.int64)
    keys = np.zeros(BEGINNINGS, dtype=np.uint64)
    rows = np.full(BEGINNINGS, -1, dtype=np.int64)
    for row in range(num_rows):
        begin = ends[row - 1] if row else 0
        for at in range(begin, ends[row]):
            stamp[ids[at]] = row
        best, best_shared = -1, 0
        deep = longest_beginning(ids, begin, ends[row], keys, rows, row)
        code = session[row]
        if code >= 0:
            best, best_shared = nearest_of_session(ids, ends, stamp, row, recent[code], backs[0])
        in_session[row] = best >= 0
        if 2 * best_shared < ends[row] - begin:
            other, other_shared = nearest_of_all(ids, ends, stamp, row, last, votes, touched)
            if other >= 0:
                other, other_shared = nearer(ids, ends, stamp, row, other, other_shared, deep)
            if best < 0:
                best, best_shared = other, other_shared
            elif other != best:
                elsewhere[row] = other
        nearest[row], shared[row] = best, min(best_shared, ends[row] - begin)
        for at in range(begin, ends[row]):
            last[ids[at]] = row
        if code >= 0:
            recent[code, 1:] = recent[code, :-1].copy()
            recent[code, 0] = row
