"""Own attention in plain matrix products: queries of a head group folded into rows.

For each key head, the queries that share it are rows of one product [rows, dim] x [dim, context],
with one softmax over whole rows in the KV's own type. Long chunks go in blocks of queries up to
their causal edge, so nothing beyond it is computed (2.6 times torch's kernel on a CPU, docs/
engine.md). Short ones (hits, decodes) go through `cascade.py`: what they read falls in a part that
is read in place or once for many, and a rest.
"""

import torch

from hitpath.engine.attention import LayerKind, Plan
from hitpath.engine.batch import Batch, Span
from hitpath.engine.cascade import Cascade
from hitpath.engine.grouping import MOST_WIDE
from hitpath.engine.kv_tensors import KVTensors
from hitpath.engine.scratch import Scratch, cap_scores, fold, unfold_into

QUERIES_IN_A_BLOCK = 128
_PAYS_TO_TRANSPOSE = 64


class Folded:
    """See the module; `windows` are those of the model's layers."""

    def __init__(self, kv: KVTensors, windows: frozenset[int]) -> None:
        self._kv = kv
        self._windows = windows
        self._scratch = Scratch()

    def plan(self, batch: Batch) -> Plan:
        return _FoldedPlan(self._kv, self._scratch, self._windows, batch)


class _FoldedPlan:
    def __init__(
        self, kv: KVTensors, scratch: Scratch, windows: frozenset[int], batch: Batch
    ) -> None:
        self._longest = max(span.num_context for span in batch.spans)
        short = [g for g in batch.groups if max(s.num_new for s in g.spans) <= MOST_WIDE]
        long = [s for g in batch.groups for s in g.spans if g not in short]
        self._cascades = [Cascade(group, kv, scratch) for group in short]
        self._long = [Blocked(span, kv, scratch) for span in long]
        # A window that ends within a context cuts through what a group shares: one by one then.
        narrow = any(window < self._longest for window in windows)
        self._windowed = [Blocked(s, kv, scratch) for s in batch.spans] if narrow else []

    def attend(self, kind: LayerKind, queries: torch.Tensor) -> torch.Tensor:
        out = torch.empty(queries.shape, dtype=queries.dtype)
        if kind.window is not None and kind.window < self._longest:
            for part in self._windowed:
                part.attend(kind, queries, out)
        else:
            for cascade in self._cascades:
                cascade.attend(kind, queries, out)
            for part in self._long:
                part.attend(kind, queries, out)
        return out.flatten(1)


class Blocked:
    """One span: blocks of queries, each up to its causal edge, from its window's edge."""

    def __init__(self, span: Span, kv: KVTensors, scratch: Scratch) -> None:
        self._span = span
        self._kv = kv
        self._scratch = scratch
        self._where = kv.where(span.blocks, span.num_context)
        size = min(QUERIES_IN_A_BLOCK, span.num_new)
        self._triangle = torch.triu(torch.full((size, size), -torch.inf), 1).to(kv.dtype)

    def attend(self, kind: LayerKind, queries: torch.Tensor, out: torch.Tensor) -> None:
        span = self._span
        keys, values = self._kv.read(kind.number, self._where)
        num_kv_heads = keys.shape[0]
        group = queries.shape[1] // num_kv_heads
        across = keys.transpose(1, 2)
        if span.num_new >= _PAYS_TO_TRANSPOSE:
            across = across.contiguous()
        folded = fold(queries[span.row : span.row + span.num_new], num_kv_heads)
        found = torch.empty(folded.shape, dtype=folded.dtype)
        for start in range(0, span.num_new, QUERIES_IN_A_BLOCK):
            end = min(start + QUERIES_IN_A_BLOCK, span.num_new)
            edge, first = span.num_cached + end, 0
            if kind.window is not None:
                first = max(0, span.num_cached + start - kind.window + 1)
            rows = slice(start * group, end * group)
            shape = (num_kv_heads, (end - start) * group, edge - first)
            scores = self._scratch.get("scores", shape, keys.dtype)
            torch.bmm(folded[:, rows], across[:, :, first:edge], out=scores)
            cap_scores(scores, kind.score_cap)
            self._hide(scores, start, end, first, kind.window, group)
            torch.softmax(scores, -1, out=scores)
            torch.bmm(scores, values[:, first:edge], out=found[:, rows])
        unfold_into(found, out[span.row : span.row + span.num_new])

    def _hide(
        self,
        scores: torch.Tensor,
        start: int,
        end: int,
        first: int,
        window: int | None,
        group: int,
    ) -> None:
        """Mask what a row may not see: after it, and before its window."""
        num_rows = end - start
        by_query = scores.view(scores.shape[0], num_rows, group, -1)
        if num_rows > 1:
            triangle = self._triangle[:num_rows, :num_rows]
            by_query[..., -num_rows:] += triangle.unsqueeze(1)
        if window is not None:
            position = torch.arange(start, end).unsqueeze(1) + self._span.num_cached
            column = torch.arange(first, first + scores.shape[-1]).unsqueeze(0)
            hidden = column <= position - window
            by_query.masked_fill_(hidden.unsqueeze(1), -torch.inf)
