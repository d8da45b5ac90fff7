"""Log-probabilities in the three forms that clients know: chat, completions, and vLLM's
`prompt_logprobs`.

A token's text is what it adds behind another token, so a leading space is kept. A token that is
only a part of a character has no text of its own: U+FFFD, and `bytes` null in the chat form.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from hitpath.engine.records import TokenLogprobs
from hitpath.text.tokenizer import TextTokenizer

LOWEST = -9999.0
"""Stands for minus infinity, which JSON has not (vLLM's choice as well)."""

_REPLACEMENT = "\ufffd"


class TokenTexts:
    """Texts of single tokens of one tokenizer, the recent ones remembered."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        anchor = [int(token) for token in tokenizer.encode("a")][:1]
        before = tokenizer.decode(anchor)

        @lru_cache(maxsize=1 << 16)
        def text_of(token: int) -> str:
            behind = tokenizer.decode([*anchor, token])
            if behind.startswith(before):
                return behind[len(before) :]
            return tokenizer.decode([token])

        self.of = text_of

    def named(self, token: int, as_id: bool) -> str:
        """Its text, or vLLM's `token_id:N`, which no two tokens share."""
        return f"token_id:{token}" if as_id else self.of(token)


def chat_logprobs(each: Sequence[TokenLogprobs], texts: TokenTexts, as_ids: bool) -> dict[str, Any]:
    """`logprobs` of a chat's choice."""

    def entry(token: int, logprob: float) -> dict[str, Any]:
        text = texts.of(token)
        is_whole = _REPLACEMENT not in text
        return {
            "token": texts.named(token, as_ids),
            "logprob": _finite(logprob),
            "bytes": list(text.encode()) if is_whole else None,
        }

    content = [
        {**entry(one.token, one.logprob), "top_logprobs": [entry(*top) for top in one.top]}
        for one in each
    ]
    return {"content": content, "refusal": None}


class TextLogprobs:
    """`logprobs` of a completion's choice, which counts characters on from part to part."""

    def __init__(self, texts: TokenTexts, as_ids: bool) -> None:
        self._texts = texts
        self._as_ids = as_ids
        self._offset = 0

    def first_token(self, token: int) -> dict[str, Any]:
        """A prompt's first token: nothing stands before it, so it has no probability."""
        return self._part([(token, None, None)])

    def part(self, each: Iterable[TokenLogprobs]) -> dict[str, Any]:
        """The next tokens. `top_logprobs` has the token itself too, as OpenAI has it; of tokens
        with one text the likeliest stands for all."""
        return self._part([(one.token, one.logprob, self._top(one)) for one in each])

    def _part(
        self, rows: list[tuple[int, float | None, dict[str, float] | None]]
    ) -> dict[str, Any]:
        names = [self._texts.named(token, self._as_ids) for token, _, _ in rows]
        offsets = []
        for name in names:
            offsets.append(self._offset)
            self._offset += len(name)
        return {
            "text_offset": offsets,
            "token_logprobs": [None if lp is None else _finite(lp) for _, lp, _ in rows],
            "tokens": names,
            "top_logprobs": [top for _, _, top in rows],
        }

    def _top(self, one: TokenLogprobs) -> dict[str, float]:
        found: dict[str, float] = {}
        for token, logprob in (*one.top, (one.token, one.logprob)):
            found.setdefault(self._texts.named(token, self._as_ids), _finite(logprob))
        return found


def joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Parts of one choice's TextLogprobs as one."""
    names = ("text_offset", "token_logprobs", "tokens", "top_logprobs")
    return {name: [value for part in parts for value in part[name]] for name in names}


def prompt_logprobs(
    each: Sequence[TokenLogprobs | None], texts: TokenTexts
) -> list[dict[str, Any] | None]:
    """vLLM's form: for each prompt token an object by token id, null for the first."""
    return [None if one is None else _by_id(one, texts) for one in each]


def _by_id(one: TokenLogprobs, texts: TokenTexts) -> dict[str, Any]:
    own = [] if any(token == one.token for token, _ in one.top) else [(one.token, one.logprob)]
    found = {}
    for rank, (token, logprob) in enumerate((*one.top, *own), 1):
        found[str(token)] = {
            "logprob": _finite(logprob),
            "rank": one.rank if token == one.token else rank,
            "decoded_token": texts.of(token),
        }
    return found


def _finite(logprob: float) -> float:
    return max(logprob, LOWEST)
