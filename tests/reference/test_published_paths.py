"""Published figures, each with a tolerance that was written down before hitpath's was computed."""

import json
from pathlib import Path

import pytest

from hitpath.cost.formats import Formats
from hitpath.cost.hardware import load_hardware
from hitpath.cost.model_table import load_shape
from hitpath.cost.parameters import active_linear_parameters, head_parameters
from hitpath.cost.paths import Replica, decode_step, miss_path, replica_of
from hitpath.cost.roofline import matrix_product
from hitpath.cost.shapes import Dense, FullAttention, LayerGroup, ModelShape

HERE = Path(__file__).parent
ANCHORS = json.loads((HERE / "published" / "paths.json").read_text())["anchors"]
PAGE = (HERE.parents[1] / "docs" / "hit-and-miss-path.md").read_text()

OPT_13B = ModelShape(  # 13B of Carol Chen's benchmark and of llm-analysis' test-13b.json
    name="13b",
    source="kipp.ly/blog/transformer-inference-arithmetic: 40 layers, 40 heads of 128",
    d_model=5120,
    vocabulary=50272,
    tied_embeddings=True,
    layers=(
        LayerGroup(
            count=40,
            mixers=(FullAttention(num_heads=40, num_kv_heads=40, head_dim=128),),
            feed_forward=Dense(intermediate=20480, gated=False),
            norm_parameters=0,
        ),
    ),
    final_norm_parameters=0,
)


def on(
    name: str | ModelShape,
    hardware: str,
    tp: int = 1,
    weights: str = "bf16",
    efficiency: str = "achievable",
) -> Replica:
    shape = load_shape(name) if isinstance(name, str) else name
    return replica_of(shape, load_hardware(hardware), tp, Formats(weights=weights), efficiency)


def training_flops_per_token(name: str, tokens: int) -> float:
    """Three forward passes; the head on every token, attention causal and unabsorbed."""
    replica = replica_of(load_shape(name), load_hardware("h100-sxm"), latent_form="unabsorbed")
    path = miss_path(replica, tokens)
    forward = path.parts["linear"].flops + path.parts["attention"].flops
    forward += 2 * head_parameters(replica.shape) * tokens
    return 3 * forward / tokens


def flops_of_a_step_without_attention(name: str) -> float:
    shape = load_shape(name)
    return 2 * (active_linear_parameters(shape) + head_parameters(shape))


OURS = {
    "llm-viewer-q-proj-prefill": lambda: matrix_intensity(2048, 4096, 4096),
    "llm-viewer-gate-proj-prefill": lambda: matrix_intensity(2048, 4096, 11008),
    "llm-viewer-gate-proj-decode": lambda: matrix_intensity(1, 4096, 11008),
    "llm-analysis-13b-prefill": lambda: miss_path(on(OPT_13B, "a100-sxm-40gb"), 512).flops,
    "llm-analysis-7b-decode": lambda: flops_of_a_step_without_attention("llama-2-7b"),
    "llm-analysis-7b-prefill-ideal": lambda: (
        miss_path(on("llama-2-7b", "a100-sxm-80gb", efficiency="ideal"), 512).ttft_s
    ),
    "llm-analysis-7b-decode-ideal": lambda: (
        decode_step(on("llama-2-7b", "a100-sxm-80gb", efficiency="ideal"), 512).ttft_s
    ),
    "deepseek-v3-training": lambda: training_flops_per_token("deepseek-v3", 4096),
    "llama-405b-training": lambda: training_flops_per_token("llama-3.1-405b", 4096),
    "fastertransformer-13b-decode": lambda: decode_step(on(OPT_13B, "a100-sxm-40gb"), 517).ttft_s,
    "fastertransformer-13b-decode-tp2": lambda: (
        decode_step(on(OPT_13B, "a100-sxm-40gb", 2), 517).ttft_s
    ),
    "fastertransformer-13b-prefill": lambda: miss_path(on(OPT_13B, "a100-sxm-40gb"), 512).ttft_s,
    "fastertransformer-13b-prefill-tp2": lambda: (
        miss_path(on(OPT_13B, "a100-sxm-40gb", 2), 512).ttft_s
    ),
    "gpt-fast-7b-decode": lambda: decode_step(on("llama-2-7b", "a100-sxm-80gb"), 105).ttft_s,
    "gpt-fast-70b-decode-tp2": lambda: (
        decode_step(on("llama-2-70b", "a100-sxm-80gb", 2), 105).ttft_s
    ),
    "gpt-fast-70b-decode-tp4": lambda: (
        decode_step(on("llama-2-70b", "a100-sxm-80gb", 4), 105).ttft_s
    ),
    "gpt-fast-70b-decode-tp8": lambda: (
        decode_step(on("llama-2-70b", "a100-sxm-80gb", 8), 105).ttft_s
    ),
    "tensorrt-llm-7b-2048": lambda: miss_path(on("llama-2-7b", "a100-sxm-80gb"), 2048).ttft_s,
    "tensorrt-llm-70b-2048-tp4": lambda: (
        miss_path(on("llama-2-70b", "a100-sxm-80gb", 4), 2048).ttft_s
    ),
    "tensorrt-llm-70b-2048-h100-fp8-tp4": lambda: (
        miss_path(on("llama-2-70b", "h100-sxm", 4, "fp8"), 2048).ttft_s
    ),
    "llm-d-qwen3-32b-10000-tp2": lambda: miss_path(on("qwen3-32b", "h100-sxm", 2), 10000).ttft_s,
    "llm-d-qwen3-32b-7200-tp2": lambda: miss_path(on("qwen3-32b", "h100-sxm", 2), 7200).ttft_s,
}


def matrix_intensity(rows: int, inputs: int, outputs: int) -> float:
    work = matrix_product(rows, inputs, outputs)
    return work.flops / work.num_bytes


def error_of(anchor: dict[str, object]) -> float:
    return OURS[anchor["id"]]() / anchor["published"] - 1


@pytest.mark.parametrize("anchor", ANCHORS, ids=lambda anchor: anchor["id"])
def test_published_figures_hold_where_the_page_says_so(anchor):
    assert 0 < anchor["tolerance"] <= 0.25
    assert (abs(error_of(anchor)) <= anchor["tolerance"]) == anchor["holds"]
    assert page_row(anchor) in PAGE


def test_enough_of_them_hold():
    held = [anchor["kind"] for anchor in ANCHORS if anchor["holds"]]
    assert held.count("arithmetic") == 9
    assert held.count("measured") == 8
    assert len(ANCHORS) == 22


def test_measured_figures_lie_above_a_lower_bound():
    assert all(error_of(anchor) < 0 for anchor in ANCHORS if anchor["kind"] == "measured")


def page_row(anchor: dict[str, object]) -> str:
    """The row of docs/hit-and-miss-path.md."""
    ours = OURS[anchor["id"]]()
    figures = [told(value, anchor["unit"]) for value in (anchor["published"], ours)]
    tolerance = f"{anchor['tolerance']:.1%}".replace(".0%", "%").replace("%", " %")
    error = f"{error_of(anchor):+.1%}".replace("%", " %")
    what = f"{anchor['what']} ({anchor['source']})"
    holds = "yes" if anchor["holds"] else "no"
    return f"| {what} | {figures[0]} | {figures[1]} | {error} | {tolerance} | {holds} |"


def told(value: float, unit: str) -> str:
    if unit == "s":
        return f"{value * 1e3:,.4g} ms" if value < 1 else f"{value:.3g} s"
    if unit == "FLOP/byte":
        return f"{value:,.4g}" if value < 10 else f"{value:,.0f}"
    return f"{value / 1e9:,.1f} GFLOP"
