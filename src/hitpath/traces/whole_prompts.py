"""Prompts of which a file keeps the whole: a request body as it was sent, or rendered text.

A body is that of OpenAI completions (`prompt`, text or token ids), chat completions, responses,
or Anthropic messages. It is a whole prompt only where nothing but text stands in it: what a
picture is in tokens, or what a service kept of earlier turns, no body tells.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from hitpath.core import InputError
from hitpath.text.incremental import TurnTokenizer
from hitpath.traces.prompts import TextPrompts, symbols_of_bytes
from hitpath.traces.request_bodies import Content, chat_prompt
from hitpath.traces.rows import Symbols, symbols_from

_TEXT_PARTS = {
    "text", "input_text", "output_text", "refusal", "thinking", "redacted_thinking", "tool_use",
    "tool_result", "message", "reasoning", "function_call", "function_call_output",
}  # fmt: skip
"""Types of content and of items that are text, as OpenAI and Anthropic name them."""


class Body(Content, kw_only=True):
    """A request body. add_special_tokens: vLLM's parameter, False where the text has them."""

    prompt: str | list[int] | None = None
    add_special_tokens: bool | None = None

    @property
    def has_ids(self) -> bool:
        """Whether the prompt is token ids."""
        return isinstance(self.prompt, list)


_decode = msgspec.json.Decoder(Body)


def body_with_whole_prompt(text: str | bytes) -> Body | None:
    """The body that this JSON is, None where it is none or does not hold the whole prompt."""
    try:
        body = _decode.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return body if is_whole(body) else None


def is_whole(body: Body) -> bool:
    """Whether the body alone tells the prompt: one kind of prompt, and nothing but text in it."""
    if sum(kind is not None for kind in (body.prompt, body.messages, body.input)) != 1:
        return False
    if body.previous_response_id is not None or isinstance(body.input, str):
        return False  # a string may as well be the input of an embeddings request
    return _text_only(body.messages or body.input or [])


def _text_only(parts: Iterable[Any]) -> bool:
    for part in parts:
        if isinstance(part, str):
            continue
        if not isinstance(part, dict) or part.get("type", "text") not in _TEXT_PARTS:
            return False
        content: Any = part.get("content")
        if isinstance(content, list) and not _text_only(content):
            return False
    return True


class WholePrompts:
    """Prompts as symbols: `texts` turns text into tokens, or into bytes without a tokenizer."""

    def __init__(self, texts: TextPrompts) -> None:
        self._texts = texts
        self._turns = TurnTokenizer(texts.tokenizer)

    def symbols(self, body: Body, session: str | None, field: str, place: str) -> Symbols:
        """Raises InputError for what cannot be rendered or is no token id."""
        if isinstance(body.prompt, list):
            return symbols_from(body.prompt, np.uint32, f"{field}.prompt", place)
        if body.prompt is None:
            return chat_prompt(body, self._texts, session, f"{field}.", place)
        if body.add_special_tokens is False:
            return self.rendered(body.prompt, session, f"{field}.prompt", place)
        return self._texts.prompt(body.prompt, session, f"{field}.prompt", place)

    def rendered(self, text: str, session: str | None, field: str, place: str) -> Symbols:
        """Text that has its special tokens in it. Raises InputError for a lone surrogate."""
        try:
            if self._texts.in_bytes:
                return symbols_of_bytes(text.encode())
            return self._turns.encode(text, session)
        except UnicodeEncodeError as error:
            raise InputError(place, field, f"not valid Unicode: {error.reason}") from error
