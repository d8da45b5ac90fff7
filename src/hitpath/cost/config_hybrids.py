"""Readers of models with state layers: Mamba, Mamba-2, Gated DeltaNet, alone or with attention.

References: src/transformers/models/<architecture>/ of Hugging Face transformers 5.24.
"""

from hitpath.cost import state_layers
from hitpath.cost.config_attention import Attention, Flag, heads
from hitpath.cost.config_fields import Fields
from hitpath.cost.config_parts import (
    Layer,
    Parts,
    Reader,
    grouped,
    qwen_experts,
    sparse_layers,
    top_k,
)
from hitpath.cost.shapes import Dense, Experts, FeedForward, Mixer, StateLayer

BIAS = Flag("attention_bias")


def _mamba(fields: Fields, *, prefix: str, d_inner: int, inner_norms: bool) -> StateLayer:
    """Mamba-1 in the fields of Jamba (mamba_*) or of Mamba itself."""
    d_model = fields.count("hidden_size")
    rank = "mamba_dt_rank" if prefix else "time_step_rank"
    auto = fields.values.get(rank) == "auto"
    return state_layers.mamba(
        d_model,
        d_inner=d_inner,
        d_state=fields.count("mamba_d_state" if prefix else "state_size"),
        d_conv=fields.count("mamba_d_conv" if prefix else "conv_kernel"),
        dt_rank=-(-d_model // 16) if auto else fields.count(rank),
        projection_bias=fields.flag("mamba_proj_bias" if prefix else "use_bias", False),
        conv_bias=fields.flag("mamba_conv_bias" if prefix else "use_conv_bias", True),
        inner_norms=inner_norms,
    )


def _mamba2(fields: Fields, *, gated_norm: bool) -> StateLayer:
    """Mamba-2 in the fields of Bamba, Granite and Falcon-H1."""
    d_model, num_heads = fields.count("hidden_size"), fields.count("mamba_n_heads")
    if fields.values.get("mamba_d_head") == "auto":
        width = fields.count("mamba_expand") * d_model
        if width % num_heads:
            raise fields.error("mamba_d_head", f"auto, and {width} is no multiple of {num_heads}")
        head_dim = width // num_heads
    else:
        head_dim = fields.count("mamba_d_head")
    return state_layers.mamba2(
        d_model,
        num_heads=num_heads,
        head_dim=head_dim,
        d_state=fields.count("mamba_d_state"),
        num_groups=fields.count("mamba_n_groups"),
        d_conv=fields.count("mamba_d_conv"),
        projection_bias=fields.flag("mamba_proj_bias", False),
        conv_bias=fields.flag("mamba_conv_bias", True),
        gated_norm=gated_norm,
    )


def _only(fields: Fields, layer: StateLayer, *, tied: bool) -> Parts:
    d_model = fields.count("hidden_size")
    one = Layer(mixers=(layer,), feed_forward=None, norm_parameters=d_model)
    return Parts(
        layers=grouped([one] * fields.num_layers()), final_norm_parameters=d_model, tied=tied
    )


def _pure_mamba(fields: Fields) -> Parts:
    d_inner = fields.optional("intermediate_size")
    if d_inner is None:
        d_inner = fields.count("expand") * fields.count("hidden_size")
    return _only(fields, _mamba(fields, prefix="", d_inner=d_inner, inner_norms=False), tied=True)


def _pure_mamba2(fields: Fields) -> Parts:
    layer = state_layers.mamba2(
        fields.count("hidden_size"),
        num_heads=fields.count("num_heads"),
        head_dim=fields.count("head_dim"),
        d_state=fields.count("state_size"),
        num_groups=fields.count("n_groups"),
        d_conv=fields.count("conv_kernel"),
        projection_bias=fields.flag("use_bias", False),
        conv_bias=fields.flag("use_conv_bias", True),
        gated_norm=True,
    )
    return _only(fields, layer, tied=False)


def _jamba(fields: Fields) -> Parts:
    d_model, intermediate = fields.count("hidden_size"), fields.count("intermediate_size")
    d_inner = fields.count("mamba_expand") * d_model
    state = _mamba(fields, prefix="mamba", d_inner=d_inner, inner_norms=True)
    attention, dense = heads(fields, Attention()), Dense(intermediate=intermediate)
    experts: FeedForward = dense
    if fields.count("num_experts") > 1:
        experts = Experts(
            num_experts=fields.count("num_experts"),
            top_k=top_k(fields, "num_experts"),
            intermediate=intermediate,
        )
    period, offset = fields.count("attn_layer_period"), fields.at("attn_layer_offset")
    every, first = fields.count("expert_layer_period"), fields.at("expert_layer_offset")
    return Parts(
        layers=grouped(
            Layer(
                mixers=(attention if layer % period == offset else state,),
                feed_forward=experts if layer % every == first else dense,
                norm_parameters=2 * d_model,
            )
            for layer in range(fields.num_layers())
        ),
        final_norm_parameters=d_model,
    )


def _kinds(fields: Fields, field: str, known: set[str]) -> list[str]:
    kinds = fields.names(field)
    if kinds is None:
        raise fields.error(field, "missing")
    other = sorted(set(kinds) - known)
    if other:
        raise fields.error(field, f"{', '.join(other)}: not known here")
    return kinds


def _granite_hybrid(fields: Fields) -> Parts:
    d_model = fields.count("hidden_size")
    shared = fields.count("shared_intermediate_size")
    part: FeedForward = Dense(intermediate=shared)
    if fields.optional("num_local_experts"):
        part = Experts(
            num_experts=fields.count("num_local_experts"),
            top_k=top_k(fields, "num_local_experts"),
            intermediate=fields.count("intermediate_size"),
            shared_intermediate=shared,
        )
    kinds = _kinds(fields, "layer_types", {"mamba", "attention"})
    mixers: dict[str, Mixer] = {}
    if "attention" in kinds:
        style = Attention(qkv_bias=BIAS, output_bias=BIAS, as_many_kv_heads=True)
        mixers["attention"] = heads(fields, style)
    if "mamba" in kinds:
        mixers["mamba"] = _mamba2(fields, gated_norm=True)
    return Parts(
        layers=grouped(
            Layer(mixers=(mixers[kind],), feed_forward=part, norm_parameters=2 * d_model)
            for kind in kinds
        ),
        final_norm_parameters=d_model,
    )


def _falcon_h1(fields: Fields) -> Parts:
    """Attention and Mamba-2 side by side in each layer."""
    d_model, bias = fields.count("hidden_size"), fields.flag("mamba_proj_bias", False)
    if fields.flag("projectors_bias", False) != bias:
        raise fields.error("projectors_bias", "differs from mamba_proj_bias: not known here")
    style = Attention(qkv_bias=BIAS, output_bias=BIAS)
    state = _mamba2(fields, gated_norm=fields.flag("mamba_rms_norm", False))
    part = Dense(
        intermediate=fields.count("intermediate_size"), biases=fields.flag("mlp_bias", False)
    )
    layer = Layer(
        mixers=(heads(fields, style), state), feed_forward=part, norm_parameters=2 * d_model
    )
    return Parts(layers=grouped([layer] * fields.num_layers()), final_norm_parameters=d_model)


_NEMOTRON_KINDS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def _nemotron_kinds(fields: Fields) -> list[str]:
    """One kind a layer: a string of one letter each (Nemotron-H, 3 Nano) or a list of names."""
    pattern = fields.values.get("hybrid_override_pattern")
    if pattern is None:
        return _kinds(fields, "layers_block_type", set(_NEMOTRON_KINDS.values()))
    if not isinstance(pattern, str) or set(pattern) - set(_NEMOTRON_KINDS):
        raise fields.error("hybrid_override_pattern", f"{pattern!r}: not of M, *, - and E")
    if len(pattern) != fields.num_layers():
        raise fields.error(
            "hybrid_override_pattern", f"{len(pattern)} letters for {fields.num_layers()} layers"
        )
    return [_NEMOTRON_KINDS[letter] for letter in pattern]


def _nemotron_layer(fields: Fields, kind: str) -> Layer:
    """A mixer or a feed-forward part, never both; feed-forward parts have two matrices."""
    d_model = fields.count("hidden_size")
    mixers: tuple[Mixer, ...] = ()
    part: FeedForward | None = None
    match kind:
        case "mamba":
            mixers = (
                state_layers.mamba2(
                    d_model,
                    num_heads=fields.count("mamba_num_heads"),
                    head_dim=fields.count("mamba_head_dim"),
                    d_state=fields.count("ssm_state_size"),
                    num_groups=fields.count("n_groups"),
                    d_conv=fields.count("conv_kernel"),
                    projection_bias=fields.flag("use_bias", False),
                    conv_bias=fields.flag("use_conv_bias", True),
                    gated_norm=True,
                ),
            )
        case "attention":
            older = "attention_head_dim" in fields.values
            field = "attention_head_dim" if older else "head_dim"
            mixers = (heads(fields, Attention(own_head_dim=True, head_dim_field=field)),)
        case "mlp":
            part = Dense(
                intermediate=fields.count("intermediate_size"),
                gated=False,
                biases=fields.flag("mlp_bias", False),
            )
        case _:
            part = Experts(
                num_experts=fields.count("n_routed_experts"),
                top_k=top_k(fields, "n_routed_experts"),
                intermediate=fields.count("moe_intermediate_size"),
                gated=False,
                shared_intermediate=fields.count("moe_shared_expert_intermediate_size"),
                router_bias=True,
                latent=fields.optional("moe_latent_size"),
            )
    return Layer(mixers=mixers, feed_forward=part, norm_parameters=d_model)


def _nemotron_h(fields: Fields) -> Parts:
    kinds = _nemotron_kinds(fields)
    layers = {kind: _nemotron_layer(fields, kind) for kind in set(kinds)}
    return Parts(
        layers=grouped(layers[kind] for kind in kinds),
        final_norm_parameters=fields.count("hidden_size"),
    )


def _qwen_hybrid(fields: Fields, feed_forwards: list[FeedForward]) -> Parts:
    """Qwen3-Next and Qwen3.5: Gated DeltaNet, every full_attention_interval-th layer attention
    with an output gate."""
    d_model, num_layers = fields.count("hidden_size"), fields.num_layers()
    if "layer_types" in fields.values:
        full = [
            kind == "full_attention"
            for kind in _kinds(fields, "layer_types", {"full_attention", "linear_attention"})
        ]
    else:
        every = fields.count("full_attention_interval")
        full = [(layer + 1) % every == 0 for layer in range(num_layers)]
    style = Attention(qkv_bias=BIAS, output_bias=BIAS, query_key_norms="head", own_head_dim=True)
    attention = heads(fields, style, gate=True)
    state = state_layers.gated_delta_net(
        d_model,
        num_key_heads=fields.count("linear_num_key_heads"),
        num_value_heads=fields.count("linear_num_value_heads"),
        key_head_dim=fields.count("linear_key_head_dim"),
        value_head_dim=fields.count("linear_value_head_dim"),
        d_conv=fields.count("linear_conv_kernel_dim"),
    )
    return Parts(
        layers=grouped(
            Layer(
                mixers=(attention if is_full else state,),
                feed_forward=part,
                norm_parameters=2 * d_model,
            )
            for is_full, part in zip(full, feed_forwards, strict=True)
        ),
        final_norm_parameters=d_model,
    )


def _qwen_hybrid_experts(fields: Fields) -> Parts:
    return _qwen_hybrid(fields, sparse_layers(fields, qwen_experts(fields, shared=True)))


def _qwen_hybrid_dense(fields: Fields) -> Parts:
    dense = Dense(intermediate=fields.count("intermediate_size"))
    return _qwen_hybrid(fields, [dense] * fields.num_layers())


HYBRIDS: dict[str, Reader] = {
    "mamba": _pure_mamba,
    "falcon_mamba": _pure_mamba,
    "mamba2": _pure_mamba2,
    "jamba": _jamba,
    "granitemoehybrid": _granite_hybrid,
    "falcon_h1": _falcon_h1,
    "nemotron_h": _nemotron_h,
    "qwen3_next": _qwen_hybrid_experts,
    "qwen3_5_moe_text": _qwen_hybrid_experts,
    "qwen3_5_text": _qwen_hybrid_dense,
}
"""Readers by model_type."""
