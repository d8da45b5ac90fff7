"""Which token holds which character: a text's tokens with where each ends."""

import numpy as np

from hitpath.text.incremental import Encoded, IncrementalTokenizer
from hitpath.text.tokenizer import TextTokenizer, Tokens
from hitpath.traces.table import Ints

_MOST_CHARS = 16_000_000


class TokenEnds:
    """Texts that mostly begin or go on like earlier ones: stretches of them are remembered."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._incremental = IncrementalTokenizer(tokenizer)
        self._last: Encoded | None = None
        self._known: dict[str, Ints] = {}
        self._chars = 0

    def of(self, text: str) -> tuple[Tokens, Ints]:
        """(the tokens of a text, for each the character behind the last one it has a part of)."""
        encoded = self._incremental.encode(text, self._last)
        self._last = encoded
        pieces: list[Ints] = []
        start = end = 0
        for next_start, next_end, _ in (*encoded.cuts, (0, len(text), 0)):
            ends = self._of_stretch(text[start:next_end])
            pieces.append((ends[1:] if end > start else ends) + start)
            start, end = next_start, next_end
        ends = np.concatenate(pieces)
        assert len(ends) == len(encoded.tokens)
        return encoded.tokens, ends

    def _of_stretch(self, stretch: str) -> Ints:
        known = self._known.get(stretch)
        if known is None:
            if self._chars > _MOST_CHARS:
                self._known.clear()
                self._chars = 0
            known = self._known[stretch] = self._tokenizer.ends(stretch)
            self._chars += len(stretch)
        return known
