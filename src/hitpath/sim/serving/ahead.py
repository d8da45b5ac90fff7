"""Steps in which nothing happens but that tokens come out, many of them in one go.

While a worker only decodes, nobody finishes, no window fills and no block has to be dropped, what
it does is seen by nobody else before the next event from outside: a request, a sample, a change.
So it may run ahead of the other workers up to that moment; where the end of one request can send
another (followers, stages that drain, requests that are handed over) only up to their steps' ends.
"""

import numpy as np

from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.layout import AT_SCHEDULE, PREFILL, SLOTS, USE_STEPS, Engine
from hitpath.sim.serving.step_time import decode_attention_s
from hitpath.sim.serving.timeline import share_of


@bare_kernel
def next_look(engine: Engine) -> float:
    """When the state is scraped or sampled next."""
    clock = engine.caches.clock[0]
    soonest = clock.sample_count * clock.sample_s
    if clock.interval > 0.0:
        soonest = min(soonest, clock.tick * clock.interval)
    return float(soonest)


@bare_kernel
def others_end(engine: Engine, w: int) -> float:
    """When the first step of any other worker ends."""
    soonest = np.inf
    for v in range(len(engine.step_end)):
        if v != w:
            soonest = min(soonest, engine.step_end[v])
    return soonest


@bare_kernel
def decode_ahead(engine: Engine, w: int, until: float) -> bool:
    """End steps of worker w before `until`, and begin the next ones; whether there was any."""
    c = engine.caches
    worker, block = c.workers[w], c.clock[0].block
    count = worker.decoding
    if count == 0 or worker.waiting > 0 or engine.queues[w, PREFILL, 0] >= 0:
        return False
    group = engine.groups[worker.group]
    rows = engine.attention[group.first_row : group.last_row]
    in_window, growing = engine.window[w, 0], engine.window[w, 1]
    fixed_s = engine.linear[worker.group, count]
    fixed_s += engine.head[worker.group, count]
    fixed_s += group.link_s * count + group.overhead_s
    end, ticks, context, used = engine.step_end[w], worker.ticks, worker.context, worker.used
    room = worker.capacity - worker.idle
    begun, told = ticks, 0
    # the tick of the step at hand, or of the next, at which a block of a reply becomes visible
    fills = 1 if worker.visible == AT_SCHEDULE else 0
    while end < until:
        needed = engine.phase[w, (ticks + 1) % block]
        if engine.slots[w, (ticks + 1) % SLOTS] >= 0 or needed > room - used:
            break
        if engine.fills[w, (ticks + fills) % block, 0] >= 0:
            break
        passed = end - worker.seen
        worker.running_s += passed * worker.running
        worker.used_s += passed * used
        c.queue_time_s[0] += passed
        c.use_time_s[int(USE_STEPS * share_of(used, worker.capacity))] += passed
        worker.seen = end
        ticks += 1
        context += count
        told = used
        used += needed
        for number in range(group.num_windows):
            in_window[number] += growing[number]
        seconds = fixed_s + decode_attention_s(rows, count, context, in_window)
        worker.busy += seconds
        end += seconds
    done = (ticks - begun) * count
    if done > 0:
        worker.told_waiting = worker.left_waiting
        worker.left_waiting = 0
        worker.told_running = worker.running
        worker.told_used = told
    worker.steps += ticks - begun
    worker.ticks = ticks
    c.clock[0].ahead += ticks - begun
    worker.context = context
    worker.used = used
    worker.peak = max(worker.peak, used)
    worker.output += done
    worker.computed += done
    worker.active_tokens += done
    worker.begun_tokens += done
    worker.tokens = count
    engine.step_end[w] = end
    return bool(done > 0)
