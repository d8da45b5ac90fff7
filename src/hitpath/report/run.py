"""One command's work: progress on a terminal, the analysis, then all outputs."""

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import msgspec
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from hitpath._jit import nothing_compiled_yet
from hitpath.analyze import analyze, estimate
from hitpath.core import OutputError, Progress, ReaderGone, Setting, SettingError
from hitpath.cost.models import ModelKV
from hitpath.report.document import document
from hitpath.report.lengths import (
    lengths_document,
    write_lengths_ledger,
    write_lengths_per_request,
)
from hitpath.report.output import STDOUT, check_writable, write_whole
from hitpath.report.rows import write_ledger, write_per_request
from hitpath.report.sampled import print_sampled, sampled_document
from hitpath.report.terminal import NARROWEST, WIDTH, print_report
from hitpath.report.terminal_lengths import print_lengths
from hitpath.report.text_parts import Page
from hitpath.summary import Analysis, LengthsAnalysis
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.traces.files import expand


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write; None for none, `-` for standard output. command: how the run can be
    repeated, as the HTML page tells it."""

    json: str | None = None
    per_request: str | None = None
    ledger: str | None = None
    svg: str | None = None
    html: str | None = None
    command: str = ""

    def files(self) -> list[str]:
        """Every output that was asked for."""
        all_of_them = (self.json, self.per_request, self.ledger, self.svg, self.html)
        return [path for path in all_of_them if path is not None]

    def page_wanted(self) -> bool:
        """Not where standard output is taken, or closed with the results going to files."""
        files = self.files()
        return STDOUT not in files and not (files and sys.stdout is None)

    def check(self, inputs: list[str]) -> None:
        """Raise OutputError where two outputs would share one file, or one is an input."""
        read = {source.path.resolve() for source in expand(inputs) if source.path is not None}
        taken: set[object] = set()
        for path in self.files():
            place = path if path == STDOUT else check_writable(path)
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
    if isinstance(analysis, LengthsAnalysis):
        write_lengths_outputs(analysis, job.outputs)
    else:
        write_outputs(analysis, job.model, job.outputs)


def _run_estimate(job: Job) -> None:
    outputs = job.outputs
    for option, path in (
        ("--per-request", outputs.per_request),
        ("--ledger", outputs.ledger),
        ("--svg", outputs.svg),
        ("--html", outputs.html),
    ):
        if path is not None:
            raise SettingError(option, "needs the whole trace; leave out --sample")
    with _progress() as progress:
        estimated = estimate(
            job.traces, job.setting, skip_bad_rows=job.skip_bad_rows, progress=progress
        )
    if outputs.json is not None:
        write_json(outputs.json, sampled_document(estimated, job.model))
    if outputs.page_wanted():
        print_page(lambda page: print_sampled(estimated, job.model, page))


def write_json(path: str, content: dict[str, Any] | list[Any]) -> None:
    """One indented JSON document; what JSON has no type for (dates) is written as text."""
    text = msgspec.json.format(msgspec.json.encode(content, enc_hook=str), indent=2)
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
        picture = _picture(lambda page: print_report(analysis, model, page))
        write_whole(outputs.svg, lambda file: _write_line(file, picture))
    if outputs.html is not None:
        from hitpath.report.html import render_html  # jinja2, for this output only

        html = render_html(analysis, model, outputs.command)
        write_whole(outputs.html, lambda file: _write_line(file, html))
    if outputs.page_wanted():
        print_page(lambda page: print_report(analysis, model, page))


def write_lengths_outputs(analysis: LengthsAnalysis, outputs: Outputs) -> None:
    """The same for a trace of lengths only, or a SettingError for what needs prompts."""
    if outputs.html is not None:
        raise SettingError("--html", f"needs prompts: {NO_IDENTITY}")
    if outputs.json is not None:
        write_json(outputs.json, lengths_document(analysis))
    if outputs.per_request is not None:
        write_whole(outputs.per_request, lambda file: write_lengths_per_request(analysis, file))
    if outputs.ledger is not None:
        write_whole(outputs.ledger, lambda file: write_lengths_ledger(analysis, file))
    if outputs.svg is not None:
        picture = _picture(lambda page: print_lengths(analysis, page))
        write_whole(outputs.svg, lambda file: _write_line(file, picture))
    if outputs.page_wanted():
        print_page(lambda page: print_lengths(analysis, page))


def _write_line(file: IO[bytes], text: bytes) -> None:
    file.write(text + b"\n")


def page_console(**options: Any) -> Page:
    """Where the page goes: the terminal's width from NARROWEST to WIDTH, or WIDTH into a file or
    pipe. A narrower terminal wraps lines by itself: no number is cut."""
    if sys.stdout is None:
        raise OutputError("stdout", "cannot be written: it is closed")
    page = Page()
    width = min(WIDTH, max(NARROWEST, page.width)) if page.is_terminal else WIDTH
    return Page(width=width, **options)


def print_page(show: Callable[[Page], None]) -> None:
    """Print a page and be sure that it arrived."""
    try:
        show(page_console())
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error
    except OSError as error:
        # What is still buffered would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError("stdout", f"cannot be written: {error.strerror}") from error


def _picture(show: Callable[[Page], None]) -> bytes:
    page = Page(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    show(page)
    return page.export_svg(title="hitpath analyze", code_format=_svg_format()).encode()


def _svg_format() -> str:
    """rich's template without its fonts from elsewhere: a page of ours loads nothing."""
    local = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return local.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")


def announce_compilation() -> None:
    """Say once a machine why the first run is slow."""
    if sys.stderr is not None and nothing_compiled_yet():
        print(
            "hitpath: compiling kernels (first run only, some 10 s; cached afterwards) …",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar on standard error, only where a person looks at it."""
    if sys.stderr is None or not sys.stderr.isatty():
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
