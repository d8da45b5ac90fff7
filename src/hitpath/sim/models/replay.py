"""Requests of a trace served by engine models, without step times: what each would have hit.

At a request's arrival its whole prompt is admitted as one chunk, if there is room; else it waits,
first come first served, for whatever ends on its worker. Its result is there at once, but it holds
its room until its end, if the trace has one, and gets its output's tokens then. So the order of
admissions, ends and evictions is the engine's own, and hits are exact where the engine served in
that order; what depends on the time of steps (chunks, batches, twins at one moment) is not in it.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hitpath.core import ABSENT
from hitpath.sim.models.contract import EngineModel, Eviction, Hit, Request

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request of the trace. `end_s` None: it ends as it arrives. `output`: its reply's tokens."""

    request: Request
    worker: int
    arrival_s: float
    end_s: float | None = None
    output: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Replayed:
    """One entry a request, in tokens: rungs 0 to 3 of the ladder at its admission, the worker that
    reaches furthest, how much of the hit is the host's, and when it was admitted. A request larger
    than its worker is never admitted: its hit is ABSENT."""

    hit: Ints
    resident: Ints
    in_flight: Ints
    anywhere: Ints
    best_worker: Ints
    host: Ints
    admitted_s: npt.NDArray[np.float64]
    evictions: tuple[Eviction, ...]


@dataclass(slots=True)
class _Worker:
    model: EngineModel
    waiting: deque[int] = field(default_factory=deque)
    running: int = 0


def replay(arrivals: Sequence[Arrival], make: Callable[[], EngineModel], workers: int) -> Replayed:
    """Serve them in order; arrivals never fall. An end at the moment of an arrival comes first."""
    return _Replay(arrivals, make, workers).run()


class _Replay:
    def __init__(
        self, arrivals: Sequence[Arrival], make: Callable[[], EngineModel], workers: int
    ) -> None:
        self._arrivals = arrivals
        self._workers = [_Worker(make()) for _ in range(workers)]
        self._ends: list[tuple[float, int]] = []
        self._evictions: list[Eviction] = []
        shape = (6, len(arrivals))
        self._out = np.full(shape, ABSENT, dtype=np.int64)
        self._admitted_s = np.full(len(arrivals), np.nan)

    def run(self) -> Replayed:
        for i, arrival in enumerate(self._arrivals):
            self._end_until(arrival.arrival_s)
            worker = self._workers[arrival.worker]
            worker.waiting.append(i)
            self._admit(worker, arrival.arrival_s)
        self._end_until(float("inf"))
        for worker in self._workers:
            self._evictions += worker.model.take_evictions()
        hit, resident, in_flight, anywhere, best, host = self._out
        evictions = tuple(self._evictions)
        return Replayed(hit, resident, in_flight, anywhere, best, host, self._admitted_s, evictions)

    def _end_until(self, now_s: float) -> None:
        while self._ends and self._ends[0][0] <= now_s:
            end_s, i = heapq.heappop(self._ends)
            worker = self._workers[self._arrivals[i].worker]
            self._end(worker, i)
            self._admit(worker, end_s)

    def _admit(self, worker: _Worker, now_s: float) -> None:
        while worker.waiting:
            i = worker.waiting[0]
            arrival = self._arrivals[i]
            worker.model.new_step()
            rungs = self._rungs(arrival)
            hit = worker.model.admit(arrival.request)
            if hit is None and worker.running:
                return
            worker.waiting.popleft()
            if hit is None:
                continue  # it fits into no empty worker either
            worker.running += 1
            worker.model.processed(arrival.request.number)
            self._note(i, hit, rungs, now_s)
            if arrival.end_s is None or arrival.end_s <= now_s:
                self._end(worker, i)
            else:
                heapq.heappush(self._ends, (arrival.end_s, i))
            self._evictions += worker.model.take_evictions()

    def _rungs(self, arrival: Arrival) -> tuple[int, int, int, int]:
        """Rungs 1 to 3, and the worker that reaches furthest (the first, if several do)."""
        reaches = [worker.model.reach(arrival.request) for worker in self._workers]
        own = reaches[arrival.worker]
        furthest = [reach.in_flight for reach in reaches]
        best = max(range(len(furthest)), key=lambda v: (furthest[v], -v))
        return own.resident, own.in_flight, max(furthest), best

    def _note(self, i: int, hit: Hit, rungs: tuple[int, int, int, int], now_s: float) -> None:
        resident, in_flight, anywhere, best = rungs
        r1 = max(hit.tokens, resident)
        r2 = max(r1, in_flight)
        self._out[:, i] = (hit.tokens, r1, r2, max(r2, anywhere), best, hit.host_tokens)
        self._admitted_s[i] = now_s

    def _end(self, worker: _Worker, i: int) -> None:
        arrival = self._arrivals[i]
        number = arrival.request.number
        for k, token in enumerate(arrival.output):
            worker.model.generate(number, [token])
            if k == len(arrival.output) - 1:
                break  # the last one is never computed
            worker.model.new_step()
            if not worker.model.extend(number, 1):
                break  # cut where the worker is full: an engine would have preempted another
            worker.model.processed(number)
        worker.model.finish(number)
        worker.running -= 1
