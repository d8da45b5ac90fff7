"""How many parameters a shape has: stored, used by one token, read by a step of many.

`linear_*` counts are the matrices of the blocks alone (P of the cost formulas): no embeddings, no
output head, no biases, norms, convolution taps. 2 FLOPs a token and linear parameter.
"""

import math

from hitpath.cost.shapes import (
    Dense,
    Experts,
    FeedForward,
    FullAttention,
    LatentAttention,
    LayerGroup,
    Mixer,
    ModelShape,
    SlidingAttention,
    StateLayer,
)


def num_parameters(shape: ModelShape) -> int:
    """All stored parameters; a tied head is counted once."""
    return _embedding_and_head(shape) + sum(
        group.count * (_linear(shape, group, None) + _vectors(group, shape.d_model, None))
        for group in shape.layers
    )


def active_parameters(shape: ModelShape) -> int:
    """What one token uses: everything but the experts it is not sent to. The embedding table
    is counted whole, as DeepSeek and Qwen do; OpenAI leaves it out of its 5.1 B of gpt-oss-120b.
    """
    return _embedding_and_head(shape) + sum(
        group.count
        * (_linear(shape, group, _top_k(group)) + _vectors(group, shape.d_model, _top_k(group)))
        for group in shape.layers
    )


def linear_parameters(shape: ModelShape) -> int:
    """Weights of the linear layers of all blocks, all experts among them (P, what is stored)."""
    return sum(group.count * _linear(shape, group, None) for group in shape.layers)


def active_linear_parameters(shape: ModelShape) -> int:
    """Weights of the linear layers of all blocks that one token is multiplied with."""
    return sum(group.count * _linear(shape, group, _top_k(group)) for group in shape.layers)


def touched_linear_parameters(shape: ModelShape, tokens: int) -> float:
    """Weights of the linear layers that a step of so many tokens reads, as an expectation: an
    expert that no token is sent to is not read (touched_expert_share)."""
    total = 0.0
    for group in shape.layers:
        share = 1.0
        if isinstance(group.feed_forward, Experts):
            experts = group.feed_forward
            share = touched_expert_share(experts.num_experts, experts.top_k, tokens)
        unrouted = _linear(shape, group, 0)
        total += group.count * (unrouted + share * (_linear(shape, group, None) - unrouted))
    return total


def touched_expert_share(num_experts: int, top_k: int, tokens: int) -> float:
    """Expected share of the experts that at least one of so many tokens is sent to.

    Each token draws `top_k` different experts, all sets equally likely, tokens independently:
    an expert is missed by one token with 1 - k/E. Real routers are less even, so fewer are read.
    """
    if tokens == 0:
        return 0.0
    if top_k >= num_experts:
        return 1.0
    return -math.expm1(tokens * math.log1p(-top_k / num_experts))


def head_parameters(shape: ModelShape) -> int:
    """Weights of the output head (P_head), applied to the last token of a prompt only."""
    return shape.d_model * shape.vocabulary


def _embedding_and_head(shape: ModelShape) -> int:
    tables = 1 if shape.tied_embeddings else 2
    bias = shape.vocabulary if shape.head_bias else 0
    return tables * head_parameters(shape) + bias + shape.final_norm_parameters


def _top_k(group: LayerGroup) -> int | None:
    return group.feed_forward.top_k if isinstance(group.feed_forward, Experts) else None


def _linear(shape: ModelShape, group: LayerGroup, experts: int | None) -> int:
    """Linear weights of one layer of the group; of its experts so many, None: all."""
    mixers = sum(_mixer_linear(mixer, shape.d_model) for mixer in group.mixers)
    return mixers + _feed_forward_linear(group.feed_forward, shape.d_model, experts)


def _mixer_linear(mixer: Mixer, d_model: int) -> int:
    match mixer:
        case FullAttention():
            queries = mixer.num_heads * mixer.head_dim
            projected = (2 if mixer.output_gate else 1) * queries
            projected += 2 * mixer.num_kv_heads * mixer.head_dim
            return d_model * (projected + queries)
        case SlidingAttention():
            return _mixer_linear(mixer.heads, d_model)
        case LatentAttention():
            query_width = mixer.num_heads * (mixer.qk_nope_head_dim + mixer.qk_rope_head_dim)
            if mixer.q_lora_rank is None:
                queries = d_model * query_width
            else:
                queries = mixer.q_lora_rank * (d_model + query_width)
            down = d_model * (mixer.kv_lora_rank + mixer.qk_rope_head_dim)
            up = mixer.kv_lora_rank * mixer.num_heads * (mixer.qk_nope_head_dim + mixer.v_head_dim)
            return queries + down + up + mixer.num_heads * mixer.v_head_dim * d_model
        case StateLayer():
            return mixer.linear_parameters


def _mixer_vectors(mixer: Mixer, d_model: int) -> int:
    match mixer:
        case FullAttention():
            queries = (2 if mixer.output_gate else 1) * mixer.num_heads * mixer.head_dim
            projected = queries + 2 * mixer.num_kv_heads * mixer.head_dim
            biases = (projected if mixer.qkv_bias else 0) + (d_model if mixer.output_bias else 0)
            return mixer.vector_parameters + biases
        case SlidingAttention():
            return _mixer_vectors(mixer.heads, d_model)
        case LatentAttention():
            latents = mixer.kv_lora_rank + (mixer.q_lora_rank or 0)  # a norm of each latent
            biases = latents + mixer.qk_rope_head_dim + d_model if mixer.bias else 0
            return latents + biases
        case StateLayer():
            return mixer.vector_parameters


def _matrices(gated: bool) -> int:
    return 3 if gated else 2


def _feed_forward_linear(part: FeedForward | None, d_model: int, experts: int | None) -> int:
    match part:
        case None:
            return 0
        case Dense():
            return _matrices(part.gated) * d_model * part.intermediate
        case Experts():
            matrices, routed = _matrices(part.gated), experts
            if routed is None:
                routed = part.num_experts
            into = d_model if part.latent is None else part.latent
            always = d_model * part.num_experts  # the router
            always += d_model if part.shared_gate else 0
            always += 2 * d_model * into if part.latent is not None else 0  # there and back
            always += matrices * d_model * part.shared_intermediate
            return always + matrices * into * routed * part.intermediate


def _vectors(group: LayerGroup, d_model: int, experts: int | None) -> int:
    """Norms, biases and the like of one layer; of its experts' biases so many, None: all."""
    vectors = group.norm_parameters + sum(_mixer_vectors(m, d_model) for m in group.mixers)
    match group.feed_forward:
        case Dense(biases=True) as part:
            vectors += (_matrices(part.gated) - 1) * part.intermediate + d_model
        case Experts() as part:
            routed = part.num_experts if experts is None else experts
            one = (_matrices(part.gated) - 1) * part.intermediate + d_model
            vectors += routed * one if part.expert_biases else 0
            vectors += part.num_experts if part.router_bias else 0
    return vectors
