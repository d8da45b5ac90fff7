"""The order of things: by time, then kind, then number; deterministic for a seed.

At one moment: changes of workers, ends of steps by worker, KV that arrives by row, requests by row;
then, before time goes on, every worker that has something to run and is in no step begins one, by
number. So requests that come at the moment at which a step ends can be in the next one.
"""

import numpy as np

from hitpath.sim.serving.ahead import decode_ahead, next_look, others_end
from hitpath.sim.serving.arriving import arrive, arrive_moved, make_ready
from hitpath.sim.serving.bare import bare_entry, bare_kernel
from hitpath.sim.serving.changing import change
from hitpath.sim.serving.endings import pop_event
from hitpath.sim.serving.finishing import end_step
from hitpath.sim.serving.layout import ARRIVAL, MOVED, MOVING, Engine, Floats, Ints, State
from hitpath.sim.serving.schedule import begin_step
from hitpath.sim.serving.timeline import pass_time, touch

DONE, NEEDS_ROOM, GOES_ON = range(3)
SLICE = 1 << 17
"""Events of one call: some tenths of a second, after which the caller may look up."""
STEPS_AHEAD = 1 << 21
"""And so many steps in which nothing else happens."""


@bare_kernel
def has_room(state: State) -> bool:
    """Whether no array can overflow before the next call."""
    c = state.engine.caches
    clock = c.clock[0]
    entries = min(clock.num_entries + clock.most_entries, clock.all_entries)
    if len(c.entries) < entries or clock.left_segments < entries + clock.most_running:
        return False
    if clock.lagging == 0:
        return True
    most = clock.moves_count + clock.most_moves + len(c.segments) - clock.left_segments
    return bool(len(c.moves) >= most)


@bare_kernel
def next_open(state: State) -> float:
    """When the next request of the open loop is sent; infinite where there is none, or its stage
    cannot have begun."""
    engine = state.engine
    c = engine.caches
    clock = c.clock[0]
    if clock.next_open >= len(state.open_rows):
        return np.inf
    job = c.jobs[state.open_rows[clock.next_open]]
    if clock.drain == 0:
        return float(job.time)
    while clock.stage < job.stage:
        if engine.stage_left[clock.stage] > 0:
            return np.inf
        ends = engine.stages[0, clock.stage] + engine.stages[1, clock.stage]
        clock.stage += 1
        engine.stages[0, clock.stage] = max(clock.now, ends)
    return float(engine.stages[0, clock.stage] + job.time)


@bare_kernel
def first_step_end(step_end: Floats) -> int:
    """The worker whose step ends first, the first of equals."""
    first = 0
    for w in range(1, len(step_end)):
        if step_end[w] < step_end[first]:
            first = w
    return first


@bare_kernel
def begin_ready(state: State) -> None:
    """All workers that are ready begin their steps."""
    c = state.engine.caches
    clock = c.clock[0]
    for w in range(clock.num_workers):
        if c.workers[w].ready:
            c.workers[w].ready = 0
            clock.ready -= 1
            touch(c, w)
            begin_step(state.engine, w, state.found)
            if clock.ready == 0:
                break
            if not has_room(state):
                break


@bare_kernel
def finish_step(state: State, w: int) -> None:
    """The step of worker w ends now."""
    c = state.engine.caches
    touch(c, w)
    end_step(state.engine, w)
    worker = c.workers[w]
    worker.told_waiting = worker.left_waiting
    worker.told_running = worker.running
    worker.told_used = worker.used
    if worker.running > 0 or worker.waiting > 0 or worker.late_results:
        make_ready(c, w)


@bare_kernel
def first_in_heap(engine: Engine) -> float:
    """When the first event of the heap happens; infinite for none. KV on its way to or from a
    worker that failed arrives nowhere: no time passes for it."""
    clock, heap = engine.caches.clock[0], engine.heap
    while clock.heap > 0 and heap[0].kind == MOVED:
        if engine.caches.jobs[heap[0].row].state == MOVING:
            break
        pop_event(engine)
    return float(heap[0].time) if clock.heap > 0 else np.inf


@bare_kernel
def heap_comes_first(state: State, soonest: float, opens_s: float) -> bool:
    """Whether the first event of the heap is the one to happen at `soonest`: before a request of
    the open loop that is sent at the same moment, if that has a later row."""
    engine = state.engine
    clock = engine.caches.clock[0]
    if clock.heap == 0 or engine.heap[0].time != soonest:
        return False
    if engine.heap[0].kind < ARRIVAL or opens_s > soonest:
        return True
    return bool(engine.heap[0].row < state.open_rows[clock.next_open])


@bare_kernel
def first_change(state: State) -> float:
    """When a worker changes next; infinite for never."""
    clock = state.engine.caches.clock[0]
    if clock.next_change >= len(state.changes):
        return np.inf
    return float(state.changes[clock.next_change].time)


@bare_kernel
def run_ahead(engine: Engine, w: int, outside_s: float) -> bool:
    """Steps of worker w of which nobody takes notice; whether there was any."""
    clock = engine.caches.clock[0]
    if clock.ready > 0:
        return False
    until = min(outside_s, next_look(engine))
    if clock.linked:
        until = min(until, others_end(engine, w))
    return decode_ahead(engine, w, until)


@bare_entry
def run(state: State, router_nodes: Ints) -> int:
    """Until nothing is left to happen (DONE), an array must grow (NEEDS_ROOM: call again with
    more), or many events have happened (GOES_ON: call again). A checked simulation returns after
    every event."""
    engine = state.engine
    c = engine.caches
    clock = c.clock[0]
    events, ahead = 0, clock.ahead + STEPS_AHEAD
    while has_room(state):
        w = first_step_end(engine.step_end)
        steps_s = engine.step_end[w]
        opens_s = next_open(state)
        heap_s = first_in_heap(engine)
        changes_s = first_change(state)
        soonest = min(min(steps_s, opens_s), min(heap_s, changes_s))
        if clock.ready > 0 and soonest > clock.now:
            begin_ready(state)
        elif steps_s == soonest and run_ahead(engine, w, min(opens_s, min(heap_s, changes_s))):
            pass
        elif soonest == np.inf:
            for v in range(clock.num_workers):
                touch(c, v)
            return DONE
        else:
            if soonest > clock.now:
                pass_time(state, soonest)
            if changes_s == soonest:
                clock.next_change += 1
                change(state, clock.next_change - 1)
            elif steps_s == soonest:
                finish_step(state, w)
            else:
                if heap_comes_first(state, soonest, opens_s):
                    kind, j = engine.heap[0].kind, pop_event(engine)
                else:
                    kind, j = ARRIVAL, state.open_rows[clock.next_open]
                    clock.next_open += 1
                if kind == MOVED:
                    arrive_moved(state, j)
                else:
                    arrive(state, j, router_nodes[j])
        events += 1
        if clock.checked or events == SLICE or clock.ahead >= ahead:
            return GOES_ON
    return NEEDS_ROOM
