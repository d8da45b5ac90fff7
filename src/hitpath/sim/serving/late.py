"""Results that are handled late: when the next step has been put together without them.

As SGLang's scheduler with overlap (managers/scheduler.py, event_loop_overlap): the next batch is on
its way before the last one's results are looked at. Until then nobody finds what it computed, and
requests that had their last token hold their blocks. With no next step results are handled at once.
"""

from hitpath.sim.serving.admission import shared_blocks, shared_path
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import land, pin
from hitpath.sim.serving.decoding import show_filled
from hitpath.sim.serving.layout import AT_SCHEDULE, ENDED, Engine
from hitpath.sim.serving.queues import remove
from hitpath.sim.serving.releasing import free_job


@bare_kernel
def show_late(engine: Engine, w: int, j: int) -> None:
    """What job j has computed by now will be visible then."""
    c = engine.caches
    worker, job = c.workers[w], c.jobs[j]
    job.late_tokens = job.computed
    job.late_next = -1
    if worker.late_last >= 0:
        c.jobs[worker.late_last].late_next = j
    else:
        worker.late_first = j
    worker.late_last = j


@bare_kernel
def handle_late(engine: Engine, w: int) -> bool:
    """The results of the step before: what it computed becomes visible, who ended gives back its
    blocks. Whether there were any."""
    c = engine.caches
    worker = c.workers[w]
    some = bool(worker.late_first >= 0 or engine.queues[w, ENDED, 0] >= 0)
    if worker.visible != AT_SCHEDULE:
        show_filled(engine, w, worker.ticks - 1)
    j = worker.late_first
    while j >= 0:
        job = c.jobs[j]
        after = job.late_next
        if job.late_tokens > 0 and job.state != ENDED:
            path = shared_path(c, w, j)
            pin(c, w, j, path, shared_blocks(c, path, job.late_tokens), True)
            if job.late_tokens >= job.goal:
                land(c, w, j)
        job.late_tokens = 0
        j = after
    worker.late_first = worker.late_last = -1
    while engine.queues[w, ENDED, 0] >= 0:
        j = engine.queues[w, ENDED, 0]
        remove(engine, w, ENDED, j)
        land(c, w, j)
        free_job(engine, w, j, shared_path(c, w, j))
    return some
