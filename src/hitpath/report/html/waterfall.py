"""The waterfall: every prompt token under exactly one label, from hit to prompt."""

from collections.abc import Mapping
from typing import Any

from hitpath.accounting.rates import ratio
from hitpath.core import CAUSES
from hitpath.report.document import hit_by_tier, ladder_part, tokens_part
from hitpath.report.html import sentences
from hitpath.report.html.view import Part, Step, Waterfall
from hitpath.report.html.words import pct, unit_of
from hitpath.report.text_parts import count
from hitpath.summary import Analysis

_NO_TIER = "tier not told"


def waterfall_view(analysis: Analysis, advice: Mapping[str, str] | None = None) -> Waterfall:
    """Its steps and the sentence over them. advice: see `sentences.ladder`."""
    tokens = tokens_part(analysis)
    told: dict[str, int] = {"hit": tokens["hit"], "unexplained": tokens["unexplained"]}
    told |= {cause: value for cause, value in tokens["causes"].items() if value is not None}
    prompt, left = analysis.ledger.total(analysis.ledger.prompt), 0
    unit = unit_of(analysis.trace)
    steps = []
    for name, value in told.items():
        if value or name == "hit":
            steps.append(_step(analysis, tokens, name, value, left, prompt))
        left += value
    touched = count(int(analysis.ledger.counted.sum()))
    everything = Step(
        "all",
        "prompt",
        f"all prompt {unit.many}",
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
            f"{count(excess)} {unit.many} of excess stand beside this sum: the engine "
            "reported more hits than the modelled cache holds."
        )
    not_stored = tokens["reasons"].get("evicted", {}).get("not_stored", 0)
    lost = {name: value for name, value in told.items() if name != "hit"}
    split = tokens["evicted_split"]
    return Waterfall(
        sentences.ladder(
            sentences.LadderFacts(
                prompt,
                told["hit"],
                lost,
                tokens["not_known"],
                not_stored,
                split["policy"] if split is not None else 0,
            ),
            unit,
            advice,
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
    unit = unit_of(analysis.trace)
    is_cold = name == "cold"
    plain = sentences.plain_cold(tokens["not_known"]) if is_cold else sentences.plain(name, unit)
    who = sentences.WHO[name]
    if name in tokens["notes"]:
        who += " (lower bound)"
    return Step(
        kinds.get(name, "lost"),
        name.replace("_", " "),
        plain,
        who,
        100 * left / prompt if prompt else 0.0,
        100 * value / prompt if prompt else 0.0,
        count(value),
        pct(ratio(value, prompt)),
        "" if rung is None or is_cold else pct(rung["hit_rate"]),
        "" if rung is None or is_cold else f"{count(rung['tokens'])} {unit.many}",
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
        parts = {_NO_TIER if tier == "unknown" else tier: n for tier, n in parts.items()}
    else:
        parts = dict(tokens["reasons"].get(name, {}))
        if "last_token" in parts:
            parts[f"last {unit_of(analysis.trace).one}"] = parts.pop("last_token")
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
