"""What the formats of conversations share: times in any unit, rows in lines or in an array,
messages rendered turn by turn so that each prompt continues the one before.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, TypeVar

import msgspec

from hitpath.core import InputError
from hitpath.text.as_bytes import render_chat, render_message, render_reply
from hitpath.traces.decode import as_input_error
from hitpath.traces.json_document import Part, parts
from hitpath.traces.prompts import TextPrompts, symbols_of_bytes
from hitpath.traces.rows import Symbols, TraceBuilder, check_seconds
from hitpath.traces.sources import Input
from hitpath.traces.table import Trace

Message = dict[str, Any]
T = TypeVar("T")

_HEAD = render_chat([], None)
_SHORT_FORM = {"role", "content"}
_TEXT_TYPES = ("text", "input_text", "output_text")
_DROPPED = ("cache_control", "annotations", "logprobs")
_NUMBER = re.compile(r"\d{1,20}(\.\d{1,9})?")
_UNITS = ((1e17, 1e9, "ns"), (1e14, 1e6, "us"), (1e11, 1e3, "ms"), (0.0, 1.0, "s"))
_list_of_raw = msgspec.json.Decoder(list[msgspec.Raw])


def rows_of(source: Input) -> Iterator[tuple[str, bytes]]:
    """(place, JSON text) of each row: a line, or an element of an array; or the one document."""
    if source.is_array:
        yield from source.elements()
        return
    first = next(source.peek(), None)
    begins = first is not None and first[1].lstrip()[:1] in (b"[", b"{")
    if first is not None and begins and not _is_json(first[1]) and source.begins_document():
        document = source.document()
        if _is_json(document):
            source.forget()
            yield from _elements(document, source.name)
            return
    for place, line in source.lines():
        yield from _elements(line, place)


def parts_of(source: Input, each: Collection[str], keep: Collection[str]) -> Iterator[Part]:
    """The parts of all documents of a source, see json_document.parts. Text that is no JSON is a
    rest, for its decoder to say so."""
    if source.in_parts:
        yield from source.parts(each, keep)
        return
    for place, text in rows_of(source):
        if _is_json(text):
            for part in parts(BytesIO(text), place, each, keep):
                yield part._replace(place=place)
        else:
            yield Part(place, "", "", text)


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return True


def _elements(text: bytes, place: str) -> Iterator[tuple[str, bytes]]:
    if text.lstrip()[:1] == b"[":
        try:
            elements = _list_of_raw.decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            pass  # told by the row's own decoder
        else:
            yield from ((f"{place}[{i}]", bytes(raw)) for i, raw in enumerate(elements))
            return
    yield place, text


def is_mark(block: object) -> bool:
    """Whether an element of tools or of content is nothing but a mark for a provider's cache:
    `cachePoint` of Bedrock's Converse."""
    return isinstance(block, dict) and block.keys() == {"cachePoint"}


def plain_tools(tools: list[Any]) -> list[Any]:
    """Without the marks for a provider's cache, which are no part of the prompt."""
    return [
        {key: value for key, value in tool.items() if key != "cache_control"}
        if isinstance(tool, dict)
        else tool
        for tool in tools
        if not is_mark(tool)
    ]


def _plain_blocks(blocks: list[Any]) -> list[Any]:
    """Blocks of content without marks and notes; blocks inside a tool's result too."""
    return [
        {
            key: _plain_blocks(value) if key == "content" and isinstance(value, list) else value
            for key, value in block.items()
            if key not in _DROPPED
        }
        if isinstance(block, dict)
        else block
        for block in blocks
        if not is_mark(block)
    ]


def plain_message(message: Message) -> Message:
    """A message without marks; content of one block of text is that text, its short form."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks = _plain_blocks(content)
    if len(blocks) == 1 and isinstance(blocks[0], dict):
        text = blocks[0].get("text")
        is_text = blocks[0].get("type") in _TEXT_TYPES or blocks[0].keys() == {"text"}
        if is_text and isinstance(text, str):
            return {**message, "content": text}
    return {**message, "content": blocks}


def render_replies(replies: Sequence[Message]) -> bytes:
    """Replies as they stand in the next turn's prompt, after the head that ends this one."""
    if len(replies) == 1 and replies[0].keys() <= _SHORT_FORM:
        content = replies[0].get("content")
        if isinstance(content, str) and replies[0].get("role", "assistant") == "assistant":
            return render_reply(content, chat=True)
    kept = [
        plain_message(
            {"role": "assistant"}
            | {k: v for k, v in reply.items() if k in ("content", "tool_calls") and v is not None}
            if reply.get("role", "assistant") == "assistant"
            else reply
        )
        for reply in replies
    ]
    return b"".join(map(render_message, kept)).removeprefix(_HEAD)


def as_symbols(render: Callable[[], bytes], name: str, place: str) -> Symbols:
    """Rendered text, a symbol a byte. Raises InputError for what cannot be rendered."""
    return symbols_of_bytes(_rendered(lambda _: render(), None, name, place))


def _rendered(render: Callable[[T], bytes], what: T, name: str, place: str) -> bytes:
    try:
        return render(what)
    except UnicodeEncodeError as error:
        raise InputError(place, name, f"not valid Unicode: {error.reason}") from error
    except (OverflowError, RecursionError, TypeError, ValueError) as error:
        raise InputError(place, name, f"cannot be rendered: {error}") from error


def answer(
    prompts: TextPrompts, replies: Sequence[Message], name: str, place: str
) -> Symbols | None:
    """The reply as it follows its prompt. None with a tokenizer for what is not text alone: tool
    calls and parts are rendered by the chat template, in the next turn only."""
    if not replies:
        return None
    if prompts.in_bytes:
        return symbols_of_bytes(_rendered(render_replies, replies, name, place))
    content = replies[0].get("content")
    more = any(replies[0].get(name) for name in ("tool_calls", "reasoning_content"))
    if len(replies) > 1 or not isinstance(content, str) or more:
        return None
    return prompts.reply(content, True, name, place)


class Conversation:
    """A prompt that grows message by message.

    Bytes are rendered once a message. With a tokenizer each turn's messages are rendered by the
    chat template from the first, since any template may look at all; what they have in common
    with the turn before is not tokenised again.
    """

    def __init__(self, prompts: TextPrompts, session: str, field: str) -> None:
        self._prompts = prompts
        self._session = session
        self._field = field
        self._text = bytearray()
        self._messages: list[Message] = []
        self._names: list[str] = []

    def __len__(self) -> int:
        return len(self._names)

    def add(self, message: Message, name: str, place: str) -> None:
        """The next message. Raises InputError for what cannot be rendered as bytes."""
        self._names.append(name)
        if self._prompts.in_bytes:
            self._text += _rendered(render_message, message, name, place)
        else:
            self._messages.append(message)

    def reply(self, message: Message, name: str, place: str) -> Symbols | None:
        """The next message, which is the assistant's and text alone, and as `answer` gives it."""
        if not self._prompts.in_bytes:
            self.add(message, name, place)
            return answer(self._prompts, [message], name, place)
        self._names.append(name)
        text = _rendered(render_message, message, name, place)
        self._text += text
        return symbols_of_bytes(text)[len(_HEAD) :]

    def prompt(self, place: str) -> Symbols:
        """All messages so far, with the head of the coming reply. Raises InputError."""
        if self._prompts.in_bytes:
            return self._prompts.of_bytes(b"".join((self._text, _HEAD)))
        return self._prompts.chat(
            self._messages, None, self._session, self._field, place, self._names
        )


class Clock:
    """Arrival times of a trace that may have none: then the number of the row stands for it.

    A trace has one unit: that which the size of its first number shows. A number whose size shows
    another is refused, for either may be what was meant.
    """

    def __init__(self) -> None:
        self._count = 0
        self._timed: bool | None = None
        self._first = ""
        self._unit = ""
        self._first_number = ""
        self._num_numbers = 0

    def arrival_s(self, value: int | float | str | None, name: str, place: str) -> float:
        """Seconds; raises InputError for no time, or for one where the first row has none."""
        if self._timed is not None and self._timed != (value is not None):
            has, first = ("missing", "one") if value is None else ("a time", "none")
            raise InputError(place, name, f"{has}, but {self._first} has {first}")
        arrival_s = float(self._count) if value is None else self._seconds(value, name, place)
        if self._timed is None:
            self._timed, self._first = value is not None, place
        self._count += 1
        return arrival_s

    def _seconds(self, value: int | float | str, name: str, place: str) -> float:
        if isinstance(value, str):
            if not _NUMBER.fullmatch(value):
                return iso_seconds(value, name, place)
            value = float(value)
        if value >= 1e21:
            raise InputError(place, name, f"{value} is not a time")
        per_s, unit = next(
            (per, unit) for least, per, unit in _UNITS if value >= least or not least
        )
        seconds = check_seconds(value / per_s, name, place)
        if not self._num_numbers:
            self._unit, self._first_number = unit, place
        elif unit != self._unit:
            cause = (
                f"{value:.15g} would be {unit} by its size, but {self._first_number} is in "
                f"{self._unit}: one unit a trace"
            )
            raise InputError(place, name, cause)
        self._num_numbers += 1
        return seconds

    def add_note(self, builder: TraceBuilder) -> None:
        """What the analysis should say of these times."""
        if self._timed is False:
            builder.notes.append(
                "no times in this trace: the order of the rows is the order of arrival"
            )
            builder.has_times = False
        if self._num_numbers:
            builder.notes.append(
                "times are numbers without a unit; taken by the first one's size as "
                f"{self._unit} in {self._num_numbers:,} rows"
            )


def iso_seconds(value: str, name: str, place: str) -> float:
    """ISO 8601 as seconds since 1970; without a zone it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp()
    except (ValueError, OverflowError) as error:
        raise InputError(place, name, f"{value!r} is not an ISO 8601 time") from error
    return check_seconds(seconds, name, place)


def build_text(builder: TraceBuilder, name: str, prompts: TextPrompts | None = None) -> Trace:
    """The trace, with the notes that every figure in bytes needs."""
    if prompts is not None and not prompts.in_bytes:
        return builder.build(name, "tokens", None)
    builder.notes.append("no tokenizer: one byte of text stands for one token in every count")
    if any(row.reported is not None for row in builder.rows):
        builder.notes.append(
            "reported counts are tokens and prompts here are bytes: not comparable, shown apart"
        )
    return builder.build(name, "text", None, report_in_other_units=True)


def decode_struct(decoder: msgspec.json.Decoder[Any], text: bytes, place: str) -> Any:
    """A struct of which only some fields are read, the others in silence. Raises InputError."""
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise as_input_error(error, place) from error
