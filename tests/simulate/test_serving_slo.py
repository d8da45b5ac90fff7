"""The words of --slo, when a bound is met, and which requests are good."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.core import SettingError
from hitpath.summary.serving_slo import parse_slo, quantile

NAN, INF = float("nan"), float("inf")


def times(ttft, tpot=None, e2e=None):
    nothing = [NAN] * len(ttft)
    return {
        "ttft": np.array(ttft, dtype=float),
        "tpot": np.array(tpot or nothing, dtype=float),
        "e2e": np.array(e2e or nothing, dtype=float),
    }


def test_the_words_become_bounds():
    slo = parse_slo("ttft_p90<0.5, tpot_p99.9<50ms,e2e_mean<12s")
    assert [(b.metric, b.quantile, b.below_s) for b in slo.bounds] == [
        ("ttft", 0.9, 0.5),
        ("tpot", pytest.approx(0.999), 0.05),
        ("e2e", None, 12.0),
    ]
    assert [b.statistic for b in slo.bounds] == ["ttft_p90", "tpot_p99.9", "e2e_mean"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ttft<1",
        "ttft_p90",
        "ttft_p90<=1",
        "ttft_p100<1",
        "ttft_p90<0",
        "ttft_p90<-1",
        "ttft_p90<nan",
        "ttft_p90<1e99",
        "itl_p90<1",
        "ttft_p90<1,",
        "ttft_p90<1,ttft_p90<2",
        "ttft_p90<1;tpot_p90<1",
        "ttft_p90<1\n",
    ],
)
def test_other_words_are_refused(text):
    if text.endswith("\n"):
        text = text.replace("\n", "\nx")
    with pytest.raises(SettingError):
        parse_slo(text)


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=30),
    st.floats(0, 0.999),
)
def test_a_quantile_is_numpy_s(values, share):
    array = np.array(values)
    assert quantile(array, share) == pytest.approx(np.quantile(array, share), rel=1e-12, abs=1e-12)


def test_a_request_without_an_answer_is_infinitely_late():
    slo = parse_slo("ttft_p50<1")
    assert slo.met(times([0.1, 0.2, INF]))
    assert not slo.met(times([0.1, INF, INF]))
    assert not parse_slo("ttft_mean<1000").met(times([0.1, 0.2, INF]))
    assert quantile(np.array([1.0, INF]), 0.0) == 1.0
    assert quantile(np.array([INF, INF]), 0.5) == INF


def test_good_requests_keep_the_loosest_bound_of_each_metric():
    slo = parse_slo("ttft_p50<0.2,ttft_p99<1,tpot_p90<0.05")
    good = slo.good(times([0.1, 0.9, 1.0, 0.1, 0.1], [0.01, 0.049, 0.01, NAN, 0.05]))
    assert good.tolist() == [True, True, False, True, False]


def test_what_has_no_bound_must_still_have_an_answer():
    good = parse_slo("tpot_p90<1").good(times([0.1, INF], [0.5, NAN]))
    assert good.tolist() == [True, False]


def test_a_statistic_that_no_request_has_is_met():
    assert parse_slo("tpot_p90<0.001").met(times([0.1, 0.2]))
