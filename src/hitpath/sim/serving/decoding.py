"""Requests that decode: a step costs the same whatever their number.

All of a worker's decoding requests move on by one token a tick (a step in which decodes move on),
so what becomes of each of them is known when it begins: at which tick it finishes, at which ticks
(modulo the block size) it needs a block, at which tick its context fills a window. So a step needs
sums and a calendar, not a loop.
"""

from hitpath.sim.serving.admission import shared_blocks, shared_path
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import pin
from hitpath.sim.serving.layout import DECODE, SLOTS, Caches, Engine
from hitpath.sim.serving.queues import link_last, sort_by_admission, unlink


@bare_kernel
def add_item(engine: Engine, w: int, item: int, due: int) -> None:
    """Put an item (request + number of requests x kind) into the calendar at tick `due`."""
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
def grows_visibly(c: Caches, w: int, j: int) -> bool:
    """Whether others can find the blocks of job j's reply while it is being written."""
    worker, job = c.workers[w], c.jobs[j]
    if worker.growing == 0 or worker.outputs == 0:
        return False
    return bool(job.output_node >= 0 and job.output_node != job.end_node)


@bare_kernel
def add_filling(engine: Engine, w: int, j: int) -> None:
    """Put a decoding job into the list of those whose blocks fill at the same ticks, last."""
    c = engine.caches
    link_last(c, engine.fills[w, (-c.jobs[j].offset - 1) % c.clock[0].block], j)


@bare_kernel
def drop_filling(engine: Engine, w: int, j: int) -> None:
    """Take it out."""
    c = engine.caches
    unlink(c, engine.fills[w, (-c.jobs[j].offset - 1) % c.clock[0].block], j)


@bare_kernel
def show_filled(engine: Engine, w: int, tick: int) -> None:
    """Blocks of replies that the step which began at `tick` fills are visible, in order of
    admission."""
    c = engine.caches
    block = c.clock[0].block
    count = 0
    j = engine.fills[w, tick % block, 0]
    while j >= 0:
        if c.jobs[j].late_tokens == 0:
            engine.filled[count] = j
            count += 1
        j = c.jobs[j].next
    if count > 1:
        sort_by_admission(c, engine.filled, count)
    for i in range(count):
        j = engine.filled[i]
        path = shared_path(c, w, j)
        pin(c, w, j, path, shared_blocks(c, path, c.jobs[j].offset + tick + 1), True)


@bare_kernel
def begin_decoding(engine: Engine, w: int, j: int) -> None:
    """From the worker's next step on; all tokens so far but the last have KV."""
    c = engine.caches
    worker, job = c.workers[w], c.jobs[j]
    ticks, computed = worker.ticks, job.goal
    job.state = DECODE
    job.offset = computed - ticks
    job.emit_offset = job.emitted - ticks
    worker.decoding += 1
    worker.context += computed
    engine.phase[w, -job.offset % c.clock[0].block] += 1
    num_jobs = c.clock[0].num_jobs
    add_item(engine, w, j, ticks + job.output - job.emitted)
    if grows_visibly(c, w, j):
        add_filling(engine, w, j)
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
    job.computed = job.offset + worker.ticks
    job.emitted = job.emit_offset + worker.ticks
    worker.decoding -= 1
    worker.context -= job.computed
    engine.phase[w, -job.offset % c.clock[0].block] -= 1
    num_jobs = c.clock[0].num_jobs
    drop_item(engine, w, j)
    if grows_visibly(c, w, j):
        drop_filling(engine, w, j)
    for number in range(engine.groups[worker.group].num_windows):
        size = engine.sizes[worker.group, number]
        engine.window[w, 0, number] -= min(job.computed + 1, size)
        if job.computed + 1 < size:
            engine.window[w, 1, number] -= 1
            drop_item(engine, w, j + (1 + number) * num_jobs)


@bare_kernel
def advance_decoding(engine: Engine, w: int) -> int:
    """The worker's step is done (`ticks` counts it): contexts grow by a token, windows that are
    full stop growing. Returns how many requests had their last token; they stand in `ended`."""
    c = engine.caches
    worker = c.workers[w]
    worker.context += worker.decoding
    for number in range(engine.groups[worker.group].num_windows):
        engine.window[w, 0, number] += engine.window[w, 1, number]
    num_jobs = c.clock[0].num_jobs
    ticks = worker.ticks
    count = 0
    item = engine.slots[w, ticks % SLOTS]
    while item >= 0:
        after = engine.items[item].next
        if engine.items[item].due == ticks:
            if item < num_jobs:
                engine.ended[count] = item
                count += 1
            else:
                drop_item(engine, w, item)
                engine.window[w, 1, item // num_jobs - 1] -= 1
        item = after
    return count
