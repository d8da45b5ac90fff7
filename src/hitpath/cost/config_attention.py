"""Attention of a config.json: heads, biases, norms, and which layers look through a window.

What an architecture has without saying so in its config (biases, norms of queries and keys,
the layers that slide) is as in the modelling and configuration files of Hugging Face
transformers 5.24, src/transformers/models/<architecture>/.
"""

from dataclasses import dataclass
from typing import Literal

from hitpath.cost.config_fields import Fields
from hitpath.cost.shapes import FullAttention, LatentAttention, SlidingAttention

Norms = Literal["none", "head", "all"]
Windows = Literal["never", "every", "after", "pattern"]


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the config and what it is where the config does not say."""

    field: str
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """How an architecture attends.

    `query_key_norms`: one weight an element of a head, or one an element of all heads together;
    with `norms_flag` only where that flag of the config is true.
    `windows`: never; in every layer (sliding_window, null for none); in the layers after
    max_window_layers (if use_sliding_window); by a pattern whose every n-th layer is full. A
    config's layer_types overrides the pattern. `own_head_dim`: head_dim has to be there, for
    the architecture's own default is not hidden_size / heads. `as_many_kv_heads`: an absent
    num_key_value_heads means one a query head.
    """

    qkv_bias: bool | Flag = False
    output_bias: bool | Flag = False
    query_key_norms: Norms = "none"
    norms_flag: Flag | None = None
    windows: Windows = "never"
    full_every: int = 1
    own_head_dim: bool = False
    head_dim_field: str = "head_dim"
    as_many_kv_heads: bool = False


def flag(fields: Fields, value: bool | Flag) -> bool:
    return value if isinstance(value, bool) else fields.flag(value.field, value.default)


def heads(
    fields: Fields, style: Attention, *, gate: bool = False, sinks: bool = False
) -> FullAttention:
    """The heads of one attention layer. `sinks`: one learned number a query head (gpt-oss)."""
    num_heads = fields.count("num_attention_heads")
    num_kv_heads = fields.count(
        "num_key_value_heads", num_heads if style.as_many_kv_heads else None
    )
    head_dim = _head_dim(fields, style, num_heads)
    match style.query_key_norms:
        case "none":
            norms = 0
        case "head":
            norms = 2 * head_dim
        case "all":
            norms = (num_heads + num_kv_heads) * head_dim
    if style.norms_flag is not None and not flag(fields, style.norms_flag):
        norms = 0
    return FullAttention(
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        qkv_bias=flag(fields, style.qkv_bias),
        output_bias=flag(fields, style.output_bias),
        output_gate=gate,
        vector_parameters=norms + (num_heads if sinks else 0),
    )


def _head_dim(fields: Fields, style: Attention, num_heads: int) -> int:
    if style.own_head_dim or fields.values.get(style.head_dim_field) is not None:
        return fields.count(style.head_dim_field)
    d_model = fields.count("hidden_size")
    if d_model % num_heads:
        raise fields.error("head_dim", f"missing, and {d_model} is no multiple of {num_heads}")
    return d_model // num_heads


def attention_layers(
    fields: Fields, style: Attention, one: FullAttention
) -> list[FullAttention | SlidingAttention]:
    """One entry a layer: the same heads, with a window where there is one."""
    windows = _windows(fields, style)
    return [
        one if window is None else SlidingAttention(heads=one, window_tokens=window)
        for window in windows
    ]


def _windows(fields: Fields, style: Attention) -> list[int | None]:
    kinds = fields.names("layer_types")
    if kinds is not None:
        other = sorted(set(kinds) - {"full_attention", "sliding_attention"})
        if other:
            raise fields.error("layer_types", f"{', '.join(other)}: not known here")
        return [_window(fields) if kind == "sliding_attention" else None for kind in kinds]
    layers = range(fields.num_layers())
    match style.windows:
        case "never":
            if fields.flag("use_sliding_window", False) or (
                fields.optional("sliding_window") and "use_sliding_window" not in fields.values
            ):
                raise fields.error("sliding_window", "not known which layers have it")
            return [None for _ in layers]
        case "every":
            window = None if fields.optional("sliding_window") is None else _window(fields)
            return [window for _ in layers]
        case "after":
            if not fields.flag("use_sliding_window", False):
                return [None for _ in layers]
            first = fields.at("max_window_layers")
            return [_window(fields) if layer >= first else None for layer in layers]
        case "pattern":
            every = fields.count("sliding_window_pattern", style.full_every)
            return [_window(fields) if (layer + 1) % every else None for layer in layers]


def _window(fields: Fields) -> int | None:
    """The window; None where no sequence is longer than it (Phi-3.5: 262,144 of 131,072)."""
    window = fields.count("sliding_window")
    longest = fields.optional("max_position_embeddings")
    return None if longest is not None and window >= longest else window


def latent_attention(fields: Fields) -> LatentAttention:
    """MLA of DeepSeek-V2, V3, Kimi K2, GLM-4.7-Flash."""
    return LatentAttention(
        num_heads=fields.count("num_attention_heads"),
        q_lora_rank=fields.nullable("q_lora_rank"),
        kv_lora_rank=fields.count("kv_lora_rank"),
        qk_nope_head_dim=fields.count("qk_nope_head_dim"),
        qk_rope_head_dim=fields.count("qk_rope_head_dim"),
        v_head_dim=fields.count("v_head_dim"),
        bias=fields.flag("attention_bias", False),
    )
