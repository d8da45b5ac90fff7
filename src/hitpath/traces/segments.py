"""Segments: prompts written as named stretches, [[name, number of tokens], ...].

The token at position p of stretch `name` is one fixed id, the same wherever the stretch
stands; different (name, p) never share an id. Ids are dealt out in chunks as names appear, so
they mean nothing outside of their trace: whoever writes it again writes the names (`Stretches`).
"""

from dataclasses import dataclass
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

    def stretches(self) -> "Stretches":
        """What the ids dealt out so far are called."""
        codes: dict[str, int] = {}
        code_of = [codes.setdefault(name, len(codes)) for name, _ in self._chunks]
        begins = [index == 0 for _, index in self._chunks]
        return Stretches(
            tuple(codes), np.array(code_of, dtype=np.uint32), np.array(begins, dtype=np.bool_)
        )


@dataclass(frozen=True, slots=True)
class Stretches:
    """Names of token ids. Chunk i of ids is of the stretch `names[name_of[i]]`; `begins[i]`:
    its first token is the stretch's first."""

    names: tuple[str, ...]
    name_of: NDArray[np.uint32]
    begins: NDArray[np.bool_]

    def of(self, tokens: NDArray[np.uint32]) -> list[tuple[str, int]]:
        """(name, number of tokens) of each stretch that is in a row's tokens, in order."""
        chunks = tokens // _CHUNK_TOKENS
        begins = np.flatnonzero((tokens % _CHUNK_TOKENS == 0) & self.begins[chunks])
        lengths = np.diff(begins, append=len(tokens))
        codes = self.name_of[chunks[begins]]
        return [
            (self.names[code], length)
            for code, length in zip(codes.tolist(), lengths.tolist(), strict=True)
        ]
