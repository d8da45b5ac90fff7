"""How far a prefix is found in all groups of layers at once.

vllm/v1/core/kv_cache_coordinator.py, `find_longest_cache_hit`: with one group, what that group
finds. With several, full attention first; each group lowers the length that the one before left,
until no group lowers it any more (one round is enough for full attention and one other).
A speculative group matches one block more than the candidate and gives it back, once a candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.sim.models.chains import Prefix
from hitpath.sim.models.vllm_groups import FullGroup, Lookup, Row
from hitpath.sim.models.vllm_layers import StateGroup, WindowGroup


@dataclass(frozen=True, slots=True)
class Found:
    """`blocks` of each group. `junction`: where some group's longer match ends, if it is longer
    than what all have (a prefix that was seen to be shared and is not kept everywhere), else 0."""

    blocks: tuple[list[int], ...]
    tokens: int
    junction: int


def find_hit(
    groups: Sequence[FullGroup],
    prefixes: Sequence[Prefix],
    most_tokens: int,
    ahead: int,
    alignment: int,
) -> Found:
    """The longest hit of at most `most_tokens` tokens. `ahead`: to where a speculative group may
    match before it gives its block back."""
    if len(groups) == 1:
        look_up = Lookup(prefixes, most_tokens, groups[0].block_size, (0,))
        rows, tokens = groups[0].find(look_up, groups[0].drops)
        return Found(([row[0] for row in rows],), tokens, 0)
    sets = _alike(groups)
    rows_of: dict[int, list[Row]] = {}
    tokens_of: dict[int, int] = {}
    dropped: set[int] = set()
    length, longest = most_tokens, 0
    while True:
        now = length
        for i, peers in enumerate(sets):
            first = peers[0]
            if _is_full(first) and i in tokens_of:
                now = min(now, tokens_of[i])
                continue
            drop = first.drops and i not in dropped
            most = now
            if drop and not isinstance(first, StateGroup):
                most = min(now + first.block_size, ahead)
            look_up = Lookup(prefixes, most, alignment, [peer.number for peer in peers])
            rows_of[i], tokens = first.find(look_up, drop)
            if drop:
                dropped.add(i)
            elif tokens < now:
                dropped.clear()
            now = tokens_of[i] = tokens
            longest = max(longest, now)
        shrunk, length = now < length, now
        if not shrunk or (len(sets) == 2 and _is_full(sets[0][0])):
            break
    blocks: dict[int, list[int]] = {}
    for i, peers in enumerate(sets):
        rows = rows_of[i]
        if _is_full(peers[0]):
            rows = rows[: -(-length // peers[0].block_size)]
        for column, peer in enumerate(peers):
            blocks[peer.number] = [row[column] for row in rows]
    junction = longest if longest > length else 0
    return Found(tuple(blocks[group.number] for group in groups), length, junction)


def _is_full(group: FullGroup) -> bool:
    return type(group) is FullGroup


def _alike(groups: Sequence[FullGroup]) -> list[list[FullGroup]]:
    """Sets of groups of one kind and size, full attention first, else in their order."""
    sets: dict[object, list[FullGroup]] = {}
    for group in groups:
        window = group.window if isinstance(group, WindowGroup) else 0
        sets.setdefault((type(group), group.block_size, window), []).append(group)
    return sorted(sets.values(), key=lambda peers: not _is_full(peers[0]))
