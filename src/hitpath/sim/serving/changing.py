"""Workers that fail, join and restart."""

import numpy as np

from hitpath.sim.serving.admission import shared_path
from hitpath.sim.serving.arriving import make_ready
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import drop_segment, land, release
from hitpath.sim.serving.endings import end_job
from hitpath.sim.serving.layout import (
    FAIL,
    FAILED_WORKER,
    JOIN,
    MOVING,
    WAITING,
    Caches,
    Engine,
    State,
)
from hitpath.sim.serving.queues import remove
from hitpath.sim.serving.releasing import free_job
from hitpath.sim.serving.router_index import forget_worker
from hitpath.sim.serving.schedule import leave_step
from hitpath.sim.serving.timeline import touch


@bare_kernel
def lose_owner(c: Caches, owner: int) -> None:
    """All that an owner held is gone; nobody uses any of it any more."""
    worker = c.workers[owner]
    while worker.oldest >= 0:
        drop_segment(c, worker.oldest, owner)
    for e in range(c.clock[0].num_entries):
        entry = c.entries[e]
        if entry.owner == owner:
            entry.resident = 0
            entry.believed = 0
    worker.idle = 0
    worker.resident = 0
    worker.believed = 0
    worker.epoch += 1


@bare_kernel
def end_all(engine: Engine, w: int, grown: bool) -> None:
    """Every request on the worker, or on its way to it, ends with it. Nothing is written down."""
    c = engine.caches
    worker = c.workers[w]
    while worker.run_first >= 0:
        j = worker.run_first
        leave_step(engine, w, j, grown)
        land(c, w, j)
        c.jobs[j].chunk = 0
        release(c, w, j, shared_path(c, w, j))
        end_job(engine, j, FAILED_WORKER)
    while engine.queues[w, WAITING, 0] >= 0:
        j = engine.queues[w, WAITING, 0]
        remove(engine, w, WAITING, j)
        worker.waiting -= 1
        end_job(engine, j, FAILED_WORKER)
    for v in range(c.clock[0].num_workers):
        j = engine.queues[v, MOVING, 0]
        while j >= 0:
            after = c.jobs[j].next
            if v == w or c.jobs[j].target == w:
                touch(c, v)
                remove(engine, v, MOVING, j)
                if v == w:
                    release(c, v, j, shared_path(c, v, j))
                else:
                    free_job(engine, v, j, shared_path(c, v, j))
                end_job(engine, j, FAILED_WORKER)
                make_ready(c, v)
            j = after


@bare_kernel
def fail(state: State, w: int) -> None:
    """The worker is gone: its requests, its cache, its host's memory, its place in the index."""
    engine = state.engine
    c = engine.caches
    worker = c.workers[w]
    if worker.alive == 0:
        return
    touch(c, w)
    stepping = worker.stepping != 0
    grown = stepping and worker.alone == 0
    if stepping:
        worker.busy -= engine.step_end[w] - c.clock[0].now
        worker.stepping = 0
        engine.step_end[w] = np.inf
    worker.alive = 0
    worker.told_waiting = worker.told_running = worker.told_used = 0
    if worker.ready:
        worker.ready = 0
        c.clock[0].ready -= 1
    end_all(engine, w, grown)
    lose_owner(c, w)
    lose_owner(c, c.clock[0].num_workers + w)
    forget_worker(engine, state.router, w)


@bare_kernel
def change(state: State, number: int) -> None:
    """The next change of the fleet."""
    event, w = state.changes[number].event, state.changes[number].worker
    if event != JOIN:
        fail(state, w)
    if event != FAIL:
        touch(state.engine.caches, w)
        state.engine.caches.workers[w].alive = 1
