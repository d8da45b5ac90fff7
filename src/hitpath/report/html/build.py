"""From an analysis to the page's record. Numbers come from the document's parts, so page,
terminal and JSON cannot disagree."""

from typing import Any

from hitpath import __version__
from hitpath.accounting.rates import ratio
from hitpath.core import ABSENT, CAUSES
from hitpath.cost.models import ModelKV
from hitpath.report.document import (
    LOWER_BOUND,
    arrival_span_s,
    capacity_for,
    hit_by_tier,
    ladder_part,
    setting_part,
    tokens_part,
    trace_part,
)
from hitpath.report.html import figures, sentences
from hitpath.report.html.charts import stacked
from hitpath.report.html.sharing import group_tables, problems, sharing_view, tree_view
from hitpath.report.html.tree import PrefixTree
from hitpath.report.html.view import Fact, Page, Part, Picture, Rate, Step, Table, Waterfall
from hitpath.report.html.words import gib, pct, short
from hitpath.report.text_parts import count, seconds
from hitpath.sim.reuse import TTLS_S
from hitpath.summary import Analysis

_RATE_NAMES = {
    "token_weighted": ("token-weighted", "hit tokens / prompt tokens, whole blocks"),
    "token_weighted_with_partial": ("… with partial blocks", "a matched last block counts too"),
    "block_weighted": ("block-weighted", "hit blocks / blocks"),
    "request_mean_token": ("request mean, tokens", "each request's share, averaged"),
    "request_mean_token_full": ("… whole blocks only", "the same, whole blocks"),
    "request_mean_block": ("request mean, blocks", "each request's block share, averaged"),
}


def page_view(
    analysis: Analysis, model: ModelKV | None, command: str, tree: PrefixTree | None
) -> Page:
    """Everything that the template needs."""
    tokens = tokens_part(analysis)
    bins = figures.length_bins(analysis)
    return Page(
        title="hitpath report",
        rate=pct(analysis.hit_rate.token_weighted),
        rate_text=sentences.headline(analysis.hit_rate.token_weighted, _source(analysis)),
        rate_name="token-weighted hit rate, whole trace",
        steady=pct(analysis.steady.token_weighted),
        whole=_whole(tokens),
        facts=_facts(analysis),
        warnings=_warnings(analysis),
        waterfall=_waterfall(analysis, tokens),
        rates=_rates(analysis),
        capacity=_capacity(analysis, model),
        time=_time(analysis),
        gaps=_gaps(analysis),
        gaps_note=_gaps_note(analysis),
        gaps_foot=_gaps_foot(analysis),
        lengths=_lengths(analysis, bins),
        tree=tree_view(analysis, tree),
        sharing=sharing_view(analysis),
        groups=group_tables(analysis),
        unknown_text=sentences.unknown(list(tokens["not_known"])),
        unknown=_unknown(analysis, tokens),
        problems=problems(analysis),
        settings=_settings(analysis, model),
        command=command,
        version=__version__,
    )


def _source(analysis: Analysis) -> str:
    told = (analysis.ledger.rungs.reported != ABSENT)[analysis.ledger.counted]
    if not told.any():
        return "modelled"
    return "reported" if told.all() else "mixed"


def _whole(tokens: dict[str, Any]) -> tuple[Part, ...]:
    """The prompt in three: hit, lost, never computed before."""
    prompt, hit, causes = tokens["prompt"], tokens["hit"], tokens["causes"]
    cold = causes["cold"] or 0
    named = (
        ("hit", "hit", hit),
        ("lost", "could have hit", prompt - hit - cold),
        ("floor", "new text", cold),
    )
    places = stacked([value for _, _, value in named])
    return tuple(
        Part(css, name, count(value), pct(ratio(value, prompt)), left, width)
        for (css, name, value), (left, width) in zip(named, places, strict=True)
    )


def _facts(analysis: Analysis) -> tuple[Fact, ...]:
    trace, setting = trace_part(analysis), setting_part(analysis)
    facts = [
        Fact("requests", count(trace["num_requests"])),
        Fact("prompt tokens", count(trace["prompt_tokens"])),
    ]
    if trace["output_tokens"] is not None:
        facts.append(Fact("output tokens", count(trace["output_tokens"])))
    span = arrival_span_s(analysis.trace)
    if span is not None:
        facts.append(Fact("time span", seconds(span)))
    size = setting["capacity_tokens"]
    facts.append(Fact("cache a worker", "unlimited" if size is None else f"{short(size)} tokens"))
    facts.append(Fact("workers", count(setting["workers"])))
    facts.append(Fact("block", f"{count(trace['block_size'])} tokens"))
    return tuple(facts)


def _warnings(analysis: Analysis) -> tuple[str, ...]:
    notes = list(analysis.warnings)
    if analysis.ledger.total(analysis.ledger.cause("rounding")) and analysis.trace.block_size:
        notes.append(f"rounding is a {LOWER_BOUND}")
    return tuple(note.replace("(listed above)", "(listed below)") for note in notes)


def _waterfall(analysis: Analysis, tokens: dict[str, Any]) -> Waterfall:
    told: dict[str, int] = {"hit": tokens["hit"], "unexplained": tokens["unexplained"]}
    told |= {cause: value for cause, value in tokens["causes"].items() if value is not None}
    prompt, left = analysis.ledger.total(analysis.ledger.prompt), 0
    steps = []
    for name, value in told.items():
        if value or name == "hit":
            steps.append(_step(analysis, tokens, name, value, left, prompt))
        left += value
    touched = count(int(analysis.ledger.counted.sum()))
    everything = Step(
        "all",
        "prompt",
        "all prompt tokens",
        "",
        0,
        100,
        count(prompt),
        pct(ratio(prompt, prompt)),
        "",
        "",
        touched,
        (),
    )
    none = [name.replace("_", " ") for name, value in told.items() if not value and name != "hit"]
    excess = tokens["excess"]
    beside = []
    if isinstance(excess, int) and excess:
        beside.append(
            f"{count(excess)} tokens of excess stand beside this sum: the engine "
            "reported more hits than the modelled cache holds."
        )
    not_stored = tokens["reasons"].get("evicted", {}).get("not_stored", 0)
    lost = {name: value for name, value in told.items() if name != "hit"}
    split = tokens["evicted_split"]
    return Waterfall(
        sentences.ladder(
            prompt, told["hit"], lost, not_stored, split["policy"] if split is not None else 0
        ),
        (*steps, everything),
        ", ".join(none),
        tuple(beside),
    )


def _step(
    analysis: Analysis, tokens: dict[str, Any], name: str, value: int, left: int, prompt: int
) -> Step:
    touched: dict[str, int | None] = tokens["requests_touched"]
    rungs = {"hit": 0, **{cause: i + 1 for i, cause in enumerate(CAUSES)}}
    rung = ladder_part(analysis)[rungs[name]] if name in rungs else None
    hits = analysis.ledger.hit[analysis.ledger.counted]
    requests = int((hits > 0).sum()) if name == "hit" else touched.get(name)
    kinds = {"hit": "hit", "cold": "floor", "unexplained": "odd"}
    who = sentences.WHO[name]
    if name in tokens["notes"]:
        who += " (lower bound)"
    return Step(
        kinds.get(name, "lost"),
        name.replace("_", " "),
        sentences.PLAIN[name],
        who,
        100 * left / prompt if prompt else 0.0,
        100 * value / prompt if prompt else 0.0,
        count(value),
        pct(ratio(value, prompt)),
        "" if rung is None or name == "cold" else pct(rung["hit_rate"]),
        "" if rung is None or name == "cold" else f"{count(rung['tokens'])} tokens",
        count(requests) if requests is not None else "",
        _reasons(analysis, tokens, name, prompt),
    )


def _reasons(
    analysis: Analysis, tokens: dict[str, Any], name: str, prompt: int
) -> tuple[Part, ...]:
    """The tiers of the hit, or the reasons of a cause, with the clairvoyant split."""
    if name == "hit":
        tiers = {tier: n for tier, n in hit_by_tier(analysis).items() if n}
        parts = tiers if len(tiers) > 1 or "device" not in tiers else {}
    else:
        parts = dict(tokens["reasons"].get(name, {}))
    split = tokens["evicted_split"]
    if name == "evicted" and split is not None:
        parts |= {
            "a better order keeps": split["policy"],
            "only a larger cache keeps": split["capacity"],
        }
    return tuple(
        Part("", reason.replace("_", " "), count(value), pct(ratio(value, prompt)))
        for reason, value in parts.items()
        if value
    )


def _rates(analysis: Analysis) -> tuple[Rate, ...]:
    rates = []
    for name, (label, meaning) in _RATE_NAMES.items():
        whole = getattr(analysis.hit_rate, name)
        steady = getattr(analysis.steady, name)
        main = name == "token_weighted"
        rates.append(Rate(label, meaning, pct(whole), pct(steady), 100 * (whole or 0), main))
    if _source(analysis) != "modelled":
        rate = analysis.modelled.token_weighted
        meaning = "what the modelled cache alone would say"
        rates.append(Rate("modelled, token-weighted", meaning, pct(rate), "–", 100 * (rate or 0)))
    return tuple(rates)


def _capacity(analysis: Analysis, model: ModelKV | None) -> Picture | None:
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


def _time(analysis: Analysis) -> Picture | None:
    plots = figures.time_plots(analysis)
    if not plots:
        return None
    windows = analysis.over_time
    rates = [w.rates.token_weighted for w in windows if w.rates.token_weighted is not None]
    note = sentences.over_time(
        min(rates, default=None),
        max(rates, default=None),
        analysis.steady.token_weighted,
        analysis.hit_rate.token_weighted,
    )
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


def _gaps(analysis: Analysis) -> tuple[Part, ...]:
    return tuple(
        Part("hit", name, count(tokens), pct(share), 0.0, 100 * (share or 0.0))
        for name, tokens, share in figures.gap_rows(analysis)
    )


def _gaps_foot(analysis: Analysis) -> str:
    if analysis.gaps is None or not analysis.gaps.num_negative:
        return ""
    return f"{analysis.gaps.num_negative:,} gaps are negative (clocks of sub-agents), taken as 0."


def _gaps_note(analysis: Analysis) -> sentences.Note | None:
    if analysis.gaps is None or not analysis.gaps.tokens:
        return None
    shares = [share for _, _, share in figures.gap_rows(analysis)]
    return sentences.gaps(
        analysis.gaps.median_s, list(zip(map(float, TTLS_S), shares, strict=True))
    )


def _lengths(analysis: Analysis, bins: tuple[sentences.LengthBin, ...]) -> Picture:
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
    plot = figures.length_plot(analysis, bins)
    return Picture(sentences.lengths(bins), (plot,), Table("Prompts by length", columns, rows))


def _unknown(analysis: Analysis, tokens: dict[str, Any]) -> tuple[Fact, ...]:
    reasons: dict[str, str] = tokens["not_known"]
    facts = [Fact(name.replace("_", " "), why) for name, why in reasons.items()]
    if analysis.split.why:
        facts.append(Fact("whether a better order of eviction would help", analysis.split.why))
    if analysis.no_origin_why:
        facts.append(Fact("who shares with whom", analysis.no_origin_why))
    if analysis.hit_rate.block_weighted is None:
        facts.append(Fact("block-weighted rates", "a reported hit is in tokens, not in blocks"))
    if not analysis.over_time:
        facts.append(Fact("rates over time", "all requests arrive at one moment"))
    return tuple(facts)


def _settings(analysis: Analysis, model: ModelKV | None) -> tuple[Fact, ...]:
    trace, setting = trace_part(analysis), setting_part(analysis)
    own = trace["own_block_size"]
    facts = [
        Fact("trace format", trace["format"]),
        Fact("what identifies a prompt", trace["identity"]),
        Fact(
            "block size",
            f"{count(trace['block_size'])} tokens"
            + ("" if own is None else f" (the trace's own: {count(own)})"),
        ),
        Fact("clock", trace["clock"]),
        Fact("engine", setting["engine"]),
        Fact(
            "cache a worker",
            "unlimited"
            if setting["capacity_tokens"] is None
            else f"{count(setting['capacity_tokens'])} tokens"
            f" ({count(setting['capacity_blocks'])} blocks)",
        ),
        Fact("last token always computed", "yes" if setting["last_token"] else "no"),
        Fact("outputs", "kept" if setting["outputs"] == "insert" else "not kept"),
        Fact("workers", f"{count(setting['workers'])}, from the {setting['workers_from']}"),
        Fact("models kept apart", "yes" if setting["split_models"] else "no"),
        Fact("rows skipped", count(trace["num_skipped_rows"])),
        Fact("rows excluded", count(trace["num_excluded_rows"])),
    ]
    if setting["router"] is not None:
        facts.append(Fact("router", f"{setting['router']}, seed {setting['seed']}"))
    if model is not None:
        size = f"{model.kv_bytes_per_token:,.0f} bytes of KV a token"
        facts.append(Fact("model", f"{model.name}, {model.kv_dtype}: {size}"))
    return tuple(facts)
