"""GuideLLM's `benchmarks.json`: one document, requests by status in each benchmark.

From the source of vllm-project/guidellm 0.3 to 0.8 (schemas/base/request_stats.py, info.py,
request.py; benchmark/schemas/report.py, accumulator.py; 0.3: benchmark/benchmark.py). Times are
Unix seconds of the client. `text_tokens` of a prompt is the server's `usage.prompt_tokens`
where it sent one (pictures included), `cached_tokens` (0.8) its cached part. `request_args` is
JSON of the request from 0.6 on (a Python literal in 0.4 and 0.5), with the body that was sent.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.client_results import NO_TIME, Result, Results, seconds, span_s, tokens
from hitpath.traces.conversations import decode_struct, rows_of
from hitpath.traces.rows import NO_SYMBOLS, Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace
from hitpath.traces.whole_prompts import Body, is_whole

NAME = "guidellm"
_STATES = {
    "errored": "failed requests",
    "incomplete": "requests that were cut off by the end of the run",
}


class _ByStatus(msgspec.Struct, kw_only=True):
    successful: list[msgspec.Raw] | None = None
    errored: list[msgspec.Raw] | None = None
    incomplete: list[msgspec.Raw] | None = None


class _Totals(msgspec.Struct, kw_only=True):
    successful: int | None = None
    errored: int | None = None
    incomplete: int | None = None


class _Metrics(msgspec.Struct, kw_only=True):
    request_totals: _Totals | None = None


class _Benchmark(msgspec.Struct, kw_only=True):
    requests: _ByStatus
    metrics: _Metrics | None = None


class _Report(msgspec.Struct, kw_only=True):
    benchmarks: list[_Benchmark]


class _Timings(msgspec.Struct, kw_only=True):
    request_start: float | None = None
    resolve_start: float | None = None
    first_token_iteration: float | None = None
    request_end: float | None = None
    resolve_end: float | None = None


class _Info(msgspec.Struct, kw_only=True):
    timings: _Timings
    conversation_id: str | None = None
    turn_index: int | None = None


class _Usage(msgspec.Struct, kw_only=True):
    text_tokens: int | None = None
    cached_tokens: int | None = None


class _Arguments(msgspec.Struct, kw_only=True):
    body: Body | None = None


class _Request(msgspec.Struct, kw_only=True):
    """A request of 0.4 and later, or (from `request_type` on) of 0.3."""

    request_id: str | None = None
    request_args: str | dict[str, Any] | None = None
    output: str | None = None
    reasoning_output: str | None = None
    tool_calls: msgspec.Raw = msgspec.Raw(b"null")
    info: _Info | None = None
    input_metrics: _Usage | None = None
    output_metrics: _Usage | None = None
    request_type: str | None = None
    prompt: str | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    start_time: float | None = None
    first_token_time: float | None = None
    end_time: float | None = None


_report_decoder = msgspec.json.Decoder(_Report)
_request_decoder = msgspec.json.Decoder(_Request)
_arguments_decoder = msgspec.json.Decoder(_Arguments)


def recognises(value: object) -> bool:
    """Whether a document is of this format."""
    if not isinstance(value, dict) or not isinstance(value.get("benchmarks"), list):
        return False
    first = value["benchmarks"][0] if value["benchmarks"] else None
    return isinstance(first, dict) and "requests" in first and "conversations" not in value


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All successful requests of all benchmarks. Raises InputError."""
    results = Results(NAME, builder, options, "input_metrics.text_tokens", "request_args.body")
    documents = [(place, text) for source in inputs for place, text in rows_of(source)]
    reports: list[tuple[str, _Report]] = []
    for place, text in documents:
        try:
            reports.append((place, decode_struct(_report_decoder, text, place)))
        except InputError as error:
            builder.reject(error)
    total = sum(len(report.benchmarks) for _, report in reports)
    for number, (place, benchmark) in enumerate(_benchmarks(reports)):
        _take_benchmark(benchmark, place, f"{number}/" if total > 1 else "", results, builder)
    if total > 1:
        builder.notes.append(f"{total:,} benchmarks read as one trace, by their times")
    return results.build(inputs)


def _benchmarks(reports: list[tuple[str, _Report]]) -> Iterator[tuple[str, _Benchmark]]:
    for place, report in reports:
        for i, benchmark in enumerate(report.benchmarks):
            yield f"{place}:benchmarks[{i}]", benchmark


def _take_benchmark(
    benchmark: _Benchmark, place: str, prefix: str, results: Results, builder: TraceBuilder
) -> None:
    requests = benchmark.requests
    kept = requests.successful or []
    totals = (benchmark.metrics.request_totals if benchmark.metrics else None) or _Totals()
    for i, raw in enumerate(kept):
        at = f"{place}.requests.successful[{i}]"
        results.take(partial(_result, raw, at, prefix, results))
    for state, what in _STATES.items():
        listed = len(getattr(requests, state) or [])
        results.leave_out(what, max(listed, getattr(totals, state) or 0))
    if totals.successful is not None and totals.successful > len(kept):
        builder.notes.append(
            f"{place}: a sample of {len(kept):,} of {totals.successful:,} successful requests is "
            "in the report; all figures are of the sample"
        )


def _result(raw: msgspec.Raw, place: str, prefix: str, results: Results) -> Result:
    request: _Request = decode_struct(_request_decoder, bytes(raw), place)
    info = request.info or _of_0_3(request)
    timings = info.timings
    begin = timings.resolve_start if timings.request_start is None else timings.request_start
    end = timings.resolve_end if timings.request_end is None else timings.request_end
    usage, generated = request.input_metrics, request.output_metrics
    body = _body(request)
    arrival_s = seconds(begin, "info.timings.request_start", place)
    row = Row(
        id=prefix + (request.request_id or str(results.number)),
        arrival_s=NO_TIME if arrival_s is None else arrival_s,
        finish_s=seconds(end, "info.timings.request_end", place),
        prompt=NO_SYMBOLS,
        prompt_tokens=0,
        output_tokens=_told(
            request.output_tokens if generated is None else generated.text_tokens,
            "output_metrics.text_tokens",
            place,
        ),
        session=info.conversation_id,
        turn=_turn(info, place),
        model=None if body is None else body.model,
        reported=tokens(
            None if usage is None else usage.cached_tokens, "input_metrics.cached_tokens", place
        ),
        ttft_s=span_s(arrival_s, timings.first_token_iteration),
    )
    prompt_tokens = _told(
        request.prompt_tokens if usage is None else usage.text_tokens,
        "input_metrics.text_tokens",
        place,
    )
    if row.reported is not None:
        row.reported_prompt = prompt_tokens  # of the same usage of the server
    whole = body if body is not None and is_whole(body) else None
    return Result(row, place, prompt_tokens, whole, _reply(request))


def _of_0_3(request: _Request) -> _Info:
    """The times of a request of 0.3, under their later names."""
    timings = _Timings(
        request_start=request.start_time,
        first_token_iteration=request.first_token_time,
        request_end=request.end_time,
    )
    return _Info(timings=timings)


def _told(count: int | None, name: str, place: str) -> int | None:
    """GuideLLM writes 0 where the server sent no count: not told."""
    return tokens(count, name, place) or None


def _turn(info: _Info, place: str) -> int | None:
    index = tokens(info.turn_index, "info.turn_index", place)
    return None if index is None or info.conversation_id is None else index + 1


def _body(request: _Request) -> Body | None:
    """What was sent: the body in `request_args`, or the prompt of 0.3 as a request."""
    if request.prompt is not None and request.request_type is not None:
        if request.request_type == "text_completions":
            return Body(prompt=request.prompt)
        return Body(messages=[{"role": "user", "content": request.prompt}])
    if not isinstance(request.request_args, str):
        return None
    try:
        arguments = _arguments_decoder.decode(request.request_args)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    found: Body | None = arguments.body
    return found


def _reply(request: _Request) -> str | None:
    """The output where it is all that was generated."""
    if request.reasoning_output or bytes(request.tool_calls) not in (b"null", b"[]"):
        return None
    return request.output


FORMAT = Format(NAME, "GuideLLM benchmarks.json", recognises, read)
