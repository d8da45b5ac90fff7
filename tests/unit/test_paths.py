"""Both paths: hand-derived vectors, and every figure of the seed document against its page."""

from dataclasses import replace
from pathlib import Path

import pytest

from hitpath.core import SettingError
from hitpath.cost.device import Hardware
from hitpath.cost.formats import Formats
from hitpath.cost.hardware import load_hardware
from hitpath.cost.kv import kv_elements
from hitpath.cost.model_table import built_in_models, load_shape
from hitpath.cost.parameters import (
    active_linear_parameters,
    head_parameters,
    linear_parameters,
    num_parameters,
    touched_linear_parameters,
)
from hitpath.cost.path_rows import price_rows
from hitpath.cost.paths import Replica, decode_step, hit_path, miss_path, replica_of, tpot_s
from hitpath.cost.roofline import matrix_product
from hitpath.cost.shapes import Dense, FullAttention, LayerGroup, ModelShape
from hitpath.cost.speedup import speedup, turn_tokens

PAGE = (Path(__file__).parents[2] / "docs" / "hit-and-miss-path.md").read_text()

TOY_SHAPE = ModelShape(  # 2 layers; a layer: qkv 4 x 8, out 4 x 4, up 4 x 6, down 6 x 4
    name="toy",
    source="",
    d_model=4,
    vocabulary=10,
    tied_embeddings=False,
    layers=(
        LayerGroup(
            count=2,
            mixers=(FullAttention(num_heads=2, num_kv_heads=1, head_dim=2),),
            feed_forward=Dense(intermediate=6, gated=False),
            norm_parameters=0,
        ),
    ),
    final_norm_parameters=0,
)
TOY = Hardware("toy", "toy", "gpu", "", {"bf16": 1000.0, "fp8": 2000.0}, 100.0, 1e6, 50.0, 10.0)


def on_h100(name: str, tp: int = 1, **formats: str) -> Replica:
    return replica_of(load_shape(name), load_hardware("h100-sxm"), tp, Formats(**formats))


def line_of(beginning: str) -> str:
    """The row or line of the page that begins so."""
    found = [line for line in PAGE.splitlines() if line.startswith(beginning)]
    assert len(found) == 1, beginning
    return found[0]


# By hand


def test_a_miss_path_by_hand():
    """3 tokens through 2 layers of 96 weights (qkv 32, out 16, up 24, down 24)."""
    parts = miss_path(replica_of(TOY_SHAPE, TOY), 3).parts
    linear = parts["linear"]
    assert linear.flops == 2 * 192 * 3 == 1152
    assert linear.weight_bytes == 2 * 192 == 384
    # in and out of a token and layer: 4 + 8, 4 + 4, 4 + 6, 6 + 4 elements of 2 bytes
    assert linear.other_bytes == 3 * 2 * 40 * 2 == 480
    assert linear.time_s == max(1152 / 1000, (384 + 480) / 100) == 8.64
    assert linear.bound == "memory"
    assert linear.intensity == 3  # = tokens
    attention = parts["attention"]
    # 1 + 2 + 3 pairs, 2 heads of 2, 2 products, 2 FLOPs a multiply-add, 2 layers
    assert attention.flops == 6 * 2 * 2 * 2 * 2 * 2 == 192
    assert attention.flops_per_layer == 96
    assert attention.kv_bytes == 3 * 2 * 1 * 2 * 2 * 2 == 48  # written once, nothing read
    assert attention.other_bytes == 3 * 2 * 4 * 2 * 2 == 96  # queries in, outputs out
    assert attention.intensity == 4  # g (L + 1) / 2 = 2 x 4 / 2
    assert attention.time_s == max(192 / 1000, 144 / 100) == 1.44
    head = parts["lm_head"]
    assert (head.flops, head.weight_bytes, head.other_bytes) == (80, 80, 28)
    assert head.time_s == pytest.approx(1.08)
    assert parts["allreduce"].time_s == 0
    assert parts["allreduce"].bound == "none"


def test_a_hit_path_by_hand():
    """2 new tokens behind 3 cached ones, in two steps of one, on two GPUs."""
    path = hit_path(replica_of(TOY_SHAPE, TOY, 2), 5, 3, chunk_tokens=1, lookup_s=0.5, queue_s=0.25)
    assert (path.tokens_computed, path.tokens_cached, path.num_steps) == (2, 3, 2)
    linear, attention, reduce = (path.parts[n] for n in ("linear", "attention", "allreduce"))
    assert linear.flops == 2 * 192 * 2
    assert linear.weight_bytes == 2 * 384  # once a step
    # a GPU reads all of an input that is divided by columns and writes all of what is by rows
    per_token = (2 * 4 + 8) + (4 + 2 * 4) + (2 * 4 + 6) + (6 + 2 * 4)
    assert linear.other_bytes == 2 * 2 * 2 * per_token
    assert attention.flops == (4 + 5) * 2 * 2 * 2 * 2 * 2
    # the one KV head is kept on both GPUs: reads 3 and 4 tokens, writes 1 and 1
    assert attention.kv_bytes == 2 * 2 * 2 * 2 * 2 * (3 + 1 + 4 + 1)
    # 2 layers, 2 all-reduces, 4 elements of 2 bytes, 2 tokens; 2 (2 - 1) / 2 of them are sent
    assert reduce.sent_bytes == 2 * 2 * 4 * 2 * 2
    assert reduce.time_s == pytest.approx(64 / 50)
    assert path.ttft_s == pytest.approx(
        linear.time_s + attention.time_s + path.parts["lm_head"].time_s + 64 / 50 + 0.5 + 0.25
    )
    assert linear.time_s == pytest.approx((2 * 384 + linear.other_bytes) / 200)


def test_formats_scale_bytes_and_choose_the_rate():
    for weights, size, rate in (("bf16", 2, 1000), ("fp8", 1, 2000), ("int4", 0.5, 1000)):
        replica = replica_of(TOY_SHAPE, TOY, 1, Formats(weights=weights))
        assert miss_path(replica, 3).parts["linear"].weight_bytes == 192 * size
        assert replica.roofline.matrix_flops_per_s == rate
        assert replica.roofline.attention_flops_per_s == 1000
    for kv, size in (("bf16", 48), ("fp8", 24), ("int4", 12)):
        replica = replica_of(TOY_SHAPE, TOY, 1, Formats(kv=kv))
        assert miss_path(replica, 3).parts["attention"].kv_bytes == size


def test_a_type_without_a_rate_is_computed_in_the_next_wider_one():
    only_fp32 = replace(TOY, peak_flops_per_s={"fp32": 10.0})
    replica = replica_of(TOY_SHAPE, only_fp32, 1, Formats(weights="fp8"))
    assert (replica.roofline.matrix_type, replica.roofline.attention_type) == ("fp32", "fp32")
    with pytest.raises(SettingError, match="fp8 peak is not known"):
        replica_of(TOY_SHAPE, replace(TOY, peak_flops_per_s={}), 1, Formats(weights="fp8"))


def test_fp8_is_widened_to_bf16_before_anything_else():
    both = replace(TOY, peak_flops_per_s={"bf16": 10.0, "fp16": 20.0, "fp32": 5.0})
    for weights in ("fp8", "int8", "int4", "fp4"):
        replica = replica_of(TOY_SHAPE, both, 1, Formats(weights=weights))
        assert replica.roofline.matrix_type == "bf16"
    assert replica_of(TOY_SHAPE, both, 1, Formats(weights="fp16")).roofline.matrix_type == "fp16"
    only_bf16 = replica_of(TOY_SHAPE, TOY, 1, Formats(weights="fp16")).roofline
    assert (only_bf16.matrix_type, only_bf16.attention_type) == ("bf16", "bf16")


def test_efficiencies_and_overheads():
    setting = "compute=0.5,memory=0.25,link=0.1,overhead_s=2"
    replica = replica_of(TOY_SHAPE, TOY, 2, efficiency=setting)
    ideal, real = (
        hit_path(r, 5, 3, chunk_tokens=1) for r in (replica_of(TOY_SHAPE, TOY, 2), replica)
    )
    assert real.parts["linear"].time_s == pytest.approx(4 * ideal.parts["linear"].time_s)
    assert real.parts["allreduce"].time_s == pytest.approx(10 * ideal.parts["allreduce"].time_s)
    assert real.overhead_s == 4
    assert real.ttft_s == pytest.approx(real.compute_s + 4)
    assert replica.roofline.matrix_ridge == 1000 * 0.5 / (100 * 0.25)


@pytest.mark.parametrize(
    ("call", "option"),
    [
        (lambda: replica_of(TOY_SHAPE, TOY, 3), "--tp 3"),
        (lambda: replica_of(TOY_SHAPE, TOY, 0), "--tp 0"),
        (lambda: replica_of(TOY_SHAPE, TOY, 2000), "--tp 2000"),
        (lambda: replica_of(TOY_SHAPE, replace(TOY, link_bytes_per_s=None), 2), "--hardware toy"),
        (lambda: replica_of(TOY_SHAPE, replace(TOY, memory_bytes_per_s=None)), "--hardware toy"),
        (lambda: Formats(weights="bf17"), "--weights bf17"),
        (lambda: Formats(kv="\x1b"), "--kv \\x1b"),
        (lambda: miss_path(replica_of(TOY_SHAPE, TOY), 0), "--prompt 0"),
        (lambda: miss_path(replica_of(TOY_SHAPE, TOY), 4, batch=0), "--batch 0"),
        (lambda: miss_path(replica_of(TOY_SHAPE, TOY), 4, chunk_tokens=0), "--chunk 0"),
        (lambda: hit_path(replica_of(TOY_SHAPE, TOY), 4, 5), "--cached"),
        (lambda: hit_path(replica_of(TOY_SHAPE, TOY), 4, -1), "--cached"),
    ],
)
def test_what_cannot_be_is_refused(call, option):
    with pytest.raises(SettingError) as caught:
        call()
    assert caught.value.option == option


def test_a_link_is_needed_by_several_gpus_only():
    replica_of(TOY_SHAPE, replace(TOY, link_bytes_per_s=None))


# The seed document. Each figure stands on the page in the row named.


def test_attention_of_the_miss_path_has_half_the_group_times_the_length():
    attention = miss_path(on_h100("llama-3-8b"), 2048).parts["attention"]
    assert attention.intensity == 4 * (2048 + 1) / 2 == 4098
    assert attention.intensity == pytest.approx(4096, rel=1e-3)
    row = line_of("| attention of the miss path")
    assert "| 4,096 | 4,098 |" in row
    assert f"it is {attention.intensity_all_bytes:.1f} |" in row


def test_the_linear_part_of_the_hit_path_has_as_many_flops_a_byte_as_tokens():
    row = line_of("| the hit path's GEMM has AI = t_new")
    for new, all_bytes in ((8, "7.99"), (64, "63.20")):
        linear = hit_path(on_h100("llama-2-70b", 2), 4096 + new, 4096).parts["linear"]
        assert linear.intensity == new
        assert linear.bound == "memory"
        assert f"{linear.intensity_all_bytes:.2f}" == all_bytes
        assert all_bytes in row
        batched = decode_step(on_h100("llama-2-70b", 2), 4096, batch=new).parts["linear"]
        assert batched == linear  # the same identity as a decode step of a batch


def test_bytes_of_the_weights():
    shape = load_shape("llama-2-70b")
    row = line_of("| 68.98B parameters")
    assert f"{num_parameters(shape):,} parameters" in row
    assert f"{linear_parameters(shape):,}: {2 * linear_parameters(shape) / 1e9:.2f} GB" in row
    assert f"{2 * num_parameters(shape) / 1e9:.2f} GB" == "137.95 GB"
    linear = hit_path(on_h100("llama-2-70b", 2), 4160, 4096).parts["linear"]
    assert linear.weight_bytes == 136_902_082_560
    assert round(linear.weight_bytes / 1e9, 1) == 136.9


def test_attention_flops_and_their_reduction():
    replica = on_h100("llama-2-70b", 2)
    miss, longer = (miss_path(replica, n).parts["attention"] for n in (4096, 4160))
    hit, shorter = (
        hit_path(replica, n + 64, n).parts["attention"].flops_per_layer for n in (4096, 4032)
    )
    assert miss.flops_per_layer == 2 * 8192 * 4096 * 4097 == 274_945_015_808
    assert hit == 4 * 8192 * (64 * 4096 + 64 * 65 // 2) == 8_658_092_032
    seed_miss, seed_hit = 2 * 8192 * 4096**2, 2 * 8192 * 64 * 4096
    assert (f"{seed_miss / 1e9:.2f}", f"{seed_hit / 1e9:.2f}") == ("274.88", "4.29")
    assert "| 274.88 | 274.95 |" in line_of("| miss-path attention = 2 n_q d_h L²")
    assert "| 4.29 | 8.66 |" in line_of("| hit-path attention = 2 n_q d_h t_new L")
    ratios = [seed_miss / hit, longer.flops_per_layer / hit, miss.flops_per_layer / shorter]
    assert [f"{r:.1f}x" for r in ratios] == ["31.7x", "32.8x", "32.3x"]
    row = line_of("| a 64x reduction")
    assert all(f"{r:.1f}x" in row for r in ratios)


def test_kv_is_read_once_a_step_and_not_once_a_token():
    replica = on_h100("llama-2-70b", 2)
    hit, step = (hit_path(replica, 4160, c).parts["attention"] for c in (4096, 4159))
    assert hit.kv_bytes == step.kv_bytes == 4160 * 327_680
    assert f"{hit.kv_bytes / 1e9:.3f} GB" in line_of("| KV reads: the hit path")
    in_fp8 = hit_path(on_h100("llama-2-70b", 2, kv="fp8"), 4160, 4096).parts["attention"]
    assert in_fp8.kv_bytes == hit.kv_bytes / 2
    assert "1.363 GB to 0.682 GB" in line_of("| a lower-precision KV cache")


def test_attention_of_the_hit_path_is_denser_than_a_decode_steps():
    replica = on_h100("llama-2-70b", 2)
    hit = hit_path(replica, 4160, 4096).parts["attention"].intensity
    step = decode_step(replica, 4160).parts["attention"].intensity
    assert (f"{hit:.1f}", f"{step:.2f}") == ("508.1", "8.00")
    assert "508.1 against 8.00" in line_of("| the hit path's attention is far more")
    assert 63 < hit / step < 64


def test_regimes_of_both_paths():
    replica = on_h100("llama-2-70b", 2)
    assert miss_path(replica, 4096).parts["linear"].bound == "compute"
    for new, bound in ((64, "memory"), (309, "memory"), (310, "compute"), (1024, "compute")):
        one_gpu = on_h100("llama-2-70b")
        assert hit_path(one_gpu, 4096 + new, 4096).parts["linear"].bound == bound
    assert "up to 309 new tokens" in line_of("| that is still memory-bound")
    assert "310 on an H100" in line_of("| a hit makes a request faster")


def test_chunks_change_bytes_and_no_flops():
    replica = on_h100("llama-2-70b", 2)
    one, many = miss_path(replica, 4096), miss_path(replica, 4096, chunk_tokens=512)
    assert (one.flops, many.num_steps) == (many.flops, 8)
    row = line_of("| chunking changes the shape")
    assert f"{one.flops / 1e12:.1f} TFLOP in 1 step or 8" in row
    assert f"{many.parts['linear'].weight_bytes / 1e9:,.1f} GB" in row
    ratio = many.parts["attention"].kv_bytes / one.parts["attention"].kv_bytes
    assert f"{ratio:.2f} times" in row
    latents = replica_of(load_shape("deepseek-v3"), load_hardware("h200"), 16)
    assert miss_path(latents, 4096, chunk_tokens=512).flops > miss_path(latents, 4096).flops


def test_batching_amortises_weights():
    linear = hit_path(on_h100("llama-2-70b", 2), 4160, 4096, batch=4).parts["linear"]
    assert linear.intensity == 256
    assert "intensity 256" in line_of("| continuous batching amortises")


def test_ttft_falls_and_tpot_stays():
    replica = on_h100("llama-2-70b", 2)
    miss, hit = miss_path(replica, 4160), hit_path(replica, 4160, 4096)
    assert hit.ttft_s < miss.ttft_s / 10
    assert f"{tpot_s(replica, 4160, 256) * 1e3:.2f} ms" in line_of("| prefix caching improves")
    row = line_of("| its value is bounded by the prompt")
    found = [speedup(replica, miss, hit, n) for n in (1, 16, 256, 4096)]
    told = ", ".join(f"{s.request:.4g}x" for s in found)
    assert told == "15.06x, 1.909x, 1.057x, 1.004x"
    assert told in row
    ceilings = [f"{s.request_ceiling:.4g}x" for s in found]
    assert ceilings[0] == "infx"
    assert ", ".join(ceilings[1:]) in row
    for s in found:
        assert s.request <= s.request_ceiling
        assert s.ttft <= s.ttft_ceiling
        assert not s.decode_s or s.request_ceiling == pytest.approx(1 / (1 - s.prefill_frac))
    assert found[0].hit_rate == 4096 / 4160


def test_later_turns_hit_more():
    rates = []
    for turn in (1, 2, 3):
        prompt, cached = turn_tokens(turn, 2000, 100, 300)
        assert prompt - cached == 100
        rates.append(cached / prompt)
    assert rates == sorted(rates)
    told = ", ".join(f"{100 * rate:.2f} %" for rate in rates)
    assert told in line_of("| a k-turn conversation")


def test_the_whole_step_of_a_32k_ingest():
    """Our figures, and that no reading of the seed's formulas gives 124,600."""
    row = line_of("| the whole step runs at")
    paragraph = line_of("**124,600 flop/byte.**") + PAGE.split("**124,600 flop/byte.**")[1][:900]
    readings: dict[int, list[float]] = {1: [], 2: []}
    for name in ("llama-3-8b", "llama-2-70b"):
        path = miss_path(on_h100(name, 2), 32768)
        weights = sum(path.parts[part].weight_bytes for part in ("linear", "lm_head"))
        assert f"{path.flops / weights:,.0f}" in row
        assert f"{path.flops / weights:,.0f}" in paragraph
        assert f"{path.intensity:,.0f}" in paragraph
        shape = load_shape(name)
        for length in (32000, 32768):
            attention = miss_path(on_h100(name, 2), length).parts["attention"].flops
            linear = 2 * active_linear_parameters(shape) * length
            for causal in (1, 2):
                for on_tokens in (0, 1, length):
                    flops = linear + causal * attention
                    flops += 2 * head_parameters(shape) * on_tokens
                    for size in (1, 2):
                        for head in (0, 1):
                            moved = size * (
                                linear_parameters(shape) + head * head_parameters(shape)
                            )
                            kv = 2 * kv_elements(shape, length)
                            readings[size] += [flops / moved, flops / (moved + kv)]
    for size, type_ in ((2, "bf16"), (1, "fp8")):
        nearest = min(abs(reading / 124_600 - 1) for reading in readings[size])
        assert f"{100 * nearest:.0f} % off in {type_}" in paragraph
        assert nearest > 0.05


def test_llm_d_does_not_follow():
    replica = on_h100("qwen3-32b", 2)
    paragraph = line_of("**llm-d's 4.3 s and 0.6 s.**") + PAGE.split("llm-d's 4.3 s and")[1][:900]
    cold = miss_path(replica, 10_000)
    peak_s = cold.flops / (2 * 989e12)
    shorter_s = miss_path(replica, 7_200).flops / (2 * 989e12)
    for figure in (
        f"{cold.flops / 1e12:.1f} TFLOP",
        f"{cold.parts['linear'].flops / 1e12:.1f} linear",
        f"{cold.parts['attention'].flops / 1e12:.1f} attention",
        f"{peak_s:.3f} s at two H100's peak",
        f"{100 * peak_s / 4.3:.1f} % of it",
        f"({100 * shorter_s / 0.82:.1f} % of peak)",
        f"{decode_step(replica, 10_000).ttft_s * 1e3:.2f} ms",
    ):
        assert figure in paragraph, figure
    assert cold.ttft_s < 0.6


# Against the counts that the shapes have themselves


@pytest.mark.parametrize("name", sorted(built_in_models()))
def test_every_built_in_model_can_be_priced(name):
    replica = on_h100(name)
    hit, miss = hit_path(replica, 2048, 1984), miss_path(replica, 2048)
    shape = replica.shape
    assert hit.parts["linear"].flops == 2 * 64 * active_linear_parameters(shape)
    read = 2 * touched_linear_parameters(shape, 64)
    assert hit.parts["linear"].weight_bytes == pytest.approx(read)
    assert 0 < hit.ttft_s < miss.ttft_s
    assert 0 < hit.flops < miss.flops
    assert tpot_s(replica, 2048, 10) < hit.ttft_s
    priced = price_rows(shape, replica.hardware, [2048, 2048], [1984, 0])
    assert priced.seconds == pytest.approx([hit.ttft_s, miss.ttft_s], rel=1e-12)
    assert priced.flops == pytest.approx([hit.flops, miss.flops], rel=1e-12)


def test_rows_with_all_tokens_cached_compute_the_last():
    replica = replica_of(TOY_SHAPE, TOY)
    for chunk in (None, 2):
        seconds, flops = price_rows(TOY_SHAPE, TOY, [5, 1], [5, 1], chunk_tokens=chunk)
        steps = [decode_step(replica, tokens) for tokens in (5, 1)]
        assert seconds == pytest.approx([step.ttft_s for step in steps])
        assert flops == pytest.approx([step.flops for step in steps])


def test_a_matrix_product():
    work = matrix_product(2, 3, 5, weight_bytes=1, activation_bytes=2)
    assert (work.flops, work.weight_bytes, work.other_bytes) == (60, 15, 32)
    assert work.num_bytes == 47
