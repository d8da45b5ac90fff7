"""The API by the official client, against the small random model on a real server."""

import json
from itertools import pairwise

import openai
import pytest

from serve.asking import BLOCK, TIMES, asked_of, chat_of, check_sums, hit, text_of


def test_a_completion_cold_and_warm(client, reference):
    prompt = text_of("cold and warm")
    expected = reference.text(prompt, 6)
    for cached in (0, hit(100)):
        answer = client.completions.create(**asked_of(prompt, 6))
        assert answer.choices[0].text == expected
        assert answer.choices[0].finish_reason == "length"
        assert answer.object == "text_completion"
        assert answer._request_id == answer.id
        check_sums(answer, 100, cached, 6)
        ttft = sum(answer.timings[name] for name in TIMES[:4])
        assert answer.timings["ttft_s"] == pytest.approx(ttft, abs=1e-6)


def test_a_chat_and_its_stream_say_the_same(client, server):
    asked = chat_of(text_of("chat"), 7)
    length = server.ask("POST", "/tokenize", {"messages": asked["messages"]})[1]["count"]
    whole = client.chat.completions.create(**asked)
    check_sums(whole, length, 0, 7)
    chunks = list(client.chat.completions.create(**asked, stream=True))
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:]] == [None, "length"]
    assert {chunk.id for chunk in chunks} == {chunks[0].id} != {whole.id}
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    check_sums(chunks[-1], length, hit(length), 7)
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_both_names_of_the_longest_output(client):
    for name in ("max_tokens", "max_completion_tokens"):
        asked = chat_of(text_of(name), None)
        del asked["max_tokens"]
        answer = client.chat.completions.create(**asked, **{name: 3})
        assert answer.usage.completion_tokens == 3
    del asked["temperature"]
    answer = client.completions.create(model="tiny", prompt="a", extra_body={"ignore_eos": True})
    assert answer.usage.completion_tokens == 16  # OpenAI's default


def test_usage_in_a_chunk_of_its_own(client):
    asked = asked_of(text_of("usage apart"), 3, stream_options={"include_usage": True})
    chunks = list(client.completions.create(**asked, stream=True))
    assert [len(chunk.choices) for chunk in chunks[-2:]] == [1, 0]
    check_sums(chunks[-1], 100, 0, 3)
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_several_choices(client):
    asked = asked_of(text_of("n"), 8, n=3, seed=5, temperature=3.0)
    whole = client.completions.create(**asked)
    assert [choice.index for choice in whole.choices] == [0, 1, 2]
    texts = [choice.text for choice in whole.choices]
    assert len(set(texts)) == 3
    check_sums(whole, 100, 0, 24)
    assert all(choice.timings["prefill_s"] > 0 for choice in whole.choices)
    streamed = ["", "", ""]
    for chunk in client.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            streamed[choice.index] += choice.text
    assert streamed == texts


def test_seed_and_sampling_settings(client, reference):
    prompt = text_of("sampling")

    def ids(top_k=20, **given):
        extra = {"top_k": top_k, "return_token_ids": True}
        asked = asked_of(prompt, 12, **{"temperature": 4.0, **given}, extra_body=extra)
        return client.completions.create(**asked).choices[0].token_ids

    def expected(**params):
        return reference.tokens(prompt, 12, **{"temperature": 4.0, **params})

    for seed in (11, 12, 11):
        assert ids(top_p=0.9, seed=seed) == expected(top_p=0.9, top_k=20, seed=seed)
    for all_of_them in (0, -1, None):
        assert ids(all_of_them, seed=3) == expected(seed=3)
    assert len({tuple(expected(seed=seed)) for seed in range(3)}) == 3


def test_several_prompts_as_text_and_as_ids(client):
    prompts = [text_of("p0", 40), text_of("p1", 90)]
    ids = [list(prompt.encode()) for prompt in prompts]
    both = client.completions.create(**asked_of(prompts, 4, n=2))
    check_sums(both, 130, 0, 16)
    assert "ttft_s" not in both.timings
    assert [choice.index for choice in both.choices] == [0, 1, 2, 3]
    alone = [client.completions.create(**asked_of(one, 4, n=2)) for one in ids]
    texts = [choice.text for answer in alone for choice in answer.choices]
    assert [choice.text for choice in both.choices] == texts
    again = client.completions.create(**asked_of(ids, 4, n=2))
    check_sums(again, 130, hit(40) + hit(90), 16)
    streamed = [""] * 4
    for chunk in client.completions.create(**asked_of(prompts, 4, n=2), stream=True):
        for choice in chunk.choices:
            streamed[choice.index] += choice.text
    assert streamed == texts
    check_sums(chunk, 130, hit(40) + hit(90), 16)


def test_stop_texts_and_ids(client, reference):
    prompt = text_of("stop text")
    text = reference.text(prompt, 30)
    stop = text[2:4]
    assert text.index(stop) == 2, "the text repeats itself: take another prompt"
    for form in (stop, ["never there", stop]):
        choice = client.completions.create(**asked_of(prompt, 30, stop=form)).choices[0]
        assert (choice.text, choice.finish_reason) == (text[:2], "stop")
        assert choice.stop_reason == stop
    chunks = list(client.completions.create(**asked_of(prompt, 30, stop=stop, stream=True)))
    assert "".join(c.choices[0].text for c in chunks) == text[:2]
    chat = client.chat.completions.create(**chat_of(prompt, 9)).choices[0].message.content
    chunks = list(client.chat.completions.create(**chat_of(prompt, 9, stop=chat[3:], stream=True)))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == chat[:3]
    assert all(c.choices[0].delta.content for c in chunks[1:-1])  # what is held back has no event
    ids = {"stop_token_ids": [ord(text[1])]}
    choice = client.completions.create(**asked_of(prompt, 30, extra_body=ids)).choices[0]
    at = text.index(text[1])
    assert (choice.text, choice.stop_reason) == (text[:at], ord(text[1]))


def test_salts_keep_tenants_apart(client):
    prompt = text_of("salted")

    def cached(salt):
        extra = {} if salt is None else {"cache_salt": salt}
        answer = client.completions.create(**asked_of(prompt, 1, extra_body=extra))
        return answer.usage.prompt_tokens_details.cached_tokens

    salts = ("a", "a", "b", None, None, "b")
    assert [cached(salt) for salt in salts] == [0, hit(100), 0, 0, hit(100), hit(100)]


def test_reported_hits_are_the_closed_form(client):
    for length in (1, 15, 16, 17, 31, 32, 33, 97):
        prompt = text_of(f"{length} closed form", length)
        found = [client.completions.create(**asked_of(prompt, 1)) for _ in range(2)]
        cached = [one.usage.prompt_tokens_details.cached_tokens for one in found]
        assert cached == [0, hit(length)]


def test_models(client):
    (model,) = client.models.list().data
    assert (model.id, model.owned_by, model.max_model_len) == ("tiny", "hitpath", 4096)
    assert client.models.retrieve("tiny") == model
    with pytest.raises(openai.NotFoundError, match="no model of that name"):
        client.models.retrieve("gpt-4")
    with pytest.raises(openai.NotFoundError) as caught:
        client.completions.create(model="gpt-4", prompt="x")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


def test_tokenize_gives_what_is_run(client, server):
    prompt = "naïve 😀\n"
    _, told, _ = server.ask("POST", "/tokenize", {"prompt": prompt, "return_token_strs": True})
    assert told["tokens"] == list(prompt.encode())
    assert (told["count"], told["max_model_len"]) == (len(told["tokens"]), 4096)
    assert told["token_strs"][0] == "n"
    assert told["token_strs"][2] == "\ufffd"  # half of a character
    _, back, _ = server.ask("POST", "/detokenize", {"tokens": told["tokens"]})
    assert back == {"prompt": prompt}
    run = client.completions.create(**asked_of(prompt, 1))
    assert run.usage.prompt_tokens == told["count"]
    parts = [{"type": "text", "text": "in parts"}]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    asked = chat_of(parts, 1, tools=tools)
    _, chat, _ = server.ask("POST", "/tokenize", {"messages": asked["messages"], "tools": tools})
    run = client.chat.completions.create(**asked)
    assert run.usage.prompt_tokens == chat["count"]
    assert b"in parts" in bytes(chat["tokens"])


def test_the_cache_by_prefix_and_clearing_it(client, server):
    def create(prompt, salt=None):
        extra = {} if salt is None else {"cache_salt": salt}
        return client.completions.create(**asked_of(prompt, 1, extra_body=extra))

    server.ask("DELETE", "/v1/cache")
    create(text_of("open", 64))
    create(text_of("secret", 96), "salt of a tenant")
    status, cache, _ = server.ask("GET", "/v1/cache")
    assert status == 200
    assert cache["block_size"] == BLOCK
    blocks = [cache[f"{state}_blocks"] for state in ("free", "cached", "used")]
    assert sum(blocks) == cache["total_blocks"] == 512
    secret, shown = cache["prefixes"]
    assert (secret["num_tokens"], shown["num_tokens"]) == (96, 64)
    assert shown["text"] == text_of("open", 64)[:32]
    assert (secret["text"], secret["first_tokens"]) == (None, None)
    assert "salt of a tenant" not in json.dumps(cache)
    _, own, _ = server.ask("GET", "/v1/cache?cache_salt=salt%20of%20a%20tenant&limit=1")
    (prefix,) = own["prefixes"]
    assert prefix["text"] == text_of("secret", 96)[:32]
    assert prefix["salt"] == secret["salt"]
    assert server.ask("DELETE", "/v1/cache")[1]["cleared_tokens"] == 160
    assert server.ask("GET", "/v1/cache")[1]["prefixes"] == []
    assert create(text_of("open", 64)).usage.prompt_tokens_details.cached_tokens == 0


def test_the_first_event_is_the_first_token(client, engine):
    """So that a client that times the first event times no mere acceptance."""
    before = engine.stats().output_tokens
    chunks = iter(client.chat.completions.create(**chat_of("first event", 2), stream=True))
    next(chunks)
    assert engine.stats().output_tokens > before
    assert len(list(chunks)) >= 2


def test_ignored_and_neutral_parameters_change_nothing(client, reference):
    extra = {"user": "me", "metadata": {"a": 1}, "store": True, "service_tier": "flex"}
    extra |= {"presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}, "min_p": 0}
    extra |= {"best_of": 1, "suffix": None, "repetition_penalty": 1.0}
    prompt = text_of("neutral")
    answer = client.completions.create(**asked_of(prompt, 6, extra_body=extra))
    assert answer.choices[0].text == reference.text(prompt, 6)


def test_events_on_the_wire(server):
    body = {"prompt": text_of("wire"), "max_tokens": 3, "stream": True, "ignore_eos": True}
    status, text, headers = server.ask("POST", "/v1/completions", body)
    assert status == 200
    assert headers["Content-Type"].startswith("text/event-stream")
    events = text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    parsed = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
    assert all(a["created"] == b["created"] for a, b in pairwise(parsed))
    assert parsed[-1]["usage"]["completion_tokens"] == 3
    assert parsed[-1]["timings"]["computed_tokens"] == 100
