"""The brute-force prefix index: one dict of counts per worker, obvious on sight.

It exists to be right: tests hold the fast index to it after every step. It does not try to be
quick, and nothing but tests and examples should use it. See `contract` for what it does.
"""

import numpy as np

from hitpath.index.contract import Keys, Lengths, check_keys, check_num_workers, check_worker


class OracleIndex:
    """`PrefixIndex` as worker -> key -> copies."""

    def __init__(self, num_workers: int) -> None:
        check_num_workers(num_workers)
        self._copies: list[dict[int, int]] = [{} for _ in range(num_workers)]

    @property
    def num_workers(self) -> int:
        return len(self._copies)

    def store(self, worker: int, keys: Keys) -> None:
        check_worker(worker, self.num_workers)
        copies = self._copies[worker]
        for key in check_keys(keys).tolist():
            copies[key] = copies.get(key, 0) + 1

    def remove(self, worker: int, keys: Keys) -> int:
        check_worker(worker, self.num_workers)
        copies = self._copies[worker]
        num_unknown = 0
        for key in check_keys(keys).tolist():
            if key not in copies:
                num_unknown += 1
            elif copies[key] == 1:
                del copies[key]
            else:
                copies[key] -= 1
        return num_unknown

    def clear(self, worker: int) -> None:
        check_worker(worker, self.num_workers)
        self._copies[worker].clear()

    def match(self, keys: Keys) -> Lengths:
        wanted = check_keys(keys).tolist()
        lengths = np.zeros(self.num_workers, dtype=np.int64)
        for worker, copies in enumerate(self._copies):
            for key in wanted:
                if key not in copies:
                    break
                lengths[worker] += 1
        return lengths

    def dump(self) -> dict[int, dict[int, int]]:
        return {worker: dict(copies) for worker, copies in enumerate(self._copies) if copies}

    def check(self) -> None:
        for copies in self._copies:
            assert all(count >= 1 for count in copies.values())
