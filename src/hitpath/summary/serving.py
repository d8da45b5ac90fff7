"""From what happened to each simulated request to the figures of a page: latency, throughput,
goodput, queue, KV use, the funnel, per worker, per stage, over time.

Percentiles are numpy's default (linear between the two nearest of the sorted values), over the
requests that were served. Queue and KV use of the whole run are exact: over all workers and all of
its time (KV use's p90 to 1/4,096 of a cache). Of one worker mean and maximum are exact and the p90
is of samples; of a stage or a window all figures are of the samples in it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.ledger import Ledger
from hitpath.core import ABSENT
from hitpath.sim.serving.records import ENDINGS, ServingOutcome
from hitpath.summary.serving_records import (
    Funnel,
    Goodput,
    Held,
    Latency,
    Part,
    Quantiles,
    Serving,
    ServingWindow,
    Spread,
    StagePart,
    Throughput,
    WorkerPart,
)
from hitpath.summary.serving_slo import Metric, Slo
from hitpath.traces.table import Floats, Ints

NUM_WINDOWS = 60
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Served:
    """What the sums are made of: the requests as they were sent ([N], see ServingInputs), and
    what happened to them."""

    outcome: ServingOutcome
    prompt_tokens: Ints
    output_tokens: Ints
    stage: Ints
    worker_names: tuple[str, ...]
    roles: tuple[str, ...]
    block_size: int

    @property
    def admitted(self) -> Mask:
        return ~np.isnan(self.outcome.admit_s)

    def times_s(self, rows: Mask) -> dict[Metric, Floats]:
        """TTFT, TPOT and E2E of these requests; infinite where they got no whole answer."""
        outcome = self.outcome
        lost = ~outcome.served[rows]
        ttft = np.where(lost, np.inf, outcome.ttft_s[rows])
        tpot = np.where(lost, np.inf, outcome.tpot_s(self.output_tokens)[rows])
        e2e = np.where(lost, np.inf, outcome.e2e_s[rows])
        return {"ttft": ttft, "tpot": tpot, "e2e": e2e}


def sum_up_serving(served: Served, ledger: Ledger, order: Ints, slo: Slo | None) -> Serving:
    """ledger: of the admitted requests, order: which row of `served` each of its rows is."""
    outcome, everything = served.outcome, np.ones(len(served.stage), dtype=np.bool_)
    admitted = served.admitted
    begin, end = _span(outcome, everything)
    hit, host, remote = (
        int(column[admitted].sum())
        for column in (outcome.hit_tokens, outcome.hit_host_tokens, outcome.hit_remote_tokens)
    )
    queue, kv_use = whole_spreads(served)
    serving = Serving(
        whole=_part(served, everything, queue, kv_use),
        num_admitted=int(np.count_nonzero(admitted)),
        num_preemptions=int(outcome.num_preemptions.sum()),
        recomputed_tokens=int(outcome.recomputed_tokens.sum()),
        hit_tokens_by_tier={"device": hit - host - remote, "host": host, "remote": remote},
        begin_s=begin,
        end_s=end,
        waited_s=quantiles((outcome.admit_s - outcome.sent_s)[admitted]),
        goodput=None if slo is None else goodput(served, slo),
        funnel=_funnel(outcome, ledger, order),
        per_worker=tuple(_workers(served)),
        per_stage=tuple(_stages(served)),
        windows=_windows(served, begin, end),
    )
    serving.check()
    return serving


def quantiles(values: Floats) -> Quantiles:
    """Of values without NaN."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Quantiles(None, None, None, None)
    p50, p90, p99 = (float(v) for v in np.quantile(known, (0.5, 0.9, 0.99)))
    return Quantiles(float(known.mean()), p50, p90, p99)


def latency(served: Served, rows: Mask) -> Latency:
    """Of those that were served."""
    outcome = served.outcome
    done = rows & outcome.served
    tpot = outcome.tpot_s(served.output_tokens)
    return Latency(
        quantiles(outcome.ttft_s[done]), quantiles(tpot[done]), quantiles(outcome.e2e_s[done])
    )


def throughput(served: Served, rows: Mask) -> Throughput:
    """From the first of these sent to their last end."""
    begin, end = _span(served.outcome, rows)
    done = rows & served.outcome.served
    span = end - begin
    if not span > 0:
        return Throughput(None, None)
    tokens = int(served.output_tokens[done].sum())
    return Throughput(tokens / span, int(np.count_nonzero(done)) / span)


def goodput(served: Served, slo: Slo) -> Goodput:
    """Of all requests; one that got no whole answer is infinitely late."""
    everything = np.ones(len(served.stage), dtype=np.bool_)
    times = served.times_s(everything)
    held = []
    for bound in slo.bounds:
        value = bound.value_s(times[bound.metric])
        held.append(
            Held(bound.statistic, bound.below_s, value, value is None or value < bound.below_s)
        )
    begin, end = _span(served.outcome, everything)
    good = int(np.count_nonzero(slo.good(times)))
    per_s = good / (end - begin) if end > begin else None
    return Goodput(slo.text, all(bound.met for bound in held), tuple(held), good, per_s)


def whole_spreads(served: Served) -> tuple[Spread, Spread]:
    """Queue and KV use over the whole run, all workers and all of its time."""
    outcome, totals = served.outcome, served.outcome.per_worker
    num_workers, end = len(totals.busy_s), outcome.end_s
    if not end > 0:
        return _spread(outcome.samples.waiting, None), _spread(kv_use_of(served), None)
    queue = Spread(
        float(totals.waiting_integral.sum()) / (end * num_workers),
        float(_place_at(outcome.queue_time_s, 0.9)),
        float(totals.longest_queue.max()),
    )
    if np.any(totals.capacity_blocks == ABSENT):
        return queue, Spread(None, None, None)
    shares = totals.used_integral / (end * totals.capacity_blocks)
    peak = float((totals.peak_blocks / totals.capacity_blocks).max())
    p90 = _place_at(outcome.use_time_s, 0.9) / (len(outcome.use_time_s) - 1)
    return queue, Spread(float(shares.mean()), min(float(p90), peak), peak)


def _place_at(time_s: Floats, share: float) -> int:
    """The first place up to which there is this share of the time."""
    passed = np.cumsum(time_s)
    return int(np.searchsorted(passed, share * passed[-1])) if len(passed) else 0


def kv_use_of(served: Served) -> Floats | None:
    """[samples, workers] Share of the blocks in use by running requests; None where a cache is
    unlimited."""
    capacity = served.outcome.per_worker.capacity_blocks
    if np.any(capacity == ABSENT):
        return None
    shares: Floats = served.outcome.samples.used_blocks / capacity
    return shares


def _spread(values: Floats | Ints | None, mean: float | None) -> Spread:
    if values is None or not values.size:
        return Spread(mean, None, None)
    shown = float(values.mean()) if mean is None else mean
    return Spread(shown, float(np.quantile(values, 0.9)), float(values.max()))


def _with_most(spread: Spread, most: float | None) -> Spread:
    """The same with the true maximum, which no sample need have met."""
    return Spread(spread.mean, spread.p90, None if most is None else float(most))


def _span(outcome: ServingOutcome, rows: Mask) -> tuple[float, float]:
    """(first sent, last end) of some requests, where one that was refused ends when it is sent;
    (0, 0) where there are none."""
    sent, finish = outcome.sent_s[rows], outcome.finish_s[rows]
    if not len(sent):
        return 0.0, 0.0
    return float(sent.min()), float(np.fmax(finish, sent).max())


def _part(served: Served, rows: Mask, queue: Spread, kv_use: Spread) -> Part:
    outcome = served.outcome
    admitted = rows & served.admitted
    counts = np.bincount(outcome.ending[rows], minlength=len(ENDINGS)).tolist()
    return Part(
        num_sent=int(np.count_nonzero(rows)),
        endings={name: counts[code] for code, name in ENDINGS.items()},
        prompt_tokens=int(served.prompt_tokens[admitted].sum()),
        hit_tokens=int(outcome.hit_tokens[admitted].sum()),
        latency=latency(served, rows),
        throughput=throughput(served, rows),
        queue=queue,
        kv_use=kv_use,
    )


def _funnel(outcome: ServingOutcome, ledger: Ledger, order: Ints) -> Funnel:
    rungs, rows = ledger.rungs.model, ledger.counted
    believed = np.where(outcome.believed_match[order] < 0, 0, outcome.believed_match[order])
    return Funnel(
        prompt=int(rungs[8][rows].sum()),
        ever=int(rungs[4][rows].sum()),
        best=int(rungs[3][rows].sum()),
        chosen=int(rungs[2][rows].sum()),
        delivered=int(rungs[0][rows].sum()),
        believed=int(believed[rows].sum()),
    )


def _workers(served: Served) -> list[WorkerPart]:
    outcome, totals = served.outcome, served.outcome.per_worker
    use, end = kv_use_of(served), outcome.end_s
    parts = []
    for w, (name, role) in enumerate(zip(served.worker_names, served.roles, strict=True)):
        capacity = int(totals.capacity_blocks[w])
        unlimited = capacity == ABSENT
        waiting = float(totals.waiting_integral[w]) / end if end > 0 else None
        used = None if unlimited or not end > 0 else float(totals.used_integral[w]) / end / capacity
        peak = None if unlimited else int(totals.peak_blocks[w]) / capacity
        part = _part(
            served,
            outcome.worker == w,
            _with_most(_spread(outcome.samples.waiting[:, w], waiting), totals.longest_queue[w]),
            _with_most(_spread(None if use is None else use[:, w], used), peak),
        )
        parts.append(
            WorkerPart(
                name=name,
                role=role,
                part=part,
                busy_frac=float(totals.busy_s[w]) / end if end > 0 else None,
                num_steps=int(totals.num_steps[w]),
                computed_tokens=int(totals.computed_tokens[w]),
                output_tokens=int(totals.output_tokens[w]),
                evicted_tokens=int(totals.evicted_blocks[w]) * served.block_size,
                num_preemptions=int(totals.num_preemptions[w]),
                peak_kv_use=peak,
            )
        )
    return parts


def _stages(served: Served) -> list[StagePart]:
    outcome, use = served.outcome, kv_use_of(served)
    parts = []
    for stage in range(int(served.stage.max(initial=ABSENT)) + 1):
        rows = served.stage == stage
        drained = len(outcome.stage_start_s) > 0
        begin = float(outcome.stage_start_s[stage]) if drained else _span(outcome, rows)[0]
        end = max(begin, _span(outcome, rows)[1])
        inside = _inside(outcome, begin, end)
        part = _part(
            served,
            rows,
            _spread(outcome.samples.waiting[inside], None),
            _spread(None if use is None else use[inside], None),
        )
        parts.append(StagePart(stage, begin, end, part))
    return parts


def _inside(outcome: ServingOutcome, begin: float, end: float) -> Mask:
    """Samples in a stretch of time."""
    time = outcome.samples.time_s
    inside: Mask = (time >= begin) & (time <= end)
    return inside


def _windows(served: Served, begin: float, end: float) -> tuple[ServingWindow, ...]:
    if not end > begin:
        return ()
    edges = np.linspace(begin, end, NUM_WINDOWS + 1)
    return tuple(
        _window(served, float(edges[i]), float(edges[i + 1]), i == NUM_WINDOWS - 1)
        for i in range(NUM_WINDOWS)
    )


def _window(served: Served, begin: float, end: float, last: bool) -> ServingWindow:
    outcome = served.outcome

    def within(times: Floats) -> Mask:
        upper = times <= end if last else times < end
        mask: Mask = (times >= begin) & upper
        return mask

    sent, ended, admitted = (
        within(times) for times in (outcome.sent_s, outcome.finish_s, outcome.admit_s)
    )
    done = ended & outcome.served
    prompt = int(served.prompt_tokens[admitted].sum())
    inside = within(outcome.samples.time_s)
    use = kv_use_of(served)

    def mean(values: Floats | Ints | None) -> float | None:
        if values is None or not np.any(inside):
            return None
        return float(values[inside].mean())

    return ServingWindow(
        begin_s=begin,
        end_s=end,
        num_sent=int(np.count_nonzero(sent)),
        num_ended=int(np.count_nonzero(ended)),
        output_tokens_per_s=int(served.output_tokens[done].sum()) / (end - begin),
        ttft_p90_s=quantiles(outcome.ttft_s[sent & outcome.served]).p90,
        hit_rate=int(outcome.hit_tokens[admitted].sum()) / prompt if prompt else None,
        waiting=mean(outcome.samples.waiting),
        running=mean(outcome.samples.running),
        kv_use=mean(use),
    )
