"""bfloat16: rounding depends on the batch, so logits are compared, with a stated tolerance."""

import pytest
import torch
from engine_support import prompt_tokens, run, small_engine

from hitpath.engine.layers import Linear
from hitpath.engine.records import SamplingParams

PROMPTS = [prompt_tokens(60 + 9 * i, seed=i) for i in range(4)]
FIRST = SamplingParams(max_tokens=1, temperature=0, ignore_eos=True, logprobs=20)
TOLERANCE = 0.3
"""Of log-probabilities, as a part of their spread over the 20 likeliest tokens."""


def told(engine):
    return [dict(c.choices[0].logprobs[0].top) for c in run(engine, PROMPTS, FIRST)]


def assert_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        spread = max(other.values()) - min(other.values())
        both = one.keys() & other.keys()
        assert len(both) >= 15
        assert max(abs(one[token] - other[token]) for token in both) < TOLERANCE * spread


@pytest.mark.parametrize("settings", [{}, {"prepack": False}, {"attention": "sdpa"}])
def test_hit_and_cold_logits_agree_in_bfloat16(settings):
    exact = told(small_engine(prefix_cache=False, attention="plain"))
    engine = small_engine(dtype="bfloat16", **settings)
    cold, hit = told(engine), told(engine)
    assert engine.stats().hit_tokens > 0
    assert_close(cold, exact)
    assert_close(hit, exact)
    assert cold != exact, "bfloat16 does round"


def test_a_packed_product_is_the_plain_one():
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(96, 64, generator=generator).bfloat16()
    bias = torch.randn(96, generator=generator).bfloat16()
    packed, plain = Linear(weight, bias, packed=True), Linear(weight, bias, packed=False)
    assert packed._packed, "torch on this machine has no packed products"
    for rows in (1, 7, 64, 300):
        x = torch.randn(rows, 64, generator=generator).bfloat16()
        torch.testing.assert_close(packed(x), plain(x), atol=2e-2, rtol=2e-2)
    assert not Linear(weight.float(), None, packed=True)._packed, "only bfloat16 is packed"
