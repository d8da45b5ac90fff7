"""Request bodies as sent: OpenAI chat completions and responses, Anthropic messages.

A row is a body, or holds one (`body`, `request` or `params`, as batch files do). Tools,
instructions or system text, and messages are rendered as bytes in this order. Where the
response stands in the row too, its text is the reply and its usage is what was reported:
prompt counts of OpenAI include the cached tokens, those of Anthropic do not.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import Clock, build_text, rows_of
from hitpath.traces.decode import RowDecoder
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.request_bodies import (
    Content,
    Response,
    Usage,
    chat_prompt,
    replies_of,
    take_replies,
    take_usage,
)
from hitpath.traces.rows import Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace

NAME = "openai-requests"

_WRAPPERS = ("body", "request", "params")
_OTHERS = {"arrival_s", "id", "traceId", "attributes", "startTime", "start_time", "call_type",
           "trajectory", "trajectory_format", "conversations", "hash_ids"}  # fmt: skip
"""Fields of other formats that hold messages too."""

_PASSED_OVER = (
    "temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "max_output_tokens",
    "stream", "stream_options", "n", "stop", "stop_sequences", "seed", "presence_penalty",
    "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "user", "metadata", "store",
    "service_tier", "parallel_tool_calls", "tool_choice", "reasoning_effort", "reasoning",
    "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "truncation", "include",
    "background",
)  # fmt: skip
"""Documented parameters that do not change the prompt."""


class Body(Content, kw_only=True):
    """A body; an unwrapped one has the rest beside it."""

    custom_id: str | int | None = None
    method: str | None = None
    url: str | None = None
    timestamp: int | float | str | None = None
    session_id: str | int | None = None
    usage: Usage | None = None
    response: Response | str | None = None


class _Wrapped(msgspec.Struct, kw_only=True):
    """What may stand around a body."""

    custom_id: str | int | None = None
    method: str | None = None
    url: str | None = None
    timestamp: int | float | str | None = None
    session_id: str | int | None = None
    usage: Usage | None = None
    response: Response | str | None = None
    body: msgspec.Raw = msgspec.Raw()
    request: msgspec.Raw = msgspec.Raw()
    params: msgspec.Raw = msgspec.Raw()


def _strict(name: str, base: type[Any]) -> type[Any]:
    """The struct with the parameters that change nothing, and no further field."""
    fields = [(field, msgspec.Raw, msgspec.Raw()) for field in _PASSED_OVER]
    return msgspec.defstruct(name, fields, bases=(base,), kw_only=True, forbid_unknown_fields=True)


_StrictBody = _strict("_StrictBody", Body)


class _StrictWrapped(_Wrapped, forbid_unknown_fields=True, kw_only=True):
    pass


def _is_body(value: object) -> bool:
    if not isinstance(value, dict) or value.keys() & _OTHERS:
        return False
    return "messages" in value or ({"model", "input"} <= value.keys() and "output" not in value)


def recognises(value: object) -> bool:
    """Whether a first row is a request body, or holds one."""
    if isinstance(value, list):
        return bool(value) and recognises(value[0])
    if not isinstance(value, dict) or value.keys() & _OTHERS:
        return False
    return _is_body(value) or any(_is_body(value.get(name)) for name in _WRAPPERS)


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows. Raises InputError."""
    prompts = TextPrompts(options.tokenizer)
    rows = _Requests(builder, prompts)
    for source in inputs:
        for place, text in rows_of(source):
            builder.attempt(partial(rows.make, text, place), place, prompts.comparable)
    rows.clock.add_note(builder)
    return build_text(builder, NAME, prompts)


class _Requests:
    """Makes rows; keeps the clock."""

    def __init__(self, builder: TraceBuilder, prompts: TextPrompts) -> None:
        self._prompts = prompts
        ignored = builder.ignored_fields
        self._builder = builder
        self._wrapped: RowDecoder[_Wrapped] = RowDecoder(_Wrapped, _StrictWrapped, ignored)
        self._body: RowDecoder[Body] = RowDecoder(Body, _StrictBody, ignored)
        self.clock = Clock()

    def make(self, text: bytes, place: str) -> Row:
        """One row, or InputError."""
        around, body, prefix = self._split(text, place)
        if around.url is not None and not _is_generation(around.url):
            raise InputError(place, "url", f"{around.url!r} is no request for generated text")
        number = len(self._builder.rows) + len(self._builder.skipped)
        session = body.session_id if around.session_id is None else around.session_id
        time = body.timestamp if around.timestamp is None else around.timestamp
        session = None if session is None else str(session)
        prompt = chat_prompt(body, self._prompts, session, prefix, place)
        row = Row(
            id=str(number) if around.custom_id is None else str(around.custom_id),
            arrival_s=self.clock.arrival_s(time, "timestamp", place),
            prompt=prompt,
            prompt_tokens=len(prompt),
            session=session,
            model=body.model,
            context=body.context,
        )
        _take_response(row, around, self._prompts, place)
        return row

    def _split(self, text: bytes, place: str) -> tuple[Body | _Wrapped, Body, str]:
        """(what stands around, the body, the path that leads to it)."""
        if not _maybe_wrapped(text):
            body = self._body.decode(text, place)
            return body, body, ""
        wrapped = self._wrapped.decode(text, place)
        inside = [name for name in _WRAPPERS if bytes(getattr(wrapped, name)) not in (b"", b"null")]
        if len(inside) != 1:
            found = " and ".join(inside) or "none"
            raise InputError(place, "", f"needs one of {', '.join(_WRAPPERS)}; has {found}")
        try:
            body = self._body.decode(bytes(getattr(wrapped, inside[0])), place)
        except InputError as error:
            name = f"{inside[0]}.{error.field}" if error.field else inside[0]
            raise InputError(place, name, error.cause) from error
        return wrapped, body, f"{inside[0]}."


_outline = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _maybe_wrapped(text: bytes) -> bool:
    if not any(b'"%s"' % name.encode() in text for name in _WRAPPERS):
        return False
    try:
        fields = _outline.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return not {"messages", "input"} & fields.keys() and bool(fields.keys() & set(_WRAPPERS))


def _is_generation(url: str) -> bool:
    return url.split("?")[0].rstrip("/").endswith(("/completions", "/responses", "/messages"))


def _take_response(row: Row, around: Body | _Wrapped, prompts: TextPrompts, place: str) -> None:
    response = around.response
    if isinstance(response, str):
        response, reply = None, [{"role": "assistant", "content": response}]
    else:
        while response is not None and response.body is not None:
            response = response.body
        reply = [] if response is None else replies_of(response)
    take_replies(row, reply, prompts, place)
    usage = around.usage or (response.usage if response is not None else None)
    if usage is not None:
        take_usage(row, usage, place)


FORMAT = Format(NAME, "OpenAI or Anthropic request bodies", recognises, read)
