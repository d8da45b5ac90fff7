"""Hit rate against cache size, time, time kept and prompt length: pictures, sentences, numbers."""

from collections.abc import Sequence

from hitpath.accounting.rates import ratio
from hitpath.cost.models import ModelKV
from hitpath.report.document import capacity_for
from hitpath.report.html import figures, sentences
from hitpath.report.html.view import Gaps, Part, Picture, Table
from hitpath.report.html.words import gib, pct
from hitpath.report.text_parts import count
from hitpath.sim.reuse import TTLS_S, ReuseGaps
from hitpath.summary import Analysis
from hitpath.summary.windows import Window

MEAN_WHOLE_BLOCKS = "mean over requests (whole blocks)"


def capacity_view(analysis: Analysis, model: ModelKV | None) -> Picture | None:
    """The curve with its marks; None where nothing is ever reused."""
    plot = figures.capacity_plot(analysis, model)
    if plot is None:
        return None
    sizes = capacity_for(analysis.curve)
    names = [
        (f"{float(share):.0%} of ceiling".replace("%", "\u00a0%"), tokens)
        for share, tokens in sizes.items()
    ]
    configured = figures.configured_sizes(analysis)
    rows = []
    for name, tokens in [*names, *configured]:
        if tokens is None:
            continue
        cells = [name, count(tokens), pct(figures.curve_rate(analysis, tokens))]
        rows.append((*cells, gib(model.gib(tokens))) if model else tuple(cells))
    columns = (
        "size<",
        "tokens",
        "hit rate",
        *((f"{model.name} {model.kv_dtype}",) if model else ()),
    )
    return Picture(
        _capacity_note(analysis, model), (plot,), Table("Cache sizes", columns, tuple(rows))
    )


def _capacity_note(analysis: Analysis, model: ModelKV | None) -> sentences.Note:
    reach = capacity_for(analysis.curve)["0.9"]
    curve = analysis.curve
    sizes = figures.configured_sizes(analysis)

    def reached(tokens: int) -> float | None:
        return ratio(curve.at(tokens // curve.block_size), curve.ceiling)

    return sentences.capacity(
        sentences.CurveFacts(
            figures.curve_rate(analysis, curve.largest * curve.block_size),
            reach,
            model.gib(reach) if model and reach is not None else None,
            sizes[0][1] if sizes else None,
            len(analysis.workers.names),
            reached(sizes[0][1]) if sizes else None,
            reached(sizes[-1][1]) if sizes else None,
        )
    )


def time_view(
    windows: Sequence[Window],
    timed: bool,
    whole: float | None,
    steady: float | None,
    mean_name: str = MEAN_WHOLE_BLOCKS,
) -> Picture | None:
    """Both rates over the windows, of a common clock (`timed`) or of requests; None without
    windows. whole, steady: token-weighted rates of the trace and of its second half."""
    plots = figures.time_plots(windows, timed, mean_name)
    if not plots:
        return None
    rates = [w.rates.token_weighted for w in windows if w.rates.token_weighted is not None]
    note = sentences.over_time(min(rates, default=None), max(rates, default=None), steady, whole)
    rows = tuple(
        (
            point.text.split(":")[0],
            count(w.num_requests),
            count(w.prompt_tokens),
            count(w.hit_tokens),
            pct(w.rates.token_weighted),
            pct(w.rates.request_mean_token_full),
        )
        for point, w in zip(plots[0].points, windows, strict=True)
    )
    columns = (
        "window<",
        "requests",
        "prompt tokens",
        "hit tokens",
        "token-weighted",
        "request mean",
    )
    return Picture(note, plots, Table("Windows of equal width", columns, rows))


def gaps_view(gaps: ReuseGaps | None) -> Gaps | None:
    """Reusable tokens still there after each time; None where nothing is reused."""
    found = figures.gap_rows(gaps)
    if gaps is None or not found:
        return None
    parts = tuple(
        Part("hit", name, count(tokens), pct(share), 0.0, 100 * (share or 0.0))
        for name, tokens, share in found
    )
    foot = ""
    if gaps.num_negative:
        foot = f"{gaps.num_negative:,} gaps are negative (clocks of sub-agents), taken as 0."
    shares = [share for _, _, share in found]
    note = sentences.gaps(gaps.median_s, list(zip(map(float, TTLS_S), shares, strict=True)))
    return Gaps(note, parts, foot)


def lengths_view(hits: figures.PromptHits) -> Picture:
    """Prompts by length and by the share of them that hit."""
    bins = figures.length_bins(hits)
    rows = tuple(
        (
            f"{count(b.low)} to {count(b.high)}",
            count(b.num_requests),
            count(b.prompt_tokens),
            count(b.hit_tokens),
            pct(b.rate),
        )
        for b in bins
    )
    columns = ("prompt tokens<", "requests", "prompt tokens", "hit tokens", "hit rate")
    plot = figures.length_plot(hits, bins)
    return Picture(sentences.lengths(bins), (plot,), Table("Prompts by length", columns, rows))
