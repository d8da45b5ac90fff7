"""One fleet of many: its figures without a ledger, and the most that any could have hit.

The bound is the clairvoyant order (sim/clairvoyant.py) over the same requests in the order in which
this fleet admitted them, in one cache as large as all caches of the fleet together: no router and
no order of eviction hits more. A prompt's reply is taken as there from its admission on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hitpath.core import ABSENT
from hitpath.serving_spine.run import Prepared
from hitpath.sim.clairvoyant import clairvoyant_hits
from hitpath.sim.events import ARRIVAL, Events
from hitpath.sim.serving.records import FleetSettings, ServingOutcome
from hitpath.summary.serving import goodput, latency, throughput, whole_spreads
from hitpath.summary.serving_records import Goodput, Latency, Spread, Throughput

LESS_IS_BETTER = (
    "ttft_mean", "ttft_p50", "ttft_p90", "ttft_p99",
    "tpot_mean", "tpot_p50", "tpot_p90", "tpot_p99",
    "e2e_mean", "e2e_p50", "e2e_p90", "e2e_p99",
    "queue",
)  # fmt: skip
MORE_IS_BETTER = ("hit_rate", "goodput", "output_tokens_per_s", "requests_per_s")
OBJECTIVES = (*LESS_IS_BETTER, *MORE_IS_BETTER)


@dataclass(frozen=True, slots=True)
class Cell:
    """One fleet's figures. at: the values of the grid's axes. hit_rate: token-weighted, of the
    admitted requests; clairvoyant_rate: the bound, None for too large a trace."""

    at: Mapping[str, str]
    num_sent: int
    num_served: int
    prompt_tokens: int
    hit_tokens: int
    clairvoyant_tokens: int | None
    latency: Latency
    throughput: Throughput
    goodput: Goodput | None
    queue: Spread
    kv_use: Spread
    num_preemptions: int

    @property
    def hit_rate(self) -> float | None:
        """Token-weighted."""
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else None

    @property
    def clairvoyant_rate(self) -> float | None:
        """What no fleet of this memory exceeds."""
        if self.clairvoyant_tokens is None or not self.prompt_tokens:
            return None
        return self.clairvoyant_tokens / self.prompt_tokens

    def value(self, objective: str) -> float | None:
        """One of OBJECTIVES; None where this cell has none."""
        match objective:
            case "hit_rate":
                return self.hit_rate
            case "goodput":
                return None if self.goodput is None else self.goodput.per_s
            case "queue":
                return self.queue.mean
            case "output_tokens_per_s" | "requests_per_s":
                return _of(self.throughput, objective)
        metric, _, statistic = objective.partition("_")
        return _of(getattr(self.latency, f"{metric}_s"), statistic)

    def check(self) -> None:
        """Nothing hits more than the clairvoyant order."""
        if self.clairvoyant_tokens is not None:
            assert self.hit_tokens <= self.clairvoyant_tokens


def _of(record: object, name: str) -> float | None:
    value: float | None = getattr(record, name)
    return value


def measure(
    prepared: Prepared,
    at: Mapping[str, str],
    with_bound: bool = True,
    between: Callable[[float], None] | None = None,
) -> Cell:
    """Run one fleet. between: see `simulate_serving`. Raises SettingError where its router needs
    what is not there."""
    outcome = prepared.run(between)
    served = prepared.served(outcome)
    admitted = served.admitted
    everything = np.ones(len(admitted), dtype=np.bool_)
    queue, kv_use = whole_spreads(served)
    cell = Cell(
        at=dict(at),
        num_sent=len(admitted),
        num_served=int(np.count_nonzero(outcome.served)),
        prompt_tokens=int(served.prompt_tokens[admitted].sum()),
        hit_tokens=int(outcome.hit_tokens[admitted].sum()),
        clairvoyant_tokens=_bound(prepared, outcome) if with_bound else None,
        latency=latency(served, everything),
        throughput=throughput(served, everything),
        goodput=None if prepared.slo is None else goodput(served, prepared.slo),
        queue=queue,
        kv_use=kv_use,
        num_preemptions=int(outcome.num_preemptions.sum()),
    )
    cell.check()
    return cell


def _bound(prepared: Prepared, outcome: ServingOutcome) -> int | None:
    """Hit tokens of the clairvoyant order."""
    inputs, settings = prepared.inputs, prepared.plan.settings
    requests, worker = inputs.requests, settings.workers[0].settings
    order = np.lexsort((np.arange(len(outcome.admit_s)), outcome.sent_s, outcome.admit_s))
    order = order[~np.isnan(outcome.admit_s[order])]
    ends = requests.end_node
    brought = np.where(requests.output_end_node == ABSENT, ends, requests.output_end_node)
    arrival_of = np.zeros(len(ends), dtype=np.int64)
    arrival_of[order] = np.arange(len(order))
    events = Events(
        forest=inputs.tree,
        request=order,
        kind=np.full(len(order), ARRIVAL, dtype=np.int64),
        lookup_end=ends[order],
        insert_end=brought[order],
        arrival_of=arrival_of,
    )
    countable = requests.prompt_tokens - 1 if worker.last_token else requests.prompt_tokens
    limit = np.minimum(np.maximum(countable, 0) // settings.block_size, requests.whole_blocks)
    room = _all_blocks(settings)
    capacity = int(inputs.tree.tree.length.sum()) if room is None else room
    hits = clairvoyant_hits(events, limit, capacity)
    return None if hits is None else int(hits.sum()) * settings.block_size


def _all_blocks(settings: FleetSettings) -> int | None:
    """Of all workers that look prompts up and of all tiers; None where any is unlimited."""
    total = 0
    for group in settings.workers:
        blocks = group.settings.capacity_blocks
        host = 0 if settings.host is None else settings.host.capacity_blocks
        if blocks is None or host is None:
            return None
        total += group.count * (blocks + host)
    if settings.remote is not None:
        if settings.remote.capacity_blocks is None:
            return None
        total += settings.remote.capacity_blocks
    return total
