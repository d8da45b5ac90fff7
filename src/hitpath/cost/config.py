"""A Hugging Face config.json -> ModelShape. An unknown architecture is an error, never a guess.

Multimodal configs nest the language model's in text_config; the vision tower is no part of the
shape. Multi-token-prediction layers (num_nextn_predict_layers, mtp_num_hidden_layers) are left
out: they serve speculation, not the two paths.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hitpath.core import InputError
from hitpath.cost.config_fields import Fields
from hitpath.cost.config_hybrids import HYBRIDS
from hitpath.cost.config_transformers import TRANSFORMERS
from hitpath.cost.shapes import ModelShape

READERS = {**TRANSFORMERS, **HYBRIDS}

SAME_AS = {
    "ministral": "mistral",
    "kimi_k2": "deepseek_v3",
    "gemma3": "gemma3_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
    "glm4v_moe_text": "glm4_moe",
}
"""Architectures whose language model has the layers of another one."""

ARCHITECTURES = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "MixtralForCausalLM": "mixtral",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen2MoeForCausalLM": "qwen2_moe",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3MoeForCausalLM": "qwen3_moe",
    "Qwen3NextForCausalLM": "qwen3_next",
    "GemmaForCausalLM": "gemma",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3_text",
    "PhiForCausalLM": "phi",
    "Phi3ForCausalLM": "phi3",
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "GptOssForCausalLM": "gpt_oss",
    "Glm4ForCausalLM": "glm4",
    "Glm4MoeForCausalLM": "glm4_moe",
    "SmolLM3ForCausalLM": "smollm3",
    "Mamba2ForCausalLM": "mamba2",
}
"""model_type by the name of the class, for configs that name only that."""

# google/gemma-3-4b-it's own config.json leaves out what equals transformers' Gemma3TextConfig.
OMITTED = {
    "gemma3_text": {
        "vocab_size": 262_208,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
    }
}

MOST_BYTES = 16 << 20


def read_config(path: Path) -> dict[str, Any]:
    """The object in a config.json. Raises InputError where it is none or cannot be read."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(str(path), "", "is too large to be a model's config.json")
        value = json.loads(path.read_bytes())  # the JSON of Python: configs hold Infinity
    except OSError as error:
        raise InputError(str(path), "", f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), "", f"is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError(str(path), "", "is no JSON object")
    return value


def shape_from_config(config: Mapping[str, Any], name: str, source: str, place: str) -> ModelShape:
    """The shape that a config describes. `place` names the config in errors.

    Raises InputError naming the field that is missing, is no count, or asks for what is not
    known here: an architecture, a kind of layer, a variant.
    """
    nested = config.get("text_config")
    text = nested if isinstance(nested, Mapping) else config
    model_type = _model_type(text, place)
    fields = Fields({**OMITTED.get(model_type, {}), **text}, place)
    parts = READERS[model_type](fields)
    # Hugging Face ties by the outermost config that says so.
    tied = Fields(config, place).flag(
        "tie_word_embeddings", fields.flag("tie_word_embeddings", parts.tied)
    )
    return ModelShape(
        name=name,
        source=source,
        d_model=fields.count("hidden_size"),
        vocabulary=fields.count("vocab_size"),
        tied_embeddings=tied,
        layers=parts.layers,
        final_norm_parameters=parts.final_norm_parameters,
        head_bias=parts.head_bias,
    )


def _model_type(text: Mapping[str, Any], place: str) -> str:
    written = text.get("model_type")
    model_type = SAME_AS.get(written, written) if isinstance(written, str) else None
    if model_type in READERS:
        return model_type
    classes = text.get("architectures")
    if isinstance(classes, list):
        for name in classes:
            if isinstance(name, str) and name in ARCHITECTURES and written is None:
                return ARCHITECTURES[name]
    if written is None:
        raise InputError(place, "model_type", "missing, and architectures names none known here")
    raise InputError(place, "model_type", f"{written!r} is no architecture known here")
