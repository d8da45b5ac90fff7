"""Texts to tokens, without doing again what was tokenised lately: shared prompts come often.

A long text falls in stretches at places where cutting is proved to be exact (text/seams.py), and
the tokens of each stretch are remembered (text/incremental.py). Each salt has a memory of its own,
so that nobody can tell by the time what another tenant has sent. The tokens never depend on it.
"""

import threading
from collections import OrderedDict

from hitpath.text.incremental import SPACING_CHARS, IncrementalTokenizer
from hitpath.text.seams import Cuts
from hitpath.text.tokenizer import TextTokenizer, Tokens

MOST_SALTS = 8
MOST_CHARS = 2_000_000
"""Of a salt: with the tokens some 8 MB. Then it begins anew."""


class _Memory:
    """Of one salt; one thread at a time."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self.incremental = IncrementalTokenizer(tokenizer)
        self.lock = threading.Lock()


class KnownText:
    """Tokenises for several threads at once."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._can_cut = tokenizer.cuts != Cuts()
        self._memories: OrderedDict[str | None, _Memory] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, text: str, salt: str | None) -> Tokens:
        """`tokenizer.encode(text)`; a memory that another thread uses is not waited for. Raises
        UnicodeEncodeError for a lone surrogate."""
        if not self._can_cut or len(text) <= SPACING_CHARS:
            return self._tokenizer.encode(text)
        memory = self._memory(salt)
        if not memory.lock.acquire(blocking=False):
            return self._tokenizer.encode(text)
        try:
            return memory.incremental.encode(text).tokens
        finally:
            memory.lock.release()

    def _memory(self, salt: str | None) -> _Memory:
        with self._lock:
            memory = self._memories.pop(salt, None)
            if memory is None or memory.incremental.encoded_chars > MOST_CHARS:
                memory = _Memory(self._tokenizer)
            self._memories[salt] = memory
            if len(self._memories) > MOST_SALTS:
                self._memories.popitem(last=False)
            return memory
