"""The page's plots (charts.Plot) on a sheet, with axes, legend, marks and rules."""

from hitpath.report.html.charts import Mark, Plot, Rule
from hitpath.report.pictures.sheet import MARGIN, WIDTH, Sheet, placed, text_width

_LEFT = MARGIN + 56
_RIGHT = WIDTH - MARGIN - 24
_LINES = {"hit": (2.2, ""), "mean": (1.8, "5 4"), "rate": (2.5, "")}
_COLOURS = {"hit": "hit", "mean": "o2", "rate": "ink", "cell": "hit", "load": "floor"}


def draw_plot(sheet: Sheet, plot: Plot) -> None:
    """At the sheet's `y`, over its whole width; a plot without x title has no x axis of its own."""
    _above(sheet, plot)
    top, width = sheet.y, _RIGHT - _LEFT
    for tick in plot.y_ticks:
        y = top + tick.at * plot.height / 100
        sheet.line(f"M{_LEFT} {y:.1f}H{_RIGHT}", "faint")
        sheet.text(_LEFT - 8, y + 4, tick.label, anchor="end")
    for layer in plot.layers:
        css = layer.css.split()
        colour, path = _COLOURS[css[-1]], placed(layer.path, _LEFT, top, width, plot.height)
        if css[0] == "line":
            stroke, dashes = _LINES[css[-1]]
            sheet.line(path, colour, stroke, dashes)
        else:
            sheet.area(path, colour, 0.13 if css == ["area", "hit"] else layer.opacity)
    bottom = top + plot.height
    sheet.line(f"M{_LEFT} {bottom:.1f}H{_RIGHT}", "dim")
    for rule in plot.rules:
        _draw_rule(sheet, rule, top, plot.height)
    for mark in plot.marks:
        _draw_mark(sheet, mark, top, plot.height)
    sheet.y = bottom
    if plot.x_title:
        _below(sheet, plot)
    sheet.y += 12


def _above(sheet: Sheet, plot: Plot) -> None:
    """What the y axis is, to the left; the legend, to the right."""
    sheet.y += 12
    sheet.text(MARGIN, sheet.y, plot.y_title)
    x = _RIGHT - sum(text_width(name, 12) + 34 for _, name in plot.legend)
    for css, name in plot.legend:
        tall = 3 if css in _LINES else 9
        sheet.rect(x, sheet.y - 4.5 - tall / 2, 14, tall, _COLOURS[css], 1)
        sheet.text(x + 20, sheet.y, name)
        x += text_width(name, 12) + 34
    sheet.y += 14


def _below(sheet: Sheet, plot: Plot) -> None:
    """Ticks of the x axis and what it is."""
    for tick in plot.x_ticks:
        x = _LEFT + tick.at * (_RIGHT - _LEFT) / 100
        anchor = "end" if tick.at > 98 else "middle"
        sheet.text(x, sheet.y + 18, tick.label, anchor=anchor)
        if tick.sub:
            sheet.text(x, sheet.y + 32, tick.sub, 11, anchor=anchor)
    sheet.y += 40 + (14 if any(tick.sub for tick in plot.x_ticks) else 0)
    sheet.text((_LEFT + _RIGHT) / 2, sheet.y, plot.x_title, anchor="middle")


def _draw_rule(sheet: Sheet, rule: Rule, top: float, height: float) -> None:
    if not rule.upright:
        y = top + rule.at * height / 100
        sheet.line(f"M{_LEFT} {y:.1f}H{_RIGHT}", "dim", 1, "4 4")
        sheet.text(_LEFT + 6, y - 6, rule.label, halo=True)
        return
    x = _LEFT + rule.at * (_RIGHT - _LEFT) / 100
    sheet.line(f"M{x:.1f} {top:.1f}V{top + height:.1f}", "lost", 1.5, "4 4")
    y = top + height - 10 - 20 * rule.lane
    anchor = "end" if rule.left else "start"
    sheet.text(x - 6 if rule.left else x + 6, y, rule.label, 12, "ink", 400, anchor, halo=True)


def _draw_mark(sheet: Sheet, mark: Mark, top: float, height: float) -> None:
    x = _LEFT + mark.x * (_RIGHT - _LEFT) / 100
    sheet.circle(x, top + mark.y * height / 100)
    sheet.text(
        x + 9,
        top + mark.label_y * height / 100 + 12,
        mark.label,
        12,
        "ink",
        400,
        halo=True,
    )
