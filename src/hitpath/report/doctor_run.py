"""`hitpath doctor`: read, find relatives, compare, price, prove, then every output.

The trace is read as `analyze` reads it; what each rung allows comes from the same spine, and so do
the replays that prove a fix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hitpath.core import InputError, Progress, Setting
from hitpath.cost.price_list import PriceList
from hitpath.cost.pricing import Pricing
from hitpath.doctor.compaction import compaction_choices
from hitpath.doctor.defects import Costs, Defect, cost_of, gather
from hitpath.doctor.diagnose import Finding, Requests, diagnose
from hitpath.doctor.diagnosis import Diagnosis, SharedCause, WhatIf
from hitpath.doctor.documents import as_new_documents
from hitpath.doctor.elsewhere import Elsewhere
from hitpath.doctor.fixed import Fixer
from hitpath.doctor.kept import KeptRows, keep_rows
from hitpath.doctor.placing import Placing
from hitpath.doctor.proof import gains_of
from hitpath.doctor.prove import Proven, Prover
from hitpath.doctor.provider import provider_view
from hitpath.doctor.relatives import Families, find_families
from hitpath.doctor.replayed import Replayed
from hitpath.doctor.resolve import resolve
from hitpath.doctor.shared_causes import clock_bursts, constant_floors
from hitpath.doctor.times import arrived_at, seconds_apart
from hitpath.doctor.token_forms import forms_of
from hitpath.doctor.what_ifs import replayed_choices
from hitpath.doctor.worth import worth_of
from hitpath.report.doctor_applications import application_names
from hitpath.sim.rungs import root_codes
from hitpath.spine import analyze_trace
from hitpath.summary import Analysis
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.text.tokenizer import TextTokenizer, load_tokenizer
from hitpath.traces import open_inputs, read_trace
from hitpath.traces.mapping import parse_mapping
from hitpath.traces.table import Ints, Trace

NO_TEXT = "there is no text to fix: the trace has ids only"
NO_TEXT_YET = f"{NO_TEXT} (--tokenizer would tell which ids say the same)"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at: a trace with the text of its rows, and its analysis. tokenizer: that which
    was asked for."""

    trace: Trace
    requests: Requests
    kept: KeptRows
    analysis: Analysis
    setting: Setting
    tokenizer: TextTokenizer | None = None

    @property
    def since(self) -> Ints:
        """Rung 6 of every request: what anything earlier gives it as it is."""
        rungs: Ints = self.analysis.ledger.rungs.model[6]
        return rungs

    @property
    def isolated(self) -> Ints:
        """What rung 6 adds to rung 5: there under another salt or adapter."""
        rungs = self.analysis.ledger.rungs.model
        more: Ints = rungs[6] - rungs[5]
        return more


def open_subject(
    traces: list[str],
    setting: Setting,
    *,
    skip_bad_rows: bool = False,
    mapping: Sequence[str] = (),
    progress: Progress | None = None,
) -> Subject:
    """Read and analyse. Raises HitpathError: a trace of lengths has no subject (read_kept)."""
    tokenizer = load_tokenizer(setting.tokenizer)
    trace, kept = read_kept(
        traces,
        setting,
        tokenizer,
        skip_bad_rows=skip_bad_rows,
        mapping=mapping,
        progress=progress,
    )
    return subject_of(trace, kept, setting, progress, tokenizer)


def read_kept(
    traces: list[str],
    setting: Setting,
    tokenizer: TextTokenizer,
    *,
    skip_bad_rows: bool = False,
    mapping: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[Trace, KeptRows]:
    """The trace, with the text of its rows. tokenizer: that of the setting. Raises HitpathError."""
    kept = KeptRows(mapping=parse_mapping(mapping))
    trace = read_trace(
        traces,
        block_size=setting.block_size,
        skip_bad_rows=skip_bad_rows,
        tokenizer=tokenizer,
        mapping=mapping,
        progress=progress,
        inputs=keep_rows(open_inputs(traces, progress), kept),
        keep_places=True,
    )
    return trace, kept


def subject_of(
    trace: Trace,
    kept: KeptRows,
    setting: Setting,
    progress: Progress | None = None,
    tokenizer: TextTokenizer | None = None,
) -> Subject:
    """Analyse. tokenizer: that of the setting, where it was loaded before. Raises HitpathError."""
    if trace.identity == "lengths_only":
        raise InputError(trace.format, "", f"no prompts to compare: {NO_IDENTITY}")
    analysis = analyze_trace(trace, setting, progress)
    if setting.tokenizer is None:
        tokenizer = None
    elif tokenizer is None:
        tokenizer = load_tokenizer(setting.tokenizer)
    return Subject(trace, Requests(trace, kept), kept, analysis, setting, tokenizer)


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
    tokenizer = subject.tokenizer if trace.identity == "tokens" else None
    placing = None if tokenizer is None else Placing(tokenizer)
    findings = findings_of(subject, families, placing, progress)
    known = forms_of(trace, subject.requests, subject.tokenizer, progress)
    forms, no_forms = (None, known) if isinstance(known, str) else (known, "")
    match = None if forms is None else forms.match(trace, _roots(subject))
    elsewhere = None
    if forms is not None and match is not None:
        elsewhere = Elsewhere(subject.requests, forms, match, _roots(subject), findings).differences
    costs = cost_of(findings, subject.since, forms, match, elsewhere, subject.isolated)
    defects = gather(findings, costs)
    worth = worth_of(trace, findings, costs, subject.since, pricing, prices)
    before = replayed(subject.analysis)
    proven, choices, why = _proofs(subject, findings, defects, tokenizer, what_ifs)
    proofs = proven.proofs
    rate = before.hit_rate
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
        before=rate,
        after=after if proofs else (None if why else rate),
        proofs=proofs,
        why_no_proof=why,
        why_not=proven.why_not,
        fixed=proven.fixed,
        what_ifs=tuple(choices),
        shared_causes=tuple(_shared(subject, findings, costs, defects)),
        notes=(
            *subject.requests.notes,
            *_notes(no_forms),
            *(placing.notes if placing else ()),
            *proven.notes,
        ),
        provider=provider_view(trace, subject.requests, findings),
        worth=worth,
        gains=gains_of(defects, proofs),
        in_row=subject.requests.path,
        application_names=application_names(findings, subject.requests),
    )


def findings_of(
    subject: Subject,
    families: Families,
    placing: Placing | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """What each request differs in from its relative, with every kind decided."""
    trace = subject.trace
    decode = None
    if trace.identity == "tokens" and subject.tokenizer is not None:
        decode = subject.tokenizer.decode
    compared = diagnose(trace, subject.kept, families, progress, decode, placing)
    return as_new_documents(
        resolve(compared, partial(seconds_apart, trace), partial(arrived_at, trace))
    )


def _proofs(
    subject: Subject,
    findings: Sequence[Finding],
    defects: Sequence[Defect],
    tokenizer: TextTokenizer | None,
    what_ifs: bool,
) -> tuple[Proven, list[WhatIf], str]:
    """(proofs, what choices cost, why there is no proof)."""
    trace = subject.trace
    choices = compaction_choices(trace, subject.requests, findings) if what_ifs else []
    if not trace.has_text and tokenizer is None:
        return Proven(), choices, NO_TEXT_YET if trace.identity == "tokens" else NO_TEXT

    def replay(fixed: Trace) -> Replayed:
        return replayed(analyze_trace(fixed, subject.setting))

    fixer = Fixer(trace, subject.requests, findings, tokenizer)
    before = replayed(subject.analysis)
    proven = Prover(fixer, findings, replay, before).prove(defects)
    if what_ifs:
        choices = [*replayed_choices(fixer, findings, replay, defects, proven, before), *choices]
    return proven, choices, ""


def replayed(analysis: Analysis) -> Replayed:
    """The counted requests by the model, whatever was reported."""
    ledger = analysis.ledger
    return Replayed(ledger.rungs.model[0] * ledger.counted, ledger.prompt * ledger.counted)


def _roots(subject: Subject) -> Ints:
    return root_codes(subject.trace, subject.setting.split_models)


def _shared(
    subject: Subject, findings: Sequence[Finding], costs: Costs, defects: Sequence[Defect]
) -> list[SharedCause]:
    trace = subject.trace
    reported, hits = trace.reported_hit, subject.analysis.ledger.rungs.model[0]
    missed = costs.lost + np.where(reported >= 0, np.maximum(subject.since - reported, 0), 0)
    reused = np.where(reported >= 0, reported, hits)
    floors = constant_floors(trace, reused, missed, defects)
    return [*floors, *clock_bursts(trace, findings, missed, defects)]


def _notes(no_forms: str) -> tuple[str, ...]:
    return (f"rung 7 is not known: {no_forms}",) if no_forms else ()
