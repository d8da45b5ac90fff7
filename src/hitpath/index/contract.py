"""The contract of a prefix index: which worker holds which blocks, and so how long a prefix.

One text for all implementations: `oracle` (obvious, slow) and `arrays` (flat, fast) repeat
nothing of it, and one test suite holds both to it. An index knows keys only: it neither computes
them (`hitpath.keys`) nor decides anything (`hitpath.routing`).

Units: lengths are blocks, not tokens. Threads: no method may overlap with a mutating one on the
same index; the caller serialises. Calls of `match` alone may overlap.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
Lengths = npt.NDArray[np.int64]


class PrefixIndex(Protocol):
    """Copies of blocks per worker, and the longest held prefix of a key sequence.

    A worker is a number in 0 .. num_workers - 1, fixed at construction. Keys are uint64 [n]
    arrays, every value legal; they are chained, so one key stands for a whole prefix, but the
    index does not know parents: a worker may hold a block without the one before it (engines
    evict in any order), and such a hole ends a match.

    Engines keep duplicates (two requests computed the same block), so copies are *counted* per
    (worker, key): stored twice and removed once is still held. The order of keys within one call
    makes no difference.

    Raises, everywhere and before anything is changed: ValueError for a worker out of range or
    keys of another shape, TypeError for keys of another dtype.
    """

    @property
    def num_workers(self) -> int:
        """How many workers the index covers."""

    def store(self, worker: int, keys: Keys) -> None:
        """Add one copy of each key (a key that stands twice gets two). Amortised O(n)."""

    def remove(self, worker: int, keys: Keys) -> int:
        """Take one copy of each key away; return how many of `keys` had no copy left to take.

        The rest is removed all the same. A number above 0 means that the index and the engine
        disagree (events lost, or out of order): the caller reports it as index health. O(n).
        """

    def clear(self, worker: int) -> None:
        """Forget all copies on one worker (its cache was reset, or it left). O(size of index)."""

    def match(self, keys: Keys) -> Lengths:
        """For each worker, how many leading keys it holds: int64 [num_workers], the caller's own.

        Counts stop at the first key not held; 0 for a worker that lacks the first key and for
        empty `keys`. Changes nothing. O(longest match), not O(n).
        """

    def dump(self) -> dict[int, dict[int, int]]:
        """The whole state, worker -> key -> copies (>= 1), workers without blocks left out.

        For tests and snapshots: equal dumps mean equal indexes. A copy; O(size of index).
        """

    def check(self) -> None:
        """Raise AssertionError if an internal invariant is broken. O(size of index)."""


def check_worker(worker: int, num_workers: int) -> None:
    """Raise ValueError unless the worker exists: a negative number must not count from the end."""
    if not 0 <= worker < num_workers:
        raise ValueError(f"worker must be in 0 .. {num_workers - 1}, got {worker}")


def check_num_workers(num_workers: int) -> None:
    """Raise ValueError for an index without workers."""
    if num_workers < 1:
        raise ValueError(f"an index needs at least 1 worker, got {num_workers}")


_UINT64 = np.dtype(np.uint64)


def check_keys(keys: Keys) -> Keys:
    """Return `keys` as a contiguous uint64 [n] array; refuse others, as a cast could alter keys."""
    if keys.dtype != _UINT64:
        raise TypeError(f"keys must be uint64, got {keys.dtype}")
    if keys.ndim != 1:
        raise ValueError(f"keys must have one dimension, got shape {keys.shape}")
    return np.ascontiguousarray(keys)
