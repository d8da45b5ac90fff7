"""`hitpath doctor`: read, find relatives, compare, price, prove, then every output.

The trace is read as `analyze` reads it; what each rung allows comes from the same spine, and so do
the replays that prove a fix.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hitpath.core import InputError, Progress, Setting
from hitpath.cost.price_list import PriceList
from hitpath.cost.pricing import Pricing
from hitpath.doctor.compaction import compaction_choices
from hitpath.doctor.defects import Defect, cost_of, gather
from hitpath.doctor.diagnose import Finding, Requests, diagnose
from hitpath.doctor.diagnosis import Diagnosis, Proof, SharedCause, WhatIf
from hitpath.doctor.forms import NO_BYTES, Forms, make_forms
from hitpath.doctor.kept import KeptRows, keep_rows
from hitpath.doctor.prove import clock_choices, prove
from hitpath.doctor.provider import provider_view
from hitpath.doctor.relatives import find_families
from hitpath.doctor.replies import Decode
from hitpath.doctor.resolve import resolve
from hitpath.doctor.shared_causes import clock_bursts, constant_floors
from hitpath.doctor.steps import Plan
from hitpath.doctor.worth import worth_of_kinds
from hitpath.sim.rungs import root_codes
from hitpath.spine import analyze_trace
from hitpath.summary import Analysis
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import open_inputs, read_trace
from hitpath.traces.table import Ints, Trace

IN_BYTES_ONLY = (
    "fixes are replayed for text in bytes; leave out --tokenizer, or read the proof in bytes"
)
NO_TEXT = "there is no text to fix: the trace has ids only"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at: a trace with the text of its rows, and its analysis."""

    trace: Trace
    requests: Requests
    kept: KeptRows
    analysis: Analysis
    setting: Setting
    decode: Decode | None

    @property
    def since(self) -> Ints:
        """Rung 6 of every request: what anything earlier gives it as it is."""
        rungs: Ints = self.analysis.ledger.rungs.model[6]
        return rungs


def open_subject(
    traces: list[str],
    setting: Setting,
    *,
    skip_bad_rows: bool = False,
    mapping: Sequence[str] = (),
    progress: Progress | None = None,
) -> Subject:
    """Read and analyse. Raises HitpathError: a trace of lengths has no subject (read_kept)."""
    trace, kept = read_kept(
        traces, setting, skip_bad_rows=skip_bad_rows, mapping=mapping, progress=progress
    )
    return subject_of(trace, kept, setting, progress)


def read_kept(
    traces: list[str],
    setting: Setting,
    *,
    skip_bad_rows: bool = False,
    mapping: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[Trace, KeptRows]:
    """The trace, with the text of its rows. Raises HitpathError."""
    kept = KeptRows()
    trace = read_trace(
        traces,
        block_size=setting.block_size,
        skip_bad_rows=skip_bad_rows,
        tokenizer=load_tokenizer(setting.tokenizer),
        mapping=mapping,
        progress=progress,
        inputs=keep_rows(open_inputs(traces, progress), kept),
        keep_places=True,
    )
    return trace, kept


def subject_of(
    trace: Trace, kept: KeptRows, setting: Setting, progress: Progress | None = None
) -> Subject:
    """Analyse. Raises HitpathError."""
    if trace.identity == "lengths_only":
        raise InputError(trace.format, "", f"no prompts to compare: {NO_IDENTITY}")
    analysis = analyze_trace(trace, setting, progress)
    name = setting.tokenizer
    decode = None if name is None else load_tokenizer(name).decode
    return Subject(trace, Requests(trace, kept), kept, analysis, setting, decode)


def examine(
    subject: Subject,
    *,
    what_ifs: bool = True,
    pricing: Pricing | None = None,
    prices: PriceList | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """The whole diagnosis. Raises SettingError where what was found cannot be priced."""
    trace = subject.trace
    families = find_families(trace)
    decode = subject.decode if trace.identity == "tokens" else None
    findings = resolve(diagnose(trace, subject.kept, families, progress, decode))
    forms = make_forms(trace, subject.requests, Plan(), progress) if trace.has_text else None
    match = None if forms is None else forms.match(trace, _roots(subject))
    costs = cost_of(findings, subject.since, forms, match)
    defects = gather(findings, costs)
    worth = worth_of_kinds(trace, findings, costs, subject.since, pricing, prices)
    before, prompt = hits_of(subject.analysis)
    proofs, choices, why = _proofs(subject, findings, defects, before, what_ifs)
    after = next(
        (p.hit_tokens / p.prompt_tokens for p in reversed(proofs) if p.prompt_tokens), None
    )
    return Diagnosis(
        trace=trace,
        families=families,
        findings=tuple(findings),
        costs=costs,
        defects=tuple(defects),
        since=subject.since,
        before=before / prompt if prompt else None,
        after=after if proofs else (before / prompt if prompt and not why else None),
        proofs=tuple(proofs),
        why_no_proof=why,
        what_ifs=tuple(choices),
        shared_causes=tuple(_shared(subject, defects)),
        notes=_notes(trace, forms),
        provider=provider_view(trace, subject.requests, findings),
        worth=worth,
    )


def _proofs(
    subject: Subject,
    findings: Sequence[Finding],
    defects: Sequence[Defect],
    before: int,
    what_ifs: bool,
) -> tuple[list[Proof], list[WhatIf], str]:
    trace = subject.trace
    choices = compaction_choices(trace, findings) if what_ifs else []
    if not trace.has_text:
        in_tokens = subject.setting.tokenizer is not None
        return [], choices, IN_BYTES_ONLY if in_tokens else NO_TEXT

    def replay(fixed: Trace) -> tuple[int, int]:
        return hits_of(analyze_trace(fixed, subject.setting))

    proofs = prove(trace, subject.requests, findings, defects, replay, before)
    if what_ifs and any(defect.kind == "clock" for defect in defects):
        choices = [*clock_choices(trace, subject.requests, replay, before), *choices]
    return proofs, choices, ""


def hits_of(analysis: Analysis) -> tuple[int, int]:
    """(hit, prompt tokens) of the counted requests by the model, whatever was reported."""
    ledger = analysis.ledger
    return ledger.total(ledger.rungs.model[0]), ledger.total(ledger.prompt)


def _roots(subject: Subject) -> Ints:
    return root_codes(subject.trace, subject.setting.split_models)


def _shared(subject: Subject, defects: Sequence[Defect]) -> list[SharedCause]:
    trace = subject.trace
    reused = np.where(trace.reported_hit >= 0, trace.reported_hit, subject.since)
    return [*constant_floors(trace, reused, defects), *clock_bursts(trace, defects)]


def _notes(trace: Trace, forms: Forms | None) -> tuple[str, ...]:
    if forms is None:
        return (*trace.notes, f"rung 7 is not known: {NO_BYTES}")
    return trace.notes
