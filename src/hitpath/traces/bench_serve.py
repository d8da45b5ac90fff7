"""Results of `vllm bench serve --save-result --save-detailed` and of SGLang's `bench_serving
--output-details`: one document a run (runs may be appended, one a line), a list a quantity.

From the source of vLLM 0.8 to 0.32 (benchmarks/serve.py, lib/endpoint_request_func.py) and
SGLang 0.5.23 (benchmark/serving.py). Times are seconds of the client's performance counter, of
no date; `start_times` and `latencies` are not in older files, nor in SGLang's. A failed request
has an error, or nothing at all: no output and no first token. vLLM's file has no cached tokens;
SGLang's has them with `--cache-report`, 0 where its server told none. Prompts are not in it.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.client_results import FAILED, NO_TIME, Result, Results, tokens
from hitpath.traces.conversations import decode_struct, parts_of
from hitpath.traces.decode import decode_any
from hitpath.traces.rows import MAX_SECONDS, NO_SYMBOLS, Row, TraceBuilder, check_seconds
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace

NAME = "bench-serve"
_DETAILS = {"ttfts", "itls", "latencies", "errors", "output_lens"}
_SUMMARY = {"completed", "request_throughput", "total_input_tokens", "duration"}
_TIERS = ("device", "host", "storage")


class _Run(msgspec.Struct, kw_only=True):
    """What is read of one run; the lists have an entry a request. itls: here the sum of the times
    between tokens, in seconds, or why there is none."""

    input_lens: list[Any] | None = None
    output_lens: list[Any] | None = None
    ttfts: list[Any] | None = None
    itls: list[Any] | None = None
    latencies: list[Any] | None = None
    start_times: list[Any] | None = None
    errors: list[Any] | None = None
    cached_tokens: list[Any] | None = None
    cached_tokens_details: list[Any] | None = None
    model_id: str | None = None
    completed: int | None = None


_LISTS = [name for name in _Run.__struct_fields__ if name not in ("model_id", "completed")]
_ITLS = "itls"
_KEPT = frozenset(_Run.__struct_fields__) - {_ITLS}
_decoder, _gaps_decoder = msgspec.json.Decoder(_Run), msgspec.json.Decoder(list[float])


def recognises(value: object) -> bool:
    """Whether a first row or document is of this format, with or without its details."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("input_lens"), list):
        return bool(value.keys() & _DETAILS)
    return value.keys() >= _SUMMARY


def begins(names: dict[str, str]) -> bool:
    """Whether a large object is of this format."""
    details = _DETAILS | {"request_throughput"}
    return names.get("input_lens") == "[" and bool(names.keys() & details)


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All requests of all runs. Raises InputError."""
    results = Results(NAME, builder, options, "input_lens")
    num_runs = 0
    itls: list[float | InputError] = []
    for source in inputs:
        for part in parts_of(source, {_ITLS}, _KEPT):
            if part.array:
                itls.append(_sum_of(part.text, f"{part.place}[{len(itls)}]"))
                continue
            try:
                run: _Run = decode_struct(_decoder, part.text, part.place)
                if run.itls is not None:
                    run.itls = itls
                _check(run, part.place)
            except InputError as error:
                builder.reject(error)
            else:
                _take_run(run, part.place, num_runs, results, builder)
                num_runs += 1
            itls = []
    if num_runs > 1:
        builder.notes.append(
            f"{num_runs:,} runs read as one trace; times are of the client's own counter: they "
            "agree only if one machine made all runs, without a restart between"
        )
    return results.build(inputs)


def _sum_of(text: bytes, place: str) -> float | InputError:
    """Of one request's times between tokens; an error counts only where the sum is needed."""
    try:
        gaps_s = _gaps_decoder.decode(text)
        if all(0 <= gap_s <= MAX_SECONDS for gap_s in gaps_s):
            return sum(gaps_s)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass  # what is wrong, or only unusual, is found out one by one
    try:
        gaps = decode_any(text, place) or []
        if not isinstance(gaps, list):
            raise InputError(place, _ITLS, f"{gaps!r:.80} is no list")
        return sum(_seconds(gap, _ITLS, place) or 0.0 for gap in gaps)
    except InputError as error:
        return error


def _check(run: _Run, place: str) -> None:
    """Raise InputError unless it has its details and all its lists are of one length."""
    if run.input_lens is None:
        cause = (
            "missing: the run was saved without its requests (vLLM: --save-detailed, SGLang: "
            "--output-details)"
        )
        raise InputError(place, "input_lens", cause)
    for name in _LISTS:
        values = getattr(run, name)
        if values is not None and len(values) != len(run.input_lens):
            cause = f"{len(values):,} entries, but input_lens has {len(run.input_lens):,}"
            raise InputError(place, name, cause)


def _take_run(run: _Run, place: str, number: int, results: Results, builder: TraceBuilder) -> None:
    told = _cached_told(run)
    answered = silent = 0
    for i, cached_told in enumerate(told):
        if _failed(run, i):
            results.leave_out(FAILED)
            continue
        results.take(partial(_result, run, i, f"{place}[{i}]", f"{number}/{i}", cached_told))
        answered += 1
        silent += not cached_told
    if run.completed is not None and run.completed != answered:
        builder.notes.append(
            f"{place}: the run says that {run.completed:,} requests were completed, but "
            f"{answered:,} have an answer"
        )
    if run.cached_tokens is not None and silent > 0:
        builder.notes.append(
            f"{place}: {silent:,} requests have 0 cached tokens without any detail, as where the "
            "server did not report: taken as not told"
        )


def _at(values: list[Any] | None, i: int) -> Any:
    return None if values is None else values[i]


def _failed(run: _Run, i: int) -> bool:
    if _at(run.errors, i) not in (None, ""):
        return True
    told = [_at(run.output_lens, i), _at(run.ttfts, i), _at(run.latencies, i)]
    return all(value in (None, 0) for value in told) and any(value == 0 for value in told)


def _cached_told(run: _Run) -> list[bool]:
    """Which requests' cached tokens the server told: the client starts them all at 0, and only
    details, or any count above 0 where there are none, show that it was a server's figure."""
    count = len(run.input_lens or [])
    if run.cached_tokens is None:
        return [False] * count
    details = run.cached_tokens_details or [None] * count
    plain = not any(details) and any(value != 0 for value in run.cached_tokens)
    return [
        plain or bool(detail) or value != 0
        for value, detail in zip(run.cached_tokens, details, strict=True)
    ]


def _result(run: _Run, i: int, place: str, name: str, cached_told: bool) -> Result:
    """One answered request. Raises InputError."""
    start_s = _seconds(_at(run.start_times, i), "start_times", place)
    ttft_s = _seconds(_at(run.ttfts, i), "ttfts", place) or None  # 0: nothing was streamed
    took_s = _seconds(_at(run.latencies, i), "latencies", place) or None
    if took_s is None and ttft_s is not None:
        gaps_s = _at(run.itls, i) or 0.0
        if isinstance(gaps_s, InputError):
            raise gaps_s
        took_s = ttft_s + gaps_s
    row = Row(
        id=name,
        id_may_repeat=True,
        arrival_s=NO_TIME if start_s is None else start_s,
        finish_s=None if start_s is None or took_s is None else start_s + took_s,
        prompt=NO_SYMBOLS,
        prompt_tokens=0,
        output_tokens=_count(_at(run.output_lens, i), "output_lens", place),
        model=run.model_id,
        ttft_s=ttft_s,
    )
    if cached_told:
        row.reported = _count(_at(run.cached_tokens, i), "cached_tokens", place)
        row.tiers = _tiers(_at(run.cached_tokens_details, i), place)
    return Result(row, place, _count(_at(run.input_lens, i), "input_lens", place))


def _tiers(details: Any, place: str) -> dict[str, int]:
    if not isinstance(details, dict):
        return {}
    counts = {
        tier: _count(details.get(tier), f"cached_tokens_details.{tier}", place) for tier in _TIERS
    }
    return {tier: count for tier, count in counts.items() if count is not None}


def _seconds(value: Any, name: str, place: str) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float):
        raise InputError(place, name, f"{value!r:.80} is no number of seconds")
    return check_seconds(value, name, place)


def _count(value: Any, name: str, place: str) -> int | None:
    if value is not None and type(value) is not int:
        raise InputError(place, name, f"{value!r:.80} is no whole number")
    return tokens(value, name, place)


FORMAT = Format(
    NAME, "vllm bench serve or SGLang bench_serving results", recognises, read, begins=begins
)
