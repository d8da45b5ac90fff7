"""Defects as SARIF 2.1.0, for code scanning: a result a defect, its place the row of the example.

Source: OASIS SARIF 2.1.0, section 3 (runs, results, reportingDescriptor, physicalLocation).
"""

import re
from pathlib import PurePath
from typing import Any

from hitpath import __version__
from hitpath.accounting.rates import ratio
from hitpath.doctor.advice import ADVICE, TITLES, advice_of
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_document import Shown, path_shown

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LINE = re.compile(r"^(?P<file>.+?):(?P<line>\d+)(?:\[\d+\])?$")
_MUCH, _SOME = 0.1, 0.001
"""Shares of all prompt tokens from which on a defect is an error, a warning."""


def sarif_document(found: Diagnosis, *, content: bool = True) -> dict[str, Any]:
    """One run with a rule a kind that was found."""
    shown = Shown(content)
    kinds = list(dict.fromkeys(defect.kind for defect in found.defects))
    rules = [
        {
            "id": f"hitpath/{kind}",
            "name": kind,
            "shortDescription": {"text": TITLES[kind]},
            "help": {"text": ADVICE[kind]},
        }
        for kind in kinds
    ]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "hitpath doctor", "version": __version__,
                                    "rules": rules}},
                "results": [_result(found, d, kinds.index(d.kind), shown) for d in found.defects],
            }
        ],
    }  # fmt: skip


def _result(found: Diagnosis, defect: Defect, rule: int, shown: Shown) -> dict[str, Any]:
    total = int(found.trace.prompt_tokens.sum())
    share = ratio(defect.tokens_invalidated, total) or 0.0
    level = "error" if share >= _MUCH else "warning" if share >= _SOME else "note"
    path = path_shown(defect.json_path, shown)
    text = (
        f"{TITLES[defect.kind]} at {path or defect.segment}, character {defect.char_offset:,}: "
        f"{defect.num_requests:,} requests, {defect.tokens_invalidated:,} tokens invalidated. "
        f"{advice_of(defect.kind, defect.segment)}."
    )
    place = found.trace.places[defect.example] if found.trace.places else ""
    result: dict[str, Any] = {
        "ruleId": f"hitpath/{defect.kind}",
        "ruleIndex": rule,
        "level": level,
        "message": {"text": text},
        "partialFingerprints": {"defect/v1": f"{defect.kind}:{path}:{defect.segment}"},
        "locations": [
            {
                "physicalLocation": _physical(place, shown),
                "logicalLocations": [{"fullyQualifiedName": path or defect.segment}],
            }
        ],
    }
    return result


def _physical(place: str, shown: Shown) -> dict[str, Any]:
    match = _LINE.match(place)
    name, line = (match["file"], int(match["line"])) if match else (place, 1)
    uri = PurePath(name.partition("[")[0] or "trace").as_posix()
    if not shown.content:
        uri = shown.name(uri)
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": max(line, 1)}}
