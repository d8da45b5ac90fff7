"""Log-probabilities in all their forms, echo, and token ids beside the text."""

import math

import pytest

from hitpath.engine.records import TokenLogprobs
from hitpath.serve.logprobs import TextLogprobs, TokenTexts, chat_logprobs, prompt_logprobs
from hitpath.text.tokenizer import ByteTokenizer
from serve.asking import asked_of, chat_of, check_sums, flat, text_of


def check_near(found, expected):
    assert found == pytest.approx(expected, abs=1e-3)


def test_logprobs_of_completions(client):
    asked = asked_of(text_of("lp of text"), 5, logprobs=3)
    choice = client.completions.create(**asked).choices[0]
    logprobs = choice.logprobs
    assert "".join(logprobs.tokens) == choice.text
    assert logprobs.text_offset == [0, 1, 2, 3, 4]
    for token, logprob, top in zip(
        logprobs.tokens, logprobs.token_logprobs, logprobs.top_logprobs, strict=True
    ):
        assert len(top) == 3
        assert top[token] == logprob == max(top.values())
        assert sum(math.exp(one) for one in top.values()) <= 1.0001
    stream = client.completions.create(**asked, stream=True)
    parts = [part for part in (c.choices[0].logprobs for c in stream) if part is not None]
    assert flat(part.text_offset for part in parts) == logprobs.text_offset
    check_near(flat(part.token_logprobs for part in parts), logprobs.token_logprobs)
    extra = {"return_tokens_as_token_ids": True, "return_token_ids": True}
    named = client.completions.create(
        **asked_of(text_of("lp of text"), 5, logprobs=1, extra_body=extra)
    )
    ids = named.choices[0].token_ids
    assert named.choices[0].logprobs.tokens == [f"token_id:{one}" for one in ids]


def test_logprobs_of_chats(client):
    asked = chat_of(text_of("lp of chat"), 4, logprobs=True, top_logprobs=2)
    choice = client.chat.completions.create(**asked).choices[0]
    content = choice.logprobs.content
    assert "".join(one.token for one in content) == choice.message.content
    for one in content:
        assert one.bytes == list(one.token.encode())
        assert one.top_logprobs[0].logprob == one.logprob
        assert len(one.top_logprobs) == 2
    plain = chat_of(text_of("lp of chat"), 4, logprobs=True)
    plain = client.chat.completions.create(**plain).choices[0].logprobs.content
    assert [one.top_logprobs for one in plain] == [[]] * 4
    stream = client.chat.completions.create(**asked, stream=True)
    parts = [part for part in (c.choices[0].logprobs for c in stream) if part is not None]
    streamed = flat(part.content for part in parts)
    assert [one.token for one in streamed] == [one.token for one in content]
    check_near([one.logprob for one in streamed], [one.logprob for one in content])


def test_prompt_logprobs(client):
    prompt = text_of("prompt lp", 50)
    asked = asked_of(prompt, 1, extra_body={"prompt_logprobs": 2})
    client.completions.create(**asked_of(prompt, 1))
    answer = client.completions.create(**asked)
    check_sums(answer, 50, 0, 1)  # all of the prompt has to be computed for them
    told = answer.choices[0].prompt_logprobs
    assert len(told) == 50
    assert told[0] is None
    for at, one in enumerate(told[1:], 1):
        own = one[str(ord(prompt[at]))]
        assert own["decoded_token"] == prompt[at]
        ranks = sorted(entry["rank"] for entry in one.values())
        assert ranks[:2] == [1, 2]
        assert len(one) == (2 if own["rank"] <= 2 else 3)
        assert max(one.values(), key=lambda entry: entry["logprob"])["rank"] == 1
    chat = client.chat.completions.create(**chat_of(prompt, 1, extra_body={"prompt_logprobs": 0}))
    lengths = [len(one or {}) for one in chat.prompt_logprobs]
    assert lengths == [0] + [1] * (chat.usage.prompt_tokens - 1)
    choices = [chunk.choices[0] for chunk in client.completions.create(**asked, stream=True)]
    streamed = [one for one in (getattr(c, "prompt_logprobs", None) for c in choices) if one]
    assert streamed == [told]


def test_echo(client):
    prompt = text_of("echo", 30)
    answer = client.completions.create(**asked_of(prompt, 3, echo=True, logprobs=1)).choices[0]
    assert answer.text.startswith(prompt)
    assert "".join(answer.logprobs.tokens) == answer.text
    assert answer.logprobs.text_offset == list(range(33))
    assert [lp is None for lp in answer.logprobs.token_logprobs] == [True] + [False] * 32
    alone = client.completions.create(**asked_of(prompt, 0, echo=True, logprobs=1))
    assert alone.choices[0].text == prompt
    check_sums(alone, 30, 0, 0)
    check_near(alone.choices[0].logprobs.token_logprobs[1:], answer.logprobs.token_logprobs[1:30])
    ids = list(prompt.encode())
    several = client.completions.create(**asked_of(ids, 3, echo=True, n=2))
    assert all(choice.text.startswith(prompt) for choice in several.choices)
    assert all(choice.logprobs is None for choice in several.choices)
    for count, expected in ((3, answer.text), (0, prompt)):
        asked = asked_of(prompt, count, echo=True, logprobs=1)
        parts = [c.choices[0] for c in client.completions.create(**asked, stream=True)]
        assert "".join(part.text for part in parts) == expected
        tokens = flat(part.logprobs.tokens for part in parts if part.logprobs)
        assert "".join(tokens) == expected


def test_echo_of_several_choices_has_the_prompts_logprobs_in_each(client):
    asked = asked_of(text_of("echo n", 20), 2, echo=True, logprobs=0, n=2)
    first, second = client.completions.create(**asked).choices
    assert len(first.logprobs.tokens) == len(second.logprobs.tokens) == 22
    assert first.logprobs.token_logprobs[:20] == second.logprobs.token_logprobs[:20]


def test_an_echo_has_logprobs_only_where_they_are_asked_for(client):
    asked = asked_of(text_of("echo apart", 20), 2, echo=True, extra_body={"prompt_logprobs": 0})
    choice = client.completions.create(**asked).choices[0]
    assert choice.logprobs is None
    assert len(choice.prompt_logprobs) == 20


def test_token_ids_beside_the_text(client, reference):
    prompt = text_of("ids")
    asked = asked_of(prompt, 4, extra_body={"return_token_ids": True})
    choice = client.completions.create(**asked).choices[0]
    assert choice.token_ids == reference.tokens(prompt, 4)
    stream = client.completions.create(**asked, stream=True)
    assert flat(chunk.choices[0].token_ids for chunk in stream) == choice.token_ids


TEXTS = TokenTexts(ByteTokenizer())
HALF, A, B = 0xC3, ord("a"), ord("b")


def test_minus_infinity_and_half_characters_can_be_written():
    one = TokenLogprobs(HALF, -math.inf, 3, ((A, -0.5), (0xA9, -1.0), (HALF, -math.inf)))
    (chat,) = chat_logprobs([one], TEXTS, False)["content"]
    assert (chat["token"], chat["bytes"], chat["logprob"]) == ("\ufffd", None, -9999.0)
    assert chat["top_logprobs"][0] == {"token": "a", "bytes": [A], "logprob": -0.5}
    text = TextLogprobs(TEXTS, False).part([one])
    assert text["top_logprobs"] == [{"a": -0.5, "\ufffd": -1.0}]  # of two halves the likelier
    named = TextLogprobs(TEXTS, True).part([one])
    assert list(named["top_logprobs"][0]) == ["token_id:97", "token_id:169", "token_id:195"]


def test_the_tokens_own_logprob_stands_beside_the_highest():
    one = TokenLogprobs(B, -7.0, 42, ((A, -0.5),))
    assert TextLogprobs(TEXTS, False).part([one])["top_logprobs"] == [{"a": -0.5, "b": -7.0}]
    (told,) = prompt_logprobs([one], TEXTS)
    assert {key: value["rank"] for key, value in told.items()} == {"97": 1, "98": 42}


class Spaced(ByteTokenizer):
    """Drops a leading space of a text, as tokenizers of the SentencePiece kind do."""

    def decode(self, ids):
        return super().decode(ids).removeprefix(" ")


def test_a_tokens_text_keeps_its_leading_space():
    assert TokenTexts(Spaced()).of(ord(" ")) == " "
