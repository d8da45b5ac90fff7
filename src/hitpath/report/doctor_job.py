"""One `hitpath doctor` command: the diagnosis, then its files, then the page."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from hitpath.core import InputError, Setting, printable
from hitpath.cost.price_list import PriceList
from hitpath.cost.pricing import Pricing
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_document import doctor_document
from hitpath.report.doctor_fix import check_fixable, write_fixed
from hitpath.report.doctor_lengths import NO_TEXT, lengths_document, print_lengths_diagnosis
from hitpath.report.doctor_run import Subject, examine, read_kept, subject_of
from hitpath.report.doctor_sarif import sarif_document
from hitpath.report.doctor_terminal import print_diagnosis
from hitpath.report.html.doctor import doctor_page
from hitpath.report.output import is_stdout, write_whole
from hitpath.report.pages import print_page, write_json, write_line
from hitpath.report.run import announce_compilation, check_outputs, shown_progress
from hitpath.report.without_values import values_hidden
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces.table import Trace


@dataclass(frozen=True, slots=True)
class DoctorJob:
    """One command. json, html, sarif, fix: files, `-` or None. content: whether outputs may hold
    text of prompts."""

    traces: list[str]
    setting: Setting
    mapping: Sequence[str] = ()
    skip_bad_rows: bool = False
    json: str | None = None
    rows: bool = False
    html: str | None = None
    sarif: str | None = None
    fix: str | None = None
    content: bool = True
    command: str = ""
    pricing: Pricing | None = None
    prices: PriceList | None = None

    def files(self) -> list[str]:
        """Every output that was asked for."""
        return [path for path in (self.json, self.html, self.sarif, self.fix) if path is not None]


def run_doctor(job: DoctorJob) -> None:
    """Raises HitpathError."""
    check_outputs(job.files(), job.traces, job.setting.tokenizer)
    announce_compilation()
    with values_hidden(not job.content), shown_progress() as progress:
        tokenizer = load_tokenizer(job.setting.tokenizer)
        trace, kept = read_kept(
            job.traces,
            job.setting,
            tokenizer,
            skip_bad_rows=job.skip_bad_rows,
            mapping=job.mapping,
            progress=progress,
        )
        if trace.identity == "lengths_only":
            _tell_lengths(job, trace)
            return
        subject = subject_of(trace, kept, job.setting, progress, tokenizer)
        if job.fix is not None:
            check_fixable(subject.trace)
        found = examine(subject, pricing=job.pricing, prices=job.prices, progress=progress)
    _write(job, found, subject)
    files = job.files()
    if not any(map(is_stdout, files)) and not (files and sys.stdout is None):
        print_page(lambda page: print_diagnosis(found, page, job.content))


def _write(job: DoctorJob, found: Diagnosis, subject: Subject) -> None:
    """Every file that was asked for. Interrupted between two, standard error says which are
    written: each is whole, or as it was before."""
    written: list[str] = []
    try:
        for path, write in _outputs(job, found, subject):
            write(path)
            written.append(path)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print(_how_far(job, written), file=sys.stderr, flush=True)
        raise


def _how_far(job: DoctorJob, written: Sequence[str]) -> str:
    """Which files are there."""
    rest = [path for path in job.files() if path not in written]
    told = []
    for what, paths in (("written", written), ("not written", rest)):
        names = ["standard output" if is_stdout(path) else printable(path) for path in paths]
        told += [f"{what}: {', '.join(names)}"] if names else []
    return f"hitpath: {'; '.join(told)}"


def _outputs(
    job: DoctorJob, found: Diagnosis, subject: Subject
) -> Iterator[tuple[str, Callable[[str], None]]]:
    """(file, what writes it), in the order in which they are written; each is made when its turn
    comes."""

    def fixed(path: str) -> None:
        write_whole(path, lambda file: write_fixed(found, subject.kept, subject.requests, file))

    if job.json is not None:
        document = doctor_document(found, job.setting, rows=job.rows, content=job.content)
        yield job.json, partial(write_json, content=document)
    if job.sarif is not None:
        yield job.sarif, partial(write_json, content=sarif_document(found, content=job.content))
    if job.html is not None:
        page = doctor_page(found, subject.requests, job.command, job.content)
        yield job.html, lambda path: write_whole(path, lambda file: write_line(file, page))
    if job.fix is not None:
        yield job.fix, fixed


def _tell_lengths(job: DoctorJob, trace: Trace) -> None:
    """All that can be said without prompts. Raises InputError for what needs them."""
    for option, path in (("--html", job.html), ("--sarif", job.sarif), ("--fix", job.fix)):
        if path is not None:
            raise InputError(trace.format, "", f"{option}: {NO_TEXT}")
    if job.json is not None:
        write_json(job.json, lengths_document(trace, job.setting, job.content))
    if job.json is None or not is_stdout(job.json):
        print_page(lambda page: print_lengths_diagnosis(trace, page))
