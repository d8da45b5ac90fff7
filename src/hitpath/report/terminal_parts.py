"""Sections that every page of an analysis has: bad rows, rates over time, tables by label."""

from collections.abc import Iterable, Sequence

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from hitpath.accounting.rates import Group, ratio
from hitpath.report.pages import titled
from hitpath.report.text_parts import bar, count, label, levels, percent, seconds, table
from hitpath.summary.windows import Window
from hitpath.traces.problems import Skipped
from hitpath.traces.table import Trace

MOST_GROUP_ROWS = 8
_MOST_LISTED = 10


def problems(trace: Trace) -> Iterable[RenderableType]:
    """Rows that could not be read, and rows that contradict themselves."""
    for title, problems in (
        ("Skipped rows", trace.skipped),
        ("Excluded rows", Skipped(trace.excluded.values())),
    ):
        if problems:
            lines = [label(f"{p.place}: {p.field}: {p.cause}") for p in problems[:_MOST_LISTED]]
            if problems.num > _MOST_LISTED:
                lines.append(Text(f"… and {problems.num - _MOST_LISTED:,} more (--json)"))
            yield titled(f"{title}: {problems.num:,}", Lines(*lines))


def over_time(trace: Trace, windows: Sequence[Window]) -> RenderableType:
    """Both rates and the load, a character a window."""
    rates = [w.rates.token_weighted for w in windows]
    means = [w.rates.request_mean_token_full for w in windows]
    top = max([r for r in [*rates, *means] if r is not None], default=0.0)
    loads = [w.prompt_tokens for w in windows]
    most = max(loads, default=0)
    shown = table("<", "<", "lowest", "highest")
    for name, values in (("token-weighted", rates), ("request mean", means)):
        known = [v for v in values if v is not None]
        low, high = (min(known), max(known)) if known else (None, None)
        shown.add_row(name, Text(levels(values, top), style="green"), percent(low), percent(high))
    load = levels([v / most if most else None for v in loads], 1.0)
    shown.add_row("prompt tokens", Text(load, style="cyan"), count(min(loads)), count(most))
    by = "time" if trace.common_clock else "requests"
    width = windows[0].end - windows[0].begin
    step = seconds(width) if trace.common_clock else f"{width:,.3g} requests"
    note = f"{len(windows)} windows of equal {by}, {step} each; bars from 0 to the highest rate"
    return Lines(shown, Text(note, style="dim"))


def group_table(groups: list[Group], most: int) -> RenderableType:
    """The largest groups of one label; without what was possible where that is not known."""
    known = any(group.possible_tokens is not None for group in groups)
    possible = ("possible",) if known else ()
    shown = table("<", "requests", "prompt tokens", "hit tokens", "hit rate", *possible, "=")
    for group in groups[:most]:
        shown.add_row(
            label(group.name),
            count(group.num_requests),
            count(group.prompt_tokens),
            count(group.hit_tokens),
            percent(group.hit_rate),
            *([percent(ratio(group.possible_tokens, group.prompt_tokens))] if known else []),
            bar(group.hit_rate, 16, "green"),
        )
    if len(groups) > most:
        shown.add_row(f"… and {len(groups) - most:,} more")
    return shown
