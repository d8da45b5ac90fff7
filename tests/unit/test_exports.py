"""Exports of gateways and tracing tools: what all three share, and LiteLLM.

Text prompts are compared with what the reader of plain request bodies makes of the same body;
counts are added up by hand. The rows are those of `export_rows`, written by hand.
"""

import json

import numpy as np
import pytest

from export_rows import (
    BODY,
    GENERATION,
    HELICONE,
    HELICONE_USAGE_ONLY,
    LENGTHS,
    MESSAGES,
    NO_TEXT,
    PAYLOAD,
    REPLY,
    SPEND,
    T0,
    TOOLS,
    WITH_TEXT,
    as_body,
    counts,
    output,
    read,
    symbols,
)
from hitpath.core import ABSENT, InputError
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import read_trace
from hitpath.traces.detect import FORMATS
from support import write_jsonl

# --- all three: labels, times, text ---


@pytest.mark.parametrize(("name", "row"), WITH_TEXT + LENGTHS)
def test_labels_and_times(tmp_path, name, row):
    trace = read(tmp_path, [row])
    assert trace.format == name
    assert trace.arrival_s.tolist() == [T0]
    assert trace.finish_s.tolist() == [T0 + 3]
    assert trace.ttft_s.tolist() == [0.5]
    assert (trace.session.of(0), trace.tenant.of(0), trace.model.of(0)) == (
        "t" if row in (PAYLOAD, NO_TEXT) else "s",
        "team",
        "m",
    )
    assert not trace.excluded
    assert not trace.skipped


@pytest.mark.parametrize(("name", "row"), WITH_TEXT)
def test_the_text_is_that_of_the_request_body(tmp_path, name, row):
    trace = read(tmp_path, [row])
    plain = as_body(tmp_path, BODY, REPLY)
    assert trace.identity == plain.identity == "text"
    assert symbols(trace, 0) == symbols(plain, 0)
    assert output(trace, 0) == output(plain, 0)
    assert trace.reported_hit.tolist() == [ABSENT]  # tokens, and prompts here are bytes
    assert any("not comparable" in note for note in trace.notes)


@pytest.mark.parametrize(("name", "row"), WITH_TEXT)
def test_with_a_tokenizer_counts_are_compared_with_the_prompt(tmp_path, name, row):
    tokenizer = load_tokenizer("mistral:tekken_240911")
    trace = read(tmp_path, [row], tokenizer=tokenizer)
    assert trace.identity == "tokens"
    assert symbols(trace, 0) == symbols(
        read_trace([str(write_jsonl(tmp_path / "b.jsonl", [BODY]))], tokenizer=tokenizer), 0
    )
    assert trace.reported_hit.tolist() == [1024]
    assert "1,500 tokens, but the prompt here has" in trace.excluded[0].cause


@pytest.mark.parametrize(("name", "row"), LENGTHS)
def test_without_text_only_lengths_and_reported_hits(tmp_path, name, row):
    trace = read(tmp_path, [row])
    assert trace.identity == "lengths_only"
    assert trace.prompts.lengths.tolist() == [0]
    assert not trace.has_output.any()
    written = 300 if row is NO_TEXT else ABSENT
    assert counts(trace) == [(1500, 1024, written)]
    assert trace.output_tokens.tolist() == [20]
    assert any("only lengths" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("with_text", "without"),
    [
        (PAYLOAD, {**NO_TEXT, "id": "b"}),
        (GENERATION, {**GENERATION, "id": "b", "input": None}),
        (HELICONE, {**HELICONE_USAGE_ONLY, "request_id": "b"}),
    ],
)
@pytest.mark.parametrize("text_first", [True, False])
def test_where_a_row_has_its_prompt_rows_without_are_bad(tmp_path, with_text, without, text_first):
    rows = [with_text, without] if text_first else [without, with_text]
    bad, good = (2, 1) if text_first else (1, 2)
    with pytest.raises(InputError) as error:
        read(tmp_path, rows)
    assert error.value.place == f"{tmp_path}/t.jsonl:{bad}"
    assert error.value.cause.endswith(f"t.jsonl:{good} has its prompt: one kind a trace")
    trace = read(tmp_path, rows, skip_bad_rows=True)
    assert (len(trace), trace.identity) == (1, "text")
    assert [problem.place for problem in trace.skipped] == [f"{tmp_path}/t.jsonl:{bad}"]


@pytest.mark.parametrize(
    ("row", "wrapper"),
    [(SPEND, "data"), (GENERATION, "data"), (HELICONE, "data"), (GENERATION, "observations")],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_arrays_and_pages_of_an_api(tmp_path, row, wrapper, indent):
    key = "request_id" if "request_id" in row else "id"
    rows = [row, {**row, key: "second"}]
    page = {wrapper: rows, "meta": {"cursor": "x"}}
    for document in (rows, page):
        trace = read(tmp_path, json.dumps(document, indent=indent))
        assert trace.ids == (row[key], "second")
    rows[1]["startTime" if "startTime" in row else "request_created_at"] = "x"
    with pytest.raises(InputError) as error:
        read(tmp_path, json.dumps(page, indent=indent))
    assert f".{wrapper}[1]" in error.value.place


def test_bad_values_are_named(tmp_path):
    for row, field in (
        ({**NO_TEXT, "prompt_tokens": 1.5}, "prompt_tokens"),
        ({**NO_TEXT, "prompt_tokens": -1}, "prompt_tokens"),
        ({**NO_TEXT, "startTime": None}, "startTime"),
        ({**NO_TEXT, "endTime": T0 - 1}, "finish_s"),
        ({**NO_TEXT, "model": 5}, "model"),
        ({**SPEND, "metadata": {"usage_object": {"prompt_tokens_details": 5}}},
         "metadata.usage_object.prompt_tokens_details"),
        ({**GENERATION, "startTime": "yesterday"}, "startTime"),
        ({**GENERATION, "usageDetails": {"input": -5}}, "usageDetails.input"),
        ({**GENERATION, "usageDetails": {"input": 1.5}}, "usageDetails.input"),
        ({**HELICONE, "delay_ms": -1}, "delay_ms"),
        ({**HELICONE_USAGE_ONLY, "response_body": {"usage": {"prompt_tokens": "x"}}},
         "response_body.usage.prompt_tokens"),
    ):  # fmt: skip
        with pytest.raises(InputError) as error:
            read(tmp_path, [row])
        assert error.value.field == field, row
        with pytest.raises(InputError, match="1 bad rows"):
            read(tmp_path, [row], skip_bad_rows=True)


# --- LiteLLM ---


@pytest.mark.parametrize(
    "cached",
    [{"cache_hit": "True"}, {"cache_hit": True}, {"id": "chatcmpl-9_cache_hit1736942400.25"}],
)
def test_answers_from_litellms_own_cache_are_no_prefix_hits(tmp_path, cached):
    rows = [NO_TEXT, {**NO_TEXT, "id": "b", **cached}]
    trace = read(tmp_path, rows)
    assert trace.ids == ("msg-1",)
    assert any(n.startswith("1 rows were answered from LiteLLM's response") for n in trace.notes)


def test_calls_without_a_prompt_for_text_and_failures_are_left_out(tmp_path):
    rows = [
        NO_TEXT,
        {**NO_TEXT, "id": "b", "call_type": "aembedding"},
        {**NO_TEXT, "id": "c", "call_type": "image_generation"},
        {**NO_TEXT, "id": "d", "status": "failure"},
        {**NO_TEXT, "id": "e", "prompt_tokens": 0, "metadata": {}},
        {**NO_TEXT, "id": "f", "call_type": "anthropic_messages"},
    ]
    trace = read(tmp_path, rows)
    assert trace.ids == ("msg-1", "f")
    for told in ("2 rows send no prompt", "1 rows are calls that failed", "1 rows hold no prompt"):
        assert any(note.startswith(told) for note in trace.notes), told
    with pytest.raises(InputError, match=r"no request left: 1 rows hold no .*; 2 rows send no"):
        read(tmp_path, [rows[1], rows[2], rows[4]])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # OpenAI: nothing told of caches is not 0.
        ({**SPEND, "metadata": "{}"}, (1500, ABSENT, ABSENT)),
        ({**SPEND, "metadata": {"additional_usage_values": {"cache_read_input_tokens": 0}}},
         (1500, 0, ABSENT)),
        # Anthropic, normalised by LiteLLM: 1500 = 176 + 1024 + 300.
        (NO_TEXT, (1500, 1024, 300)),
        ({**NO_TEXT, "metadata": {}, "usage": {"prompt_tokens": 1500, "cache_read_input_tokens": 7,
                                               "cache_creation_input_tokens": 9}}, (1500, 7, 9)),
        ({**NO_TEXT, "metadata": {}, "response": {"usage": {
            "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 6}}}},
         (1500, 5, 6)),
        ({**NO_TEXT, "prompt_tokens": None}, (1500, 1024, 300)),
    ],
)  # fmt: skip
def test_litellms_prompt_includes_its_cached_tokens(tmp_path, row, expected):
    assert counts(read(tmp_path, [row])) == [expected]


def test_more_cached_than_prompt_contradicts_itself(tmp_path):
    trace = read(tmp_path, [{**NO_TEXT, "prompt_tokens": 176}])
    assert "1,024 cached of 176 prompt tokens" in trace.excluded[0].cause
    trace = read(tmp_path, [{**NO_TEXT, "prompt_tokens": 1200}])
    assert "300 written beside 1,024 cached" in trace.excluded[0].cause


SHORTENED = (
    "Be ... (litellm_truncated skipped 9999 chars. Truncation is a DB storage safeguard.) ..."
)
IMAGE = "data:image/png;base64,[base64_data truncated: 1.2KB]"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({**PAYLOAD, "messages": [{"role": "user", "content": "redacted-by-litellm"}]}, "redacted"),
        ({**PAYLOAD, "call_type": "responses",
          "messages": [{"role": "user", "content": "redacted-by-litellm"}]}, "redacted"),
        ({**PAYLOAD, "messages": [{"role": "user", "content": SHORTENED}]}, "shortened"),
        ({**SPEND, "proxy_server_request": json.dumps(
            {"messages": [{"role": "user", "content": SHORTENED}]})}, "shortened"),
        ({**PAYLOAD, "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": IMAGE}}]}]}, "shortened"),
        ({**PAYLOAD, "messages": "[{'role'...truncated by litellm, this logger does not support "
          "large content"}, "shortened"),
        ({**PAYLOAD, "messages": []}, "not stored"),
        ({**PAYLOAD, "messages": ["a", "b"]}, "no prompt that can be read"),
        ({**PAYLOAD, "call_type": "responses",
          "model_parameters": {"previous_response_id": "r"}}, "no prompt that can be read"),
    ],
)  # fmt: skip
def test_what_litellm_stores_is_text_only_where_it_is_the_whole_prompt(tmp_path, row, why):
    trace = read(tmp_path, [row])
    assert trace.identity == "lengths_only"
    assert any(why in note and "in 1 rows" in note for note in trace.notes)


def test_a_shortened_reply_is_no_output(tmp_path):
    reply = {"role": "assistant", "content": SHORTENED}
    trace = read(tmp_path, [{**PAYLOAD, "response": {"choices": [{"message": reply}]}}])
    assert trace.identity == "text"
    assert not trace.has_output.any()


CALLED = {"type": "function_call_output", "call_id": "c", "output": "5"}


@pytest.mark.parametrize(
    ("row", "body"),
    [
        ({**PAYLOAD, "call_type": "aresponses", "messages": "Hi",
          "model_parameters": {"instructions": "Be brief.", "tools": TOOLS}},
         {"model": "m", "input": "Hi", "instructions": "Be brief.", "tools": TOOLS}),
        ({**PAYLOAD, "call_type": "responses", "model_parameters": {},
          "messages": [CALLED]},
         {"model": "m", "input": [CALLED]}),
        ({**SPEND, "proxy_server_request": {"model": "m", "system": "S", "messages": MESSAGES}},
         {"model": "m", "system": "S", "messages": MESSAGES}),
    ],
)  # fmt: skip
def test_litellms_other_apis(tmp_path, row, body):
    assert symbols(read(tmp_path, [row]), 0) == symbols(as_body(tmp_path, body), 0)


def test_completion_prompts_are_flat_text(tmp_path):
    trace = read(tmp_path, [{**PAYLOAD, "call_type": "text_completion", "messages": "Once"}])
    assert bytes(symbols(trace, 0)) == b"Once"
    trace = read(tmp_path, [{**SPEND, "proxy_server_request": {"model": "m", "prompt": "Once"}}])
    assert bytes(symbols(trace, 0)) == b"Once"


def test_a_time_to_first_token_only_where_it_was_streamed(tmp_path):
    trace = read(tmp_path, [{**NO_TEXT, "completionStartTime": T0 + 3}])
    assert np.isnan(trace.ttft_s).all()


# --- detection ---


@pytest.mark.parametrize(("name", "row"), WITH_TEXT + LENGTHS)
def test_the_first_format_that_recognises_a_row_is_its_own(name, row):
    mine = {"litellm", "langfuse", "helicone", "claude-code"}
    for value in (row, [row], {"data": [row]}):
        assert {known.name for known in FORMATS if known.recognises(value)} & mine == {name}
        assert next(known.name for known in FORMATS if known.recognises(value)) == name
