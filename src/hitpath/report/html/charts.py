"""The pictures' geometry: numbers become paths, ticks and texts in percent of a plot's area.

Pictures are plain SVG and HTML, not a plotting library: the page is some 150 kB instead of
5 MB, opens at once, prints, and can be read without scripts. x runs to the right, y downwards,
both from 0 to 100; the page stretches paths to any width and keeps text at its size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.report.html.words import short
from hitpath.report.text_parts import seconds as duration

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_MOST_TICKS = 8
_FEW_TICKS = 4
_MOST_DECADES = 3.7
_LABEL_GAP = 5.4
_LOWEST_LABEL = 94.0


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis. `minor` ticks are left out on narrow screens."""

    at: float
    label: str
    sub: str = ""
    minor: bool = False


@dataclass(frozen=True, slots=True)
class Layer:
    """One SVG path; `css` names its colour and whether it is a line or an area."""

    css: str
    path: str
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Point:
    """A place that the reader can step to, and what it says there."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A dot with a label below its right side, at the height `label_y`."""

    x: float
    y: float
    label: str
    label_y: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across the area with a label: `upright` at x = at, else level at y = at."""

    at: float
    label: str
    upright: bool
    css: str
    left: bool = False
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Plot:
    """One picture. `alt` is its text alternative, `points` empty where nothing can be stepped."""

    key: str
    alt: str
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    layers: tuple[Layer, ...]
    points: tuple[Point, ...] = ()
    marks: tuple[Mark, ...] = ()
    rules: tuple[Rule, ...] = ()
    height: int = 280
    legend: tuple[tuple[str, str], ...] = ()


def line(points: Sequence[tuple[float, float | None]]) -> str:
    """A path through the points, broken where y is None; a lone point becomes a short dash."""
    parts: list[str] = []
    pen = False
    for i, (x, y) in enumerate(points):
        if y is None:
            pen = False
            continue
        alone = not pen and (i + 1 == len(points) or points[i + 1][1] is None)
        parts.append(f"{'L' if pen else 'M'}{x:.2f} {y:.2f}" + ("h0.6" if alone else ""))
        pen = True
    return "".join(parts)


def area(points: Sequence[tuple[float, float]]) -> str:
    """The same, closed along the bottom."""
    if not points:
        return ""
    return f"{line(points)}L{points[-1][0]:.2f} 100L{points[0][0]:.2f} 100Z"


def rect(x: float, y: float, width: float, height: float) -> str:
    """A rectangle as a path."""
    return f"M{x:.2f} {y:.2f}h{width:.2f}v{height:.2f}h{-width:.2f}Z"


def rate_axis(highest: float) -> tuple[float, tuple[Tick, ...]]:
    """(rate at the top, ticks) for rates up to `highest`: round steps, never above 100 %."""
    step = next(
        s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25) if s * 5 >= min(highest, 1) or s > 0.2
    )
    top = min(1.0, max(step, math.ceil(highest / step - 1e-9) * step))
    count = round(top / step)
    return top, tuple(
        Tick(100 - 100 * i * step / top, f"{i * step:.0%}".replace("%", "\u00a0%"))
        for i in range(count + 1)
    )


@dataclass(frozen=True, slots=True)
class LogAxis:
    """A logarithmic axis from `low` to `high`, both positive."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Percent from the left, clipped to the area."""
        span = math.log(self.high / self.low)
        place = math.log(max(value, self.low) / self.low) / span if span > 0 else 0.5
        return 100 * min(1.0, place)

    def ticks(self, subs: Sequence[str] = ()) -> tuple[Tick, ...]:
        """Powers of ten, with 2 and 5 between them where there is room."""
        values = self.tick_values()
        texts = [*subs, *[""] * (len(values) - len(subs))]
        minors = [len(values) > _FEW_TICKS and not _is_power_of_ten(v) for v in values]
        return tuple(
            Tick(self.at(v), short(v), "" if minor else sub, minor)
            for v, sub, minor in zip(values, texts, minors, strict=True)
        )

    def tick_values(self) -> list[float]:
        """What `ticks` marks."""
        decades = math.log10(self.high / self.low)
        factors = (1, 2, 5) if decades <= _MOST_DECADES else (1,)
        first = math.floor(math.log10(self.low))
        values = [f * 10.0**e for e in range(first, first + int(decades) + 3) for f in factors]
        return [v for v in values if self.low * 0.999 <= v <= self.high * 1.001]


def _is_power_of_ten(value: float) -> bool:
    return abs(math.log10(value) - round(math.log10(value))) < 1e-9


def spread_labels(heights: Sequence[float]) -> list[float]:
    """Heights of labels, lowest picture first, moved apart so that none covers another, and none
    what stands below the area."""
    placed: list[float] = []
    above = -math.inf
    for y in reversed(heights):
        above = max(y, above + _LABEL_GAP)
        placed.append(above)
    below = _LOWEST_LABEL + _LABEL_GAP
    for i in reversed(range(len(placed))):
        below = placed[i] = min(placed[i], below - _LABEL_GAP)
    return placed[::-1]


def time_ticks(span: float, seconds: bool) -> tuple[Tick, ...]:
    """Round places on an axis from 0 to `span` seconds (or requests)."""
    if seconds:
        days = max(1, math.ceil(span / 86400 / _MOST_TICKS)) * 86400.0
        step = next((float(s) for s in _STEPS_S if span / s <= _MOST_TICKS), days)
        step = span / 4 if span < 1 else step
    else:
        unit = 10.0 ** max(0, math.floor(math.log10(span)))
        steps = (unit / 5, unit / 2, unit, 2 * unit)
        step = max(1.0, next(s for s in steps if span / s <= _MOST_TICKS))
    count = int(span / step + 1e-9)
    return tuple(
        Tick(
            100 * i * step / span,
            "start" if i == 0 else f"+{duration(i * step)}" if seconds else short(i * step),
            minor=i % 2 == 1,
        )
        for i in range(count + 1)
    )


def stacked(shares: Sequence[float]) -> list[tuple[float, float]]:
    """(left, width) in percent of parts laid side by side."""
    total = sum(shares)
    placed, left = [], 0.0
    for share in shares:
        width = 100 * share / total if total else 0.0
        placed.append((left, width))
        left += width
    return placed


def heat(counts: Sequence[Sequence[int]]) -> tuple[Layer, ...]:
    """Cells [column][row from the bottom]; the darker, the more. Empty cells are not drawn."""
    most = max((value for column in counts for value in column), default=0)
    if not most:
        return ()
    width = 100 / len(counts)
    layers = []
    for x, column in enumerate(counts):
        tall = 100 / len(column)
        for y, value in enumerate(column):
            if value:
                path = rect(x * width + 0.12, 100 - (y + 1) * tall + 0.5, width - 0.24, tall - 1)
                layers.append(Layer("cell", path, round(0.12 + 0.88 * math.sqrt(value / most), 3)))
    return tuple(layers)
