"""Marks for providers' caches in request bodies: where content blocks end, and which are marked.

The rendering of a prompt leaves these marks out, for they are no part of it; whoever models a
provider's cache needs them. So the rows of a trace of bodies are looked at once more, and each
end is given as a place in the prompt's bytes (`text.as_bytes.render_chat`): tools, then system
text, then messages, a block each: a tool, a block of content, or a message whose content is text.

Marks are Anthropic's `cache_control` {"type": "ephemeral", "ttl": "5m" or "1h"} of a tool or block
(docs.claude.com, "Prompt caching"; at the top of the body: automatic, on the last block) and
OpenAI's `prompt_cache_breakpoint` of a block with `prompt_cache_options.mode` (GPT-5.6 on; docs.rs
async-openai 0.42, PromptCacheOptionsParam). A `cachePoint` of Bedrock's Converse is an element of
its own and no part of the prompt; it marks the end of what stands before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from hitpath.core import InputError
from hitpath.text.as_bytes import render_chat, render_message
from hitpath.traces import open_inputs
from hitpath.traces.conversations import Message, is_mark, plain_message, plain_tools, rows_of
from hitpath.traces.request_bodies import WRAPPERS, Content
from hitpath.traces.table import Trace

BODIES = "openai-requests"
"""The only format whose rows are the bodies as they were sent."""

MINUTE_S = 60.0
_LIFETIMES_S = {
    "5m": 5 * MINUTE_S,
    "30m": 30 * MINUTE_S,
    "1h": 60 * MINUTE_S,
    "12h": 720 * MINUTE_S,
}


@dataclass(frozen=True, slots=True)
class Mark:
    """The prefix up to `end` bytes is marked. lifetime_s: None where the mark does not say."""

    end: int
    lifetime_s: float | None


@dataclass(frozen=True, slots=True)
class Marks:
    """Of one prompt. block_ends: bytes, rising, the last one the end of what was sent (the head of
    the reply that a rendered prompt ends with lies behind it). key: `prompt_cache_key`. mode:
    `prompt_cache_options.mode`, where it is told. automatic: a mark at the top of the body."""

    block_ends: tuple[int, ...]
    marks: tuple[Mark, ...] = ()
    key: str | None = None
    mode: Literal["implicit", "explicit"] | None = None
    automatic: Mark | None = None


class _Options(msgspec.Struct, kw_only=True):
    mode: Literal["implicit", "explicit"] | None = None


class _Body(Content, kw_only=True):
    cache_control: Any = None
    prompt_cache_key: str | None = None
    prompt_cache_options: _Options | None = None


_body = msgspec.json.Decoder(_Body)
_outline = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_marks(paths: Sequence[str], trace: Trace) -> list[Marks | None] | None:
    """For each request of a trace that was read from these files with `keep_places`; None for a
    row whose blocks cannot be told (completions, the responses API's items), and for all of them
    where the trace is not one of bodies in bytes, or cannot be read again (standard input)."""
    if trace.format != BODIES or not trace.has_text or "-" in paths or not trace.places:
        return None
    rows = {place: row for row, place in enumerate(trace.places)}
    found: list[Marks | None] = [None] * len(trace)
    lengths = trace.prompts.lengths
    for source in open_inputs(list(paths)):
        for place, text in rows_of(source):
            row = rows.get(place)
            if row is None:
                continue
            marks = marks_of(text)
            if marks is not None and marks.block_ends[-1] + _HEAD_BYTES == lengths[row]:
                found[row] = marks
    return found


_HEAD_BYTES = len(render_chat([], None))


def marks_of(text: bytes) -> Marks | None:
    """The marks of one row, None where it has no messages or they cannot be rendered."""
    try:
        body = _body.decode(_inside(text))
        return None if body.messages is None else _marks(body)
    except (InputError, msgspec.MsgspecError, RecursionError, UnicodeError, TypeError, ValueError):
        return None  # the reader has told what is wrong with the row, or it is no chat


def _inside(text: bytes) -> bytes:
    fields = _outline.decode(text)
    if "messages" in fields:
        return text
    inside = [bytes(fields[name]) for name in WRAPPERS if fields.get(name) is not None]
    return inside[0] if len(inside) == 1 else text


def _marks(body: _Body) -> Marks | None:
    places = _Places()
    if body.all_tools:
        places.add_tools(body.all_tools)
    first = [told for told in (body.system, body.instructions) if told is not None]
    for told in first:
        places.add_message({"role": "system", "content": told})
    for message in body.messages or []:
        places.add_message(message)
    if not places.ends:
        return None
    automatic = _mark(body.cache_control, places.ends[-1])
    options = body.prompt_cache_options
    return Marks(
        tuple(places.ends),
        tuple(places.marks),
        body.prompt_cache_key,
        None if options is None else options.mode,
        automatic,
    )


class _Places:
    """Ends and marks, in the order of the rendered prompt."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.marks: list[Mark] = []
        self._at = 0

    def _end(self, at: int, marked: object) -> None:
        if self.ends and self.ends[-1] == at:
            return
        self.ends.append(at)
        mark = _mark(marked, at)
        if mark is not None:
            self.marks.append(mark)

    def add_tools(self, tools: list[Any]) -> None:
        """As a JSON list under a head of its own; the last tool's block ends before the bracket."""
        plain = plain_tools(tools)
        at = len(render_chat([], plain)) - _HEAD_BYTES - len(msgspec.json.encode(plain)) - len(_END)
        for marked, its in zip(_controls(tools), plain, strict=True):
            at += 1 + len(msgspec.json.encode(its))
            self._end(at, marked)
        self._at = at + 1 + len(_END)

    def add_message(self, message: Message) -> None:
        plain = plain_message(message)
        begin, whole = self._at, render_message(plain)
        self._at += len(whole)
        content, blocks = plain.get("content"), message.get("content")
        marked: object = message.get("cache_control")
        if isinstance(blocks, list) and blocks:
            controls = _controls(blocks)
            if is_mark(blocks[0]) and self.ends:
                self.marks += filter(None, [_mark(_control(blocks[0]), self.ends[-1])])
            marked = controls[-1] if controls else None
            if isinstance(content, list):
                at = begin + whole.rindex(_list_of(plain)) + len(b'"content":')
                for control, its in zip(controls[:-1], content[:-1], strict=True):
                    at += 1 + len(msgspec.json.encode(its))
                    self._end(at, control)
        self._end(self._at, marked)


_END = b"<|end|>\n"


def _list_of(message: Message) -> bytes:
    return b'"content":' + msgspec.json.encode(message["content"])


def _controls(blocks: Sequence[Any]) -> list[object]:
    """What marks each block or tool that is part of the prompt: its own, or a `cachePoint` right
    behind it."""
    controls: list[object] = []
    for block in blocks:
        if not is_mark(block):
            controls.append(_control(block))
        elif controls:
            controls[-1] = _control(block)
    return controls


def _control(block: object) -> object:
    """What a block or a tool says of itself as a mark."""
    if not isinstance(block, dict):
        return None
    told = block.get("cache_control") or block.get("prompt_cache_breakpoint")
    return told or block.get("cachePoint")


def _mark(control: object, end: int) -> Mark | None:
    if not isinstance(control, dict):
        return None
    lifetime = control.get("ttl")
    return Mark(end, _LIFETIMES_S.get(lifetime) if isinstance(lifetime, str) else None)
