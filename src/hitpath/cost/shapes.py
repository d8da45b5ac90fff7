"""The shape of a decoder: what its layers are made of, as plain frozen records.

A layer is some mixers (attention or a state layer; Falcon-H1 runs both side by side, Nemotron-H
has layers with none) and at most one feed-forward part. Counts are elements or heads; nothing
here knows bytes or seconds. Two kinds of weights are told apart everywhere: *linear* ones, the
matrices that every token is multiplied with, and *vectors*: biases, norms, convolution taps,
decay rates, attention sinks, which cost no matrix product.
"""

from dataclasses import dataclass
from typing import Literal

StateKind = Literal["mamba", "mamba2", "gated_delta_net"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FullAttention:
    """Grouped-query attention over all earlier tokens. `output_gate`: the query projection also
    makes a gate of the output's width (Qwen3-Next). `vector_parameters`: norms of queries and
    keys, sinks; biases are counted from their flags."""

    num_heads: int
    num_kv_heads: int
    head_dim: int
    qkv_bias: bool = False
    output_bias: bool = False
    output_gate: bool = False
    vector_parameters: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingAttention:
    """The same heads, but a token sees at most `window_tokens` keys, itself among them."""

    heads: FullAttention
    window_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention (MLA): DeepSeek-V2, arXiv 2405.04434, section 2.1. The cache
    holds one latent of `kv_lora_rank` and one rotary key of `qk_rope_head_dim` a token.
    `q_lora_rank` None: queries are not compressed. `bias`: on the two down-projections and the
    output (attention_bias in the config)."""

    num_heads: int
    q_lora_rank: int | None
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int
    bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLayer:
    """A recurrence whose memory does not grow: `state_elements` of recurrent state and
    `conv_state_elements` of convolution inputs a sequence. `flops_per_token` is the recurrence
    and the convolution, without the linear layers (state_layers.py has the formulas)."""

    kind: StateKind
    linear_parameters: int
    vector_parameters: int
    state_elements: int
    conv_state_elements: int
    flops_per_token: int


Mixer = FullAttention | SlidingAttention | LatentAttention | StateLayer


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """A feed-forward part that every token runs through. `gated`: three matrices, else two."""

    intermediate: int
    gated: bool = True
    biases: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """A mixture of experts: `top_k` of `num_experts` a token, each `intermediate` wide, beside
    shared experts of `shared_intermediate` in all (0: none). `shared_gate`: a projection to one
    number weighs the shared part (Qwen2-MoE). `router_bias`: one number an expert, be it a bias
    of the router (gpt-oss) or a load-balancing correction (DeepSeek-V3). `latent`: the routed
    experts work on a projection of the token to this width (Nemotron 3 Super)."""

    num_experts: int
    top_k: int
    intermediate: int
    gated: bool = True
    shared_intermediate: int = 0
    shared_gate: bool = False
    router_bias: bool = False
    expert_biases: bool = False
    latent: int | None = None


FeedForward = Dense | Experts


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGroup:
    """`count` equal layers, wherever they stand in the model. `norm_parameters` of one layer."""

    count: int
    mixers: tuple[Mixer, ...]
    feed_forward: FeedForward | None
    norm_parameters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """A decoder as it is served: without vision towers and multi-token-prediction layers.

    `source` says where the numbers were read. `tied_embeddings`: the output head is the
    embedding table and is stored once; it is multiplied with all the same.
    """

    name: str
    source: str
    d_model: int
    vocabulary: int
    tied_embeddings: bool
    layers: tuple[LayerGroup, ...]
    final_norm_parameters: int
    head_bias: bool = False

    @property
    def num_layers(self) -> int:
        return sum(group.count for group in self.layers)
