"""From a trace of lengths only to the page: what was reported, and what cannot be known."""

import numpy as np

from hitpath import __version__
from hitpath.accounting.rates import ratio
from hitpath.report.document import arrival_span_s, clock_of
from hitpath.report.html import sentences_lengths as sentences
from hitpath.report.html.charts import stacked
from hitpath.report.html.figures import PromptHits
from hitpath.report.html.lost_turns import lost_view
from hitpath.report.html.measures import lengths_view, time_view
from hitpath.report.html.repeat import parted
from hitpath.report.html.sentences import Note, if_enough
from hitpath.report.html.tables import group_tables, problems
from hitpath.report.html.view import Fact, LengthsPage, Part, Rate, Table
from hitpath.report.html.words import TOKENS, pct
from hitpath.report.html.worth import worth_view
from hitpath.report.lengths import tiers_of
from hitpath.report.text_parts import count, seconds
from hitpath.summary.lengths import NO_IDENTITY, NOTHING_REPORTED, HitShare, LengthsAnalysis

_QUANTITIES = {
    "prompt_tokens": "prompt tokens",
    "output_tokens": "output tokens",
    "reported_hit_tokens": "reported hit tokens",
    "ttft_s": "time to first token",
    "duration_s": "arrival to finish",
}
_RATES = {
    "token_weighted": ("token-weighted", "hit / prompt tokens of the requests that report"),
    "request_mean_token_full": ("request mean", "each request's share, averaged"),
}
_NEEDS_PROMPTS = "needs the token ids, block ids or text of every prompt"
_UNKNOWN = tuple(
    Fact(name, _NEEDS_PROMPTS)
    for name in (
        "why tokens missed",
        "what was possible",
        "what another cache size would give",
        "what the prompts have in common",
    )
)
_NO_RATE = Fact("the hit rate", "needs the cached tokens that an engine or provider reports")


def lengths_page_view(analysis: LengthsAnalysis, command: str) -> LengthsPage:
    """Everything that the template needs."""
    reported = analysis.hit_tokens is not None
    whole, steady = analysis.hit_rate.token_weighted, analysis.steady.token_weighted
    trace = analysis.trace
    hits = PromptHits(trace.prompt_tokens, trace.reported_hit, analysis.told)
    why = NO_IDENTITY if reported else NOTHING_REPORTED
    return LengthsPage(
        title="hitpath report",
        unit=TOKENS,
        rate=pct(whole) if reported else "No",
        rate_text=sentences.headline(whole if reported else None),
        rate_name="token-weighted hit rate, as reported" if reported else "lengths and times only",
        steady=pct(steady) if reported else "",
        whole=_whole(analysis),
        facts=_facts(analysis),
        warnings=tuple(
            note.replace("(listed above)", "(listed below)") for note in analysis.warnings
        ),
        note=sentences.lengths_only(
            analysis.hit_tokens, analysis.missed_tokens, analysis.not_reported_tokens
        ),
        tokens=_tokens(analysis),
        rates=_rates(analysis) if reported else (),
        worth=worth_view(analysis.priced, analysis.billed),
        lost=lost_view(analysis) if reported else None,
        time=time_view(analysis) if reported else None,
        lengths=lengths_view(hits, TOKENS) if reported else None,
        shares_note=_shares_note(analysis.by_share),
        shares=_shares(analysis.by_share),
        quantiles_note=_quantiles_note(analysis),
        quantiles=_quantiles(analysis),
        groups=group_tables(analysis.groups, TOKENS) if reported else (),
        unknown_text=sentences.unknown(why),
        unknown=_UNKNOWN if reported else (_NO_RATE, *_UNKNOWN),
        problems=problems(trace),
        settings=_settings(analysis),
        command=parted(command),
        version=__version__,
    )


def _whole(analysis: LengthsAnalysis) -> tuple[Part, ...]:
    """The prompt tokens in three; none where no request reports."""
    if analysis.hit_tokens is None:
        return ()
    named = [
        ("hit", "hit", analysis.hit_tokens),
        ("unknown", "missed, cause not known", analysis.missed_tokens),
    ]
    if analysis.not_reported_tokens:
        named.append(("floor", "not reported", analysis.not_reported_tokens))
    places = stacked([value for _, _, value in named])
    return tuple(
        Part(css, name, count(value), pct(ratio(value, analysis.prompt_tokens)), left, width)
        for (css, name, value), (left, width) in zip(named, places, strict=True)
    )


def _facts(analysis: LengthsAnalysis) -> tuple[Fact, ...]:
    trace = analysis.trace
    facts = [
        Fact("requests", count(len(trace))),
        Fact("of them report their hit", count(int(np.count_nonzero(analysis.told)))),
        Fact("prompt tokens", count(analysis.prompt_tokens)),
    ]
    if analysis.output_tokens is not None:
        facts.append(Fact("output tokens", count(analysis.output_tokens)))
    span = arrival_span_s(trace)
    if span is not None:
        facts.append(Fact("time span", seconds(span)))
    return tuple(facts)


def _tokens(analysis: LengthsAnalysis) -> Table:
    """Every prompt token under one label; tiers and written tokens are parts of these."""
    rows = []
    if analysis.hit_tokens is not None:
        rows.append(("hit", analysis.hit_tokens, "as the requests report it"))
        tiers = {name: tokens for name, tokens in tiers_of(analysis).items() if tokens}
        if set(tiers) - {"unknown"}:
            rows += [(f"… in tier {name}", n, "of the hit") for name, n in tiers.items()]
        rows.append(("missed", analysis.missed_tokens, "cause not known"))
    if analysis.written_tokens is not None:
        written = "not hit, and written to the provider's cache"
        rows.append(("… written", analysis.written_tokens, written))
    if analysis.not_reported_tokens:
        rows.append(("not reported", analysis.not_reported_tokens, "prompts that tell no hit"))
    rows.append(("prompt", analysis.prompt_tokens, "all prompt tokens"))
    return Table(
        "Every prompt token, as far as it is told",
        ("label<", "tokens", "share", "what it is<"),
        tuple(
            (name, count(tokens), pct(ratio(tokens, analysis.prompt_tokens)), meaning)
            for name, tokens, meaning in rows
        ),
    )


def _rates(analysis: LengthsAnalysis) -> tuple[Rate, ...]:
    return tuple(
        Rate(
            label,
            meaning,
            pct(getattr(analysis.hit_rate, name)),
            pct(getattr(analysis.steady, name)),
            100 * (getattr(analysis.hit_rate, name) or 0.0),
            name == "token_weighted",
        )
        for name, (label, meaning) in _RATES.items()
    )


def _shares(steps: tuple[HitShare, ...]) -> Table | None:
    if not steps:
        return None
    total = sum(step.num_requests for step in steps)
    columns = (
        "hit / prompt<",
        "requests",
        "share",
        "median prompt tokens",
        "median time to first token",
    )
    return Table(
        "Requests by their own share of hit",
        columns,
        tuple(
            (
                step.name.replace(" %", "\u00a0%"),
                count(step.num_requests),
                pct(ratio(step.num_requests, total)),
                f"{step.median_prompt_tokens:,.0f}",
                "–" if step.median_ttft_s is None else seconds(step.median_ttft_s),
            )
            for step in steps
        ),
    )


def _shares_note(steps: tuple[HitShare, ...]) -> Note | None:
    if not steps:
        return None
    note = sentences.hit_shares([(s.name, s.num_requests, s.median_ttft_s) for s in steps])
    return if_enough(note, sum(step.num_requests for step in steps))


def _quantiles_note(analysis: LengthsAnalysis) -> Note | None:
    found = analysis.quantiles.get("prompt_tokens")
    if found is None:
        return None
    _, median, _, tail, _ = found.values
    return if_enough(sentences.quantiles("prompts", median, tail), found.num_requests)


def _quantiles(analysis: LengthsAnalysis) -> Table | None:
    if not analysis.quantiles:
        return None
    rows = []
    for name, found in analysis.quantiles.items():
        values = [seconds(v) if name.endswith("_s") else f"{v:,.0f}" for v in found.values]
        rows.append((_QUANTITIES[name], count(found.num_requests), *values))
    columns = ("<", "requests", "10\u00a0%", "median", "90\u00a0%", "99\u00a0%", "largest")
    return Table("Lengths and times", columns, tuple(rows))


def _settings(analysis: LengthsAnalysis) -> tuple[Fact, ...]:
    trace = analysis.trace
    return (
        Fact("trace format", trace.format),
        Fact("what identifies a prompt", "nothing: lengths only"),
        Fact("clock", clock_of(trace)),
        Fact("rows skipped", count(trace.skipped.num)),
        Fact("rows excluded", count(len(trace.excluded))),
    )
