"""Which sequences of a step read one prefix together: the groups of cascade attention.

Sequences share leading blocks if their tables begin with the same numbers. Sorted by their tables,
any set that shares a prefix stands together, so the sets form a tree, and the best choice of
groups (most tokens read once instead of again) is found from its leaves to its root.

A group must be of about one width, because what is not shared is padded to the widest: decodes
with decodes, chunks with chunks of at most twice their length. Short contexts that share nothing
go together as well, for one padded product is faster than many small ones.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from hitpath.engine.scheduler import Work
from hitpath.engine.twins import num_common

MOST_WIDE = 128
"""Longer chunks than this many tokens are bound by arithmetic: they gain nothing from sharing."""

LEAST_SHARED_TOKENS = 64
"""A shorter prefix is not worth a matrix product of its own."""

SHORT_CONTEXT = 256


@dataclass(frozen=True, slots=True)
class Group:
    """Works whose tables begin with the same `num_shared` blocks, computed before this step."""

    works: tuple[Work, ...]
    num_shared: int


Partition = list[tuple[list[int], int]]
"""(places of works, blocks that they share), every place once."""


class Grouper:
    """Groups a step's works, and remembers the last partition: decodes change it rarely."""

    def __init__(self, block_size: int, cascade: bool) -> None:
        self._block_size = block_size
        self._cascade = cascade
        self._key: tuple[object, ...] = ()
        self._partition: Partition = []

    def group(self, works: list[Work], tables_version: int) -> list[Group]:
        """Every work in one group. Tables only grow while `tables_version` stays."""
        key = (tables_version, *(self._identity(work) for work in works))
        if key != self._key:
            self._key, self._partition = key, self._divide(works)
        return [
            Group(tuple(works[place] for place in places), shared)
            for places, shared in self._partition
        ]

    def _identity(self, work: Work) -> tuple[object, ...]:
        sequence = work.sequence
        known = sequence.num_computed if work.num_new > 1 else sequence.num_output == 0
        return sequence.order, work.num_new, known

    def _divide(self, works: list[Work]) -> Partition:
        classes = defaultdict(list)
        found: Partition = []
        for place, work in enumerate(works):
            if work.num_new > MOST_WIDE:
                found.append(([place], 0))
            else:
                classes[(work.num_new - 1).bit_length()].append(place)
        for places in classes.values():
            groups: Partition = [([place], 0) for place in places]
            if self._cascade:
                groups = best_groups(works, places, self._block_size)
            found += _short_ones_together(works, groups)
        return found


def _short_ones_together(works: list[Work], groups: Partition) -> Partition:
    alike: dict[int, list[int]] = defaultdict(list)
    found: Partition = []
    for places, shared in groups:
        context = works[places[0]].sequence.num_computed + works[places[0]].num_new
        if len(places) == 1 and context <= SHORT_CONTEXT:
            alike[(context - 1).bit_length()] += places
        else:
            found.append((places, shared))
    return found + [(places, 0) for places in alike.values()]


def best_groups(works: list[Work], places: list[int], block_size: int) -> Partition:
    """The partition of these works that reads the fewest blocks again.

    A group that opens at a node of the tree costs its prefix once; each of its works saves it. A
    work belongs to the deepest group that is open above it.
    """
    least = -(-LEAST_SHARED_TOKENS // block_size)
    tables = {
        place: works[place].sequence.blocks[: works[place].sequence.num_computed // block_size]
        for place in places
    }
    # Big-endian, so that bytes sort as numbers do.
    places = sorted(places, key=lambda place: tables[place].astype(">i4").tobytes())
    common = [num_common(tables[one], tables[other]) for one, other in pairwise(places)]
    opened = _Choice(common, least).best(0, len(places), 0)[1]
    assigned: set[int] = set()
    groups: Partition = []
    for first, end, shared in sorted(opened, key=lambda node: node[1] - node[0]):
        members = [place for place in places[first:end] if place not in assigned]
        assigned.update(members)
        groups.append((members, shared))
    return groups + [([place], 0) for place in places if place not in assigned]


_Node = tuple[int, int, int]
"""Works [first, end) in the order of their tables, and the blocks that they all share."""


class _Choice:
    """Which nodes to open; `common[i]`: blocks that works i and i + 1 share."""

    def __init__(self, common: list[int], least: int) -> None:
        self._common = common
        self._least = least
        self._known: dict[_Node, tuple[int, tuple[_Node, ...]]] = {}

    def best(self, first: int, end: int, above: int) -> tuple[int, tuple[_Node, ...]]:
        """(blocks saved, opened nodes) for works [first, end) under a group of `above` blocks."""
        if end - first == 1:
            return above, ()
        key = first, end, above
        if key not in self._known:
            shared = min(self._common[first : end - 1])
            found = self._parts(first, end, shared, above)
            if self._least <= shared != above:
                saved, opened = self._parts(first, end, shared, shared)
                if saved - shared > found[0]:
                    found = saved - shared, ((first, end, shared), *opened)
            self._known[key] = found
        return self._known[key]

    def _parts(
        self, first: int, end: int, shared: int, above: int
    ) -> tuple[int, tuple[_Node, ...]]:
        """The same for the node's children, which part where no more than `shared` is common."""
        edges = [i + 1 for i in range(first, end - 1) if self._common[i] == shared]
        saved = 0
        opened: tuple[_Node, ...] = ()
        for start, stop in pairwise([first, *edges, end]):
            more, nodes = self.best(start, stop, above)
            saved += more
            opened += nodes
        return saved, opened
