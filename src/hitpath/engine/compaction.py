"""Which blocks are worth a place in the compact (int8) tier.

A block is private while one sequence holds it and nobody else has found it: full precision. Once
it is shared or falls idle it moves to the compact tier for good; where that is full, what is worth
least by the eviction policy goes, be it there or on its way. So the full tier has no idle blocks
but pinned ones that found no room, and its blocks serve running requests.
"""

import numpy as np

from hitpath.engine.pool import BlockPool, Blocks


def least_worth(pool: BlockPool, coming: Blocks) -> Blocks:
    """What must go, in this order, so that the rest of `coming` (idle, full tier) fits: blocks of
    both tiers, but no pinned ones."""
    compact = pool.compact
    coming = coming[pool.pins[coming] == 0]
    there = pool.evictable(compact)
    excess = max(0, len(coming) - compact.num_free)
    candidates = np.concatenate([coming, there])
    return pool.lowest(candidates, min(excess, len(candidates)))
