"""Which waiting requests a step takes in, and what they find.

In their order, as long as the step has tokens, the worker has places and blocks; the first that
finds no room ends it. Each is looked up when it is tried, so what counts is the state at that
moment: the rungs of a request are taken at its first admission, before it changes anything.
"""

import numpy as np

from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import (
    allocate,
    fly,
    idle_within,
    match_everywhere,
    pin,
    resident_match,
)
from hitpath.sim.serving.layout import AT_SCHEDULE, PREFILL, WAITING, Caches, Engine, Ints
from hitpath.sim.serving.queues import append, remove, start_running
from hitpath.sim.serving.step_time import chunk_attention_s


@bare_kernel
def blocks_for(tokens: int, block: int) -> int:
    """Blocks that so many tokens take."""
    return (tokens + block - 1) // block


@bare_kernel
def shared_path(c: Caches, w: int, j: int) -> int:
    """End of the path along which the job's blocks can be found by others: its prompt and, where
    the reply is told and kept, the reply."""
    job = c.jobs[j]
    if job.output_node >= 0 and c.workers[w].outputs:
        return int(job.output_node)
    return int(job.end_node)


@bare_kernel
def shared_blocks(c: Caches, node: int, tokens: int) -> int:
    """Whole blocks of so many tokens, as far as the path to `node` goes."""
    whole = tokens // c.clock[0].block
    return int(min(whole, c.nodes[node].depth + c.nodes[node].length))


@bare_kernel
def most_hit(c: Caches, w: int, node: int, tokens: int) -> int:
    """Blocks that may be a hit of so many tokens."""
    if c.workers[w].last_token:
        tokens = max(tokens - 1, 0)
    return shared_blocks(c, node, tokens)


@bare_kernel
def held_in_tiers(c: Caches, w: int, node: int, found: Ints) -> None:
    """found = leading blocks on the device, in the host's memory, in the store that all share."""
    clock = c.clock[0]
    found[0] = resident_match(c, w, node)
    found[1] = resident_match(c, clock.num_workers + w, node) if clock.has_host else 0
    found[2] = resident_match(c, 2 * clock.num_workers, node) if clock.has_remote else 0


@bare_kernel
def in_flight_match(c: Caches, w: int, j: int) -> int:
    """Leading blocks of the job's prompt that prompts in progress there are computing."""
    if c.workers[w].flights == 0:
        return 0
    node = c.jobs[j].end_node
    while node >= c.num_roots:
        e = c.nodes[node].first
        while e >= 0:
            if c.entries[e].owner == w and c.entries[e].flights > 0:
                return int(c.nodes[node].depth + c.nodes[node].length)
            e = c.entries[e].sibling
        node = c.nodes[node].parent
    return 0


@bare_kernel
def best_anywhere(c: Caches, j: int) -> int:
    """The most tokens, over all workers, of what is there or being computed there."""
    clock, job = c.clock[0], c.jobs[j]
    match_everywhere(c, job.end_node)
    best = 0
    for v in range(clock.num_workers):
        if c.workers[v].alive:
            there = max(c.held[0, v], c.held[1, v])
            there = max(there, max(c.held[0, clock.num_workers + v], c.held[0, -1]))
            best = max(best, min(there, most_hit(c, v, job.end_node, job.prompt)))
    return int(best * clock.block)


@bare_kernel
def note_first_admission(c: Caches, w: int, j: int, found: Ints) -> None:
    """Hit and rungs; `found` are the blocks granted by each tier, one behind the other."""
    clock, job = c.clock[0], c.jobs[j]
    block = clock.block
    job.admitted = clock.now
    job.hit_host = found[1] * block
    job.hit_remote = found[2] * block
    job.hit = (found[0] + found[1] + found[2]) * block
    coming = min(in_flight_match(c, w, j), most_hit(c, w, job.end_node, job.prompt))
    job.rung_flight = max(job.hit, coming * block)
    job.rung_best = max(job.rung_flight, best_anywhere(c, j))


@bare_kernel
def waits_for_twin(c: Caches, w: int, j: int, found: Ints) -> bool:
    """Whether a prompt in progress there is about to compute the next block of this one."""
    job = c.jobs[j]
    if c.workers[w].flights == 0 or job.handed:
        return False
    most = most_hit(c, w, job.end_node, job.prompt)
    held_in_tiers(c, w, job.end_node, found)
    there = max(found[0], max(found[1], found[2]))
    return bool(there < most and there < in_flight_match(c, w, j))


@bare_kernel
def load_s(c: Caches, found: Ints) -> float:
    """Seconds to fetch what the lower tiers grant."""
    clock = c.clock[0]
    seconds = 0.0
    if found[1] > 0:
        seconds += clock.host_latency + found[1] * clock.block * clock.host_s
    if found[2] > 0:
        seconds += clock.remote_latency + found[2] * clock.block * clock.remote_s
    return seconds


@bare_kernel
def grants(c: Caches, w: int, j: int, path: int, goal: int, found: Ints) -> None:
    """found = blocks that each tier grants, one behind the other."""
    if c.jobs[j].handed:  # its KV comes along: what is there need not be kept twice
        found[:] = 0
        found[0] = min(resident_match(c, w, path), shared_blocks(c, path, goal))
        return
    most = most_hit(c, w, path, goal)
    held_in_tiers(c, w, path, found)
    device = min(found[0], most)
    host = max(min(found[1], most) - device, 0)
    found[2] = max(min(found[2], most) - device - host, 0)
    found[0] = device
    found[1] = host


@bare_kernel
def take_chunk(engine: Engine, w: int, j: int, chunk: int) -> None:
    """The step computes `chunk` more tokens of the prompt; their blocks are there."""
    c = engine.caches
    worker, job = c.workers[w], c.jobs[j]
    group = engine.groups[worker.group]
    job.chunk = chunk
    worker.budget -= chunk
    worker.tokens += chunk
    rows = engine.attention[group.first_row : group.last_row]
    worker.chunk_s += chunk_attention_s(rows, job.computed, chunk)
    if job.computed + chunk == job.goal:
        worker.emits += 1
    if worker.visible == AT_SCHEDULE:
        path = shared_path(c, w, j)
        pin(c, w, j, path, shared_blocks(c, path, job.computed + chunk), True)


@bare_kernel
def try_admission(engine: Engine, w: int, j: int, found: Ints) -> bool:
    """Admit job j if the step and the worker have room for it."""
    c = engine.caches
    worker, job, block = c.workers[w], c.jobs[j], c.clock[0].block
    goal = job.prompt + job.emitted
    path = shared_path(c, w, j) if job.emitted > 0 else job.end_node
    grants(c, w, j, path, goal, found)
    device = found[0]
    hit = device + found[1] + found[2]
    start = goal - 1 if job.handed else min(hit * block, goal - 1)
    chunk = min(goal - start, worker.budget) if worker.chunked else goal - start
    if chunk > worker.budget:
        return False
    behind = blocks_for(goal if worker.reserve else start + chunk, block)
    room = worker.capacity - worker.used
    if worker.running > 0:
        room -= worker.watermark
    if max(behind, hit) - device + idle_within(c, w, path, device) > room:
        return False
    if np.isnan(job.admitted):
        note_first_admission(c, w, j, found)
    pin(c, w, j, path, device, False)
    job.held = max(blocks_for(start + chunk, block), hit)
    allocate(c, w, job.held - device)
    remove(engine, w, WAITING, j)
    worker.waiting -= 1
    append(engine, w, PREFILL, j)
    start_running(c, w, j)
    job.state = PREFILL
    job.goal = goal
    job.start = start
    job.computed = start
    if job.handed == 0 and (chunk < goal - start or worker.visible != AT_SCHEDULE):
        fly(c, w, j, 1)
    worker.load_s += load_s(c, found)
    worker.extra_s += engine.groups[worker.group].lookup_s * (goal // block)
    job.handed = 0
    take_chunk(engine, w, j, chunk)
    return True


@bare_kernel
def admit_waiting(engine: Engine, w: int, found: Ints) -> None:
    """All admissions of a step."""
    c = engine.caches
    worker = c.workers[w]
    j = engine.queues[w, WAITING, 0]
    while j >= 0 and worker.budget > 0 and worker.running < worker.max_running:
        after = c.jobs[j].next
        if not (worker.twins and waits_for_twin(c, w, j, found)) and not try_admission(
            engine, w, j, found
        ):
            return
        j = after
