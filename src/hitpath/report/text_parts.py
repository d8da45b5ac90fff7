"""Small pieces of a terminal page: numbers, bars, tables in one style."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hitpath.core import ReaderGone, one_line

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"


class Page(Console):
    """A console that takes text as it is: no markup, no emoji, no colouring of numbers, and a
    reader who has gone is an error of its own kind (main ends quietly on it)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def on_broken_pipe(self) -> None:
        raise ReaderGone


def label(text: str) -> Text:
    """A name from a trace: whatever it holds, it is shown, not obeyed."""
    return Text(one_line(text))


def count(tokens: int | None) -> str:
    """With thousands separators; a dash for "not known"."""
    return "–" if tokens is None else f"{tokens:,}"


def percent(rate: float | None) -> str:
    """Two decimals, or a dash where there is no denominator."""
    return "–" if rate is None else f"{rate:.2%}".replace("%", " %")


def seconds(value: float) -> str:
    """A duration in the unit that suits it."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} s"


@dataclass(frozen=True, slots=True)
class Bar:
    """A horizontal bar in eighths of a cell, `width` cells at most; it gives way to numbers."""

    share: float
    width: int
    style: str

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, self.width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        cells = min(self.width, options.max_width)
        full, rest = divmod(max(1, round(min(self.share, 1.0) * cells * 8)), 8)
        yield Text("█" * full + (_EIGHTHS[rest] if rest else ""), style=self.style)


def bar(share: float | None, width: int, style: str) -> Bar | str:
    """A bar, or nothing for no share."""
    return Bar(share, width, style) if share and share > 0 else ""


def levels(rates: Sequence[float | None], top: float) -> str:
    """One character a value, scaled to `top`; a dot where there is no rate."""
    if top <= 0:
        return "".join("·" if rate is None else _LEVELS[0] for rate in rates)
    steps = len(_LEVELS) - 1
    return "".join("·" if r is None else _LEVELS[round(r / top * steps)] for r in rates)


def table(*columns: str) -> Table:
    """A light table. The last letter of a name sets its column: `<` names, to the left; `~` prose
    and `=` bars, which give way where it is narrow; others are numbers, to the right, never cut.
    """
    made = Table(
        box=box.SIMPLE_HEAD,
        header_style="dim",
        pad_edge=False,
        show_edge=False,
    )
    for name in columns:
        kind = name[-1:]
        made.add_column(
            name.rstrip("<~="),
            justify="left" if kind in ("<", "~", "=") else "right",
            no_wrap=kind not in ("~", "="),
            overflow="ellipsis" if kind == "<" else "fold",
        )
    return made
