"""Requests that decode: a step costs the same whatever their number.

All of a worker's decoding requests move on by one token a step, so what becomes of each of them is
known when it begins: at which step it finishes, at which steps (modulo the block size) it needs a
block, at which step its context fills a window. So a step needs sums and a calendar, not a loop.
"""

from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.layout import DECODE, SLOTS, Engine


@bare_kernel
def add_item(engine: Engine, w: int, item: int, due: int) -> None:
    """Put an item (request + number of requests x kind) into the calendar at step `due`."""
    slot = due % SLOTS
    first = engine.slots[w, slot]
    at = engine.items[item]
    at.due = due
    at.prev = -1
    at.next = first
    if first >= 0:
        engine.items[first].prev = item
    engine.slots[w, slot] = item


@bare_kernel
def drop_item(engine: Engine, w: int, item: int) -> None:
    """Take it out; `due` ABSENT says that it is in no calendar."""
    at = engine.items[item]
    if at.due < 0:
        return
    if at.prev >= 0:
        engine.items[at.prev].next = at.next
    else:
        engine.slots[w, at.due % SLOTS] = at.next
    if at.next >= 0:
        engine.items[at.next].prev = at.prev
    at.due = -1


@bare_kernel
def begin_decoding(engine: Engine, w: int, j: int) -> None:
    """From the worker's next step on; all tokens so far but the last have KV."""
    c = engine.caches
    worker, job = c.workers[w], c.jobs[j]
    steps, computed = worker.steps, job.goal
    job.state = DECODE
    job.offset = computed - steps
    job.emit_offset = job.emitted - steps
    worker.decoding += 1
    worker.context += computed
    engine.phase[w, -job.offset % c.clock[0].block] += 1
    num_jobs = c.clock[0].num_jobs
    add_item(engine, w, j, steps + job.output - job.emitted)
    for number in range(engine.groups[worker.group].num_windows):
        size = engine.sizes[worker.group, number]
        engine.window[w, 0, number] += min(computed + 1, size)
        if computed + 1 < size:
            engine.window[w, 1, number] += 1
            add_item(engine, w, j + (1 + number) * num_jobs, size - 1 - job.offset)


@bare_kernel
def end_decoding(engine: Engine, w: int, j: int) -> None:
    """Now, between two steps; `computed` and `emitted` are told once more."""
    c = engine.caches
    worker, job = c.workers[w], c.jobs[j]
    job.computed = job.offset + worker.steps
    job.emitted = job.emit_offset + worker.steps
    worker.decoding -= 1
    worker.context -= job.computed
    engine.phase[w, -job.offset % c.clock[0].block] -= 1
    num_jobs = c.clock[0].num_jobs
    drop_item(engine, w, j)
    for number in range(engine.groups[worker.group].num_windows):
        size = engine.sizes[worker.group, number]
        engine.window[w, 0, number] -= min(job.computed + 1, size)
        if job.computed + 1 < size:
            engine.window[w, 1, number] -= 1
            drop_item(engine, w, j + (1 + number) * num_jobs)


@bare_kernel
def advance_decoding(engine: Engine, w: int) -> int:
    """The worker's step is done (`steps` counts it): contexts grow by a token, windows that are
    full stop growing. Returns how many requests had their last token; they stand in `ended`."""
    c = engine.caches
    worker = c.workers[w]
    worker.context += worker.decoding
    for number in range(engine.groups[worker.group].num_windows):
        engine.window[w, 0, number] += engine.window[w, 1, number]
    num_jobs = c.clock[0].num_jobs
    steps = worker.steps
    count = 0
    item = engine.slots[w, steps % SLOTS]
    while item >= 0:
        after = engine.items[item].next
        if engine.items[item].due == steps:
            if item < num_jobs:
                engine.ended[count] = item
                count += 1
            else:
                drop_item(engine, w, item)
                engine.window[w, 1, item // num_jobs - 1] -= 1
        item = after
    return count
