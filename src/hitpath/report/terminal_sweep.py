"""The curve of `hitpath price --sweep` on a terminal: a row a place, a bar a time."""

from rich.console import Group, RenderableType
from rich.text import Text

from hitpath.cost.sweep import SweepPoint
from hitpath.report.text_parts import bar, count, percent, table
from hitpath.report.units import number, ratio_text, short_time

TITLES = {
    "cached": "By cached tokens of the prompt",
    "prompt": "By prompt length, the new tokens unchanged",
    "batch": "By batch",
    "hit-rate": "By hit rate of the prompt",
}
_BAR = 28


def sweep_table(axis: str, points: list[SweepPoint], gpu_hour_usd: float | None) -> RenderableType:
    """Hit path against miss path at every place; a bar is hit TTFT / miss TTFT."""
    money = () if gpu_hour_usd is None else ("USD / Mtok",)
    shown = table(
        axis.replace("-", " "), "miss", "hit", "speed-up", "GPU-s / Mtok", *money, "hit / miss="
    )
    for point in points:
        usd = () if gpu_hour_usd is None else (_usd(point, gpu_hour_usd),)
        shown.add_row(
            place(axis, point),
            short_time(point.miss_ttft_s),
            short_time(point.hit_ttft_s),
            ratio_text(point.speedup),
            number(point.gpu_s_per_mtok),
            *usd,
            bar(point.hit_ttft_s / point.miss_ttft_s, _BAR, "green"),
        )
    note = "miss, hit: time to first token; GPU-s / Mtok: if all requests were like the hit"
    return Group(shown, Text(note, style="dim"))


def _usd(point: SweepPoint, gpu_hour_usd: float) -> str:
    return f"{point.gpu_s_per_mtok / 3600 * gpu_hour_usd:.4f}"


def place(axis: str, point: SweepPoint) -> str:
    """Where on the axis a point is."""
    match axis:
        case "cached":
            return count(point.cached_tokens)
        case "prompt":
            return count(point.prompt_tokens)
        case "batch":
            return count(point.batch)
        case _:
            return percent(point.hit_rate)
