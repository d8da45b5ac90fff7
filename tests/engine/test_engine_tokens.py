"""Greedy tokens do not depend on how they were computed: cache, index, blocks, chunks, batch,
preemption, eviction. Everything is compared with one sequence alone, without a cache."""

import pytest
from engine_support import GREEDY, prompt_tokens, run, small_engine, tokens_of

from hitpath.engine.records import SamplingParams

SHARED = prompt_tokens(90, seed=1)
PROMPTS = [
    SHARED + prompt_tokens(13, seed=2),
    SHARED + prompt_tokens(7, seed=3),
    SHARED[:50] + prompt_tokens(40, seed=4),
    prompt_tokens(5, seed=5),
    prompt_tokens(33, seed=6),
    SHARED,
]


@pytest.fixture(scope="module")
def expected():
    """Each prompt alone, the obvious attention, no cache, the whole prompt in one step."""
    engine = small_engine(prefix_cache=False, attention="plain", cascade=False)
    alone = [run(engine, [prompt])[0] for prompt in PROMPTS]
    assert all(completion.usage.cached_tokens == 0 for completion in alone)
    return tokens_of(alone)


def both_times(engine):
    """Tokens of the prompts cold and, the cache being warm, once more."""
    return [tokens_of(run(engine, PROMPTS)) for _ in range(2)]


@pytest.mark.parametrize("index", ["blocks", "radix"])
@pytest.mark.parametrize("block_size", [1, 3, 16, 64])
def test_any_block_size_and_index(index, block_size, expected):
    engine = small_engine(index=index, block_size=block_size, num_blocks=1200 // block_size)
    assert both_times(engine) == [expected, expected]
    reported = [c.usage.cached_tokens for c in run(engine, PROMPTS)]
    # Closed form of both indexes: whole blocks, and one token at least is computed.
    assert reported == [(len(p) - 1) // block_size * block_size for p in PROMPTS]


@pytest.mark.parametrize("attention", ["folded", "sdpa", "plain"])
@pytest.mark.parametrize("cascade", [True, False])
def test_any_attention(attention, cascade, expected):
    engine = small_engine(attention=attention, cascade=cascade)
    assert both_times(engine) == [expected, expected]


@pytest.mark.parametrize("budget", [6, 17, 64, 1000])
@pytest.mark.parametrize("chunked", [True, False])
def test_any_chunk(budget, chunked, expected):
    engine = small_engine(max_batch_tokens=budget, max_running=6, chunked_prefill=chunked)
    assert both_times(engine) == [expected, expected]


@pytest.mark.parametrize("max_running", [1, 2, 6])
@pytest.mark.parametrize("admission", ["fcfs", "longest_hit"])
@pytest.mark.parametrize("twins", [True, False])
def test_any_batch(max_running, admission, twins, expected):
    engine = small_engine(max_running=max_running, admission=admission, wait_for_twin=twins)
    assert both_times(engine) == [expected, expected]


@pytest.mark.parametrize("policy", ["lru", "lfu", "priority"])
def test_after_eviction(policy, expected):
    engine = small_engine(num_blocks=30, block_size=4, max_model_len=118, eviction=policy)
    assert both_times(engine) == [expected, expected]
    assert engine.stats().evictions["capacity"] > 0


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("index", ["blocks", "radix"])
def test_after_preemption(cache, index):
    prompts = [prompt_tokens(4 + i, seed=20 + i) for i in range(5)]
    params = SamplingParams(max_tokens=40, temperature=0, ignore_eos=True)
    alone = small_engine(prefix_cache=False, attention="plain")
    engine = small_engine(
        num_blocks=30, block_size=4, max_model_len=80, prefix_cache=cache, index=index
    )
    assert tokens_of(run(engine, prompts, params)) == [
        run(alone, [prompt], params)[0].choices[0].token_ids for prompt in prompts
    ]
    stats = engine.stats()
    assert stats.preemptions > 0
    assert stats.prompt_tokens == sum(map(len, prompts)), "a preemption counts no prompt again"
    assert stats.computed_tokens > stats.prompt_tokens


def test_without_a_cache_nothing_is_found_or_kept(expected):
    engine = small_engine(prefix_cache=False)
    assert both_times(engine) == [expected, expected]
    stats = engine.stats()
    assert stats.hit_tokens == stats.cached_blocks == 0
    assert stats.free_blocks == stats.total_blocks


def test_many_decode_together_what_each_says_alone():
    prompts = [SHARED + prompt_tokens(4 + i % 5, seed=100 + i) for i in range(24)]
    params = SamplingParams(max_tokens=20, temperature=0, ignore_eos=True)
    alone = small_engine(prefix_cache=False, attention="plain", num_blocks=400)
    together = small_engine(max_running=24, num_blocks=400)
    assert tokens_of(run(together, prompts, params)) == tokens_of(
        [run(alone, [prompt], params)[0] for prompt in prompts]
    )


def test_generated_tokens_are_found_by_the_next_turn():
    engine = small_engine()
    first = run(engine, [SHARED], SamplingParams(max_tokens=40, temperature=0, ignore_eos=True))[0]
    turn = SHARED + list(first.choices[0].token_ids) + prompt_tokens(10, seed=9)
    second = run(engine, [turn], GREEDY)[0]
    # All but the last generated token has its KV: 90 + 39 tokens, in whole blocks.
    assert second.usage.cached_tokens == 129 // 16 * 16
    assert tokens_of([second]) == tokens_of(run(small_engine(prefix_cache=False), [turn], GREEDY))
