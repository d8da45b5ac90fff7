"""One cache that sees prompts only: LRU, and the most that any order of dropping could keep."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from oracle.blocks import Cache, all_ids, countable_blocks, whole_ids

if TYPE_CHECKING:
    from oracle.blocks import BlockId, Request

NEVER = 10**9  # a next use that does not come


def lru_hit_blocks(
    requests: list[Request], block_size: int, capacity_blocks: int | None, last_token: bool
) -> list[int]:
    """Hit blocks of each request in one LRU cache that sees prompts only."""
    cache = Cache(capacity_blocks)
    hits: list[int] = []
    for request in requests:
        resident = cache.leading(whole_ids(request.context, request.tokens, block_size))
        hits.append(min(resident, countable_blocks(len(request.tokens), block_size, last_token)))
        cache.insert(all_ids(request.context, request.tokens, block_size))
    return hits


def countable_ids(
    requests: list[Request], block_size: int, last_token: bool
) -> list[list[BlockId]]:
    """For each request the ids, first block first, that can count as a hit."""
    return [
        whole_ids(r.context, r.tokens, block_size)[
            : countable_blocks(len(r.tokens), block_size, last_token)
        ]
        for r in requests
    ]


def leading_in(ids: list[BlockId], kept: frozenset[BlockId] | set[BlockId]) -> int:
    """How many leading ids are in the set."""
    count = 0
    while count < len(ids) and ids[count] in kept:
        count += 1
    return count


def clairvoyant_exhaustive(
    requests: list[Request], block_size: int, capacity_blocks: int | None, last_token: bool
) -> int:
    """The most hit blocks that any choice of what to keep can reach. Tiny traces only."""
    may_hit = countable_ids(requests, block_size, last_token)
    memo: dict[tuple[int, frozenset[BlockId]], int] = {}

    def best_from(index: int, kept: frozenset[BlockId]) -> int:
        if index == len(requests):
            return 0
        if (index, kept) not in memo:
            request = requests[index]
            candidates = kept | set(all_ids(request.context, request.tokens, block_size))
            most = len(candidates)
            if capacity_blocks is not None:
                most = min(most, capacity_blocks)
            # where everything fits, keeping everything loses nothing
            smallest = most if most == len(candidates) else 0
            memo[index, kept] = leading_in(may_hit[index], kept) + max(
                best_from(index + 1, frozenset(choice))
                for size in range(smallest, most + 1)
                for choice in combinations(candidates, size)
            )
        return memo[index, kept]

    return best_from(0, frozenset())


def clairvoyant_greedy(
    requests: list[Request],
    block_size: int,
    capacity_blocks: int | None,
    last_token: bool,
    *,
    until_refetch: bool = False,
) -> list[int]:
    """Hit blocks of each request when the id with the furthest next use goes first.

    The next use is the next request where the id can count as a hit. With `until_refetch`, an id
    whose next request computes it anyway (its last whole block, under the last-token rule) has no
    use before that: the id comes back for nothing. Without the last-token rule the two agree.
    """
    may_hit = countable_ids(requests, block_size, last_token)
    contained = [whole_ids(r.context, r.tokens, block_size) for r in requests]
    cache: set[BlockId] = set()
    hits: list[int] = []

    def next_use(block_id: BlockId, after: int) -> int:
        for later in range(after + 1, len(requests)):
            if block_id in may_hit[later]:
                return later
            if until_refetch and block_id in contained[later]:
                return NEVER
        return NEVER

    for index, request in enumerate(requests):
        hits.append(leading_in(may_hit[index], cache))
        cache.update(all_ids(request.context, request.tokens, block_size))
        # in the order to drop: the furthest next use first, and of these the deepest
        order = [(next_use(block_id, index), len(block_id[1]), block_id) for block_id in cache]
        order.sort(key=lambda entry: entry[:2], reverse=True)
        num_over = 0 if capacity_blocks is None else max(0, len(cache) - capacity_blocks)
        for _, _, block_id in order[:num_over]:
            cache.remove(block_id)
    return hits
