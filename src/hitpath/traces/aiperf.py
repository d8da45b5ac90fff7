"""AIPerf's `profile_export.jsonl`: one record a request, metrics with their units.

From the source of ai-dynamo/aiperf 0.2 to 0.13 (common/models/record_models.py:
MetricRecordInfo; metrics/types/usage_cache_metrics.py, common/models/usage_models.py). Counts
under `usage_...` are the server's; `usage_prompt_tokens` is the whole prompt from 0.12 on. 0.9 to
0.11 copied it from the server, and that of Anthropic and Bedrock (the only ones which report
writes) leaves out what was read from a cache or written to it. Prompts are in another file.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.client_results import FAILED, Result, Results, tokens
from hitpath.traces.conversations import decode_struct
from hitpath.traces.rows import NO_SYMBOLS, Row, TraceBuilder, scaled_seconds, whole_prompt
from hitpath.traces.sources import Format, Input, ReadOptions, lines_of
from hitpath.traces.table import Trace

NAME = "aiperf"
_PER_SECOND = {"ns": 1e9, "us": 1e6, "ms": 1e3, "sec": 1.0, "s": 1.0}
_MOST_NS = 10**21


class _Metric(msgspec.Struct, kw_only=True):
    value: int | float
    unit: str | None = None


class _Metrics(msgspec.Struct, kw_only=True):
    """Of some ninety metrics those that say something of prompts, outputs and the first token."""

    input_sequence_length: _Metric | None = None
    output_sequence_length: _Metric | None = None
    time_to_first_token: _Metric | None = None
    usage_prompt_tokens: _Metric | None = None
    usage_completion_tokens: _Metric | None = None
    usage_prompt_cache_read_tokens: _Metric | None = None
    usage_prompt_cache_write_tokens: _Metric | None = None


class _Metadata(msgspec.Struct, kw_only=True):
    request_start_ns: int
    request_end_ns: int
    x_request_id: str | None = None
    x_correlation_id: str | None = None
    turn_index: int | None = None
    benchmark_phase: str | None = None
    was_cancelled: bool = False
    context_overflow_skip: bool | None = None


class _Record(msgspec.Struct, kw_only=True):
    metadata: _Metadata
    metrics: _Metrics
    error: Any = None


_decoder = msgspec.json.Decoder(_Record)


def recognises(value: object) -> bool:
    """Whether a first row is of this format."""
    if not isinstance(value, dict) or not isinstance(value.get("metrics"), dict):
        return False
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and "request_start_ns" in metadata


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All records. Raises InputError."""
    records = _Records(Results(NAME, builder, options, "metrics.usage_prompt_tokens", ""))
    for place, line in lines_of(inputs):
        records.results.take(partial(records.make, line, place))
    if records.counted_by_client:
        builder.notes.append(
            f"{records.counted_by_client:,} records have no usage of the server: the length of "
            "these prompts is the client's own count"
        )
    return records.results.build(inputs)


class _Records:
    """Makes results; counts whose counts they have."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.counted_by_client = 0

    def make(self, line: bytes, place: str) -> Result | str:
        """One record, or why it is left out. Raises InputError."""
        record: _Record = decode_struct(_decoder, line, place)
        metadata, metrics = record.metadata, record.metrics
        if metadata.was_cancelled:
            return "cancelled requests"
        if record.error is not None:
            return FAILED
        if metadata.benchmark_phase == "warmup":
            return "requests of the warm-up"
        row = Row(
            id=metadata.x_request_id or str(self.results.number),
            id_may_repeat=not metadata.x_request_id,
            arrival_s=_wall_clock_s(metadata.request_start_ns, "request_start_ns", place),
            finish_s=_wall_clock_s(metadata.request_end_ns, "request_end_ns", place),
            prompt=NO_SYMBOLS,
            prompt_tokens=0,
            output_tokens=_first_count(
                metrics, ("usage_completion_tokens", "output_sequence_length"), place
            ),
            session=metadata.x_correlation_id,
            turn=_turn(metadata.turn_index, place),
            reported=_count(metrics, "usage_prompt_cache_read_tokens", place),
            written=_count(metrics, "usage_prompt_cache_write_tokens", place),
            ttft_s=_metric_s(metrics.time_to_first_token, "time_to_first_token", place),
        )
        prompt_tokens = _count(metrics, "usage_prompt_tokens", place)
        if prompt_tokens is None:
            self.counted_by_client += 1
            prompt_tokens = _count(metrics, "input_sequence_length", place)
        elif row.written is not None and metadata.context_overflow_skip is None:
            # Before 0.12, where this field came in: Anthropic's and Bedrock's rest of the prompt.
            prompt_tokens = whole_prompt(prompt_tokens, row.reported, row.written)
        return Result(row, place, prompt_tokens)


def _turn(index: int | None, place: str) -> int | None:
    found = tokens(index, "metadata.turn_index", place)
    return None if found is None else found + 1


def _wall_clock_s(value_ns: int, name: str, place: str) -> float:
    if not 0 <= value_ns <= _MOST_NS:
        raise InputError(place, f"metadata.{name}", f"{value_ns} ns is not a time")
    return value_ns / 1e9


def _count(metrics: _Metrics, name: str, place: str) -> int | None:
    """Tokens; whole numbers may be written as floats."""
    metric: _Metric | None = getattr(metrics, name)
    if metric is None:
        return None
    field = f"metrics.{name}.value"
    if isinstance(metric.value, float) and not metric.value.is_integer():
        raise InputError(place, field, f"{metric.value} is no whole number of tokens")
    return tokens(int(metric.value), field, place)


def _first_count(metrics: _Metrics, names: Sequence[str], place: str) -> int | None:
    counts = (_count(metrics, name, place) for name in names)
    return next((count for count in counts if count is not None), None)


def _metric_s(metric: _Metric | None, name: str, place: str) -> float | None:
    if metric is None:
        return None
    per_s = _PER_SECOND.get(metric.unit or "")
    if per_s is None:
        known = ", ".join(_PER_SECOND)
        raise InputError(place, f"metrics.{name}.unit", f"{metric.unit!r} is none of {known}")
    return scaled_seconds(metric.value, per_s, f"metrics.{name}.value", place)


FORMAT = Format(NAME, "AIPerf profile_export.jsonl", recognises, read)
