"""Figures of a made-up run against figures worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.accounting.ledger import Rungs, attribute
from hitpath.core import ABSENT
from hitpath.summary.serving import quantiles, sum_up_serving
from hitpath.summary.serving_slo import parse_slo
from simulate.made import floats, ints, made_outcome, made_served


def summed(slo=None, **changed):
    stage = changed.pop("stage", None)
    served = made_served(made_outcome(**changed), stage)
    order = ints(0, 1, 2, 4)
    prompt = served.prompt_tokens[order]
    rungs = np.zeros((9, 4), dtype=np.int64)
    rungs[0:4] = served.outcome.granted[:, order]
    rungs[4:8] = rungs[3]
    rungs[8] = prompt
    reported = np.full(4, ABSENT)
    ledger = attribute(Rungs(rungs, reported, np.zeros(4, dtype=np.bool_)))
    return sum_up_serving(served, ledger, order, None if slo is None else parse_slo(slo))


def test_latency_is_of_the_served_requests():
    latency = summed().whole.latency
    ttft = [0.5, 1.0, 0.25]
    assert latency.ttft_s.mean == pytest.approx(np.mean(ttft))
    assert latency.ttft_s.p90 == pytest.approx(np.quantile(ttft, 0.9))
    # one output token has no time per token
    assert latency.tpot_s.mean == pytest.approx(np.mean([4 / 8, 4 / 4]))
    assert latency.e2e_s.p50 == 4.5


def test_every_request_ends_once():
    serving = summed()
    assert serving.whole.endings == {
        "served": 3,
        "refused_full": 1,
        "too_large": 0,
        "failed_worker": 1,
    }
    assert (serving.whole.num_sent, serving.num_admitted) == (5, 4)
    assert (serving.num_preemptions, serving.recomputed_tokens) == (1, 8)


def test_throughput_is_from_the_first_sent_to_the_last_end():
    found = summed().whole.throughput
    assert found.output_tokens_per_s == pytest.approx((9 + 5 + 1) / 6)
    assert found.requests_per_s == pytest.approx(3 / 6)


def test_queue_and_kv_use_are_a_worker_s():
    whole = summed().whole
    assert whole.queue.mean == pytest.approx(0.5 / (6 * 2))
    assert whole.queue.max == 1
    assert whole.kv_use.mean == pytest.approx((12 / 60 + 24 / 60) / 2)
    assert whole.kv_use.max == pytest.approx(0.9)
    assert whole.queue.p90 == 0  # somebody waits in 0.5 s of 12
    assert whole.kv_use.p90 == pytest.approx(0.9)  # at most 0.5 in 9 s of 12
    assert [worker.part.queue.max for worker in summed().per_worker] == [0, 1]


def test_the_funnel_narrows():
    funnel = summed().funnel
    assert (funnel.prompt, funnel.ever, funnel.best) == (64 * 3 + 96, 80, 80)
    assert (funnel.chosen, funnel.delivered, funnel.believed) == (64, 48, 64)


def test_tokens_of_workers_add_up():
    serving = summed()
    assert serving.hit_tokens_by_tier == {"device": 32, "host": 16, "remote": 0}
    assert [w.part.hit_tokens for w in serving.per_worker] == [16, 32]
    assert [w.part.num_sent for w in serving.per_worker] == [2, 2]
    assert [w.evicted_tokens for w in serving.per_worker] == [48, 0]
    assert serving.per_worker[1].peak_kv_use == pytest.approx(0.9)
    assert serving.per_worker[0].busy_frac == pytest.approx(0.5)


def test_stages_have_their_own_figures():
    serving = summed(stage=ints(0, 0, 1, 1, 1), stage_start_s=floats(0, 2))
    first, second = serving.per_stage
    assert (first.begin_s, first.end_s, second.begin_s, second.end_s) == (0, 6, 2, 4)
    assert first.part.endings["served"] == 2
    assert second.part.endings == {
        "served": 1,
        "refused_full": 1,
        "too_large": 0,
        "failed_worker": 1,
    }
    assert first.part.throughput.output_tokens_per_s == pytest.approx(14 / 6)


def test_a_lost_request_breaks_the_slo_and_is_no_good_one():
    goodput = summed("ttft_p90<10,e2e_mean<1000").goodput
    assert not goodput.met
    assert [bound.value_s for bound in goodput.bounds] == [float("inf")] * 2
    assert goodput.num_good == 3
    assert goodput.per_s == pytest.approx(3 / 6)
    kept = summed("ttft_p50<2").goodput
    assert kept.met
    assert kept.bounds[0].value_s == pytest.approx(1.0)


def test_good_requests_keep_their_own_bounds():
    assert summed("ttft_p50<0.6").goodput.num_good == 2
    assert summed("tpot_p50<0.6").goodput.num_good == 2  # the single token has none to break


def test_windows_hold_every_request():
    windows = summed().windows
    assert len(windows) == 60
    assert sum(w.num_sent for w in windows) == 5
    assert sum(w.num_ended for w in windows) == 3
    total = sum(w.output_tokens_per_s * (w.end_s - w.begin_s) for w in windows)
    assert total == pytest.approx(15)


def test_a_run_at_one_moment_has_no_rates():
    none = floats(0, 0, 0, 0, 0)
    serving = summed(
        "ttft_p90<1",
        sent_s=none,
        admit_s=floats(0, 0, 0, np.nan, 0),
        first_token_s=none,
        finish_s=floats(0, 0, 0, np.nan, np.nan),
        end_s=0.0,
    )
    assert serving.whole.throughput.output_tokens_per_s is None
    assert serving.windows == ()
    assert serving.goodput.per_s is None
    assert serving.whole.latency.ttft_s.mean == 0


def test_an_unlimited_cache_has_no_use():
    totals = made_outcome().per_worker
    fields = {name: getattr(totals, name) for name in totals.__slots__}
    fields["capacity_blocks"] = ints(ABSENT, ABSENT)
    serving = summed(per_worker=type(totals)(**fields))
    assert serving.whole.kv_use.mean is None
    assert serving.per_worker[0].peak_kv_use is None


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50))
def test_quantiles_are_numpy_s(values):
    found = quantiles(np.array(values))
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert getattr(found, name) == pytest.approx(np.quantile(values, share))
