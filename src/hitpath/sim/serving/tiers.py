"""Lower tiers: the host's memory of each worker and one store that all share.

Both are inclusive and written through: what a request leaves on the device when it ends is written
there as well, most recent, tail first; the oldest blocks go where the capacity is exceeded.
"""

from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import evict, make_entry, push_segment, take_idle
from hitpath.sim.serving.layout import Caches


@bare_kernel
def store(c: Caches, owner: int, end_node: int, upto: int) -> None:
    """The first `upto` blocks of a path are the owner's most recent."""
    worker = c.workers[owner]
    node = end_node
    while node >= c.num_roots:
        place = c.nodes[node]
        if place.depth < upto:
            e = make_entry(c, node, owner)
            entry = c.entries[e]
            high = min(upto - place.depth, place.length)
            take_idle(c, owner, e, high)
            entry.in_use = 0
            if high > entry.resident:
                worker.resident += high - entry.resident
                entry.resident = high
            push_segment(c, e, 0, high, owner)
        node = place.parent
    if worker.idle > worker.capacity:
        evict(c, owner, worker.idle - worker.capacity)


@bare_kernel
def write_down(c: Caches, w: int, end_node: int, upto: int) -> None:
    """What a job of worker w leaves behind goes to the tiers below."""
    clock = c.clock[0]
    if clock.has_host:
        store(c, clock.num_workers + w, end_node, upto)
    if clock.has_remote:
        store(c, 2 * clock.num_workers, end_node, upto)
