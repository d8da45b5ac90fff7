"""Conservation of blocks and requests, checked after every event where a fleet asks for it."""

from hitpath.sim.serving.admission import blocks_for
from hitpath.sim.serving.bare import bare_entry, bare_kernel
from hitpath.sim.serving.cache import find_entry, still_in_use
from hitpath.sim.serving.layout import DECODE, ENDED, MOVING, UNSENT, WAITING, Caches, Engine


@bare_kernel
def entry_holds(c: Caches, e: int) -> bool:
    """In use is what jobs pin, idle is tiled by segments, and what stands before it is there."""
    entry = c.entries[e]
    place = c.nodes[entry.node]
    if not 0 <= entry.in_use <= entry.resident <= place.length or entry.flights < 0:
        return False
    if entry.in_use != still_in_use(c, e, place.length):
        return False
    at = entry.in_use
    g = entry.newest
    while g >= 0:
        if c.segments[g].begin != at or c.segments[g].end <= at or c.segments[g].entry != e:
            return False
        at = c.segments[g].end
        g = c.segments[g].below
    if at != entry.resident:
        return False
    if entry.resident > 0 and place.parent >= c.num_roots:
        above = find_entry(c, place.parent, entry.owner)
        return above >= 0 and c.entries[above].resident == c.nodes[place.parent].length
    return True


@bare_kernel
def own_blocks(engine: Engine, j: int) -> int:
    """Blocks that job j has for itself."""
    c = engine.caches
    job = c.jobs[j]
    held = job.held
    if job.state == DECODE:
        worker = c.workers[job.worker]
        computed = job.offset + worker.ticks
        growing = worker.stepping != 0 and worker.alone == 0
        held = blocks_for(computed + int(growing), c.clock[0].block)
    return int(held - job.pinned + job.copies)


@bare_kernel
def owner_holds(engine: Engine, owner: int) -> bool:
    """used + idle are the blocks there, and no more than the capacity."""
    c = engine.caches
    worker = c.workers[owner]
    idle = 0
    g = worker.newest
    while g >= 0:
        idle += c.segments[g].end - c.segments[g].begin
        g = c.segments[g].older
    used = 0
    resident = 0
    for e in range(c.clock[0].num_entries):
        if c.entries[e].owner == owner:
            used += c.entries[e].in_use
            resident += c.entries[e].resident
    if idle != worker.idle or resident != worker.resident or used + idle != resident:
        return False
    if owner < c.clock[0].num_workers:
        for j in range(len(c.jobs)):
            if c.jobs[j].worker == owner and c.jobs[j].state not in (UNSENT, WAITING):
                used += own_blocks(engine, j)
    return bool(used == worker.used and used + idle <= worker.capacity)


@bare_entry
def books_hold(engine: Engine) -> bool:
    """All of it, and that every request is where the counts say."""
    c = engine.caches
    for e in range(c.clock[0].num_entries):
        if not entry_holds(c, e):
            return False
    for owner in range(len(c.workers)):
        if not owner_holds(engine, owner):
            return False
    in_flight = 0
    for w in range(c.clock[0].num_workers):
        waiting = 0
        running = 0
        counted = 0
        for j in range(len(c.jobs)):
            job = c.jobs[j]
            if job.state == UNSENT or job.state == ENDED:
                continue
            if job.worker == w:
                waiting += job.state == WAITING
                running += job.state not in (WAITING, MOVING)
            counted += (job.target if job.target >= 0 else job.worker) == w
        worker = c.workers[w]
        if waiting != worker.waiting or running != worker.running or counted != worker.in_flight:
            return False
        in_flight += counted
    return bool(in_flight == c.clock[0].in_flight)
