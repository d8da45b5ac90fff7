"""Prompt blocks of the requests that the router counts on a worker: sent, and not ended.

A block that several of them share counts once. All sequences that touch a node of the forest touch
the whole of it, so a count of requests a node is enough. Counted only for the routers that ask for
it, and only on workers that they may choose: a request that is handed over is counted no more.
"""

from hitpath.routing.view import View
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import find_entry, make_entry
from hitpath.sim.serving.layout import Caches


@bare_kernel
def count_active(c: Caches, w: int, j: int) -> None:
    """Job j has been sent to worker w."""
    if c.clock[0].counts_active == 0:
        return
    job = c.jobs[j]
    job.counted = w
    node = job.end_node
    while node >= c.num_roots:
        entry = c.entries[make_entry(c, node, w)]
        if entry.active == 0:
            c.workers[w].active_blocks += c.nodes[node].length
        entry.active += 1
        node = c.nodes[node].parent


@bare_kernel
def forget_active(c: Caches, j: int) -> None:
    """Job j has ended, or goes on elsewhere."""
    job = c.jobs[j]
    w = job.counted
    if w < 0:
        return
    job.counted = -1
    node = job.end_node
    while node >= c.num_roots:
        entry = c.entries[find_entry(c, node, w)]
        entry.active -= 1
        if entry.active == 0:
            c.workers[w].active_blocks -= c.nodes[node].length
        node = c.nodes[node].parent


@bare_kernel
def see_active(c: Caches, view: View, end_node: int) -> None:
    """Fill active_unique and active_shared of the view."""
    block = c.clock[0].block
    for w in range(c.clock[0].num_workers):
        view.active_unique[w] = c.workers[w].active_blocks * block
        view.active_shared[w] = 0
    node = end_node
    while node >= c.num_roots:
        place = c.nodes[node]
        e = place.first
        while e >= 0:
            entry = c.entries[e]
            if entry.active > 0 and view.active_shared[entry.owner] == 0:
                view.active_shared[entry.owner] = (place.depth + place.length) * block
            e = entry.sibling
        node = place.parent
