"""The linter: files of requests and Python source, and what a baseline already knows of them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hitpath.core import InputError
from hitpath.doctor.lint_record import Finding, LookedAt, fingerprinted
from hitpath.doctor.lint_requests import lint_requests_and_count
from hitpath.doctor.lint_source import SUFFIXES, lint_source_and_count

BASELINE_SCHEMA = "hitpath.lint-baseline/1"


@dataclass(frozen=True, slots=True)
class Linted:
    """All findings, which of them a baseline knows (by fingerprint), and what was looked at."""

    findings: tuple[Finding, ...]
    known: frozenset[str] = frozenset()
    looked_at: LookedAt = field(default_factory=LookedAt)

    @property
    def new(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.fingerprint not in self.known)

    @property
    def num_failures(self) -> int:
        """New findings that are no notes."""
        return sum(one.level != "note" for one in self.new)


def lint(paths: list[str]) -> tuple[list[Finding], LookedAt]:
    """Python files and folders as source, everything else as requests. Raises InputError."""
    source = [path for path in paths if path.endswith(SUFFIXES) or Path(path).is_dir() or not path]
    requests = [path for path in paths if path not in source]
    found: list[Finding] = []
    looked_at = LookedAt()
    if requests:
        found, looked_at = lint_requests_and_count(requests)
    if source:
        of_source, num_files = lint_source_and_count(source)
        found = [*of_source, *found]
        looked_at = replace(looked_at, num_source_files=num_files)
    return fingerprinted(found), looked_at


def baseline_text(findings: Iterable[Finding]) -> bytes:
    """The file for `--baseline`: fingerprints with rule and file, no content."""
    rows = [
        {"fingerprint": one.fingerprint, "rule": one.rule.id, "path": one.path} for one in findings
    ]
    rows.sort(key=lambda row: (row["path"], row["rule"], row["fingerprint"]))
    content = {"schema": BASELINE_SCHEMA, "findings": rows}
    return json.dumps(content, indent=1).encode() + b"\n"


def read_baseline(path: str) -> frozenset[str]:
    """The fingerprints of a baseline. Raises InputError."""
    try:
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(path, "", f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(path, "", f"not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("schema") != BASELINE_SCHEMA:
        raise InputError(path, "schema", f"no baseline of hitpath lint ({BASELINE_SCHEMA})")
    rows = content.get("findings")
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        raise InputError(path, "findings", "expected a list of objects with a fingerprint")
    return frozenset(row["fingerprint"] for row in rows)


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and isinstance(row.get("fingerprint"), str)
