"""What a model folder's config.json says of the arithmetic, for the families that the engine runs.

Llama, Mistral, Qwen2, Qwen3, Gemma, Gemma 2, Gemma 3 (text) and Phi-3: decoders of one shape that
differ in biases, norms, activations, windows and position encodings. A value that would change
the arithmetic and is not known here is refused, never passed over. Defaults are those of
transformers 5.24 for the same family. No torch.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hitpath.core import SettingError

Activation = Literal["silu", "gelu_tanh"]

FAMILIES = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "GemmaForCausalLM": "gemma",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3",
    "Phi3ForCausalLM": "phi3",
}
_ACTIVATIONS: dict[str, Activation] = {
    "silu": "silu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
}


@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary positions: base, the part of a head that turns, and the scaling as it is written."""

    theta: float
    rotary_dim: int
    scaling: tuple[tuple[str, Any], ...]

    def get(self, key: str, default: Any = None) -> Any:
        return dict(self.scaling).get(key, default)


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """Of one layer: tokens that it sees (itself included; None: all) and its positions."""

    window: int | None
    rope: Rope


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """See the module. Sizes are elements."""

    family: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm_eps: float
    activation: Activation
    qk_norm: bool
    sandwich_norms: bool
    norm_plus_one: bool
    embedding_scale: float
    query_scale: float
    score_cap: float | None
    logit_cap: float | None
    tied: bool | None
    max_positions: int
    original_positions: int
    dtype: str | None
    layers: tuple[LayerConfig, ...]


class _Values:
    """A JSON object whose fields are taken with a type; SettingError names the file and field."""

    def __init__(self, place: str, values: dict[str, Any]) -> None:
        self.place = place
        self.values = values

    def refuse(self, field: str, cause: str) -> SettingError:
        return SettingError(self.place, f"{field}: {cause}")

    def number(self, field: str, default: float | None = None) -> float:
        value = self.values.get(field)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise self.refuse(field, f"{value!r} is no number above 0")
        return value

    def integer(self, field: str, default: int | None = None) -> int:
        value = self.number(field, default)
        if not isinstance(value, int):
            raise self.refuse(field, f"{value!r} is no whole number")
        return value

    def optional(self, field: str) -> float | None:
        return None if self.values.get(field) is None else self.number(field)


def read_config(folder: Path) -> ModelConfig:
    """The model of a folder. Raises SettingError for a file or a value that cannot be used."""
    path = folder / "config.json"
    return parse_config(str(path), read_object(path))


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises SettingError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SettingError(str(path), " ".join(str(error).split())) from error
    if not isinstance(value, dict):
        raise SettingError(str(path), "not an object")
    return value


def parse_config(place: str, values: dict[str, Any]) -> ModelConfig:
    """The same from the object itself; `place` is for errors."""
    fields = _Values(place, values)
    names = values.get("architectures") or ["none"]
    family = FAMILIES.get(str(names[0]))
    if family is None:
        known = ", ".join(FAMILIES)
        raise fields.refuse("architectures", f"{names[0]} is not run here; these are: {known}")
    if values.get("quantization_config") is not None:
        raise fields.refuse("quantization_config", "quantised weights are not read")
    gemma, later_gemma = family.startswith("gemma"), family in ("gemma2", "gemma3")
    hidden, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    kv_heads = fields.integer("num_key_value_heads", heads)
    head_dim = fields.integer("head_dim", hidden // heads)
    if heads % kv_heads:
        raise fields.refuse("num_key_value_heads", f"{kv_heads} does not divide {heads} heads")
    scalar = fields.number("query_pre_attn_scalar", 256) if later_gemma else float(head_dim)
    positions = fields.integer("max_position_embeddings")
    return ModelConfig(
        family=family,
        vocab_size=fields.integer("vocab_size"),
        hidden_size=hidden,
        intermediate_size=fields.integer("intermediate_size"),
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        norm_eps=fields.number("rms_norm_eps", 1e-6),
        activation=_activation(fields, gemma),
        qk_norm=family in ("qwen3", "gemma3"),
        sandwich_norms=later_gemma,
        norm_plus_one=gemma,
        embedding_scale=hidden**0.5 if gemma else 1.0,
        query_scale=scalar**-0.5,
        score_cap=fields.optional("attn_logit_softcapping") if later_gemma else None,
        logit_cap=fields.optional("final_logit_softcapping") if later_gemma else None,
        tied=values.get("tie_word_embeddings"),
        max_positions=positions,
        original_positions=_original_positions(fields, positions),
        dtype=values.get("dtype") or values.get("torch_dtype"),
        layers=_layers(fields, family, head_dim),
    )


def _activation(fields: _Values, gemma: bool) -> Activation:
    name = fields.values.get("hidden_activation") or fields.values.get("hidden_act", "silu")
    if gemma and name == "gelu":
        name = "gelu_pytorch_tanh"  # early Gemma files say gelu and mean this, as transformers does
    if name not in _ACTIVATIONS:
        raise fields.refuse("hidden_act", f"{name!r} is not one of {', '.join(_ACTIVATIONS)}")
    return _ACTIVATIONS[name]


def _original_positions(fields: _Values, positions: int) -> int:
    scaling = fields.values.get("rope_parameters") or fields.values.get("rope_scaling") or {}
    found = scaling.get("original_max_position_embeddings") if isinstance(scaling, dict) else None
    return int(found or fields.integer("original_max_position_embeddings", positions))


def _layers(fields: _Values, family: str, head_dim: int) -> tuple[LayerConfig, ...]:
    count = fields.integer("num_hidden_layers")
    kinds = fields.values.get("layer_types") or _layer_types(fields, family, count)
    window = fields.optional("sliding_window")
    layers = []
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            raise fields.refuse("layer_types", f"{kind!r} is not run here")
        sliding = kind == "sliding_attention" and window is not None
        rope = _rope(fields, family, head_dim, kind)
        layers.append(LayerConfig(int(window) if sliding and window else None, rope))
    if len(layers) != count:
        raise fields.refuse("layer_types", f"{len(layers)} of them for {count} layers")
    return tuple(layers)


def _layer_types(fields: _Values, family: str, count: int) -> list[str]:
    """For files older than `layer_types`: which layers have the window."""
    if family in ("mistral", "phi3"):
        sliding = [True] * count
    elif family in ("qwen2", "qwen3") and fields.values.get("use_sliding_window"):
        first = fields.integer("max_window_layers", 28)
        sliding = [i >= first for i in range(count)]
    elif family in ("gemma2", "gemma3"):
        usual = 2 if family == "gemma2" else 6
        pattern = fields.integer("sliding_window_pattern", usual)
        sliding = [(i + 1) % pattern != 0 for i in range(count)]
    else:
        sliding = [False] * count
    return ["sliding_attention" if s else "full_attention" for s in sliding]


def _rope(fields: _Values, family: str, head_dim: int, kind: str) -> Rope:
    """transformers 5 writes `rope_parameters`, for Gemma 3 one a layer type; older files have
    `rope_theta`, `rope_scaling` and, in Gemma 3, `rope_local_base_freq` for sliding layers."""
    values = fields.values
    new = values.get("rope_parameters")
    if isinstance(new, dict) and isinstance(new.get(kind), dict):
        new = new[kind]
    if isinstance(new, dict):
        scaling = new
    elif family == "gemma3" and kind == "sliding_attention":
        scaling = {"rope_theta": values.get("rope_local_base_freq", 10_000.0)}
    else:
        usual = 1_000_000.0 if family == "gemma3" else 10_000.0
        old = values.get("rope_scaling") or {}
        scaling = {"rope_theta": values.get("rope_theta", usual), **old}
    scaling = {("rope_type" if key == "type" else key): scaling[key] for key in scaling}
    theta = _Values(fields.place, scaling).number("rope_theta", 10_000.0)
    part = scaling.get("partial_rotary_factor", values.get("partial_rotary_factor", 1.0))
    frozen = tuple(
        (key, tuple(value) if isinstance(value, list) else value)
        for key, value in sorted(scaling.items())
    )
    return Rope(float(theta), int(head_dim * part), frozen)
