"""Decisions worked out by hand from the formulas, and how draws and hashes are spread."""

import math

import numpy as np
import pytest

from hitpath.routing.dynamo import costs
from hitpath.routing.hitpath_router import ttfts
from hitpath.routing.llmd import scores
from hitpath.routing.registry import make_router
from hitpath.routing.terms import StepTerms
from hitpath.routing.view import View, ask_of, empty_view

TERMS = StepTerms(prefill_s=1e-4, step_s=0.01, max_batch_tokens=8192)


def view_of(**figures: list[float]) -> View:
    count = len(next(iter(figures.values())))
    view = empty_view(count)
    for name, values in figures.items():
        getattr(view, name)[:] = values
    if "match_host" not in figures:
        view.match_host[:] = view.match
    return view


def chosen(text: str, view: View, prompt_tokens: int = 1000, rows: int = 60) -> set[int]:
    router = make_router(text, len(view.alive), 11, TERMS)
    return {router.pick(ask_of(row, prompt_tokens), view).worker for row in range(rows)}


def test_llmd_scores_of_the_published_benchmark():
    """Pods 0 and 1 hold 6,000 and 7,136 tokens, pod 2 none; queues 0, 1, 4; KV use .5, .75, .25."""
    view = view_of(match=[6000, 7136, 0], waiting=[0, 1, 4], kv_use=[0.5, 0.75, 0.25])
    precise = make_router("llmd-precise", 3, 0)
    got = scores(precise.params, ask_of(0, 7200), view)
    assert got == pytest.approx([0 + 2 * 0.5 + 2 * 1, 3 + 2 * 0.25 + 2 * 0.75, 0 + 2 * 0.75 + 0])
    assert precise.pick(ask_of(0, 7200), view).worker == 1
    # The approximate index looks at 256 blocks of 16 tokens, 4,096: both are whole there.
    approx = make_router("llmd-approx", 3, 0)
    short = view_of(match=[4096, 4096, 0], waiting=[0, 1, 4], kv_use=[0.5, 0.75, 0.25])
    got = scores(approx.params, ask_of(0, 7200), short)
    assert got == pytest.approx([1 + 0.5 + 1, 1 + 0.25 + 0.75, 0 + 0.75 + 0])
    assert approx.pick(ask_of(0, 7200), short).worker == 0


def test_llmd_one_waiting_request_can_cost_a_full_point():
    """Min-max over the pods: queues of 0 and 1 are as far apart as 0 and 100."""
    for waiting in ([0, 1], [0, 100]):
        view = view_of(waiting=waiting, kv_use=[0.9, 0.0])
        got = scores(make_router("llmd-load", 2, 0).params, ask_of(0, 10), view)
        assert got == pytest.approx([0.1 + 1, 1.0 + 0])


def test_llmd_ties_in_turn():
    router = make_router("llmd-precise-2026", 3, 0)
    view = view_of(match=[16, 0, 16])
    assert [router.pick(ask_of(0, 32), view).worker for _ in range(5)] == [0, 2, 0, 2, 0]
    assert chosen("llmd-precise", view, 32) == {0, 2}


def test_dynamo_cost():
    """64 tokens queued and 160 asked, 16 a block: 14 blocks less 4 on the device and 0.75 * 2."""
    view = view_of(
        match=[64], match_host=[96], prefill_tokens=[64], active_unique=[320], active_shared=[48]
    )
    router = make_router("dynamo", 1, 0)
    assert costs(router.params, ask_of(0, 160), view)[0] == 14 - 4 - 1.5 + 20 + (10 - 3)
    scaled = make_router("dynamo:prefill_scale=2,overlap=0.5,requests=1,host=0", 1, 0)
    view.in_flight[0] = 3
    assert costs(scaled.params, ask_of(0, 160), view)[0] == 2 * (14 - 2) + 27 + 3


def test_dynamo_credit_decays_with_the_backlog():
    """Worker 1 is 160 tokens behind worker 0, one request's worth: its credit is halved at 1."""
    view = view_of(match=[160, 160], prefill_tokens=[0, 160])
    router = make_router("dynamo:decay=1", 2, 0)
    assert costs(router.params, ask_of(0, 160), view).tolist() == [10 - 10 + 10, 20 - 5 + 10]


def test_dynamo_temperature_draws_by_softmax():
    view = view_of(match=[160, 80, 0])
    router = make_router("dynamo:temperature=0.5", 3, 3)
    picks = [router.pick(ask_of(row, 160), view).worker for row in range(6000)]
    weights = np.array([math.exp(-(cost / 10) / 0.5) for cost in (0, 5, 10)])
    shares = np.bincount(picks, minlength=3) / 6000
    assert shares == pytest.approx(weights / weights.sum(), abs=0.02)


def test_prefix_hash_is_bounded():
    """20 and 0 in flight: mean 10.5, limit max(13.1, 20.5); 22 and 0: mean 11.5, limit 21.5."""
    ask = ask_of(0, 500, prefix_hash=12345)
    router = make_router("prefix-hash", 2, 0)
    owner = router.pick(ask, view_of(in_flight=[0, 0])).worker
    for load, expected in ((20, owner), (22, 1 - owner)):
        loads = [0, 0]
        loads[owner] = load
        assert router.pick(ask, view_of(in_flight=loads)).worker == expected


def test_sglang_threshold_and_balance():
    assert chosen("sglang", view_of(match=[301, 0], in_flight=[64, 0])) == {0}
    assert chosen("sglang", view_of(match=[301, 0], in_flight=[65, 0])) == {1}
    assert chosen("sglang", view_of(match=[300, 0], in_flight=[5, 4])) == {1}
    # 200 against 136 are 64 apart; 201 against 136 more, but not 1.5 times as many.
    assert chosen("sglang", view_of(match=[301, 0], in_flight=[201, 136])) == {0}
    assert len(chosen("sglang", view_of(match=[400, 400, 0], in_flight=[1, 1, 0]))) == 1


def test_smg_spills_one_request_and_caps_its_margin():
    """Mean 20: cap max(4, 2 * sqrt(20)) = 8.9; 40 in flight is over 30 and over 28.9."""
    loads = [40, 10, 10]
    assert chosen("smg", view_of(match=[900, 0, 0], in_flight=loads)) == {1}
    assert chosen("smg:cap=off", view_of(match=[900, 0, 0], in_flight=loads)) == {0}
    assert chosen("smg", view_of(match=[900, 900, 0], in_flight=[9, 8, 1])) == {1}


def test_vllm_kv_prefers_the_last_of_equals_and_counts_lower_tiers():
    assert chosen("vllm-kv", view_of(match=[64, 64, 0])) == {1}
    tiers = view_of(match=[64, 0, 0], match_host=[64, 96, 0])
    assert chosen("vllm-kv", tiers) == {1}
    assert chosen("vllm-kv:host=0.5", tiers) == {0}
    assert chosen("vllm-kv", view_of(match=[0, 0], in_flight=[2, 1])) == {1}


def test_production_stack_takes_any_owner_whatever_its_load():
    view = view_of(match=[96, 96, 64], in_flight=[50, 0, 0], sent=[9, 9, 1])
    assert chosen("production-stack", view) == {0, 1}
    assert chosen("production-stack:min=97", view) == {2}
    assert chosen("production-stack", view_of(match=[0, 0, 0])) == {0, 1, 2}


def test_aibrix_gate_and_deviation():
    """Loads 8, 0, 0: mean 2.7, sample deviation 4.6, limit 7.3: the holder is over it."""
    assert chosen("aibrix", view_of(match=[900, 0, 0], in_flight=[8, 0, 0])) == {1, 2}
    assert chosen("aibrix", view_of(match=[900, 0, 0], in_flight=[8, 5, 5])) == {1, 2}
    assert chosen("aibrix", view_of(match=[900, 100, 0], in_flight=[6, 5, 5])) == {1}
    assert chosen("aibrix", view_of(match=[900, 100, 0], in_flight=[5, 5, 5])) == {0}
    # 13 and 4 are more than 8 apart: only the least loaded are candidates, and hold nothing.
    assert chosen("aibrix", view_of(match=[900, 900, 0], in_flight=[13, 6, 4])) == {2}


def test_ray_below_a_tenth_goes_to_the_smallest_tree():
    view = view_of(match=[99, 0, 0], index_tokens=[500, 40, 40], in_flight=[0, 7, 3])
    assert chosen("ray", view) == {2}
    assert chosen("ray", view_of(match=[100, 0, 0], in_flight=[90, 0, 0])) == {0}
    assert chosen("ray:imbalanced=10", view_of(match=[900, 0], in_flight=[90, 0])) == {1}


def test_preble_exploits_over_half_and_explores_otherwise():
    view = view_of(match=[501, 0], in_flight=[1, 0])
    assert chosen("preble", view, 1000) == {0}
    view = view_of(match=[500, 0], prefill_tokens=[501, 0])
    assert chosen("preble", view, 1000) == {1}
    view = view_of(match=[500, 0], prefill_tokens=[499, 0])
    assert chosen("preble", view, 1000) == {0}


def test_hitpath_predicts_the_time_to_the_first_token():
    """8,192 tokens a step: 9,000 queued and asked are two steps of 10 ms; 0.1 ms a token."""
    view = view_of(match=[0, 1000], prefill_tokens=[8000, 0])
    router = make_router("hitpath", 2, 0, TERMS)
    ask = ask_of(0, 1001)
    got = ttfts(router.params, ask, view, False)
    assert got == pytest.approx([9001e-4 + 2 * 0.01, 1e-4 + 0.01])
    # 20 decoding at worker 1 would each be delayed by the prefill there, nobody at worker 0; half
    # of that delay is for the next one who asks for what was computed.
    view = view_of(match=[0, 500], decoding=[0, 20])
    assert ttfts(router.params, ask, view, True) == pytest.approx(
        [0.1001 + 0.01, 0.0501 + 0.01 + 20 * 0.0501 / 2]
    )
    assert router.pick(ask, view).worker == 0
    assert make_router("hitpath:decode_price=0", 2, 0, TERMS).pick(ask, view).worker == 1


def test_hitpath_prices_who_comes_behind_and_what_is_displaced():
    """10 arrivals a second over 2 workers; busy 0.11 s; a full cache doubles the prefill."""
    terms = StepTerms(prefill_s=1e-4, step_s=0.01, capacity_tokens=5000)
    view = view_of(match=[0, 0], sent=[60, 40], index_tokens=[3999, 4001])
    ask = ask_of(0, 1000, time_s=10.0)
    got = ttfts(make_router("hitpath", 2, 0, terms).params, ask, view, True)
    behind = 0.1 * 5 * 0.11
    assert got == pytest.approx([0.11 + behind, 0.11 + behind + 0.1])


def test_hitpath_waits_for_memory():
    """4,500 of 5,000 in use, 1,000 + 100 wanted: 600 missing, a step of 10 ms, 100 outputs."""
    terms = StepTerms(prefill_s=1e-4, step_s=0.01, capacity_tokens=5000)
    view = view_of(match=[0], kv_use=[0.9])
    ask = ask_of(0, 1000, expected_output_tokens=100)
    got = ttfts(make_router("hitpath", 1, 0, terms).params, ask, view, False)
    assert got == pytest.approx([0.11 + 600 / 4500 * 100 * 0.01])
    # 8 in flight have half of their 100 tokens each to come, on average: 400 more are missing.
    view = view_of(match=[0], kv_use=[0.9], in_flight=[8])
    got = ttfts(make_router("hitpath", 1, 0, terms).params, ask, view, False)
    assert got == pytest.approx([0.11 + 1000 / 4500 * 100 * 0.01])


def test_hitpath_prices_the_steps_that_it_makes_longer():
    """A prompt of 1,000 with 100 to come makes a step 1,050 x 1 us + 0.05 ms longer; 100 steps of
    that for each of 10 in flight, and as much for it by them."""
    terms = StepTerms(prefill_s=1e-4, context_s=1e-6, sequence_s=5e-5, step_s=0.01)
    view = view_of(match=[500, 500], in_flight=[0, 10])
    ask = ask_of(0, 1000, expected_output_tokens=100)
    got = ttfts(make_router("hitpath", 2, 0, terms).params, ask, view, True)
    assert got == pytest.approx([0.06, 0.06 + 2 * 100 * 1.1e-3 * 10])
    # Worth a copy: 500 tokens computed again cost worker 0 0.05 s.
    view = view_of(match=[0, 500], in_flight=[0, 1])
    assert make_router("hitpath", 2, 0, terms).pick(ask, view).worker == 0
    assert make_router("hitpath:load_price=0", 2, 0, terms).pick(ask, view).worker == 1


@pytest.mark.parametrize("name", ["random", "power-of-two", "session-hash", "prefix-hash"])
def test_even_and_by_the_seed(name):
    view = empty_view(4)
    first, second = (make_router(name, 4, seed) for seed in (1, 2))
    asks = [
        ask_of(row, 10, session=row * 7919 + 1, prefix_hash=row * 0x9E3779B97F4A7C15 % 2**64)
        for row in range(4000)
    ]
    workers = [first.pick(ask, view).worker for ask in asks]
    assert np.bincount(workers, minlength=4).min() > 650
    assert workers == [first.pick(ask, view).worker for ask in asks]
    assert workers != [second.pick(ask, view).worker for ask in asks]


@pytest.mark.parametrize("name", ["session-hash", "prefix-hash", "sglang"])
def test_only_the_keys_of_a_dead_worker_move(name):
    view = view_of(match=[9, 9, 9, 9, 9])
    router = make_router(name, 5, 4)
    asks = [ask_of(0, 10, session=k * 31 + 1, prefix_hash=k * 2**53) for k in range(800)]
    before = [router.pick(ask, view).worker for ask in asks]
    view.alive[2] = False
    after = [router.pick(ask, view).worker for ask in asks]
    assert 2 in before
    assert all(a == b for a, b in zip(before, after, strict=True) if b != 2 and a != 2)
    assert len({b for a, b in zip(before, after, strict=True) if a == 2}) > 1


def test_round_robin_skips_the_dead_and_goes_on():
    router = make_router("round-robin", 4, 0)
    view = empty_view(4)
    view.alive[1] = False
    assert [router.pick(ask_of(0, 1), view).worker for _ in range(5)] == [0, 2, 3, 0, 2]
    view.alive[:] = [True, True, False, False]
    assert [router.pick(ask_of(0, 1), view).worker for _ in range(3)] == [0, 1, 0]


def test_reasons_tell_the_numbers():
    view = view_of(match=[640, 0], waiting=[2, 0], kv_use=[0.5, 0.25], in_flight=[3, 1])
    said = make_router("llmd-precise", 2, 0).pick(ask_of(0, 1000), view).reason
    assert said == (
        "score 4 of 3.5 to 4, match 640 of 1,000 tokens (most 640), 3 in flight (fewest 1), "
        "waiting 2, kv use 0.5"
    )
    assert make_router("random", 2, 0).pick(ask_of(0, 9), view).reason.endswith("(fewest 1)")


def test_hitpath_takes_each_workers_own_times():
    """Worker by worker what the times of that worker alone give, and so the faster one."""
    rng = np.random.default_rng(5)
    every = [
        StepTerms(
            prefill_s=float(10 ** rng.uniform(-6, -3)),
            step_s=float(10 ** rng.uniform(-3, -1)),
            context_s=float(10 ** rng.uniform(-9, -6)),
            capacity_tokens=int(rng.integers(0, 20_000)),
        )
        for _ in range(4)
    ]
    view = empty_view(4)._replace(
        prefill_tokens=rng.integers(0, 5000, 4),
        in_flight=rng.integers(0, 9, 4),
        match=rng.integers(0, 900, 4),
        kv_use=rng.random(4),
    )
    ask = ask_of(3, 1000, expected_output_tokens=50, time_s=9.0)
    got = ttfts(make_router("hitpath", 4, 0, every).params, ask, view, True)
    alone = [
        ttfts(make_router("hitpath", 4, 0, terms).params, ask, view, True)[w]
        for w, terms in enumerate(every)
    ]
    assert got.tolist() == alone
    assert len(make_router("hitpath", 4, 0, [every[0]] * 4).params) == 13
    assert make_router("hitpath", 4, 0, every).pick(ask, view).worker == int(np.argmin(alone))
    with pytest.raises(ValueError, match="4 step times for 3 workers"):
        make_router("hitpath", 3, 0, every)
