"""The contract of a prefix index, for the obvious and the fast one alike."""

import os
import subprocess
import sys

import numpy as np
import pytest

from hitpath.index import _kernels
from hitpath.index.arrays import ArrayIndex
from hitpath.index.contract import PrefixIndex
from hitpath.index.oracle import OracleIndex


def u64(*keys):
    return np.array(keys, dtype=np.uint64)


@pytest.fixture(params=[OracleIndex, ArrayIndex], ids=["oracle", "arrays"])
def make(request):
    return request.param


@pytest.fixture
def index(make) -> PrefixIndex:
    return make(3)


def test_empty(index):
    assert index.num_workers == 3
    assert index.match(u64(1, 2)).tolist() == [0, 0, 0]
    assert index.dump() == {}
    index.check()


def test_match_counts_leading_blocks_per_worker(index):
    index.store(0, u64(1, 2, 3))
    index.store(2, u64(1, 2))
    lengths = index.match(u64(1, 2, 3, 4))
    assert lengths.dtype == np.int64
    assert lengths.tolist() == [3, 0, 2]
    assert index.match(u64(2, 3)).tolist() == [2, 0, 1]
    assert index.match(u64()).tolist() == [0, 0, 0]
    index.check()


def test_match_stops_at_a_hole(index):
    index.store(0, u64(1, 2, 3, 4))
    assert index.remove(0, u64(2)) == 0
    assert index.match(u64(1, 2, 3, 4)).tolist() == [1, 0, 0]
    index.store(1, u64(2, 3))  # no join of two workers' parts
    assert index.match(u64(1, 2, 3, 4)).tolist() == [1, 0, 0]
    index.store(0, u64(2))
    assert index.match(u64(1, 2, 3, 4)).tolist() == [4, 0, 0]
    index.check()


def test_the_same_key_may_come_twice_in_a_match(index):
    index.store(1, u64(5))
    assert index.match(u64(5, 5, 6)).tolist() == [0, 2, 0]


def test_copies_are_counted(index):
    index.store(0, u64(1, 2))
    index.store(0, u64(2, 3, 3, 3))
    assert index.dump() == {0: {1: 1, 2: 2, 3: 3}}
    assert index.remove(0, u64(2, 3)) == 0
    assert index.match(u64(1, 2, 3)).tolist() == [3, 0, 0]
    assert index.remove(0, u64(2, 3, 3)) == 0
    assert index.dump() == {0: {1: 1}}
    index.check()


def test_removing_what_is_not_held_is_reported(index):
    assert index.remove(0, u64(1)) == 1
    index.store(0, u64(1, 1, 2))
    index.store(1, u64(9))
    assert index.remove(0, u64(1, 1, 1, 1, 9)) == 3
    assert index.dump() == {0: {2: 1}, 1: {9: 1}}
    assert index.remove(0, u64()) == 0
    index.check()


def test_clear_forgets_one_worker(index):
    index.store(0, u64(1, 2, 2))
    index.store(1, u64(2, 3))
    index.clear(0)
    index.clear(2)
    assert index.dump() == {1: {2: 1, 3: 1}}
    assert index.remove(0, u64(2)) == 1, "no copy is left behind"
    index.store(0, u64(2))
    assert index.dump() == {0: {2: 1}, 1: {2: 1, 3: 1}}
    index.check()


def test_every_value_is_a_legal_key(index):
    keys = u64(0, 2**64 - 1, 2**63, 1 << 32, 2**32 + 1)
    assert index.match(u64(0)).tolist() == [0, 0, 0]
    assert index.remove(0, u64(0)) == 1
    index.store(1, keys)
    assert index.match(keys).tolist() == [0, 5, 0]
    assert index.dump() == {1: dict.fromkeys(keys.tolist(), 1)}
    assert index.remove(1, u64(0)) == 0
    assert index.match(u64(2**63, 0)).tolist() == [0, 1, 0]
    index.check()


def test_results_belong_to_the_caller(index):
    index.store(0, u64(1))
    index.match(u64(1))[:] = 9
    index.dump()[0][1] = 9
    keys = u64(1, 2)
    index.store(1, keys)
    keys[:] = 7
    assert index.dump() == {0: {1: 1}, 1: {1: 1, 2: 1}}


def test_strided_keys(index):
    index.store(0, np.arange(10, dtype=np.uint64)[::3])
    assert index.dump() == {0: {0: 1, 3: 1, 6: 1, 9: 1}}
    assert index.match(np.arange(10, dtype=np.uint64)[::-3]).tolist() == [4, 0, 0]


def test_wrong_arguments_are_refused(make, index):
    for worker in (-1, 3):
        for call in (index.store, index.remove, lambda w, _: index.clear(w)):
            with pytest.raises(ValueError, match=r"worker must be in 0 \.\. 2"):
                call(worker, u64(1))
    for keys, error in (
        (np.array([1]), TypeError),
        (np.array([1.0]), TypeError),
        (np.zeros((1, 1), dtype=np.uint64), ValueError),
    ):
        for call in (lambda k: index.store(0, k), lambda k: index.remove(0, k), index.match):
            with pytest.raises(error, match="keys must"):
                call(keys)
    with pytest.raises(ValueError, match="at least 1 worker"):
        make(0)
    assert index.dump() == {}


@pytest.mark.parametrize("num_workers", [1, 2, 63, 64, 65, 128, 200])
def test_any_number_of_workers(make, num_workers):
    index = make(num_workers)
    keys = np.arange(100, 100 + num_workers + 1, dtype=np.uint64)
    for worker in range(num_workers):
        index.store(worker, keys[: worker + 1])
    assert index.match(keys).tolist() == list(range(1, num_workers + 1))
    last = num_workers - 1
    assert index.remove(last, keys[:1]) == 0
    assert index.match(keys).tolist() == [*range(1, num_workers), 0]
    index.clear(0)
    index.check()
    assert 0 not in index.dump()


def crowded_keys(num_keys, start=0):
    """Keys whose search starts at slot 0 of every table of up to 2**16 slots: one long run."""
    candidates = np.arange(start, start + (num_keys << 17), dtype=np.uint64)
    mixed = (candidates * np.uint64(0x9E3779B1)) >> np.uint64(16)
    crowded = candidates[mixed & np.uint64(0xFFFF) == 0]
    assert all(int(_kernels.home(key, np.uint64(0xFFFF))) == 0 for key in crowded[:3])
    return crowded[:num_keys]


def test_keys_that_collide_in_the_table(make):
    index = make(2)
    keys = crowded_keys(60)
    neighbours = np.arange(1, 40, dtype=np.uint64)  # keys with homes of their own, in the run's way
    index.store(0, keys)
    index.store(1, neighbours)
    index.check()
    held = dict.fromkeys(keys.tolist(), 1)
    for key in np.concatenate([keys[::2], keys[1::4]]):  # from within the run, and its ends
        assert index.remove(0, np.array([key])) == 0
        del held[int(key)]
        index.check()
        assert index.dump()[0] == held
    assert index.match(neighbours).tolist()[1] == len(neighbours)


def test_a_run_of_slots_over_the_end_of_the_table(make):
    index = make(1)
    candidates = np.arange(200_000, dtype=np.uint64)
    homes = ((candidates * np.uint64(0x9E3779B1)) >> np.uint64(16)) & np.uint64(127)
    late = candidates[homes >= 125][:40]  # the table starts with 128 slots
    index.store(0, late)
    index.check()
    for key in late[::-1].tolist()[::3] + late.tolist()[::3][:5]:
        index.remove(0, u64(key))
        index.check()
    assert index.match(late[1:2]).tolist() == [1]


def test_growth_and_shrinking(make):
    rng = np.random.default_rng(3)
    index = make(2)
    keys = rng.integers(0, 2**64, 5000, dtype=np.uint64)
    index.store(0, keys[:3])
    index.store(1, keys)
    index.store(0, keys[3:])
    index.check()
    assert index.match(keys).tolist() == [5000, 5000]
    index.clear(1)
    assert index.remove(0, keys[10:]) == 0
    index.check()
    index.clear(1)
    assert index.match(keys).tolist() == [10, 0]
    index.check()


def test_constant_turnover_does_not_grow_the_arrays():
    index = ArrayIndex(1)
    keys = np.arange(200_000, dtype=np.uint64)
    index.store(0, keys[:100])
    for start in range(0, 100_000, 50):
        index.store(0, keys[start + 100 : start + 150])
        assert index.remove(0, keys[start : start + 50]) == 0
    index.check()
    assert index.match(keys[100_000:]).tolist() == [100]
    assert len(index._log) <= 1025
    assert len(index._slots) <= 2048


def test_running_numbers_do_not_pile_up():
    # Mooncake's hash_ids are 0, 1, 2 ...; identity hashing would make one run of them.
    index = ArrayIndex(1)
    index.store(0, np.arange(100_000, dtype=np.uint64))
    used = np.flatnonzero(index._slots != 0)
    runs = np.split(used, np.flatnonzero(np.diff(used) > 1) + 1)
    assert max(map(len, runs)) < 40


def test_a_dead_row_does_not_mislead_the_hint():
    # The rows 1 2 3 follow one another; 2 dies, and is stored again at the end of the log.
    index = ArrayIndex(70)
    index.store(69, u64(1, 2, 3))
    index.remove(69, u64(2))
    index.store(69, u64(2))
    index.store(0, u64(1, 2))
    lengths = index.match(u64(1, 2, 3))
    assert lengths[69] == 3
    assert lengths[0] == 2
    index.check()


@pytest.mark.parametrize("damage", ["bit of no worker", "lost slot", "count", "copy of nothing"])
def test_check_finds_damage(damage):
    index = ArrayIndex(3)
    index.store(0, u64(1, 2, 3))
    index.check()
    if damage == "bit of no worker":
        index._log[0, 1] |= np.uint64(8)
    elif damage == "lost slot":
        index._slots[np.flatnonzero(index._slots)[0]] = 0
    elif damage == "count":
        index._num_live += 1
    else:
        index._extra[1][1] = 1
    with pytest.raises(AssertionError):
        index.check()


SCRIPT = """
import numpy as np
from hitpath.index.arrays import ArrayIndex
rng = np.random.default_rng(4)
index = ArrayIndex(130)
ids = rng.integers(0, 2**64, 300, dtype=np.uint64)
for step in range(400):
    worker = int(rng.choice([0, 1, 63, 64, 129]))
    start = int(rng.integers(0, 280))
    keys = ids[start : start + int(rng.integers(0, 20))]
    choice = rng.random()
    if choice < 0.6:
        index.store(worker, keys)
    elif choice < 0.98:
        print(index.remove(worker, keys))
    else:
        index.clear(worker)
    print(index.match(keys).tolist())
index.check()
print(sorted(index.dump().items()))
"""


def run_script(disable_jit):
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    env = {**os.environ, "NUMBA_DISABLE_JIT": disable_jit}
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def test_same_without_the_jit():
    compiled = run_script("0")
    assert compiled == run_script("1")
    assert compiled.count("\n") > 400
