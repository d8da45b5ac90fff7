"""What docs/57x.md shows: plots, and the tables between its marks."""

from pathlib import Path

import numpy as np

from llmd_73.drawing import Axes, Series, plot, stacked_bars
from llmd_73.judge import Check
from llmd_73.ladder import Ladder
from llmd_73.measured import SUMMARY_OVER_ALL_RATES, Measured
from llmd_73.report import Medians

_COLOURS = {"precise": "a", "estimated": "b", "load": "c", "random": "d"}
_LABELS = (
    ("hit", "a"),
    ("in flight", "c"),
    ("elsewhere", "b"),
    ("evicted", "f"),
    ("rounding", "e"),
    ("cold", "d"),
)
_RATE = "requests/s offered"


def ttft_plot(medians: dict[str, Medians], measured: dict[tuple[str, float], Measured]) -> str:
    """TTFT p90 over the stages: lines simulated, dots measured."""
    axes = Axes(
        "TTFT p90: simulated (lines) and measured (dots)",
        _RATE,
        "seconds",
        (0.1, 0.3, 1, 3, 10, 30, 100, 300),
        log=True,
    )
    return plot(axes, _lines_and_dots(medians, measured, "ttft_p90_s"))


def output_plot(medians: dict[str, Medians], measured: dict[tuple[str, float], Measured]) -> str:
    """Output rate over the stages."""
    axes = Axes(
        "Output tokens/s: simulated (lines) and measured (dots)",
        _RATE,
        "tokens/s",
        (0, 2000, 4000, 6000, 8000, 10000, 12000),
    )
    return plot(axes, _lines_and_dots(medians, measured, "output_tokens_per_s"))


def hit_plot(medians: dict[str, Medians]) -> str:
    """The hit rate that was never published."""
    axes = Axes(
        "Hit rate by stage, simulated (never published)",
        _RATE,
        "hit tokens / prompt tokens",
        (0, 0.2, 0.4, 0.6, 0.8, 1),
    )
    lines = [
        Series(name, _COLOURS[name], [(row.rate, row.hit_rate) for row in of.rows])
        for name, of in medians.items()
    ]
    return plot(axes, lines)


def seeds_plot(estimated: Medians) -> str:
    """Each seed of `estimated` as a dot."""
    axes = Axes(
        f"estimated: TTFT p90 of each of {len(estimated.runs)} seeds",
        _RATE,
        "seconds",
        (0.1, 0.3, 1, 3, 10, 30, 100, 300),
        log=True,
    )
    dots = [(row.rate, row.ttft_p90_s) for run in estimated.runs for row in run]
    line = [(row.rate, row.ttft_p90_s) for row in estimated.rows]
    return plot(axes, [Series("median", "a", line), Series("one seed", "b", dots, dots=True)])


def ladder_plot(ladders: dict[str, Ladder]) -> str:
    """Where every prompt token went, all stages together."""
    return stacked_bars(
        "Where every prompt token went (all stages)", list(ladders.items()), _LABELS
    )


def _lines_and_dots(
    medians: dict[str, Medians], measured: dict[tuple[str, float], Measured], figure: str
) -> list[Series]:
    lines = [
        Series(name, _COLOURS[name], [(row.rate, getattr(row, figure)) for row in of.rows])
        for name, of in medians.items()
    ]
    dots = [
        Series(
            "",
            _COLOURS[name],
            [
                (m.offered_qps, getattr(m, figure))
                for (who, _), m in measured.items()
                if who == name
            ],
            dots=True,
        )
        for name in medians
    ]
    return lines + [one for one in dots if one.points]


def rows_table(medians: dict[str, Medians], measured: dict[tuple[str, float], Measured]) -> str:
    """Every stage of every scheduler; measured figures where they are told."""
    head = (
        "| scheduler | rate | output tokens/s, simulated | measured | TTFT p90, s | measured | "
        "TTFT mean, s | measured | half a step, ms | measured | hit rate |"
    )
    lines = [head, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for name, of in medians.items():
        for row in of.rows:
            m = measured.get((name, row.rate))
            out = p90 = mean = itl = ""
            if m is not None:
                out, p90 = f"{m.output_tokens_per_s:,.0f}", f"{m.ttft_p90_s:.2f}"
                mean, itl = f"{m.ttft_mean_s:.2f}", f"{1000 * m.itl_mean_s:.0f}"
            lines.append(
                f"| {name} | {row.rate:g} | {row.output_tokens_per_s:,.0f} | {out} | "
                f"{row.ttft_p90_s:.2f} | {p90} | {row.ttft_mean_s:.2f} | {mean} | "
                f"{1000 * row.itl_mean_s:.1f} | {itl} | {row.hit_rate:.1%} |"
            )
    return "\n".join(lines)


def summary_table(medians: dict[str, Medians]) -> str:
    """The report's own summary, simulated over measured."""
    lines = [
        "| scheduler | output tokens/s | TTFT p90, s | TTFT mean, s | queue | KV use | hit rate |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, of in medians.items():
        ours, theirs = of.summary, SUMMARY_OVER_ALL_RATES[name]
        lines.append(
            f"| {name} | {ours.output_tokens_per_s:,.0f} ({theirs[0]:,.0f}) | "
            f"{ours.ttft_p90_s:.3f} ({theirs[1]}) | {ours.ttft_mean_s:.3f} ({theirs[2]}) | "
            f"{ours.queue_mean:.1f} ({theirs[3]}) | {ours.kv_use_mean:.1%} ({theirs[4]} %) | "
            f"{ours.hit_rate:.1%} (never published) |"
        )
    return "\n".join(lines)


def ladder_table(ladders: dict[str, Ladder]) -> str:
    """Shares of the prompt tokens."""
    lines = [
        f"| scheduler | {' | '.join(name for name, _ in _LABELS)} |",
        "|---|" + "--:|" * len(_LABELS),
    ]
    for name, ladder in ladders.items():
        lines.append(f"| {name} | " + " | ".join(f"{share:.1%}" for share in ladder) + " |")
    return "\n".join(lines)


def stage_ladders_table(ladders: dict[str, dict[float, Ladder]]) -> str:
    """hit / elsewhere / evicted of each stage, in per cent."""
    names = list(ladders)
    lines = [f"| rate | {' | '.join(names)} |", "|--:|" + "---|" * len(names)]
    for rate in next(iter(ladders.values())):
        cells = []
        for name in names:
            found = ladders[name][rate]
            shares = (found.hit, found.elsewhere, found.evicted)
            cells.append(" / ".join(f"{100 * share:.0f}" for share in shares))
        lines.append(f"| {rate:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def others_table(found: dict[str, Medians]) -> str:
    """Other routers on the same load, by the report's summary."""
    lines = [
        "| router | output tokens/s | TTFT p90, s | TTFT mean, s | hit rate |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, of in sorted(found.items(), key=lambda item: item[1].summary.ttft_p90_s):
        ours = of.summary
        lines.append(
            f"| `{name}` | {ours.output_tokens_per_s:,.0f} | {ours.ttft_p90_s:.3f} | "
            f"{ours.ttft_mean_s:.3f} | {ours.hit_rate:.1%} |"
        )
    return "\n".join(lines)


def seeds_table(estimated: Medians) -> str:
    """The spread of `estimated` where single pods decide."""
    lines = [
        "| rate | TTFT p90, s: least | median | most | seeds over 10 s |",
        "|--:|--:|--:|--:|--:|",
    ]
    for number, row in enumerate(estimated.rows):
        if not 20 <= row.rate <= 43:
            continue
        values = np.array([run[number].ttft_p90_s for run in estimated.runs])
        lines.append(
            f"| {row.rate:g} | {values.min():.2f} | {np.median(values):.2f} | "
            f"{values.max():.2f} | {np.count_nonzero(values > 10)} of {len(values)} |"
        )
    return "\n".join(lines)


def ablations_table(found: dict[str, dict[str, Medians]]) -> str:
    """The summary's TTFT p90, and where `load` and `estimated` stand at two rates."""
    lines = [
        "| changed | precise: TTFT p90, s | output tokens/s | estimated: TTFT p90, s | at 40/s | "
        "load: TTFT p90, s | at 15/s | random: TTFT p90, s |",
        "|---|" + "--:|" * 7,
    ]
    for name, medians in found.items():
        at = {(who, row.rate): row.ttft_p90_s for who, of in medians.items() for row in of.rows}
        total = {who: of.summary.ttft_p90_s for who, of in medians.items()}
        lines.append(
            f"| {name} | {total['precise']:.2f} | "
            f"{medians['precise'].summary.output_tokens_per_s:,.0f} | {total['estimated']:.1f} | "
            f"{at['estimated', 40]:.1f} | {total['load']:.1f} | {at['load', 15]:.1f} | "
            f"{total['random']:.1f} |"
        )
    return "\n".join(lines)


def checks_table(found: list[Check]) -> str:
    """Criteria, met or not."""
    lines = ["| criterion | met | figures |", "|---|---|---|"]
    lines += [f"| {one.name} | {'yes' if one.met else '**no**'} | {one.found} |" for one in found]
    return "\n".join(lines)


def fill_in(page: Path, tables: dict[str, str]) -> None:
    """Replace what stands between `<!-- NAME -->` and `<!-- end -->`. A mark that is not there is
    an error (ValueError)."""
    text = page.read_text("utf-8")
    for name, table in tables.items():
        start = text.index(f"<!-- {name} -->\n") + len(f"<!-- {name} -->\n")
        end = text.index("<!-- end -->", start)
        text = text[:start] + table + "\n" + text[end:]
    page.write_text(text, "utf-8")
