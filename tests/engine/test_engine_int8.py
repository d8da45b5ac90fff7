"""Int8 blocks: the rounding, who moves when, and what it changes in logits and tokens."""

import pytest
import torch
from engine_support import GREEDY, prompt_tokens, run, small_engine, tokens_of

from hitpath.core import SettingError
from hitpath.engine.events import Evicted
from hitpath.engine.int8 import quantise, restore
from hitpath.engine.load import tiny_engine
from hitpath.engine.pool import BlockState
from hitpath.engine.records import GenerationRequest, SamplingParams, token_array
from hitpath.engine.settings import EngineSettings

LONG = prompt_tokens(300, seed=1)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_an_element_is_off_by_half_a_step_at_most(scale):
    full = torch.randn(3, 50, 16) * scale
    back = restore(*quantise(full), torch.float32)
    step = full.abs().amax(-1, keepdim=True) / 127
    assert ((back - full).abs() <= step * 0.5001).all()
    assert torch.equal(restore(*quantise(torch.zeros(2, 4)), torch.float32), torch.zeros(2, 4))


def compacting(**settings):
    values = {"num_blocks": 60, "block_size": 8, "max_model_len": 200, "int8_shared": True}
    return small_engine(**{**values, **settings})


@pytest.mark.parametrize("index", ["blocks", "radix"])
def test_idle_blocks_are_compact_and_still_found(index):
    engine = compacting(index=index)
    pool = engine.cache.pool
    first = run(engine, [LONG[:80]])[0]
    assert pool.count(BlockState.CACHED, pool.full) == 0
    assert pool.count(BlockState.CACHED, pool.compact) == 91 // 8
    again = run(engine, [LONG[:80]])[0]
    assert again.usage.cached_tokens == 72
    assert first.usage.cached_tokens == 0


def test_a_shared_block_is_compact_a_private_tail_is_not():
    engine = compacting()
    pool = engine.cache.pool
    for name in "ab":
        engine.submit(GenerationRequest(name, token_array([*LONG[:80], ord(name)]), GREEDY))
    engine.step()
    one = engine._scheduler.running[0]
    assert (one.blocks < pool.full.end).all(), "private: full precision"
    engine.step()
    one, other = engine._scheduler.running
    for sequence in (one, other):
        assert (sequence.blocks[:10] >= pool.compact.first).all()
        assert (sequence.blocks[10:] < pool.full.end).all()
    assert one.blocks[:10].tolist() == other.blocks[:10].tolist()
    engine.check()
    while engine.has_work:
        engine.step()
        engine.check()


@pytest.mark.parametrize("attention", ["folded", "plain"])
def test_what_int8_changes_is_small_and_not_nothing(attention):
    params = SamplingParams(max_tokens=1, temperature=0, ignore_eos=True, logprobs=20)
    prompts = [LONG[i : i + 120 + i] for i in range(0, 60, 12)]
    logprobs = []
    for int8 in (False, True):
        engine = compacting(int8_shared=int8, num_blocks=200, attention=attention)
        run(engine, prompts, params)
        told = run(engine, prompts, params)
        assert all(c.usage.cached_tokens for c in told)
        logprobs.append([dict(c.choices[0].logprobs[0].top) for c in told])
    changes = [
        abs(exact[token] - rough[token])
        for exact, rough in zip(*logprobs, strict=True)
        for token in exact.keys() & rough.keys()
    ]
    values = [value for told in logprobs[0] for value in told.values()]
    assert 1e-5 < max(changes) < 0.15 * (max(values) - min(values))


def test_capacity_grows_as_the_bytes_say():
    full = tiny_engine(EngineSettings(num_blocks=100, max_model_len=256))
    half = tiny_engine(EngineSettings(num_blocks=100, max_model_len=256, int8_shared=True))
    assert full.stats().total_blocks == 100
    # head_dim 32 in fp32: 128 bytes against 36.
    assert half.stats().total_blocks == 50 + int(50 * 128 / 36)
    with pytest.raises(SettingError, match="int8_shared: needs the prefix cache"):
        EngineSettings(int8_shared=True, prefix_cache=False)


@pytest.mark.parametrize("policy", ["lru", "lfu", "priority"])
@pytest.mark.parametrize("index", ["blocks", "radix"])
def test_a_full_compact_tier_gives_up_what_is_worth_least(policy, index):
    records = []
    settings = EngineSettings(
        num_blocks=24,
        block_size=8,
        max_model_len=120,
        int8_shared=True,
        compact_share=0.2,
        eviction=policy,
        index=index,
    )
    engine = tiny_engine(settings, observe=records.append)
    for i in range(8):
        run(engine, [LONG[20 * i : 20 * i + 70], LONG[:50]], GREEDY)
    reasons = {record.reason for record in records if isinstance(record, Evicted)}
    assert reasons <= {"capacity", "compact_full"}
    assert reasons
    assert engine.stats().free_blocks + engine.stats().cached_blocks == engine.stats().total_blocks


@pytest.mark.parametrize("index", ["blocks", "radix"])
def test_newcomers_do_not_displace_what_is_worth_more(index):
    records = []
    settings = EngineSettings(
        num_blocks=24,
        block_size=8,
        max_model_len=120,
        int8_shared=True,
        compact_share=0.1,
        eviction="lfu",
        index=index,
    )
    engine = tiny_engine(settings, observe=records.append)
    one = SamplingParams(max_tokens=1, temperature=0)
    for _ in range(3):
        run(engine, [LONG[:49]], one)
    assert engine.cache.pool.compact.num_free == 2, "eight, six of them held"
    run(engine, [LONG[100:157]], one)
    assert run(engine, [LONG[:49]], one)[0].usage.cached_tokens == 48
    assert run(engine, [LONG[100:157]], one)[0].usage.cached_tokens == 16, "its head found room"
    assert {r.reason for r in records if isinstance(r, Evicted)} == {"compact_full"}


def test_a_pinned_prefix_stays_when_it_becomes_compact():
    engine = compacting(num_blocks=40, max_model_len=120)
    run(engine, [LONG[:64]])
    number, kept = engine.pin(LONG[:64])
    assert kept == 64
    for i in range(1, 6):
        run(engine, [LONG[40 * i : 40 * i + 100]])
    assert run(engine, [LONG[:65]])[0].usage.cached_tokens == 64
    assert engine.unpin(number)
    engine.check()


def test_without_hits_int8_changes_nothing():
    prompts = [LONG[:50], LONG[100:190]]
    assert tokens_of(run(compacting(), prompts)) == tokens_of(run(small_engine(), prompts))
