"""OpenTelemetry spans in their JSON forms: OTLP (`resourceSpans`), {"spans": [...]}, or the span
itself, with attributes and events as plain values.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import decode_struct, iso_seconds
from hitpath.traces.rows import check_seconds

Attributes = dict[str, Any]
ARRAYS = frozenset({"resourceSpans[].scopeSpans[].spans", "spans"})
"""Where spans stand in a document of them."""
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
    events: msgspec.Raw = msgspec.Raw()
    context: _Ids | None = None
    trace_id: str | None = None
    span_id: str | None = None
    start_time: str | int | None = None
    end_time: str | int | None = None
    otlp_trace_id: str | None = msgspec.field(default=None, name="traceId")
    otlp_span_id: str | None = msgspec.field(default=None, name="spanId")
    otlp_start: str | int | None = msgspec.field(default=None, name="startTimeUnixNano")
    otlp_end: str | int | None = msgspec.field(default=None, name="endTimeUnixNano")


class _Event(msgspec.Struct):
    name: str
    attributes: dict[str, Any] | list[_KeyValue] = {}


class _Scope(msgspec.Struct):
    spans: list[msgspec.Raw] = []


class _Resource(msgspec.Struct):
    scopes: list[_Scope] = msgspec.field(default_factory=list, name="scopeSpans")


class _Document(msgspec.Struct):
    """A document of spans; what stands beside them is not read."""

    resources: list[_Resource] | None = msgspec.field(default=None, name="resourceSpans")
    spans: list[msgspec.Raw] | None = None


class _Row(_Span, kw_only=True):
    """A span, mostly, else a document of them."""

    resources: list[_Resource] | None = msgspec.field(default=None, name="resourceSpans")
    spans: list[msgspec.Raw] | None = None


_row, _span = msgspec.json.Decoder(_Row), msgspec.json.Decoder(_Span)
_document = msgspec.json.Decoder(_Document)
_events = msgspec.json.Decoder(list[_Event] | None)


def spans_of(text: bytes, place: str) -> Iterator[tuple[str, bytes, _Span | None]]:
    """(path in the document, the span's JSON, the span where it is decoded already). Raises
    InputError."""
    try:
        row: _Row | _Document = decode_struct(_row, text, place)
    except InputError:
        row = decode_struct(_document, text, place)
    if row.resources is None and row.spans is None:
        yield "", text, row if isinstance(row, _Span) else None
    for i, raw in enumerate(row.spans or []):
        yield f"spans[{i}].", bytes(raw), None
    for r, resource in enumerate(row.resources or []):
        for s, scope in enumerate(resource.scopes):
            for i, raw in enumerate(scope.spans):
                yield f"resourceSpans[{r}].scopeSpans[{s}].spans[{i}].", bytes(raw), None


def check_rest(text: bytes, place: str) -> None:
    """Raise InputError unless this is a document whose spans have been taken out."""
    rest: _Document = decode_struct(_document, text, place)
    if rest.resources is None and rest.spans is None:
        raise InputError(place, "resourceSpans", "missing")


@dataclass(frozen=True, slots=True)
class Span:
    """One span. path: where it stands in its document, with a dot at the end unless empty."""

    attributes: Attributes
    place: str
    path: str
    _read: _Span

    @property
    def at(self) -> str:
        """The path of its attributes."""
        return f"{self.path}attributes."

    @property
    def trace_id(self) -> str | None:
        ids = self._read.context or _Ids()
        return self._read.trace_id or self._read.otlp_trace_id or ids.trace_id

    @property
    def span_id(self) -> str | None:
        ids = self._read.context or _Ids()
        return self._read.span_id or self._read.otlp_span_id or ids.span_id

    def events(self) -> list[tuple[str, Attributes]]:
        """(name, attributes) of each event, in order. Raises InputError."""
        raw = bytes(self._read.events)
        if not raw:
            return []
        try:
            events: list[_Event] = decode_struct(_events, raw, self.place) or []
        except InputError as error:
            name = f"{self.path}events{'' if error.field[:1] == '[' else '.'}{error.field}"
            raise InputError(self.place, name.rstrip("."), error.cause) from error
        name = f"{self.path}events"
        return [(event.name, _plain(event.attributes, name, self.place)) for event in events]

    def start_s(self) -> float:
        """Raises InputError where it has none."""
        read = self._read
        start_s = _seconds(read.start_time, read.otlp_start, f"{self.path}start_time", self.place)
        if start_s is None:
            raise InputError(self.place, f"{self.path}start_time", "missing")
        return start_s

    def end_s(self) -> float | None:
        """Raises InputError for what is no time."""
        read = self._read
        return _seconds(read.end_time, read.otlp_end, f"{self.path}end_time", self.place)


def decode_span(raw: bytes, path: str, place: str, span: _Span | None = None) -> Span:
    """span: what `spans_of` has decoded. Raises InputError."""
    try:
        span = span or decode_struct(_span, raw, place)
    except InputError as error:
        raise InputError(place, f"{path}{error.field}".rstrip("."), error.cause) from error
    return Span(_plain(span.attributes, f"{path}attributes", place), place, path, span)


def _plain(attributes: Attributes | list[_KeyValue], name: str, place: str) -> Attributes:
    if isinstance(attributes, dict):
        return attributes
    try:
        return {pair.key: _value(pair.value) for pair in attributes}
    except RecursionError as error:
        raise InputError(place, name, "nested too deeply") from error


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
