"""Any history of requests, steps, cancellations, overflows and clears keeps the engine whole.

After every rule: conservation (free + cached + used = total, references as the tables say, index
and pool agree), hits as the closed form says, and, at the end, the tokens of every request that
ran to its end equal those of the same prompt alone.
"""

from functools import lru_cache
from itertools import takewhile

from engine_support import prompt_tokens, run, small_engine
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hitpath.engine.errors import ContextTooLong, Overloaded
from hitpath.engine.events import Admitted, BlocksRemoved, BlocksStored, CacheCleared
from hitpath.engine.load import tiny_engine
from hitpath.engine.records import GenerationRequest, SamplingParams, token_array
from hitpath.engine.settings import EngineSettings
from hitpath.keys import block_keys, context_root

MAX_LEN = 72


@lru_cache(maxsize=4096)
def alone(prompt, max_tokens):
    params = SamplingParams(max_tokens=max_tokens, temperature=0, ignore_eos=True)
    return run(reference_engine(), [list(prompt)], params)[0].choices[0].token_ids


@lru_cache(maxsize=1)
def reference_engine():
    return small_engine(prefix_cache=False, attention="plain", cascade=False)


class EngineMachine(RuleBasedStateMachine):
    @initialize(
        index=st.sampled_from(["blocks", "radix"]),
        block_size=st.sampled_from([1, 2, 5, 8]),
        policy=st.sampled_from(["lru", "lfu", "priority"]),
        admission=st.sampled_from(["fcfs", "longest_hit"]),
        twins=st.booleans(),
        chunked=st.booleans(),
        budget=st.sampled_from([4, 16, 64]),
        int8=st.booleans(),
    )
    def start(self, index, block_size, policy, admission, twins, chunked, budget, int8):
        self.size = block_size
        self.exact = not int8  # int8 may change tokens, and nothing else
        self.stored = {}  # salt -> keys that can be found, told by events alone
        self.salt_of = {}
        self.seen = set()
        self.reported = {}
        self.engine = tiny_engine(
            EngineSettings(
                index=index,
                block_size=block_size,
                num_blocks=-(-(200 if int8 else 100) // block_size),
                int8_shared=int8,
                max_model_len=MAX_LEN,
                eviction=policy,
                admission=admission,
                wait_for_twin=twins,
                chunked_prefill=chunked,
                max_batch_tokens=budget,
                max_running=4,
                max_waiting=5,
            ),
            observe=self.observe,
        )
        self.requests = {}
        self.tokens = {}
        self.reasons = {}
        self.number = 0
        self.pins = []
        self.cancelled = set()

    def observe(self, record):
        if isinstance(record, BlocksStored):
            assert len(record.tokens) == len(record.keys) * record.block_size
            assert record.parent_key is None or record.parent_key in self.salt_of
            for key in record.keys:
                assert key not in self.salt_of, "stored twice"
                self.salt_of[key] = record.cache_salt
        elif isinstance(record, BlocksRemoved):
            for key in record.keys:
                del self.salt_of[key]
        elif isinstance(record, CacheCleared):
            self.salt_of.clear()
        elif isinstance(record, Admitted):
            self.predict(record)

    def predict(self, record):
        """Closed form of both indexes, from the events alone: whole blocks of the longest prefix
        that can be found, and one token at least is computed."""
        prompt, _, _, salt = self.requests[record.request_id]
        tokens = prompt + self.tokens.get((record.request_id, record.choice), ())
        root = context_root({"cache_salt": salt})
        keys = block_keys(token_array(tokens), self.size, root)[: (len(tokens) - 1) // self.size]
        found = list(takewhile(lambda key: key in self.salt_of, keys.tolist()))
        assert record.cached_tokens == len(found) * self.size
        assert {self.salt_of[key] for key in found} <= {salt}
        assert record.resumed == ((record.request_id, record.choice) in self.seen)
        self.seen.add((record.request_id, record.choice))
        if not record.resumed:
            self.reported[record.request_id, record.choice] = record.cached_tokens

    @rule(
        shared=st.integers(0, 3),
        length=st.integers(0, 40),
        own=st.integers(1, 12),
        seed=st.integers(0, 3),
        max_tokens=st.integers(1, 20),
        salt=st.sampled_from([None, "a"]),
        priority=st.integers(-1, 1),
        n=st.sampled_from([1, 1, 1, 2]),
    )
    def submit(self, shared, length, own, seed, max_tokens, salt, priority, n):
        prompt = prompt_tokens(length, seed=shared) + prompt_tokens(own, seed=50 + seed)
        params = SamplingParams(max_tokens=max_tokens, temperature=0, ignore_eos=True, n=n)
        request_id = f"r{self.number}"
        self.number += 1
        request = GenerationRequest(request_id, token_array(prompt), params, salt, priority)
        before = self.engine.stats()
        try:
            self.engine.submit(request)
        except ContextTooLong:
            assert len(prompt) + max_tokens > MAX_LEN
            assert self.engine.stats() == before
        except Overloaded:
            assert before.num_waiting + n > 5
            assert self.engine.stats() == before
        else:
            self.requests[request_id] = (tuple(prompt), max_tokens, n, salt)

    @rule(count=st.integers(1, 6))
    def step(self, count):
        for _ in range(count):
            self.take(self.engine.step())
            self.engine.check()

    def take(self, chunks):
        for chunk in chunks:
            name = (chunk.request_id, chunk.choice)
            assert name not in self.reasons, "a chunk after the finish"
            self.tokens[name] = self.tokens.get(name, ()) + chunk.token_ids
            if chunk.finish is not None:
                self.reasons[name] = chunk.finish.reason
                prompt = self.requests[chunk.request_id][0]
                usage = chunk.finish.usage
                assert usage.prompt_tokens == len(prompt)
                assert usage.output_tokens == len(self.tokens[name])
                assert usage.cached_tokens == self.reported.get(name, 0)

    @precondition(lambda self: self.requests)
    @rule(number=st.integers(0, 30))
    def cancel(self, number):
        used = self.engine.stats().used_blocks
        name = f"r{number % len(self.requests)}"
        choices = self.requests[name][2] if name in self.requests else 0
        runs = any((name, choice) not in self.reasons for choice in range(choices))
        assert self.engine.abort(name) == (runs and name not in self.cancelled)
        self.cancelled.add(name)
        assert self.engine.stats().used_blocks <= used

    @rule()
    def clear(self):
        told = len(self.salt_of) * self.size
        assert self.engine.clear_cache() == told
        assert self.engine.stats().cached_blocks == 0
        self.pins = []

    @rule(seed=st.integers(0, 3), length=st.integers(8, 24))
    def pin(self, seed, length):
        number, kept = self.engine.pin(prompt_tokens(length, seed=seed))
        assert kept <= length
        self.pins.append(number)

    @rule()
    def unpin(self):
        if self.pins:
            assert self.engine.unpin(self.pins.pop())
        assert not self.engine.unpin(10_000)

    @invariant()
    def whole(self):
        if hasattr(self, "engine"):
            self.engine.check()
            stats = self.engine.stats()
            assert stats.free_blocks + stats.cached_blocks + stats.used_blocks == stats.total_blocks
            assert len(self.salt_of) == self.engine.cache.index.num_stored

    def teardown(self):
        if not hasattr(self, "engine"):
            return
        for number in self.pins:
            self.engine.unpin(number)
        for _ in range(3000):
            if not self.engine.has_work:
                break
            self.take(self.engine.step())
        assert not self.engine.has_work, "some requests never end"
        self.engine.check()
        assert self.engine.stats().used_blocks == 0
        for request_id, (prompt, max_tokens, n, _) in self.requests.items():
            for choice in range(n):
                reason = self.reasons[request_id, choice]
                if reason == "length":
                    assert len(self.tokens[request_id, choice]) == max_tokens
                assert reason in ("length", "abort")
                tokens = self.tokens.get((request_id, choice), ())
                expected = alone(prompt, max_tokens)
                if self.exact:
                    assert tokens == (expected if reason == "length" else expected[: len(tokens)])


TestEngineHistories = EngineMachine.TestCase
TestEngineHistories.settings = settings(deadline=None, max_examples=30, stateful_step_count=25)
