"""From an analysis to the page's record. Numbers come from the document's parts, so page,
terminal and JSON cannot disagree."""

from typing import Any

import numpy as np

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
from hitpath.report.html.measures import (
    capacity_view,
    gaps_view,
    lengths_view,
    time_view,
    told_by_engine,
)
from hitpath.report.html.repeat import parted
from hitpath.report.html.sharing import sharing_view, tree_view
from hitpath.report.html.tables import group_tables, problems
from hitpath.report.html.tree import PrefixTree
from hitpath.report.html.view import Fact, Page, Part, Rate
from hitpath.report.html.waterfall import waterfall_view
from hitpath.report.html.words import BYTES, Unit, pct, short, unit_of
from hitpath.report.html.worth import worth_view
from hitpath.report.text_parts import count, seconds
from hitpath.summary import Analysis

_RATE_NAMES = {
    "token_weighted": ("token-weighted", "hit {0} / prompt {0}, whole blocks"),
    "token_weighted_with_partial": ("… with partial blocks", "a matched last block counts too"),
    "block_weighted": ("block-weighted", "hit blocks / blocks"),
    "request_mean_token": ("request mean, {0}", "each request's share, averaged"),
    "request_mean_token_full": ("… whole blocks only", "the same, whole blocks"),
    "request_mean_block": ("request mean, blocks", "each request's block share, averaged"),
}

_RATE_OF = {
    "modelled": "token-weighted hit rate, whole trace",
    "reported": "token-weighted hit rate, as reported",
    "mixed": "token-weighted hit rate, as reported where told, else modelled",
}


def page_view(
    analysis: Analysis,
    model: ModelKV | None,
    command: str,
    tree: PrefixTree,
    excerpts: Excerpts,
) -> Page:
    """Everything that the template needs."""
    tokens, ledger, unit = tokens_part(analysis), analysis.ledger, unit_of(analysis.trace)
    rate, source = analysis.hit_rate.token_weighted, _source(analysis)
    return Page(
        title="hitpath report",
        unit=unit,
        rate=pct(rate),
        rate_text=sentences.headline(rate, source, unit),
        rate_name=_RATE_OF[source],
        steady=pct(analysis.steady.token_weighted),
        beside=_beside(analysis, source),
        whole=_whole(tokens),
        facts=_facts(analysis),
        warnings=_warnings(analysis),
        waterfall=waterfall_view(analysis),
        rates=_rates(analysis, unit),
        worth=worth_view(analysis.priced, analysis.billed),
        capacity=capacity_view(analysis, model),
        time=time_view(analysis),
        gaps=gaps_view(analysis),
        lengths=lengths_view(PromptHits(ledger.prompt, ledger.hit, ledger.counted), unit),
        tree=tree_view(analysis, tree, excerpts),
        sharing=sharing_view(analysis),
        groups=group_tables(analysis.groups, unit),
        unknown_text=sentences.unknown(list(tokens["not_known"]), unit),
        unknown=_unknown(analysis, tokens),
        problems=problems(analysis.trace),
        settings=_settings(analysis, model),
        command=parted(command),
        version=__version__,
        holds_text=not excerpts.why_not,
    )


def _source(analysis: Analysis) -> str:
    told = told_by_engine(analysis)
    if not told.any():
        return "modelled"
    return "reported" if np.array_equal(told, analysis.ledger.counted) else "mixed"


def _whole(tokens: dict[str, Any]) -> tuple[Part, ...]:
    """The prompt in three: hit, lost, not computed before behind the same beginning."""
    prompt, hit, causes = tokens["prompt"], tokens["hit"], tokens["causes"]
    cold = causes["cold"] or 0
    named = (
        ("hit", "hit", hit, ""),
        ("lost", "could have hit", prompt - hit - cold, ""),
        ("floor", "cold", cold, sentences.plain_cold(tokens["not_known"])),
    )
    places = stacked([value for _, _, value, _ in named])
    return tuple(
        Part(css, name, count(value), pct(ratio(value, prompt)), left, width, note)
        for (css, name, value, note), (left, width) in zip(named, places, strict=True)
    )


def _beside(analysis: Analysis, source: str) -> tuple[str, ...]:
    """The model's rate beside a reported one, and what was reported in other units."""
    lines = []
    if source != "modelled":
        told = int(np.count_nonzero(told_by_engine(analysis)))
        counted = int(np.count_nonzero(analysis.ledger.counted))
        lines.append(
            f"modelled: {pct(analysis.modelled.token_weighted)} (what the modelled cache alone "
            f"would say; {count(told)} of {count(counted)} requests report their hit)"
        )
    apart = analysis.apart
    if apart is not None:
        lines.append(
            f"reported by the engine, in its tokens: {pct(apart.hit_rate)} of "
            f"{count(apart.prompt_tokens)} ({count(apart.num_requests)} requests)"
        )
    return tuple(lines)


def _facts(analysis: Analysis) -> tuple[Fact, ...]:
    trace, setting, unit = trace_part(analysis), setting_part(analysis), unit_of(analysis.trace)
    facts = [
        Fact("requests", count(trace["num_requests"])),
        Fact(f"prompt {unit.many}", count(trace["prompt_tokens"])),
    ]
    if trace["output_tokens"] is not None and _outputs_are_in(unit, analysis):
        facts.append(Fact(f"output {unit.many}", count(trace["output_tokens"])))
    span = arrival_span_s(analysis.trace)
    if span is not None:
        facts.append(Fact("time span", seconds(span)))
    size = setting["capacity_tokens"]
    cache = "unlimited" if size is None else f"{short(size)} {unit.size}"
    facts.append(Fact("cache a worker", cache))
    facts.append(Fact("workers", count(setting["workers"])))
    facts.append(Fact("block", f"{count(trace['block_size'])} {unit.many}"))
    return tuple(facts)


def _outputs_are_in(unit: Unit, analysis: Analysis) -> bool:
    """Where prompts are bytes, an output that is not in the trace may be told in tokens."""
    trace, counted = analysis.trace, analysis.ledger.counted
    told = counted & (trace.output_tokens != ABSENT)
    return unit is not BYTES or bool(np.all(trace.has_output[told]))


def _warnings(analysis: Analysis) -> tuple[str, ...]:
    notes = list(analysis.warnings)
    if analysis.ledger.total(analysis.ledger.cause("rounding")) and analysis.trace.block_size:
        notes.append(f"rounding is a {LOWER_BOUND}")
    return tuple(note.replace("(listed above)", "(listed below)") for note in notes)


def _rates(analysis: Analysis, unit: Unit) -> tuple[Rate, ...]:
    rates = []
    for name, (label, meaning) in _RATE_NAMES.items():
        whole = getattr(analysis.hit_rate, name)
        steady = getattr(analysis.steady, name)
        main = name == "token_weighted"
        texts = (label.format(unit.many), meaning.format(unit.many))
        rates.append(Rate(*texts, pct(whole), pct(steady), 100 * (whole or 0), main))
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
    if unit_of(analysis.trace) is BYTES:
        facts.append(Fact("sizes in memory (GiB)", "needs --tokenizer: these are bytes of text"))
    return tuple(facts)


def _settings(analysis: Analysis, model: ModelKV | None) -> tuple[Fact, ...]:
    trace, setting, unit = trace_part(analysis), setting_part(analysis), unit_of(analysis.trace)
    own = trace["own_block_size"]
    facts = [
        Fact("trace format", trace["format"]),
        Fact("what identifies a prompt", trace["identity"]),
        Fact(
            "block size",
            f"{count(trace['block_size'])} {unit.many}"
            + ("" if own is None else f" (the trace's own: {count(own)})"),
        ),
        Fact("clock", trace["clock"]),
        Fact("engine", setting["engine_settings"] or setting["engine"]),
        Fact(
            "cache a worker",
            "unlimited"
            if setting["capacity_tokens"] is None
            else f"{count(setting['capacity_tokens'])} {unit.size}"
            f" ({count(setting['capacity_blocks'])} blocks)",
        ),
        Fact(f"last {unit.one} always computed", "yes" if setting["last_token"] else "no"),
        Fact("outputs", "kept" if setting["outputs"] == "insert" else "not kept"),
        Fact("workers", f"{count(setting['workers'])}, from the {setting['workers_from']}"),
        Fact("models kept apart", "yes" if setting["split_models"] else "no"),
        Fact("rows skipped", count(trace["num_skipped_rows"])),
        Fact("rows excluded", count(trace["num_excluded_rows"])),
    ]
    if setting["router"] is not None:
        facts.append(Fact("router", f"{setting['router']}, seed {setting['seed']}"))
    if model is not None and unit is not BYTES:
        size = f"{model.kv_bytes_per_token:,.0f} bytes of KV a token"
        facts.append(Fact("model", f"{model.name}, {model.kv_dtype}: {size}"))
    return tuple(facts)
