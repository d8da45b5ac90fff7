"""Segments: prompts written as named stretches, [[name, number of tokens], ...].

The token at position p of stretch `name` is one fixed id, the same wherever the stretch
stands; different (name, p) never share an id. Ids are dealt out in chunks as names appear.
"""

from itertools import count

import numpy as np
from numpy.typing import NDArray

_CHUNK_TOKENS = 1 << 6  # small: a short stretch takes a whole chunk of ids
_NUM_CHUNKS = (1 << 32) // _CHUNK_TOKENS
MAX_SEGMENT_TOKENS = 1 << 27


class SegmentTokens:
    """Deals out token ids for one trace. Raises OverflowError past 2**32 distinct tokens."""

    def __init__(self) -> None:
        self._chunks: dict[tuple[str, int], int] = {}
        self._next = count()

    def tokens(self, name: str, num_tokens: int) -> NDArray[np.uint32]:
        """The first `num_tokens` ids of the stretch `name`, uint32."""
        starts = [self._start(name, i) for i in range(-(-num_tokens // _CHUNK_TOKENS))]
        within = np.arange(_CHUNK_TOKENS, dtype=np.uint32)
        all_ids = (np.array(starts, dtype=np.uint32)[:, None] + within).ravel()
        return all_ids[:num_tokens]

    def _start(self, name: str, index: int) -> int:
        chunk = self._chunks.get((name, index))
        if chunk is None:
            chunk = self._chunks[name, index] = next(self._next)
            if chunk >= _NUM_CHUNKS:
                raise OverflowError("more than 2**32 distinct tokens in segments")
        return chunk * _CHUNK_TOKENS
