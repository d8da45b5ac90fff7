"""Defects as SARIF 2.1.0, for code scanning: a result a defect, its place the row of the example.

Source: OASIS SARIF 2.1.0, section 3 (runs, results, reportingDescriptor, physicalLocation).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from hitpath import __version__
from hitpath.accounting.rates import ratio
from hitpath.canonical import find_volatile
from hitpath.core import printable
from hitpath.doctor.advice import ADVICE, TITLES, advice_of
from hitpath.doctor.change import Kind
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.resolve import general_path
from hitpath.report.doctor_applications import application_words
from hitpath.report.doctor_document import Shown, path_shown
from hitpath.report.doctor_words import gain_words, requests_words, seen

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LINE = re.compile(r"^(?P<file>.+?):(?P<line>\d+)(?:\[\d+\])?$")
_ELEMENT = re.compile(r"(?:(?<=\.json)|(?<=\.gz)|(?<=\.zst))(?: [^ \[\]]*)?\[\d+\]$|\[\d+\]$")
_EXCERPT = 60
_NAME_CHARS = 24
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
                "results": list(_results(found, kinds, shown)),
            }
        ],
    }  # fmt: skip


def _results(found: Diagnosis, kinds: Sequence[Kind], shown: Shown) -> Iterator[dict[str, Any]]:
    """Alike ones, of the same kind at the same place of two applications, are told apart by how
    their instructions begin but for what a run stamps there, and else by their number: two results
    of one fingerprint are one."""
    alike: Counter[str] = Counter()
    for defect in found.defects:
        result = _result(found, defect, kinds.index(defect.kind), shown)
        name = _lasting(found.application_names.get(defect.application, ""))
        own = f"{defect.kind}:{general_path(defect.json_path)}:{defect.segment}:{name}"
        mark = sha256(f"{own}:{alike[own]}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
        alike[own] += 1
        yield {**result, "partialFingerprints": {"defect/v1": mark}}


def _lasting(name: str) -> str:
    """What stays of an application's first words from run to run. Cut, for the name itself is cut
    where what is stamped in it lets it end."""
    pieces, at = [], 0
    for stretch in find_volatile(name):
        pieces.append(name[at : stretch.start])
        at = stretch.stop
    words = "#".join([*pieces, name[at:]])
    return re.sub(r"\d+", "0", words)[:_NAME_CHARS]


def _result(found: Diagnosis, defect: Defect, rule: int, shown: Shown) -> dict[str, Any]:
    total = int(found.trace.prompt_tokens.sum())
    share = ratio(defect.tokens_invalidated, total) or 0.0
    level = "error" if share >= _MUCH else "warning" if share >= _SOME else "note"
    path = path_shown(found.path_of(defect), shown)
    unit = "bytes" if found.trace.identity == "text" else "tokens"
    whose = application_words(found, defect, shown.content)
    excerpt = ""
    if shown.content and (defect.there or defect.here):
        sides = (printable(seen(side, defect.kind)) for side in (defect.there, defect.here))
        excerpt = " " + " → ".join(side[:_EXCERPT] or "(nothing)" for side in sides) + "."
    text = (
        f"{TITLES[defect.kind]} at {path or defect.segment}, character {defect.char_offset:,}"
        f"{f' of {whose}' if whose else ''}: {requests_words(found, defect)}, "
        f"{defect.tokens_invalidated:,} {unit} invalidated, {gain_words(found, defect)}.{excerpt} "
        f"{_sentence(advice_of(defect.kind, defect.segment))}."
    )
    place = found.trace.places[defect.example] if found.trace.places else ""
    result: dict[str, Any] = {
        "ruleId": f"hitpath/{defect.kind}",
        "ruleIndex": rule,
        "level": level,
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": _physical(place, shown),
                "logicalLocations": [{"fullyQualifiedName": path or defect.segment}],
            }
        ],
    }
    return result


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _physical(place: str, shown: Shown) -> dict[str, Any]:
    """The file as a URI reference (RFC 3986), and the row's line; no region where only the number
    of an element is known."""
    match = _LINE.match(place)
    name = match["file"] if match else _ELEMENT.sub("", place)
    path = PurePath(name or "trace").as_posix()
    uri = quote(path) if shown.content else shown.name(path)
    location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if match:
        location["region"] = {"startLine": max(int(match["line"]), 1)}
    return location
