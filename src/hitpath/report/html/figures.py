"""The pictures of one analysis: which numbers go into which plot."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.rates import ratio
from hitpath.cost.models import ModelKV
from hitpath.report.document import capacity_for, curve_capacities
from hitpath.report.html.charts import (
    Layer,
    LogAxis,
    Mark,
    Plot,
    Point,
    Rule,
    Tick,
    area,
    heat,
    line,
    rate_axis,
    rect,
    spread_labels,
    time_ticks,
)
from hitpath.report.html.sentences_measures import LengthBin
from hitpath.report.html.words import Unit, memory, pct, short, unit_of
from hitpath.report.text_parts import count, seconds
from hitpath.sim.curve import Curve
from hitpath.sim.reuse import TTLS_S, ReuseGaps
from hitpath.summary import Analysis
from hitpath.summary.windows import Window
from hitpath.traces.table import Ints

_DECADES = 3
_ROOM_FOR_LABEL = 0.14
_HIT_STEPS = 10
_MOST_BINS = 14


@dataclass(frozen=True, slots=True)
class PromptHits:
    """Prompt and hit tokens, one entry a request; `rows`: which requests are shown."""

    prompt: Ints
    hit: Ints
    rows: NDArray[np.bool_]


def curve_rate(analysis: Analysis, tokens: int) -> float | None:
    """Hit rate of one LRU cache of so many tokens."""
    curve = analysis.curve
    prompt = analysis.ledger.total(analysis.ledger.prompt)
    return ratio(curve.at(tokens // curve.block_size) * curve.block_size, prompt)


def configured_sizes(analysis: Analysis) -> tuple[tuple[str, int], ...]:
    """(label, tokens) of the cache that was configured: a worker's, and all workers'."""
    blocks = analysis.engine.capacity_blocks
    if blocks is None:
        return ()
    one = blocks * analysis.engine.block_size
    workers = len(analysis.workers.names)
    if workers == 1:
        return (("configured", one),)
    return (("one worker", one), (f"{workers} workers", one * workers))


def capacity_plot(analysis: Analysis, model: ModelKV | None) -> Plot | None:
    """Hit rate against cache size, logarithmic; None where nothing is ever reused."""
    curve = analysis.curve
    if not curve.ceiling:
        return None
    unit, sizes = unit_of(analysis.trace), configured_sizes(analysis)
    marks = _marked_sizes(curve)
    blocks = [tokens // curve.block_size for tokens in [*marks, *(t for _, t in sizes)]]
    largest = max([curve.largest, *blocks]) * curve.block_size
    low = min(max(curve.block_size, largest / 10**_DECADES), *marks) * 0.9
    # To the right of the last mark there is room for what stands beside it.
    axis = LogAxis(low, largest * 1.15 * (largest / low) ** _ROOM_FOR_LABEL)
    ceiling = curve_rate(analysis, largest) or 0.0
    top, y_ticks = rate_axis(ceiling)
    tokens = [int(b) * curve.block_size for b in curve_capacities(curve, blocks)]
    tokens = [t for t in tokens if t >= axis.low]
    points = tuple(
        Point(axis.at(t), 100 - 100 * (rate or 0.0) / top, _size_text(t, rate, model, unit))
        for t, rate in ((t, curve_rate(analysis, t)) for t in tokens)
    )
    drawn = [(p.x, p.y) for p in points]
    drawn += [(100.0, drawn[-1][1])]
    heights = [100 - 100 * (curve_rate(analysis, t) or 0.0) / top for t in marks]
    memories = [memory(model.gib(int(v))) for v in axis.tick_values()] if model else []
    return Plot(
        key="capacity",
        alt=f"Hit rate against cache size: rises to a ceiling of {pct(ceiling)}.",
        x_title=f"cache size in {unit.size}, logarithmic" + (f" ({model.name})" if model else ""),
        y_title="token-weighted hit rate",
        x_ticks=axis.ticks(memories),
        y_ticks=y_ticks,
        layers=(Layer("area hit", area(drawn)), Layer("line hit", line(drawn))),
        points=points,
        marks=tuple(
            Mark(axis.at(t), y, label, label_y)
            for (t, label), y, label_y in zip(
                marks.items(), heights, spread_labels(heights), strict=True
            )
        ),
        rules=(
            Rule(100 - 100 * ceiling / top, f"ceiling {pct(ceiling)}", False, "ceiling"),
            *(
                Rule(axis.at(t), f"{label}: {short(t)}", True, "config", axis.at(t) > 30, lane)
                for lane, (label, t) in enumerate(sizes)
            ),
        ),
        height=300,
    )


def _marked_sizes(curve: Curve) -> dict[int, str]:
    """Size -> the shares of the ceiling that no smaller one reaches: one label for one place."""
    shares: dict[int, list[str]] = {}
    for share, tokens in capacity_for(curve).items():
        if tokens:
            shares.setdefault(tokens, []).append(f"{float(share):.0%}".rstrip("%"))
    return {
        tokens: f"{found[0]}\u00a0%" if len(found) == 1 else f"{found[0]} to {found[-1]}\u00a0%"
        for tokens, found in shares.items()
    }


def _size_text(tokens: int, rate: float | None, model: ModelKV | None, unit: Unit) -> str:
    size = f" ({memory(model.gib(tokens))})" if model else ""
    return f"{count(tokens)} {unit.size}{size}: {pct(rate)}"


def time_plots(
    windows: Sequence[Window], timed: bool, mean_name: str, unit: Unit
) -> tuple[Plot, ...]:
    """Both rates over time (or over requests), and the load under them; empty where there are no
    windows."""
    if not windows:
        return ()
    start = windows[0].begin
    span = windows[-1].end - start
    places = [50 * (w.begin + w.end - 2 * start) / span for w in windows]
    weighted = [w.rates.token_weighted for w in windows]
    means = [w.rates.request_mean_token_full for w in windows]
    top, y_ticks = rate_axis(max([r for r in [*weighted, *means] if r is not None], default=0.0))
    ticks = time_ticks(span, timed)

    def height(rate: float | None) -> float | None:
        return None if rate is None else 100 - 100 * rate / top

    points = tuple(
        Point(
            x,
            100.0 if w.rates.token_weighted is None else 100 - 100 * w.rates.token_weighted / top,
            f"{_place(w.begin - start, w.end - start, timed)}: token-weighted "
            f"{pct(w.rates.token_weighted)}, request mean {pct(w.rates.request_mean_token_full)}, "
            f"{count(w.num_requests)} requests, {count(w.prompt_tokens)} prompt {unit.many}",
        )
        for x, w in zip(places, windows, strict=True)
    )
    paths = [
        line([(x, height(r)) for x, r in zip(places, rates, strict=True)])
        for rates in (weighted, means)
    ]
    title = "time since the first request" if timed else "requests, in serving order"
    rates_plot = Plot(
        "time",
        "Hit rate over time, token-weighted and as the mean of requests.",
        "",
        "hit rate",
        ticks,
        y_ticks,
        (Layer("line mean", paths[1]), Layer("line hit", paths[0])),
        points,
        height=220,
        legend=(("hit", "token-weighted"), ("mean", mean_name)),
    )
    return rates_plot, _load_plot(windows, title, ticks, unit)


def _load_plot(windows: Sequence[Window], title: str, ticks: tuple[Tick, ...], unit: Unit) -> Plot:
    """Prompt tokens (or bytes) of each window, as bars."""
    start, most = windows[0].begin, max([w.prompt_tokens for w in windows] + [1])
    span = windows[-1].end - start
    bars = "".join(
        rect(
            100 * (w.begin - start) / span + 0.3,
            100 - 100 * w.prompt_tokens / most,
            100 * (w.end - w.begin) / span - 0.6,
            100 * w.prompt_tokens / most,
        )
        for w in windows
    )
    return Plot(
        "load",
        f"Prompt {unit.many} in each window.",
        title,
        f"prompt {unit.many}",
        ticks,
        (Tick(0, short(most)), Tick(100, "0")),
        (Layer("area load", bars),),
        height=70,
    )


def _place(begin: float, end: float, timed: bool) -> str:
    if timed:
        return f"+{seconds(begin)} to +{seconds(end)}"
    return f"requests {begin:,.0f} to {end:,.0f}"


def gap_rows(found: ReuseGaps | None) -> tuple[tuple[str, int, float | None], ...]:
    """(time kept, tokens still there, share) of each listed TTL."""
    if found is None or not found.tokens:
        return ()
    return tuple(
        (seconds(ttl), tokens, ratio(tokens, found.tokens))
        for ttl, tokens in zip(TTLS_S, found.within, strict=True)
    )


def length_bins(hits: PromptHits) -> tuple[LengthBin, ...]:
    """Prompts by length, bins twice as wide each (wider where they would be too many)."""
    edges, place = _edges(hits)
    rows = hits.rows & (hits.prompt > 0)
    num = len(edges) - 1

    def sums(column: Ints) -> list[int]:
        total = np.zeros(num, dtype=np.int64)
        np.add.at(total, place, column[rows])
        return [int(v) for v in total]

    requests = sums(np.ones_like(hits.prompt))
    return tuple(
        LengthBin(low, high, n, prompt, hit)
        for low, high, n, prompt, hit in zip(
            edges[:-1], edges[1:], requests, sums(hits.prompt), sums(hits.hit), strict=True
        )
    )


def _edges(hits: PromptHits) -> tuple[list[int], Ints]:
    """(edges in tokens, bin of each request shown that has a prompt)."""
    prompt = hits.prompt[hits.rows & (hits.prompt > 0)]
    if not len(prompt):
        return [1, 2], np.zeros(0, dtype=np.int64)
    first, last = int(prompt.min()).bit_length() - 1, int(prompt.max()).bit_length()
    step = -(-(last - first) // _MOST_BINS)
    powers = range(first, last + step, step)
    edges = [1 << p for p in powers]
    return edges, np.searchsorted(np.array(edges), prompt, side="right") - 1


def length_plot(hits: PromptHits, bins: Sequence[LengthBin], unit: Unit) -> Plot:
    """Prompt tokens (or bytes) by prompt length and by the share of the prompt that hit."""
    edges, place = _edges(hits)
    rows = hits.rows & (hits.prompt > 0)
    share = np.minimum(hits.hit[rows] * _HIT_STEPS // hits.prompt[rows], _HIT_STEPS - 1)
    cells = np.zeros((len(bins), _HIT_STEPS), dtype=np.int64)
    np.add.at(cells, (place, share), hits.prompt[rows])
    width = 100 / len(bins)
    rates = "".join(
        f"M{i * width + 0.6:.2f} {100 - 100 * (b.rate or 0.0):.2f}h{width - 1.2:.2f}"
        for i, b in enumerate(bins)
        if b.prompt_tokens
    )
    points = tuple(
        Point(
            (i + 0.5) * width,
            100 - 100 * (b.rate or 0.0),
            f"{count(b.low)} to {count(b.high)} {unit.many}: {count(b.num_requests)} requests, "
            f"{count(b.prompt_tokens)} prompt {unit.many}, {pct(b.rate)} hit",
        )
        for i, b in enumerate(bins)
    )
    return Plot(
        key="length",
        alt=f"Prompt {unit.many} by length of the prompt and share of it that hit.",
        x_title=f"prompt length in {unit.many}, each column twice the one before"
        if len(edges) < 3 or edges[1] == 2 * edges[0]
        else f"prompt length in {unit.many}, logarithmic",
        y_title="share of the prompt that hit",
        x_ticks=tuple(
            Tick(100 * i / (len(edges) - 1), _power(e), minor=i % 2 == 1)
            for i, e in enumerate(edges)
        ),
        y_ticks=tuple(Tick(100 - 20 * i, f"{20 * i}\u00a0%") for i in range(6)),
        layers=(*heat([list(map(int, column)) for column in cells]), Layer("line rate", rates)),
        points=points,
        height=260,
        legend=(
            ("cell", f"prompt {unit.many} (stronger: more)"),
            ("rate", "hit rate of the column"),
        ),
    )


def _power(tokens: int) -> str:
    """Powers of two as people write them: 512, 1k, 16k."""
    for size, unit in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "k")):
        if tokens >= size:
            return f"{tokens // size}{unit}"
    return str(tokens)
