"""The doctor's JSON document, schema "hitpath.doctor/1" (docs/doctor.md): keys are added, never
renamed; null is "not known", never 0."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hitpath.accounting.rates import ratio
from hitpath.core import Setting
from hitpath.doctor.advice import TITLES, advice_of
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import Diagnosis, Proof, SharedCause
from hitpath.doctor.provider import ProviderView
from hitpath.doctor.relatives import NONE
from hitpath.report.rows import setting_of

SCHEMA = "hitpath.doctor/1"


class Shown:
    """Text of prompts as outputs may have it: as it is, or (--no-content) its length and hash."""

    def __init__(self, content: bool) -> None:
        self.content = content

    def text(self, text: str) -> str | dict[str, Any]:
        """An excerpt."""
        if self.content:
            return text
        return {"num_chars": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()[:16]}

    def name(self, text: str) -> str:
        """An id or a name from the trace."""
        if self.content:
            return text
        return hashlib.sha256(text.encode()).hexdigest()[:7]


def doctor_document(
    found: Diagnosis, setting: Setting, *, rows: bool = False, content: bool = True
) -> dict[str, Any]:
    """Everything, ready for JSON."""
    shown = Shown(content)
    trace = found.trace
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "setting": setting_of(setting),
        "unit": "bytes" if trace.identity == "text" else "tokens",
        "num_requests": len(trace),
        "prompt_tokens": int(trace.prompt_tokens[trace.counted].sum()),
        "hit_rate": {"before": found.before, "after": found.after},
        "invalidated_tokens": int(found.costs.lost.sum()),
        "unattributed_tokens": int(found.costs.unexplained.sum()),
        "defects": [defect_document(found, defect, shown) for defect in found.defects],
        "fixes": [_fix_document(proof) for proof in found.proofs],
        "why_no_proof": found.why_no_proof or None,
        "what_ifs": [asdict(choice) for choice in found.what_ifs],
        "shared_causes": causes_document(found.shared_causes),
        "provider": None if found.provider is None else provider_document(found.provider),
        "worth": {kind: asdict(worth) for kind, worth in found.worth.items()} or None,
        "applications": _applications(found),
        "notes": list(found.notes) if content else [],
        "num_skipped_rows": trace.skipped.num,
    }
    if rows:
        document["per_request"] = _per_request(found, shown)
    return document


def _fix_document(proof: Proof) -> dict[str, Any]:
    """A proof, without where it rewrites."""
    document = asdict(proof)
    del document["touched"]
    return document


def defect_document(found: Diagnosis, defect: Defect, shown: Shown) -> dict[str, Any]:
    """One defect, the pinned keys first."""
    return {
        "kind": defect.kind,
        "json_path": path_shown(defect.json_path, shown),
        "segment": defect.segment,
        "char_offset": defect.char_offset,
        "token_offset": defect.token_offset,
        "num_requests": defect.num_requests,
        "requests_frac": ratio(defect.num_requests, len(found.trace)),
        "tokens_changed": defect.tokens_changed,
        "tokens_invalidated": defect.tokens_invalidated,
        "gain_tokens": found.gain_of(defect),
        "why_no_gain": found.why_no_gain(defect),
        "fix": advice_of(defect.kind, defect.segment),
        "application": defect.application,
        "example": {
            "id": shown.name(found.trace.ids[defect.example]),
            "relative_id": shown.name(found.trace.ids[defect.relative]),
            "there": shown.text(defect.there),
            "here": shown.text(defect.here),
        },
        "detail": defect.detail if shown.content else "",
    }


def path_shown(path: str, shown: Shown) -> str:
    """A JSON path; its keys may be content (properties of a schema), its shape is not."""
    if shown.content:
        return path
    known = {"messages", "content", "text", "tools", "function", "parameters", "input", "system",
             "prompt", "instructions", "properties", "required", "tool_calls", "arguments",
             "description", "name", "functions", "model", "conversations", "value"}  # fmt: skip
    pieces = []
    for piece in path.split("."):
        head, bracket, index = piece.partition("[")
        rest = bracket + index if index.rstrip("]").isdecimal() else ""
        pieces.append((head if head in known else shown.name(head)) + rest)
    return ".".join(pieces)


def causes_document(causes: Sequence[SharedCause]) -> list[dict[str, Any]]:
    """Losses of many requests that have one reason."""
    return [asdict(cause) for cause in causes]


def cause_sentence(found: Diagnosis, cause: SharedCause, shown: Shown) -> str:
    """A shared cause with the defect behind it."""
    if cause.defect is None or cause.kind != "floor":
        return cause.text
    defect = found.defects[cause.defect]
    place = path_shown(defect.json_path, shown) or defect.segment
    what = f"{TITLES[defect.kind]} at {place}, character {defect.char_offset:,}"
    return f"{cause.text}: {what}, ends it"


def provider_document(view: ProviderView) -> dict[str, Any]:
    """Why a provider read less than it might have."""
    return {
        "requests": dict(view.requests),
        "tokens": dict(view.tokens),
        "num_not_told": view.not_told,
        "num_unknown_provider": sum(view.unknown.values()),
    }


def _applications(found: Diagnosis) -> list[dict[str, Any]]:
    counts = Counter(finding.application for finding in found.findings)
    tokens: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    for finding in found.findings:
        tokens[finding.application] += int(found.trace.prompt_tokens[finding.row])
        lost[finding.application] += int(found.costs.lost[finding.row])
    return [
        {
            "application": application,
            "num_requests": count,
            "prompt_tokens": tokens[application],
            "tokens_invalidated": lost[application],
            "kinds": dict(_kinds(found, application)),
        }
        for application, count in counts.most_common(100)
    ]


def _kinds(found: Diagnosis, application: int) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for defect in found.defects:
        if defect.application == application:
            kinds[defect.kind] += defect.tokens_invalidated
    return kinds


def _per_request(found: Diagnosis, shown: Shown) -> list[dict[str, Any]]:
    ids = found.trace.ids
    rows: list[dict[str, Any]] = []
    for finding in found.findings:
        first, new = finding.first, finding.comparison.new_at
        place: Any = first or new
        rows.append(
            {
                "id": shown.name(ids[finding.row]),
                "relative_id": None
                if finding.relative == NONE
                else shown.name(ids[finding.relative]),
                "common_tokens": finding.common,
                "kind": first.kind if first else ("new_content" if new else None),
                "json_path": path_shown(place.json_path, shown) if place else None,
                "char_offset": place.char_offset if place else None,
                "tokens_invalidated": int(found.costs.lost[finding.row]),
                "others": [
                    {
                        "kind": c.kind,
                        "json_path": path_shown(c.json_path, shown),
                        "char_offset": c.char_offset,
                    }
                    for c in finding.comparison.changes[1:]
                ],
            }
        )
    return rows
