"""The interface of attention, and its two references: the obvious formula, and torch's own.

An implementation plans a step once (where each context stands, which masks it needs) and then
attends layer by layer. Queries come scaled already (weights.py); scores may be capped (Gemma 2);
a window w lets a token see itself and the w - 1 before it.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F

from hitpath.engine.batch import Batch, Span
from hitpath.engine.kv_tensors import KVTensors, Where


@dataclass(frozen=True, slots=True)
class LayerKind:
    """What attention must know of a layer: its number, its window, its cap of scores."""

    number: int
    window: int | None
    score_cap: float | None


class Plan(Protocol):
    """One step."""

    def attend(self, kind: LayerKind, queries: torch.Tensor) -> torch.Tensor:
        """Queries [T, query head, dim] against the KV of their contexts, which has been written:
        [T, query head x dim]."""


class Attention(Protocol):
    """A way to compute it."""

    def plan(self, batch: Batch) -> Plan:
        """Whatever of a step does not depend on the layer."""


def visible(span: Span, window: int | None) -> torch.Tensor:
    """Which of its context each row of a span sees: bool [num_new, num_context]."""
    rows = torch.arange(span.num_cached, span.num_context).unsqueeze(1)
    columns = torch.arange(span.num_context).unsqueeze(0)
    seen = columns <= rows
    return seen if window is None else seen & (columns > rows - window)


class OneByOne:
    """Each span on its own, its context read whole; `fused` by torch's kernel where there is no
    cap of scores, else scores, mask, softmax in fp32 and sum as four operations."""

    def __init__(self, kv: KVTensors, fused: bool) -> None:
        self._kv = kv
        self._fused = fused

    def plan(self, batch: Batch) -> Plan:
        spans = batch.spans
        return _OneByOnePlan(
            self._kv, self._fused, [(s, self._kv.where(s.blocks, s.num_context)) for s in spans]
        )


class _OneByOnePlan:
    def __init__(self, kv: KVTensors, fused: bool, spans: list[tuple[Span, Where]]) -> None:
        self._kv = kv
        self._fused = fused
        self._spans = spans

    def attend(self, kind: LayerKind, queries: torch.Tensor) -> torch.Tensor:
        out = torch.empty(queries.shape, dtype=queries.dtype)
        for span, where in self._spans:
            keys, values = self._kv.read(kind.number, where)
            rows = slice(span.row, span.row + span.num_new)
            attend = _fused if self._fused and kind.score_cap is None else _plain
            heads = queries[rows].transpose(0, 1)
            out[rows] = attend(heads, keys, values, span, kind).transpose(0, 1)
        return out.flatten(1)


def _fused(
    heads: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, span: Span, kind: LayerKind
) -> torch.Tensor:
    causal = span.num_cached == 0 and kind.window is None
    sees_all = span.num_new == 1 and kind.window is None
    mask = None if causal or sees_all else visible(span, kind.window)
    found: torch.Tensor = F.scaled_dot_product_attention(
        heads.unsqueeze(0),
        keys.unsqueeze(0),
        values.unsqueeze(0),
        attn_mask=mask,
        is_causal=causal and mask is None and span.num_new > 1,
        scale=1.0,
        enable_gqa=True,
    )
    return found[0]


def _plain(
    heads: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, span: Span, kind: LayerKind
) -> torch.Tensor:
    group = heads.shape[0] // keys.shape[0]
    scores = heads @ keys.repeat_interleave(group, 0).transpose(1, 2)
    if kind.score_cap is not None:
        scores = torch.tanh(scores / kind.score_cap) * kind.score_cap
    scores = scores.float().masked_fill(~visible(span, kind.window), -torch.inf)
    return scores.softmax(-1).to(heads.dtype) @ values.repeat_interleave(group, 0)
