"""Text of a trace as tokens: the tokenizer, its chat template, and errors with their place."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hitpath.core import InputError
from hitpath.text import as_bytes
from hitpath.text.incremental import TurnTokenizer
from hitpath.text.tokenizer import ByteTokenizer, RenderError, TextTokenizer, Tokens

if TYPE_CHECKING:
    from hitpath.traces.in_sequence import InSequence
    from hitpath.traces.table import Identity, Symbols

S = TypeVar("S")

_MESSAGE = re.compile(r"messages(?:\[(\d+)\])?")


class TextPrompts:
    """Prompts and replies of one trace as token ids (or bytes as uint8, without a tokenizer).

    in_bytes: whether a byte stands for a token, so that reported counts cannot be compared.
    sequence: where prompts in bytes are put, in the order of the rows; None for anywhere.
    """

    def __init__(self, tokenizer: TextTokenizer, sequence: "InSequence | None" = None) -> None:
        self.in_bytes = isinstance(tokenizer, ByteTokenizer)
        self.identity: Identity = "text" if self.in_bytes else "tokens"
        self.tokenizer = tokenizer
        self._turns = TurnTokenizer(tokenizer)
        self.of_bytes = symbols_of_bytes if sequence is None else sequence.add

    def comparable(self) -> bool:
        """Whether counts that an engine reported are in the unit of these prompts."""
        return not self.in_bytes

    def prompt(self, text: str, session: str | None, field: str, place: str) -> "Symbols":
        """A completion prompt, in the frame that the tokenizer's model expects."""
        if self.in_bytes:
            return _told(lambda: self.of_bytes(text.encode()), field, place)
        head, tail = self.tokenizer.prompt_frame
        tokens = self._encoded(lambda: text, session, field, place)
        return np.concatenate([head, tokens, tail]) if len(head) or len(tail) else tokens

    def chat(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[Any] | None,
        session: str | None,
        field: str,
        place: str,
        names: Sequence[str] | None = None,
    ) -> "Symbols":
        """A chat request up to the head of the reply. names: where each message stands in the
        row, for errors; None for `field[0]`, `field[1]` and so on."""
        if self.in_bytes:
            return _told(lambda: self.of_bytes(as_bytes.render_chat(messages, tools)), field, place)
        try:
            return self._encoded(
                lambda: self.tokenizer.render_chat(messages, tools), session, field, place
            )
        except InputError as error:
            raise InputError(place, _name_in_row(error.field, field, names), error.cause) from error

    def reply(self, text: str, chat: bool, field: str, place: str) -> "Symbols":
        """A reply as generated behind its prompt."""
        if self.in_bytes:
            return _told(lambda: symbols_of_bytes(as_bytes.render_reply(text, chat)), field, place)
        return _told(
            lambda: self.tokenizer.encode(self.tokenizer.render_reply(text, chat)), field, place
        )

    def _encoded(
        self, render: Callable[[], str], session: str | None, field: str, place: str
    ) -> Tokens:
        return _told(lambda: self._turns.encode(render(), session), field, place)


def symbols_of_bytes(text: bytes) -> "Symbols":
    """A symbol a byte, as a view of the text."""
    return np.frombuffer(text, dtype=np.uint8)


def _told(make: Callable[[], S], field: str, place: str) -> S:
    try:
        return make()
    except UnicodeEncodeError as error:
        raise InputError(place, field, f"not valid Unicode: {error.reason}") from error
    except RenderError as error:
        raise InputError(place, error.field or field, error.cause) from error
    except (OverflowError, RecursionError, TypeError, ValueError) as error:
        raise InputError(place, field, f"cannot be rendered: {error}") from error


def _name_in_row(rendered: str, field: str, names: Sequence[str] | None) -> str:
    """`messages[2].content` of what was rendered, by the names that the row has for it."""
    at = _MESSAGE.match(rendered)
    if at is None:
        return rendered
    if at[1] is None:
        return field + rendered[at.end() :]
    name = f"{field}[{at[1]}]" if names is None else names[int(at[1])]
    return name + rendered[at.end() :]
