"""Tokens -> chained block keys: ``key_i = H(key_{i-1}, tokens of block i)``, root = the context.

Equal key means equal whole prefix in the same context. This is hitpath's *internal* identity: it
is no engine's recipe (vLLM, SGLang and Dynamo each hash in their own way), and not cryptographic:
whoever chooses the tokens can construct a collision, so never share KV between tenants on it.

Collision odds: keys behave like random 64-bit numbers, so ``n`` different prefixes contain a
colliding pair with odds of about ``n**2 / 2**65``: 3e-8 for a million blocks, 3e-4 for a hundred
million, 3 % for a thousand million. A caller that needs certainty (one that serves KV) compares
the tokens themselves when a key is found; a prediction or a report does not need to.

The hash, all arithmetic modulo 2**64. The tokens of a block are taken in pairs as 64-bit words
(first token low; an odd last token stands alone). Word ``j`` goes into lane ``j % 4``, and the
four lanes are independent so that the processor overlaps them. The lanes are summed into the
content of the block, which knows no parent, so that blocks overlap too; only the last step, that
joins parent, content and the number of tokens, is a chain. The number of tokens makes a partial
block differ from every whole one. A key depends on (parent, tokens of the block) and nothing else:
a partial block of 5 tokens has the key that a whole block has at block size 5.

Units: tokens are uint32 ids, keys and roots unsigned 64-bit. Threads: pure functions, no state;
the kernels release the GIL.
"""

import hashlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hitpath._jit import kernel

Tokens = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]

# Multipliers are odd, so each step is a bijection and loses nothing. The two pairs are the ones of
# splitmix64 (Stafford's mix 13) and MurmurHash3's fmix64, both chosen by search for avalanche;
# the seeds are fractional digits of pi, that is: numbers with nothing up the sleeve.
_MUL_A = np.uint64(0xBF58476D1CE4E5B9)
_MUL_B = np.uint64(0x94D049BB133111EB)
_MUL_C = np.uint64(0xFF51AFD7ED558CCD)
_MUL_D = np.uint64(0xC4CEB9FE1A85EC53)
_MUL_LENGTH = np.uint64(0x9E3779B97F4A7C15)
_SEED_0 = np.uint64(0x243F6A8885A308D3)
_SEED_1 = np.uint64(0x13198A2E03707344)
_SEED_2 = np.uint64(0xA4093822299F31D0)
_SEED_3 = np.uint64(0x082EFA98EC4E6C89)

_0 = np.uint64(0)
_1 = np.uint64(1)
_2 = np.uint64(2)
_4 = np.uint64(4)
_6 = np.uint64(6)
_8 = np.uint64(8)
_S16 = np.uint64(16)
_S27 = np.uint64(27)
_S29 = np.uint64(29)
_S32 = np.uint64(32)
_S48 = np.uint64(48)


@kernel
def _absorb(lane: np.uint64, word: np.uint64) -> np.uint64:
    """Mix one word into a lane; for a given lane a bijection of the word, and the reverse."""
    x = lane ^ word
    # The fold first: a product carries only upwards, so high bits must be brought down before it.
    x = (x ^ (x >> _S32)) * _MUL_A
    return (x ^ (x >> _S27)) * _MUL_B


@kernel
def _word(tokens: Tokens, at: np.uint64) -> np.uint64:
    """Tokens [at, at + 2) as one word. Two loads, which the compiler turns into one."""
    return np.uint64(tokens[at]) | (np.uint64(tokens[at + _1]) << _S32)


# Positions are unsigned below: a signed index could be negative ("from the end"), and the test for
# it costs a third of the speed.


@kernel
def _block_key(parent: np.uint64, tokens: Tokens, start: np.uint64, stop: np.uint64) -> np.uint64:
    """H(parent, tokens [start, stop)); stop > start."""
    lane_0, lane_1, lane_2, lane_3 = _SEED_0, _SEED_1, _SEED_2, _SEED_3
    at = start
    while at + _8 <= stop:
        lane_0 = _absorb(lane_0, _word(tokens, at))
        lane_1 = _absorb(lane_1, _word(tokens, at + _2))
        lane_2 = _absorb(lane_2, _word(tokens, at + _4))
        lane_3 = _absorb(lane_3, _word(tokens, at + _6))
        at += _8
    if at < stop:
        # At most 7 tokens are left. The lanes take turns, so that each word meets the lane that
        # the loop above would have given it; four turns bring them back into order.
        for _ in range(4):
            if at + _2 <= stop:
                lane_0 = _absorb(lane_0, _word(tokens, at))
            elif at < stop:
                lane_0 = _absorb(lane_0, np.uint64(tokens[at]))
            at += _2
            lane_0, lane_1, lane_2, lane_3 = lane_1, lane_2, lane_3, lane_0
    # Rotations keep the weak low bits of the lanes (low bits of products) apart in the sum.
    content = lane_0 + (stop - start) * _MUL_LENGTH
    content += (lane_1 << _S16) | (lane_1 >> _S48)
    content += (lane_2 << _S32) | (lane_2 >> _S32)
    content += (lane_3 << _S48) | (lane_3 >> _S16)
    x = parent ^ content
    x = (x ^ (x >> _S32)) * _MUL_C
    x = (x ^ (x >> _S29)) * _MUL_D
    return x ^ (x >> _S32)


@kernel
def _fill_chain(
    tokens: Tokens,
    start: np.uint64,
    end: np.uint64,
    block_size: np.uint64,
    root: np.uint64,
    keys: Keys,
) -> None:
    """Tokens [start, end) -> all of `keys`, of which the last may be of a shorter block."""
    key = root
    for slot in range(len(keys)):
        stop = min(start + block_size, end)
        key = _block_key(key, tokens, start, stop)
        keys[slot] = key
        start = stop


@kernel
def _fill_batch(
    tokens: Tokens,
    offsets: Offsets,
    block_size: np.uint64,
    roots: Keys,
    key_offsets: Offsets,
    keys: Keys,
) -> None:
    """Request r: tokens [offsets[r], offsets[r+1]) -> keys [key_offsets[r], key_offsets[r+1])."""
    for r in range(len(roots)):
        start, end = np.uint64(offsets[r]), np.uint64(offsets[r + 1])
        chain = keys[key_offsets[r] : key_offsets[r + 1]]
        _fill_chain(tokens, start, end, block_size, roots[r], chain)


def block_keys(tokens: Tokens, block_size: int, root: int) -> Keys:
    """Chained keys of the whole blocks of one prompt: uint64 [len(tokens) // block_size].

    `tokens` is uint32 [T]; the tokens after the last whole block get no key. `root` is the
    context's 64-bit root (`context_root`). Raises TypeError for another dtype, ValueError for
    another shape, `block_size` < 1 or a root outside 0 .. 2**64 - 1.
    """
    _require(tokens, np.uint32, "tokens")
    _require_block_size(block_size)
    if not 0 <= root < 1 << 64:
        raise ValueError(f"root must be in 0 .. 2**64 - 1, got {root}")
    keys = np.empty(len(tokens) // block_size, dtype=np.uint64)
    tokens = np.ascontiguousarray(tokens)
    end = np.uint64(len(tokens))
    _fill_chain(tokens, _0, end, np.uint64(block_size), np.uint64(root), keys)
    return keys


def block_keys_batch(
    tokens: Tokens, offsets: Offsets, block_size: int, roots: Keys, partial: bool
) -> tuple[Keys, Offsets]:
    """Chained keys of many prompts: (keys uint64 [M], key_offsets int64 [N + 1]).

    Prompt r has the tokens [offsets[r], offsets[r + 1]) of `tokens` (uint32 [T]; `offsets` int64
    [N + 1], never falling, within 0 .. T), starts from roots[r] (uint64 [N]), and its keys are
    [key_offsets[r], key_offsets[r + 1]): one for each whole block of `block_size` tokens and, with
    `partial`, one more for a shorter last block. Raises TypeError for other dtypes, ValueError for
    other shapes, offsets that fall or leave `tokens`, or `block_size` < 1.
    """
    _require(tokens, np.uint32, "tokens")
    _require(offsets, np.int64, "offsets")
    _require(roots, np.uint64, "roots")
    _require_block_size(block_size)
    if len(offsets) != len(roots) + 1:
        raise ValueError(f"{len(roots)} roots need {len(roots) + 1} offsets, got {len(offsets)}")
    lengths = np.diff(offsets)
    if offsets[0] < 0 or offsets[-1] > len(tokens) or (lengths < 0).any():
        raise ValueError(f"offsets must rise within 0 .. {len(tokens)} (the number of tokens)")
    counts = -(-lengths // block_size) if partial else lengths // block_size
    key_offsets = np.zeros(len(offsets), dtype=np.int64)
    np.cumsum(counts, out=key_offsets[1:])
    keys = np.empty(key_offsets[-1], dtype=np.uint64)
    _fill_batch(
        np.ascontiguousarray(tokens),
        np.ascontiguousarray(offsets),
        np.uint64(block_size),
        np.ascontiguousarray(roots),
        key_offsets,
        keys,
    )
    return keys, key_offsets


def context_root(fields: Mapping[str, str | int | None]) -> int:
    """The 64-bit root of a context (model, adapter, salt, ...), equal in every process and run.

    The order of the fields does not matter. A field that is None counts as absent, so that a new
    optional field leaves all older roots as they were. The int 1 and the string "1" differ.
    Raises TypeError for a name that is no string or a value of another type (bool included).
    """
    digest = hashlib.blake2b(digest_size=8, person=b"hitpath.context")
    for name, value in sorted(fields.items()):
        if value is None:
            continue
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise TypeError(f"context field {name!r} must be str, int or None, got {value!r}")
        kind = b"s" if isinstance(value, str) else b"i"
        # Lengths before the texts: no two lists of fields have the same encoding.
        for part in (name.encode(), kind, str(value).encode()):
            digest.update(len(part).to_bytes(8, "little") + part)
    return int.from_bytes(digest.digest(), "little")


def _require(array: npt.NDArray[np.generic], dtype: type[np.generic], name: str) -> None:
    """Refuse another dtype instead of converting: a cast could change ids without a word."""
    if array.dtype != np.dtype(dtype):
        raise TypeError(f"{name} must be {dtype.__name__}, got {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}")


def _require_block_size(block_size: int) -> None:
    if block_size < 1:
        raise ValueError(f"block_size must be at least 1 token, got {block_size}")


def spread(values: Keys) -> Keys:
    """Each value as a well mixed 64-bit number (splitmix64's finaliser): neighbouring values are
    independent for whoever takes a remainder of them. A bijection; same shape."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * _MUL_A
        values = (values ^ (values >> np.uint64(27))) * _MUL_B
    return values ^ (values >> np.uint64(31))
