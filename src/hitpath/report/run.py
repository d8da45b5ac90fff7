"""One command's work: progress on a terminal, the analysis, then all outputs."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from rich.console import Console

from hitpath._jit import kernels_are_kept, nothing_compiled_yet
from hitpath.core import Progress, Setting, SettingError
from hitpath.cost.models import ModelKV
from hitpath.cost.price_list import PriceList
from hitpath.cost.pricing import Pricing
from hitpath.report.document import document
from hitpath.report.lengths import (
    lengths_document,
    write_lengths_ledger,
    write_lengths_per_request,
)
from hitpath.report.observed import check_observable, observed_document
from hitpath.report.output import check_places, is_stdout, write_whole
from hitpath.report.pages import print_page, write_json
from hitpath.report.pictures.files import PictureFile
from hitpath.report.rows import write_ledger, write_per_request
from hitpath.report.sampled import print_sampled, sampled_document
from hitpath.report.terminal import print_report
from hitpath.report.terminal_lengths import print_lengths
from hitpath.report.terminal_observed import print_observed
from hitpath.spine import analyze, estimate
from hitpath.summary import Analysis, Estimate, LengthsAnalysis, with_worth
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.text.tokenizer import files_of
from hitpath.traces import Trace, open_inputs
from hitpath.traces.detect import statistics_in
from hitpath.traces.engine_logs import Observed, observe
from hitpath.traces.files import expand
from hitpath.traces.sources import Input


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write; None for none, `-` for standard output. command: how the run can be
    repeated, as the HTML page tells it. beside: files that the command reads beside its traces and
    tokenizer; None for none."""

    json: str | None = None
    per_request: str | None = None
    ledger: str | None = None
    html: str | None = None
    command: str = ""
    pictures: tuple[PictureFile, ...] = ()
    show_text: bool = False
    beside: tuple[str | None, ...] = ()

    def files(self) -> list[str]:
        """Every output that was asked for."""
        all_of_them = (self.json, self.per_request, self.ledger, self.html)
        files = [path for path in all_of_them if path is not None]
        return [*files, *(picture.path for picture in self.pictures)]

    def of_requests(self) -> list[tuple[str, str | None]]:
        """(option, path) of the outputs that only a whole trace has."""
        return [
            ("--per-request", self.per_request),
            ("--ledger", self.ledger),
            ("--html", self.html),
            *((picture.option, picture.path) for picture in self.pictures),
        ]

    def page_wanted(self) -> bool:
        """Not where standard output is taken, or closed with the results going to files."""
        files = self.files()
        return not any(map(is_stdout, files)) and not (files and sys.stdout is None)

    def check(self, inputs: list[str], tokenizer: str | None = None) -> None:
        """Raise OutputError where two outputs would share one file, or one is an input."""
        check_outputs(self.files(), inputs, tokenizer, self.beside)
        if self.show_text and self.html is None:
            raise SettingError("--show-text", "puts text into a page; name one with --html")
        if any(picture.kind == "png" for picture in self.pictures):
            from hitpath.report.pictures.png import check_png

            check_png()


def check_outputs(
    files: Sequence[str],
    inputs: Sequence[str],
    tokenizer: str | None = None,
    beside: Iterable[str | None] = (),
) -> None:
    """Raise OutputError where two outputs would share one file, or one is an input. inputs: traces
    as typed. beside: other files that are read, or folders with a config.json; None for none."""
    traces = [source.path for source in expand(list(inputs)) if source.path is not None]
    others = [Path(path) for path in beside if path is not None]
    configs = [path / "config.json" for path in others]
    check_places(files, [*traces, *files_of(tokenizer), *others, *configs])


@dataclass(frozen=True, slots=True)
class Job:
    """One command: what to read, how, and where the results go. canonical: whether to look for
    tokens that diverged too (rung 7)."""

    traces: list[str]
    setting: Setting
    model: ModelKV | None
    skip_bad_rows: bool
    outputs: Outputs
    mapping: Sequence[str] = ()
    pricing: Pricing | None = None
    prices: PriceList | None = None
    canonical: bool = False


def run(job: Job) -> None:
    """Analyse, write every file, then print the page unless standard output is taken."""
    job.outputs.check(job.traces, job.setting.tokenizer)
    with shown_progress() as progress:
        inputs = open_inputs(job.traces, progress)
        if not job.mapping and statistics_in(inputs):
            found: Observed | Estimate | Analysis | LengthsAnalysis = _observed(job, inputs)
        else:
            announce_compilation()
            found = _analysed(job, inputs, progress)
    if job.model is not None and not isinstance(found, Observed):
        _check_sizes(found.trace, job.pricing)
    if isinstance(found, Analysis | LengthsAnalysis):
        found = with_worth(found, job.pricing, job.prices)
    if isinstance(found, Observed):
        write_observed(found, job.outputs)
    elif isinstance(found, Estimate):
        write_estimate(found, job.model, job.outputs)
    elif isinstance(found, LengthsAnalysis):
        write_lengths_outputs(found, job.outputs)
    else:
        write_outputs(found, job.model, job.outputs)


def _check_sizes(trace: Trace, pricing: Pricing | None) -> None:
    """Raise SettingError where a model's bytes of KV a token size nothing."""
    if trace.identity == "text":
        cause = "text is counted in bytes here, and KV has no size a byte: give --tokenizer too"
        raise SettingError("--model", cause)
    if trace.identity == "lengths_only" and pricing is None:
        raise SettingError("--model", f"no cache to size: {NO_IDENTITY}")


def _observed(job: Job, inputs: Sequence[Input]) -> Observed:
    """What an engine's log or metrics tell, or a SettingError for what needs requests."""
    check_observable(job.setting, job.model, [*_worth_options(job), *job.outputs.of_requests()])
    return observe(inputs, skip_bad_rows=job.skip_bad_rows)


def _worth_options(job: Job) -> list[tuple[str, object]]:
    """(option, what it asks for or None) of what needs every request."""
    return [("--hardware", job.pricing), ("--prices", job.prices)]


def _analysed(
    job: Job, inputs: Sequence[Input], progress: Progress | None
) -> Estimate | Analysis | LengthsAnalysis:
    is_sampled = job.setting.sample_frac is not None
    if is_sampled:
        for option, value in [*_worth_options(job), *job.outputs.of_requests()]:
            if value is not None:
                raise SettingError(option, "needs the whole trace; leave out --sample")
        if job.canonical:
            raise SettingError("--canonical", "needs the whole trace; leave out --sample")
        return estimate(
            job.traces,
            job.setting,
            skip_bad_rows=job.skip_bad_rows,
            mapping=job.mapping,
            progress=progress,
            inputs=inputs,
        )
    return analyze(
        job.traces,
        job.setting,
        skip_bad_rows=job.skip_bad_rows,
        mapping=job.mapping,
        progress=progress,
        inputs=inputs,
        canonical=job.canonical,
    )


def write_observed(observed: Observed, outputs: Outputs) -> None:
    """The document and the page of an engine's statistics."""
    if outputs.json is not None:
        write_json(outputs.json, observed_document(observed))
    if outputs.page_wanted():
        print_page(lambda page: print_observed(observed, page))


def write_estimate(estimated: Estimate, model: ModelKV | None, outputs: Outputs) -> None:
    """The document and the page of a sampled trace."""
    if outputs.json is not None:
        write_json(outputs.json, sampled_document(estimated, model))
    if outputs.page_wanted():
        print_page(lambda page: print_sampled(estimated, model, page))


def write_outputs(analysis: Analysis, model: ModelKV | None, outputs: Outputs) -> None:
    """All files whole, or an OutputError."""
    pages = _pages(analysis, model, outputs)
    if outputs.json is not None:
        write_json(outputs.json, document(analysis, model))
    if outputs.per_request is not None:
        write_whole(outputs.per_request, lambda file: write_per_request(analysis, file))
    if outputs.ledger is not None:
        write_whole(outputs.ledger, lambda file: write_ledger(analysis, file))
    _write_all(pages)
    if outputs.page_wanted():
        print_page(lambda page: print_report(analysis, model, page))


def write_lengths_outputs(analysis: LengthsAnalysis, outputs: Outputs) -> None:
    """The same for a trace of lengths only, or a SettingError for what needs prompts."""
    if outputs.show_text:
        raise SettingError("--show-text", f"there is no text: {NO_IDENTITY}")
    pages = _pages(analysis, None, outputs)
    if outputs.json is not None:
        write_json(outputs.json, lengths_document(analysis))
    if outputs.per_request is not None:
        write_whole(outputs.per_request, lambda file: write_lengths_per_request(analysis, file))
    if outputs.ledger is not None:
        write_whole(outputs.ledger, lambda file: write_lengths_ledger(analysis, file))
    _write_all(pages)
    if outputs.page_wanted():
        print_page(lambda page: print_lengths(analysis, page))


def _pages(
    analysis: Analysis | LengthsAnalysis, model: ModelKV | None, outputs: Outputs
) -> list[tuple[str, bytes]]:
    """Pictures and the HTML page, with the file of each. They are made before any file is written,
    for what a trace has no picture of is refused. What they need is loaded for them only."""
    pages: list[tuple[str, bytes]] = []
    if outputs.pictures:
        from hitpath.report.pictures.write import pictures_of

        pages += pictures_of(outputs.pictures, analysis, model)
    if outputs.html is not None:
        from hitpath.report.html import render_html

        html = render_html(analysis, model, outputs.command, outputs.show_text)
        pages.append((outputs.html, html + b"\n"))
    return pages


def _write_all(pages: Iterable[tuple[str, bytes]]) -> None:
    for path, content in pages:
        write_whole(path, partial(_write, content))


def _write(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def announce_compilation(within: str = "hitpath", about_s: int = 10) -> None:
    """Say once a machine why the first run is slow; where nothing can be kept, every time. within:
    the package whose kernels take about so long."""
    if sys.stderr is None or not nothing_compiled_yet(within):
        return
    when = f"first run only, some {about_s} s; cached afterwards"
    if not kernels_are_kept():
        when = f"some {about_s} s, in every run: no folder takes them; NUMBA_CACHE_DIR may name one"
    print(f"hitpath: compiling kernels ({when}) …", file=sys.stderr, flush=True)


@contextmanager
def shown_progress() -> Iterator[Progress | None]:
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
