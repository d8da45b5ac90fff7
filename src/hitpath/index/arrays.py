"""The fast prefix index: a flat log of rows and a hash table over it, searched by kernels.

`contract` says what it does, `_kernels` how the arrays lie in memory. This file owns what is
around them: growth, and the copies beyond the first, which are few (an engine keeps a
duplicate only where two requests computed the same block at the same time) and so stand in one
small dict per worker. As long as a worker has any, removals there also look into that dict, in
Python: a few times slower, still well under a microsecond a block.

Dead rows stay in the log until it is full. Then the live ones are moved together, in order, within
the same arrays or, when these are too full (over a half; small ones over a quarter), to larger
ones. So the cost is O(1) a block on average, with a pause of 10 to 40 ns a live block at each
move. Memory: 24 bytes a row for up to 64 workers and 8 for each further 64; just after a move
there are two to four rows a live block (small: four to eight). Limit: 2**31 rows. Not here:
persistence, expiry, locks.
"""

import numpy as np

from hitpath.index import _kernels
from hitpath.index.contract import Keys, Lengths, check_keys, check_num_workers, check_worker

_WORD_BITS = 64
_MIN_CAPACITY = 64  # rows
# Below this many live rows a move makes room for four times as many: moves are half the cost of
# growing, and the memory (32 MB at most) does not matter yet.
_SMALL = 1 << 18


class ArrayIndex:
    """`PrefixIndex` on rows of (key, bit mask of workers) in flat arrays."""

    def __init__(self, num_workers: int) -> None:
        check_num_workers(num_workers)
        self._num_workers = num_workers
        self._num_columns = 1 + -(-num_workers // _WORD_BITS)
        # Column and bit of each worker in the log, made once: numpy scalars are slow to make.
        self._places = [
            (np.uint64(1 + worker // _WORD_BITS), np.uint64(1 << worker % _WORD_BITS))
            for worker in range(num_workers)
        ]
        self._extra: list[dict[int, int]] = [{} for _ in range(num_workers)]  # copies beyond one
        self._log = np.zeros((0, self._num_columns), dtype=np.uint64)
        self._slots = np.zeros(0, dtype=np.uint32)
        self._num_used = 0  # rows of the log, live and dead
        self._num_live = 0
        self._rebuild()

    @property
    def num_workers(self) -> int:
        return self._num_workers

    def store(self, worker: int, keys: Keys) -> None:
        column, bit = self._place(worker)
        keys = check_keys(keys)
        doubles = np.empty_like(keys)
        extra = self._extra[worker]
        done = 0
        while True:
            used = self._num_used
            done, self._num_used, num_doubles = _kernels.store(
                self._slots, self._log, used, keys, done, column, bit, doubles
            )
            self._num_live += self._num_used - used
            for key in doubles[:num_doubles].tolist():
                extra[key] = extra.get(key, 0) + 1
            if done == len(keys):
                return
            self._rebuild()

    def remove(self, worker: int, keys: Keys) -> int:
        column, bit = self._place(worker)
        keys = check_keys(keys)
        extra = self._extra[worker]
        if extra:
            last_copies = [key for key in keys.tolist() if not _take_extra(extra, key)]
            keys = np.array(last_copies, dtype=np.uint64)
        num_died, num_unknown = _kernels.remove(self._slots, self._log, keys, column, bit)
        self._num_live -= num_died
        return num_unknown

    def clear(self, worker: int) -> None:
        column, bit = self._place(worker)
        self._extra[worker].clear()
        self._log[:, column] &= ~bit
        self._num_live = int(np.count_nonzero(self._live_rows()))
        self._rebuild()

    def match(self, keys: Keys) -> Lengths:
        lengths = np.zeros(self._num_workers, dtype=np.int64)
        _kernels.match(self._slots, self._log, check_keys(keys), lengths)
        return lengths

    def dump(self) -> dict[int, dict[int, int]]:
        state: dict[int, dict[int, int]] = {}
        for worker in range(self._num_workers):
            column, bit = self._place(worker)
            held = self._log[(self._log[:, column] & bit) != 0, 0].tolist()
            if held:
                extra = self._extra[worker]
                state[worker] = {key: 1 + extra.get(key, 0) for key in held}
        return state

    def check(self) -> None:
        num_slots = len(self._slots)
        assert num_slots & (num_slots - 1) == 0
        assert num_slots == 2 * (len(self._log) - 1)
        live = self._live_rows()
        assert self._num_live == np.count_nonzero(live)
        assert not live[self._num_used :].any()
        spare_bits = (self._num_columns - 1) * _WORD_BITS - self._num_workers
        if spare_bits:
            assert not (self._log[:, -1] >> np.uint64(_WORD_BITS - spare_bits)).any()
        # Each live row can be found by its key, so keys are unique; and no slot leads elsewhere.
        for row in np.flatnonzero(live).tolist():
            assert self._row(self._log[row, 0]) == row
        assert self._num_live == np.count_nonzero(self._slots)
        for worker, extra in enumerate(self._extra):
            column, bit = self._place(worker)
            for key, count in extra.items():
                assert count >= 1
                home_row = self._row(np.uint64(key))
                assert home_row is not None, "extra copies of a block that is nowhere"
                assert self._log[home_row, column] & bit, "extra copies of a block not held"

    def _place(self, worker: int) -> tuple[np.uint64, np.uint64]:
        """The worker's column and bit in the log."""
        check_worker(worker, self._num_workers)
        return self._places[worker]

    def _row(self, key: np.uint64) -> int | None:
        entry = int(self._slots[_kernels.find(self._slots, self._log, key)])
        return entry - 1 if entry else None

    def _live_rows(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray(self._log[:, 1:].any(axis=1))

    def _rebuild(self) -> None:
        """Move the live rows together, to new arrays if these leave no room for growth."""
        capacity = _MIN_CAPACITY
        while capacity < self._num_live * (4 if self._num_live < _SMALL else 2):
            capacity *= 2
        old = self._log
        if capacity == len(old) - 1:
            # In place: rows only move to the front, each after the ones before it. Fresh memory
            # would cost more than the move itself.
            self._slots[:] = 0
            self._num_used = _kernels.copy_rows(old, self._slots, old)
            old[self._num_used :] = 0
        else:
            self._log = np.zeros((capacity + 1, self._num_columns), dtype=np.uint64)
            self._slots = np.zeros(2 * capacity, dtype=np.uint32)
            self._num_used = _kernels.copy_rows(old, self._slots, self._log)
        assert self._num_used == self._num_live


def _take_extra(extra: dict[int, int], key: int) -> bool:
    """Take one of the copies beyond the first, if there is one."""
    count = extra.get(key, 0)
    if count == 0:
        return False
    if count == 1:
        del extra[key]
    else:
        extra[key] = count - 1
    return True
