"""Bytes of KV a token: published figures, config files, and refusals."""

import json

import pytest

from hitpath.core import InputError, SettingError
from hitpath.cost.models import KV_DTYPE_BYTES, load_model, model_names


@pytest.mark.parametrize(
    ("name", "kv_bytes"),
    [
        # 2 x 32 layers x 8 heads x 128 x 2 bytes; vLLM and the Llama 3 papers print 128 KiB
        ("llama-3.1-8b", 131_072),
        ("llama-3.1-70b", 327_680),
        ("qwen3-32b", 262_144),
        # DeepSeek-V3: 61 x (512 + 64) x 2, "70 KB per token" in arXiv 2505.09343, table 1
        ("deepseek-v3", 70_272),
    ],
)
def test_published_figures(name, kv_bytes):
    assert load_model(name, "bf16").kv_bytes_per_token == kv_bytes
    assert load_model(name, "fp8").kv_bytes_per_token == kv_bytes / 2


def config(tmp_path, **fields):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(fields))
    return path


BASE = {"num_hidden_layers": 4, "num_attention_heads": 8, "hidden_size": 512}


@pytest.mark.parametrize(
    ("fields", "elements"),
    [
        (BASE, 2 * 4 * 8 * 64),
        ({**BASE, "num_key_value_heads": 2}, 2 * 4 * 2 * 64),
        ({**BASE, "num_key_value_heads": 2, "head_dim": 80}, 2 * 4 * 2 * 80),
        ({**BASE, "kv_lora_rank": 96, "qk_rope_head_dim": 32}, 4 * 128),
        ({"text_config": BASE}, 2 * 4 * 8 * 64),
        ({**BASE, "sliding_window": 4096, "use_sliding_window": False}, 2 * 4 * 8 * 64),
        ({**BASE, "layer_types": ["full_attention"] * 4, "sliding_window": 8}, 2 * 4 * 8 * 64),
    ],
)
def test_config_files(tmp_path, fields, elements):
    path = config(tmp_path, **fields)
    assert load_model(str(path), "bf16").kv_bytes_per_token == 2 * elements
    assert load_model(str(tmp_path), "int4").kv_bytes_per_token == elements / 2


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "num_hidden_layers"),
        ({"num_hidden_layers": 4}, "num_attention_heads"),
        ({"num_hidden_layers": 4, "num_attention_heads": 8}, "hidden_size"),
        ({**BASE, "num_hidden_layers": "4"}, "num_hidden_layers"),
        ({**BASE, "num_key_value_heads": 0}, "num_key_value_heads"),
        ({**BASE, "sliding_window": 4096}, "sliding_window"),
        ({**BASE, "layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({**BASE, "linear_num_value_heads": 8}, "linear_num_value_heads"),
        ({**BASE, "kv_lora_rank": 96}, "qk_rope_head_dim"),
    ],
)
def test_unknown_shapes_are_errors_that_name_the_field(tmp_path, fields, field):
    with pytest.raises(InputError) as error:
        load_model(str(config(tmp_path, **fields)), "bf16")
    assert error.value.field == field


def test_unknown_names():
    with pytest.raises(SettingError, match=r"llama-3\.1-8b"):
        load_model("no-such-model", "bf16")
    with pytest.raises(SettingError, match="fp8"):
        load_model("qwen3-8b", "fp7")


def test_tokens_and_gib_are_inverse():
    for name in model_names():
        for dtype in KV_DTYPE_BYTES:
            model = load_model(name, dtype)
            assert model.gib(model.tokens(10.0)) <= 10.0 < model.gib(model.tokens(10.0) + 1)
    with pytest.raises(SettingError, match="not a size"):
        load_model("qwen3-8b", "bf16").tokens(float("nan"))
