"""The entry: a forest, requests, arrivals and a fleet in, what happened out."""

from collections.abc import Callable

import numpy as np

from hitpath.core import HitpathError
from hitpath.index.forest import Tree
from hitpath.routing.dispatch import pick
from hitpath.routing.view import ask_of
from hitpath.sim.serving import loop
from hitpath.sim.serving.books import books_hold
from hitpath.sim.serving.building import build_state, with_room
from hitpath.sim.serving.inputs import check_inputs
from hitpath.sim.serving.layout import UNLIMITED, State
from hitpath.sim.serving.records import (
    Arrivals,
    FleetSettings,
    Ints,
    Requests,
    Samples,
    ServingOutcome,
    WorkerTotals,
)


def simulate_serving(
    tree: Tree,
    router_tree: Tree | None,
    requests: Requests,
    arrivals: Arrivals,
    fleet: FleetSettings,
    between: Callable[[float], None] | None = None,
) -> ServingOutcome:
    """Serve every request, in virtual time.

    tree: of the engines' whole blocks. router_tree: of the router's, where it keeps an index of
    history. Deterministic: the same arguments give the same answer. Memory does not grow with time,
    nor with the number of steps. Thread-safe, and without the GIL but for its set-up. between: is
    called every few tenths of a second with the share of the requests that have ended; what it
    raises ends the run. Raises ValueError for arguments that do not fit together.
    """
    check_inputs(tree, router_tree, requests, arrivals, fleet)
    state = build_state(tree, router_tree, requests, arrivals, fleet)
    _prepare_router(state)
    while (code := loop.run(state, requests.router_end_node)) != loop.DONE:
        if code == loop.NEEDS_ROOM:
            state = with_room(state)
        elif fleet.checked and not books_hold(state.engine):
            now = state.engine.caches.clock[0].now
            raise HitpathError(f"the books do not balance at {now:g} s: a bug of hitpath")
        if between is not None:
            between(float(state.engine.caches.clock[0].ended) / max(1, len(requests)))
    return _outcome(state, arrivals, fleet)


def _prepare_router(state: State) -> None:
    """Ask it once with nobody alive: it changes nothing, and its rules, which make arrays, are
    compiled by themselves and not as a part of kernels that count no references."""
    index = state.router
    index.sees.alive[:] = False
    kind = int(index.rules[0].kind)
    pick(kind, index.params, index.ring, ask_of(0, 1), index.sees, index.counter, index.seed)


def _outcome(state: State, arrivals: Arrivals, fleet: FleetSettings) -> ServingOutcome:
    caches = state.engine.caches
    jobs, clock = caches.jobs, caches.clock[0]
    granted = [jobs["hit"], jobs["hit"], jobs["rung_flight"], jobs["rung_best"]]
    staged = bool(np.any(arrivals.stage >= 0))
    return ServingOutcome(
        sent_s=jobs["sent"].copy(),
        admit_s=jobs["admitted"].copy(),
        first_token_s=jobs["first"].copy(),
        finish_s=jobs["finish"].copy(),
        worker=jobs["routed"].copy(),
        decode_worker=jobs["decoder"].copy(),
        hit_tokens=jobs["hit"].copy(),
        hit_host_tokens=jobs["hit_host"].copy(),
        hit_remote_tokens=jobs["hit_remote"].copy(),
        granted=np.stack(granted).astype(np.int64),
        believed_match=jobs["matched"].copy(),
        num_preemptions=jobs["preemptions"].copy(),
        computed_tokens=jobs["total"].copy(),
        recomputed_tokens=jobs["recomputed"].copy(),
        ending=jobs["ending"].copy(),
        per_worker=_totals(state, fleet.num_workers),
        samples=_samples(state),
        queue_time_s=np.trim_zeros(caches.queue_time_s, "b"),
        use_time_s=caches.use_time_s.copy(),
        stage_start_s=state.engine.stages[0].copy() if staged and arrivals.drain else np.zeros(0),
        end_s=max(float(clock.now), 0.0),
        ttft_constant_s=fleet.ttft_constant_s,
    )


def _totals(state: State, num: int) -> WorkerTotals:
    workers = state.engine.caches.workers[:num]
    capacity: Ints = workers["capacity"].copy()
    capacity[capacity >= UNLIMITED] = -1
    return WorkerTotals(
        capacity_blocks=capacity,
        busy_s=workers["busy"].copy(),
        num_steps=workers["steps"].copy(),
        computed_tokens=workers["computed"].copy(),
        output_tokens=workers["output"].copy(),
        evicted_blocks=workers["evicted"].copy(),
        peak_blocks=workers["peak"].copy(),
        longest_queue=workers["longest"].copy(),
        num_preemptions=workers["preemptions"].copy(),
        waiting_integral=workers["waiting_s"].copy(),
        running_integral=workers["running_s"].copy(),
        used_integral=workers["used_s"].copy(),
    )


def _samples(state: State) -> Samples:
    clock = state.engine.caches.clock[0]
    kept = slice(0, int(clock.sample_count))
    values = state.samples[kept]
    return Samples(
        interval_s=float(clock.sample_s),
        time_s=state.sample_s[kept].copy(),
        waiting=values[:, 0].copy(),
        running=values[:, 1].copy(),
        used_blocks=values[:, 2].copy(),
        cached_blocks=values[:, 3].copy(),
        told_waiting=values[:, 4].copy(),
        told_used_blocks=values[:, 5].copy(),
    )
