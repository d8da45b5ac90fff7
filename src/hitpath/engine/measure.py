"""The measurements of one run, each within its share of the seconds left."""

from dataclasses import dataclass
from typing import Literal

from hitpath.cost.hardware_file import AttentionRate, GemmRate, MemoryRate
from hitpath.engine.backend import Backend
from hitpath.engine.tasks import Plan, Task
from hitpath.engine.timing import Budget, Call, Timing, time_call
from hitpath.engine.triad import MemoryPass

_WIDE_SPREAD_FRAC = 0.25


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure. `rate`: bytes or FLOP a second; `dtype` "" for memory."""

    kind: Literal["memory", "gemm", "attention"]
    dtype: str
    name: str
    timing: Timing
    rate: float


class Measurements:
    """Rows of the hardware file as they are measured, and what is to be said of them."""

    def __init__(self, backend: Backend, budget: Budget) -> None:
        self.notes: list[str] = []
        self.measured: list[Measured] = []
        self.memory: list[MemoryRate] = []
        self.gemm: list[GemmRate] = []
        self.attention: list[AttentionRate] = []
        self._backend, self._budget = backend, budget
        self._probed: dict[tuple[str, str], float] = {}

    def add_memory(self, one: MemoryPass, num_left: int) -> None:
        """One way over memory; `num_left` measurements are still to do, this one included."""
        timing = self._time(one.call, num_left)
        row = MemoryRate(
            what=one.what,
            bytes=one.num_bytes,
            seconds=timing.seconds,
            bytes_per_s=one.num_bytes / timing.seconds,
        )
        self.memory.append(row)
        self.measured.append(Measured("memory", "", one.name, timing, row.bytes_per_s))

    def add(self, task: Task, num_left: int) -> None:
        """One product or attention, unless it would take too long. The first of its kind and type
        is measured in any case: without one a type has no peak."""
        expected_s = self._expected_s(task)
        if expected_s is not None and not self._budget.allows(expected_s):
            what = f"{task.dtype} {task.kind} {task.name}"
            cause = f"not measured, for a call may take {expected_s:,.1f} s (--seconds)"
            self.notes.append(f"{what}: {cause}")
            return
        timing = self._time(task.call(self._backend), num_left)
        row = task.row(timing.seconds)
        if isinstance(row, GemmRate):
            self.gemm.append(row)
        else:
            self.attention.append(row)
        self.measured.append(Measured(task.kind, task.dtype, task.name, timing, row.flops_per_s))

    def add_notes_on_peaks(self, plan: Plan) -> None:
        """Say where a peak is that of a product that may be too small to reach it."""
        for dtype in {row.dtype: None for row in self.gemm}:
            largest = max(row.m for row in self.gemm if row.dtype == dtype)
            if largest < max(plan.rows):
                self.notes.append(
                    f"the {dtype} peak is that of products up to m = {largest}: "
                    "likely too low; give more --seconds"
                )

    def add_note_on_spread(self) -> None:
        """Say how many figures vary widely between repeats."""
        wide = sum(one.timing.spread_frac > _WIDE_SPREAD_FRAC for one in self.measured)
        if wide:
            self.notes.append(
                f"{wide} of {len(self.measured)} figures vary by more than "
                f"{_WIDE_SPREAD_FRAC:.0%} between repeats: best measured on an idle machine"
            )

    def _expected_s(self, task: Task) -> float | None:
        """By the best rate of its kind and type so far, or of a small one that arithmetic bounds
        (not kept): a large one cannot be stopped, and memory bounds the first ones."""
        kind = (task.dtype, task.kind)
        rates = [one.rate for one in self.measured if (one.dtype, one.kind) == kind]
        if not rates:
            return None
        if kind not in self._probed:
            probe = task.probe()
            timing = time_call(
                probe.call(self._backend), self._backend.wait, 0.0, self._budget.clock
            )
            self._probed[kind] = probe.row(timing.seconds).flops_per_s
        return task.row(1.0).flops() / max(*rates, self._probed[kind])

    def _time(self, call: Call, num_left: int) -> Timing:
        slice_s = self._budget.left_s() / num_left
        return time_call(call, self._backend.wait, slice_s, self._budget.clock)
