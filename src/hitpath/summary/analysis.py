"""The result of an analysis as one frozen record, and how it is put together."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hitpath.accounting.ledger import Ledger, split_by_reach
from hitpath.accounting.rates import Group, HitCounts, HitRates, hit_rates
from hitpath.core import ABSENT, Setting
from hitpath.sim.clairvoyant import clairvoyant_hits
from hitpath.sim.curve import Curve, lru_curve
from hitpath.sim.engines import Engine
from hitpath.sim.events import Events
from hitpath.sim.fleet import FleetOutcome
from hitpath.sim.owners import SharedPairs, shared_pairs
from hitpath.sim.reuse import ReuseGaps, SharedPrefix, reuse_gaps, shared_prefixes, shared_with
from hitpath.summary.apart import ReportedApart, reported_apart
from hitpath.summary.groups import Origin, all_groups, origin_of_hits
from hitpath.summary.warnings import warnings_for
from hitpath.summary.windows import Window, over_time
from hitpath.traces.blocking import Blocks
from hitpath.traces.table import Ints, Labels, Trace

if TYPE_CHECKING:
    from hitpath.summary.billed import Billed
    from hitpath.summary.priced import Priced

MOST_PREFIXES = 10
_NO_SPLIT_ENGINE = "defined for --engine lru only"
_NO_SPLIT_FLEET = "defined for one cache only"
_NO_SPLIT_SIZE = "the trace is too large for the clairvoyant bound"


@dataclass(frozen=True, slots=True)
class Stages:
    """What the spine produced, stage by stage. Arrays have one entry a request.

    limit: most leading whole blocks of each request that may count as a hit.
    """

    trace: Trace
    setting: Setting
    engine: Engine
    blocks: Blocks
    events: Events
    limit: Ints
    workers: Labels
    fleet: FleetOutcome
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class Split:
    """Evicted tokens by whether a better order of eviction would have kept them. `kept`: hit
    tokens of each request under the clairvoyant order. None, with `why`, where undefined."""

    kept: Ints | None
    policy: Ints | None
    capacity: Ints | None
    why: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that a report shows. `priced`, `billed`: where they were asked for."""

    trace: Trace
    setting: Setting
    engine: Engine
    workers: Labels
    ledger: Ledger
    counts: HitCounts
    curve: Curve
    hit_rate: HitRates
    steady: HitRates
    modelled: HitRates
    apart: ReportedApart | None
    over_time: tuple[Window, ...]
    split: Split
    origin: Origin | None
    no_origin_why: str
    held_once_tokens: int
    pairs: SharedPairs | None
    prefixes: tuple[SharedPrefix, ...]
    gaps: ReuseGaps | None
    groups: dict[str, list[Group]]
    events: Events
    blocks: Blocks
    fleet: FleetOutcome
    warnings: tuple[str, ...] = ()
    priced: "Priced | None" = None
    billed: "Billed | None" = None


def sum_up(stages: Stages) -> Analysis:
    """All sums of one analysis."""
    trace, ledger, blocks, events = stages.trace, stages.ledger, stages.blocks, stages.events
    counted = ledger.counted
    limit = np.where(counted, stages.limit, 0)
    counts = _hit_counts(stages, modelled=False)
    second_half = np.arange(len(trace)) >= len(trace) // 2
    origin, no_origin_why = origin_of_hits(trace, events, blocks, ledger)
    anybody = np.zeros(len(trace), dtype=np.int64)
    once = trace.prompt_tokens - blocks.tokens_of(shared_with(events, blocks, anybody))
    analysis = Analysis(
        trace=trace,
        setting=stages.setting,
        engine=stages.engine,
        workers=stages.workers,
        ledger=ledger,
        counts=counts,
        curve=lru_curve(events, limit, blocks.block_size),
        hit_rate=hit_rates(counts, counted),
        steady=hit_rates(counts, counted & second_half),
        modelled=hit_rates(_hit_counts(stages, modelled=True), counted),
        apart=reported_apart(trace, counted),
        over_time=over_time(trace, counts, counted),
        split=_split(stages, limit),
        origin=origin,
        no_origin_why=no_origin_why,
        held_once_tokens=int(once[counted].sum()),
        pairs=_pairs(stages),
        prefixes=tuple(shared_prefixes(trace, events, blocks, counted, MOST_PREFIXES)),
        gaps=reuse_gaps(trace, events, limit, blocks.block_size) if trace.gaps_known else None,
        groups=all_groups(trace, stages.workers, ledger),
        events=events,
        blocks=blocks,
        fleet=stages.fleet,
    )
    crossing = _tokens_across_models(stages)
    return replace(
        analysis, warnings=warnings_for(trace, ledger, stages.workers, analysis.hit_rate, crossing)
    )


def _pairs(stages: Stages) -> SharedPairs | None:
    """Who shares with whom: tenants, else sessions; None where fewer than two have a name."""
    trace, ledger = stages.trace, stages.ledger
    hit = np.where(ledger.counted, ledger.rungs.model[0], 0)
    for label, labels in (("tenant", trace.tenant), ("session", trace.session)):
        if len(labels.names) > 1:
            return shared_pairs(label, labels, stages.events, stages.blocks, hit)
    return None


def _hit_counts(stages: Stages, modelled: bool) -> HitCounts:
    """Reported hits have no partial blocks; modelled ones take what is resident."""
    ledger, blocks, engine = stages.ledger, stages.blocks, stages.engine
    told = ledger.rungs.reported != ABSENT
    use_model = np.full(len(told), True) if modelled else ~told
    complete = (stages.fleet.resident > blocks.whole) & (not engine.last_token)
    return HitCounts(
        stages.trace.prompt_tokens,
        ledger.rungs.model[0] if modelled else ledger.hit,
        np.where(complete & use_model, blocks.partial_tokens, 0),
        blocks.prompts.lengths,
        ledger.rungs.model[0] // engine.block_size + complete,
        bool(np.all(use_model[ledger.counted])),
    )


def _split(stages: Stages, limit: Ints) -> Split:
    """What the clairvoyant order would have kept of the evicted tokens, and the rest."""
    capacity = stages.engine.capacity_blocks
    if stages.setting.engine != "lru" or capacity is None:
        return Split(None, None, None, _NO_SPLIT_ENGINE)
    if len(stages.workers.names) > 1:
        return Split(None, None, None, _NO_SPLIT_FLEET)
    kept_blocks = clairvoyant_hits(stages.events, limit, capacity)
    if kept_blocks is None:
        return Split(None, None, None, _NO_SPLIT_SIZE)
    kept = kept_blocks * stages.engine.block_size
    stored = stages.ledger.rungs.splits["evicted"][0][1]
    parts = split_by_reach(
        stages.ledger,
        "evicted",
        (
            ("policy", np.minimum(kept, stored)),
            ("capacity", stored),
            ("not_stored", stages.ledger.rungs.model[4]),
        ),
    )
    return Split(kept, parts["policy"], parts["capacity"], "")


def _tokens_across_models(stages: Stages) -> int:
    """Modelled hit tokens that only another model had computed, where models are mere labels."""
    trace = stages.trace
    all_named = bool(np.all(trace.model.codes != ABSENT))
    if not trace.model_is_label or stages.setting.split_models or not all_named:
        return 0
    hit = stages.ledger.rungs.model[0]
    same_model = shared_with(stages.events, stages.blocks, trace.model.codes)
    return stages.ledger.total(hit - np.minimum(hit, stages.blocks.tokens_of(same_model)))
