"""OpenTelemetry GenAI spans: OTLP JSON (`resourceSpans`), {"spans": [...]}, or one span a line.

A span that calls a model (chat, text_completion, generate_content) is one request; its prompt is
the messages that it holds (otel_messages.py, otel_older.py), behind tools and system text. Where
no span holds messages, as the conventions have it unless content is captured, only lengths and
reported counts are known (otel_usage.py). OTLP times are nanoseconds; others are ISO 8601.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from hitpath.core import InputError
from hitpath.traces.conversations import answer, build_text, plain_tools, rows_of
from hitpath.traces.in_sequence import sequence_for
from hitpath.traces.otel_blocks import as_chat, as_tool
from hitpath.traces.otel_messages import INPUT, Call, call_of
from hitpath.traces.otel_older import older_call_of
from hitpath.traces.otel_spans import (
    ARRAYS,
    Attributes,
    Span,
    check_rest,
    decode_span,
    spans_of,
)
from hitpath.traces.otel_usage import first_token_s, has_usage, input_name, usage_of
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import NO_SYMBOLS, Row, Symbols, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace, model_context

NAME = "otel-genai"
_CALLS = ("chat", "text_completion", "generate_content", "completion")
_KINDS = ("gen_ai.operation.name", "llm.request.type", "gen_ai.request.type")

_OTHERS = "spans call no model: no requests"
_FAILED = "spans ended in an error and tell no prompt: no requests"
_NAMED_BY_TRACE = "spans have no gen_ai.conversation.id: the trace stands for the session"
_LENGTHS = "spans hold no messages: only lengths and reported counts are known"
_AGAINST = (
    "spans report more cached than input tokens: whoever recorded them leaves cached tokens out of "
    "gen_ai.usage.input_tokens, against the conventions"
)
_UNSURE = (
    "spans do not tell whether gen_ai.usage.input_tokens includes the cached tokens: it is not "
    "compared with the prompt"
)
_NOTES = (_OTHERS, _FAILED, _NAMED_BY_TRACE, _LENGTHS, _AGAINST, _UNSURE)


def recognises(value: object) -> bool:
    """Whether a document or a first row is of this format."""
    if isinstance(value, list):
        return bool(value) and recognises(value[0])
    if not isinstance(value, dict):
        return False
    if "resourceSpans" in value or ("spans" in value and "messages" not in value):
        return True
    return "attributes" in value and bool({"span_id", "spanId", "context"} & value.keys())


def begins(names: dict[str, str]) -> bool:
    """Whether a large object is a document of spans."""
    in_spans = names.get("spans") == "[" and "messages" not in names
    return names.get("resourceSpans") == "[" or in_spans


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All spans that call a model. Raises InputError."""
    spans = _Spans(builder, TextPrompts(options.tokenizer, sequence_for(builder, inputs)))
    for source in inputs:
        if source.in_parts:
            _read_large(source, builder, spans)
            continue
        for place, text in rows_of(source):
            try:
                found = list(spans_of(text, place))
            except InputError as error:
                builder.reject(error)
                continue
            for path, raw, decoded in found:
                spans.offer(raw, partial(decode_span, raw, path, place, decoded))
    return spans.build()


def _read_large(source: Input, builder: TraceBuilder, spans: "_Spans") -> None:
    """A document that need not stand in memory."""
    for part in source.parts(ARRAYS, ()):
        try:
            if part.array:
                decode = partial(decode_span, part.text, f"{part.path}.", part.place)
                spans.offer(part.text, decode, f"{part.place}:{part.path}")
            else:
                check_rest(part.text, part.place)
        except InputError as error:
            builder.reject(error)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A span without messages: a row of lengths, or why it is none. name: where messages would
    stand."""

    place: str
    name: str
    row: Row | InputError

    def told(self) -> Row:
        if isinstance(self.row, InputError):
            raise self.row
        return self.row


class _Spans:
    """Makes rows of spans; counts those that are none.

    Spans without messages wait until it is known whether any span has some: then they are bad
    rows, else all that there is.
    """

    def __init__(self, builder: TraceBuilder, prompts: TextPrompts) -> None:
        self._builder = builder
        self._prompts = prompts
        self._counts: Counter[str] = Counter()
        self._with_messages = False
        self._waiting: list[_Waiting] = []

    def offer(self, raw: bytes, decode: Callable[[], Span], place: str = "") -> None:
        """A span, as a row if it calls a model. raw: its JSON; decode: raises InputError; place: of
        a row of its own, "" where the document is the row."""
        try:
            span = decode()
            kind = next((v for n in _KINDS if (v := span.attributes.get(n)) is not None), None)
            may_be_one = kind in _CALLS or (kind is None and b"gen_ai." in raw)
            call = (call_of(span) or older_call_of(span)) if may_be_one else None
        except InputError as error:
            self._builder.reject(error)
            return
        if call is not None:
            self._with_messages = True
            self._reject_waiting()
            make = partial(self._row, span, call)
            self._builder.attempt(make, place or span.place, self._prompts.comparable)
        elif kind in _CALLS and _tells_only_its_error(span.attributes):
            self._counts[_FAILED] += 1
        elif kind in _CALLS or (kind is None and has_usage(span.attributes)):
            self._waiting.append(_Waiting(span.place, span.at + INPUT, _lengths(span)))
            if self._with_messages:
                self._reject_waiting()
        else:
            self._counts[_OTHERS] += 1

    def _reject_waiting(self) -> None:
        cause = "missing: without captured content, what prompts share cannot be known"
        waiting, self._waiting = self._waiting, []
        for span in waiting:
            self._builder.reject(InputError(span.place, span.name, cause))

    def build(self) -> Trace:
        """The trace of all spans offered."""
        for span in self._waiting:
            self._builder.attempt(span.told, span.place)
        lengths = self._builder.rows if self._waiting else []
        self._counts[_LENGTHS] = len(lengths)
        self._counts[_AGAINST] = sum(
            (row.reported or 0) + (row.written or 0) > row.prompt_tokens for row in lengths
        )
        self._counts[_NAMED_BY_TRACE] = sum(
            row.session is not None and row.id.startswith(f"{row.session}/")
            for row in self._builder.rows
        )
        notes = [f"{self._counts[told]:,} {told}" for told in _NOTES if self._counts[told]]
        self._builder.notes += notes
        if self._waiting:
            return self._builder.build(NAME, "lengths_only", None)
        return build_text(self._builder, NAME, self._prompts)

    def _row(self, span: Span, call: Call) -> Row:
        row = _started(span)
        row.prompt = self._prompt(call, row.session, span.place)
        row.prompt_tokens = len(row.prompt)
        replies = call.replies[:1]
        if replies and not self._prompts.in_bytes:
            replies = as_chat(replies[0])
        row.output = answer(self._prompts, replies, call.reply_name, span.place)
        usage = usage_of(span)
        if row.output is not None:
            row.output_tokens = len(row.output)
        elif not self._prompts.in_bytes:
            row.output_tokens = usage.output
        row.reported, row.written, row.reported_prompt = usage.hit, usage.written, usage.prompt
        if usage.unsure is not None and not self._prompts.in_bytes:
            self._counts[_UNSURE] += 1
        return row

    def _prompt(self, call: Call, session: str | None, place: str) -> Symbols:
        if call.text is not None:
            return self._prompts.prompt(call.text, session, call.names[0], place)
        messages, names, tools = call.messages, call.names, plain_tools(call.tools)
        if not self._prompts.in_bytes:
            chats = [as_chat(message) for message in messages]
            names = [name for name, chat in zip(names, chats, strict=True) for _ in chat]
            messages = [message for chat in chats for message in chat]
            tools = [as_tool(tool) for tool in tools]
        return self._prompts.chat(messages, tools, session, INPUT, place, names)


def _started(span: Span) -> Row:
    """A row with what every span has. Raises InputError."""
    number, trace = span.span_id, span.trace_id
    if number is None:
        raise InputError(span.place, f"{span.path}span_id", "missing")
    model = _text(span, "gen_ai.request.model") or _text(span, "gen_ai.response.model")
    return Row(
        id=number if trace is None else f"{trace}/{number}",
        arrival_s=span.start_s(),
        finish_s=span.end_s(),
        prompt=NO_SYMBOLS,
        prompt_tokens=0,
        session=_text(span, "gen_ai.conversation.id") or trace,
        model=model,
        context=model_context(model),
        ttft_s=first_token_s(span),
    )


def _lengths(span: Span) -> Row | InputError:
    """A row of lengths and counts only, or why the span tells none."""
    try:
        row, usage = _started(span), usage_of(span)
        if usage.prompt is None:
            cause = usage.unsure or "missing: the span holds neither messages nor their length"
            raise InputError(span.place, input_name(span), cause)
    except InputError as error:
        return error
    row.prompt_tokens, row.output_tokens = usage.prompt, usage.output
    row.reported, row.written = usage.hit, usage.written
    return row


def _tells_only_its_error(attributes: Attributes) -> bool:
    return attributes.get("error.type") is not None and not has_usage(attributes)


def _text(span: Span, name: str) -> str | None:
    value = span.attributes.get(name)
    return value if isinstance(value, str) and value else None


FORMAT = Format(NAME, "OpenTelemetry GenAI spans", recognises, read, begins=begins)
