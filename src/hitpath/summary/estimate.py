"""What a sampled trace tells of the whole: estimates, each with its error.

Every kept block outside the heads stands for `one_in` blocks. So the forest of kept ids is
stretched to estimated blocks, and the same kernels run on it. Rates are ratio estimates over
the blocks of the whole trace, whose number is known exactly. The error is that of independent
(Poisson) sampling of blocks, linearised for a ratio (Särndal, Swensson & Wretman 1992, eq.
5.6.10 with equal probabilities): sqrt((1 - 1/k) sum_i k^2 (h_i - R n_i)^2) / blocks, over kept
blocks i with n_i uses and h_i hits. A limited cache adds the error of its size in kept blocks,
sqrt((k - 1) C) of C blocks, as what the estimated curve moves over 1.96 times that size; the
two are added in squares. 1.96 standard errors are given as the 95 % error. It covers the choice
of blocks, not what the trace itself leaves out.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.core import ABSENT, Setting, SettingError
from hitpath.index.forest import Tree
from hitpath.sim.curve import Curve, lru_curve
from hitpath.sim.engines import Engine
from hitpath.sim.events import Events, order_events
from hitpath.sim.fleet import simulate_fleet
from hitpath.sim.rungs import root_codes
from hitpath.traces.blocking import Blocks
from hitpath.traces.sampling import HEAD_BLOCKS
from hitpath.traces.table import Ints, Runs, Thinned, Trace

_TWO_SIDED_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Estimated:
    """A token-weighted hit rate over all prompt tokens; `error_95` is the half width."""

    rate: float | None
    error_95: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """`curve` counts estimated blocks; `scale` x curve hits are estimated blocks of the whole."""

    trace: Trace
    setting: Setting
    engine: Engine
    hit_rate: Estimated
    steady: Estimated
    ceiling: Estimated
    curve: Curve
    scale: float
    num_blocks: int
    num_kept: int
    warnings: tuple[str, ...]


def check_sampled_setting(setting: Setting) -> None:
    """Raise SettingError for what sampling cannot estimate."""
    if setting.workers not in (None, 1):
        raise SettingError("--sample", "estimates one cache; leave out --workers")
    if setting.is_modelled:
        cause = f"cannot be estimated with --sample; leave out --engine {setting.engine}"
        raise SettingError(f"--engine {setting.engine}", cause)
    if setting.outputs == "insert":
        raise SettingError("--sample", "does not follow outputs; leave out --outputs insert")


def estimate_trace(trace: Trace, setting: Setting, engine: Engine) -> Estimate:
    """Estimate the rates of one cache. The trace must have been thinned while it was read."""
    assert trace.thinned is not None
    if trace.worker.known and len(trace.worker.names) > 1:
        raise SettingError("--sample", "estimates one cache, but the trace names several workers")
    blocks, whole, limit = _kept_blocks(trace, trace.thinned, engine)
    events = order_events(trace, blocks, root_codes(trace, setting.split_models), False)
    one_in = trace.thinned.one_in
    stretched = _stretch(events, one_in)
    units = _stretched(blocks.whole, one_in)
    unit_limit = np.where(trace.counted, _stretched(limit, one_in), 0)
    fleet = simulate_fleet(
        stretched,
        given_worker=np.zeros(len(trace), dtype=np.int64),
        num_workers=1,
        limit=unit_limit,
        prompt_tokens=trace.prompt_tokens,
        block_size=engine.block_size,
        capacity_blocks=engine.capacity_blocks,
    )
    second = np.arange(len(trace)) >= len(trace) // 2
    ever = np.minimum(_stretched(events.ever_computed(), one_in), unit_limit)
    hit = np.minimum(fleet.resident, unit_limit)

    rows = trace.counted
    curve = lru_curve(stretched, unit_limit, engine.block_size, one_in)
    total_units = int(units[rows].sum())
    size_error = _size_error(curve, engine.capacity_blocks, one_in, total_units)

    def estimated(hits: Ints, rows: NDArray[np.bool_], size_error: float) -> Estimated:
        ratio = _ratio(trace, events, blocks, hits, units, whole, rows, engine.block_size)
        if ratio.rate is None or ratio.error_95 is None:
            return ratio
        return Estimated(ratio.rate, math.hypot(ratio.error_95, size_error))

    return Estimate(
        trace,
        setting,
        engine,
        estimated(hit, rows, size_error),
        estimated(hit, rows & second, size_error),
        estimated(ever, rows, 0.0),
        curve,
        int(whole[rows].sum()) / total_units if total_units else 0.0,
        int(whole[rows].sum()),
        int(blocks.whole[rows].sum()),
        (*trace.notes, *_reports_unused(trace)),
    )


def _reports_unused(trace: Trace) -> list[str]:
    told = int(np.count_nonzero(trace.reported_hit != ABSENT))
    return [f"{told:,} reported hits are not used: --sample models them"] if told else []


def _size_error(curve: Curve, capacity: int | None, one_in: int, total_units: int) -> float:
    """What the hit rate moves when the cache is wrong by 1.96 standard errors of its size."""
    if capacity is None or not total_units:
        return 0.0
    wrong = _TWO_SIDED_95 * math.sqrt((one_in - 1) * capacity)
    low, high = curve.at(max(0, int(capacity - wrong))), curve.at(math.ceil(capacity + wrong))
    return (high - low) / 2 / total_units


def _kept_blocks(trace: Trace, thinned: Thinned, engine: Engine) -> tuple[Blocks, Ints, Ints]:
    """(kept whole blocks, whole blocks of the full prompts, kept blocks that may count)."""
    size = engine.block_size
    whole = np.minimum(thinned.num_ids, trace.prompt_tokens // size)
    partial_kept = thinned.last_kept & (thinned.num_ids > whole)
    kept = trace.prompts.lengths - partial_kept
    prompts = Runs(trace.prompts.flat, trace.prompts.offsets)
    uncountable = thinned.last_kept & ~partial_kept & (whole > engine.limit(trace.prompt_tokens))
    none = np.zeros(len(trace), dtype=np.int64)
    no_runs = Runs(np.zeros(0, dtype=np.uint64), np.zeros(len(trace) + 1, dtype=np.int64))
    return (
        Blocks(size, _shortened(prompts, kept), kept, none, no_runs, no_runs),
        whole,
        kept - uncountable,
    )


def _shortened(runs: Runs, lengths: Ints) -> Runs:
    """The first `lengths[i]` symbols of each row."""
    if np.array_equal(runs.lengths, lengths):
        return runs
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    row = np.repeat(np.arange(len(lengths)), lengths)
    return Runs(runs.flat[runs.offsets[row] + np.arange(offsets[-1]) - offsets[row]], offsets)


def _stretched(kept: Ints, one_in: int) -> Ints:
    """Estimated blocks behind so many leading kept ones: heads count one each."""
    stretched: Ints = np.minimum(kept, HEAD_BLOCKS) + np.maximum(kept - HEAD_BLOCKS, 0) * one_in
    return stretched


def _stretch(events: Events, one_in: int) -> Events:
    tree = events.forest.tree
    depth = _stretched(tree.depth, one_in)
    length = _stretched(tree.depth + tree.length, one_in) - depth
    forest = replace(events.forest, tree=tree._replace(depth=depth, length=length))
    return replace(events, forest=forest)


@kernel
def _uses(tree: Tree, ends: Ints, most: Ints, counts: Ints) -> None:
    """Difference array over flat positions: +1 for each of the first `most[s]` kept blocks."""
    for s in range(len(ends)):
        node = ends[s]
        while node >= tree.num_roots:
            blocks = min(tree.length[node], most[s] - tree.depth[node])
            if blocks > 0:
                counts[tree.first[node]] += 1
                counts[tree.first[node] + blocks] -= 1
            node = tree.parent[node]


def _ratio(
    trace: Trace,
    events: Events,
    blocks: Blocks,
    hits: Ints,
    units: Ints,
    whole: Ints,
    rows: NDArray[np.bool_],
    block_size: int,
) -> Estimated:
    """hits, units: estimated blocks of each request that hit, and that it has."""
    prompt = int(trace.prompt_tokens[rows].sum())
    total = int(units[rows].sum())
    if not prompt or not total:
        return Estimated(None, None)
    assert trace.thinned is not None
    one_in = trace.thinned.one_in
    share = int(hits[rows].sum()) / total
    ends = events.lookup_end[events.arrival_of[rows]]
    kept_hits = np.minimum(hits, HEAD_BLOCKS) + np.maximum(hits - HEAD_BLOCKS, 0) // one_in

    def uses(most: Ints) -> Ints:
        counts = np.zeros(len(blocks.prompts.flat) + 1, dtype=np.int64)
        _uses(events.forest.tree, ends, most[rows], counts)
        uses_of: Ints = np.cumsum(counts[:-1])
        return uses_of

    residual = (uses(kept_hits) - share * uses(blocks.whole))[_outside_heads(events)]
    error = np.sqrt((1 - 1 / one_in) * np.sum((one_in * residual) ** 2)) / total
    to_tokens = int(whole[rows].sum()) * block_size / prompt
    return Estimated(share * to_tokens, float(_TWO_SIDED_95 * error * to_tokens))


def _outside_heads(events: Events) -> Ints:
    """Flat positions of the kept blocks that were kept by chance."""
    tree = events.forest.tree
    head = np.clip(HEAD_BLOCKS - tree.depth, 0, tree.length)
    count = tree.length - head
    begin = np.repeat(tree.first + head, count)
    positions: Ints = begin + np.arange(len(begin)) - np.repeat(np.cumsum(count) - count, count)
    return positions
