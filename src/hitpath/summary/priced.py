"""What hits saved and misses cost in prefill: FLOPs, GPU-seconds and money by label.

Each request is priced at every step of its ladder: with nothing cached, with its hit, with what
the next cause would have added, and so on. A label's share is the difference of two steps that
follow each other, so that the shares of a request add up to its whole prompt by construction:

    miss path = avoided by hits + unexplained + causes + floor

floor: what stays when everything is cached, the last token of each prompt against all others.
Each prefill stands alone (cost.paths): no queue, no other request in its steps, no load from a
slower tier.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose

import numpy as np

from hitpath.core import CAUSES
from hitpath.cost.money import gpu_usd
from hitpath.cost.path_rows import PricedRows, price_with
from hitpath.cost.pricing import Pricing
from hitpath.summary.analysis import Analysis
from hitpath.summary.decode_bound import DecodeBound, decode_bound
from hitpath.summary.hit_classes import HitClass, hit_classes
from hitpath.summary.lengths import LengthsAnalysis
from hitpath.traces.table import Ints, Trace

Some = slice | Ints
"""All rows, or the numbers of some."""

HIT, UNEXPLAINED, NOT_KNOWN = "hit", "unexplained", "not_known"
"""Labels beside the causes; `not_known` is all that missed where no cause can be known."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Prefill of some tokens. `gpu_s`: seconds times the replica's GPUs; `usd`: None where no
    price of a GPU-hour is given."""

    prefill_tokens: int
    flops: float
    gpu_s: float
    usd: float | None


@dataclass(frozen=True, slots=True)
class PricedRequests:
    """`rows`: numbers of the priced requests; seconds and FLOPs of each, on the miss path and
    with the hit that it had."""

    rows: Ints
    miss: PricedRows
    served: PricedRows


@dataclass(frozen=True, slots=True)
class Priced:
    """The prefill of a trace's priced requests.

    miss: as if nothing were ever cached; served: with the hits as they were; avoided: by hits;
    labels: by unexplained and cause in the ladder's order, None where a cause is not known;
    floor: what is left with everything cached. span_s: arrivals from first to last, None without
    a common clock. left_out: counted requests that are not priced, as they report no hit.
    """

    pricing: Pricing
    miss: Worth
    served: Worth
    avoided: Worth
    labels: Mapping[str, Worth | None]
    floor: Worth
    hit_rate: float | None
    span_s: float | None
    ttft: tuple[HitClass, ...]
    decode: DecodeBound | None
    requests: PricedRequests
    left_out: int

    def check(self) -> None:
        """miss = avoided + labels + floor = avoided + served, in every quantity."""
        labels = [worth for worth in self.labels.values() if worth is not None]
        for quantity in ("prefill_tokens", "flops", "gpu_s", "usd"):
            values = [getattr(w, quantity) for w in (self.miss, self.avoided, self.served)]
            if values[0] is None:
                continue
            rest = sum(getattr(worth, quantity) for worth in (*labels, self.floor))
            assert isclose(values[0], values[1] + values[2], rel_tol=1e-9, abs_tol=1e-12)
            assert isclose(values[2], rest, rel_tol=1e-9, abs_tol=1e-9 * values[0])

    def gpu_hours_per_day(self, worth: Worth) -> float | None:
        """At the trace's own rate; None without a common clock or a span."""
        return worth.gpu_s / self.span_s * 24 if self.span_s else None


def price_analysis(analysis: Analysis, pricing: Pricing) -> Priced:
    """Every label of a ladder. The prompts are counted in tokens."""
    ledger = analysis.ledger
    rows = np.flatnonzero(ledger.counted)

    def steps() -> Iterator[tuple[str, Ints]]:
        reach = ledger.hit[rows]
        yield HIT, reach
        reach = reach + ledger.unexplained[rows]
        yield UNEXPLAINED, reach
        for cause in CAUSES:
            reach = reach + ledger.cause(cause)[rows]
            yield cause, reach

    return _priced(
        analysis.trace,
        rows,
        ledger.hit[rows],
        steps(),
        pricing,
        set(ledger.rungs.unknown),
        full_within=analysis.engine.block_size,
    )


def price_lengths(analysis: LengthsAnalysis, pricing: Pricing) -> Priced:
    """Of the requests that report their hit; why the rest missed is not known."""
    trace = analysis.trace
    rows = np.flatnonzero(analysis.told)
    hit = trace.reported_hit[rows]
    steps = ((HIT, hit), (NOT_KNOWN, trace.prompt_tokens[rows]))
    left_out = int(analysis.counted.sum()) - len(rows)
    return _priced(trace, rows, hit, iter(steps), pricing, set(), full_within=None, out=left_out)


def _priced(
    trace: Trace,
    rows: Ints,
    hit: Ints,
    steps: Iterator[tuple[str, Ints]],
    pricing: Pricing,
    unknown: set[str],
    *,
    full_within: int | None,
    out: int = 0,
) -> Priced:
    prompt = trace.prompt_tokens[rows]
    ladder = _Ladder(prompt, pricing)
    miss_rows, miss = ladder.rows(), ladder.whole()
    labels: dict[str, Worth | None] = {}
    served_rows, served = miss_rows, miss
    for name, reach in steps:
        worth = ladder.climb(reach)
        labels[name] = None if name in unknown else worth
        if name == HIT:
            served_rows, served = ladder.rows(), ladder.whole()
    avoided = labels.pop(HIT)
    assert avoided is not None
    requests = PricedRequests(rows, miss_rows, served_rows)
    total = int(prompt.sum())
    priced = Priced(
        pricing=pricing,
        miss=miss,
        served=served,
        avoided=avoided,
        labels=labels,
        floor=ladder.whole(),
        hit_rate=int(hit.sum()) / total if total else None,
        span_s=_span_s(trace, rows),
        ttft=hit_classes(prompt, hit, served_rows.seconds, trace.ttft_s[rows], full_within),
        decode=decode_bound(
            pricing, prompt, hit, trace.output_tokens[rows], miss_rows, served_rows
        ),
        requests=requests,
        left_out=out,
    )
    priced.check()
    return priced


def _span_s(trace: Trace, rows: Ints) -> float | None:
    if not trace.common_clock or not len(rows):
        return None
    arrivals = trace.arrival_s[rows]
    return float(arrivals.max() - arrivals.min())


class _Ladder:
    """Requests at one step of their ladders after the other. Only what a step moves is priced
    again."""

    def __init__(self, prompt: Ints, pricing: Pricing) -> None:
        self._prompt, self._pricing = prompt, pricing
        self._reach = np.zeros_like(prompt)
        self._seconds, self._flops = self._price(slice(None), self._reach)

    def climb(self, reach: Ints) -> Worth:
        """The prefill that cached tokens up to `reach` save over the step before."""
        is_moved = reach > self._reach
        if not is_moved.any():
            return self._worth(0, 0.0, 0.0)
        moved = slice(None) if is_moved.all() else np.flatnonzero(is_moved)
        tokens = self._num_computed(moved, self._reach) - self._num_computed(moved, reach)
        now = self._price(moved, reach)
        # Row by row: a small share must not drown in the difference of two large sums.
        seconds = float((self._seconds[moved] - now.seconds).sum())
        flops = float((self._flops[moved] - now.flops).sum())
        self._seconds, self._flops = _replaced(self.rows(), moved, now)
        self._reach = reach
        return self._worth(tokens, flops, seconds)

    def whole(self) -> Worth:
        """All prefill at this step."""
        tokens = self._num_computed(slice(None), self._reach)
        return self._worth(tokens, float(self._flops.sum()), float(self._seconds.sum()))

    def rows(self) -> PricedRows:
        """Each request at this step."""
        return PricedRows(self._seconds, self._flops)

    def _num_computed(self, rows: Some, reach: Ints) -> int:
        """At least the last token of each prompt is; an empty one has none."""
        prompt = self._prompt[rows]
        return int(np.maximum(prompt - reach[rows], np.minimum(prompt, 1)).sum())

    def _price(self, rows: Some, reach: Ints) -> PricedRows:
        pricing = self._pricing
        return price_with(pricing.replica, self._prompt[rows], reach[rows], pricing.chunk_tokens)

    def _worth(self, tokens: int, flops: float, seconds: float) -> Worth:
        num_gpus, hour = self._pricing.replica.num_gpus, self._pricing.gpu_hour_usd
        usd = None if hour is None else gpu_usd(seconds, hour, num_gpus)
        return Worth(tokens, flops, seconds * num_gpus, usd)


def _replaced(old: PricedRows, rows: Some, new: PricedRows) -> PricedRows:
    """The same with some rows anew, in arrays of its own."""
    if isinstance(rows, slice):
        return new
    made = PricedRows(old.seconds.copy(), old.flops.copy())
    made.seconds[rows], made.flops[rows] = new.seconds, new.flops
    return made
