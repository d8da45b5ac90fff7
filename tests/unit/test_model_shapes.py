"""Shapes of models: parameters, KV and attention FLOPs against published and counted figures."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from hitpath.core import InputError, SettingError
from hitpath.cost.attention import attended_pairs, attention_flops, mixer_flops
from hitpath.cost.config import READERS, read_config, shape_from_config
from hitpath.cost.kv import has_constant_kv, kv_bytes, kv_elements_per_token, state_elements
from hitpath.cost.model_table import built_in, built_in_models, load_shape
from hitpath.cost.models import load_model, model_names
from hitpath.cost.parameters import (
    active_linear_parameters,
    active_parameters,
    head_parameters,
    linear_parameters,
    num_parameters,
    touched_expert_share,
    touched_linear_parameters,
)
from hitpath.cost.shapes import Experts, FullAttention, LatentAttention, ModelShape

REFERENCE = Path(__file__).parents[1] / "reference" / "transformers" / "parameters.json"


def shape(name: str) -> ModelShape:
    return load_shape(name)


# Parameters: published


@pytest.mark.parametrize("name", list(built_in_models()))
def test_parameters_equal_the_published_number_to_the_digit(name):
    one = built_in_models()[name]
    assert num_parameters(one.shape()) + one.beyond_the_shape == one.published_parameters
    assert bool(one.what) == bool(one.beyond_the_shape)


def next_token_layer(model: ModelShape, tables: int) -> int:
    """Parameters of a multi-token-prediction layer: one more layer of the last kind, a projection
    of two widths to one, three norms, copies of embedding and head (arXiv 2412.19437, 2.2)."""
    last = replace(model.layers[-1], count=1)
    d_model = model.d_model
    without = num_parameters(replace(model, layers=()))
    layer = num_parameters(replace(model, layers=(last,))) - without
    return layer + 2 * d_model * d_model + 3 * d_model + tables * head_parameters(model)


def fp8_scales_of_deepseek_v3() -> int:
    """One scale a 128 x 128 block of each quantised matrix (DeepSeek-V3, README_WEIGHTS.md)."""

    def blocks(rows: int, columns: int) -> int:
        return -(-rows // 128) * -(-columns // 128)

    d = 7168
    attention = blocks(1536, d) + blocks(128 * 192, 1536) + blocks(576, d)
    attention += blocks(128 * 256, 512) + blocks(d, 128 * 128)
    dense, experts = 3 * blocks(18432, d), 257 * 3 * blocks(2048, d)
    return 61 * attention + 3 * dense + 58 * experts + attention + experts  # and the MTP layer


def siglip_and_projector() -> int:
    """google/siglip-so400m-patch14 at 896 pixels without its head, and Gemma 3 4B's projector."""
    d, intermediate = 1152, 4304
    patches = 3 * 14 * 14 * d + d + (896 // 14) ** 2 * d
    layer = 4 * (d * d + d) + 2 * d * intermediate + intermediate + d + 4 * d
    return patches + 27 * layer + 2 * d + d * 2560 + d


QWEN_VISION = {27: 460_730_096, 35: 446_571_248, 122: 451_290_864, 397: 456_010_480}
"""Parameters of Qwen3_5VisionModel on the meta device, transformers 5.24, by the model's name."""


def expected_beyond(name: str, model: ModelShape) -> int | None:
    """What a published count holds beyond the decoder, derived without that count."""
    match name.split("-"):
        case ["llama", "2", _]:
            return 64 * model.num_layers  # rotary frequencies of heads of 128
        case ["deepseek", "v3"]:
            return next_token_layer(model, tables=2) + fp8_scales_of_deepseek_v3()
        case ["deepseek", "r1"] | ["glm", "4.5", *_] | ["glm", "4.7", *_]:
            return next_token_layer(model, tables=2)
        case ["qwen3", "next", *_]:
            return next_token_layer(model, tables=0)
        case ["qwen3.5", size, *_]:
            return next_token_layer(model, tables=0) + QWEN_VISION[int(size.rstrip("b"))]
        case ["gemma", "3", "4b"]:
            return siglip_and_projector()
        case ["nemotron", "3", "nano", *_]:
            return -23 * 128  # the count leaves out the routers' corrections
        case ["nemotron", "3", "super", *_]:
            # nvidia/Nemotron-3-Super-120B-A12B-BF16-MTPv2 has 2,942,325,248; its router and the
            # forty of the model are counted without their corrections
            return 2_942_325_248 - 41 * 512
    return None


def test_what_stands_beyond_the_shape_is_derived():
    for name, one in built_in_models().items():
        if one.beyond_the_shape and name != "kimi-k2":
            assert one.beyond_the_shape == expected_beyond(name, one.shape()), name
        if name == "kimi-k2":  # 3,416 elements of 1.026 trillion, not explained
            assert abs(one.beyond_the_shape) < 1e-8 * one.published_parameters


def test_the_table_is_broad_and_every_row_has_its_sources():
    table = built_in_models()
    assert len(table) >= 30
    for one in table.values():
        assert len(one.source.split()) >= 2
        assert one.published_source
    families = {
        str(one.config.get("text_config", one.config).get("model_type")) for one in table.values()
    }
    assert len(families) >= 20


REFERENCE_MODELS = json.loads(REFERENCE.read_text())["models"]


@pytest.mark.parametrize("number", range(len(REFERENCE_MODELS)))
def test_random_configs_have_the_parameters_that_transformers_makes(number):
    config = dict(REFERENCE_MODELS[number])
    expected = config.pop("parameters")
    assert num_parameters(shape_from_config(config, "random", "", "config.json")) == expected


def test_every_reader_is_held_against_transformers():
    assert {config["model_type"] for config in REFERENCE_MODELS} >= set(READERS) - {"falcon_mamba"}


def test_llama_2_70b_as_the_design_counts_it():
    model = shape("llama-2-70b")
    assert num_parameters(model) == 68_976_648_192  # 137.95 GB in bf16
    assert linear_parameters(model) == active_linear_parameters(model) == 68_451_041_280
    assert 2 * linear_parameters(model) == 136_902_082_560
    assert head_parameters(model) == 262_144_000


@pytest.mark.parametrize(
    ("name", "embedding", "published", "tolerance"),
    [
        # openai/gpt-oss model card, table 1: 5.13 B and 3.61 B active, embedding left out
        ("gpt-oss-120b", False, 5.13e9, 0.001),
        ("gpt-oss-20b", False, 3.61e9, 0.001),
        # arXiv 2401.04088: 13 B active of 47 B
        ("mixtral-8x7b", True, 12.9e9, 0.002),
        # model cards: 3.3 B, 22 B, 35 B; Kimi K2 README: 32 B; arXiv 2412.19437: 37 B
        ("qwen3-30b-a3b", True, 3.35e9, 0.002),
        ("qwen3-235b-a22b", True, 22e9, 0.01),
        ("qwen3-coder-480b-a35b", True, 35e9, 0.02),
        ("kimi-k2", True, 32.9e9, 0.002),
        ("deepseek-v3", True, 37.5e9, 0.002),
    ],
)
def test_active_parameters_as_published(name, embedding, published, tolerance):
    model = shape(name)
    active = active_parameters(model) - (0 if embedding else head_parameters(model))
    assert active == pytest.approx(published, rel=tolerance)


# Experts


def test_touched_share_against_all_ways_to_route():
    for num_experts, top_k, tokens in [(4, 1, 3), (4, 2, 3), (5, 3, 2), (3, 3, 2), (6, 2, 1)]:
        sets = list(itertools.combinations(range(num_experts), top_k))
        ways = list(itertools.product(sets, repeat=tokens))
        touched = sum(len(set().union(*way)) for way in ways)
        expected = Fraction(touched, len(ways) * num_experts)
        share = touched_expert_share(num_experts, top_k, tokens)
        assert share == pytest.approx(float(expected), rel=1e-12)
    assert touched_expert_share(256, 8, 0) == 0.0


def test_a_step_of_one_token_reads_the_active_and_a_long_one_all_weights():
    for name in ("mixtral-8x7b", "gpt-oss-120b", "deepseek-v3", "llama-3.1-8b", "jamba-v0.1"):
        model = shape(name)
        one = touched_linear_parameters(model, 1)
        assert one == pytest.approx(active_linear_parameters(model), rel=1e-12)
        assert touched_linear_parameters(model, 100_000) == linear_parameters(model)


# KV


@pytest.mark.parametrize(
    ("name", "kv_bytes_per_token"),
    [
        # arXiv 2505.09343, table 1: 70.272 KB and 516.096 KB a token in bf16
        ("deepseek-v3", 70_272),
        ("llama-3.1-405b", 516_096),
        # vLLM: "max seq len (262144), (62.00 GiB KV cache is needed" (vllm-project/recipes #12)
        ("qwen3-coder-480b-a35b", 62 * 2**30 // 262_144),
        # vLLM 0.8.4, Qwen2.5-32B-Instruct: "max seq len (16384), (4.00 GiB KV cache is needed"
        ("qwen2.5-32b", 4 * 2**30 // 16_384),
        # Llama 3.1 8B: 128 KiB (vLLM); Qwen3.5/3.8 27B: "exactly the measured 64 KB/token"
        ("llama-3.1-8b", 131_072),
        ("qwen3.5-27b", 65_536),
        # gpustack/gguf-parser-go #32: 49,152 for all 24 layers of gpt-oss-20b, 12 of them full
        ("gpt-oss-20b", 49_152 // 2),
    ],
)
def test_kv_bytes_a_token_as_engines_and_papers_print_them(name, kv_bytes_per_token):
    assert 2 * kv_elements_per_token(shape(name)) == kv_bytes_per_token


def test_windows_fill_and_states_stay():
    model = shape("gpt-oss-20b")  # 12 full layers, 12 with a window of 128, 8 x 64 x 2 elements
    one = 8 * 64 * 2
    assert kv_bytes(model, 100, 2) == 2 * 100 * 24 * one
    assert kv_bytes(model, 131_072, 2) == 2 * (131_072 * 12 + 128 * 12) * one
    # Qwen3-Next: 12 full layers of 2 x 256; 36 states of 32 x 128 x 128 and 3 inputs of 8,192
    model = shape("qwen3-next-80b-a3b")
    assert state_elements(model) == 36 * (32 * 128 * 128 + 3 * 8192)
    assert kv_bytes(model, 0, 2) == 0
    assert kv_bytes(model, 1000, 1, 4) == 1000 * 12 * 2 * 2 * 256 + 4 * state_elements(model)
    assert not has_constant_kv(model)
    assert has_constant_kv(shape("deepseek-v3"))
    assert kv_bytes(shape("qwen3-32b"), 10, 0.5) == 10 * 131_072 / 2


def test_the_capacity_option_and_the_shapes_agree(tmp_path):
    for name in model_names():
        one = built_in_models()[name]
        assert load_model(name, "bf16").kv_bytes_per_token == 2 * kv_elements_per_token(one.shape())
        text = one.config.get("text_config", one.config)
        if text.get("sliding_window") and "use_sliding_window" not in text:
            continue  # Phi: a window longer than any sequence, which the fields alone do not show
        (tmp_path / "config.json").write_text(json.dumps(one.config))
        assert load_model(str(tmp_path), "fp8").kv_bytes_per_token == kv_elements_per_token(
            one.shape()
        )
    with pytest.raises(SettingError, match="no constant"):
        load_model("gpt-oss-20b", "bf16")


def test_a_repository_is_a_name_too():
    assert load_shape("Qwen/Qwen3-32B").name == "qwen3-32b"
    assert load_model("meta-llama/llama-3.1-8b", "bf16").name == "llama-3.1-8b"
    assert built_in("no-such-model") is None
    with pytest.raises(SettingError, match="qwen3-32b"):
        load_shape("qwen3-33b")


# Attention


def test_attention_of_llama_2_70b_as_the_design_counts_it():
    layer = shape("llama-2-70b").layers[0].mixers[0]
    hit = mixer_flops(layer, 4096, 64)
    assert hit == 4 * 64 * 128 * (64 * 4096 + 64 * 65 // 2) == 8_658_092_032
    miss = mixer_flops(layer, 0, 4160)
    assert miss == 2 * 64 * 128 * 4160 * 4161  # 283.6 GFLOP
    seed = 2 * 64 * 128 * 4096 * 4096  # 274.9 GFLOP
    assert round(miss / 1e9, 1) == 283.6
    assert round(seed / 1e9, 1) == 274.9
    assert round(miss / hit, 1) == 32.8
    assert round(seed / hit, 1) == 31.7
    inside = mixer_flops(layer, 4032, 64)
    assert round(inside / 1e9, 2) == 8.52
    assert round(mixer_flops(layer, 0, 4096) / inside, 1) == 32.3
    assert attention_flops(shape("llama-2-70b"), 4096, 64) == 80 * hit


def test_latent_attention_has_two_forms():
    layer = shape("deepseek-v3").layers[0].mixers[0]
    assert isinstance(layer, LatentAttention)
    pairs = attended_pairs(1000, 16)
    absorbed = 2 * 128 * (512 + 64 + 512) * pairs
    unabsorbed = 2 * 128 * (128 + 64 + 128) * pairs + 2 * 1000 * 512 * 128 * (128 + 128)
    assert mixer_flops(layer, 1000, 16, "absorbed") == absorbed
    assert mixer_flops(layer, 1000, 16, "unabsorbed") == unabsorbed
    assert mixer_flops(layer, 1000, 16) == absorbed  # behind a prefix
    assert mixer_flops(layer, 0, 16) == 2 * 128 * 320 * attended_pairs(0, 16)  # without one
    # one new token: the absorbed form does not expand the prefix again
    assert mixer_flops(layer, 8000, 1) < mixer_flops(layer, 8000, 1, "unabsorbed") / 15
    # a long rest behind a short prefix: expanding once is cheaper than the wide products
    assert mixer_flops(layer, 512, 8192, "unabsorbed") < mixer_flops(layer, 512, 8192, "absorbed")


def test_state_layers_cost_the_same_for_every_token():
    model = shape("mamba-codestral-7b")
    assert attention_flops(model, 0, 10) == attention_flops(model, 5000, 10)
    assert attention_flops(model, 0, 10) == 10 * attention_flops(model, 0, 1)
    assert kv_elements_per_token(model) == 0


# Configs


def config(**fields):
    return {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 96,
        "vocab_size": 100,
        **fields,
    }


def read(fields):
    return shape_from_config(fields, "x", "", "config.json")


@pytest.mark.parametrize(
    ("fields", "field", "cause"),
    [
        ({"model_type": "no_such"}, "model_type", "no architecture known here"),
        ({"model_type": None}, "model_type", "missing"),
        ({"model_type": ["llama"]}, "model_type", "no architecture"),
        ({"model_type": "llama4_text"}, "model_type", "no architecture"),
        ({"intermediate_size": None}, "intermediate_size", "missing"),
        ({"vocab_size": 0}, "vocab_size", "no count"),
        ({"hidden_size": True}, "hidden_size", "no count"),
        ({"hidden_size": 10**30}, "hidden_size", "no count"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers", "no count"),
        ({"hidden_size": 66}, "head_dim", "no multiple"),
        ({"attention_bias": "yes"}, "attention_bias", "neither true nor false"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings", "neither"),
        ({"sliding_window": 8}, "sliding_window", "not known which layers"),
        ({"layer_types": ["full_attention"]}, "layer_types", "1 names for 2 layers"),
        ({"layer_types": ["full_attention", "chunked"]}, "layer_types", "chunked"),
        ({"layer_types": "full_attention"}, "layer_types", "no list"),
        ({"model_type": "qwen3"}, "head_dim", "missing"),
        ({"model_type": "qwen2", "num_key_value_heads": None}, "num_key_value_heads", "missing"),
        ({"model_type": "deepseek_v3"}, "moe_intermediate_size", "missing"),
        ({"model_type": "phi", "qk_layernorm": True}, "qk_layernorm", "not known"),
        ({"model_type": "gpt_oss", "head_dim": 16, "num_local_experts": 2}, "sliding_window", ""),
        (
            {"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3},
            "num_experts_per_tok",
            "no count",
        ),
        (
            {"model_type": "nemotron_h", "hybrid_override_pattern": "M?"},
            "hybrid_override_pattern",
            "not of M",
        ),
        (
            {"model_type": "nemotron_h", "hybrid_override_pattern": "M-M"},
            "hybrid_override_pattern",
            "3 letters for 2 layers",
        ),
    ],
)
def test_what_is_missing_or_unknown_is_named(fields, field, cause):
    with pytest.raises(InputError) as error:
        read(config(**fields))
    assert error.value.field == field
    assert cause in error.value.cause


def test_config_variants():
    assert read({**config(), "model_type": None, "architectures": ["LlamaForCausalLM"]}) == read(
        config()
    )
    nested = {"model_type": "mistral3", "text_config": config(), "tie_word_embeddings": True}
    assert read(nested) == replace(read(config()), tied_embeddings=True)
    old = config()
    del old["num_key_value_heads"]  # Llama 1
    attention = read(old).layers[0].mixers[0]
    assert isinstance(attention, FullAttention)
    assert attention.num_kv_heads == 4
    window = config(model_type="qwen2", use_sliding_window=True, sliding_window=8)
    with pytest.raises(InputError, match="max_window_layers"):
        read(window)
    half = read({**window, "max_window_layers": 1})
    assert [group.count for group in half.layers] == [1, 1]
    dense_first = shape("deepseek-v3").layers
    assert [group.count for group in dense_first] == [3, 58]
    written = config(
        model_type="glm4_moe_lite",
        mlp_layer_types=["dense", "sparse"],
        q_lora_rank=None,
        kv_lora_rank=8,
        qk_nope_head_dim=8,
        qk_rope_head_dim=8,
        v_head_dim=8,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=8,
    )
    assert isinstance(read(written).layers[1].feed_forward, Experts)
    with pytest.raises(InputError, match="mlp_layer_types"):
        read({**written, "mlp_layer_types": ["dense", "odd"]})


def test_files(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"time_step_limit": [0.0, Infinity]}')  # as Mamba's files hold it
    assert read_config(path)["time_step_limit"][1] == float("inf")
    for broken in ("", "[]", "{", "[" * 100_000, '{"a": ' + "9" * 10_000 + "}", "\xff\xfe"):
        path.write_bytes(broken.encode("latin-1"))
        with pytest.raises(InputError):
            read_config(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_config(tmp_path / "absent.json")
    path.write_text(json.dumps(config()))
    assert load_shape(str(tmp_path)).d_model == 64
