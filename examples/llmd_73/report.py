"""The report's own way of counting, worked out from its tables.

- Output tokens/s of a stage = tokens that the client counted of the successes, over the time from
  the first request sent to the last that ended. Of the summary: the plain mean over the stages.
- TTFT p90 and mean of the summary: means of the stages' values, weighted by their successes. They
  are no pooled percentiles.
- Queue and KV use: the pods' gauges (as they publish them, after each step), means over pods and
  over the time in which requests were sent, warm-up included. That this is what the report means
  was found out: so counted all four KV figures come out within 2 points though nothing was fitted
  to them; over the whole of the stages, with their long ends, they are off by up to 10.
- The client stamped each event twice, so its inter-token latency is half a step.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hitpath.sim.serving.records import ServingOutcome
from llmd_73.workload import Workload


class StageRow(NamedTuple):
    """One stage of one run, or medians over runs. queue_mean, kv_use_mean: the pods' gauges in the
    `send_s` in which requests were sent. whole_...: the true state until the last request ended;
    first_queue_mean: of it only requests that were never admitted before, preempted ones left
    out."""

    rate: float
    num_served: float
    output_tokens_per_s: float
    ttft_p90_s: float
    ttft_mean_s: float
    itl_mean_s: float
    hit_rate: float
    send_s: float
    queue_mean: float
    kv_use_mean: float
    whole_queue_mean: float
    first_queue_mean: float
    whole_kv_use_mean: float


class Summary(NamedTuple):
    """Over all stages; the warm-up only in queue and KV use."""

    output_tokens_per_s: float
    ttft_p90_s: float
    ttft_mean_s: float
    queue_mean: float
    kv_use_mean: float
    whole_queue_mean: float
    whole_kv_use_mean: float
    hit_rate: float


@dataclass(frozen=True, slots=True)
class Medians:
    """Of a scheduler, over the seeds, figure by figure. `rows`: the stages behind the warm-up.
    `runs`: the rows of each seed, likewise."""

    scheduler: str
    rows: tuple[StageRow, ...]
    summary: Summary
    runs: tuple[tuple[StageRow, ...], ...]


def stage_rows(workload: Workload, outcome: ServingOutcome) -> tuple[StageRow, ...]:
    """All stages, the warm-up first."""
    return tuple(_stage_row(workload, outcome, stage) for stage in range(len(workload.stages)))


def _stage_row(workload: Workload, outcome: ServingOutcome, stage: int) -> StageRow:
    of_stage = workload.stage == stage
    served = of_stage & outcome.served
    experiment = workload.experiment
    output = experiment.load.output_tokens
    sent = outcome.sent_s[of_stage]
    first, last_sent, last = sent.min(), sent.max(), outcome.finish_s[served].max()
    ttft = outcome.ttft_s[served]
    counted = served.sum() * output * experiment.fitted.counted_frac
    samples = outcome.samples
    sending = (samples.time_s >= first) & (samples.time_s <= last_sent)
    whole = (samples.time_s >= first) & (samples.time_s <= last)
    waited = outcome.admit_s[served] - outcome.sent_s[served]
    capacity = outcome.per_worker.capacity_blocks
    return StageRow(
        rate=float(workload.stages[stage].rate),
        num_served=float(served.sum()),
        output_tokens_per_s=counted / (last + outcome.ttft_constant_s - first),
        ttft_p90_s=float(np.percentile(ttft, 90)),
        ttft_mean_s=float(ttft.mean()),
        itl_mean_s=float(outcome.tpot_s(np.full(len(served), output))[served].mean()) / 2,
        hit_rate=outcome.hit_tokens[served].sum() / (served.sum() * experiment.prompt_tokens),
        send_s=float(last_sent - first),
        queue_mean=float(samples.told_waiting[sending].mean()),
        kv_use_mean=float((samples.told_used_blocks[sending] / capacity).mean()),
        whole_queue_mean=float(samples.waiting[whole].mean()),
        first_queue_mean=float(waited.sum() / (last - first) / experiment.pods.count),
        whole_kv_use_mean=float((samples.used_blocks[whole] / capacity).mean()),
    )


def summary_of(rows: tuple[StageRow, ...]) -> Summary:
    """As the report sums up its stages; the hit rate over all tokens of served prompts."""
    table = {name: np.array([getattr(row, name) for row in rows]) for name in StageRow._fields}
    stages = {name: values[1:] for name, values in table.items()}
    weights, seconds = stages["num_served"], table["send_s"]
    return Summary(
        output_tokens_per_s=float(stages["output_tokens_per_s"].mean()),
        ttft_p90_s=float(np.average(stages["ttft_p90_s"], weights=weights)),
        ttft_mean_s=float(np.average(stages["ttft_mean_s"], weights=weights)),
        queue_mean=float(np.average(table["queue_mean"], weights=seconds)),
        kv_use_mean=float(np.average(table["kv_use_mean"], weights=seconds)),
        whole_queue_mean=float(stages["whole_queue_mean"].mean()),
        whole_kv_use_mean=float(stages["whole_kv_use_mean"].mean()),
        hit_rate=float(np.average(stages["hit_rate"], weights=weights)),
    )


def medians_of(scheduler: str, runs: list[tuple[StageRow, ...]]) -> Medians:
    """Each figure's median over the runs; a summary's is the median of the runs' summaries."""
    rows = np.median(np.array(runs), axis=0)[1:]
    summaries = np.array([summary_of(run) for run in runs])
    return Medians(
        scheduler,
        tuple(StageRow(*map(float, row)) for row in rows),
        Summary(*map(float, np.median(summaries, axis=0))),
        tuple(run[1:] for run in runs),
    )
