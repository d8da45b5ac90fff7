"""Where one side begins to pay: by hand, and by asking for every count of tokens."""

from pathlib import Path

import pytest

from hitpath.cost.break_even import (
    HORIZON_TOKENS,
    Crossover,
    PrefixCurves,
    Tier,
    compute_bound_from,
    crossover,
    hit_share_needed,
    load_s,
    prefix_bytes,
    rate_needed,
)
from hitpath.cost.formats import Formats
from hitpath.cost.hardware import load_hardware
from hitpath.cost.model_table import load_shape
from hitpath.cost.paths import hit_path, miss_path, replica_of
from hitpath.cost.speedup import saved_s

PAGE = (Path(__file__).parents[2] / "docs" / "hit-and-miss-path.md").read_text()
HOST = Tier("host memory", 64e9, per_gpu=True)
DISK = Tier("disk", 1e9, per_gpu=False, latency_s=0.001)


def on(name, hardware="h100-sxm", tp=1, **formats):
    return replica_of(load_shape(name), load_hardware(hardware), tp, Formats(**formats))


def test_the_ridge_in_tokens_by_hand():
    """2 P t FLOPs against 2 P + 2 w t bytes (w: what a token reads and writes at products), so
    t = P / (P / ridge - w), rounded up."""
    for hardware, told in (
        ("a100-sxm-80gb", "157 tokens on an A100-SXM-80GB"),
        ("h100-sxm", "310 on an H100-SXM"),
        ("h200", "214 on an H200"),
        ("b200", "307 on a B200"),
        ("l40s", "450 on an L40S"),
    ):
        replica = on("llama-2-70b", hardware)
        d, kv, ffn = 8192, 1024, 28672
        width = 80 * ((d + d + 2 * kv) + (d + d) + (d + 2 * ffn) + (ffn + d))
        parameters = 80 * (d * (d + 2 * kv) + d * d + 3 * d * ffn)
        ridge = load_hardware(hardware).ridge_point("bf16")
        exact = parameters / (parameters / ridge - width)
        found = compute_bound_from(replica)
        assert found == int(exact) + 1
        assert found == int(told.split()[0])
        assert told in PAGE


def test_a_batch_needs_fewer_tokens_of_each_sequence():
    one, four = (compute_bound_from(on("llama-2-70b"), batch) for batch in (1, 4))
    assert four == -(-one // 4)


def test_what_flows_in_and_out_can_be_too_much():
    """A narrow model on hardware with a high ridge never turns compute-bound."""
    replica = on("smollm2-135m", "l40s")
    assert compute_bound_from(replica) is None
    assert miss_path(replica, HORIZON_TOKENS).parts["linear"].bound == "memory"


def test_smaller_weights_move_it():
    bf16, fp8, int4 = (
        compute_bound_from(on("llama-3-70b", weights=w)) for w in ("bf16", "fp8", "int4")
    )
    assert int4 < bf16  # a quarter of the bytes, computed in bf16
    assert fp8 == pytest.approx(bf16, rel=0.06)  # half the bytes at twice the rate


def test_a_lookup_against_every_prefix():
    replica = on("llama-2-70b", tp=2)
    found = crossover(PrefixCurves(replica, 64), lambda cached: 1e-3)
    assert "from 98 cached tokens on" in PAGE
    assert found == Crossover(98, 98)
    for cached in range(1, 400):
        gain = saved_s(replica, cached, 64)
        assert (gain > 1e-3) == (cached >= 98)


def test_a_lookup_that_costs_nothing_pays_at_once():
    assert crossover(PrefixCurves(on("llama-3-8b"), 64), lambda cached: 0.0) == Crossover(1, 1)


def test_loading_against_computing_again():
    """From a fast tier sooner than from a slow one; from a very slow one never."""
    replica = on("llama-3-8b")
    curves = PrefixCurves(replica, 64)
    firsts = []
    for rate in (64e9, 32e9, 16e9):
        tier = Tier("tier", rate, per_gpu=True, latency_s=0.0005)
        found = crossover(curves, lambda cached, tier=tier: load_s(replica, tier, cached))
        pays = [
            cached
            for cached in range(1, 3000)
            if hit_path(replica, cached + 64, cached).ttft_s + load_s(replica, tier, cached)
            < miss_path(replica, cached + 64).ttft_s
        ]
        assert found.from_tokens == pays[0]
        assert found.always_from_tokens == pays[0]
        assert pays == list(range(pays[0], 3000))
        firsts.append(pays[0])
    assert firsts == sorted(firsts)
    slow = Tier("tape", 1e6, per_gpu=False)
    never = crossover(curves, lambda cached: load_s(replica, slow, cached))
    assert never == Crossover(None, None)


def test_a_prefix_may_pay_while_longer_ones_do_not():
    """Few tokens more touch many experts more, so the shortest prefixes save most a token."""
    replica = on("deepseek-v3", tp=2)
    curves = PrefixCurves(replica, 64)
    tier = Tier("disk", 1e9, per_gpu=False, latency_s=0.001)
    found = crossover(curves, lambda cached: load_s(replica, tier, cached))
    assert found.from_tokens is not None
    assert found.always_from_tokens is not None
    assert found.from_tokens < found.always_from_tokens

    def pays(cached):
        return curves.hit_s(cached) + load_s(replica, tier, cached) < curves.miss_s(cached)

    assert not any(pays(cached) for cached in range(1, found.from_tokens))
    assert pays(found.from_tokens)
    assert not pays(found.always_from_tokens - 1)
    assert all(pays(found.always_from_tokens + i) for i in range(0, 100_000, 997))


def test_a_horizon_that_ends_where_loading_loses():
    found = crossover(PrefixCurves(on("deepseek-v3", tp=2), 64), lambda c: 2e-5 * c**2, 500)
    assert found.always_from_tokens is None


def test_bytes_over_links():
    llama, latents = on("llama-2-70b", tp=16), on("deepseek-v3", tp=16)
    assert prefix_bytes(llama, 100) == 100 * 327_680
    assert prefix_bytes(llama, 100, on_every_gpu=True) == 2 * 100 * 327_680  # 8 heads, 16 GPUs
    assert prefix_bytes(latents, 100, on_every_gpu=True) == 16 * 100 * 70_272
    assert load_s(llama, HOST, 100) == pytest.approx(2 * 100 * 327_680 / (16 * 64e9))
    assert load_s(latents, HOST, 100, batch=3) == pytest.approx(3 * 100 * 70_272 / 64e9)
    assert load_s(llama, DISK, 100) == pytest.approx(0.001 + 100 * 327_680 / 1e9)


def test_the_rate_at_which_a_prefix_breaks_even():
    replica = on("llama-2-70b", tp=2)
    gain = saved_s(replica, 4032, 64)
    for tier in (HOST, DISK):
        rate = rate_needed(replica, tier, 4032, gain)
        assert rate is not None
        at_that_rate = Tier(tier.name, rate, tier.per_gpu, tier.latency_s)
        assert load_s(replica, at_that_rate, 4032) == pytest.approx(gain)
    assert rate_needed(replica, Tier("far", 1e9, False, latency_s=gain), 4032, gain) is None


def test_the_share_of_requests_that_must_hit():
    assert hit_share_needed(0.002, 0.1) == pytest.approx(0.02)
    assert hit_share_needed(0.002, 0.1, fetch_s=0.05) == pytest.approx(0.04)
    assert hit_share_needed(0.2, 0.1) == pytest.approx(2)
    assert hit_share_needed(0.002, 0.1, fetch_s=0.1) is None
    assert hit_share_needed(0.0, 0.1) == 0
