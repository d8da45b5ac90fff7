"""Who shares with whom: for each stretch of the prefix tree, whose request computed it first."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT
from hitpath.index.forest import node_paths
from hitpath.sim.events import ARRIVAL, Events
from hitpath.traces.blocking import Blocks
from hitpath.traces.table import Ints, Labels


@dataclass(frozen=True, slots=True)
class SharedPair:
    """`hit_tokens` that requests of `name` hit in blocks which a request of `brought_by` was the
    first to compute; `num_requests` of `name` hit at least one such block. `first_use_tokens`:
    those of them that no request of `name` had passed before. In one unlimited cache, the sum of
    these over all others is what `name` would compute again if it were served alone."""

    name: str
    brought_by: str
    hit_tokens: int
    first_use_tokens: int
    num_requests: int


@dataclass(frozen=True, slots=True)
class SharedPairs:
    """All pairs of one label, most hit tokens first. `unnamed_tokens`: hits where one of the two
    requests has no such label; with the pairs they add up to the modelled hit."""

    label: str
    pairs: tuple[SharedPair, ...]
    unnamed_tokens: int

    def lost_alone(self, name: str) -> int:
        """First uses by `name` of what others had computed."""
        return sum(
            pair.first_use_tokens
            for pair in self.pairs
            if pair.name == name and pair.brought_by != name
        )

    @property
    def own_tokens(self) -> int:
        """Hits on what the same name had computed first."""
        return sum(pair.hit_tokens for pair in self.pairs if pair.name == pair.brought_by)


def shared_pairs(
    label: str, labels: Labels, events: Events, blocks: Blocks, hit_tokens: Ints
) -> SharedPairs:
    """hit_tokens: modelled, whole blocks, one entry a request; 0 for what is not counted."""
    arrivals = events.kind == ARRIVAL
    offsets, nodes = node_paths(events.forest, events.lookup_end[arrivals])
    tree = events.forest.tree
    row = np.repeat(events.request[arrivals], np.diff(offsets))
    hit_blocks = hit_tokens // blocks.block_size
    taken = np.clip(hit_blocks[row] - tree.depth[nodes], 0, tree.length[nodes])
    tokens = taken * blocks.block_size
    here, there = labels.codes[row], labels.codes[_bringer(events, blocks)[nodes]]
    first_pass = np.zeros(len(row), dtype=np.bool_)
    # Entries stand in the order of arrival: the first of each (name, node) is its first pass.
    first_pass[np.unique(here * events.forest.num_nodes + nodes, return_index=True)[1]] = True
    named = (here != ABSENT) & (there != ABSENT) & (tokens > 0)
    unnamed = int(tokens[~named].sum())
    uses = _Uses(here[named], there[named], tokens[named], first_pass[named], row[named])
    return SharedPairs(label, _sums(labels, uses), unnamed)


class _Uses(NamedTuple):
    """One entry for each stretch that a request hit: codes of the two names, tokens, whether no
    request of the name had passed the stretch before, the request."""

    here: Ints
    there: Ints
    tokens: Ints
    first_pass: NDArray[np.bool_]
    row: Ints


def _bringer(events: Events, blocks: Blocks) -> Ints:
    """The request that each node's symbols are from; 0 for roots, which nobody asks for."""
    first = events.forest.tree.first
    starts = blocks.prompts.offsets[:-1]
    num_in_prompts = int(blocks.prompts.offsets[-1])
    of_prompt = np.searchsorted(starts, first, side="right") - 1
    # Behind the prompts stand the sequences of prompt and output (sim.events).
    behind = first - num_in_prompts
    of_sequence = np.searchsorted(blocks.sequences.offsets[:-1], behind, side="right") - 1
    found: Ints = np.where(first < num_in_prompts, of_prompt, of_sequence)
    return np.maximum(found, 0)


def _sums(labels: Labels, uses: _Uses) -> tuple[SharedPair, ...]:
    if not len(uses.here):
        return ()
    num = len(labels.names)
    codes, pair = np.unique(uses.here * num + uses.there, return_inverse=True)
    total, first = (np.zeros(len(codes), dtype=np.int64) for _ in range(2))
    np.add.at(total, pair, uses.tokens)
    np.add.at(first, pair, uses.tokens * uses.first_pass)
    requests = np.unique(np.stack([pair, uses.row]), axis=1)[0]
    count = np.bincount(requests, minlength=len(codes))
    order = np.lexsort((codes, -total))
    return tuple(
        SharedPair(
            labels.names[codes[i] // num],
            labels.names[codes[i] % num],
            int(total[i]),
            int(first[i]),
            int(count[i]),
        )
        for i in order
    )
