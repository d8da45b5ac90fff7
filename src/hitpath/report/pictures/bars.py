"""Waterfall and reuse gaps on a sheet: a line of text, a bar, its numbers."""

from textwrap import wrap

from hitpath.report.html.view import Gaps, Step, Waterfall
from hitpath.report.html.words import Unit
from hitpath.report.pictures.sheet import MARGIN, WIDTH, Sheet

_LANE_LEFT = MARGIN + 330
_LANE_RIGHT = _LANE_LEFT + 430
_RIGHT = WIDTH - MARGIN
_LABEL_CHARACTERS = 46
_COLOURS = {"hit": "hit", "lost": "lost", "odd": "odd", "floor": "floor", "all": "dim"}


def draw_waterfall(sheet: Sheet, fall: Waterfall, unit: Unit) -> None:
    """A bar a label, each beginning where the one above ends."""
    x = float(_LANE_LEFT)
    for css, name in (("hit", "hit"), ("lost", "could have hit"), ("floor", "cold")):
        sheet.rect(x, sheet.y, 11, 11, _COLOURS[css])
        sheet.text(x + 17, sheet.y + 10, name)
        x += 130
    sheet.text(_RIGHT, sheet.y + 10, f"of prompt {unit.many}", anchor="end")
    sheet.y += 24
    for step in fall.steps:
        _draw_step(sheet, step)
    for text in (*fall.beside, f"No {unit.many} under: {fall.none}." if fall.none else ""):
        sheet.paragraph(text, 12, "dim")


def _draw_step(sheet: Sheet, step: Step) -> None:
    top = sheet.y
    sheet.line(f"M{MARGIN} {top:.1f}H{_RIGHT}", "faint")
    sheet.text(MARGIN, top + 20, step.name, 14, "ink", 600)
    lines = [*wrap(step.plain, _LABEL_CHARACTERS)]
    if step.who:
        lines += wrap(f"can act: {step.who}", _LABEL_CHARACTERS)
    lines += [f"· {part.name}: {part.tokens} ({part.share})" for part in step.reasons]
    for i, line in enumerate(lines):
        sheet.text(MARGIN, top + 37 + 15 * i, line, 12)
    _draw_lane(sheet, _LANE_LEFT, top + 8, step.left, step.width, _COLOURS[step.css])
    sheet.text(_RIGHT, top + 20, step.share, 14, "ink", 600, "end")
    sheet.text(_RIGHT, top + 37, step.tokens, anchor="end")
    sheet.y = top + 40 + 15 * max(1, len(lines))


def _draw_lane(sheet: Sheet, x: float, top: float, left: float, width: float, colour: str) -> None:
    """From pixel x to the numbers; left, width: per cent of it. What is there can be seen."""
    whole = _LANE_RIGHT - x
    sheet.rect(x, top, whole, 22, "soft", 3)
    shown = max(2.0, width * whole / 100) if width else 0.0
    begin = min(left * whole / 100, whole - shown)
    sheet.rect(x + begin, top, shown, 22, colour)


def draw_gaps(sheet: Sheet, gaps: Gaps, unit: Unit) -> None:
    """A bar a time that blocks are kept."""
    sheet.y += 14
    sheet.text(MARGIN, sheet.y, "kept after each use")
    sheet.text(_RIGHT, sheet.y, f"reusable {unit.many} still there", anchor="end")
    sheet.y += 12
    for part in gaps.parts:
        sheet.text(MARGIN, sheet.y + 16, part.name, 14, "ink", 600)
        _draw_lane(sheet, MARGIN + 90, sheet.y, 0, part.width, "hit")
        sheet.text(_RIGHT, sheet.y + 10, part.share, 13, "ink", 600, "end")
        sheet.text(_RIGHT, sheet.y + 24, part.tokens, 11, anchor="end")
        sheet.y += 36
    if gaps.foot:
        sheet.paragraph(gaps.foot, 12, "dim")
