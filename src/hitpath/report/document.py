"""The analysis as one JSON document, schema "hitpath.analysis/1": fields are added, never
renamed. null is "not known" (the reason stands beside it), never 0."""

from dataclasses import asdict
from typing import Any

import numpy as np

from hitpath.accounting.rates import Group, ratio
from hitpath.core import ABSENT, CAUSES, RUNG_NAMES
from hitpath.cost.models import ModelKV
from hitpath.report.worth import bill_part, price_part
from hitpath.sim.curve import Curve
from hitpath.sim.modelled import told_engine
from hitpath.sim.owners import SharedPairs
from hitpath.sim.reuse import TTLS_S
from hitpath.summary import Analysis
from hitpath.traces.table import Ints, Trace

SCHEMA = "hitpath.analysis/1"
CEILING_SHARES = (0.5, 0.8, 0.9, 0.95, 0.99)
NUM_CURVE_POINTS = 240
MOST_GROUPS = 1000
LOWER_BOUND = "lower bound: block ids prove no more than equal whole blocks and equal last ids"


def document(analysis: Analysis, model: ModelKV | None) -> dict[str, Any]:
    """The whole document, ready for JSON."""
    ledger = analysis.ledger
    return {
        "schema": SCHEMA,
        "trace": trace_part(analysis),
        "setting": setting_part(analysis),
        "model": asdict(model) if model is not None else None,
        "hit_rate": asdict(analysis.hit_rate),
        "steady": asdict(analysis.steady),
        "modelled_hit_rate": asdict(analysis.modelled),
        "reported_apart": None
        if analysis.apart is None
        else {**asdict(analysis.apart), "hit_rate": analysis.apart.hit_rate},
        "tokens": tokens_part(analysis),
        "ladder": ladder_part(analysis),
        "curve": _curve(analysis),
        "capacity_for": capacity_for(analysis.curve),
        "capacity_for_gib": None
        if model is None
        else {
            share: None if tokens is None else model.gib(tokens)
            for share, tokens in capacity_for(analysis.curve).items()
        },
        "over_time": {
            "by": "arrival_s" if analysis.trace.common_clock else "request",
            "windows": [asdict(window) for window in analysis.over_time],
        },
        "origin": None if analysis.origin is None else asdict(analysis.origin),
        "origin_not_known": analysis.no_origin_why or None,
        "sharing": {
            "held_per_request_tokens": ledger.total(ledger.prompt),
            "held_once_tokens": analysis.held_once_tokens,
            "factor": ratio(ledger.total(ledger.prompt), analysis.held_once_tokens),
        },
        "shared_pairs": _pairs(analysis.pairs),
        "shared_prefixes": [asdict(prefix) for prefix in analysis.prefixes],
        "reuse_gaps": _gaps(analysis),
        "price": price_part(analysis.priced),
        "bill": bill_part(analysis.billed),
        "by": {name: groups_part(groups) for name, groups in analysis.groups.items()},
        "skipped_rows": [asdict(problem) for problem in analysis.trace.skipped],
        "excluded_rows": [
            {"id": analysis.trace.ids[row], **asdict(problem)}
            for row, problem in analysis.trace.excluded.items()
        ],
        "warnings": list(analysis.warnings),
    }


def trace_part(analysis: Analysis) -> dict[str, Any]:
    """What was read."""
    trace = analysis.trace
    output = np.where(analysis.ledger.counted, trace.output_tokens, ABSENT)
    told = output[output != ABSENT]
    return {
        "format": trace.format,
        "num_requests": len(trace),
        "prompt_tokens": analysis.ledger.total(trace.prompt_tokens),
        "output_tokens": int(told.sum()) if len(told) else None,
        "block_size": analysis.engine.block_size,
        "own_block_size": trace.block_size,
        "identity": trace.identity,
        "num_skipped_rows": trace.skipped.num,
        "num_excluded_rows": len(trace.excluded),
        "first_arrival_s": float(trace.arrival_s.min()) if trace.has_times else None,
        "last_arrival_s": float(trace.arrival_s.max()) if trace.has_times else None,
        "clock": clock_of(trace),
    }


def setting_part(analysis: Analysis) -> dict[str, Any]:
    setting = analysis.setting
    capacity = analysis.engine.capacity_blocks
    return {
        "engine": setting.engine,
        "engine_settings": told_engine(setting),
        "last_token": setting.last_token,
        "outputs": setting.outputs,
        "capacity_tokens": setting.capacity_tokens,
        "capacity_blocks": capacity,
        "workers": len(analysis.workers.names),
        "workers_from": "trace" if analysis.trace.worker.known else "setting",
        "router": setting.router,
        "seed": setting.seed,
        "split_models": setting.split_models,
        "tokenizer": setting.tokenizer,
    }


def tokens_part(analysis: Analysis) -> dict[str, Any]:
    """Every prompt token under exactly one label."""
    ledger = analysis.ledger
    unknown = dict(ledger.rungs.unknown)
    split = analysis.split
    notes = {}
    if analysis.trace.block_size is not None:
        notes["rounding"] = LOWER_BOUND
    return {
        "prompt": ledger.total(ledger.prompt),
        "hit": ledger.total(ledger.hit),
        "hit_by_tier": hit_by_tier(analysis),
        "causes": {
            cause: None if cause in unknown else ledger.total(ledger.cause(cause))
            for cause in CAUSES
        },
        "requests_touched": {
            cause: None
            if cause in unknown
            else int(np.count_nonzero(ledger.cause(cause)[ledger.counted]))
            for cause in CAUSES
        },
        "reasons": {
            cause: {reason: ledger.total(part) for reason, part in parts.items()}
            for cause, parts in ledger.reasons.items()
            if cause not in unknown
        },
        "evicted_split": None
        if split.policy is None or split.capacity is None
        else {"policy": ledger.total(split.policy), "capacity": ledger.total(split.capacity)},
        "evicted_split_not_known": split.why or None,
        "clairvoyant_hit": None if split.kept is None else ledger.total(split.kept),
        "unexplained": ledger.total(ledger.unexplained),
        "excess": ledger.total(ledger.excess),
        "not_known": unknown,
        "notes": notes,
    }


def hit_by_tier(analysis: Analysis) -> dict[str, int]:
    """Reported hits under their tiers (`unknown` where none is told), modelled ones under `device`,
    or `host` where an engine's model has one."""
    ledger, trace = analysis.ledger, analysis.trace
    told = ledger.rungs.reported != ABSENT
    tiers = {"device": ledger.total(np.where(told, 0, ledger.hit))}
    if analysis.fleet.host is not None and analysis.fleet.host.any():
        tiers["host"] = ledger.total(np.where(told, 0, analysis.fleet.host))
        tiers["device"] -= tiers["host"]
    in_tiers = np.zeros(len(trace), dtype=np.int64)
    for name, column in trace.reported_tiers.items():
        tokens = np.where(column == ABSENT, 0, column)
        tiers[name] = tiers.get(name, 0) + ledger.total(tokens)
        in_tiers += tokens
    rest = ledger.total(np.where(told, ledger.hit - in_tiers, 0))
    return {**tiers, "unknown": tiers.get("unknown", 0) + rest}


def ladder_part(analysis: Analysis) -> list[dict[str, Any]]:
    """What each rung allows, in tokens; rung 0 is the hit."""
    ledger = analysis.ledger
    prompt = ledger.total(ledger.prompt)
    rungs = []
    for i, name in enumerate(RUNG_NAMES):
        why = ledger.rungs.unknown.get(CAUSES[i - 1]) if i else None
        column = ledger.hit if i == 0 else np.maximum(ledger.rungs.model[i], ledger.hit)
        tokens = None if why else ledger.total(column)
        rate = None if tokens is None else ratio(tokens, prompt)
        rungs.append({"rung": i, "name": name, "tokens": tokens, "hit_rate": rate})
    return rungs


def curve_capacities(curve: Curve, also: list[int]) -> Ints:
    """Capacities in blocks at which the curve is drawn: all where few, else spaced evenly in
    the logarithm, with the marks."""
    last = curve.largest // curve.step
    if last <= NUM_CURVE_POINTS:
        points = np.arange(1, last + 1) * curve.step
    else:
        spaced = np.geomspace(1, last, NUM_CURVE_POINTS).round().astype(np.int64)
        points = np.unique(spaced) * curve.step
    return np.unique(np.r_[points, [c for c in also if c > 0]]).astype(np.int64)


def _curve(analysis: Analysis) -> dict[str, Any]:
    curve, prompt = analysis.curve, analysis.ledger.total(analysis.ledger.prompt)
    marks = [tokens // curve.block_size for tokens in capacity_for(curve).values() if tokens]
    if analysis.engine.capacity_blocks is not None:
        marks.append(analysis.engine.capacity_blocks)
    return {
        "policy": "lru",
        "scope": "one cache for all requests",
        "ceiling_hit_rate": ratio(curve.ceiling * curve.block_size, prompt),
        "points": [
            {
                "capacity_tokens": int(blocks) * curve.block_size,
                "hit_rate": ratio(curve.at(int(blocks)) * curve.block_size, prompt),
            }
            for blocks in curve_capacities(curve, marks)
        ],
    }


def capacity_for(curve: Curve) -> dict[str, int | None]:
    """The smallest cache, in tokens, that reaches each share of the ceiling."""
    sizes = {share: curve.smallest_for(share) for share in CEILING_SHARES}
    return {
        f"{share:g}": None if blocks is None else blocks * curve.block_size
        for share, blocks in sizes.items()
    }


def clock_of(trace: Trace) -> str:
    """What arrival times are: of one clock, of one a session, or none."""
    if not trace.has_times:
        return "none"
    return "one a session" if trace.own_clocks else "common"


def _pairs(pairs: SharedPairs | None) -> dict[str, Any] | None:
    if pairs is None:
        return None
    return {
        "label": pairs.label,
        "num_pairs": len(pairs.pairs),
        "own_tokens": pairs.own_tokens,
        "unnamed_tokens": pairs.unnamed_tokens,
        "pairs": [asdict(pair) for pair in pairs.pairs[:MOST_GROUPS]],
    }


def _gaps(analysis: Analysis) -> dict[str, Any] | None:
    gaps = analysis.gaps
    if gaps is None:
        return None
    return {
        "tokens": gaps.tokens,
        "median_s": gaps.median_s,
        "num_negative": gaps.num_negative,
        "within": [
            {"ttl_s": ttl, "tokens": tokens, "share": ratio(tokens, gaps.tokens)}
            for ttl, tokens in zip(TTLS_S, gaps.within, strict=True)
        ],
    }


def groups_part(groups: list[Group]) -> dict[str, Any]:
    """One table by label, its largest groups."""
    return {
        "num_groups": len(groups),
        "groups": [{**asdict(group), "hit_rate": group.hit_rate} for group in groups[:MOST_GROUPS]],
    }


def arrival_span_s(trace: Trace) -> float | None:
    """Seconds from first to last arrival; None where there is no common clock."""
    if not trace.common_clock:
        return None
    return float(trace.arrival_s.max() - trace.arrival_s.min())
