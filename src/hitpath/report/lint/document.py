"""The JSON document of `hitpath lint`, schema "hitpath.lint/1": fields are added, never renamed."""

from typing import Any

from hitpath.doctor.lint import Linted
from hitpath.doctor.lint_record import Finding

SCHEMA = "hitpath.lint/1"


def lint_document(linted: Linted) -> dict[str, Any]:
    """What the JSON file holds; known findings of the baseline too, marked."""
    return {
        "schema": SCHEMA,
        "num_findings": len(linted.findings),
        "num_new": len(linted.new),
        "num_failures": linted.num_failures,
        "num_source_files": linted.looked_at.num_source_files,
        "num_requests": linted.looked_at.num_requests,
        "num_not_looked_at": linted.looked_at.num_passed_over,
        "findings": [finding_row(one, one.fingerprint in linted.known) for one in linted.findings],
    }


def finding_row(one: Finding, is_known: bool) -> dict[str, Any]:
    """One finding."""
    return {
        "rule": one.rule.id,
        "kind": one.rule.kind,
        "level": one.level,
        "path": one.path,
        "line": one.line,
        "column": one.column,
        "json_path": one.json_path,
        "char_offset": one.char_offset,
        "num_chars": one.num_chars,
        "message": one.message,
        "excerpt": one.excerpt,
        "fix": one.rule.fix,
        "num_requests": one.num_requests,
        "of_requests": one.of_requests,
        "chars_behind": one.chars_behind,
        "fingerprint": one.fingerprint,
        "known": is_known,
    }
