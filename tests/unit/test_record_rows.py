"""The rows of the recording proxy: what an answer tells, and what would be a guess."""

import json

import msgspec
import pytest

from hitpath.traces.request_bodies import Usage, counts_of
from recording import (
    ANTHROPIC,
    CHAT,
    DONE,
    Copy,
    NotRecorded,
    chunk,
    counts,
    exchange,
    row_of,
    usage_chunk,
)

CHAT_USAGE = {"prompt_tokens": 40, "completion_tokens": 3, "total_tokens": 43,
              "prompt_tokens_details": {"cached_tokens": 32}}  # fmt: skip
VLLM_STREAM = [
    chunk(None, prompt_token_ids=[1, 2, 3]),
    {"choices": [{"index": 0, "delta": {"content": "He"}, "token_ids": [7]}]},
    {"choices": [{"index": 0, "delta": {"content": "llo"}, "token_ids": [8, 9]}]},
    usage_chunk(CHAT_USAGE),
    "[DONE]",
]
SGLANG_STREAM = [
    chunk(None),
    {"choices": [{"index": 0, "delta": {"reasoning_content": "Hm"}}]},
    {"choices": [], "sglext": {"input_ids": [1, 2, 3], "output_ids": [[7, 8, 9]]}},
    usage_chunk(CHAT_USAGE),
    "[DONE]",
]


@pytest.mark.parametrize("answer", [VLLM_STREAM, SGLANG_STREAM])
def test_a_streamed_chat_with_token_ids(answer):
    row = row_of(exchange({**CHAT, "cache_salt": "tenant-secret"}, answer), "tokens")
    assert (row["tokens"], row["output_ids"], row["output_tokens"]) == ([1, 2, 3], [7, 8, 9], 3)
    # The first chunk holds no text: the first token came with the second.
    assert row["reported"] == {"prompt_tokens": 40, "counting": "inclusive", "cached_tokens": 32,
                               "ttft_s": 1.0}  # fmt: skip
    assert (row["arrival_s"], row["finish_s"], row["session"]) == (100.0, 109.0, "s")
    assert set(row["context"]) == {"salt"}
    assert "tenant-secret" not in json.dumps(row)


def test_an_answer_at_once_has_no_time_to_the_first_token():
    row = row_of(exchange(CHAT, DONE), "text")
    assert row["reported"] == {"prompt_tokens": 20, "counting": "inclusive", "cached_tokens": 16}
    assert row["messages"] == CHAT["messages"]
    assert row["output_tokens"] == 2


def test_the_pieces_of_a_stream_need_not_be_its_events():
    made = exchange(CHAT, VLLM_STREAM)
    text = b"".join(made.answer.pieces)
    at = text.index(b'"He"') + 2
    made.answer.pieces = [text[:at], text[at:]]
    made.answer.times = [1.0, 5.0]
    told = row_of(made, "lengths")
    assert told["reported"]["ttft_s"] == 5.0  # when the whole event had come
    assert told["prompt_tokens"] == 40


def test_a_streamed_anthropic_message():
    started = {"input_tokens": 3, "cache_read_input_tokens": 1000,
               "cache_creation_input_tokens": 200, "output_tokens": 1}  # fmt: skip
    events = [
        {"type": "message_start", "message": {"role": "assistant", "usage": started}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 50}},
        {"type": "message_stop"},
    ]
    row = row_of(exchange(ANTHROPIC, events, "/v1/messages"), "text")
    assert row["reported"] == {"prompt_tokens": 1203, "counting": "inclusive", "ttft_s": 3.0,
                               "cached_tokens": 1000, "cache_write_tokens": 200}  # fmt: skip
    assert row["output_tokens"] == 50
    assert "cache_control" not in json.dumps(row)
    assert row["messages"][0] == {"role": "system", "content": "Be brief."}
    assert row["messages"][2]["content"][0]["content"] == [{"type": "text", "text": "a"}]
    assert row["tools"] == [{"name": "ls", "input_schema": {}}]


def test_the_responses_api():
    body = {"model": "m", "instructions": "Be brief.", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}]}  # fmt: skip
    usage = {"input_tokens": 75, "input_tokens_details": {"cached_tokens": 64},
             "output_tokens": 5, "total_tokens": 80}  # fmt: skip
    events = [
        {"type": "response.created", "response": {"id": "r", "usage": None}},
        {"type": "response.output_text.delta", "delta": "He"},
        {"type": "response.completed", "response": {"id": "r", "usage": usage}},
    ]
    row = row_of(exchange(body, events, "/v1/responses"), "text")
    assert row["reported"] == {"prompt_tokens": 75, "counting": "inclusive", "cached_tokens": 64,
                               "ttft_s": 1.0}  # fmt: skip
    assert [m["role"] for m in row["messages"]] == ["system", "user", "function_call"]
    assert row["messages"][1]["content"] == "Hi"
    text = row_of(
        exchange({"model": "m", "input": "Hi"}, {"usage": usage}, "/v1/responses"), "text"
    )
    assert text["messages"] == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("body", "answer", "prompts", "cause"),
    [
        (CHAT, {"choices": []}, "lengths", "told no usage"),
        (CHAT, DONE, "tokens", "token ids are neither"),
        ({"prompt": ["a", "b"]}, DONE, "lengths", "several prompts"),
        ({"prompt": [[1], [2]]}, DONE, "tokens", "several prompts"),
        ({"prompt": [1, 2]}, DONE, "text", "token ids"),
        ({"input": "x", "previous_response_id": "r"}, DONE, "text", "kept by the service"),
        ({"contents": []}, DONE, "text", "no messages"),
        # Without cache counts, Anthropic's input_tokens may be all of the prompt or a part.
        (CHAT, {"usage": {"input_tokens": 9, "output_tokens": 1}}, "lengths", "told no usage"),
    ],
)
def test_what_would_be_a_guess_is_not_recorded(body, answer, prompts, cause):
    with pytest.raises(NotRecorded, match=cause):
        row_of(exchange(body, answer), prompts)


def test_completions_with_one_prompt():
    ids = {"choices": [{"index": 0, "text": "a", "prompt_token_ids": [4, 5], "token_ids": [6]}]}
    assert row_of(exchange({"prompt": "ab"}, ids), "tokens")["tokens"] == [4, 5]
    assert row_of(exchange({"prompt": [[1, 2]]}, DONE), "tokens")["tokens"] == [1, 2]
    assert row_of(exchange({"prompt": ["ab"]}, DONE), "text")["prompt"] == "ab"


def test_a_failed_call_and_a_broken_or_huge_body_are_not_recorded(monkeypatch):
    made = exchange(CHAT, DONE)
    made.status = 500
    with pytest.raises(NotRecorded, match="status 500"):
        row_of(made, "text")
    made = exchange(CHAT, DONE)
    made.request.pieces = [b"\x1f\x8b not JSON"]
    with pytest.raises(NotRecorded, match="request is no JSON"):
        row_of(made, "text")
    monkeypatch.setattr("record_rows.MOST_COPIED_BYTES", 10)
    large = Copy(0.0)
    large.take(b"x" * 11)
    assert large.pieces == []
    with pytest.raises(NotRecorded, match="larger than"):
        large.whole()


@pytest.mark.parametrize(
    "usage",
    [
        CHAT_USAGE,
        {"prompt_tokens": 40, "completion_tokens": 3, "total_tokens": 43},
        {"prompt_tokens": 40, "prompt_tokens_details": None},
        {"prompt_tokens": 40, "prompt_tokens_details": {"cached_tokens": 0}},
        {"prompt_tokens": 40, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 4},
        {"input_tokens": 75, "input_tokens_details": {"cached_tokens": 64}, "total_tokens": 80},
        {"input_tokens": 75, "total_tokens": 80},
        {"input_tokens": 3, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 2},
        {"input_tokens": 3, "cache_read_input_tokens": 0},
        {"input_tokens": 3, "output_tokens": 1},
        {},
    ],
)
def test_counts_mean_what_they_mean_in_request_bodies(usage):
    """The proxy stands alone, so it cannot share hitpath's rule: it must agree with it."""
    theirs = counts_of(msgspec.convert(usage, Usage), "here")
    assert counts(usage) == (theirs.prompt, theirs.hit, theirs.written)
