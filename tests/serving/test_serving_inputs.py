"""Fleets and inputs that cannot be served are refused, each with its cause."""

from dataclasses import replace

import numpy as np
import pytest
from serving_toys import fleet_of, requests_for

from hitpath.core import HitpathError, SettingError
from hitpath.routing.registry import make_router
from hitpath.sim.serving import simulate
from hitpath.sim.serving.records import (
    Arrivals,
    Change,
    FleetSettings,
    Link,
    Tier,
    WorkerGroup,
    WorkerSettings,
)
from hitpath.sim.serving.simulate import simulate_serving
from hitpath.sim.serving.step_time import fixed_steps

STEPS = fixed_steps(64, 4, 1.0)
SETTINGS = WorkerSettings(block_size=2, max_batch_tokens=64, max_running=4)
GROUP = WorkerGroup(1, SETTINGS, STEPS)


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"block_size": 0}, "block_size"),
        ({"capacity_blocks": 0}, "capacity_blocks"),
        ({"max_running": 65}, "could not decode them all"),
        ({"watermark_frac": 1.0}, "watermark_frac"),
        ({"visible": "later"}, "not one of schedule, processed, prompt"),
        ({"replies": "never"}, "not one of growing, ended"),
    ],
)
def test_bad_workers(changed, cause):
    with pytest.raises(SettingError, match=cause):
        replace(SETTINGS, **changed)


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"workers": ()}, "there are none"),
        ({"scrape_age_s": 0.1}, "needs a scrape_interval_s"),
        ({"scrape_interval_s": 0.001, "scrape_age_s": 2.0}, "1,000 intervals"),
        ({"index_lag_s": -1.0}, "index_lag_s"),
        ({"index_loss_frac": 1.5}, "index_loss_frac"),
        ({"max_in_flight": 0}, "max_in_flight"),
        ({"sample_s": 0.0}, "sample_s"),
        ({"max_samples": 1}, "max_samples"),
        ({"changes": (Change(1.0, 3, "fail"),)}, "there are 1 workers"),
        ({"changes": (Change(1.0, 0, "sleep"),)}, "not fail, join or restart"),
        ({"changes": (Change(-1.0, 0, "fail"),)}, "at no time"),
        ({"workers": (GROUP, replace(GROUP, role="prefill"))}, "need each other"),
        ({"workers": (replace(GROUP, role="prefill"), replace(GROUP, role="decode"))}, "transfer"),
        (
            {"workers": (GROUP, replace(GROUP, settings=replace(SETTINGS, block_size=4)))},
            "one block size",
        ),
    ],
)
def test_bad_fleets(changed, cause):
    given = {"workers": (GROUP,), "router": make_router("round-robin", 1, 0)}
    with pytest.raises(SettingError, match=cause):
        FleetSettings(**{**given, **changed})


def test_bad_links_and_tiers():
    with pytest.raises(SettingError, match="moves nothing"):
        Link(1.0, 0.0)
    with pytest.raises(SettingError, match="takes no time"):
        Link(1.0, 1.0, -1.0)
    with pytest.raises(SettingError, match="capacity_blocks"):
        Tier(0, Link(1.0, 1.0))
    with pytest.raises(SettingError, match="count"):
        WorkerGroup(0, SETTINGS, STEPS)
    with pytest.raises(SettingError, match="role"):
        WorkerGroup(1, SETTINGS, STEPS, "both of them")


def test_inputs_that_do_not_fit_together():
    tree, requests = requests_for([[1, 2, 3], [1, 2, 3, 4]], [1, 2], 2, [None, [5, 6]])
    at = Arrivals.at(np.array([0.0, 1.0]))
    fleet = fleet_of(SETTINGS, STEPS)
    approx = fleet_of(SETTINGS, STEPS, router="llmd-approx")
    follows = replace(at, follows=np.array([1, -1]))
    bad = [
        (replace(requests, output_tokens=np.array([0, 1])), at, fleet, "at least one token"),
        (replace(requests, output_tokens=np.array([1, 1 << 25])), at, fleet, "at most 16,777,216"),
        (replace(requests, whole_blocks=np.array([1])), at, fleet, "rows"),
        (replace(requests, end_node=np.array([0, 99])), at, fleet, "end_node"),
        (replace(requests, prompt_tokens=np.array([9, 4])), at, fleet, "whole blocks of 2"),
        (replace(requests, output_end_node=np.array([-1, 0])), at, fleet, "begin with the prompt"),
        (replace(requests, output_tokens=np.array([1, 9])), at, fleet, "not their whole blocks"),
        (requests, Arrivals.at(np.array([0.0])), fleet, "a row a request"),
        (requests, Arrivals.at(np.array([0.0, np.nan])), fleet, "times are finite"),
        (requests, follows, fleet, "follows an earlier row"),
        (requests, replace(at, stage=np.array([0, -1])), fleet, "have a stage"),
        (requests, replace(at, drain=True), fleet, "have a stage"),
        (requests, at, approx, "tree of its blocks"),
    ]
    for rows, arrivals, settings, cause in bad:
        with pytest.raises(ValueError, match=cause):
            simulate_serving(tree, None, rows, arrivals, settings)


def test_books_that_do_not_balance_end_a_checked_run(monkeypatch):
    tree, requests = requests_for([[1, 2, 3]], [1], 2)
    fleet = fleet_of(SETTINGS, STEPS, checked=True)
    monkeypatch.setattr(simulate, "books_hold", lambda engine: False)
    with pytest.raises(HitpathError, match="a bug of hitpath"):
        simulate_serving(tree, None, requests, Arrivals.at(np.zeros(1)), fleet)


def test_nothing_to_serve():
    tree, requests = requests_for([], [], 2)
    outcome = simulate_serving(
        tree, None, requests, Arrivals.at(np.zeros(0)), fleet_of(SETTINGS, STEPS)
    )
    outcome.check(requests)
    assert outcome.end_s == 0.0
    assert outcome.per_worker.num_steps.tolist() == [0]
