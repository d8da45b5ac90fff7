"""A request is sent: turned away, or routed to a worker whose queue it joins; or its KV arrives."""

import numpy as np

from hitpath.routing.dispatch import pick
from hitpath.routing.view import Ask
from hitpath.sim.serving.active import count_active, see_active
from hitpath.sim.serving.admission import blocks_for, shared_path
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.endings import end_job
from hitpath.sim.serving.layout import (
    FAILED_WORKER,
    MOVING,
    REFUSED_FULL,
    TOO_LARGE,
    WAITING,
    Caches,
    State,
)
from hitpath.sim.serving.queues import append, remove
from hitpath.sim.serving.releasing import free_job
from hitpath.sim.serving.router_index import (
    HISTORY_INDEX,
    RESIDENT,
    remember_sent,
    see_resident,
    see_sent,
)
from hitpath.sim.serving.timeline import see_engines, touch


@bare_kernel
def make_ready(c: Caches, w: int) -> None:
    """Worker w has something new: unless it is in a step, it begins one before time goes on."""
    worker = c.workers[w]
    if worker.alive and worker.stepping == 0 and worker.ready == 0:
        worker.ready = 1
        c.clock[0].ready += 1


@bare_kernel
def look(state: State, j: int, router_node: int) -> bool:
    """Fill the router's view; whether there is any worker to choose."""
    c, index = state.engine.caches, state.router
    view = index.sees
    some = False
    for w in range(c.clock[0].num_workers):
        worker = c.workers[w]
        view.alive[w] = worker.alive != 0 and worker.takes_new != 0
        some = some or view.alive[w]
        view.in_flight[w] = worker.in_flight
        view.prefill_tokens[w] = worker.prefill_tokens
        view.active_tokens[w] = worker.active_tokens
        view.decoding[w] = worker.begun
        view.decoding_context[w] = worker.begun_tokens
        view.sent[w] = worker.sent
    see_engines(c, index)
    if c.clock[0].counts_active:
        see_active(c, index.sees, c.jobs[j].end_node)
    source = index.rules[0].source
    if source == RESIDENT:
        see_resident(c, index, c.jobs[j].end_node)
    elif source == HISTORY_INDEX:
        see_sent(state.engine, index, router_node, c.jobs[j].prompt)
    return some


@bare_kernel
def route(state: State, j: int, router_node: int) -> int:
    """The router's choice, ABSENT where no worker is alive."""
    c, index = state.engine.caches, state.router
    if not look(state, j, router_node):
        return -1
    job, rules = c.jobs[j], index.rules[0]
    ask = Ask(
        int(j),
        int(job.prompt),
        np.uint64(job.session),
        np.uint64(job.prefix_hash),
        int(job.expected),
        float(c.clock[0].now),
    )
    w = pick(rules.kind, index.params, index.ring, ask, index.sees, index.counter, index.seed)
    if w >= 0 and rules.source == HISTORY_INDEX:
        remember_sent(state.engine, index, w, router_node)
    return w


@bare_kernel
def never_fits(c: Caches, w: int, j: int) -> bool:
    """Whether the worker could not run the request even alone."""
    worker, job = c.workers[w], c.jobs[j]
    tokens = job.prompt if worker.hands_over else job.prompt + job.output - 1
    if worker.chunked == 0 and tokens > worker.max_batch:
        return True
    return bool(blocks_for(tokens, c.clock[0].block) > worker.capacity)


@bare_kernel
def arrive(state: State, j: int, router_node: int) -> None:
    """Request j is sent now."""
    engine = state.engine
    c = engine.caches
    clock, job = c.clock[0], c.jobs[j]
    job.sent = clock.now
    if clock.in_flight >= clock.max_in_flight:
        end_job(engine, j, REFUSED_FULL)
        return
    w = route(state, j, router_node)
    if w < 0:
        end_job(engine, j, FAILED_WORKER)
        return
    touch(c, w)
    worker = c.workers[w]
    job.worker = w
    job.routed = w
    job.matched = state.router.sees.match[w]
    job.uncached = max(job.prompt - job.matched, 0)
    job.state = WAITING
    worker.sent += 1
    worker.in_flight += 1
    worker.prefill_tokens += job.uncached
    worker.active_tokens += job.prompt
    clock.in_flight += 1
    count_active(c, w, j)
    if never_fits(c, w, j):
        end_job(engine, j, TOO_LARGE)
        return
    append(engine, w, WAITING, j)
    worker.waiting += 1
    make_ready(c, w)


@bare_kernel
def arrive_moved(state: State, j: int) -> None:
    """The KV of request j has reached its decode worker; the prefill worker's blocks are idle."""
    engine = state.engine
    c = engine.caches
    job = c.jobs[j]
    w, v = job.worker, job.target
    touch(c, w)
    touch(c, v)
    remove(engine, w, MOVING, j)
    free_job(engine, w, j, shared_path(c, w, j))
    make_ready(c, w)
    job.worker = v
    job.target = -1
    job.handed = 1
    job.state = WAITING
    append(engine, v, WAITING, j)
    c.workers[v].waiting += 1
    make_ready(c, v)
