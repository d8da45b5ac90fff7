"""Small fleets and traffic for the tests of the serving simulator."""

import numpy as np
from serving_cases import Traffic, requests_of

from hitpath.core import ABSENT
from hitpath.routing.registry import make_router
from hitpath.sim.serving.records import Arrivals, FleetSettings, WorkerGroup, WorkerSettings
from hitpath.sim.serving.simulate import simulate_serving


def fleet_of(settings, steps, num_workers=1, router="round-robin", **others):
    group = WorkerGroup(num_workers, settings, steps)
    return FleetSettings((group,), make_router(router, num_workers, 0), **others)


def requests_for(prompts, output_tokens, block, replies=None):
    """(tree, requests) of prompts as lists of tokens."""
    replies = replies or [None] * len(prompts)
    told = list(zip(replies, output_tokens, strict=True))
    forest, _, requests, _, _ = requests_of(Traffic(prompts, told, block, block))
    return forest.tree, requests


def serve(prompts, output_tokens, times, fleet, replies=None):
    """(requests, outcome) of prompts in an open loop."""
    tree, requests = requests_for(prompts, output_tokens, fleet.block_size, replies)
    outcome = simulate_serving(tree, None, requests, Arrivals.at(np.array(times)), fleet)
    outcome.check(requests)
    return requests, outcome


def distinct_requests(num, prompt_tokens):
    """(tree, requests): prompts without a whole block, so that nothing can be shared."""
    from hitpath.index.forest import build_forest
    from hitpath.sim.serving.records import Requests

    empty = np.zeros(num, dtype=np.int64)
    forest = build_forest(np.zeros(0, dtype=np.uint64), empty, empty, empty)
    tokens = np.broadcast_to(np.asarray(prompt_tokens, dtype=np.int64), (num,)).copy()
    hashes = np.zeros(num, dtype=np.uint64)
    ones, none = np.ones(num, dtype=np.int64), np.full(num, ABSENT, dtype=np.int64)
    requests = Requests(
        forest.end, tokens, empty, ones, none, forest.end, hashes, hashes, empty.copy()
    )
    return forest.tree, requests


def alone(most=1 << 20):
    """A worker that runs one request at a time, whole prompts."""
    return WorkerSettings(block_size=most, max_batch_tokens=most, max_running=1)
