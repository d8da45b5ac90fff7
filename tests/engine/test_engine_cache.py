"""What a hit costs, who shares with whom, and what is told of it."""

import sys

import numpy as np
import pytest
from engine_support import GREEDY, prompt_tokens, run, small_engine, tokens_of
from torch.utils._python_dispatch import TorchDispatchMode

from hitpath.engine import cache as cache_module
from hitpath.engine.errors import RequestError
from hitpath.engine.events import Admitted, BlocksRemoved, BlocksStored, CacheCleared, Evicted
from hitpath.engine.load import tiny_engine
from hitpath.engine.records import GenerationRequest, SamplingParams, token_array
from hitpath.engine.settings import EngineSettings

ONE = SamplingParams(max_tokens=1, temperature=0, ignore_eos=True)
LONG = prompt_tokens(400, seed=1)


class WritesTo(TorchDispatchMode):
    """Counts the bytes that operators write into one storage: independent of the engine's count."""

    def __init__(self, storage):
        super().__init__()
        self.pointer = storage.untyped_storage().data_ptr()
        self.written = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for argument, value in zip(func._schema.arguments, args, strict=False):
            is_written = argument.alias_info is not None and argument.alias_info.is_write
            if is_written and value.untyped_storage().data_ptr() == self.pointer:
                source = args[3] if func._schema.name == "aten::index_copy_" else value
                self.written += source.numel() * source.element_size()
        return out


@pytest.mark.parametrize("index", ["blocks", "radix"])
def test_a_hit_moves_no_kv_bytes_however_long_it_is(index):
    written = []
    for cached in (64, 384):
        engine = small_engine(index=index)
        run(engine, [LONG[:cached]], ONE)
        kv = engine._model.kv
        before = engine.stats()
        with WritesTo(kv._all) as writes:
            hit = engine.generate([[*LONG[:cached], 7, 8, 9]], ONE)[0]
        after = engine.stats()
        assert hit.usage.cached_tokens == cached
        assert writes.written == after.kv_written_bytes - before.kv_written_bytes
        assert after.kv_gathered_bytes - before.kv_gathered_bytes <= 19 * kv.bytes_per_token
        written.append(writes.written)
    assert written == [3 * kv.bytes_per_token] * 2, "three computed tokens, nothing else"


def test_a_hit_shares_the_very_blocks():
    engine = small_engine()
    run(engine, [LONG[:64]], ONE)
    for name in "ab":
        engine.submit(GenerationRequest(name, token_array([*LONG[:64], 5]), GREEDY))
    engine.step()
    one, other = engine._scheduler.running
    assert one.blocks[:4].tolist() == other.blocks[:4].tolist()
    assert engine.cache.pool.references[one.blocks[:4]].tolist() == [2] * 4
    assert one.blocks[4] != other.blocks[4]


@pytest.mark.parametrize("index", ["blocks", "radix"])
def test_salts_never_share_not_even_when_all_keys_collide(index, monkeypatch):
    expected = tokens_of(run(small_engine(prefix_cache=False), [LONG[:80]]))

    def constant(tokens, block_size, root):
        return np.zeros(len(tokens) // block_size, dtype=np.uint64)

    monkeypatch.setattr("hitpath.engine.sequence.block_keys", constant)
    engine = small_engine(index=index)
    for salt, cached in ((None, 0), ("a", 0), ("b", 0), ("a", 64), (None, 64), ("", 0)):
        done = run(engine, [LONG[:80]], GREEDY, salt)
        assert done[0].usage.cached_tokens == cached
        assert tokens_of(done) == expected
    # Other prompts with the same keys get their own KV, too.
    other = [LONG[1:81], LONG[:40] + LONG[90:130]]
    expected = tokens_of(run(small_engine(prefix_cache=False), other))
    for _ in range(2):
        assert tokens_of(run(engine, other)) == expected


def test_prompt_logprobs_compute_the_whole_prompt_and_store_it():
    engine = small_engine(max_batch_tokens=64)
    params = SamplingParams(max_tokens=2, temperature=0, ignore_eos=True, prompt_logprobs=2)
    run(engine, [LONG[:80]], ONE)
    done = run(engine, [LONG[:80]], params)[0]
    assert done.usage.cached_tokens == 0
    told = done.prompt_logprobs
    assert told[0] is None
    assert [one.token for one in told[1:]] == LONG[1:80]
    assert all(len(one.top) == 2 and one.top[0][1] >= one.logprob for one in told[1:])
    again = run(small_engine(prefix_cache=False), [LONG[:80]], params)[0].prompt_logprobs
    for one, other in zip(told[1:], again[1:], strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)
    assert run(engine, [LONG[:80]], ONE)[0].usage.cached_tokens == 64


def test_choices_of_a_request_share_its_prompt():
    engine = small_engine(wait_for_twin=False)
    params = SamplingParams(max_tokens=4, temperature=0, ignore_eos=True, n=3)
    done = run(engine, [LONG[:80]], params)[0]
    assert len({choice.token_ids for choice in done.choices}) == 1
    assert [c.finish.usage.cached_tokens for c in done.choices] == [0, 64, 64]
    assert done.usage.cached_tokens == 0, "the request's own figure is its first choice's"
    assert done.usage.output_tokens == 12
    assert engine.stats().computed_tokens == 80 + 16 + 16


def observed(**settings):
    records = []
    values = {"num_blocks": 8, "block_size": 16, "max_model_len": 100, **settings}
    return tiny_engine(EngineSettings(**values), observe=records.append), records


def of_kind(records, kind):
    return [record for record in records if isinstance(record, kind)]


def test_events_say_what_can_be_found():
    engine, records = observed()
    run(engine, [LONG[:50]], ONE, "a")
    (stored,) = of_kind(records, BlocksStored)
    assert stored.tokens == tuple(LONG[:48])
    assert (stored.parent_key, stored.first_block, stored.cache_salt) == (None, 0, "a")
    assert len(set(stored.keys)) == 3
    run(engine, [LONG[:70]], ONE, "a")
    later = of_kind(records, BlocksStored)[1]
    assert (later.parent_key, later.first_block) == (stored.keys[-1], 3)
    assert later.tokens == tuple(LONG[48:64])
    admitted = of_kind(records, Admitted)
    assert [record.cached_tokens for record in admitted] == [0, 48]
    assert not any(record.resumed for record in admitted)


def test_every_eviction_has_its_reason_and_ages():
    now = iter(range(10_000))
    engine, records = observed()
    engine.cache._clock = engine.cache.pool._clock = lambda: float(next(now))
    run(engine, [LONG[:96]], ONE)
    run(engine, [[*LONG[:32], 3]], ONE)
    run(engine, [LONG[200:296]], ONE)
    (evicted,) = of_kind(records, Evicted)
    assert (evicted.reason, evicted.policy, evicted.for_request) == ("capacity", "lru", "0")
    assert len(evicted.hits) == 4, "six blocks are needed, two are free"
    assert evicted.hits == (0, 0, 0, 0), "the four that nobody hit"
    ages = zip(evicted.idle_s, evicted.resident_s, strict=True)
    assert all(0 < idle <= resident for idle, resident in ages)
    (removed,) = of_kind(records, BlocksRemoved)
    stored = of_kind(records, BlocksStored)[0]
    assert removed.keys == stored.keys[5:1:-1], "the tail goes first"
    assert engine.stats().evictions == {"capacity": 4}
    told = engine.clear_cache()
    assert told == 16 * 8
    assert of_kind(records, Evicted)[-1].reason == "cleared"
    assert of_kind(records, CacheCleared)


def test_clearing_does_not_touch_what_runs():
    engine = small_engine()
    expected = tokens_of(run(small_engine(), [LONG[:100]], GREEDY))[0]
    engine.submit(GenerationRequest("x", token_array(LONG[:100]), GREEDY))
    tokens = []
    for _ in range(4):
        tokens += [t for chunk in engine.step() for t in chunk.token_ids]
    assert engine.clear_cache() == 96
    engine.check()
    while engine.has_work:
        tokens += [t for chunk in engine.step() for t in chunk.token_ids]
        engine.check()
    assert tuple(tokens) == expected
    assert engine.cache.index.num_stored == 0, "what was computed before is not stored after"
    assert engine.stats().free_blocks == engine.stats().total_blocks
    assert run(engine, [LONG[:100]], ONE)[0].usage.cached_tokens == 0
    assert run(engine, [LONG[:100]], ONE)[0].usage.cached_tokens == 96


def test_a_pinned_prefix_outlives_pressure():
    engine = small_engine(num_blocks=12, max_model_len=128)
    run(engine, [LONG[:64]], ONE)
    number, kept = engine.pin(LONG[:60])
    assert kept == 48
    for start in range(100, 300, 50):
        run(engine, [LONG[start : start + 100]], ONE)
    assert run(engine, [LONG[:64]], ONE)[0].usage.cached_tokens == 48
    assert engine.stats().pinned_blocks == 3
    assert engine.unpin(number)
    for start in range(100, 300, 50):
        run(engine, [LONG[start : start + 100]], ONE)
    assert run(engine, [LONG[:64]], ONE)[0].usage.cached_tokens == 0


def test_a_pin_leaves_room_for_one_context():
    engine = small_engine(num_blocks=10, max_model_len=128)
    run(engine, [LONG[:64]], ONE)
    with pytest.raises(RequestError, match="pin: would leave less room than 128 tokens"):
        engine.pin(LONG[:64])
    engine.check()


def test_resident_prefixes_the_longest_first():
    engine = small_engine()
    run(engine, [LONG[:64], LONG[:32] + LONG[100:180], LONG[200:220]], ONE)
    run(engine, [LONG[:20]], ONE, "salted")
    found = engine.resident()
    assert [(p.num_tokens, p.cache_salt) for p in found] == [
        (112, None),
        (64, None),
        (16, None),
        (16, "salted"),
    ]
    assert found[1].tokens == tuple(LONG[:32])
    assert not any(prefix.in_use or prefix.pinned for prefix in found)
    assert len(engine.resident(most=1)) == 1


def test_lookup_and_mapping_take_microseconds_not_milliseconds():
    """No timing is asserted: 32k tokens are looked up in one call of a compiled loop, and the
    number of Python-level steps does not grow with the prompt."""
    sizes = {}
    for num_tokens in (1_000, 32_000):
        index = cache_module.INDEXES["blocks"](4_000, 16)
        tokens = np.arange(num_tokens, dtype=np.uint32)
        keys = np.arange(num_tokens // 16, dtype=np.uint64)
        blocks = np.arange(num_tokens // 16, dtype=np.int32)
        index.insert(None, tokens, keys, blocks, 0)
        counter = CountCalls()
        with counter:
            assert len(index.match(None, tokens, keys, len(keys))) == len(keys)
        sizes[num_tokens] = counter.calls
    assert sizes[1_000] == sizes[32_000]


class CountCalls:
    """Python function calls within a block."""

    def __enter__(self):
        self.calls = 0
        sys.setprofile(lambda frame, event, argument: setattr(self, "calls", self.calls + 1))

    def __exit__(self, *exception):
        sys.setprofile(None)
