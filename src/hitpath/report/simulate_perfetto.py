"""A simulation as a Chrome trace (opens in Perfetto and chrome://tracing): trace-event JSON.

A worker is a process. A request is up to three slices behind each other on one thread of it: queue
(sent to admitted), prefill (to its first token), decode (to its end). Requests that overlap in time
stand on different threads, so that no slice cuts another. Counters: requests waiting and running,
and the share of KV blocks in use. Format: "Trace Event Format" (Google, 2016): `ph` M, X and C,
`ts` and `dur` in microseconds.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import msgspec
import numpy as np

from hitpath.core import one_line
from hitpath.serving_spine import Simulation
from hitpath.summary.serving import kv_use_of
from hitpath.traces.table import Floats, Ints

MOST_REQUESTS = 50_000
MOST_SAMPLES = 100_000
_US = 1e6
_PHASES = ("queue", "prefill", "decode")


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is drawn. Times in seconds of virtual time, NaN where it never came.

    ids, sent_s, admit_s, first_token_s, finish_s, worker, prompt_tokens, hit_tokens,
    output_tokens: [N]. workers: names. sample_s [S]; waiting, running [S, W]; kv_use [S, W], empty
    where a cache is unlimited.
    """

    ids: tuple[str, ...]
    sent_s: Floats
    admit_s: Floats
    first_token_s: Floats
    finish_s: Floats
    worker: Ints
    prompt_tokens: Ints
    hit_tokens: Ints
    output_tokens: Ints
    workers: tuple[str, ...]
    sample_s: Floats
    waiting: Ints
    running: Ints
    kv_use: Floats


def timeline_of(simulation: Simulation) -> Timeline:
    """What is drawn of a run."""
    served, prepared = simulation.served, simulation.prepared
    outcome, samples = served.outcome, served.outcome.samples
    use = kv_use_of(served)
    return Timeline(
        ids=prepared.inputs.trace.ids,
        sent_s=outcome.sent_s,
        admit_s=outcome.admit_s,
        first_token_s=outcome.first_token_s,
        finish_s=outcome.finish_s,
        worker=outcome.worker,
        prompt_tokens=served.prompt_tokens,
        hit_tokens=outcome.hit_tokens,
        output_tokens=served.output_tokens,
        workers=prepared.plan.worker_names,
        sample_s=samples.time_s,
        waiting=samples.waiting,
        running=samples.running,
        kv_use=np.zeros((len(samples.time_s), 0)) if use is None else use,
    )


def write_perfetto(timeline: Timeline, title: str, file: IO[bytes]) -> None:
    """One JSON document, event by event; the first MOST_REQUESTS requests by time of sending."""
    order = np.argsort(timeline.sent_s, kind="stable")
    drawn = order[~np.isnan(timeline.admit_s[order])][:MOST_REQUESTS]
    left_out = len(order) - len(drawn)
    file.write(b'{"displayTimeUnit":"ms","otherData":')
    told = {"title": title, "requests": str(len(drawn)), "requests_left_out": str(left_out)}
    file.write(msgspec.json.encode(told))
    file.write(b',"traceEvents":[\n')
    first = True
    for event in _events(timeline, drawn):
        file.write(b"" if first else b",\n")
        file.write(msgspec.json.encode(event))
        first = False
    file.write(b"\n]}\n")


def _events(timeline: Timeline, drawn: Ints) -> Iterator[dict[str, Any]]:
    for number, name in enumerate(timeline.workers):
        yield _named("process_name", number, 0, one_line(name))
        yield {**_named("process_sort_index", number, 0, ""), "args": {"sort_index": number}}
    yield from _slices(timeline, drawn)
    yield from _counters(timeline)


def _named(what: str, worker: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": worker + 1, "tid": thread, "args": {"name": name}}


def _slices(timeline: Timeline, drawn: Ints) -> Iterator[dict[str, Any]]:
    """Each request on the first thread of its worker that is free when it is sent."""
    free: dict[int, list[int]] = {}
    busy: dict[int, list[tuple[float, int]]] = {}
    for row in drawn.tolist():
        worker = int(timeline.worker[row])
        times = _phase_ends(timeline, row)
        lanes, running = free.setdefault(worker, []), busy.setdefault(worker, [])
        while running and running[0][0] <= times[0]:
            heapq.heappush(lanes, heapq.heappop(running)[1])
        lane = heapq.heappop(lanes) if lanes else len(running) + 1
        heapq.heappush(running, (times[-1], lane))
        args = {
            "request": one_line(timeline.ids[row]),
            "prompt_tokens": int(timeline.prompt_tokens[row]),
            "hit_tokens": int(timeline.hit_tokens[row]),
            "output_tokens": int(timeline.output_tokens[row]),
        }
        for name, begin, end in zip(_PHASES, times, times[1:], strict=False):
            if end > begin:
                yield {
                    "name": name,
                    "cat": "request",
                    "ph": "X",
                    "ts": begin,
                    "dur": end - begin,
                    "pid": worker + 1,
                    "tid": lane,
                    "args": args,
                }


def _phase_ends(timeline: Timeline, row: int) -> list[float]:
    """Microseconds, whole nanoseconds, that never run backwards: sent, admitted, first token, end;
    shorter where the request ended early."""
    columns = (timeline.sent_s, timeline.admit_s, timeline.first_token_s, timeline.finish_s)
    times = [round(float(column[row]) * _US, 3) for column in columns if not np.isnan(column[row])]
    return [max(times[: i + 1]) for i in range(len(times))]


def _counters(timeline: Timeline) -> Iterator[dict[str, Any]]:
    every = max(1, -(-timeline.waiting.size // MOST_SAMPLES))
    for i in range(0, len(timeline.sample_s), every):
        at = round(float(timeline.sample_s[i]) * _US, 3)
        for worker in range(len(timeline.workers)):
            waiting, running = int(timeline.waiting[i, worker]), int(timeline.running[i, worker])
            drawn: dict[str, dict[str, float]] = {
                "requests": {"waiting": waiting, "running": running}
            }
            if timeline.kv_use.size:
                drawn["KV"] = {"in use": round(float(timeline.kv_use[i, worker]), 6)}
            for name, values in drawn.items():
                yield {"name": name, "ph": "C", "ts": at, "pid": worker + 1, "args": values}
