"""One setting changed at a time, and other routers in the schedulers' place."""

from collections.abc import Iterator

import msgspec

from llmd_73.measured import Measured
from llmd_73.report import Medians
from llmd_73.settings import Experiment
from llmd_73.simulate import run_all

_NO_LIMIT = 1_000_000


def variants(experiment: Experiment) -> Iterator[tuple[str, Experiment]]:
    """(what is changed, the experiment with it); the unchanged one first."""
    pods, load, metrics = experiment.pods, experiment.load, experiment.metrics
    replace = msgspec.structs.replace
    yield "as it is", experiment
    fresh = replace(metrics, scrape_interval_s=0.0, scrape_age_s=0.0)
    yield "schedulers see the pods' true state at once", replace(experiment, metrics=fresh)
    yield (
        "no circuit breaker",
        replace(experiment, load=replace(load, max_in_flight=_NO_LIMIT)),
    )
    less = replace(pods, kv_tokens=int(0.9 * pods.kv_tokens))
    yield "10 % less KV memory", replace(experiment, pods=less)
    whole = replace(pods, reserve_full_prompt=True)
    yield "admission reserves the whole prompt", replace(experiment, pods=whole)
    yield "at most 256 sequences a pod", replace(experiment, pods=replace(pods, max_running=256))
    quick = replace(experiment.fitted, ttft_constant_s=0.0)
    yield "no time for client and network", replace(experiment, fitted=quick)
    index = {**experiment.schedulers, "estimated": "llmd-approx:capacity=0"}
    yield "no bound on the estimating index", replace(experiment, schedulers=index)


def run_variants(
    experiment: Experiment,
    measured: dict[tuple[str, float], Measured],
    num_seeds: int,
    num_threads: int,
) -> dict[str, dict[str, Medians]]:
    """What is changed -> scheduler -> medians."""
    return {
        name: run_all(changed, measured, num_seeds, num_threads=num_threads)
        for name, changed in variants(experiment)
    }


OTHERS = (
    "round-robin",
    "least-loaded",
    "power-of-two",
    "session-hash",
    "prefix-hash",
    "longest-prefix",
    "vllm-kv",
    "llmd-precise-2026",
    "dynamo",
    "hitpath",
)
"""Routers of hitpath by name, each with its own defaults; nothing was fitted to them. Only such as
have no index of their own, or know the pods' blocks by events: the load's other index is cut for
`estimated`."""


def run_others(
    experiment: Experiment,
    measured: dict[tuple[str, float], Measured],
    num_seeds: int,
    num_threads: int,
) -> dict[str, Medians]:
    """Router -> medians, on the same load and pods."""
    others = {name: name for name in OTHERS}
    changed = msgspec.structs.replace(experiment, schedulers=others)
    return run_all(changed, measured, num_seeds, num_threads=num_threads)
