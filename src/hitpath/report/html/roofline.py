"""Both paths on the roofline as one self-contained page (`hitpath price --plot`)."""

import math
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from hitpath import __version__
from hitpath.cost.paths import Path
from hitpath.cost.quote import Quote
from hitpath.cost.roofline import Roofline
from hitpath.cost.sweep import SweepPoint
from hitpath.report.html.charts import LogAxis, Tick, line
from hitpath.report.price_text import (
    PART_NAMES,
    break_evens,
    compared,
    machine_line,
    model_line,
    work_line,
    workload,
    worth,
)
from hitpath.report.terminal_sweep import TITLES, place
from hitpath.report.units import number, ratio_text, short_time, si, tick

_LABEL_GAP = 5.5
_BELOW = 3.5
"""How far a label stands below its dot, and so below the roof."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One part of one path. Places in percent; `text` is read on pointing at it."""

    x: float
    y: float
    label_y: float
    css: str
    label: str
    text: str
    left: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a picture; `css` is its colour."""

    css: str
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot with logarithmic axes. Places in percent."""

    key: str
    alt: str
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curves: tuple[Curve, ...]
    dots: tuple[Dot, ...] = ()


def render_roofline(
    quote: Quote, axis: str | None, points: list[SweepPoint], command: str
) -> bytes:
    """The page. `command`: the command line that made it. The same quote gives the same bytes."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(_part),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = _part("page.css") + _part("roofline.css")
    pictures = [roofline_picture(quote)]
    if axis is not None:
        pictures.append(sweep_picture(axis, points))
    view: dict[str, Any] = {
        "title": f"{quote.replica.shape.name} on {quote.replica.hardware.name}",
        "speedup": ratio_text(quote.speedup.ttft),
        "headline": f"{short_time(quote.hit.ttft_s)} to the first token instead of "
        f"{short_time(quote.miss.ttft_s)}",
        "workload": workload(quote),
        "lines": (model_line(quote), machine_line(quote), work_line(quote)),
        "pictures": pictures,
        "compared": tuple(compared(quote)),
        "findings": (*worth(quote), *break_evens(quote)),
        "notes": quote.notes,
        "command": command,
        "version": __version__,
    }
    template = environment.get_template("roofline.html.j2")
    return template.render(page=view, style=style).encode("utf-8", "replace")


def _part(name: str) -> str:
    return files("hitpath.report.html").joinpath(name).read_text(encoding="utf-8")


def roofline_picture(quote: Quote) -> Picture:
    """FLOP/s of one GPU against FLOP a byte of all that moves: the roof and both paths' parts."""
    roofline = quote.replica.roofline
    placed = [
        (name, css, *where)
        for css, path in (("miss", quote.miss), ("hit", quote.hit))
        for name, where in _places(path, quote.replica.num_gpus).items()
    ]
    peak = max(roofline.matrix_flops_per_s, roofline.attention_flops_per_s)
    low_x = min(0.5, *(x / 2 for _, _, x, _ in placed))
    high_x = max(10 * peak / roofline.memory_bytes_per_s, *(2 * x for _, _, x, _ in placed))
    x_axis, y_axis = LogAxis(low_x, high_x), _up(low_x * roofline.memory_bytes_per_s, 2 * peak)
    return Picture(
        key="roofline",
        alt="Roofline with the parts of both paths",
        x_title="FLOP a byte of all that is read and written, logarithmic",
        y_title="FLOP/s of one GPU, logarithmic",
        x_ticks=x_axis.ticks(),
        y_ticks=y_axis.ticks(),
        curves=tuple(_roofs(roofline, x_axis, y_axis)),
        dots=_spread(
            [
                Dot(
                    x=x_axis.at(x),
                    y=y_axis.at(y),
                    label_y=y_axis.at(y),
                    css=css,
                    label=f"{PART_NAMES[name]}, {css}",
                    text=f"{PART_NAMES[name]} of the {css} path: {number(x)} FLOP/byte, "
                    f"{si(y, 'FLOP/s')} a GPU",
                    left=x_axis.at(x) > 70,
                )
                for name, css, x, y in placed
            ]
        ),
    )


def _places(path: Path, num_gpus: int) -> dict[str, tuple[float, float]]:
    """(FLOP a byte, FLOP/s of one GPU) of each part that computes."""
    return {
        name: (part.intensity_all_bytes, part.flops / part.time_s / num_gpus)
        for name, part in path.parts.items()
        if part.intensity_all_bytes and part.time_s
    }


def _roofs(roofline: Roofline, x_axis: LogAxis, y_axis: "_Up") -> list[Curve]:
    """The roof of matrix products, and attention's where it is another."""
    peaks = {"matrix products": (roofline.matrix_flops_per_s, roofline.matrix_type, "rate")}
    if roofline.attention_flops_per_s != roofline.matrix_flops_per_s:
        attention = (roofline.attention_flops_per_s, roofline.attention_type, "mean")
        peaks["attention"] = attention
    curves = []
    for name, (peak, type_, css) in peaks.items():
        corners = (x_axis.low, peak / roofline.memory_bytes_per_s, x_axis.high)
        path = line(
            [(x_axis.at(x), y_axis.at(min(peak, x * roofline.memory_bytes_per_s))) for x in corners]
        )
        curves.append(Curve(css, f"{name}: {si(peak, 'FLOP/s')} in {type_}", path))
    return curves


def sweep_picture(axis: str, points: list[SweepPoint]) -> Picture:
    """Time to first token of both paths along the axis."""
    times = [t for point in points for t in (point.miss_ttft_s, point.hit_ttft_s)]
    y_axis = _up(min(times) / 1.5, max(times) * 1.5)
    step = 100 / max(len(points) - 1, 1)
    dots, ticks = [], []
    every = math.ceil(len(points) / 9)
    for i, point in enumerate(points):
        where = place(axis, point)
        text = (
            f"{where}: {short_time(point.hit_ttft_s)} instead of "
            f"{short_time(point.miss_ttft_s)}, {ratio_text(point.speedup)}"
        )
        at = y_axis.at(point.hit_ttft_s)
        dots.append(Dot(i * step, at, at, "hit", "", text, left=False))
        if i % every == 0:
            ticks.append(Tick(i * step, where))
    return Picture(
        key="sweep",
        alt=f"{TITLES[axis]}: time to first token of both paths",
        x_title=TITLES[axis],
        y_title="time to first token in seconds, logarithmic",
        x_ticks=tuple(ticks),
        y_ticks=y_axis.ticks(),
        curves=tuple(
            Curve(
                css,
                f"{css} path",
                line([(i * step, y_axis.at(t(point))) for i, point in enumerate(points)]),
            )
            for css, t in (("miss", _miss_s), ("hit", _hit_s))
        ),
        dots=tuple(dots),
    )


def _miss_s(point: SweepPoint) -> float:
    return point.miss_ttft_s


def _hit_s(point: SweepPoint) -> float:
    return point.hit_ttft_s


@dataclass(frozen=True, slots=True)
class _Up:
    """A logarithmic axis that runs upwards: percent from the top."""

    axis: LogAxis

    def at(self, value: float) -> float:
        return 100 - self.axis.at(value)

    def ticks(self) -> tuple[Tick, ...]:
        decades = math.log10(self.axis.high / self.axis.low)
        values = self.axis.tick_values()
        if decades > 2:
            values = [v for v in values if abs(math.log10(v) - round(math.log10(v))) < 1e-9]
        return tuple(Tick(self.at(v), tick(v)) for v in values)


def _up(low: float, high: float) -> _Up:
    return _Up(LogAxis(low, high))


def _spread(dots: list[Dot]) -> tuple[Dot, ...]:
    """The dots with their labels moved apart, so that none covers another on its side."""
    placed: list[Dot] = []
    for left in (False, True):
        above = -math.inf
        for dot in sorted((d for d in dots if d.left is left), key=lambda d: d.y):
            above = max(dot.y + _BELOW, above + _LABEL_GAP)
            placed.append(Dot(dot.x, dot.y, above, dot.css, dot.label, dot.text, left))
    return tuple(placed)
