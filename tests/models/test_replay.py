"""Traces served by the models: order, waiting, rungs, and closed forms over a whole workload."""

import random

import numpy as np
import pytest

from hitpath.core import ABSENT
from hitpath.sim.models.contract import Request
from hitpath.sim.models.replay import Arrival, replay
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.sglang_rules import SglangSettings
from hitpath.sim.models.vllm import VllmModel
from hitpath.sim.models.vllm_rules import LayerGroup, VllmSettings
from models.worlds import LARGE, MODELS, random_request


def vllm(num_blocks=1000, block_size=4):
    return lambda: VllmModel(VllmSettings(num_blocks, (LayerGroup("full", block_size),)))


def one_after_the_other(prompts, worker=lambda i: 0, **more):
    return [
        Arrival(Request(i, tokens), worker(i), float(i), **more) for i, tokens in enumerate(prompts)
    ]


@pytest.mark.parametrize(
    ("block_size", "expected"),
    [(1, 66.667), (16, 66.667), (64, 66.133), (128, 65.422), (512, 62.578)],
)
def test_the_shared_prefix_workload_by_block_size(block_size, expected):
    """Groups of 5 users, 6,000 shared and 1,200 own tokens (3 of 150 groups, at equal rates): an
    endless cache with vLLM's last-token rule, computed independently."""
    prompts = []
    for user in range(15):
        shared = [user // 5 * 10**6 + i for i in range(6000)]
        own = 10**8 * (user + 1)
        prompts.append([*shared, *range(own, own + 1200)])
    out = replay(one_after_the_other(prompts), vllm(200_000, block_size), 1)
    assert round(100 * out.hit.sum() / sum(map(len, prompts)), 3) == expected


def test_a_request_that_does_not_fit_waits_for_an_end():
    arrivals = [
        Arrival(Request(0, list(range(20))), 0, 0.0, end_s=9.0),
        Arrival(Request(1, list(range(100, 120))), 0, 1.0, end_s=2.0),
        Arrival(Request(2, list(range(20))), 0, 3.0),
    ]
    out = replay(arrivals, vllm(9), 1)
    assert out.admitted_s.tolist() == [0.0, 9.0, 9.0]
    assert out.hit.tolist()[:2] == [0, 0]


def test_a_request_larger_than_the_worker_is_told_apart():
    out = replay(one_after_the_other([list(range(99)), [1, 2]]), vllm(9), 1)
    assert out.hit.tolist() == [ABSENT, 0]
    assert np.isnan(out.admitted_s[0])


@pytest.mark.parametrize("name", LARGE)
def test_replies_are_there_for_the_next_turn(name):
    """All but the last token of the reply has been computed: 16 of 17 tokens, in whole units."""
    make, unit, given_back = LARGE[name]
    turn = Arrival(Request(0, list(range(10))), 0, 0.0, end_s=1.0, output=list(range(50, 57)))
    out = replay([turn, Arrival(Request(1, [*range(10), *range(50, 57), 1, 2]), 0, 2.0)], make, 1)
    assert out.hit.tolist() == [0, 16 // unit * unit - given_back]


def test_a_reply_takes_the_room_that_it_needs_and_no_more():
    """SGLang evicts for a page more than a step needs; 40 tokens of a reply are 40 steps."""
    known, new = list(range(1000, 1100)), list(range(20))
    arrivals = [
        Arrival(Request(0, known), 0, 0.0),
        Arrival(Request(1, new), 0, 1.0, output=list(range(50, 90))),
        Arrival(Request(2, known), 0, 2.0),
    ]
    out = replay(arrivals, lambda: SglangModel(SglangSettings(320, 16)), 1)
    assert out.evictions == ()
    assert out.hit.tolist() == [0, 0, 96]


def test_what_another_worker_has_is_the_third_rung():
    prompts = [list(range(20))] * 2
    out = replay(one_after_the_other(prompts, worker=lambda i: i), vllm(), 2)
    assert out.hit.tolist() == [0, 0]
    assert out.anywhere.tolist() == [0, 16]
    assert out.best_worker.tolist() == [0, 0]


def test_state_rules_and_flights_have_rungs_of_their_own():
    window = (LayerGroup("full", 4), LayerGroup("window", 4, 8))
    prompts = [[*range(32), *[i] * 9] for i in (100, 101)]
    out = replay(one_after_the_other(prompts), lambda: VllmModel(VllmSettings(400, window)), 1)
    assert (out.hit[1], out.resident[1]) == (0, 32)
    salted = Request(1, list(range(20)), reads_cache=False)
    out = replay([Arrival(Request(0, list(range(20))), 0, 0.0), Arrival(salted, 0, 1.0)], vllm(), 1)
    assert (out.hit[1], out.resident[1]) == (0, 16)


def test_rungs_never_fall_and_larger_pages_hit_no_more():
    rng = random.Random(5)
    stems = [[rng.randrange(3) for _ in range(rng.randint(4, 60))] for _ in range(4)]
    arrivals = []
    for i in range(120):
        end = i + rng.choice([0.0, 3.5]) or None
        arrivals.append(Arrival(random_request(rng, i, stems), i % 2, float(i), end, [7] * 3))
    outs = {name: replay(arrivals, make, 2) for name, (make, _, _) in LARGE.items()}
    outs |= {f"small {name}": replay(arrivals, make, 2) for name, make in MODELS.items()}
    for out in outs.values():
        served = out.hit != ABSENT
        assert (out.hit <= out.resident)[served].all()
        assert (out.resident <= out.in_flight)[served].all()
        assert (out.in_flight <= out.anywhere)[served].all()
    assert (outs["sglang"].hit >= outs["sglang page 4"].hit).all()


def test_the_replay_of_a_replay_is_the_same():
    prompts = [list(range(n)) for n in (9, 30, 12, 30)]
    make = lambda: SglangModel(SglangSettings(64))  # noqa: E731
    first, again = (replay(one_after_the_other(prompts), make, 1) for _ in range(2))
    assert first.hit.tolist() == again.hit.tolist() == [0, 9, 11, 29]
    assert first.evictions == again.evictions
