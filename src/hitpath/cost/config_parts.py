"""What a reader of an architecture hands over, and the feed-forward parts they share."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hitpath.cost.config_fields import Fields
from hitpath.cost.shapes import Dense, Experts, FeedForward, LayerGroup, Mixer


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer. `norm_parameters`: its norms of the width of the model."""

    mixers: tuple[Mixer, ...]
    feed_forward: FeedForward | None
    norm_parameters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """All layers, and what stands around them. `tied`: tie_word_embeddings where absent."""

    layers: tuple[LayerGroup, ...]
    final_norm_parameters: int
    tied: bool = False
    head_bias: bool = False


Reader = Callable[[Fields], Parts]


def grouped(layers: Iterable[Layer]) -> tuple[LayerGroup, ...]:
    """Equal layers together, in the order of their first."""
    return tuple(
        LayerGroup(
            count=count,
            mixers=layer.mixers,
            feed_forward=layer.feed_forward,
            norm_parameters=layer.norm_parameters,
        )
        for layer, count in Counter(layers).items()
    )


def qwen_experts(fields: Fields, *, shared: bool) -> Experts:
    """Experts in the fields of Qwen MoE. `shared`: with a gated shared expert."""
    return Experts(
        num_experts=fields.count("num_experts"),
        top_k=top_k(fields, "num_experts"),
        intermediate=fields.count("moe_intermediate_size"),
        shared_intermediate=fields.count("shared_expert_intermediate_size") if shared else 0,
        shared_gate=shared,
    )


def sparse_layers(fields: Fields, experts: Experts) -> list[FeedForward]:
    """Which layers of Qwen MoE have experts: every decoder_sparse_step-th, but no
    mlp_only_layers."""
    step = fields.count("decoder_sparse_step", 1)
    dense_layers = fields.layer_numbers("mlp_only_layers")
    dense: FeedForward = experts
    if step > 1 or dense_layers:
        dense = Dense(intermediate=fields.count("intermediate_size"))
    return [
        experts if (layer + 1) % step == 0 and layer not in dense_layers else dense
        for layer in range(fields.num_layers())
    ]


def deepseek_experts(fields: Fields, *, router_bias: bool) -> Experts:
    """Experts in the fields of DeepSeek, which GLM shares."""
    intermediate = fields.count("moe_intermediate_size")
    return Experts(
        num_experts=fields.count("n_routed_experts"),
        top_k=top_k(fields, "n_routed_experts"),
        intermediate=intermediate,
        shared_intermediate=(fields.optional("n_shared_experts") or 0) * intermediate,
        router_bias=router_bias,
    )


def local_experts(fields: Fields, *, biases: bool, router_bias: bool) -> Experts:
    """Experts in the fields of Mixtral, which gpt-oss and MiniMax share."""
    return Experts(
        num_experts=fields.count("num_local_experts"),
        top_k=top_k(fields, "num_local_experts"),
        intermediate=fields.count("intermediate_size"),
        router_bias=router_bias,
        expert_biases=biases,
    )


def top_k(fields: Fields, num_experts: str) -> int:
    return fields.count("num_experts_per_tok", most=fields.count(num_experts))
