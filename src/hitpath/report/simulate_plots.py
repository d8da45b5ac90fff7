"""Pictures of simulated fleets as SVG: one run over time, and a grid against its longest axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hitpath import __version__
from hitpath.core import one_line
from hitpath.report.html.charts import line
from hitpath.report.html.sentences import Note
from hitpath.report.html.serving_figures import latency_plot, number_axis, time_plots
from hitpath.report.html.serving_sentences import latency as latency_sentence
from hitpath.report.pictures.plots import draw_plot
from hitpath.report.pictures.sheet import MARGIN, WIDTH, Sheet, placed, text_width
from hitpath.report.simulate_words import fleet_line, miss_line, workload_of
from hitpath.report.text_parts import percent
from hitpath.report.units import number, short_time, tick
from hitpath.serving_spine import Simulation
from hitpath.serving_spine.cells import LESS_IS_BETTER, Cell
from hitpath.serving_spine.sweep import Axis, Sweep

_COLOURS = ("hit", "lost", "odd", "o2", "ink", "miss", "dim", "floor")
_DASHES = ("", "6 4", "2 3")
MOST_LINES = len(_COLOURS) * len(_DASHES)
_HEIGHT = 260.0
_LEFT, _RIGHT = MARGIN + 64, WIDTH - MARGIN - 24


def simulation_svg(simulation: Simulation) -> str:
    """Latencies, and the run over time."""
    serving = simulation.serving
    prepared = simulation.prepared
    foot = (
        f"{fleet_line(prepared.plan)} · router {prepared.plan.router.text} · hit rate "
        f"{percent(serving.whole.hit_rate)} · {miss_line(workload_of(prepared))} · hitpath "
        f"{__version__}"
    )
    sheet = Sheet("A simulated fleet", latency_sentence(serving), one_line_long(foot))
    plots = [latency_plot(simulation.served), *time_plots(serving.windows)]
    for plot in plots:
        if plot is not None:
            draw_plot(sheet, plot)
    return sheet.svg()


def one_line_long(text: str) -> str:
    """Names come from traces: nothing in them may break a line."""
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class _Series:
    """One line: its name and (place on the axis from 0 to 1, value)."""

    name: str
    points: tuple[tuple[float, float], ...]


def sweep_svg(sweep: Sweep) -> str:
    """The objective, then the hit rate, against the axis with the most values; a line for each
    combination of the others."""
    axis = _main_axis(sweep.axes)
    best = sweep.best
    where = "" if best is None else ", ".join(f"{n} {v}" for n, v in best.at.items())
    value = None if best is None else best.value(sweep.objective)
    shows = (
        f"Best by {sweep.objective}: {where}, {_shown(sweep.objective, value)}, hit rate "
        f"{percent(None if best is None else best.hit_rate)}."
    )
    foot = (
        f"first cell: {fleet_line(sweep.prepared.plan)} · "
        f"{miss_line(workload_of(sweep.prepared))} · "
        f"{len(sweep.cells)} of {sweep.num_cells} cells · hitpath {__version__}"
    )
    sheet = Sheet("A grid of simulated fleets", Note(one_line(shows), ""), one_line_long(foot))
    for objective in dict.fromkeys((sweep.objective, "hit_rate")):
        series = _series(sweep, axis, objective)
        if series:
            _draw(sheet, axis, objective, series)
    return sheet.svg()


def _main_axis(axes: Sequence[Axis]) -> Axis:
    """The numeric axis with the most values; of names only, the one with the most."""
    return max(axes, key=lambda axis: (_is_numeric(axis), len(axis.values)))


def _is_numeric(axis: Axis) -> bool:
    try:
        return all(math.isfinite(float(value)) for value in axis.values)
    except ValueError:
        return False


def _series(sweep: Sweep, axis: Axis, objective: str) -> list[_Series]:
    grouped: dict[str, list[tuple[float, float]]] = {}
    last = max(1, len(axis.values) - 1)
    for cell in sweep.cells:
        value = cell.value(objective)
        if value is None:
            continue
        place = axis.values.index(cell.at[axis.name]) / last
        grouped.setdefault(_name(cell, axis), []).append((place, value))
    return [_Series(name, tuple(sorted(points))) for name, points in grouped.items()][:MOST_LINES]


def _name(cell: Cell, axis: Axis) -> str:
    return ", ".join(
        value if name in ("router", "engine", "hardware") else f"{name} {value}"
        for name, value in cell.at.items()
        if name != axis.name
    )


def _shown(objective: str, value: float | None) -> str:
    if value is None:
        return "–"
    if objective == "hit_rate":
        return percent(value)
    if objective in LESS_IS_BETTER and objective != "queue":
        return short_time(value)
    return number(value)


def _draw(sheet: Sheet, axis: Axis, objective: str, series: Sequence[_Series]) -> None:
    highest = max(value for one in series for _, value in one.points)
    top, ticks = number_axis(highest) if highest > 0 else (1.0, ())
    sheet.y += 14
    unit = " in seconds" if objective in LESS_IS_BETTER and objective != "queue" else ""
    sheet.text(MARGIN, sheet.y, f"{objective.replace('_', ' ')}{unit}", 13, "ink", 600)
    sheet.y += 12
    upper, width = sheet.y, _RIGHT - _LEFT
    for mark in ticks:
        y = upper + mark.at * _HEIGHT / 100
        sheet.line(f"M{_LEFT} {y:.1f}H{_RIGHT}", "faint")
        shown = percent(top * (1 - mark.at / 100)) if objective == "hit_rate" else mark.label
        sheet.text(_LEFT - 8, y + 4, shown, anchor="end")
    for number_of, one in enumerate(series):
        colour, dashes = _style(number_of)
        places = [(100 * x, 100 - 100 * value / top) for x, value in one.points]
        path = placed(line(places), _LEFT, upper, width, _HEIGHT)
        sheet.line(path, colour, 2.2, dashes)
        if len(places) == 1:
            sheet.circle(_LEFT + places[0][0] * width / 100, upper + places[0][1] * _HEIGHT / 100)
    sheet.line(f"M{_LEFT} {upper + _HEIGHT:.1f}H{_RIGHT}", "dim")
    sheet.y = upper + _HEIGHT
    _below(sheet, axis)
    _legend(sheet, series)


def _style(number_of: int) -> tuple[str, str]:
    return _COLOURS[number_of % len(_COLOURS)], _DASHES[number_of // len(_COLOURS)]


def _below(sheet: Sheet, axis: Axis) -> None:
    """The axis' values where there is room for them, and its name."""
    last = max(1, len(axis.values) - 1)
    numeric, room, used = _is_numeric(axis), (_RIGHT - _LEFT) / last, -math.inf
    for i, value in enumerate(axis.values):
        x = _LEFT + i * room
        shown = tick(float(value)) if numeric else one_line(value)
        if x - text_width(shown, 12) / 2 > used:
            anchor = "start" if i == 0 else "end" if i == last and last > 1 else "middle"
            sheet.text(x, sheet.y + 18, shown, anchor=anchor)
            used = x + text_width(shown, 12) / 2 + 8
    sheet.y += 38
    sheet.text((_LEFT + _RIGHT) / 2, sheet.y, axis.name.replace("_", " "), anchor="middle")
    sheet.y += 8


def _legend(sheet: Sheet, series: Sequence[_Series]) -> None:
    """A line and its name, as many beside each other as there is room for."""
    x = float(MARGIN)
    sheet.y += 20
    for number_of, one in enumerate(series):
        name = one_line(one.name)
        if not name:
            continue
        colour, dashes = _style(number_of)
        if x > MARGIN and x + 40 + text_width(name, 12) > WIDTH - MARGIN:
            x, sheet.y = float(MARGIN), sheet.y + 20
        sheet.line(f"M{x:.1f} {sheet.y - 4:.1f}h24", colour, 2.2, dashes)
        sheet.text(x + 30, sheet.y, name)
        x += 44 + text_width(name, 12)
    sheet.y += 16
