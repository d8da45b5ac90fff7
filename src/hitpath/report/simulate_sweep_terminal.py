"""A grid of simulated fleets as a page for a terminal: as many columns as there is room for.

Regret and distance to the bound are what a grid is made for: they, the hit rate and the objective
stand there at any width. Others give way to them, and the page says which.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from hitpath.core import one_line
from hitpath.report.pages import titled
from hitpath.report.simulate_words import fleet_line, miss_line, workload_of
from hitpath.report.text_parts import count, label, percent, table
from hitpath.report.units import number, short_time
from hitpath.serving_spine.cells import LESS_IS_BETTER, Cell
from hitpath.serving_spine.sweep import Sweep

MOST_ROWS = 200
_NAME, _NAMES = 16, 24
"""A value of an axis, or of all axes in one column, is folded at no less."""
_BETWEEN, _MARGIN = 3, 2
"""Characters between two columns, and before the table."""

_OWN_COLUMNS = {
    "hit_rate": "hit rate",
    "ttft_p50": "TTFT p50",
    "ttft_p90": "TTFT p90",
    "output_tokens_per_s": "tokens/s",
    "queue": "queue",
    "goodput": "goodput",
}
_GIVE_WAY = ("TTFT p50", "tokens/s", "queue", "TTFT p90", "goodput")
"""What is left out where it is narrow, the first first; never the objective."""
_SOON = 3
"""So many give way before the axes share a column."""


def print_sweep(sweep: Sweep, console: Console) -> None:
    """A row a cell, in the grid's order."""
    best = sweep.best
    axes = " x ".join(f"{len(axis.values)} {axis.name}" for axis in sweep.axes)
    head = Text(f"{len(sweep.cells):,} of {sweep.num_cells:,} cells: {axes}", style="bold")
    lines = [
        label(f"first cell: {fleet_line(sweep.prepared.plan)}"),
        Text(miss_line(workload_of(sweep.prepared))),
    ]
    for line in lines:
        line.stylize("dim")
    console.print(Padding(Group(head, *lines), (1, 0, 1, 2)))
    if best is not None:
        where = ", ".join(f"{name} {value}" for name, value in best.at.items())
        console.print(titled(f"Best by {sweep.objective}", label(where)))
    layout = _fitting(sweep, console.width - _MARGIN)
    console.print(titled("Cells", _shown(sweep, layout)))
    notes = [
        "regret: how much worse by the objective than the best cell; to bound: the hit rate that "
        "the clairvoyant order in one cache of the fleet's whole memory would add",
        *sweep.notes,
    ]
    if layout.left_out:
        notes.append(f"no room for {', '.join(layout.left_out)} (--table, --json)")
    shown = Group(*(label(f"• {note}") for note in notes))
    console.print(titled("Before you quote a number", shown))


@dataclass(frozen=True, slots=True)
class _Layout:
    """names: columns of figures; parted: whether each axis has a column of its own."""

    names: tuple[str, ...]
    left_out: tuple[str, ...]
    parted: bool

    def header(self, axes: Sequence[str]) -> list[str]:
        """Of the columns before the figures."""
        return list(axes) if self.parted else [", ".join(axes)]

    def place(self, cell: Cell) -> list[str]:
        """A cell's values of the axes."""
        values = [one_line(value) for value in cell.at.values()]
        return values if self.parted else [", ".join(values)]


def _fitting(sweep: Sweep, width: int) -> _Layout:
    """The first layout that has room, or the narrowest."""
    figures = _figures(sweep)
    wide = {
        name: max(map(cell_len, (name, *map(text, sweep.cells[:MOST_ROWS]))))
        for name, text in figures.items()
    }
    for layout in _layouts(sweep, tuple(figures)):
        columns = [wide[name] for name in layout.names]
        columns += [least for _, least in _named(sweep, layout)]
        if sum(columns) + _BETWEEN * (len(columns) - 1) <= width:
            break
    return layout


def _layouts(sweep: Sweep, names: tuple[str, ...]) -> Iterator[_Layout]:
    """From the widest to the narrowest: first figures give way, then the axes share a column."""
    kept = _OWN_COLUMNS.get(sweep.objective)
    away = [name for name in _GIVE_WAY if name in names and name != kept]
    tries = [(num, True) for num in range(min(_SOON, len(away)) + 1)]
    tries += [(num, False) for num in range(len(away) + 1)]
    for num, parted in tries:
        left = tuple(name for name in names if name not in away[:num])
        yield _Layout(left, tuple(away[:num]), parted or len(sweep.axes) < 2)


def _named(sweep: Sweep, layout: _Layout) -> Iterator[tuple[str, int]]:
    """(header, least width) of the columns before the figures; words of a header stay whole."""
    header = layout.header([axis.name for axis in sweep.axes])
    places = [layout.place(cell) for cell in sweep.cells[:MOST_ROWS]]
    for i, name in enumerate(header):
        longest = max((cell_len(place[i]) for place in places), default=0)
        least = min(_NAME if layout.parted else _NAMES, longest)
        yield name, max(least, *map(cell_len, name.split(" ")))


def _figures(sweep: Sweep) -> dict[str, Callable[[Cell], str]]:
    """Columns of figures, by name."""
    best, objective = sweep.best, sweep.objective
    found: dict[str, Callable[[Cell], str]] = {
        "hit rate": lambda cell: percent(cell.hit_rate),
        "TTFT p50": lambda cell: _time(cell.latency.ttft_s.p50),
        "TTFT p90": lambda cell: _time(cell.latency.ttft_s.p90),
        "tokens/s": lambda cell: number(cell.throughput.output_tokens_per_s),
        "queue": lambda cell: number(cell.queue.mean),
    }
    if any(cell.goodput is not None for cell in sweep.cells):
        found["goodput"] = _goodput
    if objective not in _OWN_COLUMNS:
        found[objective.replace("_", " ")] = lambda cell: _objective(cell, objective)
    return found | {
        "regret": lambda cell: "best" if cell is best else percent(sweep.regret(cell)),
        "to bound": lambda cell: percent(sweep.hit_regret(cell)),
    }


def _objective(cell: Cell, objective: str) -> str:
    value = cell.value(objective)
    return _time(value) if objective in LESS_IS_BETTER else number(value)


def _shown(sweep: Sweep, layout: _Layout) -> Group:
    best, figures = sweep.best, _figures(sweep)
    named = list(_named(sweep, layout))
    shown = table(*(f"{name}~" for name, _ in named), *layout.names)
    for (_, least), column in zip(named, shown.columns, strict=False):
        column.min_width = least
    for cell in sweep.cells[:MOST_ROWS]:
        row = [*layout.place(cell), *(figures[name](cell) for name in layout.names)]
        shown.add_row(*row, style="bold green" if cell is best else "")
    more = len(sweep.cells) - MOST_ROWS
    rest = [Text(f"… and {count(more)} more (--json, --table)", "dim")] if more > 0 else []
    return Group(shown, *rest)


def _time(value: float | None) -> str:
    return "–" if value is None else short_time(value)


def _goodput(cell: Cell) -> str:
    if cell.goodput is None or cell.goodput.per_s is None:
        return "–"
    return f"{number(cell.goodput.per_s)}/s{'' if cell.goodput.met else ' ✗'}"
