"""A step begins: decodes, then prompts in progress, then admissions; and how long it takes. Where
the two are not mixed: prompts in progress and admissions, and only if there are none, decodes.

Where a request that runs finds no block, the one admitted last gives up all of its blocks and
waits again, first in the queue; it will compute again what it does not find in the cache. A step
in which that happened admits nobody.
"""

from hitpath.sim.serving.admission import (
    admit_waiting,
    blocks_for,
    shared_path,
    take_chunk,
)
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import allocate, land, release
from hitpath.sim.serving.decoding import end_decoding, show_filled
from hitpath.sim.serving.late import handle_late
from hitpath.sim.serving.layout import AT_SCHEDULE, DECODE, PREFILL, WAITING, Engine, Ints
from hitpath.sim.serving.queues import prepend, remove, stop_running
from hitpath.sim.serving.step_time import decode_attention_s
from hitpath.sim.serving.tiers import write_down


@bare_kernel
def leave_step(engine: Engine, w: int, j: int, grown: bool) -> None:
    """Job j runs no more on worker w: it finishes or is preempted. `grown`: the step at hand has
    given decoding requests the block of their next token."""
    c = engine.caches
    job, block = c.jobs[j], c.clock[0].block
    if job.state == DECODE:
        emitted = job.emitted
        end_decoding(engine, w, j)
        job.total += job.emitted - emitted
        job.held = blocks_for(job.computed + 1 if grown else job.computed, block)
    else:
        remove(engine, w, PREFILL, j)
    stop_running(c, w, j)
    job.farthest = max(job.farthest, job.computed)


@bare_kernel
def preempt(engine: Engine, w: int, j: int, grown: bool) -> None:
    """Job j gives up its blocks and waits again, first of all. What was visible stays."""
    c = engine.caches
    worker, job = c.workers[w], c.jobs[j]
    if grown and job.state == DECODE:
        worker.budget += 1
    leave_step(engine, w, j, grown)
    land(c, w, j)
    job.late_tokens = 0
    path, kept = shared_path(c, w, j), job.pinned
    release(c, w, j, path)
    write_down(c, w, path, kept)
    prepend(engine, w, WAITING, j)
    job.state = WAITING
    worker.waiting += 1
    worker.preemptions += 1
    job.preemptions += 1


@bare_kernel
def make_room(engine: Engine, w: int, j: int, needed: int, grown: bool) -> int:
    """Preempt until job j finds `needed` blocks: 0 nobody, 1 others, 2 itself too (it runs no
    more)."""
    worker = engine.caches.workers[w]
    done = 0
    while worker.capacity - worker.used < needed:
        victim = worker.run_last
        preempt(engine, w, victim, grown)
        if victim == j:
            return 2
        done = 1
    return done


@bare_kernel
def grow_decodes(engine: Engine, w: int) -> bool:
    """Blocks for the next token of each decoding request; whether somebody had to go."""
    c = engine.caches
    worker, block = c.workers[w], c.clock[0].block
    needed = engine.phase[w, worker.ticks % block]
    if needed <= worker.capacity - worker.used:
        if needed > 0:
            allocate(c, w, needed)
        return False
    j = worker.run_first
    while j >= 0:
        job = c.jobs[j]
        if job.state == DECODE and (job.offset + worker.ticks) % block == 0:
            if make_room(engine, w, j, 1, False) == 2:
                break
            allocate(c, w, 1)
        j = job.run_next
    return True


@bare_kernel
def continue_prompts(engine: Engine, w: int, grown: bool) -> bool:
    """The next chunk of each prompt in progress; whether somebody had to go. grown: decoding
    requests have their blocks already."""
    c = engine.caches
    worker, block = c.workers[w], c.clock[0].block
    preempted = False
    j = engine.queues[w, PREFILL, 0]
    while j >= 0 and worker.budget > 0:
        job = c.jobs[j]
        chunk = min(job.goal - job.computed, worker.budget)
        needed = max(blocks_for(job.computed + chunk, block) - job.held, 0)
        done = make_room(engine, w, j, needed, grown)
        preempted = preempted or done > 0
        if done == 2:
            break
        if needed > 0:
            allocate(c, w, needed)
            job.held += needed
        take_chunk(engine, w, j, chunk)
        j = job.next
    return preempted


@bare_kernel
def step_s(engine: Engine, w: int) -> float:
    """How long the step takes that was put together."""
    worker = engine.caches.workers[w]
    group = engine.groups[worker.group]
    decodes = 0 if worker.alone else worker.decoding
    seconds = engine.linear[worker.group, worker.tokens]
    seconds += engine.head[worker.group, worker.emits]
    seconds += group.link_s * worker.tokens + group.overhead_s
    if decodes > 0:
        rows = engine.attention[group.first_row : group.last_row]
        seconds += decode_attention_s(rows, decodes, worker.context, engine.window[w, 0])
    seconds += worker.chunk_s + worker.extra_s
    if engine.caches.clock[0].overlaps:
        return float(max(seconds, worker.load_s))
    return float(seconds + worker.load_s)


@bare_kernel
def put_together(engine: Engine, w: int, found: Ints) -> bool:
    """Choose what the step runs; whether somebody had to go."""
    worker = engine.caches.workers[w]
    worker.budget = worker.max_batch
    worker.tokens = 0
    worker.emits = 0
    worker.chunk_s = 0.0
    worker.extra_s = 0.0
    worker.load_s = 0.0
    worker.alone = 0
    preempted = False
    if worker.mixed and worker.decoding > 0:
        preempted = grow_decodes(engine, w)
        worker.budget -= worker.decoding
    if engine.queues[w, PREFILL, 0] >= 0 and continue_prompts(engine, w, worker.mixed != 0):
        preempted = True
    if worker.mixed and worker.visible == AT_SCHEDULE:
        show_filled(engine, w, worker.ticks)
    if worker.waiting > 0 and not preempted:
        admit_waiting(engine, w, found)
    if worker.mixed == 0 and worker.tokens > 0:
        worker.alone = 1
        return preempted
    if worker.mixed == 0 and worker.decoding > 0:
        preempted = grow_decodes(engine, w) or preempted
        if worker.visible == AT_SCHEDULE:
            show_filled(engine, w, worker.ticks)
    worker.tokens += worker.decoding
    worker.emits += worker.decoding
    return preempted


@bare_kernel
def begin_step(engine: Engine, w: int, found: Ints) -> None:
    """Start a step, if there is anything to run."""
    worker = engine.caches.workers[w]
    goes_on = True
    while goes_on:  # a request alone gave up its blocks, or late results did: once more
        goes_on = put_together(engine, w, found)
        if worker.late_results:
            goes_on = handle_late(engine, w) or goes_on
        goes_on = goes_on and worker.tokens == 0
    if worker.tokens == 0:
        return
    seconds = step_s(engine, w)
    worker.stepping = 1
    worker.left_waiting = worker.waiting
    worker.busy += seconds
    engine.step_end[w] = engine.caches.clock[0].now + seconds
