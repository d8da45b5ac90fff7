"""The engine's reported hits against the simulator's model of it, which shares no code with it.

Requests one after the other through pools that are too small: every `cached_tokens` is predicted,
so what was evicted is, too.
"""

import random

import pytest
from engine_support import small_engine

from hitpath.engine.records import GenerationRequest, SamplingParams
from hitpath.sim.models.contract import Request
from hitpath.sim.models.own_engine import OwnModel, OwnSettings

NUM_REQUESTS = 40


def served(engine, number, tokens, max_tokens, salt, priority):
    """(cached tokens, tokens of the output) of one request alone."""
    params = SamplingParams(max_tokens=max_tokens, temperature=0, ignore_eos=True)
    engine.submit(GenerationRequest(str(number), tokens, params, salt, priority))
    output, cached = [], None
    while engine.has_work:
        for chunk in engine.step():
            output += chunk.token_ids
            if chunk.finish is not None:
                cached = chunk.finish.usage.cached_tokens
    return cached, output


def predicted(model, number, tokens, output, salt, priority):
    """The same life in the model: the last token that is sampled is never computed."""
    hit = model.admit(Request(number, tokens, salt, priority=priority))
    assert hit is not None
    model.processed(number)
    for token in output[:-1]:
        model.generate(number, [token])
        assert model.extend(number, 1)
        model.processed(number)
    model.finish(number)
    model.check()
    return hit.tokens


def prompts(draw, size):
    """Growing conversations of three users, one system prompt, some salts, some new."""
    system = [draw.randrange(3, 150) for _ in range(draw.randrange(1, 3 * size + 3))]
    talks = {user: list(system) for user in "abc"}
    for number in range(NUM_REQUESTS):
        user = draw.choice("abc")
        talk = talks[user]
        if len(talk) > 120:
            talk[:] = system
        talk += [draw.randrange(3, 150) for _ in range(draw.randrange(1, 2 * size + 2))]
        salt = draw.choice([None, None, None, "s"])
        yield number, list(talk), draw.randrange(1, 12), salt, draw.randrange(3), talk


@pytest.mark.parametrize("index", ["blocks", "radix"])
@pytest.mark.parametrize("eviction", ["lru", "lfu", "priority"])
@pytest.mark.parametrize("size", [1, 16])
def test_every_hit_is_predicted(index, eviction, size):
    draw = random.Random(f"{eviction} {size}")
    num_blocks = -(-280 // size)
    engine = small_engine(
        index=index, eviction=eviction, block_size=size, num_blocks=num_blocks, max_model_len=224
    )
    model = OwnModel(OwnSettings(num_blocks, size, eviction))
    told, said, num_evicted = [], [], 0
    for number, tokens, most, salt, priority, talk in prompts(draw, size):
        cached, output = served(engine, number, tokens, most, salt, priority)
        told.append(cached)
        said.append(predicted(model, number, tokens, output, salt, priority))
        num_evicted += sum(eviction.num_tokens for eviction in model.take_evictions())
        talk += output
    assert told == said
    assert num_evicted > 0, "the pool was never too small: this says nothing about eviction"
    assert sum(told) > 0
