"""The smallest fleet that keeps an SLO, for each router, and the best of them.

For each router: the number of workers is doubled until the SLO is kept, then halved in between,
for more workers can only help a load that does not change. Where they do not (a router that
spreads a prefix over more caches), the answer is still one that was tried and kept, with one that
was tried and did not just below it; one worker more is tried too, and told where it breaks it.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from hitpath.core import Progress, Setting, SettingError
from hitpath.serving_spine.cells import Cell, measure
from hitpath.serving_spine.run import Prepared, prepare
from hitpath.serving_spine.stopping import Stop
from hitpath.sim.serving_file import FleetFile
from hitpath.sim.serving_inputs import ServingInputs
from hitpath.sim.serving_plan import put_over
from hitpath.traces.table import Trace

DEFAULT_ROUTERS = (
    "round-robin",
    "least-loaded",
    "prefix-hash",
    "llmd-approx",
    "llmd-precise",
    "dynamo",
    "hitpath",
)
MOST_WORKERS = 1024


@dataclass(frozen=True, slots=True)
class Tried:
    """One fleet that was run."""

    router: str
    workers: int
    cell: Cell

    @property
    def met(self) -> bool:
        return self.cell.goodput is not None and self.cell.goodput.met


@dataclass(frozen=True, slots=True)
class Found:
    """The smallest fleet of one router. workers: None where even the largest tried breaks the SLO.
    not_monotone: one worker more breaks it again."""

    router: str
    workers: int | None
    cell: Cell | None
    not_monotone: bool


@dataclass(frozen=True, slots=True)
class Sizing:
    """best: the fewest workers; of equals the lowest first bound; of equals the first router."""

    slo: str
    found: tuple[Found, ...]
    tried: tuple[Tried, ...]
    best: Found | None
    most_workers: int
    gpus_per_worker: int | None
    gpu_hour_usd: float | None
    prepared: Prepared

    def usd_per_hour(self, workers: int) -> float | None:
        """None where no price of a GPU-hour is given."""
        if self.gpus_per_worker is None or self.gpu_hour_usd is None:
            return None
        return workers * self.gpus_per_worker * self.gpu_hour_usd


class _Search:
    """Runs of one router, each number of workers at most once. known: forests that are made."""

    def __init__(
        self, router: str, first: Prepared, known: Sequence[ServingInputs], stop: Stop
    ) -> None:
        self._router, self._first, self._known, self._stop = router, first, known, stop
        self.tried: dict[int, Tried] = {}

    def run(self, workers: int) -> Tried:
        """That fleet's figures."""
        if workers not in self.tried:
            first = self._first
            file = put_over(first.file, {"worker.count": workers})
            prepared = prepare(first.trace, first.setting, file, self._known)
            at = {"router": self._router, "workers": str(workers)}
            cell = measure(prepared, at, with_bound=False, between=self._stop)
            self.tried[workers] = Tried(self._router, workers, cell)
        return self.tried[workers]

    def smallest(self, most: int) -> Found:
        """By doubling, then halving the gap."""
        high = 1
        while not self.run(high).met:
            if high == most:
                return Found(self._router, None, None, False)
            high = min(2 * high, most)
        low = max((workers for workers in self.tried if workers < high), default=0)
        while high - low > 1:
            middle = (low + high) // 2
            if self.run(middle).met:
                high = middle
            else:
                low = middle
        more = high < most and not self.run(high + 1).met
        return Found(self._router, high, self.run(high).cell, more)


def find_size(
    trace: Trace,
    setting: Setting,
    file: FleetFile,
    routers: Sequence[str] = DEFAULT_ROUTERS,
    most_workers: int = 64,
    progress: Progress | None = None,
) -> Sizing:
    """trace: from `servable`. The same arguments give the same answer. Raises HitpathError."""
    if file.slo is None:
        raise SettingError("--slo", "needed: what the fleet has to keep")
    if len(file.workers) > 1:
        raise SettingError("--fleet", "has several groups: which of them is to grow?")
    if not 1 <= most_workers <= MOST_WORKERS:
        raise SettingError(f"--max-workers {most_workers}", f"is not from 1 to {MOST_WORKERS:,}")
    if not routers or len(set(routers)) < len(routers):
        raise SettingError("--router", "names none, or one of them twice")
    prepared: list[Prepared] = []
    for router in routers:
        one = put_over(file, {"router.name": router, "worker.count": 1})
        prepared.append(prepare(trace, setting, one, [made.inputs for made in prepared]))
    known = [made.inputs for made in prepared]
    stop = Stop()
    searches = [_Search(r, made, known, stop) for r, made in zip(routers, prepared, strict=True)]
    found = tuple(_all_found(searches, most_workers, progress, stop))
    replica = prepared[0].plan.groups[0].replica
    return Sizing(
        slo=file.slo,
        found=found,
        tried=tuple(tried for search in searches for tried in search.tried.values()),
        best=_best(found),
        most_workers=most_workers,
        gpus_per_worker=None if replica is None else replica.num_gpus,
        gpu_hour_usd=file.gpu_hour_usd,
        prepared=prepared[0],
    )


def _all_found(
    searches: Sequence[_Search], most_workers: int, progress: Progress | None, stop: Stop
) -> list[Found]:
    """A thread a router, as many as there are cores."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = [pool.submit(search.smallest, most_workers) for search in searches]
        try:
            for done, _ in enumerate(as_completed(futures), 1):
                if progress is not None:
                    progress("searching", done, len(searches))
        except BaseException:
            stop.now()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _best(found: Sequence[Found]) -> Found | None:
    enough = [one for one in found if one.workers is not None]
    return min(enough, key=_order, default=None)


def _order(found: Found) -> tuple[int, float]:
    assert found.workers is not None
    assert found.cell is not None
    goodput = found.cell.goodput
    assert goodput is not None
    value = goodput.bounds[0].value_s
    return found.workers, 0.0 if value is None else value
