"""The forward pass of a decoder over the rows of one step.

One function for all families: what one of them lacks (a norm, a cap, a scale) is None or 1.
"""

import torch

from hitpath.engine.attention import Attention, LayerKind, Plan
from hitpath.engine.batch import Batch
from hitpath.engine.kv_tensors import KVTensors, Slots
from hitpath.engine.layers import ACTIVATIONS
from hitpath.engine.model_config import ModelConfig
from hitpath.engine.rope import RopeTable, Turned, turn
from hitpath.engine.weights import LayerWeights, Weights


class Decoder:
    """Writes the KV of a step and computes hidden states and logits."""

    def __init__(
        self,
        config: ModelConfig,
        weights: Weights,
        kv: KVTensors,
        attention: Attention,
        max_len: int,
    ) -> None:
        self.config = config
        self._weights = weights
        self._kv = kv
        self._attention = attention
        self._activation = ACTIVATIONS[config.activation]
        dtype = weights.embedding.dtype
        self._scale = torch.tensor(config.embedding_scale, dtype=dtype)
        ropes = {layer.rope for layer in config.layers}
        self._tables = {rope: RopeTable(rope, config, max_len, dtype) for rope in ropes}
        self._kinds = [
            LayerKind(i, layer.window, config.score_cap) for i, layer in enumerate(config.layers)
        ]

    def forward(self, batch: Batch) -> torch.Tensor:
        """Hidden states [T, hidden] after the last norm; the KV of all rows is written."""
        plan = self._attention.plan(batch)
        return self.run(batch.tokens, batch.positions, batch.slots, plan)

    def run(
        self, tokens: torch.Tensor, positions: torch.Tensor, slots: Slots, plan: Plan
    ) -> torch.Tensor:
        """The same with another plan, and nothing else of a batch."""
        turned = {rope: table.at(positions) for rope, table in self._tables.items()}
        x = self._weights.embedding.index_select(0, tokens)
        if self.config.embedding_scale != 1.0:
            x = x * self._scale
        for kind, layer, weights in zip(
            self._kinds, self.config.layers, self._weights.layers, strict=True
        ):
            x = self._layer(x, kind, weights, turned[layer.rope], slots, plan)
        return self._weights.norm(x)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """float32 [R, vocabulary]."""
        logits = self._weights.head(hidden).float()
        cap = self.config.logit_cap
        return logits if cap is None else torch.tanh(logits / cap) * cap

    def _layer(
        self,
        x: torch.Tensor,
        kind: LayerKind,
        weights: LayerWeights,
        turned: Turned,
        slots: Slots,
        plan: Plan,
    ) -> torch.Tensor:
        queries = self._write_kv(weights.before_attention(x), kind, weights, turned, slots)
        y = weights.out(plan.attend(kind, queries))
        if weights.after_attention is not None:
            y = weights.after_attention(y)
        x = x + y
        gate, up = weights.gate_up(weights.before_mlp(x)).chunk(2, dim=-1)
        y = weights.down(self._activation(gate).mul_(up))
        if weights.after_mlp is not None:
            y = weights.after_mlp(y)
        return x.add_(y)

    def _write_kv(
        self,
        x: torch.Tensor,
        kind: LayerKind,
        weights: LayerWeights,
        turned: Turned,
        slots: Slots,
    ) -> torch.Tensor:
        """Keys and values into their slots; the queries [T, query head, dim] are returned."""
        config = self.config
        heads = weights.qkv(x).view(len(x), -1, config.head_dim)
        num_turned = config.num_heads + config.num_kv_heads
        turning, values = heads[:, :num_turned], heads[:, num_turned:]
        if weights.query_norm is not None and weights.key_norm is not None:
            turning = torch.cat(
                [
                    weights.query_norm(turning[:, : config.num_heads]),
                    weights.key_norm(turning[:, config.num_heads :]),
                ],
                dim=1,
            )
        turning = turn(turning, turned)
        self._kv.write(kind.number, slots, turning[:, config.num_heads :], values)
        return turning[:, : config.num_heads]
