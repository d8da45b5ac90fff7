"""Attention over tables padded to fixed sizes: every shape depends on the bucket alone.

For captured steps. `tables` [B, pages] are read whole, whatever the lengths; what a row may not see
is masked by `positions` [B x T], so that lengths are data and no shape.
"""

import torch

from hitpath.engine.attention import LayerKind
from hitpath.engine.kv_tensors import KVTensors, Pages
from hitpath.engine.scratch import cap_scores


class Padded:
    """A plan (see attention.Plan) over static buffers: T new tokens of each of B sequences."""

    def __init__(self, kv: KVTensors, tables: torch.Tensor, positions: torch.Tensor) -> None:
        self._kv = kv
        self._tables = tables
        self._positions = positions

    def attend(self, kind: LayerKind, queries: torch.Tensor) -> torch.Tensor:
        num_sequences = len(self._tables)
        pages = Pages(self._tables.view(-1), None, None)
        keys, values = self._kv.read_pages(kind.number, pages)
        num_kv_heads, num_slots, dim = keys.shape
        shape = (num_kv_heads * num_sequences, num_slots // num_sequences, dim)
        keys, values = keys.view(shape), values.view(shape)
        # [B x T, query head, dim] -> [kv head x B, T x group, dim]
        group = queries.shape[1] // num_kv_heads
        wide = len(queries) // num_sequences
        folded = queries.reshape(num_sequences, wide, num_kv_heads, group, dim)
        folded = folded.permute(2, 0, 1, 3, 4).reshape(shape[0], wide * group, dim)
        scores = torch.bmm(folded, keys.transpose(1, 2))
        cap_scores(scores, kind.score_cap)
        columns = torch.arange(shape[1])
        last = self._positions.view(1, num_sequences, wide, 1, 1)
        hidden = columns > last
        if kind.window is not None:
            hidden = hidden | (columns <= last - kind.window)
        by_query = scores.view(num_kv_heads, num_sequences, wide, group, -1)
        scores = by_query.masked_fill(hidden, -torch.inf).view(scores.shape)
        found = torch.bmm(scores.softmax(-1), values)
        found = found.view(num_kv_heads, num_sequences, wide, group, dim)
        return found.permute(1, 2, 0, 3, 4).reshape(len(queries), -1)
