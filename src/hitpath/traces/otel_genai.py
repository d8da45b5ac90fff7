"""OpenTelemetry GenAI spans: OTLP JSON (`resourceSpans`), {"spans": [...]}, or one span a line.

A span that calls a model (chat, text_completion, generate_content) is one request; its prompt is
`gen_ai.input.messages`, behind `gen_ai.tool.definitions` and `gen_ai.system_instructions`. OTLP
times are nanoseconds; others are ISO 8601. By the convention the input tokens include the
cached ones.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.text.as_bytes import render_chat
from hitpath.traces.conversations import (
    Message,
    as_symbols,
    build_text,
    decode_struct,
    iso_seconds,
    not_comparable,
    plain_message,
    plain_tools,
    render_replies,
    rows_of,
)
from hitpath.traces.decode import decode_any
from hitpath.traces.rows import Row, TraceBuilder, check_seconds, check_tokens
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Context, Trace

NAME = "otel-genai"
_CALLS = ("chat", "text_completion", "generate_content")
_NANOSECONDS = 1e9


class _KeyValue(msgspec.Struct):
    key: str
    value: dict[str, Any] | None = None


class _Ids(msgspec.Struct):
    trace_id: str | None = None
    span_id: str | None = None


class _Span(msgspec.Struct, kw_only=True):
    """A span in OTLP's names or in those of the SDKs; the fields that are read."""

    attributes: dict[str, Any] | list[_KeyValue] = {}
    context: _Ids | None = None
    trace_id: str | None = None
    span_id: str | None = None
    start_time: str | int | None = None
    end_time: str | int | None = None
    otlp_trace_id: str | None = msgspec.field(default=None, name="traceId")
    otlp_span_id: str | None = msgspec.field(default=None, name="spanId")
    otlp_start: str | int | None = msgspec.field(default=None, name="startTimeUnixNano")
    otlp_end: str | int | None = msgspec.field(default=None, name="endTimeUnixNano")


class _Scope(msgspec.Struct):
    spans: list[msgspec.Raw] = []


class _Resource(msgspec.Struct):
    scopes: list[_Scope] = msgspec.field(default_factory=list, name="scopeSpans")


class _Document(msgspec.Struct):
    resources: list[_Resource] | None = msgspec.field(default=None, name="resourceSpans")
    spans: list[msgspec.Raw] | None = None


_document, _span = msgspec.json.Decoder(_Document), msgspec.json.Decoder(_Span)


def recognises(value: object) -> bool:
    """Whether a document or a first row is of this format."""
    if isinstance(value, list):
        return bool(value) and recognises(value[0])
    if not isinstance(value, dict):
        return False
    if "resourceSpans" in value or ("spans" in value and "messages" not in value):
        return True
    return "attributes" in value and bool({"span_id", "spanId", "context"} & value.keys())


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All spans that call a model. Raises InputError."""
    options.bytes_only(NAME)
    spans = _Spans()
    for source in inputs:
        for place, text in rows_of(source):
            try:
                found = list(_spans_of(text, place))
            except InputError as error:
                builder.reject(error)
                continue
            for path, raw in found:
                spans.offer(raw, path, place, builder)
    if spans.others:
        builder.notes.append(f"{spans.others:,} spans call no model: no requests")
    if spans.named_by_trace:
        builder.notes.append(
            f"{spans.named_by_trace:,} spans have no gen_ai.conversation.id: the trace stands for "
            "the session"
        )
    return build_text(builder, NAME)


def _spans_of(text: bytes, place: str) -> Iterator[tuple[str, bytes]]:
    """(path in the document, the span's JSON)."""
    document: _Document = decode_struct(_document, text, place)
    if document.resources is None and document.spans is None:
        yield "", text
    for i, raw in enumerate(document.spans or []):
        yield f"spans[{i}].", bytes(raw)
    for r, resource in enumerate(document.resources or []):
        for s, scope in enumerate(resource.scopes):
            for i, raw in enumerate(scope.spans):
                yield f"resourceSpans[{r}].scopeSpans[{s}].spans[{i}].", bytes(raw)


class _Spans:
    """Makes rows of spans; counts those that are none."""

    def __init__(self) -> None:
        self.others = 0
        self.named_by_trace = 0

    def offer(self, raw: bytes, path: str, place: str, builder: TraceBuilder) -> None:
        """A span, as a row if it calls a model."""
        try:
            span, attributes = _decode_span(raw, path, place)
        except InputError as error:
            builder.reject(error)
            return
        operation = attributes.get("gen_ai.operation.name")
        if operation in _CALLS or (operation is None and "gen_ai.input.messages" in attributes):
            make = partial(self._row, span, attributes, path, place)
            builder.attempt(make, place, not_comparable)
        else:
            self.others += 1

    def _row(self, span: _Span, attributes: dict[str, Any], path: str, place: str) -> Row:
        at = f"{path}attributes."
        prompt = as_symbols(
            partial(_prompt, attributes, at, place), f"{at}gen_ai.input.messages", place
        )
        ids = span.context or _Ids()
        trace = span.trace_id or span.otlp_trace_id or ids.trace_id
        number = span.span_id or span.otlp_span_id or ids.span_id
        if number is None:
            raise InputError(place, f"{path}span_id", "missing")
        model = _text(attributes.get("gen_ai.request.model"))
        session = _text(attributes.get("gen_ai.conversation.id"))
        row = Row(
            id=number if trace is None else f"{trace}/{number}",
            arrival_s=_start(span, path, place),
            finish_s=_seconds(span.end_time, span.otlp_end, f"{path}end_time", place),
            prompt=prompt,
            prompt_tokens=len(prompt),
            session=session or trace,
            model=model,
            context=Context(model=model),
        )
        self.named_by_trace += session is None
        replies = _replies(attributes, at, place)
        if replies:
            name = f"{at}gen_ai.output.messages"
            row.output = as_symbols(partial(render_replies, replies[:1]), name, place)
            row.output_tokens = len(row.output)
        names = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
        row.reported = _count(attributes, names, at, place)
        names = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
        row.reported_prompt = _count(attributes, names, at, place)
        return row


def _decode_span(raw: bytes, path: str, place: str) -> tuple[_Span, dict[str, Any]]:
    try:
        span: _Span = decode_struct(_span, raw, place)
    except InputError as error:
        raise InputError(place, f"{path}{error.field}".rstrip("."), error.cause) from error
    if isinstance(span.attributes, dict):
        return span, span.attributes
    return span, {pair.key: _value(pair.value) for pair in span.attributes}


def _value(value: Any) -> Any:
    """OTLP's AnyValue as a plain value; None for what is none."""
    if not isinstance(value, dict):
        return None
    for name in ("stringValue", "boolValue", "doubleValue"):
        if name in value:
            return value[name]
    if "intValue" in value:
        number = value["intValue"]
        return int(number) if _is_digits(number) else number
    for name in ("arrayValue", "kvlistValue"):
        inner = value.get(name)
        values = inner.get("values", []) if isinstance(inner, dict) else None
        if isinstance(values, list) and name == "arrayValue":
            return [_value(v) for v in values]
        if isinstance(values, list):
            return {
                str(v.get("key")): _value(v.get("value")) for v in values if isinstance(v, dict)
            }
    return None


def _is_digits(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20


def _json_of(attributes: dict[str, Any], name: str, at: str, place: str) -> Any:
    """An attribute that is JSON, as a string of it or as it is; None where absent."""
    value = attributes.get(name)
    if not isinstance(value, str):
        return value
    try:
        return decode_any(value.encode(), place)
    except UnicodeEncodeError as error:
        raise InputError(place, at + name, "not valid Unicode") from error
    except InputError as error:
        raise InputError(place, at + name, error.cause) from error


def _messages(attributes: dict[str, Any], name: str, at: str, place: str) -> list[Message]:
    value = _json_of(attributes, name, at, place)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(m, dict) for m in value):
        raise InputError(place, at + name, "is not a list of messages")
    return [_message(message) for message in value]


def _message(message: Message) -> Message:
    """With `parts` (role, parts) as `content` (role, content)."""
    rest = {k: v for k, v in message.items() if k not in ("parts", "finish_reason")}
    return plain_message(
        {**rest, "content": _blocks(message["parts"])} if "parts" in message else rest
    )


def _blocks(parts: Any) -> Any:
    if not isinstance(parts, list):
        return parts
    return [
        {"type": "text", "text": part.get("content")}
        if isinstance(part, dict) and part.get("type") == "text" and "content" in part
        else part
        for part in parts
    ]


def _prompt(attributes: dict[str, Any], at: str, place: str) -> bytes:
    if attributes.get("gen_ai.input.messages") is None:
        cause = "missing: without captured content, what prompts share cannot be known"
        raise InputError(place, f"{at}gen_ai.input.messages", cause)
    messages = _messages(attributes, "gen_ai.input.messages", at, place)
    name = "gen_ai.system_instructions"
    if attributes.get(name) is not None:
        system = attributes[name]
        with suppress(InputError):  # else it is plain text
            system = _json_of(attributes, name, at, place)
        messages.insert(0, plain_message({"role": "system", "content": _blocks(system)}))
    tools = _json_of(attributes, "gen_ai.tool.definitions", at, place)
    if tools is not None and not isinstance(tools, list):
        raise InputError(place, f"{at}gen_ai.tool.definitions", "is not a list of tools")
    return render_chat(messages, plain_tools(tools or []))


def _replies(attributes: dict[str, Any], at: str, place: str) -> list[Message]:
    text = attributes.get("gen_ai.output.text")
    if isinstance(text, str):
        return [{"role": "assistant", "content": text}]
    return _messages(attributes, "gen_ai.output.messages", at, place)


def _count(attributes: dict[str, Any], names: Sequence[str], at: str, place: str) -> int | None:
    """The first of these attributes that the span has."""
    for name in names:
        value = attributes.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise InputError(place, at + name, f"{value!r} is not a number of tokens")
        return check_tokens(value, at + name, place)
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _start(span: _Span, path: str, place: str) -> float:
    start_s = _seconds(span.start_time, span.otlp_start, f"{path}start_time", place)
    if start_s is None:
        raise InputError(place, f"{path}start_time", "missing")
    return start_s


def _seconds(time: str | int | None, otlp: str | int | None, name: str, place: str) -> float | None:
    """ISO 8601, or nanoseconds (as JSON's integers or as strings of them)."""
    value = otlp if otlp is not None else time
    if value is None:
        return None
    if isinstance(value, str):
        if not (value.isascii() and value.isdecimal()):
            return iso_seconds(value, name, place)
        value = int(value[:25])
    if not 0 <= value < 10**21:
        raise InputError(place, name, f"{value} is not a time in nanoseconds")
    return check_seconds(value / _NANOSECONDS, name, place)


FORMAT = Format(NAME, "OpenTelemetry GenAI spans", recognises, read)
