"""Tokens of one choice as text, while they come: whole characters, stop strings held back."""

from collections.abc import Sequence

from hitpath.text.tokenizer import TextTokenizer

_CONTEXT = 6
_REPLACEMENT = "\ufffd"
_LONGEST_CHARACTER = 8
"""So many tokens may make one character; more that decode to U+FFFD really are broken bytes."""


class TextOut:
    """Feed tokens, take text. A tokenizer may spell a token by what stands before it (a leading
    space), so each piece is decoded with the tokens before it, and the difference is the text."""

    def __init__(
        self,
        tokenizer: TextTokenizer,
        prompt: Sequence[int],
        stop: tuple[str, ...],
        hidden: frozenset[int],
    ) -> None:
        self._tokenizer = tokenizer
        self._hidden = hidden
        self._stop = stop
        self._hold = max((len(text) for text in stop), default=1) - 1
        context = [t for t in prompt[-2 * _CONTEXT :] if t not in hidden][-_CONTEXT:]
        self._tokens = context
        self._done = len(context)
        self._held = ""

    def feed(self, token: int) -> tuple[str, str | None]:
        """(text that is certain now, the stop string that was met). After a stop: no more."""
        if token in self._hidden:
            return "", None
        self._tokens.append(token)
        before = self._tokenizer.decode(self._tokens[: self._done])
        whole = self._tokenizer.decode(self._tokens)
        waits = len(self._tokens) - self._done < _LONGEST_CHARACTER
        if whole.endswith(_REPLACEMENT) and waits:
            return "", None
        self._tokens = self._tokens[-_CONTEXT:]
        self._done = len(self._tokens)
        return self._let_go(whole[len(before) :])

    def finish(self) -> str:
        """What was held back: the start of a stop string that did not come, half a character."""
        before = self._tokenizer.decode(self._tokens[: self._done])
        rest = self._held + self._tokenizer.decode(self._tokens)[len(before) :]
        self._held, self._done = "", len(self._tokens)
        return rest

    def _let_go(self, new: str) -> tuple[str, str | None]:
        text = self._held + new
        found = [(text.find(stop), stop) for stop in self._stop if stop in text]
        if found:
            at, stop = min(found)
            self._held = ""
            self._done = len(self._tokens)
            return text[:at], stop
        keep = 0
        for length in range(min(self._hold, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stop):
                keep = length
                break
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep], None
