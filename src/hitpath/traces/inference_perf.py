"""inference-perf's `per_request_lifecycle_metrics.json`: an array of requests.

From the source of kubernetes-sigs/inference-perf 0.2 to 0.7 (reportgen/base.py, apis/base.py,
client/modelserver/openai_client.py). Times are seconds of the client's monotonic clock, of no
date. `request` is the body as it was sent (JSON text), `server_usage` (from 0.5) the usage as
the server sent it; `input_tokens` is the client's count where the server told none.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from hitpath.traces.client_results import FAILED, Result, Results, span_s, tokens
from hitpath.traces.conversations import decode_struct, rows_of
from hitpath.traces.request_bodies import Usage, take_usage
from hitpath.traces.rows import NO_SYMBOLS, Row, TraceBuilder, check_seconds
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Context, Trace
from hitpath.traces.whole_prompts import body_with_whole_prompt

NAME = "inference-perf"
_TIMES = {"start_time", "end_time"}
_CHOSEN = {"request", "info", "computed_metrics"}


class _Text(msgspec.Struct, kw_only=True):
    input_tokens: int | None = None


class _RequestMetrics(msgspec.Struct, kw_only=True):
    text: _Text | None = None


class _ServerUsage(Usage, kw_only=True):
    completion_tokens: int | None = None
    output_tokens: int | None = None


class _ResponseMetrics(msgspec.Struct, kw_only=True):
    output_tokens: int | None = None
    output_token_times: list[float] | None = None
    server_usage: _ServerUsage | None = None


class _Info(_ResponseMetrics, kw_only=True):
    """0.2 to 0.4 have the response's figures here, later versions under `response_metrics`."""

    input_tokens: int | None = None
    request_metrics: _RequestMetrics | None = None
    response_metrics: _ResponseMetrics | None = None
    lora_adapter: str | None = None


class _Computed(msgspec.Struct, kw_only=True):
    time_to_first_token: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Entry(msgspec.Struct, kw_only=True):
    start_time: float
    end_time: float
    error: msgspec.Raw = msgspec.Raw(b"null")
    request: str | None = None
    info: _Info | None = None
    computed_metrics: _Computed | None = None


_decoder = msgspec.json.Decoder(_Entry)


def recognises(value: object) -> bool:
    """Whether a document is of this format."""
    first = value[0] if isinstance(value, list) and value else None
    if not isinstance(first, dict) or "attributes" in first:
        return False
    return first.keys() >= _TIMES and bool(first.keys() & _CHOSEN)


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All requests. Raises InputError."""
    results = Results(NAME, builder, options, "info.input_tokens", "request", inputs)
    for source in inputs:
        for place, text in rows_of(source):
            results.take(partial(_result, text, place, str(results.number)))
    if len(inputs) > 1:
        builder.notes.append(
            "times are of the client's monotonic clock: those of several files agree only if one "
            "machine wrote them all, without a restart between"
        )
    return results.build(inputs)


def _result(text: bytes, place: str, name: str) -> Result | str:
    """One request, or why it is left out. Raises InputError."""
    entry: _Entry = decode_struct(_decoder, text, place)
    if bytes(entry.error) != b"null":
        return FAILED
    info, computed = entry.info or _Info(), entry.computed_metrics or _Computed()
    response = info.response_metrics or info
    body = None if entry.request is None else body_with_whole_prompt(entry.request)
    start_s = check_seconds(entry.start_time, "start_time", place)
    row = Row(
        id=name,
        id_may_repeat=True,
        arrival_s=start_s,
        finish_s=check_seconds(entry.end_time, "end_time", place),
        prompt=NO_SYMBOLS,
        prompt_tokens=0,
        model=None if body is None else body.model,
        context=Context(adapter=info.lora_adapter),
        ttft_s=_ttft_s(computed.time_to_first_token, response.output_token_times, start_s),
    )
    usage = response.server_usage or _ServerUsage()
    take_usage(row, usage, place)
    row.output_tokens = _first(
        (usage.completion_tokens, usage.output_tokens, response.output_tokens,
         computed.output_tokens),
        "info.response_metrics.output_tokens",
        place,
    )  # fmt: skip
    counted = info.request_metrics.text if info.request_metrics else None
    prompt_tokens = _first(
        (counted.input_tokens if counted else None, info.input_tokens, computed.input_tokens),
        "info.input_tokens",
        place,
    )
    return Result(row, place, prompt_tokens or None, body)


def _first(counts: Sequence[int | None], name: str, place: str) -> int | None:
    told = next((count for count in counts if count is not None), None)
    return tokens(told, name, place)


def _ttft_s(computed: float | None, times: list[float] | None, start_s: float) -> float | None:
    """As inference-perf has it: a response of one chunk was not streamed."""
    if computed is not None:
        return span_s(0.0, computed)
    return span_s(start_s, times[0]) if times is not None and len(times) > 1 else None


FORMAT = Format(NAME, "inference-perf per-request metrics", recognises, read)
