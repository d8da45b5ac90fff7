"""Hit rate against cache size, time, time kept and prompt length: pictures, sentences, numbers."""

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.rates import ratio
from hitpath.core import ABSENT
from hitpath.cost.models import ModelKV
from hitpath.report.document import capacity_for
from hitpath.report.html import figures
from hitpath.report.html import sentences_measures as sentences
from hitpath.report.html.sentences import Note, if_enough
from hitpath.report.html.view import Gaps, Part, Picture, Table
from hitpath.report.html.words import BYTES, Unit, memory, pct, unit_of
from hitpath.report.text_parts import count
from hitpath.sim.reuse import TTLS_S
from hitpath.summary import Analysis, LengthsAnalysis
from hitpath.traces.table import Trace

_NEEDS_TOKENIZER = "A size in GiB needs --tokenizer: these are bytes of text."


def capacity_view(analysis: Analysis, model: ModelKV | None) -> Picture | None:
    """The curve with its marks; None where nothing is ever reused. KV has a size a token, none a
    byte: text without a tokenizer gets no size in memory, whatever the model."""
    unit = unit_of(analysis.trace)
    model = None if unit is BYTES else model
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
        rows.append((*cells, memory(model.gib(tokens))) if model else tuple(cells))
    columns = (
        "size<",
        unit.size,
        "hit rate",
        *((f"{model.name} {model.kv_dtype}",) if model else ()),
    )
    return Picture(
        _capacity_note(analysis, model),
        (plot,),
        Table("Cache sizes", columns, tuple(rows)),
        _NEEDS_TOKENIZER if unit is BYTES else "",
    )


def _capacity_note(analysis: Analysis, model: ModelKV | None) -> Note:
    reach = capacity_for(analysis.curve)["0.9"]
    curve = analysis.curve
    sizes = figures.configured_sizes(analysis)

    def reached(tokens: int) -> float | None:
        return ratio(curve.at(tokens // curve.block_size), curve.ceiling)

    note = sentences.capacity(
        sentences.CurveFacts(
            figures.curve_rate(analysis, curve.largest * curve.block_size),
            reach,
            model.gib(reach) if model and reach is not None else None,
            sizes[0][1] if sizes else None,
            len(analysis.workers.names),
            reached(sizes[0][1]) if sizes else None,
            reached(sizes[-1][1]) if sizes else None,
        ),
        unit_of(analysis.trace),
    )
    num_requests = int(np.count_nonzero(analysis.ledger.counted))
    return if_enough(note, num_requests) if sizes else note


def told_by_engine(analysis: Analysis) -> NDArray[np.bool_]:
    """Counted requests that report their hit."""
    told: NDArray[np.bool_] = analysis.ledger.rungs.reported != ABSENT
    return told & analysis.ledger.counted


def time_view(analysis: Analysis | LengthsAnalysis) -> Picture | None:
    """Both rates over the windows; None without windows."""
    trace, windows = analysis.trace, analysis.over_time
    unit = unit_of(trace)
    if isinstance(analysis, Analysis):
        rows, mean_name = analysis.ledger.counted, "mean over requests (whole blocks)"
        starts_empty = not np.any(told_by_engine(analysis))
    else:
        rows, mean_name, starts_empty = analysis.told, "mean over requests", False
    plots = figures.time_plots(windows, trace.common_clock, mean_name, unit)
    if not plots:
        return None
    rates = [w.rates.token_weighted for w in windows if w.rates.token_weighted is not None]
    facts = sentences.TimeFacts(
        lowest=min(rates, default=None),
        highest=max(rates, default=None),
        whole=analysis.hit_rate.token_weighted,
        steady=analysis.steady.token_weighted,
        num_requests=int(np.count_nonzero(rows)),
        starts_empty=starts_empty,
        mean_prompt=_by_half(rows, trace.prompt_tokens),
        begun_frac=_by_half(rows, _begins_session(trace)) if trace.session.known else None,
    )
    cells = tuple(
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
        f"prompt {unit.many}",
        f"hit {unit.many}",
        "token-weighted",
        "request mean",
    )
    table = Table("Windows of equal width", columns, cells)
    return Picture(sentences.over_time(facts, unit), plots, table)


def _by_half(
    rows: NDArray[np.bool_], column: NDArray[np.int64] | NDArray[np.bool_]
) -> tuple[float, float]:
    """The column's mean over those rows in the first and in the second half; 0 where none is."""
    middle = len(rows) // 2
    first, second = (
        float(column[half][rows[half]].mean()) if rows[half].any() else 0.0
        for half in (slice(0, middle), slice(middle, None))
    )
    return first, second


def _begins_session(trace: Trace) -> NDArray[np.bool_]:
    """Whether a request is the first of its session."""
    names, first = np.unique(trace.session.codes, return_index=True)
    begins = np.zeros(len(trace), dtype=np.bool_)
    begins[first[names != ABSENT]] = True
    return begins


def gaps_view(analysis: Analysis) -> Gaps | None:
    """Reusable tokens still there after each time; None where nothing is reused."""
    gaps = analysis.gaps
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
    within = list(zip(map(float, TTLS_S), (share for _, _, share in found), strict=True))
    note = sentences.gaps(gaps.median_s, within, unit_of(analysis.trace))
    return Gaps(if_enough(note, int(np.count_nonzero(analysis.ledger.counted))), parts, foot)


def lengths_view(hits: figures.PromptHits, unit: Unit) -> Picture:
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
    many = unit.many
    columns = (f"prompt {many}<", "requests", f"prompt {many}", f"hit {many}", "hit rate")
    plot = figures.length_plot(hits, bins, unit)
    note = if_enough(sentences.lengths(bins, unit), sum(b.num_requests for b in bins))
    return Picture(note, (plot,), Table("Prompts by length", columns, rows))
