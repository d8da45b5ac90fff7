"""What this machine does a second: memory, matrix products and attention by shape.

Each figure is the median of repeats after a warm-up, with its spread. Peaks are the best product
of a type, the memory's rate is the best triad. Weights and KV are taken in turn from more copies
than the last-level cache holds, for a model's layers come from memory, too. A shape that would
take more than half of the time left is not measured, and a note says so.

Links between GPUs are not measured. Clocks, power limits and neighbours are as they are.
"""

import platform
from dataclasses import dataclass

from hitpath import __version__
from hitpath.core import SettingError, one_line
from hitpath.cost.device import Dtype
from hitpath.cost.hardware_file import HardwareFile, Machine
from hitpath.engine.backend import Backend
from hitpath.engine.machine import load_average, num_cores, operating_system, processor
from hitpath.engine.measure import Measured, Measurements
from hitpath.engine.numpy_backend import NumpyBackend
from hitpath.engine.tasks import PLANS, Plan, default_array_bytes, tasks_of
from hitpath.engine.timing import Budget
from hitpath.engine.torch_backend import TorchBackend, import_torch

DTYPES: tuple[Dtype, ...] = ("fp32", "bf16")
DEVICES = ("cpu", "cuda")

_MOST_S = 3600.0
_BUSY_FRAC = 0.5


@dataclass(frozen=True, slots=True)
class Calibration:
    """The hardware file, its figures with their spread, and what a reader must know of them."""

    file: HardwareFile
    measured: tuple[Measured, ...]
    notes: tuple[str, ...]


def choose_backend(
    dtypes: tuple[str, ...] | None = None, device: str | None = None
) -> tuple[Backend, tuple[Dtype, ...]]:
    """(what computes, the types to measure): torch where it is, else numpy in fp32.

    None: every type that the library has; a CUDA device where torch sees one. Raises SettingError
    for a type or a device that is not there.
    """
    if device is not None and device not in DEVICES:
        raise SettingError(f"--device {one_line(device)}", f"not one of {', '.join(DEVICES)}")
    for dtype in dtypes or ():
        if dtype not in DTYPES:
            raise SettingError(f"--dtype {one_line(dtype)}", f"not one of {', '.join(DTYPES)}")
    torch, missing = import_torch()
    if torch is None and device == "cuda":
        raise SettingError("--device cuda", f"needs torch, which is {missing}")
    backend: Backend
    if torch is None:
        backend = NumpyBackend(torch_is=missing)
    else:
        backend = TorchBackend(torch, device or ("cuda" if torch.cuda.is_available() else "cpu"))
    wanted = backend.dtypes if dtypes is None else tuple(d for d in DTYPES if d in dtypes)
    for dtype in wanted:
        if dtype not in backend.dtypes:
            raise SettingError(f"--dtype {dtype}", f"needs torch, which is {missing}")
    return backend, wanted


def calibrate(
    backend: Backend,
    dtypes: tuple[Dtype, ...],
    *,
    name: str,
    measured_at: str,
    seconds: float,
    plan: Plan | None = None,
) -> Calibration:
    """Measure for about so many seconds. Raises SettingError for seconds that are none."""
    if not 0 < seconds <= _MOST_S:
        raise SettingError("--seconds", f"{seconds:g} is not above 0 and at most {_MOST_S:,.0f}")
    plan = plan or PLANS[backend.kind]
    run = Measurements(backend, Budget(seconds))
    run.notes += [*backend.notes, *_notes_on_load()]
    tasks = list(tasks_of(plan, dtypes, backend.cache_bytes))
    array_bytes = plan.array_bytes
    if array_bytes is None:
        array_bytes = default_array_bytes(backend.cache_bytes, backend.memory_bytes)
    if array_bytes < backend.cache_bytes:
        cause = f"{array_bytes / 2**20:,.3g} of {backend.cache_bytes / 2**20:,.3g} MiB"
        run.notes.append(f"the triad's arrays are smaller than the cache: {cause}")
    for one in backend.memory_passes(array_bytes):
        run.add_memory(one, len(tasks) + 2)
    for i, task in enumerate(tasks):
        run.add(task, len(tasks) - i)
    run.add_notes_on_peaks(plan)
    run.add_note_on_spread()
    file = _file(run, backend, name, measured_at)
    return Calibration(file, tuple(run.measured), tuple(run.notes))


def _notes_on_load() -> list[str]:
    load, cores = load_average(), num_cores()
    if load is None or load < _BUSY_FRAC * cores:
        return []
    return [f"other work was running (load {load:.1f} on {cores} cores): rates are too low"]


def _file(run: Measurements, backend: Backend, name: str, measured_at: str) -> HardwareFile:
    peaks: dict[Dtype, float] = {}
    for row in run.gemm:
        peaks[row.dtype] = max(row.flops_per_s, peaks.get(row.dtype, 0.0))
    rates = {
        what: max(row.bytes_per_s for row in run.memory if row.what == what)
        for what in {row.what for row in run.memory}
    }
    return HardwareFile(
        name=name,
        kind=backend.kind,
        measured_at=measured_at,
        machine=Machine(
            processor=processor(),
            operating_system=operating_system(),
            num_threads=num_cores(),
            memory_bytes=backend.memory_bytes,
            accelerator=backend.accelerator,
        ),
        versions={
            "hitpath": __version__,
            "python": platform.python_version(),
            **backend.versions,
        },
        peak_flops_per_s=peaks,
        memory_bytes_per_s=rates["copy"],
        memory_bytes=backend.memory_bytes,
        pcie_bytes_per_s=rates.get("pcie"),
        gemm=run.gemm,
        attention=run.attention,
        memory=run.memory,
    )
