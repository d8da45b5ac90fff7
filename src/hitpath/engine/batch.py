"""One step as the model sees it: rows of tokens, where their KV goes, who reads what together.

Rows are the new tokens of all sequences, one after another, without padding; those of a group
stand together.
"""

from dataclasses import dataclass

import numpy as np
import torch

from hitpath.engine.grouping import Group
from hitpath.engine.kv_tensors import KVTensors, Slots
from hitpath.engine.pool import Blocks


@dataclass(frozen=True, slots=True)
class Span:
    """The rows [row, row + num_new) of one sequence, `num_cached` tokens of which came before."""

    row: int
    num_new: int
    num_cached: int
    blocks: Blocks

    @property
    def num_context(self) -> int:
        """Tokens that the last row sees, itself included."""
        return self.num_cached + self.num_new


@dataclass(frozen=True, slots=True)
class SpanGroup:
    """Spans whose first `num_shared` tokens stand in the same blocks; 0: short ones, together."""

    spans: tuple[Span, ...]
    num_shared: int


@dataclass(frozen=True, slots=True)
class Batch:
    """`tokens` and `positions` are int64 [T]."""

    tokens: torch.Tensor
    positions: torch.Tensor
    slots: Slots
    groups: tuple[SpanGroup, ...]

    @property
    def spans(self) -> list[Span]:
        """In the order of their rows."""
        return [span for group in self.groups for span in group.spans]


def make_batch(groups: list[Group], kv: KVTensors, block_size: int) -> Batch:
    """From the works of a step, whose tables have room for their new tokens."""
    row = 0
    tokens, positions, slots, span_groups = [], [], [], []
    for group in groups:
        spans = []
        for work in group.works:
            sequence, first = work.sequence, work.sequence.num_computed
            end = first + work.num_new
            tokens.append(sequence.tokens[first:end].astype(np.int64))
            positions.append(np.arange(first, end))
            slots.append(kv.slots(sequence.blocks, first, end))
            spans.append(Span(row, work.num_new, first, sequence.blocks))
            row += work.num_new
        span_groups.append(SpanGroup(tuple(spans), group.num_shared * block_size))
    return Batch(
        tokens=kv.tensor(np.concatenate(tokens)),
        positions=kv.tensor(np.concatenate(positions)),
        slots=kv.slots_to_write(np.concatenate(slots)),
        groups=tuple(span_groups),
    )
