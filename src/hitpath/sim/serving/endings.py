"""Events to come in a heap, and what the end of a request sets off."""

import numpy as np

from hitpath.sim.serving.active import forget_active
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.layout import ARRIVAL, ENDED, SERVED, UNSENT, Engine, Records


@bare_kernel
def comes_before(a: Records, b: Records) -> bool:
    """By time, kind and row."""
    if a.time != b.time:
        return bool(a.time < b.time)
    if a.kind != b.kind:
        return bool(a.kind < b.kind)
    return bool(a.row < b.row)


@bare_kernel
def put_event(heap: Records, at: int, time: float, kind: int, row: int) -> None:
    """Write one place of the heap."""
    event = heap[at]
    event.time = time
    event.kind = kind
    event.row = row


@bare_kernel
def push_event(engine: Engine, time: float, kind: int, row: int) -> None:
    """Something will happen to a request; each has at most one such event."""
    heap, clock = engine.heap, engine.caches.clock[0]
    at = clock.heap
    clock.heap += 1
    put_event(heap, at, time, kind, row)
    while at > 0 and comes_before(heap[at], heap[(at - 1) // 2]):
        swap_events(heap, at, (at - 1) // 2)
        at = (at - 1) // 2


@bare_kernel
def swap_events(heap: Records, a: int, b: int) -> None:
    """Two places."""
    time, kind, row = heap[a].time, heap[a].kind, heap[a].row
    put_event(heap, a, heap[b].time, heap[b].kind, heap[b].row)
    put_event(heap, b, time, kind, row)


@bare_kernel
def pop_event(engine: Engine) -> int:
    """Take the first event out; returns its row."""
    heap, clock = engine.heap, engine.caches.clock[0]
    row = heap[0].row
    clock.heap -= 1
    left = clock.heap
    swap_events(heap, 0, left)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= left:
            break
        if child + 1 < left and comes_before(heap[child + 1], heap[child]):
            child += 1
        if not comes_before(heap[child], heap[at]):
            break
        swap_events(heap, at, child)
        at = child
    return int(row)


@bare_kernel
def leave_router(engine: Engine, j: int) -> None:
    """The router no longer counts the request."""
    c = engine.caches
    job = c.jobs[j]
    w = job.target if job.target >= 0 else job.worker
    if job.state == UNSENT or w < 0:
        return
    worker = c.workers[w]
    worker.in_flight -= 1
    worker.active_tokens -= job.prompt + job.emitted
    worker.prefill_tokens -= job.uncached
    if not np.isnan(job.first):
        worker.begun -= 1
        worker.begun_tokens -= job.prompt + job.emitted
    forget_active(c, j)
    c.clock[0].in_flight -= 1


@bare_kernel
def end_job(engine: Engine, j: int, ending: int) -> None:
    """Once for each request: whoever follows it is sent after a pause, its stage has one less."""
    c = engine.caches
    job, clock = c.jobs[j], c.clock[0]
    leave_router(engine, j)
    clock.ended += 1
    job.ending = ending
    job.state = ENDED
    if ending == SERVED:
        job.finish = clock.now
    if job.stage >= 0:
        engine.stage_left[job.stage] -= 1
    follower = job.follower
    while follower >= 0:
        push_event(engine, clock.now + c.jobs[follower].think, ARRIVAL, follower)
        follower = c.jobs[follower].next_follower
