"""Every `cached_tokens` of requests answered at once, predicted by the simulator's model.

The order of admissions is the engine's own, as its records tell it (those that `/metrics` and the
KV events are made of); hits, room, who is preempted, evictions and the blocks after each step are
the model's.
"""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from hitpath.engine.settings import EngineSettings
from hitpath.sim.models.contract import Request
from serve.following import TEXT, Choice, Follower, asked, letters, steps_of
from serve.running import tiny_server

CASES = [
    ("blocks", "lru", 1, "fcfs", True, 2048),
    ("radix", "lru", 16, "longest_hit", True, 48),
    ("blocks", "lfu", 4, "longest_hit", False, 64),
    ("radix", "priority", 4, "fcfs", False, 2048),
]


@pytest.mark.parametrize(("index", "eviction", "size", "admission", "twins", "most"), CASES)
def test_hits_of_concurrent_requests_are_predicted(index, eviction, size, admission, twins, most):
    draw = random.Random(f"{eviction} {size} {most}")
    settings = EngineSettings(
        index=index, eviction=eviction, block_size=size, num_blocks=-(-200 // size),
        max_model_len=192, admission=admission, wait_for_twin=twins, max_batch_tokens=most,
        max_running=8, num_threads=1,
    )  # fmt: skip
    records, bodies = [], []
    heads = [letters(draw, draw.randrange(5, 70)) for _ in range(4)]
    for _ in range(40):
        tokens = draw.choice(heads)[: draw.randrange(1, 70)] + letters(draw, draw.randrange(1, 40))
        body = {"prompt": tokens, "max_tokens": draw.randrange(1, 50), "n": draw.choice([1, 1, 2])}
        body |= {"priority": draw.randrange(3), "stream": draw.random() < 0.5}
        bodies.append(body | draw.choice([{}, {}, {}, {"cache_salt": "s"}]))
    running, _ = tiny_server(settings, records.append)
    with running as server, ThreadPoolExecutor(12) as clients:
        answers = list(clients.map(lambda body: asked(server.port, TEXT, body), bodies))
    choices = {}
    for body, (name, _, outputs) in zip(bodies, answers, strict=True):
        for at, output in enumerate(outputs):
            salt, priority = body.get("cache_salt"), body["priority"]
            request = Request(len(choices), body["prompt"], salt, priority=priority)
            choices[f"{name}-0", at] = Choice(request, output)
    follower = Follower(settings, choices)
    for step in steps_of(records):
        follower.follow(step)
    for name, usage, _ in answers:
        hits = [follower.hits[one] for one in choices if one[0] == f"{name}-0"]
        assert usage["prompt_tokens_details"]["cached_tokens"] == hits[0]
    counts = follower.counts
    assert counts["preempted"], "nobody was preempted: this says nothing of it"
    assert counts["resumed"] == counts["preempted"]
    assert counts["evicted"] > 200
    assert sum(follower.hits.values()) > 300
