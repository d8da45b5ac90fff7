"""The terminal page of `hitpath price`: the answer, both paths side by side, what follows."""

from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.cost.paths import Path
from hitpath.cost.quote import Quote
from hitpath.report.pages import titled
from hitpath.report.price_text import (
    BOUND_BY,
    PART_NAMES,
    Compared,
    Finding,
    break_evens,
    compared,
    machine_line,
    model_line,
    work_line,
    workload,
    worth,
)
from hitpath.report.text_parts import bar, label, table
from hitpath.report.units import ratio_text, short_time

_STYLES = {"compute": "cyan", "memory": "yellow", "link": "magenta", "none": "dim"}
_BAR = 24


def price_sections(quote: Quote) -> Iterator[RenderableType]:
    """The page, part by part."""
    yield _head(quote)
    yield titled("The two paths", _paths(quote))
    yield titled("Where the time goes", _times(quote))
    yield titled("What the hit is worth", _findings(worth(quote)))
    yield titled("Where it begins to pay", _findings(break_evens(quote)))
    notes = (label(f"• {note}") for note in quote.notes)
    yield titled("Before you quote a number", Group(*notes))


def print_sections(sections: Iterable[RenderableType], console: Console) -> None:
    """All of them."""
    for section in sections:
        console.print(section)


def _head(quote: Quote) -> RenderableType:
    big = Text.assemble(
        (short_time(quote.hit.ttft_s), "bold green"),
        f" to the first token instead of {short_time(quote.miss.ttft_s)}: ",
        (ratio_text(quote.speedup.ttft), "bold green"),
        (f"  ({workload(quote)})", "dim"),
    )
    lines = [Text(model_line(quote)), Text(machine_line(quote)), Text(work_line(quote), "dim")]
    return Padding(Group(big, *lines), (1, 0, 1, 2))


def _paths(quote: Quote) -> RenderableType:
    shown = table("<", "<", "miss path", "hit path", "miss / hit")
    for row in compared(quote):
        if row.group and row.group != "tokens":
            shown.add_section()
        style = "bold" if row.quantity == "time to first token" else ""
        miss, hit = _cells(row, style)
        shown.add_row(
            Text(row.group, "bold"), Text(row.quantity, style), miss, hit, Text(row.ratio, style)
        )
    return shown


def _cells(row: Compared, style: str) -> tuple[Text, Text]:
    if row.quantity == BOUND_BY:
        return Text(row.miss, _STYLES[row.miss]), Text(row.hit, _STYLES[row.hit])
    return Text(row.miss, style), Text(row.hit, f"{style} green" if style else "")


def _times(quote: Quote) -> RenderableType:
    longest = max(quote.miss.ttft_s, quote.hit.ttft_s)
    shown = table("<", "miss path", "=", "hit path", "=")
    others = {"overhead_s": "steps", "lookup_s": "lookup", "queue_s": "queue"}
    for name, title in (PART_NAMES | others).items():
        seconds = [_seconds(path, name) for path in (quote.miss, quote.hit)]
        if any(seconds):
            cells = [(short_time(s), bar(s / longest, _BAR, "green")) for s in seconds]
            shown.add_row(title, *cells[0], *cells[1])
    return shown


def _seconds(path: Path, name: str) -> float:
    return path.parts[name].time_s if name in path.parts else float(getattr(path, name))


def _findings(findings: Iterable[Finding]) -> RenderableType:
    shown = table("<", "", "what it is~")
    for found in findings:
        shown.add_row(found.name, Text(found.value, "bold"), Text(found.meaning, "dim"))
    return shown
