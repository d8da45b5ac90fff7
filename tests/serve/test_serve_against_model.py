"""Every `cached_tokens` that the server answers, predicted by the simulator's model of the engine.

Requests over HTTP, one after the other, streamed and whole, as text, token ids and chats, through
pools that are too small: so what was evicted is predicted, too. Then the same from a recording.
"""

import random
from types import SimpleNamespace

import pytest

from hitpath.core import Setting
from hitpath.engine.settings import EngineSettings
from hitpath.sim.models.contract import Request
from hitpath.spine import analyze
from recording import proxy
from serve.following import TEXT, alone, asked, letters, model_of
from serve.running import tiny_server

NUM_REQUESTS = 40
CHAT = "/v1/chat/completions"


def talks(draw, size):
    """Growing conversations of three users behind one system prompt: the prompt, and the talk to
    which its answer is to be added."""
    system = letters(draw, draw.randrange(1, 3 * size + 3))
    standing = {user: list(system) for user in "abc"}
    for _ in range(NUM_REQUESTS):
        talk = standing[draw.choice("abc")]
        if len(talk) > 110:
            talk[:] = system
        talk += letters(draw, draw.randrange(1, 2 * size + 12))
        yield list(talk), talk


def sent(draw, server, tokens):
    """(path, body, tokens as the engine runs them): ids, their text, or a chat of it."""
    form = draw.choice(["ids", "ids", "text", "chat"])
    if form == "ids":
        return TEXT, {"prompt": tokens}, tokens
    text = bytes(tokens).decode()
    if form == "text":
        return TEXT, {"prompt": text}, tokens
    messages = [{"role": "user", "content": text}]
    run = server.ask("POST", "/tokenize", {"messages": messages})[1]["tokens"]
    return CHAT, {"messages": messages}, run


@pytest.mark.parametrize(
    ("index", "eviction", "size"),
    [("blocks", "lru", 1), ("radix", "lru", 16), ("radix", "lfu", 4), ("blocks", "priority", 16)],
)
def test_every_hit_over_http_is_predicted(index, eviction, size):
    draw = random.Random(f"{eviction} {size}")
    settings = EngineSettings(
        index=index, eviction=eviction, block_size=size, num_blocks=-(-280 // size),
        max_model_len=256, num_threads=1,
    )  # fmt: skip
    model, (running, _) = model_of(settings), tiny_server(settings)
    told, said = [], []
    with running as server:
        for number, (prompt, talk) in enumerate(talks(draw, size)):
            path, body, tokens = sent(draw, server, prompt)
            salt, priority = draw.choice([None, None, None, "s"]), draw.randrange(3)
            whole = draw.random() < 0.1  # all of the prompt is computed
            body |= {"max_tokens": draw.randrange(1, 12), "priority": priority}
            body |= {} if salt is None else {"cache_salt": salt}
            body |= {"prompt_logprobs": 0} if whole else {"stream": draw.random() < 0.5}
            _, usage, (output,) = asked(server.port, path, body)
            assert usage["prompt_tokens"] == len(tokens)
            told.append(usage["prompt_tokens_details"]["cached_tokens"])
            request = Request(number, tokens, salt, priority=priority, reads_cache=not whole)
            said.append(alone(model, request, output))
            talk += [token for token in output if token < 128]
        cache = server.ask("GET", "/v1/cache")[1]
    assert told == said
    assert sum(told) > 200
    assert sum(eviction.num_tokens for eviction in model.take_evictions()) > 200
    stands = model.occupancy()
    assert (cache["used_blocks"], cache["cached_blocks"], cache["free_blocks"]) == (
        stands.used, stands.cached, stands.free)  # fmt: skip


@pytest.mark.parametrize(
    ("index", "size", "eviction"), [("blocks", 16, "lru"), ("radix", 4, "lfu")]
)
def test_analyze_predicts_what_a_recording_of_the_server_reports(index, size, eviction, tmp_path):
    """The user's way: `examples/record_proxy.py` in front, then
    `hitpath analyze trace.jsonl --engine hitpath --capacity-tokens N --outputs insert`."""
    draw = random.Random(f"recorded {size}")
    settings = EngineSettings(
        index=index, eviction=eviction, block_size=size, num_blocks=-(-280 // size),
        max_model_len=256, num_threads=1,
    )  # fmt: skip
    told = []
    running, _ = tiny_server(settings)
    with running as server:
        upstream = SimpleNamespace(server_address=("127.0.0.1", server.port))
        with proxy(upstream, tmp_path / "trace.jsonl", "--prompts", "tokens") as front:
            for prompt, talk in talks(draw, size):
                body = {"prompt": prompt, "max_tokens": draw.randrange(1, 12)}
                body |= draw.choice([{}, {}, {}, {"cache_salt": "s"}])
                body |= {"stream": draw.random() < 0.5}
                _, usage, (output,) = asked(front.port, TEXT, body)
                told.append(usage["prompt_tokens_details"]["cached_tokens"])
                talk += [token for token in output if token < 128]
        cache = server.ask("GET", "/v1/cache")[1]
    analysis = analyze(
        [str(tmp_path / "trace.jsonl")],
        Setting(
            engine=f"hitpath:eviction={eviction}",
            capacity_tokens=cache["total_blocks"] * cache["block_size"],
            block_size=cache["block_size"],
            outputs="insert",
        ),
    )
    ledger = analysis.ledger
    ledger.check()
    assert ledger.rungs.reported.tolist() == told
    assert ledger.rungs.model[0].tolist() == told
    assert ledger.total(ledger.cause("evicted")) > 0
