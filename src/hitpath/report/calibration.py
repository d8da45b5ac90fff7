"""`hitpath calibrate`: measure this machine, write the hardware file, print what was measured."""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.core import one_line
from hitpath.cost.hardware_file import write_hardware_file
from hitpath.engine.calibrate import DTYPES, Calibration, calibrate, choose_backend
from hitpath.engine.measure import Measured
from hitpath.report.output import check_writable, is_stdout, write_whole
from hitpath.report.pages import print_page, titled
from hitpath.report.text_parts import Page, label, percent, table


def run_calibrate(out: str, dtypes: str | None, seconds: float, device: str | None) -> None:
    """Measure and write the file; the page follows unless the file went to standard output.
    Raises HitpathError; whatever stood at `out` stays until all is measured."""
    to_stdout = is_stdout(out)
    name = "this-machine" if to_stdout else one_line(Path(out).stem)
    if not to_stdout:
        check_writable(out)
    wanted = None if dtypes is None else tuple(part.strip() for part in dtypes.split(","))
    backend, chosen = choose_backend(wanted, device)
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"hitpath: measuring for about {seconds:g} s …", file=sys.stderr, flush=True)
    measured_at = datetime.now(UTC).isoformat(timespec="seconds")
    found = calibrate(backend, chosen, name=name, measured_at=measured_at, seconds=seconds)
    data = write_hardware_file(found.file)
    write_whole(out, lambda file: _write(file, data))
    if not to_stdout:
        print_page(lambda page: print_calibration(found, out, page))


def _write(file: IO[bytes], data: bytes) -> None:
    file.write(data)


def print_calibration(found: Calibration, out: str, page: Page) -> None:
    """The whole page."""
    for section in _sections(found, out):
        page.print(section)


def _sections(found: Calibration, out: str) -> Iterable[RenderableType]:
    yield _head(found)
    for kind, title, unit in (
        ("memory", "Memory", "GB/s"),
        ("gemm", "Matrix products (m x k x n)", "GFLOP/s"),
        ("attention", "Attention of one layer", "GFLOP/s"),
    ):
        rows = [one for one in found.measured if one.kind == kind]
        if rows:
            yield titled(title, _rates(rows, unit))
    if found.notes:
        notes = Group(*(label(f"• {note}") for note in found.notes))
        yield titled("Before you quote a number", notes)
    yield Padding(label(f"Written to {out}; use it: --hardware {out}"), (0, 0, 1, 2))


def _head(found: Calibration) -> RenderableType:
    file = found.file
    peaks = ", ".join(
        f"{dtype} {peak / 1e9:,.4g} GFLOP/s (ridge point {peak / file.memory_bytes_per_s:,.3g})"
        for dtype, peak in file.peak_flops_per_s.items()
    )
    device = file.machine.accelerator or file.machine.processor
    memory = "" if file.memory_bytes is None else f", {file.memory_bytes / 2**30:,.3g} GiB"
    versions = ", ".join(f"{name} {version}" for name, version in file.versions.items())
    return Padding(
        Group(
            label(f"{device}{memory}"),
            Text(f"best product: {peaks}", style="bold green"),
            Text(f"memory: {file.memory_bytes_per_s / 1e9:,.4g} GB/s", style="bold green"),
            Text(f"{file.machine.operating_system} · {versions}", style="dim"),
        ),
        (1, 0, 1, 2),
    )


def _rates(rows: list[Measured], unit: str) -> RenderableType:
    typed = ["type<"] if rows[0].dtype else []
    shown = table(*typed, "<", unit, "a call, ms", "spread", "repeats")
    for one in sorted(rows, key=lambda one: DTYPES.index(one.dtype) if one.dtype else 0):
        shown.add_row(
            *([one.dtype] if typed else []),
            one.name,
            f"{one.rate / 1e9:,.4g}",
            f"{one.timing.seconds * 1e3:,.4g}",
            percent(one.timing.spread_frac),
            str(one.timing.num_repeats),
        )
    note = "median of the repeats; spread = (slowest - fastest) / median"
    return Group(shown, Text(note, style="dim"))
