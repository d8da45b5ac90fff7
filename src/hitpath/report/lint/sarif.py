"""Findings as SARIF 2.1.0 (OASIS), which code hosts show beside the lines of a change."""

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from hitpath import __version__
from hitpath.core import printable
from hitpath.doctor.lint import Linted
from hitpath.doctor.lint_record import RULES, Finding, Rule
from hitpath.report.lint.text import not_looked_at

VERSION = "2.1.0"
SCHEMA_URI = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_RULE_IDS = list(RULES)


def sarif_document(linted: Linted) -> dict[str, Any]:
    """One run with all findings; those that a baseline knows are "unchanged"."""
    run = {
        "tool": {
            "driver": {
                "name": "hitpath lint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in RULES.values()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(linted)],
        "results": [_result(one, one.fingerprint in linted.known) for one in linted.findings],
    }
    return {"$schema": SCHEMA_URI, "version": VERSION, "runs": [run]}


def _invocation(linted: Linted) -> dict[str, Any]:
    told = [
        {"level": "warning", "message": {"text": text}} for text in not_looked_at(linted.looked_at)
    ]
    return {"executionSuccessful": True, "toolExecutionNotifications": told}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.kind.split("_")),
        "shortDescription": {"text": rule.sentence},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"kind": rule.kind},
    }


def _result(one: Finding, is_known: bool) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": one.line}
    if one.json_path is None:  # of a request the line is known; the excerpt is of its decoded text
        region["startColumn"] = one.column
        if one.excerpt:
            region["snippet"] = {"text": printable(one.excerpt)}
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(one.path)}, "region": region}
    }
    if one.json_path:
        location["logicalLocations"] = [{"fullyQualifiedName": one.json_path, "kind": "member"}]
    told = {
        "charOffset": one.char_offset,
        "numChars": one.num_chars,
        "numRequests": one.num_requests,
        "ofRequests": one.of_requests,
        "charsBehind": one.chars_behind,
        "excerpt": printable(one.excerpt) if one.json_path is not None and one.excerpt else None,
    }
    return {
        "ruleId": one.rule.id,
        "ruleIndex": _RULE_IDS.index(one.rule.id),
        "level": one.level,
        "message": {"text": f"{one.message} {one.rule.fix}"},
        "locations": [location],
        "partialFingerprints": {"hitpath/v1": one.fingerprint},
        "baselineState": "unchanged" if is_known else "new",
        "properties": {name: value for name, value in told.items() if value is not None},
    }


def _uri(path: str) -> str:
    """A relative reference, or a file URI of an absolute path."""
    quoted = quote(path, safe="/", errors="surrogatepass")
    if PurePosixPath(path).is_absolute():
        return f"file://{quoted}"
    return quoted
