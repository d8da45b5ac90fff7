"""Requests to the small random model, and what its answers must add up to."""

import random
from itertools import chain

from hitpath.engine.load import tiny_engine
from hitpath.engine.records import SamplingParams
from hitpath.engine.settings import EngineSettings

BLOCK = 16
TIMES = ("queue_s", "tokenise_s", "lookup_s", "prefill_s", "decode_s")
WORDS = "the cache holds what was computed once so a prompt that begins alike need not run again"


def text_of(name: str, length: int = 100) -> str:
    """A prompt of `length` tokens (bytes) that no other test sends."""
    words = WORDS.split()
    random.Random(name).shuffle(words)
    return (name + " " + " ".join(words)).ljust(length, ".")[:length]


def hit(length: int) -> int:
    """Cached tokens of an exact repeat: whole blocks, and at least one token is computed."""
    return (length - 1) // BLOCK * BLOCK


def asked_of(prompt, count, **more):
    """A greedy completion of exactly `count` tokens."""
    extra = {"ignore_eos": True, **more.pop("extra_body", {})}
    asked = {"model": "tiny", "prompt": prompt, "max_tokens": count, "temperature": 0}
    return {**asked, **more, "extra_body": extra}


def chat_of(content, count, **more):
    """The same as a chat."""
    extra = {"ignore_eos": True, **more.pop("extra_body", {})}
    messages = [{"role": "user", "content": content}]
    asked = {"model": "tiny", "messages": messages, "max_tokens": count, "temperature": 0}
    return {**asked, **more, "extra_body": extra}


def check_sums(answer, prompt_tokens, cached, output):
    """Usage and timings of an answer or of a stream's last chunk."""
    usage, timings = answer.usage, answer.timings
    assert (usage.prompt_tokens, usage.completion_tokens) == (prompt_tokens, output)
    assert usage.total_tokens == prompt_tokens + output
    assert usage.prompt_tokens_details.cached_tokens == cached
    assert timings["computed_tokens"] == prompt_tokens - cached
    assert all(0 <= timings[name] < 60 for name in TIMES)
    assert timings["prefill_s"] > 0


def flat(parts):
    """Lists behind one another."""
    return list(chain.from_iterable(parts))


class Reference:
    """What an engine of its own writes, without cache, batching or a server."""

    def __init__(self) -> None:
        settings = EngineSettings(prefix_cache=False, num_blocks=64, max_model_len=1024)
        self._engine = tiny_engine(settings)

    def tokens(self, prompt: str, count: int, **params) -> list[int]:
        """Token ids; greedy unless `params` say otherwise."""
        given = SamplingParams(max_tokens=count, ignore_eos=True, **{"temperature": 0.0, **params})
        return list(self._engine.generate(prompt, given)[0].choices[0].token_ids)

    def text(self, prompt: str, count: int, **params) -> str:
        """Their text: the token that ends a turn has none."""
        return bytes(one for one in self.tokens(prompt, count, **params) if one < 256).decode()
