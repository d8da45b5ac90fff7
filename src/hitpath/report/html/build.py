"""From an analysis to the page's record. Numbers come from the document's parts, so page,
terminal and JSON cannot disagree."""

from typing import Any

from hitpath import __version__
from hitpath.accounting.rates import ratio
from hitpath.core import ABSENT
from hitpath.cost.models import ModelKV
from hitpath.report.document import (
    LOWER_BOUND,
    arrival_span_s,
    setting_part,
    tokens_part,
    trace_part,
)
from hitpath.report.html import sentences
from hitpath.report.html.charts import stacked
from hitpath.report.html.excerpts import Excerpts
from hitpath.report.html.figures import PromptHits
from hitpath.report.html.measures import capacity_view, gaps_view, lengths_view, time_view
from hitpath.report.html.sharing import sharing_view, tree_view
from hitpath.report.html.tables import group_tables, problems
from hitpath.report.html.tree import PrefixTree
from hitpath.report.html.view import Fact, Page, Part, Rate
from hitpath.report.html.waterfall import waterfall_view
from hitpath.report.html.words import pct, short
from hitpath.report.text_parts import count, seconds
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
    analysis: Analysis,
    model: ModelKV | None,
    command: str,
    tree: PrefixTree,
    excerpts: Excerpts,
) -> Page:
    """Everything that the template needs."""
    tokens, ledger = tokens_part(analysis), analysis.ledger
    whole, steady = analysis.hit_rate.token_weighted, analysis.steady.token_weighted
    return Page(
        title="hitpath report",
        rate=pct(whole),
        rate_text=sentences.headline(whole, _source(analysis)),
        rate_name="token-weighted hit rate, whole trace",
        steady=pct(steady),
        whole=_whole(tokens),
        facts=_facts(analysis),
        warnings=_warnings(analysis),
        waterfall=waterfall_view(analysis),
        rates=_rates(analysis),
        capacity=capacity_view(analysis, model),
        time=time_view(analysis.over_time, analysis.trace.common_clock, whole, steady),
        gaps=gaps_view(analysis.gaps),
        lengths=lengths_view(PromptHits(ledger.prompt, ledger.hit, ledger.counted)),
        tree=tree_view(analysis, tree, excerpts),
        sharing=sharing_view(analysis),
        groups=group_tables(analysis.groups),
        unknown_text=sentences.unknown(list(tokens["not_known"])),
        unknown=_unknown(analysis, tokens),
        problems=problems(analysis.trace),
        settings=_settings(analysis, model),
        command=command,
        version=__version__,
        holds_text=not excerpts.why_not,
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
