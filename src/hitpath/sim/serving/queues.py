"""Lists of requests: one a worker and state in their order, and all that run by admission."""

from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.layout import Caches, Engine, Ints


@bare_kernel
def link_last(c: Caches, ends: Ints, j: int) -> None:
    """Job j comes last in the list whose first and last are `ends`."""
    jobs = c.jobs
    jobs[j].next = -1
    jobs[j].prev = ends[1]
    if ends[1] >= 0:
        jobs[ends[1]].next = j
    else:
        ends[0] = j
    ends[1] = j


@bare_kernel
def unlink(c: Caches, ends: Ints, j: int) -> None:
    """Job j leaves the list."""
    jobs, job = c.jobs, c.jobs[j]
    if job.prev >= 0:
        jobs[job.prev].next = job.next
    else:
        ends[0] = job.next
    if job.next >= 0:
        jobs[job.next].prev = job.prev
    else:
        ends[1] = job.prev


@bare_kernel
def append(engine: Engine, w: int, state: int, j: int) -> None:
    """Job j comes last in the worker's list of a state."""
    link_last(engine.caches, engine.queues[w, state], j)


@bare_kernel
def prepend(engine: Engine, w: int, state: int, j: int) -> None:
    """Job j comes first."""
    jobs, ends = engine.caches.jobs, engine.queues[w, state]
    jobs[j].prev = -1
    jobs[j].next = ends[0]
    if ends[0] >= 0:
        jobs[ends[0]].prev = j
    else:
        ends[1] = j
    ends[0] = j


@bare_kernel
def remove(engine: Engine, w: int, state: int, j: int) -> None:
    """Job j leaves the worker's list of a state."""
    unlink(engine.caches, engine.queues[w, state], j)


@bare_kernel
def start_running(c: Caches, w: int, j: int) -> None:
    """Job j is the one admitted last."""
    worker, job = c.workers[w], c.jobs[j]
    job.run_next = -1
    job.run_prev = worker.run_last
    if worker.run_last >= 0:
        c.jobs[worker.run_last].run_next = j
    else:
        worker.run_first = j
    worker.run_last = j
    worker.running += 1
    job.order = c.clock[0].admissions
    c.clock[0].admissions += 1


@bare_kernel
def stop_running(c: Caches, w: int, j: int) -> None:
    """Job j runs no more."""
    worker, job = c.workers[w], c.jobs[j]
    if job.run_prev >= 0:
        c.jobs[job.run_prev].run_next = job.run_next
    else:
        worker.run_first = job.run_next
    if job.run_next >= 0:
        c.jobs[job.run_next].run_prev = job.run_prev
    else:
        worker.run_last = job.run_prev
    worker.running -= 1


@bare_kernel
def sort_by_admission(c: Caches, some: Ints, count: int) -> None:
    """The first `count` numbers of `some`, in place; there are few."""
    for i in range(1, count):
        j = some[i]
        at = i
        while at > 0 and c.jobs[some[at - 1]].order > c.jobs[j].order:
            some[at] = some[at - 1]
            at -= 1
        some[at] = j
