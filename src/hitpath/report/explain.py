"""`hitpath explain`: one request's ladder, its nearest relative, and where the two part."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Group
from rich.text import Text

from hitpath.core import ABSENT, CAUSES, RUNG_NAMES, InputError, Setting
from hitpath.report.output import STDOUT
from hitpath.report.run import print_page, write_json
from hitpath.report.text_parts import Page, count, label, seconds, table
from hitpath.sim.rungs import root_codes
from hitpath.spine import analyze
from hitpath.summary import Analysis, LengthsAnalysis
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.traces.table import Trace

_EXCERPT_BYTES = 24


@dataclass(frozen=True, slots=True)
class Relative:
    """The earlier request of the same context that shares the longest beginning (the latest of
    equals). shared_tokens: whole blocks and matched partial ones where the trace has block ids.
    here, there: the first symbol (token, byte text or block id) that differs; None past an end.
    """

    id: str
    session: str | None
    tenant: str | None
    worker: str | None
    seconds_before: float | None
    shared_tokens: int
    here: str | None
    there: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request. Tokens throughout; labels that are not known are None."""

    id: str
    session: str | None
    tenant: str | None
    worker: str | None
    prompt_tokens: int
    hit_tokens: int
    reported: bool
    rungs: dict[str, int | None]
    causes: dict[str, int | None]
    reasons: dict[str, dict[str, int]]
    unexplained: int
    excess: int
    excluded: bool
    best_worker: str | None
    best_worker_tokens: int
    relative: Relative | None


def run_explain(
    traces: list[str],
    request: str,
    setting: Setting,
    json_file: str | None,
    mapping: Sequence[str] = (),
) -> None:
    """Analyse, then explain one request. Raises HitpathError; an unknown id is one."""
    analysis = analyze(traces, setting, mapping=mapping)
    if isinstance(analysis, LengthsAnalysis):
        raise InputError(analysis.trace.format, "", f"nothing to explain: {NO_IDENTITY}")
    found = explain(analysis, request)
    if json_file is not None:
        write_json(json_file, asdict(found))
    if json_file != STDOUT:
        print_page(lambda page: _print(page, found))


def explain(analysis: Analysis, request: str) -> Explanation:
    """Everything about one request of an analysis. Raises InputError for an unknown id."""
    trace, ledger = analysis.trace, analysis.ledger
    if request not in trace.ids:
        raise InputError("request", "id", f"{request!r} is not in this trace of {len(trace):,}")
    row = trace.ids.index(request)
    known = [name not in ledger.rungs.unknown for name in CAUSES]
    best = int(analysis.fleet.best_worker[row])
    best_tokens = int(ledger.rungs.model[3, row])
    return Explanation(
        id=request,
        session=trace.session.of(row),
        tenant=trace.tenant.of(row),
        worker=analysis.workers.of(row),
        prompt_tokens=int(trace.prompt_tokens[row]),
        hit_tokens=int(ledger.hit[row]),
        reported=bool(ledger.rungs.reported[row] != ABSENT),
        rungs={
            name: int(ledger.rungs.model[i, row]) if i == 0 or known[i - 1] else None
            for i, name in enumerate(RUNG_NAMES)
        },
        causes={
            name: int(column[row]) if is_known else None
            for name, column, is_known in zip(CAUSES, ledger.causes, known, strict=True)
        },
        reasons={
            cause: {reason: int(part[row]) for reason, part in parts.items() if part[row]}
            for cause, parts in ledger.reasons.items()
            if cause not in ledger.rungs.unknown
        },
        unexplained=int(ledger.unexplained[row]),
        excess=int(ledger.excess[row]),
        excluded=row in trace.excluded,
        best_worker=analysis.workers.names[best] if best_tokens else None,
        best_worker_tokens=best_tokens,
        relative=_nearest(analysis, row),
    )


def _nearest(analysis: Analysis, row: int) -> Relative | None:
    """Compare with every earlier prompt of the same context, symbol by symbol."""
    trace = analysis.trace
    roots = root_codes(trace, analysis.setting.split_models)
    prompts = trace.prompts
    mine = prompts.flat[prompts.offsets[row] : prompts.offsets[row + 1]]
    nearest, shared = -1, -1
    for earlier in np.flatnonzero(roots[:row] == roots[row]):
        theirs = prompts.flat[prompts.offsets[earlier] : prompts.offsets[earlier + 1]]
        common = _common(mine, theirs)
        if common >= shared:
            nearest, shared = int(earlier), common
    if nearest < 0:
        return None
    theirs = prompts.flat[prompts.offsets[nearest] : prompts.offsets[nearest + 1]]
    before = trace.arrival_s[row] - trace.arrival_s[nearest]
    return Relative(
        id=trace.ids[nearest],
        session=trace.session.of(nearest),
        tenant=trace.tenant.of(nearest),
        worker=analysis.workers.of(nearest),
        seconds_before=float(before) if trace.has_times else None,
        shared_tokens=_tokens(trace, row, shared),
        here=_symbol(trace, mine, shared),
        there=_symbol(trace, theirs, shared),
    )


def _common(mine: Any, theirs: Any) -> int:
    most = min(len(mine), len(theirs))
    differ = np.flatnonzero(mine[:most] != theirs[:most])
    return int(differ[0]) if len(differ) else most


def _tokens(trace: Trace, row: int, symbols: int) -> int:
    if trace.block_size is None:
        return symbols
    whole = int(trace.prompt_tokens[row]) // trace.block_size
    return int(trace.prompt_tokens[row]) if symbols > whole else symbols * trace.block_size


def _symbol(trace: Trace, symbols: Any, at: int) -> str | None:
    if at >= len(symbols):
        return None
    if trace.identity == "text":
        text = bytes(symbols[at : at + _EXCERPT_BYTES].astype(np.uint8)).decode("utf-8", "replace")
        return repr(text)
    return f"{'token' if trace.block_size is None else 'block'} {int(symbols[at])}"


def _print(page: Page, found: Explanation) -> None:
    who = ", ".join(
        f"{name} {value}"
        for name, value in (("session", found.session), ("tenant", found.tenant))
        if value is not None
    )
    page.print()
    page.print(label(f"  request {found.id} on {found.worker}" + (f" ({who})" if who else "")))
    kind = "reported" if found.reported else "modelled"
    page.print(
        f"  {count(found.hit_tokens)} of {count(found.prompt_tokens)} prompt tokens hit ({kind})\n"
    )
    if found.excluded:
        page.print("  this row contradicts itself: it is in no sum\n")
    page.print(_labels(found))
    page.print()
    page.print(Group(*_story(found)))


def _labels(found: Explanation) -> Any:
    shown = table("  label<", "tokens", "reasons<")
    shown.add_row("  hit", count(found.hit_tokens), "")
    for cause, tokens in found.causes.items():
        if tokens:
            reasons = found.reasons.get(cause, {})
            told = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in reasons.items())
            shown.add_row(f"  {cause.replace('_', ' ')}", count(tokens), told)
    for name, tokens in (("unexplained", found.unexplained), ("excess", found.excess)):
        if tokens:
            shown.add_row(f"  {name}", count(tokens), "")
    unknown = [name.replace("_", " ") for name, tokens in found.causes.items() if tokens is None]
    if unknown:
        shown.add_row(f"  not known: {', '.join(unknown)}", "", "", style="dim")
    return shown


def _story(found: Explanation) -> list[Text]:
    lines = []
    if found.best_worker is not None:
        lines.append(
            label(
                f"  best worker: {found.best_worker} held {count(found.best_worker_tokens)} tokens"
            )
        )
    relative = found.relative
    if relative is None:
        return [*lines, Text("  nearest relative: none, this is the first of its context")]
    ago = "" if relative.seconds_before is None else f", {seconds(relative.seconds_before)} before"
    lines.append(
        label(
            f"  nearest relative: {relative.id} on {relative.worker}{ago}: "
            f"the first {count(relative.shared_tokens)} tokens are the same"
        )
    )
    if relative.here is None and relative.there is None:
        lines.append(Text("  the two prompts are equal"))
    elif relative.here is None:
        lines.append(Text("  this prompt ends there, the other goes on"))
    elif relative.there is None:
        lines.append(Text("  the other prompt ends there, this one goes on"))
    else:
        lines.append(label(f"  then {relative.here} here, {relative.there} there"))
    return lines
