"""A step ends: tokens come out, requests finish, are handed over or begin to decode.

Order: blocks of replies become visible (where that is after the step), then chunks of prompts,
then requests that had their last token give back their blocks; each in order of admission.
"""

import numpy as np

from hitpath.sim.serving.active import forget_active
from hitpath.sim.serving.admission import blocks_for, shared_blocks, shared_path
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import land, pin
from hitpath.sim.serving.decoding import advance_decoding, begin_decoding, show_filled
from hitpath.sim.serving.endings import end_job, push_event
from hitpath.sim.serving.late import show_late
from hitpath.sim.serving.layout import (
    AFTER_PROMPT,
    AFTER_STEP,
    AT_SCHEDULE,
    ENDED,
    FAILED_WORKER,
    MOVED,
    MOVING,
    PREFILL,
    SERVED,
    TOO_LARGE,
    Engine,
)
from hitpath.sim.serving.queues import append, remove, sort_by_admission, stop_running
from hitpath.sim.serving.releasing import free_job
from hitpath.sim.serving.schedule import leave_step


@bare_kernel
def decode_worker(engine: Engine) -> int:
    """The decode worker with the fewest tokens in flight, the first of equals; ABSENT: none is
    alive."""
    c = engine.caches
    best = -1
    for v in range(c.clock[0].num_workers):
        worker = c.workers[v]
        if (
            worker.alive
            and worker.takes_new == 0
            and (best < 0 or worker.active_tokens < c.workers[best].active_tokens)
        ):
            best = v
    return best


@bare_kernel
def hand_over(engine: Engine, w: int, j: int) -> None:
    """The prompt is computed: its KV goes to a decode worker. Until it is there the blocks stay."""
    c = engine.caches
    clock, worker, job = c.clock[0], c.workers[w], c.jobs[j]
    remove(engine, w, PREFILL, j)
    land(c, w, j)
    stop_running(c, w, j)
    job.farthest = max(job.farthest, job.computed)
    v = decode_worker(engine)
    lasts = blocks_for(job.prompt + job.output - 1, clock.block)
    if v < 0 or lasts > c.workers[v].capacity:
        free_job(engine, w, j, shared_path(c, w, j))
        end_job(engine, j, FAILED_WORKER if v < 0 else TOO_LARGE)
        return
    job.state = MOVING
    job.target = v
    job.decoder = v
    append(engine, w, MOVING, j)
    worker.prefill_tokens -= job.uncached
    job.uncached = 0
    worker.in_flight -= 1
    worker.active_tokens -= job.prompt
    forget_active(c, j)
    target = c.workers[v]
    target.in_flight += 1
    target.active_tokens += job.prompt
    target.sent += 1
    push_event(engine, clock.now + clock.move_latency + job.prompt * clock.move_s, MOVED, j)


@bare_kernel
def emit_first(engine: Engine, w: int, j: int) -> None:
    """The prompt (or what was computed again) is done: a token comes out."""
    c = engine.caches
    worker, job = c.workers[w], c.jobs[j]
    job.emitted += 1
    worker.output += 1
    worker.active_tokens += 1
    if np.isnan(job.first):
        job.first = c.clock[0].now
        worker.begun += 1
        worker.begun_tokens += job.prompt + 1
        worker.prefill_tokens -= job.uncached
        job.uncached = 0
    else:
        worker.begun_tokens += 1


@bare_kernel
def end_chunk(engine: Engine, w: int, j: int, count: int) -> int:
    """Job j's chunk is computed. Returns how many requests stand in `ended` by now."""
    c = engine.caches
    worker, job = c.workers[w], c.jobs[j]
    before = job.computed
    job.computed += job.chunk
    job.total += job.chunk
    job.recomputed += max(min(job.farthest, job.computed) - before, 0)
    job.chunk = 0
    done = job.computed == job.goal
    if worker.visible == AFTER_STEP or (done and worker.visible == AFTER_PROMPT):
        if worker.late_results:
            show_late(engine, w, j)
        else:
            path = shared_path(c, w, j)
            pin(c, w, j, path, shared_blocks(c, path, job.computed), True)
    if not done:
        return count
    if worker.hands_over:
        hand_over(engine, w, j)
        return count
    emit_first(engine, w, j)
    if job.emitted == job.output:
        engine.ended[count] = j
        return count + 1
    remove(engine, w, PREFILL, j)
    if job.late_tokens == 0:
        land(c, w, j)
    begin_decoding(engine, w, j)
    return count


@bare_kernel
def end_step(engine: Engine, w: int) -> None:
    """The step of worker w is done."""
    c = engine.caches
    worker = c.workers[w]
    engine.step_end[w] = np.inf
    worker.stepping = 0
    worker.steps += 1
    worker.computed += worker.tokens
    count = 0
    if worker.alone == 0:
        decodes = worker.decoding
        worker.ticks += 1
        worker.output += decodes
        worker.active_tokens += decodes
        worker.begun_tokens += decodes
        if worker.visible != AT_SCHEDULE and worker.late_results == 0:
            show_filled(engine, w, worker.ticks - 1)
        count = advance_decoding(engine, w)
    j = engine.queues[w, PREFILL, 0]
    while j >= 0 and c.jobs[j].chunk > 0:
        after = c.jobs[j].next
        count = end_chunk(engine, w, j, count)
        j = after
    if count > 1:
        sort_by_admission(c, engine.ended, count)
    for i in range(count):
        j = engine.ended[i]
        leave_step(engine, w, j, False)
        if worker.late_results:
            append(engine, w, ENDED, j)
        else:
            land(c, w, j)
            free_job(engine, w, j, shared_path(c, w, j))
        end_job(engine, j, SERVED)
