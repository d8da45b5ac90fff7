"""Bytes of KV that one token takes, from a Hugging Face config.json or a small table.

Full attention:  2 (key, value) x layers x KV heads x head size x bytes of an element.
MLA (DeepSeek):  layers x (kv_lora_rank + qk_rope_head_dim) x bytes: one latent, no heads
(DeepSeek-V2, arXiv 2405.04434, section 2.1). Models whose KV a token is no constant (sliding
windows, linear attention, Mamba) are refused: an error names the field.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hitpath.core import InputError, SettingError

KV_DTYPE_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5, "int4": 0.5}

# name: (layers, KV heads, head size). Source: num_hidden_layers, num_key_value_heads and
# head_dim (else hidden_size / num_attention_heads) in the config.json of the repository named.
_FULL_ATTENTION = {
    "llama-2-70b": (80, 8, 128),  # meta-llama/Llama-2-70b-hf
    "llama-3.1-8b": (32, 8, 128),  # meta-llama/Llama-3.1-8B
    "llama-3.1-70b": (80, 8, 128),  # meta-llama/Llama-3.1-70B-Instruct
    "llama-3.2-3b": (28, 8, 128),  # meta-llama/Llama-3.2-3B
    "qwen2.5-7b": (28, 4, 128),  # Qwen/Qwen2.5-7B
    "qwen2.5-14b": (48, 8, 128),  # Qwen/Qwen2.5-14B
    "qwen2.5-32b": (64, 8, 128),  # Qwen/Qwen2.5-32B
    "qwen3-4b": (36, 8, 128),  # Qwen/Qwen3-4B
    "qwen3-8b": (36, 8, 128),  # Qwen/Qwen3-8B
    "qwen3-14b": (40, 8, 128),  # Qwen/Qwen3-14B
    "qwen3-30b-a3b": (48, 4, 128),  # Qwen/Qwen3-30B-A3B
    "qwen3-32b": (64, 8, 128),  # Qwen/Qwen3-32B
}
# name: (layers, kv_lora_rank, qk_rope_head_dim)
_MLA = {"deepseek-v3": (61, 512, 64)}  # deepseek-ai/DeepSeek-V3

_STATEFUL = ("linear_num_value_heads", "mamba_d_state", "ssm_state_size", "attn_layer_period")


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
    """The names of the built-in table."""
    return sorted([*_FULL_ATTENTION, *_MLA])


def load_model(name: str, kv_dtype: str) -> ModelKV:
    """A built-in model, or one described by a config.json (or the folder that holds it).

    Raises SettingError for an unknown name or type, InputError for a config that lacks a field
    or whose KV a token is not a constant.
    """
    if kv_dtype not in KV_DTYPE_BYTES:
        raise SettingError(f"--kv-dtype {kv_dtype}", f"not one of {', '.join(KV_DTYPE_BYTES)}")
    size = KV_DTYPE_BYTES[kv_dtype]
    if name in _FULL_ATTENTION:
        layers, heads, head = _FULL_ATTENTION[name]
        return ModelKV(name, kv_dtype, 2 * layers * heads * head * size)
    if name in _MLA:
        layers, rank, rope = _MLA[name]
        return ModelKV(name, kv_dtype, layers * (rank + rope) * size)
    try:
        path = Path(name) / "config.json" if Path(name).is_dir() else Path(name)
        found = path.is_file()
    except (OSError, ValueError):
        found = False
    if not found:
        known = ", ".join(model_names())
        raise SettingError(f"--model {name}", f"neither a config.json nor one of {known}")
    return ModelKV(name, kv_dtype, _elements_per_token(_read(path), str(path)) * size)


def _read(path: Path) -> dict[str, Any]:
    try:
        config = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise InputError(str(path), "", f"cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", str(error)) from error
    text = config.get("text_config")  # multimodal models nest the language model's
    return text if isinstance(text, dict) else config


def _elements_per_token(config: dict[str, Any], place: str) -> int:
    for field in _STATEFUL:
        if config.get(field):
            raise InputError(place, field, "layers with a state: KV a token is no constant")
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and set(kinds) - {"full_attention"}:
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
