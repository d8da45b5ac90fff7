"""Attention of a few new tokens over long contexts: a part read once, a rest, one softmax.

The scores of a group's queries against the part that all its spans share are one matrix product,
read from the cache once however many spans there are (cascade attention: Juravsky et al. 2024,
Hydragen; FlashInfer's cascade); those against what each span has of its own are a small batched
product. Both stand in one row buffer, so that one softmax covers them: no merging of partial sums.
A span without a group is a group of one: its shared part is the leading run of its blocks, which is
read in place.
"""

import numpy as np
import torch

from hitpath.engine.attention import LayerKind
from hitpath.engine.batch import Span, SpanGroup
from hitpath.engine.kv_tensors import KVTensors, Numbers
from hitpath.engine.scratch import Scratch, cap_scores, fold, unfold_into

_ROWS_AT_ONCE = 1024
"""Rows of scores in the buffer at a time: 4 MB at 2,000 tokens stay near the processor."""


class Cascade:
    """One group of a step. Spans of unequal width are padded to the widest."""

    def __init__(self, group: SpanGroup, kv: KVTensors, scratch: Scratch) -> None:
        self._kv = kv
        self._scratch = scratch
        self._spans = group.spans
        first = self._spans[0]
        self._num_shared = group.num_shared
        if len(self._spans) == 1:
            self._num_shared = leading_run(first, kv)
        self._shared = kv.where(first.blocks, self._num_shared)
        new = np.array([span.num_new for span in self._spans])
        context = np.array([span.num_context for span in self._spans])
        self._wide = int(new.max())
        self._rest = int(context.max()) - self._num_shared
        self._rest_pages = kv.slots_to_read(self._rest_slots(context))
        within = np.minimum(np.arange(self._wide), new[:, None] - 1)  # of a span's own queries
        self._mask = self._hidden(context, (context - new)[:, None] + within)
        self._rows = self._padded_rows(new, within)
        self._real = kv.tensor((np.arange(self._wide) < new[:, None]).reshape(-1))

    def attend(self, kind: LayerKind, queries: torch.Tensor, out: torch.Tensor) -> None:
        shared = self._kv.read(kind.number, self._shared)
        own_keys, own_values = self._kv.read_slots(kind.number, self._rest_pages)
        num_kv_heads, _, dim = own_keys.shape
        shape = (num_kv_heads, len(self._spans), self._rest, dim)
        own_keys, own_values = own_keys.view(shape), own_values.view(shape)
        group = queries.shape[1] // num_kv_heads
        folded = fold(self._gather(queries), num_kv_heads)
        found = torch.empty(folded.shape, dtype=folded.dtype)
        tall = self._wide * group
        step = max(1, _ROWS_AT_ONCE // tall)
        for start in range(0, len(self._spans), step):
            end = min(start + step, len(self._spans))
            rows = slice(start * tall, end * tall)
            self._attend_some(
                kind,
                folded[:, rows],
                shared,
                (own_keys[:, start:end], own_values[:, start:end]),
                None if self._mask is None else self._mask[start:end],
                found[:, rows],
            )
        self._scatter(found, out)

    def _attend_some(
        self,
        kind: LayerKind,
        folded: torch.Tensor,
        shared: tuple[torch.Tensor, torch.Tensor],
        own: tuple[torch.Tensor, torch.Tensor],
        mask: torch.Tensor | None,
        found: torch.Tensor,
    ) -> None:
        """Rows [kv head, spans x wide x group, dim] of a few spans."""
        num_kv_heads, num_rows, dim = folded.shape
        own_keys, own_values = own
        num_spans = own_keys.shape[1]
        shape: tuple[int, ...] = (num_kv_heads, num_rows, self._num_shared + self._rest)
        scores = self._scratch.get("scores", shape, folded.dtype)
        left, right = scores[..., : self._num_shared], scores[..., self._num_shared :]
        if self._num_shared:
            # A batched product wants each operand in one piece; it would transpose a copy of this.
            torch.bmm(folded, shared[0].contiguous().transpose(1, 2), out=left)
        by_span = folded.reshape(num_kv_heads * num_spans, -1, dim)
        products = torch.bmm(by_span, own_keys.flatten(0, 1).transpose(1, 2))
        right.copy_(products.view(right.shape))
        cap_scores(scores, kind.score_cap)
        if mask is not None:
            shape = (num_kv_heads, num_spans, self._wide, -1, self._rest)
            right.view(shape).add_(mask)
        torch.softmax(scores, -1, out=scores)
        weights = right.view(num_kv_heads * num_spans, -1, self._rest)
        sums = torch.bmm(weights, own_values.flatten(0, 1)).view(found.shape)
        if self._num_shared:
            sums += torch.bmm(left, shared[1])
        found.copy_(sums)

    def _rest_slots(self, context: Numbers) -> Numbers:
        """Slots of what is not shared, span after span [spans x rest]; a shorter span's last one
        stands again in the padding."""
        size = self._kv.block_size
        first = self._num_shared // size
        blocks = [span.blocks[first:] for span in self._spans]
        begins = np.cumsum([0, *map(len, blocks[:-1])])[:, None]
        at = np.minimum(
            np.arange(self._num_shared, self._num_shared + self._rest), context[:, None] - 1
        )
        found = np.concatenate(blocks)[begins + at // size - first].astype(np.int64)
        slots: Numbers = (found * size + at % size).reshape(-1)
        return slots

    def _hidden(self, context: Numbers, last_seen: Numbers) -> torch.Tensor | None:
        """-inf where a query may not see a slot of the rest: [spans, wide, 1, rest]; None where
        every query sees all of it. Padding queries see what the last one sees."""
        if self._wide == 1 and bool((context - self._num_shared == self._rest).all()):
            return None
        columns = torch.arange(self._num_shared, self._num_shared + self._rest)
        hidden = columns > self._kv.tensor(last_seen).unsqueeze(-1)
        mask = torch.zeros(hidden.shape, dtype=self._kv.dtype).masked_fill_(hidden, -torch.inf)
        return mask.unsqueeze(2)

    def _padded_rows(self, new: Numbers, within: Numbers) -> torch.Tensor | None:
        """Row of each query of the padded spans; None where nothing is padded."""
        if bool((new == self._wide).all()):
            return None
        rows = np.array([span.row for span in self._spans])[:, None] + within
        return self._kv.tensor(rows.reshape(-1))

    def _gather(self, queries: torch.Tensor) -> torch.Tensor:
        if self._rows is not None:
            return queries.index_select(0, self._rows)
        first = self._spans[0].row
        return queries[first : first + len(self._spans) * self._wide]

    def _scatter(self, found: torch.Tensor, out: torch.Tensor) -> None:
        if self._rows is None:
            first = self._spans[0].row
            unfold_into(found, out[first : first + len(self._spans) * self._wide])
            return
        padded = torch.empty((len(self._rows), *out.shape[1:]), dtype=out.dtype)
        unfold_into(found, padded)
        out.index_copy_(0, self._rows[self._real], padded[self._real])


def leading_run(span: Span, kv: KVTensors) -> int:
    """Cached tokens at the start of a context that one view covers, or that one gather may."""
    blocks = span.blocks
    steps = blocks[1:] - blocks[:-1] != 1
    run = int(steps.argmax()) + 1 if steps.any() else len(blocks)
    tokens = min(run * kv.block_size, span.num_cached)
    return tokens if 2 * tokens >= span.num_cached else span.num_cached
