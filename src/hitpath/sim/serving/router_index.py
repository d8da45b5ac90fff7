"""What the router believes of each worker's cache.

"resident": the engines' KV events, so the true state, or a late and lossy copy of it. A copy keeps
a count of leading blocks a node: a store that does not begin where the known ones end is out of
reach of any match, and is forgotten. "history": the router's own LRU of what it has sent, exactly
as sim/fleet.py's caches but for its block size, its look-ahead and its time to live.
"""

from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import match_everywhere
from hitpath.sim.serving.layout import Caches, Engine, Index

NO_INDEX, RESIDENT, HISTORY_INDEX = 0, 1, 2


@bare_kernel
def deliver_moves(c: Caches) -> None:
    """The events that are as old as the lag reach the index."""
    clock = c.clock[0]
    while clock.moves_count > 0:
        move = c.moves[clock.moves_first]
        if move.time + clock.lag > clock.now:
            break
        entry = c.entries[move.entry]
        worker = c.workers[entry.owner]
        if move.epoch == worker.epoch:
            before = entry.believed
            if move.stored == 0:
                entry.believed = min(before, move.begin)
            elif before >= move.begin:
                entry.believed = max(before, move.end)
            worker.believed += entry.believed - before
        clock.moves_first = (clock.moves_first + 1) % len(c.moves)
        clock.moves_count -= 1


@bare_kernel
def match_believed(c: Caches, index: Index, end_node: int) -> None:
    """held[0, w] = leading blocks of a path by the late copy, which may have holes."""
    c.held[:] = 0
    count = 0
    node = end_node
    while node >= c.num_roots:
        index.path[count] = node
        count += 1
        node = c.nodes[node].parent
    goes_on = True
    for i in range(count - 1, -1, -1):
        if not goes_on:
            break
        goes_on = False
        place = c.nodes[index.path[i]]
        e = place.first
        while e >= 0:
            entry = c.entries[e]
            if entry.believed > 0 and c.held[0, entry.owner] == place.depth:
                c.held[0, entry.owner] += entry.believed
                goes_on = goes_on or entry.believed == place.length
            e = entry.sibling


@bare_kernel
def looked_at(index: Index, blocks: int, block: int) -> int:
    """Tokens of so many engine blocks, as the router counts: in its own blocks, the first few."""
    rules = index.rules[0]
    tokens = blocks * block
    tokens -= tokens % rules.unit
    if rules.max_blocks > 0:
        tokens = min(tokens, rules.max_blocks * rules.unit)
    return int(tokens)


@bare_kernel
def see_resident(c: Caches, index: Index, end_node: int) -> None:
    """Fill match, match_host and index_tokens of the view from the engines' state."""
    clock, view = c.clock[0], index.sees
    num = clock.num_workers
    if clock.lagging:
        deliver_moves(c)  # those of this very moment, where there is no lag
        match_believed(c, index, end_node)
    else:
        match_everywhere(c, end_node)
    for w in range(num):
        view.match[w] = looked_at(index, c.held[0, w], clock.block)
        view.match_host[w] = view.match[w]
        worker = c.workers[w]
        blocks = worker.believed if clock.lagging else worker.resident
        view.index_tokens[w] = blocks * clock.block
    if clock.has_host or clock.has_remote:
        if clock.lagging:
            match_everywhere(c, end_node)
        for w in range(num):
            below = max(c.held[0, num + w], c.held[0, 2 * num])
            view.match_host[w] = max(view.match[w], looked_at(index, below, clock.block))


@bare_kernel
def unlink_sent(engine: Engine, index: Index, e: int) -> None:
    """Take an entry out of its worker's list of what was sent."""
    entry = index.entries[e]
    worker = engine.caches.workers[entry.owner]
    if entry.newer >= 0:
        index.entries[entry.newer].older = entry.older
    else:
        worker.history_newest = entry.older
    if entry.older >= 0:
        index.entries[entry.older].newer = entry.newer
    else:
        worker.history_oldest = entry.newer


@bare_kernel
def forget_sent(engine: Engine, index: Index, w: int, count: int) -> None:
    """Drop `count` blocks of the worker, or what its oldest entry has, if that is less."""
    worker = engine.caches.workers[w]
    e = worker.history_oldest
    entry = index.entries[e]
    dropped = min(entry.resident, count)
    entry.resident -= dropped
    worker.history -= dropped
    if entry.resident == 0:
        unlink_sent(engine, index, e)


@bare_kernel
def remember_sent(engine: Engine, index: Index, w: int, end_node: int) -> None:
    """The path to `end_node`, as far as the router looks, is what worker w was sent last."""
    rules, worker = index.rules[0], engine.caches.workers[w]
    now = engine.caches.clock[0].now
    most = rules.max_blocks if rules.max_blocks > 0 else 1 << 60
    node = end_node
    while node >= rules.num_roots:
        place = index.nodes[node]
        if place.depth < most:
            e = place.first
            while e >= 0 and index.entries[e].owner != w:
                e = index.entries[e].sibling
            if e < 0:
                e = rules.num_entries
                rules.num_entries += 1
                index.entries[e].owner = w
                index.entries[e].sibling = place.first
                place.first = e
            elif index.entries[e].resident > 0:
                unlink_sent(engine, index, e)
            entry = index.entries[e]
            blocks = min(place.length, most - place.depth)
            worker.history += blocks - entry.resident
            entry.resident = blocks
            entry.time = now
            entry.newer = -1
            entry.older = worker.history_newest
            if worker.history_newest >= 0:
                index.entries[worker.history_newest].newer = e
            else:
                worker.history_oldest = e
            worker.history_newest = e
        node = place.parent
    while rules.capacity > 0 and worker.history > rules.capacity:
        forget_sent(engine, index, w, worker.history - rules.capacity)


@bare_kernel
def see_sent(engine: Engine, index: Index, end_node: int, prompt_tokens: int) -> None:
    """Fill the view from what was sent, once what is too old has been dropped."""
    c, rules, view = engine.caches, index.rules[0], index.sees
    clock = c.clock[0]
    for w in range(clock.num_workers):
        worker = c.workers[w]
        if rules.ttl > 0.0:
            while worker.history_oldest >= 0:
                oldest = index.entries[worker.history_oldest]
                if oldest.time + rules.ttl >= clock.now:
                    break
                forget_sent(engine, index, w, oldest.resident)
        view.match[w] = 0
        view.index_tokens[w] = worker.history * rules.unit
    node = end_node
    while node >= rules.num_roots:
        place = index.nodes[node]
        e = place.first
        while e >= 0:
            entry = index.entries[e]
            if entry.resident > 0 and view.match[entry.owner] == 0:
                blocks = place.depth + entry.resident
                view.match[entry.owner] = min(blocks * rules.unit, prompt_tokens)
            e = entry.sibling
        node = place.parent
    for w in range(clock.num_workers):
        view.match_host[w] = view.match[w]


@bare_kernel
def forget_worker(engine: Engine, index: Index, w: int) -> None:
    """The worker is gone, and all that the router knew of it."""
    worker = engine.caches.workers[w]
    while worker.history_oldest >= 0:
        forget_sent(engine, index, w, index.entries[worker.history_oldest].resident)
