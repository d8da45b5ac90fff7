"""Places of workers by hash: a ring of points, and a fixed order of the workers for each key."""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing.draws import mixed
from hitpath.routing.view import Flags, Ring

_STEP = np.uint64(0x9E3779B97F4A7C15)
NO_RING: Ring = np.empty((0, 2), dtype=np.uint64)


def hash_ring(num_workers: int, points: int, seed: int) -> Ring:
    """uint64 [num_workers * points, 2]: (place, worker), sorted. A worker's places depend on its
    number and the seed alone, so a worker more or less moves no other one's keys."""
    if points == 0:
        return NO_RING
    ring = np.empty((num_workers * points, 2), dtype=np.uint64)
    for worker in range(num_workers):
        for point in range(points):
            ring[worker * points + point] = (_place(seed, worker, point), worker)
    ordered: Ring = ring[np.lexsort((ring[:, 1], ring[:, 0]))]
    return ordered


@kernel
def _place(seed: int, worker: int, point: int) -> np.uint64:
    root = mixed(np.uint64(seed) + _STEP)
    return mixed(mixed(root + np.uint64(worker) * _STEP) + np.uint64(point) * _STEP)


@kernel
def ring_owner(ring: Ring, key: np.uint64, alive: Flags) -> int:
    """The worker of the first place at or behind `key`, walking on over those not alive; -1
    where nobody on the ring is alive."""
    low, high = 0, len(ring)
    while low < high:
        middle = (low + high) // 2
        if ring[middle, 0] < key:
            low = middle + 1
        else:
            high = middle
    for step in range(len(ring)):
        worker = int(np.int64(ring[(low + step) % len(ring), 1]))
        if alive[worker]:
            return worker
    return -1


@kernel
def rank(seed: np.uint64, key: np.uint64, worker: int) -> np.uint64:
    """A number for (key, worker); the worker with the smallest one of a key is its first choice
    (rendezvous hashing, Thaler and Ravishankar 1998)."""
    return mixed(mixed(seed ^ mixed(key + _STEP)) + np.uint64(worker + 1) * _STEP)


@kernel
def first_choice(seed: np.uint64, key: np.uint64, among: Flags) -> int:
    """The worker with the smallest rank among those set; -1 where none is."""
    best = -1
    lowest = np.uint64(0)
    for worker in range(len(among)):
        if among[worker]:
            own = rank(seed, key, worker)
            if best < 0 or own < lowest:
                best, lowest = worker, own
    return best
