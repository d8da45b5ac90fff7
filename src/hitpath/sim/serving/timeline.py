"""What is observed as time passes: scrapes, samples, and integrals over time.

A scrape or a sample at the moment of an event sees the state before it. A scrape reads what the
engine told last: vLLM (scheduler.update_from_output, SchedulerStats) and SGLang publish their
gauges at the end of a step. The queue told is what that step left over: who comes while a step
runs is not in it, and an idle engine's gauges stay as its last step left them.
"""

from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.layout import UNLIMITED, USE_STEPS, Caches, Index, State
from hitpath.sim.serving.router_index import deliver_moves


@bare_kernel
def share_of(used: int, capacity: int) -> float:
    """Of an unlimited cache nothing is used."""
    if capacity >= UNLIMITED:
        return 0.0
    return float(used / capacity)


@bare_kernel
def touch(c: Caches, w: int) -> None:
    """Bring the worker's integrals up to now; before its figures change."""
    worker, now = c.workers[w], c.clock[0].now
    passed = now - worker.seen
    if passed > 0.0:
        worker.waiting_s += passed * worker.waiting
        worker.running_s += passed * worker.running
        worker.used_s += passed * worker.used
        worker.longest = max(worker.longest, worker.waiting)
        c.queue_time_s[worker.waiting] += passed
        c.use_time_s[int(USE_STEPS * share_of(worker.used, worker.capacity))] += passed
    worker.seen = now


@bare_kernel
def kv_use(c: Caches, w: int) -> float:
    """Share of the worker's blocks in use; of an unlimited cache nothing."""
    worker = c.workers[w]
    return share_of(worker.used, worker.capacity)


@bare_kernel
def scrape(c: Caches, index: Index, until: float) -> None:
    """The multiples of the interval up to `until`; of a long pause only those still needed."""
    clock = c.clock[0]
    places = len(index.scraped)
    behind = int(until / clock.interval) - places - 1
    clock.tick = max(clock.tick, behind)
    while clock.tick * clock.interval <= until:
        at = clock.tick % places
        for w in range(clock.num_workers):
            worker = c.workers[w]
            index.scraped[at, 0, w] = worker.told_waiting
            index.scraped[at, 1, w] = worker.told_running
            index.scraped[at, 2, w] = share_of(worker.told_used, worker.capacity)
        clock.tick += 1


@bare_kernel
def see_engines(c: Caches, index: Index) -> None:
    """Fill waiting, running and KV use of the view: true and of this moment without an interval,
    else as last scraped and delivered."""
    clock, view = c.clock[0], index.sees
    if clock.interval == 0.0:
        for w in range(clock.num_workers):
            view.waiting[w] = c.workers[w].waiting
            view.running[w] = c.workers[w].running
            view.kv_use[w] = kv_use(c, w)
        return
    behind = int((clock.now - clock.age) / clock.interval) - 1
    clock.seen_tick = max(clock.seen_tick, behind)
    while (clock.seen_tick + 1) * clock.interval + clock.age <= clock.now:
        clock.seen_tick += 1
    if clock.seen_tick < 0:
        return
    at = clock.seen_tick % len(index.scraped)
    for w in range(clock.num_workers):
        view.waiting[w] = int(index.scraped[at, 0, w])
        view.running[w] = int(index.scraped[at, 1, w])
        view.kv_use[w] = index.scraped[at, 2, w]


@bare_kernel
def thin_out(state: State, count: int) -> None:
    """Keep every second sample."""
    for i in range((count + 1) // 2):
        state.sample_s[i] = state.sample_s[2 * i]
        for kind in range(state.samples.shape[1]):
            for w in range(state.samples.shape[2]):
                state.samples[i, kind, w] = state.samples[2 * i, kind, w]


@bare_kernel
def sample(state: State, until: float) -> None:
    """The moments up to `until` at which samples are due."""
    c = state.engine.caches
    clock = c.clock[0]
    while clock.sample_count * clock.sample_s <= until:
        count = clock.sample_count
        if count == len(state.sample_s):
            thin_out(state, count)
            clock.sample_count = (count + 1) // 2
            clock.sample_s *= 2.0
            continue
        state.sample_s[count] = count * clock.sample_s
        for w in range(clock.num_workers):
            worker = c.workers[w]
            state.samples[count, 0, w] = worker.waiting
            state.samples[count, 1, w] = worker.running
            state.samples[count, 2, w] = worker.used
            state.samples[count, 3, w] = worker.idle
            state.samples[count, 4, w] = worker.told_waiting
            state.samples[count, 5, w] = worker.told_used
        clock.sample_count += 1


@bare_kernel
def pass_time(state: State, until: float) -> None:
    """Nothing happens up to `until`; then something does."""
    c = state.engine.caches
    clock = c.clock[0]
    if clock.interval > 0.0 and clock.tick * clock.interval <= until:
        scrape(c, state.router, until)
    if clock.sample_count * clock.sample_s <= until:
        sample(state, until)
    clock.now = until
    if clock.lagging:
        deliver_moves(c)
