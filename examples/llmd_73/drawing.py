"""Plots as SVG that is legible on light and on dark pages: lines, dots and stacked bars.

Colours are CSS variables with a dark set, for viewers that know the page's scheme; text has a size
of its own and no font from elsewhere.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 20, 76, 46

_STYLE = """
svg{--ink:#1b2028;--dim:#5b6472;--faint:#d5dae0;--paper:#fff;
--a:#1f6fb2;--b:#d07a12;--c:#8d4f9f;--d:#3b8f6f;--e:#b3bac4;--f:#c0504d}
@media (prefers-color-scheme:dark){svg{--ink:#e8ebef;--dim:#a7b0bb;--faint:#3a424c;--paper:#14181d;
--a:#6cb2eb;--b:#f0a94a;--c:#c79ad6;--d:#7fcbab;--e:#6b7480;--f:#e58b88}}
text{font:13px sans-serif;fill:var(--ink)}.t{font-size:16px;font-weight:bold}.s{fill:var(--dim)}
.g{stroke:var(--faint)}.x{stroke:var(--dim)}
"""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour ("a" to "f"), joined by a line, or dots alone."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Axes:
    title: str
    x_title: str
    y_title: str
    y_ticks: Sequence[float]
    log: bool = False


def plot(axes: Axes, series: Sequence[Series]) -> str:
    """Lines and dots over a common x axis that begins at 0."""
    most_x = max(x for one in series for x, _ in one.points)
    x_of = _scale(0.0, most_x * 1.03, _LEFT, WIDTH - _RIGHT, False)
    y_of = _scale(axes.y_ticks[0], axes.y_ticks[-1], HEIGHT - _BOTTOM, _TOP, axes.log)
    parts = [_horizontal(y_of(tick), f"{tick:g}") for tick in axes.y_ticks]
    for tick in range(0, int(most_x) + 1, 10):
        parts.append(_text(x_of(tick), HEIGHT - _BOTTOM + 18, f"{tick}", "middle"))
    for one in series:
        places = [(x_of(x), y_of(y)) for x, y in one.points]
        if one.dots:
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="var(--paper)" '
                f'stroke="var(--{one.colour})" stroke-width="2"/>'
                for x, y in places
            ]
        else:
            joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(
                f'<polyline points="{joined}" fill="none" stroke="var(--{one.colour})" '
                'stroke-width="2.2"/>'
            )
    parts.append(_text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 8, axes.x_title, "middle", "s"))
    parts.append(_text(_LEFT - 46, _TOP - 12, axes.y_title, "start", "s"))
    legend = [(one.name, one.colour) for one in series if one.name]
    return _svg(axes.title, HEIGHT, [*parts, *_legend(legend)])


def stacked_bars(
    title: str, rows: Sequence[tuple[str, Sequence[float]]], labels: Sequence[tuple[str, str]]
) -> str:
    """A bar of shares a row. labels: name and colour of each share."""
    height = _TOP + 34 * len(rows) + 24
    parts = []
    left, right = 150.0, WIDTH - _RIGHT
    for number, (name, shares) in enumerate(rows):
        y = _TOP + 34 * number
        parts.append(_text(left - 10, y + 17, name, "end"))
        x = left
        for share, (label, colour) in zip(shares, labels, strict=True):
            width = share * (right - left)
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="24" '
                f'fill="var(--{colour})"><title>{escape(label)} {share:.1%}</title></rect>'
            )
            if width > 44:
                parts.append(
                    f'<text x="{x + width / 2:.1f}" y="{y + 17}" text-anchor="middle" '
                    f'style="fill:var(--paper)">{share:.1%}</text>'
                )
            x += width
    return _svg(title, height, [*parts, *_legend(labels)])


def _scale(
    low: float, high: float, start: float, end: float, log: bool
) -> Callable[[float], float]:
    def of(value: float) -> float:
        if log:
            at = math.log(max(value, low) / low) / math.log(high / low)
        else:
            at = (value - low) / (high - low)
        return start + min(max(at, 0.0), 1.0) * (end - start)

    return of


def _horizontal(y: float, label: str) -> str:
    line = f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="g"/>'
    return line + _text(_LEFT - 8, y + 4, label, "end")


def _legend(items: Sequence[tuple[str, str]]) -> list[str]:
    parts, x = [], float(_LEFT)
    for name, colour in items:
        parts.append(f'<rect x="{x:.0f}" y="34" width="14" height="4" fill="var(--{colour})"/>')
        parts.append(_text(x + 20, 40, name, "start"))
        x += 46 + 7.2 * len(name)
    return parts


def _text(x: float, y: float, text: str, anchor: str, css: str = "") -> str:
    kind = f' class="{css}"' if css else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(text)}</text>'


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{escape(title)}"><style>{_STYLE}</style>'
        f'<rect width="{WIDTH}" height="{height}" fill="var(--paper)"/>'
    )
    return head + _text(20, 22, title, "start", "t") + "\n".join(parts) + "</svg>\n"
