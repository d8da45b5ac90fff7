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
from hitpath.traces.conversations import (
    Clock,
    Message,
    as_symbols,
    build_text,
    plain_message,
    plain_tools,
    render_replies,
    rows_of,
)
from hitpath.traces.decode import RowDecoder
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import Row, TraceBuilder, check_tokens
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Context, Trace

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


class _Cached(msgspec.Struct, kw_only=True):
    cached_tokens: int | None = None


class Usage(msgspec.Struct, kw_only=True):
    """Token counts of OpenAI chat, OpenAI responses, or Anthropic; the names tell which."""

    prompt_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None
    input_tokens: int | None = None
    input_tokens_details: _Cached | None = None
    total_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Choice(msgspec.Struct, kw_only=True):
    message: Message | None = None


class Response(msgspec.Struct, kw_only=True):
    """A response of one of the three services, or what holds it."""

    body: "Response | None" = None
    usage: Usage | None = None
    choices: list[_Choice] | None = None
    content: str | list[Any] | None = None
    output: list[Message] | None = None


class _Envelope(msgspec.Struct, kw_only=True):
    """What may stand around or beside a body."""

    custom_id: str | int | None = None
    method: str | None = None
    url: str | None = None
    timestamp: int | float | str | None = None
    session_id: str | int | None = None
    usage: Usage | None = None
    response: Response | str | None = None


class Body(_Envelope, kw_only=True):
    """What makes the prompt; an unwrapped one has the rest beside it."""

    messages: list[Message] | None = None
    input: str | list[Message] | None = None
    system: str | list[Any] | None = None
    instructions: str | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    model: str | None = None
    previous_response_id: str | None = None


class _Wrapped(_Envelope, kw_only=True):
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
        messages = _messages_of(body, prefix, place)
        tools = [*(body.tools or []), *(body.functions or [])]
        row = Row(
            id=str(number) if around.custom_id is None else str(around.custom_id),
            arrival_s=self.clock.arrival_s(time, "timestamp", place),
            prompt=self._prompts.chat(
                messages,
                plain_tools(tools),
                None if session is None else str(session),
                f"{prefix}messages",
                place,
            ),
            prompt_tokens=0,
            session=None if session is None else str(session),
            model=body.model,
            context=Context(model=body.model),
        )
        row.prompt_tokens = len(row.prompt)
        _take_response(row, around, self._prompts, place)
        return row

    def _split(self, text: bytes, place: str) -> tuple[_Envelope, Body, str]:
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


def _messages_of(body: Body, prefix: str, place: str) -> list[Message]:
    """System text and instructions as a system message, then the conversation."""
    if (body.messages is None) == (body.input is None):
        cause = "needs messages or input" if body.messages is None else "has messages and input"
        raise InputError(place, prefix.rstrip("."), cause)
    if body.previous_response_id is not None:
        cause = "the turns before are kept by the service: the prompt is not known from this row"
        raise InputError(place, f"{prefix}previous_response_id", cause)
    first = [text for text in (body.system, body.instructions) if text is not None]
    messages = [plain_message({"role": "system", "content": text}) for text in first]
    if isinstance(body.input, str):
        return [*messages, {"role": "user", "content": body.input}]
    if body.input is not None:
        return messages + [_item(item) for item in body.input]
    return messages + [plain_message(message) for message in body.messages or []]


def _item(item: Message) -> Message:
    """An item of the responses API (message, function call, its output) as a message."""
    rest = {key: v for key, v in item.items() if key not in ("role", "type", "id", "status")}
    return plain_message({"role": item.get("role") or item.get("type") or "", **rest})


def _take_response(row: Row, around: _Envelope, prompts: TextPrompts, place: str) -> None:
    response = around.response
    if isinstance(response, str):
        response, reply = None, [{"role": "assistant", "content": response}]
    else:
        while response is not None and response.body is not None:
            response = response.body
        reply = [] if response is None else _reply_of(response)
    if reply and prompts.in_bytes:
        row.output = as_symbols(lambda: render_replies(reply), "response", place)
    elif len(reply) == 1 and isinstance(content := reply[0].get("content"), str):
        # Other replies (tool calls, parts) are rendered by the template in the next turn only.
        row.output = prompts.reply(content, True, "response", place)
    if row.output is not None:
        row.output_tokens = len(row.output)
    usage = around.usage or (response.usage if response is not None else None)
    if usage is not None:
        take_usage(row, usage, place)


def _reply_of(response: Response) -> list[Message]:
    if response.choices and response.choices[0].message is not None:
        return [response.choices[0].message]
    if response.content is not None:
        return [{"content": response.content}]
    return [_item(item) for item in response.output or []]


def take_usage(row: Row, usage: Usage, place: str) -> None:
    """Cached tokens, and the whole prompt where the names of the counts tell what they include."""
    for name in ("prompt_tokens", "input_tokens", "cache_read_input_tokens",
                 "cache_creation_input_tokens"):  # fmt: skip
        value = getattr(usage, name)
        if value is not None:
            check_tokens(value, f"usage.{name}", place)
    details = usage.prompt_tokens_details or usage.input_tokens_details
    if details is not None and details.cached_tokens is not None:
        row.reported = check_tokens(details.cached_tokens, "usage.cached_tokens", place)
    if row.reported is None:
        row.reported = usage.cache_read_input_tokens
    row.written = usage.cache_creation_input_tokens
    if usage.prompt_tokens is not None:
        row.reported_prompt = usage.prompt_tokens
    elif usage.input_tokens is None:
        return
    elif usage.input_tokens_details is not None or usage.total_tokens is not None:
        row.reported_prompt = usage.input_tokens
    elif usage.cache_read_input_tokens is not None:
        # Anthropic's input_tokens are those neither read from the cache nor written to it.
        row.reported_prompt = (
            usage.input_tokens + usage.cache_read_input_tokens + (row.written or 0)
        )


FORMAT = Format(NAME, "OpenAI or Anthropic request bodies", recognises, read)
