"""The doctor's JSON document, schema "hitpath.doctor/1" (docs/doctor.md): keys are added, never
renamed; null is "not known", never 0."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from hitpath.accounting.rates import ratio
from hitpath.core import Setting
from hitpath.doctor.advice import TITLES, advice_of
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import Diagnosis, SharedCause, Worth
from hitpath.doctor.in_row import path_of, path_steps
from hitpath.doctor.proof import Gain, Proof
from hitpath.doctor.provider import ProviderView
from hitpath.doctor.relatives import NONE
from hitpath.report.doctor_applications import Application, applications_of
from hitpath.report.doctor_kinds import kinds_of
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
        "diverged_tokens": None
        if found.costs.diverged is None
        else int(found.costs.diverged.sum()),
        "unattributed_tokens": int(found.costs.unexplained.sum()),
        "defects": [defect_document(found, defect, shown) for defect in found.defects],
        "kinds": [asdict(row) for row in kinds_of(found)],
        "fixes": [_fix_document(proof) for proof in found.proofs],
        "why_no_proof": found.why_no_proof or None,
        "what_ifs": [asdict(choice) for choice in found.what_ifs],
        "shared_causes": causes_document(found.shared_causes),
        "provider": None if found.provider is None else provider_document(found.provider),
        **_worth(found),
        "applications": [_application(one, found, shown) for one in applications_of(found)],
        "notes": list(found.notes_of(content)),
        "num_skipped_rows": trace.skipped.num,
    }
    if rows:
        document["per_request"] = _per_request(found, shown)
    return document


def _worth(found: Diagnosis) -> dict[str, Any]:
    """By kind, and of all."""
    if found.worth is None:
        return {"worth": None, "worth_of_all": None}
    kinds = {kind: asdict(worth) for kind, worth in found.worth.kinds.items()}
    return {"worth": kinds, "worth_of_all": asdict(found.worth.total)}


def _application(one: Application, found: Diagnosis, shown: Shown) -> dict[str, Any]:
    worth = Worth() if found.worth is None else found.worth.applications[one.number]
    return {
        "application": one.number,
        "name": shown.text(one.name) if one.name else None,
        "num_requests": one.num_requests,
        "prompt_tokens": one.prompt_tokens,
        "tokens_invalidated": one.lost,
        "gpu_s": worth.gpu_s,
        "usd": worth.usd,
        "kinds": dict(one.kinds),
    }


def _fix_document(proof: Proof) -> dict[str, Any]:
    """A proof, without where it rewrites."""
    document = asdict(replace(proof, cured={}))
    for name in ("touched", "cured", "is_left_out", "gain_in", "loss_in"):
        del document[name]
    return document


def defect_document(found: Diagnosis, defect: Defect, shown: Shown) -> dict[str, Any]:
    """One defect, the pinned keys first."""
    gain = found.gain_of(defect)
    return {
        "kind": defect.kind,
        "json_path": path_shown(found.path_of(defect), shown),
        "segment": defect.segment,
        "char_offset": defect.char_offset,
        "token_offset": defect.token_offset,
        "num_requests": defect.num_requests,
        "requests_frac": ratio(defect.num_requests, len(found.trace)),
        "tokens_changed": defect.tokens_changed,
        "tokens_invalidated": defect.tokens_invalidated,
        "gain_tokens": None if gain is None else gain.tokens,
        "gain_beside_tokens": None if gain is None else gain.beside,
        "mended_frac": _mended_frac(gain),
        "gained_with": [] if gain is None else list(gain.others),
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


def _mended_frac(gain: Gain | None) -> float | None:
    """Of the requests with a defect that were looked at, those that its fix rids of it."""
    return (
        None if gain is None or gain.cured is None else ratio(gain.cured.num, gain.cured.looked_at)
    )


def path_shown(path: str, shown: Shown) -> str:
    """A JSON path; its keys may be content (properties of a schema), its shape is not."""
    if shown.content:
        return path
    steps = [
        step
        if isinstance(step, int) or step in _NAMES or _OTEL.fullmatch(step)
        else shown.name(step)
        for step in path_steps(path)
    ]
    return path_of(steps)


_NAMES = frozenset((
    "messages", "content", "text", "tools", "function", "parameters", "input", "system",
    "prompt", "instructions", "properties", "required", "tool_calls", "arguments",
    "description", "name", "functions", "model", "conversations", "value", "attributes",
    "events", "parts", "trajectory", "query", "history", "request_body", "proxy_server_request",
    "model_parameters", "request_args", "request", "body", "spans", "resourceSpans",
    "scopeSpans", "message", "tokens",
))  # fmt: skip
"""Names of fields of the formats: no content."""
_OTEL = re.compile(
    r"gen_ai\.(?:input\.messages|system_instructions|tool\.definitions|event\.content)"
    r"|gen_ai\.prompt(?:\.\d+(?:\.content|\.tool_calls\.\d+(?:\.arguments|\.name)?)?)?"
    r"|llm\.request\.functions(?:\.\d+(?:\.name|\.description|\.parameters)?)?"
)


def causes_document(causes: Sequence[SharedCause]) -> list[dict[str, Any]]:
    """Losses of many requests that have one reason."""
    return [asdict(cause) for cause in causes]


def cause_sentence(found: Diagnosis, cause: SharedCause, shown: Shown) -> str:
    """A shared cause with the defect behind it."""
    if cause.defect is None or cause.kind != "floor":
        return cause.text
    defect = found.defects[cause.defect]
    place = path_shown(found.path_of(defect), shown) or defect.segment
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


def _per_request(found: Diagnosis, shown: Shown) -> list[dict[str, Any]]:
    ids = found.trace.ids

    def in_row(row: int, json_path: str) -> str:
        return path_shown(found.in_row(row, json_path), shown)

    rows: list[dict[str, Any]] = []
    view = found.provider
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
                "json_path": in_row(finding.row, place.json_path) if place else None,
                "char_offset": place.char_offset if place else None,
                "tokens_invalidated": int(found.costs.lost[finding.row]),
                "provider_reason": view.reasons.get(finding.row) if view else None,
                "not_read_tokens": view.lost.get(finding.row) if view else None,
                "others": [
                    {
                        "kind": c.kind,
                        "json_path": in_row(finding.row, c.json_path),
                        "char_offset": c.char_offset,
                    }
                    for c in finding.comparison.changes[1:]
                ],
            }
        )
    return rows
