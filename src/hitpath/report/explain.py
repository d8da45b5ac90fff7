"""`hitpath explain`: one request's labels, its nearest relative, and where the two part.

The JSON document has schema "hitpath.explanation/1" (docs/explain.md): keys are added, never
renamed; null is "not known" or "there is none", never 0.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hitpath.core import ABSENT, CAUSES, RUNG_NAMES, InputError, Setting
from hitpath.report.first_difference import FirstDifference, first_difference
from hitpath.report.pages import print_page, write_json
from hitpath.report.rows import setting_of
from hitpath.report.run import Outputs, announce_compilation, shown_progress
from hitpath.report.terminal_explain import print_explanation
from hitpath.spine import analyze
from hitpath.summary import Analysis, LengthsAnalysis
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.summary.relatives import Relative, find_relatives, seconds_between

SCHEMA = "hitpath.explanation/1"


@dataclass(frozen=True, slots=True)
class ExplainJob:
    """One command. mapping: `--map`; json: a file, `-` or None."""

    traces: list[str]
    request: str
    setting: Setting
    mapping: Sequence[str]
    skip_bad_rows: bool
    json: str | None


@dataclass(frozen=True, slots=True)
class Rung:
    """What one rung allows: rung 0 is the hit, no rung is below it. tokens: None if not known."""

    rung: int
    name: str
    tokens: int | None


@dataclass(frozen=True, slots=True)
class RelativeRequest:
    """An earlier request that begins alike (summary.relatives). differs_in: the fields of its
    context that are not this request's; empty in the same context."""

    id: str
    session: str | None
    tenant: str | None
    worker: str | None
    seconds_before: float | None
    shared_tokens: int
    output_tokens: int
    differs_in: tuple[str, ...]
    first_difference: FirstDifference


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request. Counts are in `unit`; None is "not known". Where the row contradicts itself
    (`excluded`, with its reason) the hit and whatever follows from it are None too."""

    id: str
    session: str | None
    tenant: str | None
    worker: str | None
    unit: Literal["tokens", "bytes"]
    block_size: int
    prompt_tokens: int
    hit_tokens: int | None
    modelled_hit_tokens: int
    reported_hit_tokens: int | None
    causes: dict[str, int | None]
    reasons: dict[str, dict[str, int]]
    not_known: dict[str, str]
    unexplained: int | None
    excess: int | None
    excluded: bool
    excluded_because: str | None
    ladder: tuple[Rung, ...]
    best_worker: str | None
    best_worker_tokens: int
    first_computed_by: str | None
    num_earlier_requests: int
    relative: RelativeRequest | None
    other_context: RelativeRequest | None


def run_explain(job: ExplainJob) -> None:
    """Analyse, write the JSON, then print the page unless standard output is taken. Raises
    HitpathError; an unknown id is one."""
    outputs = Outputs(json=job.json)
    outputs.check(job.traces, job.setting.tokenizer)
    announce_compilation()
    with shown_progress() as progress:
        analysis = analyze(
            job.traces,
            job.setting,
            skip_bad_rows=job.skip_bad_rows,
            mapping=job.mapping,
            progress=progress,
        )
    if isinstance(analysis, LengthsAnalysis):
        raise InputError(analysis.trace.format, "", f"nothing to explain: {NO_IDENTITY}")
    found = explain(analysis, job.request)
    if job.json is not None:
        write_json(job.json, explanation_document(analysis, found))
    if outputs.page_wanted():
        print_page(lambda page: print_explanation(found, analysis.trace, page))


def explain(analysis: Analysis, request: str) -> Explanation:
    """Everything about one request of an analysis. Raises InputError for an unknown id."""
    trace, ledger = analysis.trace, analysis.ledger
    if request not in trace.ids:
        skipped = f" ({trace.skipped.num:,} rows were skipped)" if trace.skipped else ""
        cause = f"{request!r} is not in this trace of {len(trace):,}{skipped}"
        raise InputError("request", "id", cause)
    row = trace.ids.index(request)
    unknown, counted = ledger.rungs.unknown, bool(ledger.counted[row])
    reported = int(ledger.rungs.reported[row])
    hit = int(ledger.hit[row]) if counted else None
    best, best_tokens = int(analysis.fleet.best_worker[row]), int(ledger.rungs.model[3, row])
    found = find_relatives(analysis, row)
    first = found.first_computed_by
    return Explanation(
        id=request,
        session=trace.session.of(row),
        tenant=trace.tenant.of(row),
        worker=analysis.workers.of(row),
        unit="bytes" if trace.identity == "text" else "tokens",
        block_size=analysis.engine.block_size,
        prompt_tokens=int(trace.prompt_tokens[row]),
        hit_tokens=hit,
        modelled_hit_tokens=int(ledger.rungs.model[0, row]),
        reported_hit_tokens=None if reported == ABSENT else reported,
        causes={
            cause: int(column[row]) if counted and cause not in unknown else None
            for cause, column in zip(CAUSES, ledger.causes, strict=True)
        },
        reasons={
            cause: {reason: int(part[row]) for reason, part in parts.items()}
            for cause, parts in ledger.reasons.items()
            if counted and cause not in unknown
        },
        not_known=dict(unknown),
        unexplained=int(ledger.unexplained[row]) if counted else None,
        excess=int(ledger.excess[row]) if counted else None,
        excluded=not counted,
        excluded_because=None if counted else trace.excluded[row].cause,
        ladder=_ladder(analysis, row, hit),
        best_worker=analysis.workers.names[best] if best_tokens else None,
        best_worker_tokens=best_tokens,
        first_computed_by=None if first is None else trace.ids[first],
        num_earlier_requests=found.num_earlier,
        relative=_told(analysis, row, found.nearest),
        other_context=_told(analysis, row, found.other_context),
    )


def _ladder(analysis: Analysis, row: int, hit: int | None) -> tuple[Rung, ...]:
    rungs = analysis.ledger.rungs
    causes = ("", *CAUSES)  # of rung 0 there is none: it is the hit
    return tuple(
        Rung(
            i,
            name,
            None
            if hit is None or causes[i] in rungs.unknown
            else max(hit, int(rungs.model[i, row]) if i else 0),
        )
        for i, name in enumerate(RUNG_NAMES)
    )


def _told(analysis: Analysis, row: int, relative: Relative | None) -> RelativeRequest | None:
    if relative is None:
        return None
    trace, other = analysis.trace, relative.row
    return RelativeRequest(
        id=trace.ids[other],
        session=trace.session.of(other),
        tenant=trace.tenant.of(other),
        worker=analysis.workers.of(other),
        seconds_before=seconds_between(trace, row, other),
        shared_tokens=relative.shared_tokens,
        output_tokens=relative.output_tokens,
        differs_in=relative.differs_in,
        first_difference=first_difference(analysis, row, relative),
    )


def explanation_document(analysis: Analysis, found: Explanation) -> dict[str, Any]:
    """The whole document, ready for JSON."""
    return {
        "schema": SCHEMA,
        "setting": setting_of(analysis.setting),
        **asdict(found),
        "num_skipped_rows": analysis.trace.skipped.num,
        "skipped_rows": [asdict(problem) for problem in analysis.trace.skipped],
    }
