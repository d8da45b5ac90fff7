"""The terminal page of a trace of lengths only."""

from collections.abc import Iterable

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.accounting.rates import ratio
from hitpath.report.document import arrival_span_s
from hitpath.report.lengths import tiers_of
from hitpath.report.pages import titled
from hitpath.report.terminal_parts import (
    MOST_GROUP_ROWS,
    group_table,
    over_time,
    problems,
)
from hitpath.report.terminal_worth import worth_sections
from hitpath.report.text_parts import bar, count, label, percent, seconds, table
from hitpath.summary.lengths import NO_IDENTITY, NOTHING_REPORTED, LengthsAnalysis, Quantiles
from hitpath.summary.losses import WAITS_S, LostTurns, lost_turns

_NAMES = {
    "prompt_tokens": "prompt tokens",
    "output_tokens": "output tokens",
    "reported_hit_tokens": "reported hit tokens",
    "ttft_s": "time to first token",
    "duration_s": "arrival to finish",
}


def print_lengths(analysis: LengthsAnalysis, console: Console) -> None:
    """The whole page."""
    for section in _sections(analysis):
        console.print(section)


def _sections(analysis: LengthsAnalysis) -> Iterable[RenderableType]:
    reported = analysis.hit_tokens is not None
    yield _head(analysis)
    yield from problems(analysis.trace)
    if reported:
        yield titled("Hit rate, as reported", _rates(analysis))
        yield titled("Where the prompt tokens went", _tokens(analysis))
    for title, part in worth_sections(analysis.priced, analysis.billed):
        yield titled(title, part)
    lost = lost_turns(analysis.trace)
    if lost is not None and lost.num_lost:
        yield titled("Turns that lost the cache", _lost_turns(lost))
    if analysis.quantiles:
        yield titled("Lengths and times", _quantiles(analysis.quantiles))
    if len(analysis.by_share) > 1:
        yield titled("Requests by their own share of hit", _by_share(analysis))
    if reported and analysis.over_time:
        yield titled("Over time", over_time(analysis.trace, analysis.over_time))
    for name, groups in analysis.groups.items():
        if len(groups) > 1:
            most = len(groups) if name == "turn" else MOST_GROUP_ROWS
            title = "By turn of the session" if name == "turn" else f"By {name}"
            yield titled(title, group_table(groups, most))
    yield titled("Not known", _not_known(reported))
    if analysis.warnings:
        notes = (label(f"• {note}") for note in analysis.warnings)
        yield titled("Before you quote a number", Group(*notes))


def _head(analysis: LengthsAnalysis) -> RenderableType:
    trace = analysis.trace
    told = int(np.count_nonzero(analysis.told))
    span = arrival_span_s(trace)
    if analysis.hit_tokens is None:
        big = Text("No hit rate: lengths and times only", style="bold yellow")
    else:
        big = Text.assemble(
            (percent(analysis.hit_rate.token_weighted), "bold green"),
            " of prompt tokens hit, as reported  ",
            (f"({percent(analysis.steady.token_weighted)} in the second half)", "dim"),
        )
    read = (
        f"{trace.format} trace · {count(len(trace))} requests, {count(told)} report their hit · "
        f"{count(analysis.prompt_tokens)} prompt tokens"
    )
    if analysis.output_tokens is not None:
        read += f" · {count(analysis.output_tokens)} output tokens"
    if span is not None:
        read += f" · over {seconds(span)}"
    return Padding(Group(big, Text(read)), (1, 0, 1, 2))


def _rates(analysis: LengthsAnalysis) -> RenderableType:
    shown = table("<", "whole trace", "second half", "=", "what it is~")
    for name, title, meaning in (
        ("token_weighted", "token-weighted", "hit / prompt tokens of requests that report"),
        ("request_mean_token_full", "request mean", "each request's share, averaged"),
    ):
        whole = getattr(analysis.hit_rate, name)
        shown.add_row(
            title,
            percent(whole),
            percent(getattr(analysis.steady, name)),
            bar(whole, 16, "green"),
            Text(meaning, style="dim"),
        )
    return shown


def _tokens(analysis: LengthsAnalysis) -> RenderableType:
    prompt, hit = analysis.prompt_tokens, analysis.hit_tokens or 0
    shown = table("label<", "tokens", "share", "=", "~")
    tiers = {name: tokens for name, tokens in tiers_of(analysis).items() if tokens}
    by_tier = ", ".join(f"{name} {tokens:,}" for name, tokens in tiers.items())
    rows = [
        ("hit", hit, "green", by_tier if set(tiers) - {"unknown"} else ""),
        ("missed", analysis.missed_tokens, "bright_black", "cause not known"),
        ("not reported", analysis.not_reported_tokens, "yellow", "requests that tell no hit"),
    ]
    for name, tokens, style, note in rows:
        share = ratio(tokens, prompt)
        shown.add_row(name, count(tokens), percent(share), bar(share, 16, style), Text(note, "dim"))
    shown.add_section()
    shown.add_row("prompt", count(prompt), percent(ratio(prompt, prompt)), style="bold")
    notes = []
    if analysis.not_reported_tokens:
        notes.append("share is of all prompt tokens; the hit rate is hit / (hit + missed)")
    if analysis.written_tokens is not None:
        notes.append(
            f"{count(analysis.written_tokens)} tokens were written to the provider's cache"
        )
    return Group(shown, *(Text(note, style="dim") for note in notes))


def _lost_turns(found: LostTurns) -> RenderableType:
    """The biggest of them, and how many came after a wait."""
    shown = table("session<", "turn", "after", "prompt before", "hit", "lost tokens")
    for turn in found.turns[:MOST_GROUP_ROWS]:
        shown.add_row(
            label(turn.session),
            count(turn.turn),
            "–" if turn.gap_s is None else seconds(turn.gap_s),
            count(turn.previous_prompt_tokens),
            count(turn.hit_tokens),
            count(turn.lost_tokens),
        )
    waits = zip(WAITS_S, found.num_after, strict=True)
    after = ", ".join(f"{count(num)} more than {seconds(wait_s)}" for wait_s, num in waits)
    note = (
        f"{count(found.num_lost)} of {count(found.num_judged)} turns hit less than half of what "
        f"their session had sent just before: {count(found.lost_tokens)} tokens lost; {after} "
        f"after the request before; {count(found.num_other_model)} with another model than it"
    )
    return Group(shown, Text(note, style="dim"))


def _quantiles(found: dict[str, Quantiles]) -> RenderableType:
    shown = table("<", "requests", "10 %", "median", "90 %", "99 %", "largest")
    for name, told in found.items():
        write = seconds if name.endswith("_s") else _tokens_of
        shown.add_row(_NAMES[name], count(told.num_requests), *(write(v) for v in told.values))
    return shown


def _tokens_of(value: float) -> str:
    return f"{value:,.0f}"


def _by_share(analysis: LengthsAnalysis) -> RenderableType:
    timed = any(step.median_ttft_s is not None for step in analysis.by_share)
    more = ("median time to first token",) if timed else ()
    shown = table("hit / prompt<", "requests", "median prompt tokens", *more, "=")
    total = sum(step.num_requests for step in analysis.by_share)
    for step in analysis.by_share:
        ttft = "–" if step.median_ttft_s is None else seconds(step.median_ttft_s)
        shown.add_row(
            step.name,
            count(step.num_requests),
            _tokens_of(step.median_prompt_tokens),
            *([ttft] if timed else []),
            bar(ratio(step.num_requests, total), 20, "cyan"),
        )
    return shown


def _not_known(reported: bool) -> RenderableType:
    lines = [Text(f"• {NO_IDENTITY if reported else NOTHING_REPORTED}")]
    what = "why tokens missed, what was possible, what another cache size would give"
    if not reported:
        what = f"the hit rate, {what}"
    lines.append(Text(f"• so not known: {what}"))
    lines.append(
        Text("• to know: record token ids, block ids or text beside these (docs/get-a-trace.md)")
    )
    return Group(*lines)
