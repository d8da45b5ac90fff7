"""`--tokenizer` in an analysis: real tokens, comparable reports, refusals in one line."""

import json

import numpy as np
import pytest

from cli import call
from hitpath.analyze import analyze_trace
from hitpath.core import InputError, Setting, SettingError
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import read_trace
from support import shared_data, write_jsonl

TEKKEN = "mistral:tekken_240911"


def chat_rows(num_turns: int) -> list[dict]:
    """One conversation that grows, as an application sends it."""
    messages = [{"role": "user", "content": "What is a prefix cache? " * 20}]
    rows = []
    for turn in range(num_turns):
        reply = f"Answer {turn}: it keeps keys and values of a common beginning. " * 6
        rows.append(
            {"id": turn, "arrival_s": turn, "session": "s", "messages": list(messages),
             "reply": reply}
        )  # fmt: skip
        messages += [
            {"role": "assistant", "content": reply},
            {"role": "user", "content": f"And then, {turn}?"},
        ]
    return rows


def test_turns_are_the_tokens_of_their_whole_text(tmp_path):
    rows = chat_rows(6)
    tokenizer = load_tokenizer(TEKKEN)
    trace = read_trace([str(write_jsonl(tmp_path / "t.jsonl", rows))], tokenizer=tokenizer)
    assert trace.identity == "tokens"
    for i, row in enumerate(rows):
        whole = tokenizer.encode(tokenizer.render_chat(row["messages"], None))
        got = trace.prompts.flat[trace.prompts.offsets[i] : trace.prompts.offsets[i + 1]]
        assert np.array_equal(got, whole)
    ledger = analyze_trace(trace, Setting(outputs="insert", block_size=1)).ledger
    # All of a turn but its new question and the marks around it was computed before.
    assert (ledger.prompt - ledger.hit)[1:].max() < 20


def test_reports_are_compared_once_the_units_agree(tmp_path):
    rows = chat_rows(2)
    tokenizer = load_tokenizer(TEKKEN)
    length = len(tokenizer.encode(tokenizer.render_chat(rows[0]["messages"], None)))
    rows[0]["reported"] = {"prompt_tokens": length, "counting": "inclusive", "cached_tokens": 16}
    rows[1]["reported"] = {"prompt_tokens": 1, "counting": "inclusive", "cached_tokens": 0}
    path = str(write_jsonl(tmp_path / "t.jsonl", rows))
    trace = read_trace([path], tokenizer=tokenizer)
    assert trace.reported_hit.tolist() == [16, 0]
    assert [p.field for p in trace.excluded.values()] == ["reported.prompt_tokens"]
    in_bytes = read_trace([path])
    assert in_bytes.identity == "text"
    assert not in_bytes.excluded


def test_the_option_in_the_command(tmp_path):
    path = write_jsonl(tmp_path / "t.jsonl", chat_rows(3))
    told = json.loads(call("analyze", path, "--tokenizer", TEKKEN, "--json", "-").text)
    assert told["setting"]["tokenizer"] == TEKKEN
    assert told["trace"]["identity"] == "tokens"
    assert not any("byte" in warning for warning in told["warnings"])


@pytest.mark.parametrize("spec", ["mistral:none", "no/such", "org/model", ""])
def test_tokenizers_that_are_none_end_in_one_line(tmp_path, spec):
    path = write_jsonl(tmp_path / "t.jsonl", chat_rows(1))
    ended = call("analyze", path, "--tokenizer", spec)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "--tokenizer" in ended.err


def test_messages_that_a_template_refuses_are_named(tmp_path):
    rows = chat_rows(1)
    rows[0]["messages"][0]["role"] = "nobody"
    path = str(write_jsonl(tmp_path / "t.jsonl", rows))
    with pytest.raises(InputError) as error:
        read_trace([path], tokenizer=load_tokenizer(TEKKEN))
    assert error.value.field.startswith("messages")


def test_formats_whose_text_stays_bytes_refuse_it():
    path = str(shared_data("otel_genai/simple_chain.json"))
    with pytest.raises(SettingError, match="not for otel-genai traces yet"):
        read_trace([path], tokenizer=load_tokenizer(TEKKEN))


def test_request_bodies_and_flat_prompts_take_it(tmp_path):
    tokenizer = load_tokenizer(TEKKEN)
    rows = [
        {"custom_id": str(i), "body": {"model": "m", "messages": row["messages"]},
         "response": {"choices": [{"message": {"role": "assistant", "content": row["reply"]}}],
                      "usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}}}
        for i, row in enumerate(chat_rows(3))
    ]  # fmt: skip
    trace = read_trace([str(write_jsonl(tmp_path / "b.jsonl", rows))], tokenizer=tokenizer)
    assert trace.identity == "tokens"
    for i, row in enumerate(rows):
        whole = tokenizer.encode(tokenizer.render_chat(row["body"]["messages"], None))
        got = trace.prompts.flat[trace.prompts.offsets[i] : trace.prompts.offsets[i + 1]]
        assert np.array_equal(got, whole)
    assert len(trace.excluded) == 3  # the reported prompts are shorter: the counts contradict
    path = next(shared_data("lmcache_taubench").glob("22*.jsonl"))
    flat = read_trace([str(path)], tokenizer=tokenizer)
    text = json.loads(path.read_text().splitlines()[0])["input"]
    head, tail = tokenizer.prompt_frame
    expected = np.concatenate([head, tokenizer.encode(text), tail])
    assert np.array_equal(flat.prompts.flat[: len(expected)], expected)
