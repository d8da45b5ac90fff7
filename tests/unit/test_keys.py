"""Block keys: the recipe against a plain reference, its contract, and its quality as a hash."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.keys import block_keys, block_keys_batch, context_root

MOD = 1 << 64
SEEDS = [0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89]


def reference_key(parent, tokens):
    """The recipe of the module docstring in plain integers."""
    lanes = list(SEEDS)
    for j in range(0, len(tokens), 2):
        word = tokens[j] + (tokens[j + 1] << 32 if j + 1 < len(tokens) else 0)
        x = lanes[j // 2 % 4] ^ word
        x = (x ^ x >> 32) * 0xBF58476D1CE4E5B9 % MOD
        lanes[j // 2 % 4] = (x ^ x >> 27) * 0x94D049BB133111EB % MOD
    content = len(tokens) * 0x9E3779B97F4A7C15
    for lane, left in zip(lanes, (0, 16, 32, 48), strict=True):
        content += lane << left | lane >> (64 - left)  # the sum is cut to 64 bits below
    x = (parent ^ content) % MOD
    x = (x ^ x >> 32) * 0xFF51AFD7ED558CCD % MOD
    x = (x ^ x >> 29) * 0xC4CEB9FE1A85EC53 % MOD
    return x ^ x >> 32


def reference_keys(tokens, block_size, root, partial):
    keys = []
    end = len(tokens) if partial else len(tokens) // block_size * block_size
    for start in range(0, end, block_size):
        root = reference_key(root, tokens[start : start + block_size])
        keys.append(root)
    return keys


def u32(values):
    return np.array(values, dtype=np.uint32)


def one_block_keys(blocks, roots=None):
    """Keys of many one-block prompts: uint [n, block_size] -> uint64 [n]."""
    blocks = np.ascontiguousarray(blocks, dtype=np.uint32)
    n, size = blocks.shape
    if roots is None:
        roots = np.zeros(n, dtype=np.uint64)
    offsets = np.arange(n + 1, dtype=np.int64) * size
    return block_keys_batch(blocks.reshape(-1), offsets, size, roots, partial=False)[0]


ids = st.one_of(st.integers(0, 200_000), st.integers(0, 2**32 - 1))
prompts = st.lists(st.lists(ids, max_size=40), max_size=6)
roots64 = st.integers(0, MOD - 1)


@settings(deadline=None)  # the first call may compile
@given(st.lists(ids, max_size=80), st.integers(1, 40), roots64)
def test_equals_the_reference(tokens, block_size, root):
    keys = block_keys(u32(tokens), block_size, root)
    assert keys.dtype == np.uint64
    assert keys.tolist() == reference_keys(tokens, block_size, root, partial=False)


@settings(deadline=None)  # the first call may compile
@given(prompts, st.integers(1, 20), st.booleans(), st.data())
def test_batch_equals_the_reference(batch, block_size, partial, data):
    roots = [data.draw(roots64) for _ in batch]
    offsets = np.cumsum([0] + [len(tokens) for tokens in batch]).astype(np.int64)
    flat = u32([token for tokens in batch for token in tokens])
    keys, key_offsets = block_keys_batch(
        flat, offsets, block_size, np.array(roots, dtype=np.uint64), partial
    )
    expected = [
        reference_keys(t, block_size, root, partial) for t, root in zip(batch, roots, strict=True)
    ]
    assert key_offsets.tolist() == np.cumsum([0] + [len(e) for e in expected]).tolist()
    assert keys.tolist() == [key for e in expected for key in e]


GOLDEN_KEYS = ["0x10bd8255214137cc", "0xb1c299282ef59216"]
GOLDEN_ROOT = "0x25187334ad1601e0"


def test_recipe_is_pinned():
    # Recorded traces hold these keys: a change here is a change of format.
    assert [hex(k) for k in block_keys(u32(range(35)), 16, 7).tolist()] == GOLDEN_KEYS
    assert hex(context_root({"model": "m", "adapter": None, "rank": 3})) == GOLDEN_ROOT


def test_a_key_names_the_whole_prefix():
    a = block_keys(u32([1] * 8 + [2] * 8 + [3] * 8), 8, 0)
    b = block_keys(u32([9] * 8 + [2] * 8 + [3] * 8), 8, 0)
    assert not set(a.tolist()) & set(b.tolist())
    longer = block_keys(u32([1] * 8 + [2] * 8 + [4] * 9), 8, 0)
    assert longer[:2].tolist() == a[:2].tolist()
    assert longer[2] != a[2]


def test_a_partial_block_is_no_whole_block():
    zeros = np.zeros(16, dtype=np.uint32)
    no_root = np.zeros(1, dtype=np.uint64)
    seen = set()
    for length in range(1, 17):
        offsets = np.array([0, length], dtype=np.int64)
        keys, _ = block_keys_batch(zeros, offsets, 16, no_root, partial=True)
        assert len(keys) == 1
        seen.add(int(keys[0]))
    assert len(seen) == 16
    assert int(block_keys(zeros, 16, 0)[0]) in seen  # the one of 16 tokens is the whole block


def test_views_and_read_only_arrays_are_fine():
    tokens = np.arange(64, dtype=np.uint32)
    every_other = tokens[::2]
    assert block_keys(every_other, 8, 1).tolist() == block_keys(every_other.copy(), 8, 1).tolist()
    frozen = np.frombuffer(tokens.tobytes(), dtype=np.uint32)
    assert block_keys(frozen, 8, 1).tolist() == block_keys(tokens, 8, 1).tolist()


def test_bad_arguments_are_refused():
    for block_size in (0, -1):
        with pytest.raises(ValueError, match="block_size must be at least 1"):
            block_keys(u32([1]), block_size, 0)
    for root in (-1, MOD):
        with pytest.raises(ValueError, match="root must be in"):
            block_keys(u32([1]), 1, root)
    with pytest.raises(TypeError, match="tokens must be uint32, got int64"):
        block_keys(np.array([1, 2]), 1, 0)
    with pytest.raises(ValueError, match="one dimension"):
        block_keys(np.zeros((2, 2), dtype=np.uint32), 1, 0)


@pytest.mark.parametrize("offsets", [[0, 3, 2], [-1, 1, 2], [0, 1, 4], [0, 1]])
def test_bad_offsets_are_refused(offsets):
    roots = np.zeros(2, dtype=np.uint64)
    with pytest.raises(ValueError, match=r"must rise within|2 roots need 3 offsets, got 2"):
        block_keys_batch(u32([1, 2, 3]), np.array(offsets, dtype=np.int64), 1, roots, True)


def test_context_root():
    base = context_root({"model": "m", "salt": "a"})
    assert base == context_root({"salt": "a", "model": "m"}), "order does not matter"
    assert base == context_root({"model": "m", "salt": "a", "adapter": None}), "None is absent"
    others = [
        {"model": "m", "salt": "b"},
        {"model": "m"},
        {},
        {"model": "ms", "alt": "a"},  # the same letters, cut elsewhere
        {"model": "m", "salt": "1"},
        {"model": "m", "salt": 1},
        {"model": "m", "salt": ""},
        {"model": "m", "adapter": "a"},
        {"salt": "m", "model": "a"},
    ]
    roots = [base, *map(context_root, others)]
    assert len(set(roots)) == len(roots)
    assert all(0 <= root < MOD for root in roots)
    for value in (True, 1.5, b"x"):
        with pytest.raises(TypeError, match="'salt' must be str, int or None"):
            context_root({"salt": value})


SCRIPT = """
import numpy as np
from hitpath.keys import block_keys, block_keys_batch, context_root
rng = np.random.default_rng(5)
tokens = rng.integers(0, 2**32, 3000, dtype=np.uint32)
offsets = np.sort(rng.integers(0, 3001, 21)).astype(np.int64)
roots = rng.integers(0, 2**64, 20, dtype=np.uint64)
for block_size in (1, 2, 7, 16, 33):
    print(block_keys_batch(tokens, offsets, block_size, roots, True)[0].tolist())
    print(block_keys(tokens, block_size, 2**64 - 1).tolist())
print(context_root({"model": "m", "salt": "s", "rank": 3}))
"""


def test_same_without_the_jit_and_in_every_process():
    def run(**env):
        command = [sys.executable, "-W", "error", "-c", SCRIPT]
        return subprocess.check_output(command, env={**os.environ, **env}, text=True)

    compiled = run(PYTHONHASHSEED="1", NUMBA_DISABLE_JIT="0")
    assert compiled == run(PYTHONHASHSEED="2", NUMBA_DISABLE_JIT="1")
    assert compiled.count("\n") == 11


# ---- quality: the inputs that weak hashes fail on -------------------------------------------

jit_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"),
    reason="millions of keys: too slow in plain Python, and equal by the test above",
)


def assert_all_differ(keys):
    assert len(np.unique(keys)) == len(keys)


@jit_only
@pytest.mark.parametrize("base", [0, 1, 0x8000_0000, 0xFFFF_FFFF])
def test_no_collision_of_single_token_changes(base):
    # Each position takes 65,536 values in its low half, then in its high half: 2 M blocks.
    values = np.arange(1, 1 << 16, dtype=np.uint32)
    values = np.concatenate([values, values << np.uint32(16)])
    blocks = np.full((16, len(values), 16), base, dtype=np.uint32)
    for position in range(16):
        blocks[position, :, position] ^= values
    assert_all_differ(one_block_keys(blocks.reshape(-1, 16)))


@jit_only
@pytest.mark.parametrize(("p", "q"), [(0, 8), (1, 9), (0, 1), (0, 2), (7, 15), (0, 9), (3, 4)])
@pytest.mark.parametrize("shift", [0, 11, 22])
def test_no_collision_of_two_token_changes(p, q, shift):
    # 700 x 700 values in two positions: of one lane (0 and 8, 1 and 9 ...), of two, of one word
    grid = np.arange(700, dtype=np.uint32) << np.uint32(shift)
    blocks = np.zeros((700, 700, 16), dtype=np.uint32)
    blocks[:, :, p] = grid[:, None]
    blocks[:, :, q] = grid[None, :]
    assert_all_differ(one_block_keys(blocks.reshape(-1, 16)))


@jit_only
def test_no_collision_of_swapped_tokens():
    rng = np.random.default_rng(1)
    pairs = list(itertools.combinations(range(64), 2))
    blocks = []
    for base in (np.arange(64), *(rng.permutation(100_000)[:64] for _ in range(200))):
        swapped = np.tile(base, (len(pairs) + 1, 1))
        for row, (i, j) in enumerate(pairs):
            swapped[row, [i, j]] = base[[j, i]]
        blocks.append(swapped)
    assert_all_differ(one_block_keys(np.concatenate(blocks)))


@jit_only
def test_no_collision_of_permuted_blocks():
    orders = np.array(list(itertools.permutations(range(8))), dtype=np.uint32)
    tokens = np.repeat(orders, 16, axis=1)  # block b is sixteen times the token b
    offsets = np.arange(len(orders) + 1, dtype=np.int64) * 128
    roots = np.zeros(len(orders), dtype=np.uint64)
    keys = block_keys_batch(tokens.reshape(-1), offsets, 16, roots, partial=False)[0]
    num_prefixes = sum(len({tuple(o[:n]) for o in orders.tolist()}) for n in range(1, 9))
    assert len(np.unique(keys)) == num_prefixes


@jit_only
@pytest.mark.parametrize("token", [0, 1, 0xFFFF_FFFF])
def test_no_collision_of_runs_of_one_token(token):
    run = np.full(2_000_000, token, dtype=np.uint32)
    chained = block_keys(run, 1, 0)
    lengths = np.arange(2, 2000, dtype=np.int64)  # length 1 is in `chained` already
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    roots = np.zeros(len(lengths), dtype=np.uint64)
    partial = block_keys_batch(run, offsets, 2000, roots, partial=True)[0]
    assert_all_differ(np.concatenate([chained, partial]))


@jit_only
def test_no_collision_of_running_ids_and_roots():
    starts = np.arange(1_000_000, dtype=np.uint32)
    running = starts[:, None] + np.arange(16, dtype=np.uint32)
    same = np.zeros((1_000_000, 16), dtype=np.uint32)
    roots = np.arange(1, 1_000_001, dtype=np.uint64)
    high = roots << np.uint64(40)
    keys = [one_block_keys(running), one_block_keys(same, roots), one_block_keys(same, high)]
    assert_all_differ(np.concatenate(keys))


def flip_rates(before, after):
    """Share of pairs in which each of the 64 key bits differs."""
    return np.unpackbits((before ^ after).view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)


@jit_only
@pytest.mark.parametrize("block_size", [1, 7, 16, 40])
@pytest.mark.parametrize("vocabulary", [2, 128_000, 2**32])
def test_avalanche(block_size, vocabulary):
    # 4,096 pairs an input bit: the rate has a deviation of 0.0078; 0.05 is more than six of them.
    rng = np.random.default_rng(2)
    blocks = rng.integers(0, vocabulary, (4096, block_size), dtype=np.uint32)
    roots = rng.integers(0, MOD, 4096, dtype=np.uint64)
    before = one_block_keys(blocks, roots)
    for position, bit in itertools.product(range(block_size), range(32)):
        flipped = blocks.copy()
        flipped[:, position] ^= np.uint32(1 << bit)
        rates = flip_rates(before, one_block_keys(flipped, roots))
        assert np.abs(rates - 0.5).max() < 0.05, (position, bit)
    for bit in range(64):
        rates = flip_rates(before, one_block_keys(blocks, roots ^ np.uint64(1 << bit)))
        assert np.abs(rates - 0.5).max() < 0.05, ("parent", bit)
