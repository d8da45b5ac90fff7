"""In which order idle blocks go: one rank a block, the lowest first.

Ranks are int64, made when a block falls idle. All three policies end with the serial number of
the release, in which a prompt's tail comes before its head; and a block is hit, and has its
priority raised, whenever one after it in its chain is. So a block always ranks above those after
it, and eviction never cuts a prefix from its continuation.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hitpath.engine.settings import PolicyName

Ranks = npt.NDArray[np.int64]
RankRule = Callable[[Ranks, Ranks, Ranks], Ranks]
"""(serial of the release, hits, priority), each int64 [n], to ranks."""

_SERIAL_BITS = 44
_MOST_HITS = (1 << (62 - _SERIAL_BITS)) - 1
UNRANKED = np.int64(2**63 - 1)
"""Above every rank: blocks that cannot be evicted are never found by looking for the lowest."""


def _lru(serials: Ranks, hits: Ranks, priorities: Ranks) -> Ranks:
    return serials


def _lfu(serials: Ranks, hits: Ranks, priorities: Ranks) -> Ranks:
    return (np.minimum(hits, _MOST_HITS) << _SERIAL_BITS) | serials


def _priority(serials: Ranks, hits: Ranks, priorities: Ranks) -> Ranks:
    return (priorities << _SERIAL_BITS) | serials


RANK_RULES: dict[PolicyName, RankRule] = {"lru": _lru, "lfu": _lfu, "priority": _priority}
