"""A scheduler's whole run, and all runs on all cores."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

from hitpath.cost.pricing import load_pricing
from hitpath.routing.registry import make_router
from hitpath.sim.serving.records import (
    FleetSettings,
    ServingOutcome,
    WorkerGroup,
    WorkerSettings,
)
from hitpath.sim.serving.simulate import simulate_serving
from hitpath.sim.serving.step_time import StepModel, step_model
from hitpath.sim.serving_router import step_terms
from llmd_73.measured import Measured
from llmd_73.report import Medians, StageRow, medians_of, stage_rows
from llmd_73.settings import Experiment, Fitted, Fixed, Pods
from llmd_73.workload import Workload, build_workload

MeasuredRows = dict[tuple[str, float], Measured]


class Run(NamedTuple):
    """One scheduler with one seed."""

    workload: Workload
    outcome: ServingOutcome


@cache
def steps_of(pods: Pods, fixed: Fixed, fitted: Fitted) -> StepModel:
    """Step times of one pod, from hitpath's prices of the model on the hardware."""
    shares = {
        "compute": fitted.compute_frac,
        "memory": fixed.memory_frac,
        "link": fixed.link_frac,
        "overhead_s": fitted.step_overhead_s,
    }
    pricing = load_pricing(
        pods.model,
        pods.hardware,
        num_gpus=pods.num_gpus,
        efficiency=",".join(f"{name}={value!r}" for name, value in shares.items()),
    )
    return step_model(pricing.replica, pods.max_batch_tokens, pods.max_running)


def fleet_of(experiment: Experiment, scheduler: str, seed: int) -> FleetSettings:
    """The same pods for every scheduler."""
    pods = experiment.pods
    settings = WorkerSettings(
        block_size=pods.block_tokens,
        capacity_blocks=pods.kv_tokens // pods.block_tokens,
        max_batch_tokens=pods.max_batch_tokens,
        max_running=pods.max_running,
        reserve_full_prompt=pods.reserve_full_prompt,
    )
    steps = steps_of(pods, experiment.fixed, experiment.fitted)
    terms = step_terms(steps, pods.kv_tokens, 0.0)
    return FleetSettings(
        workers=(WorkerGroup(pods.count, settings, steps),),
        router=make_router(experiment.schedulers[scheduler], pods.count, seed, terms),
        scrape_interval_s=experiment.metrics.scrape_interval_s,
        scrape_age_s=experiment.metrics.scrape_age_s,
        max_in_flight=experiment.load.max_in_flight,
        ttft_constant_s=experiment.fitted.ttft_constant_s,
        sample_s=1.0,
        max_samples=1 << 13,
        seed=seed,
    )


def run_scheduler(experiment: Experiment, scheduler: str, seed: int, measured: MeasuredRows) -> Run:
    """The warm-up and all stages."""
    workload = build_workload(experiment, scheduler, measured, seed)
    outcome = simulate_serving(
        workload.engine_forest.tree,
        workload.router_forest.tree,
        workload.requests(),
        workload.arrivals(),
        fleet_of(experiment, scheduler, seed),
    )
    return Run(workload, outcome)


def run_all(
    experiment: Experiment,
    measured: MeasuredRows,
    num_seeds: int,
    schedulers: tuple[str, ...] | None = None,
    num_threads: int = 2,
) -> dict[str, Medians]:
    """Every scheduler with seeds 0 to num_seeds - 1. Kernels release the interpreter's lock."""
    names = schedulers or tuple(experiment.schedulers)

    def rows(task: tuple[str, int]) -> tuple[StageRow, ...]:
        run = run_scheduler(experiment, *task, measured)
        return stage_rows(run.workload, run.outcome)

    tasks = [(name, seed) for name in names for seed in range(num_seeds)]
    with ThreadPoolExecutor(num_threads) as pool:
        found = dict(zip(tasks, pool.map(rows, tasks), strict=True))
    return {
        name: medians_of(name, [found[name, seed] for seed in range(num_seeds)]) for name in names
    }
