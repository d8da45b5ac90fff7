"""Blocks of one owner: found, pinned, taken, made visible, released and dropped (see layout.py).

Counts are blocks. `used`: in use by running requests, copies included; `idle`: kept though nobody
uses them, the first to go, oldest release first. Free is what is left of the capacity.
"""

import numpy as np

from hitpath.routing.draws import uniform
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.layout import Caches


@bare_kernel
def find_entry(c: Caches, node: int, owner: int) -> int:
    """The owner's entry of a node, ABSENT where it never held any of it."""
    e = c.nodes[node].first
    while e >= 0 and c.entries[e].owner != owner:
        e = c.entries[e].sibling
    return int(e)


@bare_kernel
def make_entry(c: Caches, node: int, owner: int) -> int:
    """The same; a new one where there is none. The loop has seen to it that there is room."""
    e = find_entry(c, node, owner)
    if e >= 0:
        return e
    e = c.clock[0].num_entries
    c.clock[0].num_entries += 1
    entry = c.entries[e]
    entry.owner = owner
    entry.node = node
    entry.sibling = c.nodes[node].first
    entry.partial = -1
    entry.newest = -1
    c.nodes[node].first = e
    return int(e)


@bare_kernel
def note_move(c: Caches, e: int, owner: int, stored: int, begin: int, end: int) -> None:
    """An event for a router whose index is late or lossy."""
    clock = c.clock[0]
    if clock.lagging == 0 or owner >= clock.num_workers:
        return
    if clock.loss > 0.0:
        step = c.workers[owner].steps
        if uniform(np.uint64(clock.seed), owner, step) < clock.loss:
            return
    at = (clock.moves_first + clock.moves_count) % len(c.moves)
    clock.moves_count += 1
    move = c.moves[at]
    move.entry = e
    move.epoch = c.workers[owner].epoch
    move.stored = stored
    move.begin = begin
    move.end = end
    move.time = clock.now


@bare_kernel
def push_segment(c: Caches, e: int, begin: int, end: int, owner: int) -> None:
    """Blocks begin .. end of an entry are idle from now on; whatever else is idle of it stands
    behind them."""
    clock = c.clock[0]
    g = clock.free_segments
    clock.free_segments = c.segments[g].older
    clock.left_segments -= 1
    segment = c.segments[g]
    worker = c.workers[owner]
    entry = c.entries[e]
    segment.entry = e
    segment.begin = begin
    segment.end = end
    segment.newer = -1
    segment.older = worker.newest
    if worker.newest >= 0:
        c.segments[worker.newest].newer = g
    else:
        worker.oldest = g
    worker.newest = g
    segment.above = -1
    segment.below = entry.newest
    if entry.newest >= 0:
        c.segments[entry.newest].above = g
    entry.newest = g
    worker.idle += end - begin


@bare_kernel
def drop_segment(c: Caches, g: int, owner: int) -> None:
    """Take an empty segment out of both lists."""
    clock = c.clock[0]
    segment = c.segments[g]
    worker = c.workers[owner]
    if segment.newer >= 0:
        c.segments[segment.newer].older = segment.older
    else:
        worker.newest = segment.older
    if segment.older >= 0:
        c.segments[segment.older].newer = segment.newer
    else:
        worker.oldest = segment.newer
    if segment.above >= 0:
        c.segments[segment.above].below = segment.below
    else:
        c.entries[segment.entry].newest = segment.below
    if segment.below >= 0:
        c.segments[segment.below].above = segment.above
    segment.older = clock.free_segments
    clock.free_segments = g
    clock.left_segments += 1


@bare_kernel
def evict(c: Caches, owner: int, count: int) -> None:
    """Drop the `count` idle blocks that were released first."""
    worker = c.workers[owner]
    while count > 0:
        g = worker.oldest
        segment = c.segments[g]
        entry = c.entries[segment.entry]
        taken = min(count, segment.end - segment.begin)
        segment.end -= taken
        entry.resident -= taken
        note_move(c, segment.entry, owner, 0, entry.resident, entry.resident + taken)
        worker.idle -= taken
        worker.resident -= taken
        worker.evicted += taken
        count -= taken
        if segment.end == segment.begin:
            drop_segment(c, g, owner)


@bare_kernel
def allocate(c: Caches, w: int, count: int) -> None:
    """Take blocks, free ones first; there are enough that are not in use."""
    worker = c.workers[w]
    free = worker.capacity - worker.used - worker.idle
    if count > free:
        evict(c, w, count - free)
    worker.used += count
    worker.peak = max(worker.peak, worker.used)


@bare_kernel
def take_idle(c: Caches, owner: int, e: int, extent: int) -> int:
    """The first `extent` blocks of an entry are in use from now on; returns how many of them had
    been idle."""
    entry = c.entries[e]
    if extent <= entry.in_use:
        return 0
    upto = min(extent, entry.resident)
    taken = max(upto - entry.in_use, 0)
    while entry.newest >= 0:
        segment = c.segments[entry.newest]
        if segment.begin >= upto:
            break
        if segment.end > upto:
            segment.begin = upto
            break
        drop_segment(c, entry.newest, owner)
    c.workers[owner].idle -= taken
    entry.in_use = extent
    return int(taken)


@bare_kernel
def leave_partial(c: Caches, j: int) -> None:
    """Job j no longer pins a part of an entry."""
    job = c.jobs[j]
    if job.part_entry < 0:
        return
    if job.part_prev >= 0:
        c.jobs[job.part_prev].part_next = job.part_next
    else:
        c.entries[job.part_entry].partial = job.part_next
    if job.part_next >= 0:
        c.jobs[job.part_next].part_prev = job.part_prev
    job.part_entry = -1


@bare_kernel
def join_partial(c: Caches, j: int, e: int, extent: int) -> None:
    """Job j pins the first `extent` blocks of an entry, not all."""
    job = c.jobs[j]
    entry = c.entries[e]
    job.part_entry = e
    job.part_extent = extent
    job.part_prev = -1
    job.part_next = entry.partial
    if entry.partial >= 0:
        c.jobs[entry.partial].part_prev = j
    entry.partial = j


@bare_kernel
def pin(c: Caches, w: int, j: int, end_node: int, upto: int, computed: bool) -> None:
    """Job j shares the first `upto` blocks of the path to `end_node` from now on.

    computed False: they are there (a hit). True: the job has computed those that it had not pinned
    yet, in blocks of its own. Where nobody uses the block that is there already, the new one takes
    its place; where others do, the job keeps its copy until it ends, or gives it back at once.
    """
    job = c.jobs[j]
    before = job.pinned
    if upto <= before:
        return
    worker = c.workers[w]
    leave_partial(c, j)
    node = end_node
    while node >= c.num_roots:
        place = c.nodes[node]
        if place.depth + place.length <= before:
            break
        if place.depth < upto:
            low = max(before - place.depth, 0)
            high = min(upto - place.depth, place.length)
            e = make_entry(c, node, w)
            entry = c.entries[e]
            if computed:
                twice = max(min(high, entry.in_use) - low, 0)
                if worker.free_copies:
                    worker.used -= twice
                else:
                    job.copies += twice
            taken = take_idle(c, w, e, high)
            if computed and high > entry.resident:
                note_move(c, e, w, 1, entry.resident, high)
                worker.resident += high - entry.resident
                entry.resident = high
            if not computed:
                worker.used += taken
            if high == place.length:
                entry.full += 1
            else:
                join_partial(c, j, e, high)
        node = place.parent
    job.pinned = upto
    worker.peak = max(worker.peak, worker.used)


@bare_kernel
def still_in_use(c: Caches, e: int, length: int) -> int:
    """Leading blocks of an entry that some job pins."""
    entry = c.entries[e]
    if entry.full > 0:
        return length
    most = 0
    j = entry.partial
    while j >= 0:
        most = max(most, c.jobs[j].part_extent)
        j = c.jobs[j].part_next
    return most


@bare_kernel
def release(c: Caches, w: int, j: int, end_node: int) -> None:
    """Give back all blocks of job j, tail first: what it shared stays, idle, unless others use it;
    what was its own is free."""
    job = c.jobs[j]
    worker = c.workers[w]
    worker.used -= job.copies + job.held - job.pinned
    node = end_node
    while node >= c.num_roots:
        place = c.nodes[node]
        if place.depth < job.pinned:
            e = find_entry(c, node, w)
            entry = c.entries[e]
            if job.pinned - place.depth >= place.length:
                entry.full -= 1
            else:
                leave_partial(c, j)
            kept = still_in_use(c, e, place.length)
            if kept < entry.in_use:
                worker.used -= entry.in_use - kept
                push_segment(c, e, kept, entry.in_use, w)
                entry.in_use = kept
        node = place.parent
    job.pinned = 0
    job.copies = 0
    job.held = 0


@bare_kernel
def resident_match(c: Caches, owner: int, end_node: int) -> int:
    """Leading blocks of a path that the owner holds: caches are closed under prefixes."""
    node = end_node
    while node >= c.num_roots:
        e = find_entry(c, node, owner)
        if e >= 0 and c.entries[e].resident > 0:
            return int(c.nodes[node].depth + c.entries[e].resident)
        node = c.nodes[node].parent
    return 0


@bare_kernel
def match_everywhere(c: Caches, end_node: int) -> None:
    """held[0, owner] = leading blocks of a path that each owner holds; held[1, owner] = those that
    prompts in progress there are computing."""
    c.held[:] = 0
    node = end_node
    while node >= c.num_roots:
        place = c.nodes[node]
        e = place.first
        while e >= 0:
            entry = c.entries[e]
            if entry.resident > 0 and c.held[0, entry.owner] == 0:
                c.held[0, entry.owner] = place.depth + entry.resident
            if entry.flights > 0 and c.held[1, entry.owner] == 0:
                c.held[1, entry.owner] = place.depth + place.length
            e = entry.sibling
        node = place.parent


@bare_kernel
def idle_within(c: Caches, owner: int, end_node: int, upto: int) -> int:
    """How many of the first `upto` blocks of a path, all there, nobody uses."""
    idle = 0
    node = end_node
    while node >= c.num_roots:
        place = c.nodes[node]
        if place.depth < upto:
            in_use = c.entries[find_entry(c, node, owner)].in_use
            if in_use >= place.length:
                break
            idle += max(min(upto - place.depth, place.length) - in_use, 0)
        node = place.parent
    return idle


@bare_kernel
def fly(c: Caches, w: int, j: int, change: int) -> None:
    """Job j begins (1) or ends (-1) to be a prompt that is being computed."""
    job = c.jobs[j]
    job.flying = 1 if change > 0 else 0
    c.workers[w].flights += change
    node = job.end_node
    while node >= c.num_roots:
        e = make_entry(c, node, w)
        c.entries[e].flights += change
        node = c.nodes[node].parent


@bare_kernel
def land(c: Caches, w: int, j: int) -> None:
    """Job j is no prompt in progress any more, if it was one."""
    if c.jobs[j].flying:
        fly(c, w, j, -1)
