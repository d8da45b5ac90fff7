"""Bytes of KV that one token takes, of a built-in model or from a Hugging Face config.json.

Full attention:  2 (key, value) x layers x KV heads x head size x bytes of an element.
MLA (DeepSeek):  layers x (kv_lora_rank + qk_rope_head_dim) x bytes: one latent, no heads
(DeepSeek-V2, arXiv 2405.04434, section 2.1). Models whose KV a token is no constant (sliding
windows, linear attention, Mamba) are refused: an error names the field.

A config.json needs these few fields only; whole shapes, with parameters and FLOPs, are in
shapes.py and config.py and need more.
"""

from dataclasses import dataclass
from typing import Any

from hitpath.core import InputError, SettingError
from hitpath.cost.config import read_config
from hitpath.cost.kv import has_constant_kv, kv_elements_per_token
from hitpath.cost.model_table import built_in, built_in_models, config_path

KV_DTYPE_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5, "int4": 0.5}

_STATEFUL = (
    "linear_num_value_heads",
    "linear_attn_config",
    "mamba_d_state",
    "ssm_state_size",
    "attn_layer_period",
)
_OTHERWISE = {
    "index_topk": "an index is cached beside the latents: not counted here",
    "compress_ratios": "compressed layers: not counted here",
    "attention_chunk_size": "KV a token is no constant past the chunk",
}


@dataclass(frozen=True, slots=True)
class ModelKV:
    """`kv_bytes_per_token` over all layers and all tensor-parallel ranks."""

    name: str
    kv_dtype: str
    kv_bytes_per_token: float

    def gib(self, tokens: int) -> float:
        """GiB of KV that so many tokens take."""
        return tokens * self.kv_bytes_per_token / 2**30

    def tokens(self, gib: float) -> int:
        """Tokens whose KV fits. Raises SettingError for a size that is none."""
        if not 0 < gib < 1e9:
            raise SettingError("--capacity-gib", f"{gib:g} is not a size")
        return int(gib * 2**30 // self.kv_bytes_per_token)


def model_names() -> list[str]:
    """The names of the built-in models whose KV a token is a constant."""
    return sorted(name for name, one in built_in_models().items() if has_constant_kv(one.shape()))


def load_model(name: str, kv_dtype: str) -> ModelKV:
    """A built-in model, or one described by a config.json (or the folder that holds it).

    Raises SettingError for an unknown name or type or a built-in model whose KV a token is not
    a constant, InputError for a config that lacks a field or is of such a model.
    """
    if kv_dtype not in KV_DTYPE_BYTES:
        raise SettingError(f"--kv-dtype {kv_dtype}", f"not one of {', '.join(KV_DTYPE_BYTES)}")
    size = KV_DTYPE_BYTES[kv_dtype]
    one = built_in(name)
    if one is None:
        path = config_path(name)
        config = read_config(path)
        text = config.get("text_config")  # multimodal models nest the language model's
        fields = text if isinstance(text, dict) else config
        return ModelKV(name, kv_dtype, _elements_per_token(fields, str(path)) * size)
    shape = one.shape()
    if not has_constant_kv(shape):
        cause = "KV a token is no constant: some layers keep a window or a state"
        raise SettingError(f"--model {name}", cause)
    return ModelKV(one.name, kv_dtype, kv_elements_per_token(shape) * size)


def _elements_per_token(config: dict[str, Any], place: str) -> int:
    for field in _STATEFUL:
        if config.get(field):
            raise InputError(place, field, "layers with a state: KV a token is no constant")
    for field, cause in _OTHERWISE.items():
        if config.get(field):
            raise InputError(place, field, cause)
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and set(map(str, kinds)) - {"full_attention"}:
        other = sorted(set(map(str, kinds)) - {"full_attention"})
        raise InputError(place, "layer_types", f"{', '.join(other)}: KV a token is no constant")
    if config.get("sliding_window") and config.get("use_sliding_window", True) and not kinds:
        raise InputError(place, "sliding_window", "KV a token is no constant past the window")

    def number(field: str) -> int:
        value = config.get(field)
        if type(value) is not int or value < 1:
            raise InputError(place, field, "missing" if value is None else f"{value!r} is no count")
        return value

    layers = number("num_hidden_layers")
    if config.get("kv_lora_rank"):
        return layers * (number("kv_lora_rank") + number("qk_rope_head_dim"))
    heads = number("num_attention_heads")
    kv_heads = number("num_key_value_heads") if "num_key_value_heads" in config else heads
    if config.get("head_dim") is not None:
        return 2 * layers * kv_heads * number("head_dim")
    return 2 * layers * kv_heads * (number("hidden_size") // heads)
