"""GuideLLM's `benchmarks.json`: one document, requests by status in each benchmark.

From the source of vllm-project/guidellm 0.3 to 0.8 (schemas/base/request_stats.py, info.py,
request.py; benchmark/schemas/report.py, accumulator.py; 0.3: benchmark/benchmark.py). Times are
Unix seconds of the client. `text_tokens` of a prompt is the server's `usage.prompt_tokens`
where it sent one (pictures included), `cached_tokens` (0.8) its cached part. `request_args` is
JSON of the request from 0.6 on (a Python literal in 0.4 and 0.5), with the body that was sent.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.client_results import NO_TIME, Result, Results, seconds, span_s, tokens
from hitpath.traces.conversations import decode_struct, parts_of
from hitpath.traces.json_document import Part
from hitpath.traces.rows import NO_SYMBOLS, Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace
from hitpath.traces.whole_prompts import Body, is_whole

NAME = "guidellm"
_STATES = {
    "errored": "failed requests",
    "incomplete": "requests that were cut off by the end of the run",
}
_REQUESTS = frozenset(f"benchmarks[].requests.{state}" for state in ("successful", *_STATES))
_KEPT = ("benchmarks[].metrics.request_totals",)
_INDEX = re.compile(r"benchmarks\[(\d+)\]")


class _ByStatus(msgspec.Struct, kw_only=True):
    """Their requests are taken by themselves."""

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


def begins(names: dict[str, str]) -> bool:
    """Whether a large object is of this format."""
    return names.get("benchmarks") == "[" and "conversations" not in names


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All successful requests of all benchmarks. Raises InputError."""
    results = Results(
        NAME, builder, options, "input_metrics.text_tokens", "request_args.body", inputs
    )
    reports = _Reports(builder, results)
    for source in inputs:
        for part in parts_of(source, _REQUESTS, _KEPT):
            reports.take(part)
    reports.end()
    return results.build(inputs)


class _Reports:
    """Takes reports by their parts: requests, and at last what a report says of them."""

    def __init__(self, builder: TraceBuilder, results: Results) -> None:
        self._builder = builder
        self._results = results
        self._num_benchmarks = 0  # of the reports before
        self._listed: Counter[str] = Counter()  # requests of this one, by their array
        self._rows: list[tuple[Row, int]] = []

    def take(self, part: Part) -> None:
        """A request, or the rest of a report."""
        if not part.array:
            self._end_report(part)
            return
        self._listed[part.path.rpartition("[")[0]] += 1
        if part.array.endswith(".successful"):
            self._results.take(partial(self._result, part))

    def _result(self, part: Part) -> Result:
        result = _result(part.text, f"{part.place}:{part.path}", self._results)
        self._rows.append((result.row, self._num_benchmarks + _benchmark(part.path)))
        return result

    def _end_report(self, part: Part) -> None:
        listed, self._listed = self._listed, Counter()
        begun = 1 + max(map(_benchmark, listed), default=-1)
        try:
            report: _Report = decode_struct(_report_decoder, part.text, part.place)
        except InputError as error:
            self._builder.reject(error)
        else:
            begun = len(report.benchmarks)
            for i, benchmark in enumerate(report.benchmarks):
                name = f"benchmarks[{i}]"
                self._tell(benchmark, f"{part.place}:{name}", f"{name}.requests", listed)
        self._num_benchmarks += begun

    def _tell(self, benchmark: _Benchmark, place: str, name: str, listed: Counter[str]) -> None:
        """What is known of the requests that are not in the trace."""
        totals = (benchmark.metrics.request_totals if benchmark.metrics else None) or _Totals()
        for state, what in _STATES.items():
            left_out = max(listed[f"{name}.{state}"], getattr(totals, state) or 0)
            self._results.leave_out(what, left_out)
        kept = listed[f"{name}.successful"]
        if totals.successful is not None and totals.successful > kept:
            self._builder.notes.append(
                f"{place}: a sample of {kept:,} of {totals.successful:,} successful requests is "
                "in the report; all figures are of the sample"
            )

    def end(self) -> None:
        """All reports are read: the requests of several benchmarks get names of their own."""
        if self._num_benchmarks > 1:
            for row, number in self._rows:
                row.id = f"{number}/{row.id}"
            self._builder.notes.append(
                f"{self._num_benchmarks:,} benchmarks read as one trace, by their times"
            )


def _benchmark(path: str) -> int:
    found = _INDEX.match(path)
    assert found is not None
    return int(found[1])


def _result(text: bytes, place: str, results: Results) -> Result:
    request: _Request = decode_struct(_request_decoder, text, place)
    info = request.info or _of_0_3(request)
    timings = info.timings
    begin = timings.resolve_start if timings.request_start is None else timings.request_start
    end = timings.resolve_end if timings.request_end is None else timings.request_end
    usage, generated = request.input_metrics, request.output_metrics
    body = _body(request)
    arrival_s = seconds(begin, "info.timings.request_start", place)
    row = Row(
        id=request.request_id or str(results.number),
        id_may_repeat=not request.request_id,
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


FORMAT = Format(NAME, "GuideLLM benchmarks.json", recognises, read, begins=begins)
