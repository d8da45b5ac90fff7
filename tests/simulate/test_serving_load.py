"""When requests are sent: trace, Poisson, constant, closed loop, stages."""

from dataclasses import replace

import numpy as np
import pytest

from hitpath.core import ABSENT, SettingError
from hitpath.sim.serving_file import Load, Stage
from hitpath.sim.serving_load import plan_sending
from support import trace_of_rows


def rows_of(count, sessions=None, finish=True):
    rows = []
    for i in range(count):
        row = {"id": f"r{i}", "arrival_s": 100.0 + 2 * i, "tokens": [1, 2, 3 + i]}
        if sessions:
            row["session"] = f"s{i % sessions}"
        if finish:
            row |= {"output_tokens": 4, "finish_s": 101.0 + 2 * i}
        rows.append(row)
    return rows


@pytest.fixture
def trace(tmp_path):
    return trace_of_rows(tmp_path, rows_of(6, sessions=2))


def test_the_trace_s_own_times_begin_at_zero(trace):
    plan = plan_sending(trace, Load(), 0)
    assert plan.time_s.tolist() == [0, 2, 4, 6, 8, 10]
    assert set(plan.follows.tolist()) == {ABSENT}
    assert set(plan.stage.tolist()) == {ABSENT}


def test_scale_is_how_many_times_as_fast(trace):
    assert plan_sending(trace, Load(scale=4.0), 0).time_s.tolist() == [0, 0.5, 1, 1.5, 2, 2.5]


def test_a_rate_is_the_mean_of_the_scaled_trace(trace):
    times = plan_sending(trace, Load(rate_per_s=10.0), 0).time_s
    assert (len(times) - 1) / times[-1] == pytest.approx(10.0)


def test_poisson_gaps_come_from_the_seed_alone(tmp_path):
    trace = trace_of_rows(tmp_path, rows_of(400))
    first, again, other = (
        plan_sending(trace, Load(arrivals="poisson", rate_per_s=5.0), seed).time_s
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    gaps = np.diff(first)
    assert gaps.mean() == pytest.approx(0.2, rel=0.2)
    assert gaps.std() == pytest.approx(0.2, rel=0.25)


def test_closed_loop_waits_for_the_reply(trace):
    plan = plan_sending(trace, Load(arrivals="closed", think_s=3.0), 0)
    assert plan.follows.tolist() == [ABSENT, ABSENT, 0, 1, 2, 3]
    assert plan.think_s.tolist() == [0, 0, 3, 3, 3, 3]
    assert plan.time_s[:2].tolist() == [0, 2]
    assert np.isnan(plan.time_s[2:]).all()


def test_without_think_time_it_is_what_the_trace_waited(trace):
    # the next turn of a session comes 4 s behind the last, whose reply took 1 s
    plan = plan_sending(trace, Load(arrivals="closed"), 0)
    assert plan.think_s.tolist() == [0, 0, 3, 3, 3, 3]


def test_stages_take_the_next_requests(tmp_path):
    trace = trace_of_rows(tmp_path, rows_of(10))
    stages = (Stage(rate_per_s=2.0, requests=4), Stage(rate_per_s=4.0, duration_s=1.0))
    load = Load(arrivals="constant", stages=stages)
    plan = plan_sending(trace, load, 0)
    assert plan.stage.tolist() == [0] * 4 + [1] * 4
    assert plan.time_s.tolist() == [0, 0.5, 1, 1.5, 0, 0.25, 0.5, 0.75]
    assert plan.drain
    assert "2 requests behind the last stage are not sent" in plan.notes
    flowing = plan_sending(trace, Load(arrivals="constant", stages=stages, drain=False), 0)
    assert flowing.time_s.tolist() == [0, 0.5, 1, 1.5, 1.5, 1.75, 2.0, 2.25]


def test_an_empty_prompt_is_not_sent(tmp_path):
    rows = rows_of(3)
    rows[1]["tokens"] = []
    plan = plan_sending(trace_of_rows(tmp_path, rows), Load(), 0)
    assert plan.rows.tolist() == [0, 2]
    assert "1 requests with an empty prompt are not sent" in plan.notes


@pytest.mark.parametrize(
    ("load", "option"),
    [
        (Load(scale=2.0, rate_per_s=1.0), "--scale"),
        (Load(arrivals="poisson"), "--arrivals poisson"),
        (Load(arrivals="poisson", rate_per_s=1.0, scale=2.0), "--scale"),
        (Load(think_s=1.0), "--think-s"),
        (Load(arrivals="closed"), "--arrivals closed"),
        (Load(stages=(Stage(rate_per_s=1.0, requests=1),)), "load.stages"),
        (Load(arrivals="poisson", stages=(Stage(rate_per_s=1.0),)), "load.stages[0]"),
        (Load(arrivals="poisson", stages=(Stage(rate_per_s=1.0, requests=9),)), "load.stages[0]"),
        (
            Load(arrivals="poisson", stages=(Stage(rate_per_s=9.0, duration_s=99),)),
            "load.stages[0]",
        ),
    ],
)
def test_a_load_that_the_trace_cannot_have_is_refused(tmp_path, load, option):
    trace = trace_of_rows(tmp_path, rows_of(4, sessions=2, finish=False))
    with pytest.raises(SettingError) as caught:
        plan_sending(trace, load, 0)
    assert caught.value.option == option


def test_a_trace_without_times_has_no_arrivals(tmp_path):
    trace = replace(trace_of_rows(tmp_path, rows_of(3)), has_times=False)
    with pytest.raises(SettingError, match="no arrival times"):
        plan_sending(trace, Load(), 0)
    assert len(plan_sending(trace, Load(arrivals="poisson", rate_per_s=1.0), 0).time_s) == 3
