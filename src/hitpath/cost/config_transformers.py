"""Readers of transformers: dense and with experts, grouped-query attention and MLA.

References: src/transformers/models/<architecture>/ of Hugging Face transformers 5.24.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.cost.config_attention import (
    Attention,
    Flag,
    attention_layers,
    flag,
    heads,
    latent_attention,
)
from hitpath.cost.config_fields import Fields
from hitpath.cost.config_parts import (
    Layer,
    Parts,
    Reader,
    deepseek_experts,
    grouped,
    local_experts,
    qwen_experts,
    sparse_layers,
)
from hitpath.cost.shapes import Dense, Experts, FeedForward, Mixer

BIAS = Flag("attention_bias")
EVERYWHERE = Attention(qkv_bias=BIAS, output_bias=BIAS, as_many_kv_heads=True)
QWEN3 = Attention(
    qkv_bias=BIAS, output_bias=BIAS, query_key_norms="head", windows="after", own_head_dim=True
)
GLM = Attention(qkv_bias=Flag("attention_bias", True))


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseStyle:
    """A dense architecture. `norms`: vectors of the model's width a layer; `plain`: two
    matrices with biases and layer norms with biases instead of three and root-mean-square
    norms, and a bias of the head (Phi)."""

    attention: Attention
    norms: int = 2
    tied: bool = False
    mlp_bias: bool | Flag = False
    plain: bool = False


DENSE = {
    "llama": DenseStyle(attention=EVERYWHERE, mlp_bias=Flag("mlp_bias")),
    "granite": DenseStyle(attention=EVERYWHERE, mlp_bias=Flag("mlp_bias")),
    "smollm3": DenseStyle(
        attention=Attention(qkv_bias=BIAS, output_bias=BIAS), mlp_bias=Flag("mlp_bias"), tied=True
    ),
    "mistral": DenseStyle(attention=Attention(windows="every")),
    "ministral3": DenseStyle(attention=Attention(windows="every", own_head_dim=True)),
    "qwen2": DenseStyle(attention=Attention(qkv_bias=True, windows="after")),
    "qwen3": DenseStyle(attention=QWEN3),
    "gemma": DenseStyle(
        attention=Attention(qkv_bias=BIAS, output_bias=BIAS, own_head_dim=True), tied=True
    ),
    "gemma2": DenseStyle(
        attention=Attention(
            qkv_bias=BIAS, output_bias=BIAS, windows="pattern", full_every=2, own_head_dim=True
        ),
        norms=4,
        tied=True,
    ),
    "gemma3_text": DenseStyle(
        attention=Attention(
            qkv_bias=BIAS,
            output_bias=BIAS,
            query_key_norms="head",
            windows="pattern",
            full_every=6,
            own_head_dim=True,
        ),
        norms=4,
        tied=True,
    ),
    "phi": DenseStyle(
        attention=Attention(qkv_bias=True, output_bias=True, as_many_kv_heads=True),
        norms=1,
        plain=True,
    ),
    "phi3": DenseStyle(attention=Attention(windows="every", as_many_kv_heads=True)),
    "olmo2": DenseStyle(
        attention=Attention(
            qkv_bias=BIAS, output_bias=BIAS, query_key_norms="all", as_many_kv_heads=True
        )
    ),
    "olmo3": DenseStyle(
        attention=Attention(
            qkv_bias=BIAS,
            output_bias=BIAS,
            query_key_norms="all",
            windows="pattern",
            full_every=4,
            as_many_kv_heads=True,
        )
    ),
    "cohere": DenseStyle(
        attention=Attention(
            qkv_bias=BIAS,
            output_bias=BIAS,
            query_key_norms="all",
            norms_flag=Flag("use_qk_norm"),
            as_many_kv_heads=True,
        ),
        norms=1,
        tied=True,
    ),
    "cohere2": DenseStyle(
        attention=Attention(
            qkv_bias=BIAS,
            output_bias=BIAS,
            windows="pattern",
            full_every=4,
            as_many_kv_heads=True,
        ),
        norms=1,
        tied=True,
    ),
    "glm": DenseStyle(attention=GLM),
    "glm4": DenseStyle(attention=GLM, norms=4),
}


def _dense(style: DenseStyle) -> Reader:
    def read(fields: Fields) -> Parts:
        if fields.flag("qk_layernorm", False):
            raise fields.error("qk_layernorm", "not known here")
        width = fields.count("hidden_size") * (2 if style.plain else 1)  # a norm, and its bias
        part = Dense(
            intermediate=fields.count("intermediate_size"),
            gated=not style.plain,
            biases=style.plain or flag(fields, style.mlp_bias),
        )
        mixers = attention_layers(fields, style.attention, heads(fields, style.attention))
        norms = style.norms * width
        return Parts(
            layers=grouped(
                Layer(mixers=(mixer,), feed_forward=part, norm_parameters=norms) for mixer in mixers
            ),
            final_norm_parameters=width,
            tied=style.tied,
            head_bias=style.plain,
        )

    return read


def _with_experts(
    fields: Fields, mixers: Sequence[Mixer], feed_forwards: Sequence[FeedForward]
) -> Parts:
    d_model = fields.count("hidden_size")
    return Parts(
        layers=grouped(
            Layer(mixers=(mixer,), feed_forward=part, norm_parameters=2 * d_model)
            for mixer, part in zip(mixers, feed_forwards, strict=True)
        ),
        final_norm_parameters=d_model,
    )


def _mixtral(fields: Fields) -> Parts:
    style = Attention(windows="every")
    mixers = attention_layers(fields, style, heads(fields, style))
    experts = local_experts(fields, biases=False, router_bias=False)
    return _with_experts(fields, mixers, [experts] * len(mixers))


def _gpt_oss(fields: Fields) -> Parts:
    bias = Flag("attention_bias", True)
    style = Attention(
        qkv_bias=bias, output_bias=bias, windows="pattern", full_every=2, own_head_dim=True
    )
    mixers = attention_layers(fields, style, heads(fields, style, sinks=True))
    experts = local_experts(fields, biases=True, router_bias=True)
    return _with_experts(fields, mixers, [experts] * len(mixers))


def _minimax_m2(fields: Fields) -> Parts:
    style = Attention(
        query_key_norms="all", norms_flag=Flag("use_qk_norm", True), own_head_dim=True
    )
    mixers = attention_layers(fields, style, heads(fields, style))
    experts = local_experts(fields, biases=False, router_bias=fields.flag("use_routing_bias", True))
    return _with_experts(fields, mixers, [experts] * len(mixers))


def _qwen2_moe(fields: Fields) -> Parts:
    style = Attention(qkv_bias=Flag("qkv_bias", True))
    mixers = attention_layers(fields, style, heads(fields, style))
    return _with_experts(fields, mixers, sparse_layers(fields, qwen_experts(fields, shared=True)))


def _qwen3_moe(fields: Fields) -> Parts:
    style = Attention(qkv_bias=BIAS, output_bias=BIAS, query_key_norms="head", own_head_dim=True)
    mixers = attention_layers(fields, style, heads(fields, style))
    return _with_experts(fields, mixers, sparse_layers(fields, qwen_experts(fields, shared=False)))


def _dense_first(fields: Fields, experts: Experts) -> list[FeedForward]:
    """The first layers dense, the rest with experts (DeepSeek, GLM)."""
    kinds = fields.names("mlp_layer_types")  # transformers 5 writes this for GLM-4.7-Flash
    if kinds is None:
        first, every = fields.at("first_k_dense_replace"), fields.count("moe_layer_freq", 1)
        kinds = [
            "sparse" if layer >= first and layer % every == 0 else "dense"
            for layer in range(fields.num_layers())
        ]
    other = sorted(set(kinds) - {"dense", "sparse"})
    if other:
        raise fields.error("mlp_layer_types", f"{', '.join(other)}: not known here")
    dense: FeedForward = experts
    if "dense" in kinds:
        dense = Dense(intermediate=fields.count("intermediate_size"))
    return [experts if kind == "sparse" else dense for kind in kinds]


def _deepseek(fields: Fields) -> Parts:
    """DeepSeek-V2 and V3, Kimi K2, GLM-4.7-Flash. V2 routes without a correction."""
    corrected = fields.values.get("topk_method", "noaux_tc") == "noaux_tc"
    experts = deepseek_experts(fields, router_bias=corrected)
    mixers = [latent_attention(fields)] * fields.num_layers()
    return _with_experts(fields, mixers, _dense_first(fields, experts))


def _deepseek_v2(fields: Fields) -> Parts:
    if "topk_method" not in fields.values:
        raise fields.error("topk_method", "missing")
    return _deepseek(fields)


def _glm4_moe(fields: Fields) -> Parts:
    style = Attention(qkv_bias=BIAS, query_key_norms="head", norms_flag=Flag("use_qk_norm"))
    for field in ("attention_bias", "use_qk_norm"):
        if field not in fields.values:  # GLM-4.5 and its default disagree
            raise fields.error(field, "missing")
    mixers = attention_layers(fields, style, heads(fields, style))
    experts = deepseek_experts(fields, router_bias=True)
    return _with_experts(fields, mixers, _dense_first(fields, experts))


TRANSFORMERS: dict[str, Reader] = {
    **{model_type: _dense(style) for model_type, style in DENSE.items()},
    "mixtral": _mixtral,
    "gpt_oss": _gpt_oss,
    "minimax_m2": _minimax_m2,
    "qwen2_moe": _qwen2_moe,
    "qwen3_moe": _qwen3_moe,
    "deepseek_v2": _deepseek_v2,
    "deepseek_v3": _deepseek,
    "glm4_moe_lite": _deepseek,
    "glm4_moe": _glm4_moe,
}
"""Readers by model_type."""
