"""Ids of partial blocks: symbols of their own in the table, the file's id for who writes it."""

import numpy as np
from numpy.typing import NDArray

from hitpath.traces.table import Runs

_SPREAD, _MIX = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
_WORD = 1 << 64


def mark_partial_ids(runs: Runs, tokens: NDArray[np.int64], block_size: int) -> None:
    """Change, in place, each last id that stands for a partial block into a symbol of its own for
    (id, number of tokens): where a file gives one id to a part and to the whole of a block, only
    the part was computed. `id_of_partial` turns it back."""
    rest = tokens - tokens // block_size * block_size
    rows = np.flatnonzero((runs.lengths > tokens // block_size) & (rest > 0))
    last = runs.offsets[rows + 1] - 1
    flat = runs.flat.view(np.uint64)
    with np.errstate(over="ignore"):
        # Ids are often small and consecutive: spread them before the length comes in.
        mixed = flat[last] * np.uint64(_SPREAD) ^ rest[rows].astype(np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(_MIX)
    flat[last] = mixed ^ (mixed >> np.uint64(32))


def id_of_partial(symbol: int, num_tokens: int) -> int:
    """The file's id of a partial block of so many tokens, from the symbol that `mark_partial_ids`
    made of it: each of its steps is a bijection."""
    mixed = (symbol ^ symbol >> 32) * pow(_MIX, -1, _WORD) % _WORD
    mixed ^= mixed >> 29 ^ mixed >> 58
    return (mixed ^ num_tokens) * pow(_SPREAD, -1, _WORD) % _WORD
