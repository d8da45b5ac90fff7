"""A sheet that SVG is drawn on: light colours, one column, a title and a sentence above.

What is written is self-contained: no style sheet, script or font from elsewhere; colours are
attributes, so that every viewer shows them. Places are pixels from the left upper corner.
"""

import re
from collections.abc import Mapping
from textwrap import wrap
from xml.sax.saxutils import escape, quoteattr

from hitpath.report.html.sentences import Note

WIDTH = 1000
MARGIN = 32
FONTS = (
    "DejaVu Sans, Liberation Sans, Noto Sans, Arial, Helvetica, Verdana, Segoe UI, Roboto, "
    "Ubuntu, sans-serif"
)
COLOURS: Mapping[str, str] = {
    "bg": "#ffffff",
    "soft": "#f5f6f8",
    "ink": "#1b2028",
    "dim": "#5b6472",
    "faint": "#dfe3e8",
    "hit": "#1f6fb2",
    "lost": "#d98a1f",
    "floor": "#b3bac4",
    "odd": "#8d4f9f",
    "o2": "#63a88f",
    "miss": "#efc78a",
}
"""The light colours of the page (page.css), by the same names."""

_CHARACTER_EM = 0.6  # of the widest fonts in FONTS, on average: text may end early, never late
_COMMAND = re.compile(r"([MLhvZ])([^MLhvZ]*)")


def text_width(text: str, size: float) -> float:
    """About how wide a text is, in pixels; rather too much than too little."""
    return len(text) * size * _CHARACTER_EM


def shortened(text: str, size: float, width: float) -> str:
    """The text, its end cut off where it would be wider; empty where less than six letters of it
    fit, which tell nothing."""
    most = int(width / (size * _CHARACTER_EM))
    if len(text) <= most:
        return text
    return f"{text[: most - 1]}…" if most >= 7 else ""


def placed(path: str, left: float, top: float, width: float, height: float) -> str:
    """A path of charts.py, which runs from 0 to 100, moved into a box of pixels."""
    parts = []
    for command, numbers in _COMMAND.findall(path):
        values = [float(number) for number in numbers.split()]
        if command in "ML":
            x, y = left + values[0] * width / 100, top + values[1] * height / 100
            parts.append(f"{command}{x:.2f} {y:.2f}")
        elif command == "Z":
            parts.append("Z")
        else:
            size = width if command == "h" else height
            parts.append(f"{command}{values[0] * size / 100:.2f}")
    return "".join(parts)


class Sheet:
    """Elements in drawing order; `y` is where the next part begins."""

    def __init__(self, title: str, note: Note, foot: str) -> None:
        self.y = float(MARGIN)
        self._title, self._note, self._foot = title, note, foot
        self._parts: list[str] = []
        self.paragraph(title, 22, weight=700)
        self.y += 4
        self.paragraph(note.shows, 14)
        if note.do:
            self.y += 4
            self.paragraph(f"→ {note.do}", 14, weight=600)
        self.y += 20

    def paragraph(self, text: str, size: float, colour: str = "ink", weight: int = 400) -> None:
        """Lines over the whole width, at `y`."""
        most = int((WIDTH - 2 * MARGIN) / (size * _CHARACTER_EM))
        for line in wrap(text, most):
            self.y += size * 1.4
            self.text(MARGIN, self.y - size * 0.35, line, size, colour, weight)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 12,
        colour: str = "dim",
        weight: int = 400,
        anchor: str = "start",
        halo: bool = False,
    ) -> None:
        """One line, its baseline at y; halo: a white edge, over lines and areas."""
        if not text:
            return
        edge = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"' if halo else ""
        bold = f' font-weight="{weight}"' if weight != 400 else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{COLOURS[colour]}"{bold}'
            f' text-anchor="{anchor}"{edge}>{escape(text)}</text>'
        )

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str, radius: float = 2
    ) -> None:
        """Filled; `fill` is a name in COLOURS or a colour."""
        self._parts.append(
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0):.2f}" height="{height:.2f}"'
            f' rx="{radius:g}" fill="{COLOURS.get(fill, fill)}"/>'
        )

    def circle(self, x: float, y: float) -> None:
        """A mark on a line."""
        self._parts.append(
            f'<circle cx="{x:.2f}" cy="{y:.2f}" r="4.5" fill="{COLOURS["bg"]}"'
            f' stroke="{COLOURS["hit"]}" stroke-width="2"/>'
        )

    def area(self, path: str, colour: str, opacity: float) -> None:
        """A filled path in pixels."""
        self._parts.append(
            f'<path d="{path}" fill="{COLOURS[colour]}" fill-opacity="{opacity:g}"/>'
        )

    def line(self, path: str, colour: str, width: float = 1, dashes: str = "") -> None:
        """A drawn path in pixels."""
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(
            f'<path d="{path}" fill="none" stroke="{COLOURS[colour]}" stroke-width="{width:g}"'
            f' stroke-linejoin="round"{dashed}/>'
        )

    def svg(self) -> str:
        """The whole picture, once."""
        self.y += 8
        self.paragraph(self._foot, 11, "dim")
        height = self.y + MARGIN / 2
        told = f"{self._note.shows} {self._note.do}".strip()
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}"'
            f' viewBox="0 0 {WIDTH} {height:.0f}" font-family={quoteattr(FONTS)} role="img">'
            f"<title>{escape(self._title)}</title><desc>{escape(told)}</desc>"
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="{COLOURS["bg"]}"/>'
            f"{''.join(self._parts)}</svg>"
        )
