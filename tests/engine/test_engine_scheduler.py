"""Who runs when: chunks beside decodes, twins, ageing, preemption order, cancelling, refusing."""

import pytest
from engine_support import GREEDY, prompt_tokens, run, small_engine

from hitpath.core import SettingError
from hitpath.engine.errors import ContextTooLong, Overloaded, RequestError
from hitpath.engine.events import Admitted, Preempted, StepDone
from hitpath.engine.load import tiny_engine
from hitpath.engine.records import GenerationRequest, SamplingParams, token_array
from hitpath.engine.settings import EngineSettings


def request(name, tokens, max_tokens=4, **fields):
    params = SamplingParams(max_tokens=max_tokens, temperature=0, ignore_eos=True)
    return GenerationRequest(name, token_array(tokens), params, **fields)


class Watched:
    """An engine with a clock that a test turns by hand; its records, and the steps' chunks."""

    def __init__(self, **settings):
        values = {"num_blocks": 128, "max_model_len": 512, "block_size": 16, **settings}
        self.now = 0.0
        self.records = []
        self.engine = tiny_engine(EngineSettings(**values), observe=self.records.append)
        self.engine._clock = self.engine._scheduler._clock = lambda: self.now

    def step(self):
        chunks = self.engine.step()
        self.engine.check()
        return {chunk.request_id for chunk in chunks}

    def of(self, kind):
        return [record for record in self.records if isinstance(record, kind)]


def steps_of_a_long_miss(chunked):
    """Tokens of each step while a 400-token prompt arrives beside a decoding request."""
    watched = Watched(max_batch_tokens=40, max_running=8, chunked_prefill=chunked)
    watched.engine.submit(request("talks", prompt_tokens(20), max_tokens=40))
    watched.step()
    watched.engine.submit(request("long", prompt_tokens(400, seed=1), max_tokens=1))
    answered = []
    while "long" not in answered:
        told = watched.step()
        assert "talks" in told, "a decode waits for nobody"
        answered += sorted(told)
    return [step.num_prefill_tokens for step in watched.of(StepDone)[1:]]


def test_a_long_miss_comes_in_chunks_beside_decodes():
    assert steps_of_a_long_miss(chunked=True) == [39] * 10 + [10]
    assert steps_of_a_long_miss(chunked=False) == [400], "one step, which stalls the other"


def test_a_twin_waits_and_hits():
    for wait, hit in ((True, 96), (False, 0)):
        watched = Watched(max_batch_tokens=256, wait_for_twin=wait)
        shared = prompt_tokens(100, seed=1)
        for name in ("first", "second"):
            watched.engine.submit(request(name, [*shared, 5 if name == "first" else 6]))
        while watched.engine.has_work:
            watched.step()
        hits = {r.request_id: r.cached_tokens for r in watched.of(Admitted)}
        assert hits == {"first": 0, "second": hit}
        total = watched.engine.stats()
        assert total.computed_tokens == 2 * 101 - hit
        assert total.cached_blocks == 6, "one copy of each shared block, in either case"


def test_others_pass_a_waiting_twin_and_it_does_not_wait_for_ever():
    watched = Watched(max_batch_tokens=16, max_running=8, max_wait_s=5.0)
    shared = prompt_tokens(200, seed=1)
    watched.engine.submit(request("first", [*shared, 5]))
    watched.engine.submit(request("twin", [*shared, 6]))
    watched.step()
    assert [record.request_id for record in watched.of(Admitted)] == ["first"]
    watched.now = 6.0
    watched.step()
    watched.step()
    admitted = {r.request_id: r for r in watched.of(Admitted)}
    assert "twin" not in admitted, "the budget is the first one's"
    for _ in range(12):
        watched.step()
    admitted = {r.request_id: r for r in watched.of(Admitted)}
    assert admitted["twin"].queue_s == 6.0


def arrivals_until_cold_runs(max_wait_s):
    """Hits keep coming, one a second, in an engine that serves the largest hit first."""
    watched = Watched(
        max_batch_tokens=32, max_running=1, admission="longest_hit", max_wait_s=max_wait_s
    )
    warm = prompt_tokens(100, seed=1)
    watched.engine.submit(request("warm", warm, max_tokens=1))
    while watched.engine.has_work:
        watched.step()
    watched.engine.submit(request("hit -1", [*warm, 3], max_tokens=2))
    watched.engine.submit(request("cold", prompt_tokens(60, seed=2), max_tokens=1))
    for i in range(12):
        watched.engine.submit(request(f"hit {i}", [*warm, 9 + i], max_tokens=1))
        watched.now += 1.0
        watched.step()
        if any(record.request_id == "cold" for record in watched.of(Admitted)):
            return i
    return None


def test_the_longest_hit_goes_first_but_nobody_starves():
    assert arrivals_until_cold_runs(max_wait_s=1e9) is None
    assert arrivals_until_cold_runs(max_wait_s=3.0) in (2, 3)


def test_the_last_one_admitted_is_preempted_and_comes_back_first():
    watched = Watched(num_blocks=12, block_size=4, max_model_len=40, max_batch_tokens=64)
    for i in range(3):
        watched.engine.submit(request(f"r{i}", prompt_tokens(10, seed=i), max_tokens=25))
    while watched.engine.has_work:
        watched.step()
    preempted = [record.request_id for record in watched.of(Preempted)]
    assert preempted[0] == "r2"
    assert "r0" not in preempted, "the first one always gets on"
    resumed = [r for r in watched.of(Admitted) if r.resumed]
    assert len(resumed) == len(preempted) == watched.engine.stats().preemptions
    assert watched.engine.stats().admitted == 3


def test_cancelling_frees_blocks_before_the_next_step():
    watched = Watched(max_batch_tokens=64)
    engine = watched.engine
    for name in ("stays", "goes", "waits"):
        engine.submit(request(name, prompt_tokens(60, seed=len(name)), max_tokens=20))
    engine.step()
    used = engine.stats().used_blocks
    assert engine.abort("goes")
    assert engine.abort("waits")
    assert engine.stats().used_blocks < used
    engine.check()
    assert not engine.abort("goes"), "it is gone"
    assert not engine.abort("never was")
    chunks = engine.step()
    finished = {c.request_id: c.finish.reason for c in chunks if c.finish}
    assert finished == {"goes": "abort", "waits": "abort"}
    while engine.has_work:
        assert watched.step() == {"stays"}
    assert engine.stats().used_blocks == 0


def test_what_is_refused_changes_nothing():
    engine = small_engine(max_model_len=64, max_waiting=2)
    cases = [
        (
            request("a", prompt_tokens(64)),
            ContextTooLong,
            "prompt: 65 tokens; the context holds 64",
        ),
        (request("a", [5], max_tokens=64), ContextTooLong, "max_tokens: 65 tokens"),
        (request("a", [264]), RequestError, "prompt: token id 264 is not below 264"),
    ]
    for refused, kind, message in cases:
        with pytest.raises(kind, match=message):
            engine.submit(refused)
        assert not engine.has_work
    engine.submit(request("a", [5]))
    with pytest.raises(RequestError, match="request_id: a runs already"):
        engine.submit(request("a", [5]))
    engine.submit(request("b", [5]))
    with pytest.raises(Overloaded, match="2 requests wait already; retry in 1 s") as caught:
        engine.submit(request("c", [5]))
    assert caught.value.retry_after_s == 1.0
    with pytest.raises(RequestError, match="other requests are under way"):
        engine.generate([[5]], GREEDY)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_tokens": 0}, "max_tokens: must be at least 1"),
        ({"temperature": -1}, "temperature: must be from 0 to 100"),
        ({"temperature": float("nan")}, "temperature: must be"),
        ({"top_p": 0}, "top_p: must be above 0"),
        ({"top_k": 0}, "top_k: must be at least 1"),
        ({"n": 0}, "n: must be from 1 to 128"),
        ({"seed": -1}, "seed: must be"),
        ({"stop": ("",)}, "stop: must be text"),
        ({"logprobs": 21}, "logprobs: must be from 0 to 20"),
        ({"prompt_logprobs": -1}, "prompt_logprobs: must be"),
    ],
)
def test_senseless_parameters_are_refused(fields, message):
    with pytest.raises(RequestError, match=message):
        SamplingParams(**fields)


@pytest.mark.parametrize("tokens", [[], [-1], [2**32], [1.5], [[1]], ["a"], None])
def test_a_prompt_is_token_ids(tokens):
    with pytest.raises(RequestError, match="prompt: "):
        GenerationRequest("a", tokens)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"index": "tree"}, "index tree: not one of blocks, radix"),
        ({"eviction": "fifo"}, "eviction fifo: not one of lru, lfu, priority"),
        ({"block_size": 0}, "block_size: 0 is less than 1"),
        ({"max_batch_tokens": 8}, "max_batch_tokens: 8 is less than a token for each of 64"),
        ({"num_blocks": 2, "max_model_len": 64}, "max_model_len: the KV cache holds 32 tokens"),
        ({"max_model_len": 10**6}, "max_model_len: the model has 32,768 positions"),
        ({"kv_cache_bytes": 10}, "kv_cache_bytes: holds no block of 16 tokens"),
        ({"dtype": "float16"}, "dtype float16: not one of float32, bfloat16"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(fields, message):
    with pytest.raises(SettingError, match=message):
        tiny_engine(EngineSettings(**fields))


def test_the_parts_of_the_time_are_the_whole():
    engine = small_engine()
    done = run(engine, ["Some text that is a prompt of its own"], GREEDY)[0]
    parts = done.timings
    assert min(parts.queue_s, parts.tokenise_s, parts.lookup_s) >= 0
    assert parts.prefill_s > 0
    assert parts.decode_s > 0
    assert parts.ttft_s == pytest.approx(
        parts.queue_s + parts.tokenise_s + parts.lookup_s + parts.prefill_s
    )
