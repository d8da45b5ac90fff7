"""Checks of block ids against prompt lengths, and the block size of files that do not tell it.

A prompt of L tokens at block size B has floor(L / B) whole blocks. A file may also give an id to
the last, partial block (ceil: Mooncake) or not (floor: coding-agent sessions); both are
accepted row by row, anything else is an error.
"""

import numpy as np

from hitpath.core import MAX_TOKENS, InputError
from hitpath.traces.table import Ints

MOONCAKE_BLOCK_SIZE = 512


def check_block_size(value: int, name: str, place: str) -> int:
    """Raise InputError unless it is a number of tokens from 1."""
    if not 1 <= value <= MAX_TOKENS:
        raise InputError(place, name, f"{value} is not from 1 to 2**40")
    return value


def check_num_ids(num_ids: int, num_tokens: int, block_size: int, name: str, place: str) -> None:
    """Raise InputError unless the number of ids is floor or ceil of tokens / block size."""
    low, high = num_tokens // block_size, -(-num_tokens // block_size)
    if not low <= num_ids <= high:
        expected = f"{low}" if low == high else f"{low} or {high}"
        cause = f"{num_ids} ids for {num_tokens} tokens in blocks of {block_size}: not {expected}"
        raise InputError(place, name, cause)


def possible_block_sizes(num_ids: Ints, num_tokens: Ints) -> tuple[int, int]:
    """The interval [low, high] of block sizes for which every row has ceil(tokens / B) ids.

    From ids = ceil(L / B):  L / ids <= B < L / (ids - 1). Empty intervals have low > high.
    """
    some = num_tokens > 0
    ids, tokens = num_ids[some], num_tokens[some]
    if not len(ids):
        return 1, 1 << 40
    if np.any(ids == 0):
        return 1, 0
    low = int(np.max(-(-tokens // ids)))
    many = ids > 1
    high = int(np.min((tokens[many] - 1) // (ids[many] - 1))) if np.any(many) else 1 << 40
    return low, high


def infer_block_size(num_ids: Ints, num_tokens: Ints) -> int | None:
    """The likeliest block size that all rows fit: 512, else the only one, else the only power
    of two; None where the rows contradict each other or leave several."""
    low, high = possible_block_sizes(num_ids, num_tokens)
    if low <= MOONCAKE_BLOCK_SIZE <= high:
        return MOONCAKE_BLOCK_SIZE
    if low == high:
        return low
    powers = [1 << k for k in range(41) if low <= 1 << k <= high]
    return powers[0] if len(powers) == 1 else None
