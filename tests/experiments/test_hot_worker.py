"""The highest hit rate has a worse p99 TTFT than hitpath's router, for one worker is hot."""

import hot_worker
import pytest


@pytest.fixture(scope="module")
def figures():
    return {name: hot_worker.figures(name) for name in hot_worker.ROUTERS}


def test_the_router_that_ignores_load_hits_most(figures):
    most = max(figures, key=lambda name: figures[name][0])
    assert most == "longest-prefix"
    assert figures["longest-prefix"][0] > figures["hitpath"][0]


def test_and_its_slowest_requests_wait_longer_than_hitpaths(figures):
    assert figures["longest-prefix"][2] > 2 * figures["hitpath"][2]


def test_for_one_worker_has_most_of_the_requests(figures):
    assert figures["longest-prefix"][3] > 0.5
    assert figures["hitpath"][3] < 0.4


def test_hitpath_waits_least_of_all_shown(figures):
    assert min(figures, key=lambda name: figures[name][2]) == "hitpath"
