"""The block pool: states, counts, pins, and the order of eviction, policy by policy."""

import numpy as np
import pytest

from hitpath.engine.pool import BlockPool, BlockState


def i32(*blocks):
    return np.array(blocks, dtype=np.int32)


def pool_of(num_blocks, policy="lru", **tiers):
    return BlockPool(num_blocks, policy, clock=lambda: 0.0, **tiers)


def references(pool, **held):
    counts = np.zeros(pool.num_blocks, dtype=np.int64)
    for block, count in held.items():
        counts[int(block[1:])] = count
    return counts


def stored(pool, num_blocks, priority=0):
    blocks = pool.take(num_blocks, pool.full)
    pool.store(blocks, priority)
    return blocks


def test_blocks_come_as_one_run_and_come_back():
    pool = pool_of(8)
    first = pool.take(3, pool.full)
    assert first.tolist() == [0, 1, 2]
    assert pool.release(first).tolist() == []
    assert pool.take(5, pool.full).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="4 blocks wanted, 3 free"):
        pool.take(4, pool.full)


def test_states_follow_references():
    pool = pool_of(4)
    blocks = stored(pool, 2)
    pool.share(blocks, 0, hits=1)
    pool.check(references(pool, b0=2, b1=2))
    assert pool.release(blocks).tolist() == []
    assert pool.count(BlockState.USED) == 2
    assert pool.release(blocks).tolist() == [1, 0], "the tail falls idle first"
    assert pool.count(BlockState.CACHED) == 2
    assert pool.num_available(pool.full) == 4
    pool.unindex(i32(1))
    assert pool.count(BlockState.FREE) == 3
    pool.check(references(pool))


def test_lru_takes_the_oldest_release_and_the_tail_of_it_first():
    pool = pool_of(8)
    old, new = stored(pool, 3), stored(pool, 3)
    pool.release(old)
    pool.release(new)
    assert pool.victims(4, pool.full).tolist() == [2, 1, 0, 5]
    pool.share(old[:1], 0, hits=1)
    pool.release(old[:1])
    assert pool.victims(6, pool.full).tolist() == [2, 1, 5, 4, 3, 0]
    assert pool.victims(1, pool.full).tolist() == [2]


def test_lfu_takes_what_was_hit_least():
    pool = pool_of(8, "lfu")
    often, seldom = stored(pool, 2), stored(pool, 2)
    pool.share(often, 0, hits=1)
    pool.release(often)
    pool.release(often)
    pool.release(seldom)
    assert pool.victims(4, pool.full).tolist() == [3, 2, 1, 0]


def test_priority_takes_the_lowest_then_the_oldest():
    pool = pool_of(8, "priority")
    high, low = stored(pool, 2, priority=5), stored(pool, 2, priority=-1)
    pool.release(high)
    pool.release(low)
    assert pool.victims(4, pool.full).tolist() == [3, 2, 1, 0]
    pool.share(low[:1], 9, hits=1)
    pool.release(low[:1])
    assert pool.victims(4, pool.full).tolist() == [3, 1, 0, 2]


def test_pinned_blocks_stay():
    pool = pool_of(4)
    blocks = stored(pool, 2)
    pool.pin(blocks)
    pool.release(blocks)
    assert pool.num_available(pool.full) == 2
    pool.check(references(pool))
    with pytest.raises(ValueError, match="fewer can be evicted"):
        pool.victims(1, pool.full)
    pool.unpin(blocks)
    assert pool.victims(2, pool.full).tolist() == [1, 0]
    pool.check(references(pool))


def test_a_moved_block_takes_everything_along():
    pool = pool_of(4, num_compact=2)
    blocks = stored(pool, 2, priority=3)
    pool.pin(blocks[:1])
    target = pool.take(2, pool.compact)
    assert target.tolist() == [4, 5]
    pool.move(blocks, target)
    pool.check(references(pool, b4=1, b5=1))
    assert pool.priority[target].tolist() == [3, 3]
    assert pool.pins[target].tolist() == [1, 0]
    assert pool.full.num_free == 4


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda pool: pool.references.__setitem__(0, 5), None),
        (lambda pool: pool.state.__setitem__(3, BlockState.CACHED), None),
        (lambda pool: pool.indexed.__setitem__(3, True), "free block is indexed"),
        (lambda pool: pool.indexed.__setitem__(1, False), "cached block is not indexed"),
        (lambda pool: pool.full.take(1), None),
    ],
)
def test_the_check_finds_what_is_broken(spoil, message):
    pool = pool_of(4)
    blocks = stored(pool, 2)
    pool.share(blocks[:1], 0, hits=1)
    pool.release(blocks)
    pool.check(references(pool, b0=1))
    spoil(pool)
    with pytest.raises(AssertionError, match=message):
        pool.check(references(pool, b0=1))
