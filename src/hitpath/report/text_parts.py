"""Small pieces of a terminal page: numbers, bars, tables in one style."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"


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


def bar(share: float | None, width: int, style: str) -> Text:
    """A horizontal bar in eighths of a cell."""
    if not share or share <= 0:
        return Text("")
    eighths = max(1, round(min(share, 1.0) * width * 8))
    full, rest = divmod(eighths, 8)
    return Text("█" * full + (_EIGHTHS[rest] if rest else ""), style=style)


def levels(rates: Sequence[float | None], top: float) -> str:
    """One character a value, scaled to `top`; a dot where there is no rate."""
    if top <= 0:
        return "".join("·" if rate is None else _LEVELS[0] for rate in rates)
    steps = len(_LEVELS) - 1
    return "".join("·" if r is None else _LEVELS[round(r / top * steps)] for r in rates)


def table(*columns: str) -> Table:
    """A light table. A name that ends in `<` is set to the left, in `~` to the left and may
    wrap (for prose); others are numbers, to the right, and never cut."""
    made = Table(
        box=box.SIMPLE_HEAD,
        header_style="dim",
        pad_edge=False,
        show_edge=False,
    )
    for name in columns:
        prose = name.endswith("~")
        made.add_column(
            name.rstrip("<~"),
            justify="left" if prose or name.endswith("<") else "right",
            no_wrap=not prose,
            overflow="fold",
            ratio=1 if prose else None,
        )
    return made
