"""The matrix products of one token through the blocks: what they read and write besides weights.

Products with the same input are one, as engines fuse them: queries, keys and values; gate and up.
Norms, rotary embedding and the activation function between two products are not counted, as in
the FLOPs. On several GPUs a product is split by its columns (every GPU reads the whole input) or
by its rows (every GPU writes a whole output, which the all-reduce sums), as Megatron does
(arXiv 1909.08053, section 3).

Biases are left out. Of a state layer only the sum of its projections is known: Mamba-1's small
inner ones (x_proj, dt_proj) count as fused with its kernel.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hitpath.cost.shapes import (
    Dense,
    Experts,
    FeedForward,
    FullAttention,
    LatentAttention,
    Mixer,
    SlidingAttention,
    StateLayer,
)


@dataclass(frozen=True, slots=True)
class Widths:
    """Elements that one token reads and writes at some products. `whole`: on every GPU;
    `split`: over all GPUs together."""

    whole: int = 0
    split: int = 0

    def over(self, num_gpus: int) -> int:
        """Elements on so many GPUs together."""
        return num_gpus * self.whole + self.split

    def times(self, count: int) -> "Widths":
        """Of so many equal layers."""
        return Widths(count * self.whole, count * self.split)

    def __add__(self, other: "Widths") -> "Widths":
        return Widths(self.whole + other.whole, self.split + other.split)


def sum_of(widths: Iterable[Widths]) -> Widths:
    """All of them together."""
    return sum(widths, Widths())


def by_columns(inputs: int, outputs: int) -> Widths:
    """A product whose output is divided between the GPUs."""
    return Widths(inputs, outputs)


def by_rows(inputs: int, outputs: int) -> Widths:
    """A product whose input is divided between the GPUs."""
    return Widths(outputs, inputs)


def mixer_widths(mixer: Mixer, d_model: int) -> Widths:
    """Of one attention or state layer."""
    match mixer:
        case FullAttention():
            queries = mixer.num_heads * mixer.head_dim
            keys_and_values = 2 * mixer.num_kv_heads * mixer.head_dim
            projected = (2 if mixer.output_gate else 1) * queries + keys_and_values
            return by_columns(d_model, projected) + by_rows(queries, d_model)
        case SlidingAttention():
            return mixer_widths(mixer.heads, d_model)
        case LatentAttention():
            return _latent_widths(mixer, d_model)
        case StateLayer():
            return Widths(2 * d_model, mixer.linear_parameters // d_model)


def _latent_widths(mixer: LatentAttention, d_model: int) -> Widths:
    heads = mixer.num_heads
    query_width = heads * (mixer.qk_nope_head_dim + mixer.qk_rope_head_dim)
    expanded = heads * (mixer.qk_nope_head_dim + mixer.v_head_dim)
    latent = mixer.kv_lora_rank + mixer.qk_rope_head_dim
    if mixer.q_lora_rank is None:
        queries = by_columns(d_model, query_width) + Widths(latent, 0)
    else:
        down = Widths(d_model + mixer.q_lora_rank + latent, 0)  # too small to be divided
        queries = down + by_columns(mixer.q_lora_rank, query_width)
    keys_and_values = by_columns(mixer.kv_lora_rank, expanded)
    return queries + keys_and_values + by_rows(heads * mixer.v_head_dim, d_model)


def always_widths(part: FeedForward | None, d_model: int) -> Widths:
    """Of a feed-forward part, without the experts that a token is sent to."""
    match part:
        case None:
            return Widths()
        case Dense():
            return _two_products(part.intermediate, d_model, part.gated)
        case Experts():
            widths = by_columns(d_model, part.num_experts)  # the router
            if part.shared_intermediate:
                widths += _two_products(part.shared_intermediate, d_model, part.gated)
            if part.latent is not None:
                widths += Widths(2 * (d_model + part.latent), 0)
            return widths


def routed_widths(part: Experts, d_model: int) -> Widths:
    """Of the `top_k` experts that a token is sent to: each reads a copy of it."""
    into = d_model if part.latent is None else part.latent
    return _two_products(part.intermediate, into, part.gated).times(part.top_k)


def _two_products(intermediate: int, d_model: int, gated: bool) -> Widths:
    up = by_columns(d_model, (2 if gated else 1) * intermediate)
    return up + by_rows(intermediate, d_model)
