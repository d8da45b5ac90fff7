"""One suite for both prefix indexes, against a dictionary of whole prefixes; forced collisions."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hitpath.engine.cache import INDEXES
from hitpath.engine.contract import entries
from hitpath.keys import block_keys, context_root

NUM_BLOCKS = 48
BLOCK_SIZES = (1, 2, 3, 16)
SALTS = (None, "", "a", "b")


def keys_of(tokens, block_size, salt, collide):
    """Real keys, or, with a forced collision, one key for everything."""
    root = context_root({"cache_salt": salt})
    keys = block_keys(tokens, block_size, root)
    return np.zeros_like(keys) if collide else keys


def u32(tokens):
    return np.array(tokens, dtype=np.uint32)


def i32(blocks):
    return np.array(blocks, dtype=np.int32)


@pytest.fixture(params=INDEXES)
def make(request):
    return INDEXES[request.param]


@pytest.mark.parametrize("collide", [False, True])
def test_longest_prefix_in_whole_blocks(make, collide):
    index = make(16, 4)
    tokens = u32(range(14))
    keys = keys_of(tokens, 4, None, collide)
    assert index.insert(None, tokens, keys, i32([3, 1, 2]), 0).tolist() == [3, 1, 2]
    other = u32([*range(9), 77, 77, 77])
    found = index.match(None, other, keys_of(other, 4, None, collide), 3)
    assert found.tolist() == [3, 1]
    assert index.match(None, tokens, keys, 2).tolist() == [3, 1]
    assert index.match(None, tokens, keys, 3).tolist() == [3, 1, 2]
    assert index.match(None, u32([9, *range(1, 14)]), keys, 3).tolist() == []
    assert index.num_stored == 3


@pytest.mark.parametrize("collide", [False, True])
def test_salts_never_share_even_when_all_keys_collide(make, collide):
    index = make(16, 2)
    tokens = u32([5, 6, 7, 8])
    for number, salt in enumerate(SALTS):
        keys = keys_of(tokens, 2, salt, collide)
        assert index.match(salt, tokens, keys, 2).tolist() == []
        blocks = i32([2 * number, 2 * number + 1])
        assert index.insert(salt, tokens, keys, blocks, 0).tolist() == blocks.tolist()
        index.check()
    for number, salt in enumerate(SALTS):
        keys = keys_of(tokens, 2, salt, collide)
        assert index.match(salt, tokens, keys, 2).tolist() == [2 * number, 2 * number + 1]


def test_equal_block_after_another_prefix_is_another_block(make):
    """Equal tokens and equal (forced) keys, but other tokens before: their KV differs."""
    index = make(16, 2)
    one, other = u32([1, 1, 9, 9]), u32([2, 2, 9, 9])
    zeros = np.zeros(2, dtype=np.uint64)
    index.insert(None, one, zeros, i32([0, 1]), 0)
    assert index.match(None, other, zeros, 2).tolist() == []
    assert index.insert(None, other, zeros, i32([2, 3]), 0).tolist() == [2, 3]
    assert index.match(None, one, zeros, 2).tolist() == [0, 1]
    assert index.match(None, other, zeros, 2).tolist() == [2, 3]


def test_the_first_copy_stands(make):
    index = make(16, 2)
    tokens = u32([1, 2, 3, 4, 5, 6])
    keys = keys_of(tokens, 2, None, False)
    index.insert(None, tokens[:4], keys[:2], i32([0, 1]), 0)
    assert index.insert(None, tokens, keys, i32([7, 8, 9]), 0).tolist() == [0, 1, 9]
    assert index.num_stored == 3


class IndexMachine(RuleBasedStateMachine):
    """Any history of stores, removals (a child before its parent), renames and clears."""

    @initialize(
        name=st.sampled_from(list(INDEXES)),
        block_size=st.sampled_from(BLOCK_SIZES),
        collide=st.booleans(),
    )
    def start(self, name, block_size, collide):
        self.index = INDEXES[name](NUM_BLOCKS, block_size)
        self.size = block_size
        self.collide = collide
        self.known = {}  # (salt, tokens as bytes) -> block
        self.free = list(range(NUM_BLOCKS))

    def prompt(self, runs):
        """Few different blocks, so that prompts share and part."""
        return u32([block * 7 + i // 2 for block in runs for i in range(self.size)])

    def expected(self, salt, tokens):
        found = []
        for end in range(self.size, len(tokens) + 1, self.size):
            block = self.known.get((salt, tokens[:end].tobytes()))
            if block is None:
                break
            found.append(block)
        return found

    runs = st.lists(st.integers(0, 2), min_size=1, max_size=6)

    @rule(runs=runs, salt=st.sampled_from(SALTS), grown=st.booleans())
    def insert(self, runs, salt, grown):
        tokens = self.prompt(runs)
        before = self.expected(salt, tokens) if grown else []
        wanted = len(runs) - len(before)
        if wanted > len(self.free):
            return
        own = [self.free.pop() for _ in range(wanted)]
        keys = keys_of(tokens, self.size, salt, self.collide)
        standing = self.index.insert(salt, tokens, keys, i32(before + own), len(before)).tolist()
        for i, (mine, stands) in enumerate(zip(own, standing, strict=True), start=len(before) + 1):
            prefix = (salt, tokens[: i * self.size].tobytes())
            assert stands == self.known.get(prefix, mine)
            self.known[prefix] = stands
            if stands != mine:
                self.free.append(mine)

    @rule(data=st.data())
    def remove_a_tail(self, data):
        leaves = [
            prefix
            for prefix in self.known
            if not any(
                other[0] == prefix[0]
                and len(other[1]) > len(prefix[1])
                and other[1].startswith(prefix[1])
                for other in self.known
            )
        ]
        if not leaves:
            return
        salt, tokens = data.draw(st.sampled_from(sorted(leaves, key=repr)))
        gone = []
        step = 4 * self.size
        for end in range(len(tokens), 0, -step):
            prefix = (salt, tokens[:end])
            shared = [
                k for k in self.known if k[0] == salt and k[1][: len(tokens[:end])] == tokens[:end]
            ]
            if len(shared) > 1 or (gone and not data.draw(st.booleans())):
                break
            gone.append(self.known.pop(prefix))
        self.index.remove(i32(gone))
        self.free += gone

    @rule(count=st.integers(1, 5))
    def rename(self, count):
        source = list(self.known.values())[:count]
        target = [self.free.pop() for _ in source[: len(self.free)]]
        source = source[: len(target)]
        self.index.rename(i32(source), i32(target))
        names = dict(zip(source, target, strict=True))
        self.known = {prefix: names.get(block, block) for prefix, block in self.known.items()}
        self.free += source

    @rule()
    def clear(self):
        self.index.clear()
        self.free += self.known.values()
        self.known = {}

    @rule(runs=runs, salt=st.sampled_from(SALTS), most=st.integers(0, 6))
    def match(self, runs, salt, most):
        tokens = self.prompt(runs)
        most = min(most, len(runs))
        keys = keys_of(tokens, self.size, salt, self.collide)
        found = self.index.match(salt, tokens, keys, most).tolist()
        assert found == self.expected(salt, tokens)[:most]

    @invariant()
    def same(self):
        if hasattr(self, "index"):
            self.index.check()
            assert entries(self.index, self.size) == self.known
            assert self.index.num_stored == len(self.known)


TestIndexHistories = IndexMachine.TestCase
TestIndexHistories.settings = settings(deadline=None, max_examples=60, stateful_step_count=30)
