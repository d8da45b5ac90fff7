"""One command's work: progress on a terminal, the analysis, then all outputs."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from hitpath._jit import nothing_compiled_yet
from hitpath.analyze import analyze, estimate
from hitpath.core import OutputError, Progress, Setting, SettingError
from hitpath.cost.models import ModelKV
from hitpath.report.document import document
from hitpath.report.output import STDOUT, write_whole
from hitpath.report.rows import write_ledger, write_per_request
from hitpath.report.sampled import print_sampled, sampled_document
from hitpath.report.terminal import WIDTH, print_report
from hitpath.summary import Analysis
from hitpath.traces.files import expand


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write; None for none, `-` for standard output."""

    json: str | None = None
    per_request: str | None = None
    ledger: str | None = None
    svg: str | None = None

    def check(self, inputs: list[str]) -> None:
        """Raise OutputError where two outputs would share one file, or one is an input."""
        read = {source.path.resolve() for source in expand(inputs) if source.path is not None}
        taken: set[object] = set()
        for path in (self.json, self.per_request, self.ledger, self.svg):
            if path is None:
                continue
            place = path if path == STDOUT else Path(path).resolve()
            if place in taken:
                raise OutputError(path, "named for two outputs")
            if place in read:
                raise OutputError(path, "is an input of this analysis")
            taken.add(place)


@dataclass(frozen=True, slots=True)
class Job:
    """One command: what to read, how, and where the results go."""

    traces: list[str]
    setting: Setting
    model: ModelKV | None
    skip_bad_rows: bool
    outputs: Outputs


def run(job: Job) -> None:
    """Analyse, write every file, then print the page unless standard output is taken."""
    job.outputs.check(job.traces)
    announce_compilation()
    if job.setting.sample_frac is not None:
        _run_estimate(job)
        return
    with _progress() as progress:
        analysis = analyze(
            job.traces, job.setting, skip_bad_rows=job.skip_bad_rows, progress=progress
        )
    write_outputs(analysis, job.model, job.outputs)


def _run_estimate(job: Job) -> None:
    outputs = job.outputs
    for option, path in (
        ("--per-request", outputs.per_request),
        ("--ledger", outputs.ledger),
        ("--svg", outputs.svg),
    ):
        if path is not None:
            raise SettingError(option, "needs the whole trace; leave out --sample")
    with _progress() as progress:
        estimated = estimate(
            job.traces, job.setting, skip_bad_rows=job.skip_bad_rows, progress=progress
        )
    if outputs.json is not None:
        write_json(outputs.json, sampled_document(estimated, job.model))
    if outputs.json != STDOUT:
        print_sampled(estimated, job.model, _page())


def write_json(path: str, content: dict[str, Any]) -> None:
    """One indented JSON document."""
    text = msgspec.json.format(msgspec.json.encode(content), indent=2)
    write_whole(path, lambda file: _write_line(file, text))


def write_outputs(analysis: Analysis, model: ModelKV | None, outputs: Outputs) -> None:
    """All files whole, or an OutputError."""
    if outputs.json is not None:
        write_json(outputs.json, document(analysis, model))
    if outputs.per_request is not None:
        write_whole(outputs.per_request, lambda file: write_per_request(analysis, file))
    if outputs.ledger is not None:
        write_whole(outputs.ledger, lambda file: write_ledger(analysis, file))
    if outputs.svg is not None:
        picture = _picture(analysis, model)
        write_whole(outputs.svg, lambda file: _write_line(file, picture))
    if STDOUT not in (outputs.json, outputs.per_request, outputs.ledger, outputs.svg):
        print_report(analysis, model, _page())


def _write_line(file: IO[bytes], text: bytes) -> None:
    file.write(text + b"\n")


def _page() -> Console:
    console = Console(highlight=False)
    return Console(
        highlight=False, width=min(WIDTH, console.width) if console.is_terminal else WIDTH
    )


def _picture(analysis: Analysis, model: ModelKV | None) -> bytes:
    with open("/dev/null", "w") as nowhere:
        console = Console(
            record=True, width=WIDTH, file=nowhere, highlight=False, force_terminal=True
        )
        print_report(analysis, model, console)
    return console.export_svg(title="hitpath analyze", code_format=_svg_format()).encode()


def _svg_format() -> str:
    """rich's template without its fonts from elsewhere: a page of ours loads nothing."""
    local = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return local.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")


def announce_compilation() -> None:
    """Say once a machine why the first run is slow."""
    if nothing_compiled_yet():
        print(
            "hitpath: compiling kernels (first run only, some 10 s; cached afterwards) …",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar on standard error, only where a person looks at it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total or None)
            bars.update(tasks[stage], completed=done)

        yield progress
