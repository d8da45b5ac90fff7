"""Who shares with whom: for each stretch of the prefix tree, whose request computed it first."""

from dataclasses import dataclass

import numpy as np

from hitpath.core import ABSENT
from hitpath.index.forest import node_paths
from hitpath.sim.events import ARRIVAL, Events
from hitpath.traces.blocking import Blocks
from hitpath.traces.table import Ints, Labels


@dataclass(frozen=True, slots=True)
class SharedPair:
    """`hit_tokens` that requests of `name` hit in blocks which a request of `brought_by` was the
    first to compute; `num_requests` of `name` hit at least one such block."""

    name: str
    brought_by: str
    hit_tokens: int
    num_requests: int


@dataclass(frozen=True, slots=True)
class SharedPairs:
    """All pairs of one label, most hit tokens first. `unnamed_tokens`: hits where one of the two
    requests has no such label; with the pairs they add up to the modelled hit."""

    label: str
    pairs: tuple[SharedPair, ...]
    unnamed_tokens: int

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
    used = taken > 0
    row, taken, nodes = row[used], taken[used], nodes[used]
    here, there = labels.codes[row], labels.codes[_bringer(events, blocks)[nodes]]
    named = (here != ABSENT) & (there != ABSENT)
    tokens = taken * blocks.block_size
    pairs = _sums(labels, here[named], there[named], tokens[named], row[named])
    return SharedPairs(label, pairs, int(tokens[~named].sum()))


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


def _sums(
    labels: Labels, here: Ints, there: Ints, tokens: Ints, row: Ints
) -> tuple[SharedPair, ...]:
    if not len(here):
        return ()
    num = len(labels.names)
    codes, pair = np.unique(here * num + there, return_inverse=True)
    total = np.zeros(len(codes), dtype=np.int64)
    np.add.at(total, pair, tokens)
    requests = np.unique(np.stack([pair, row]), axis=1)[0]
    count = np.bincount(requests, minlength=len(codes))
    order = np.lexsort((codes, -total))
    return tuple(
        SharedPair(
            labels.names[codes[i] // num],
            labels.names[codes[i] % num],
            int(total[i]),
            int(count[i]),
        )
        for i in order
    )
