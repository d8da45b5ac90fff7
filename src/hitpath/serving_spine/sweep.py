"""A grid of fleets, on all cores: every combination of the axes' values.

Cells run in threads (the kernel releases the interpreter) and share the trace and its forests. What
is done when the grid is interrupted is kept.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from hitpath.core import Progress, Setting, SettingError
from hitpath.routing.registry import RULES
from hitpath.serving_spine.cells import LESS_IS_BETTER, OBJECTIVES, Cell, measure
from hitpath.serving_spine.run import Prepared, prepare
from hitpath.serving_spine.stopping import Stop
from hitpath.sim.serving_file import FleetFile
from hitpath.sim.serving_plan import put_over
from hitpath.traces.table import Trace

if TYPE_CHECKING:
    from hitpath.sim.serving_inputs import ServingInputs

AXES: Mapping[str, str] = {
    "router": "router.name",
    "workers": "worker.count",
    "capacity": "worker.capacity_tokens",
    "block_size": "worker.block_size",
    "engine": "worker.engine",
    "tp": "worker.tp",
    "hardware": "worker.hardware",
    "max_batch_tokens": "worker.max_batch_tokens",
    "max_running": "worker.max_running",
    "rate": "load.rate_per_s",
    "scale": "load.scale",
    "think_s": "load.think_s",
    "index_lag": "router.index_lag_s",
    "index_loss": "router.index_loss_frac",
    "seed": "seed",
}
"""Name of an axis -> the fleet file's field."""

MOST_CELLS = 10_000
MOST_THREADS = 1024
_NUMBER = re.compile(r"[+-]?\d[\d_]*")


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: its name, and its values as typed."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What came of it. cells: in the grid's order; all of them where `complete`. best: the first
    with the best value of the objective; None where no cell has one."""

    axes: tuple[Axis, ...]
    cells: tuple[Cell, ...]
    best: Cell | None
    num_cells: int
    objective: str
    prepared: Prepared
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return len(self.cells) == self.num_cells

    def regret(self, cell: Cell) -> float | None:
        """How much worse than the best cell, as a share of the best one's value; of a hit rate the
        difference itself. None where it cannot be told."""
        return regret(cell, self.best, self.objective)

    def hit_regret(self, cell: Cell) -> float | None:
        """The clairvoyant bound minus the cell's hit rate."""
        bound, rate = cell.clairvoyant_rate, cell.hit_rate
        return None if bound is None or rate is None else bound - rate


def best_of(cells: Sequence[Cell], objective: str) -> Cell | None:
    """The first with the best value."""
    known = [(value, cell) for cell in cells if (value := cell.value(objective)) is not None]
    if not known:
        return None
    pick = min if objective in LESS_IS_BETTER else max
    best = pick(value for value, _ in known)
    return next(cell for value, cell in known if value == best)


def regret(cell: Cell, best: Cell | None, objective: str) -> float | None:
    """See `Sweep.regret`."""
    value, least = cell.value(objective), None if best is None else best.value(objective)
    if value is None or least is None:
        return None
    difference = value - least if objective in LESS_IS_BETTER else least - value
    if objective == "hit_rate":
        return difference
    return difference / least if least else (0.0 if not difference else None)


def parse_axes(typed: Sequence[str]) -> tuple[Axis, ...]:
    """Each "name=value,value". A comma in a router's own options stays with it: a new router
    begins where a router's name does. Raises SettingError."""
    axes: list[Axis] = []
    for text in typed:
        name, equals, values = text.partition("=")
        option = f"--sweep {text}"
        if not equals or name not in AXES:
            raise SettingError(option, f"is no axis: one of {', '.join(AXES)}, as router=a,b")
        if name in (axis.name for axis in axes):
            raise SettingError(option, f"the axis {name} is there already")
        parts = _routers(values) if name == "router" else values.split(",")
        found = tuple(part.strip() for part in parts)
        if "" in found or len(set(found)) < len(found):
            raise SettingError(option, "has an empty value" if "" in found else "repeats a value")
        axes.append(Axis(name, found))
    num_cells = _num_cells(axes)
    if num_cells > MOST_CELLS:
        raise SettingError("--sweep", f"{num_cells:,} cells are more than {MOST_CELLS:,}")
    return tuple(axes)


def _num_cells(axes: Sequence[Axis]) -> int:
    total = 1
    for axis in axes:
        total *= len(axis.values)
    return total


def _routers(text: str) -> list[str]:
    routers: list[str] = []
    for part in text.split(","):
        begins = part.partition(":")[0].strip() in RULES
        if begins or not routers or ":" not in routers[-1]:
            routers.append(part)
        else:
            routers[-1] += f",{part}"
    return routers


def cell_file(file: FleetFile, at: Mapping[str, str]) -> FleetFile:
    """The fleet of one cell. Raises SettingError for a value that the field does not take."""
    flags = {AXES[name]: _value(name, text) for name, text in at.items()}
    try:
        return put_over(file, flags)
    except SettingError as error:
        told = ", ".join(f"{name}={text}" for name, text in at.items())
        raise SettingError(f"--sweep {told}", str(error)) from error


def _value(name: str, text: str) -> Any:
    if name in ("router", "engine", "hardware"):
        return text
    try:
        return int(text) if _NUMBER.fullmatch(text) else float(text)
    except ValueError:
        raise SettingError(f"--sweep {name}={text}", "is no number") from None


def cells_of(axes: Sequence[Axis]) -> Iterator[dict[str, str]]:
    """Every combination, the last axis fastest."""
    names = [axis.name for axis in axes]
    for values in product(*(axis.values for axis in axes)):
        yield dict(zip(names, values, strict=True))


def run_sweep(
    trace: Trace,
    setting: Setting,
    file: FleetFile,
    axes: tuple[Axis, ...],
    objective: str | None = None,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    interrupted: Callable[[Sweep], None] | None = None,
) -> Sweep:
    """trace: from `servable`. On KeyboardInterrupt `interrupted` gets what is done, and the
    interrupt goes on. Raises HitpathError."""
    chosen = objective or ("goodput" if file.slo is not None else "ttft_p90")
    if chosen not in OBJECTIVES:
        raise SettingError(f"--objective {chosen}", f"not one of {', '.join(OBJECTIVES)}")
    if chosen == "goodput" and file.slo is None:
        raise SettingError("--objective goodput", "needs --slo")
    jobs = _jobs(trace, setting, file, axes)
    done: dict[int, Cell] = {}

    def result() -> Sweep:
        cells = tuple(done[i] for i in sorted(done))
        notes = {note: None for _, job in jobs for note in job.plan.notes}
        first = jobs[0][1]
        best = best_of(cells, chosen)
        return Sweep(axes, cells, best, len(jobs), chosen, first, (*first.sending.notes, *notes))

    pool, stop = ThreadPoolExecutor(num_threads or os.cpu_count() or 1), Stop()
    futures: dict[Future[Cell], int] = {}
    try:
        for number, (at, job) in enumerate(jobs):
            futures[pool.submit(measure, job, at, between=stop)] = number
        for future in as_completed(futures):
            done[futures[future]] = future.result()
            if progress is not None:
                progress("sweeping", len(done), len(jobs))
    except KeyboardInterrupt:
        stop.now()
        done |= {i: future.result() for future, i in futures.items() if _has_result(future)}
        if interrupted is not None:
            interrupted(result())
        raise
    finally:
        stop.now()
        pool.shutdown(wait=True, cancel_futures=True)
    return result()


def _has_result(future: Future[Cell]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _jobs(
    trace: Trace, setting: Setting, file: FleetFile, axes: tuple[Axis, ...]
) -> list[tuple[dict[str, str], Prepared]]:
    """Every cell, ready to run: what is wrong with one is told before any runs. Forests are made
    once for each way of cutting the trace."""
    jobs: list[tuple[dict[str, str], Prepared]] = []
    known: list[ServingInputs] = []
    for at in cells_of(axes):
        made = prepare(trace, setting, cell_file(file, at), known)
        if not any(made.inputs is one for one in known):
            known.append(made.inputs)
        jobs.append((at, made))
    return jobs
