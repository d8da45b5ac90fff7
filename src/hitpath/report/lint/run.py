"""One `hitpath lint`: read, compare with the baseline, write what was asked for."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hitpath.core import SettingError
from hitpath.doctor.lint import Linted, baseline_text, lint, read_baseline
from hitpath.doctor.lint_record import without_content
from hitpath.report.lint.document import lint_document
from hitpath.report.lint.junit import junit_xml
from hitpath.report.lint.sarif import sarif_document
from hitpath.report.lint.text import print_lint
from hitpath.report.output import check_places, is_stdout, write_whole
from hitpath.report.pages import print_page, write_json
from hitpath.report.without_values import values_hidden


@dataclass(frozen=True, slots=True)
class LintJob:
    """One command. baseline: compared with where it exists, else written; update_baseline: written
    anew in any case. content: whether outputs may hold text of prompts and source."""

    paths: list[str]
    baseline: str | None = None
    update_baseline: bool = False
    json: str | None = None
    sarif: str | None = None
    junit: str | None = None
    content: bool = True

    def outputs(self) -> Iterable[str]:
        return [path for path in (self.json, self.sarif, self.junit) if path is not None]


def run_lint(job: LintJob) -> bool:
    """Whether something new was found that is more than a note. Raises HitpathError."""
    if job.update_baseline and job.baseline is None:
        raise SettingError(
            "--update-baseline", "needs --baseline FILE: which one is to be written?"
        )
    writes_baseline = job.baseline is not None and (
        job.update_baseline or not Path(job.baseline).exists()
    )
    places = [*job.outputs(), *([job.baseline] if writes_baseline and job.baseline else [])]
    check_places(places, [Path(path) for path in job.paths if path != "-"])
    with values_hidden(not job.content):
        findings, looked_at = lint(job.paths)
    known: frozenset[str] = frozenset()
    if job.baseline is not None and writes_baseline:
        _write(job.baseline, baseline_text(findings))
        known = frozenset(one.fingerprint for one in findings)
    elif job.baseline is not None:
        known = read_baseline(job.baseline)
    shown = tuple(findings if job.content else without_content(findings))
    linted = Linted(shown, known, looked_at)
    if job.json is not None:
        write_json(job.json, lint_document(linted))
    if job.sarif is not None:
        write_json(job.sarif, sarif_document(linted))
    if job.junit is not None:
        _write(job.junit, junit_xml(linted, job.paths))
    if not any(is_stdout(path) for path in job.outputs()):
        written = job.baseline if writes_baseline else None
        print_page(lambda page: print_lint(linted, written, page))
    return linted.num_failures > 0


def _write(path: str, data: bytes) -> None:
    def write(file: IO[bytes]) -> None:
        file.write(data)

    write_whole(path, write)
