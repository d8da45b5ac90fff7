"""Langfuse and Helicone: which of their counts include which, and which forms hold a prompt.

The rows are those of `export_rows`, written by hand; counts are added up by hand, or come from
the pages and tests of the tools where a comment says so.
"""

import json

import numpy as np
import pytest

from export_rows import (
    BODY,
    GENERATION,
    HELICONE,
    MESSAGES,
    NO_BODY,
    SPEND,
    as_body,
    counts,
    output,
    read,
    symbols,
)
from hitpath.core import ABSENT, InputError

SPEND_WITHOUT_TEXT = {**SPEND, "proxy_server_request": {}, "messages": {}}

# --- Langfuse ---


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        # The example of Langfuse's page: 17,903 prompt tokens, 17,817 of them cached.
        ({"input": 86, "input_cached_tokens": 17817, "output": 188, "total": 18091},
         (17903, 17817, ABSENT)),
        # Anthropic through flat keys; no total is told.
        ({"input": 6, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 30,
          "output": 1}, (100, 64, 30)),
        # The expectation of langfuse's own test of cache usage: 2 + 47,105 + 1,076.
        ({"input": 2, "input_cached_tokens": 47105, "input_cache_creation": 0,
          "input_cache_creation_5m": 0, "input_cache_creation_1h": 1076, "output": 714},
         (48183, 47105, 1076)),
        # LangChain.
        ({"input": 10, "input_cache_read": 90, "output": 5, "total": 105}, (100, 90, ABSENT)),
        ({"input": 10, "input_cache_read": 60, "input_cache_creation": 0,
          "input_ephemeral_5m_input_tokens": 30, "output": 5, "total": 105}, (100, 60, 30)),
        # Its handler tells Anthropic's writes twice; langfuse 5.0.4, langchain/CallbackHandler.py.
        ({"input": 6, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 30,
          "cache_creation_ephemeral_5m_input_tokens": 10,
          "cache_creation_ephemeral_1h_input_tokens": 20, "output": 1, "total": 131},
         (100, 64, 30)),
        ({"input": 10, "input_audio_tokens": 20, "output": 5, "output_reasoning_tokens": 3,
          "total": 38}, (30, ABSENT, ABSENT)),
        ({"input": 10, "input_cached_tokens": None, "output": 5}, (10, ABSENT, ABSENT)),
        ({"input": "10", "input_cached_tokens": "90", "output": 5}, (100, 90, ABSENT)),
    ],
)  # fmt: skip
def test_langfuses_buckets_do_not_overlap(tmp_path, usage, expected):
    row = {**GENERATION, "input": None, "usageDetails": usage}
    assert counts(read(tmp_path, [row])) == [expected]


@pytest.mark.parametrize(
    "usage",
    [
        # langfuse#10592: the cached tokens stand in input too; total = input + output.
        {"input": 17903, "input_cached_tokens": 17817, "output": 188, "total": 18091},
        # litellm#26919: the written ones stand in input too.
        {"input": 476, "cache_read_input_tokens": 1024, "cache_creation_input_tokens": 300,
         "output": 20, "total": 1520},
        {"input": 10, "cached": 5, "output": 5},
        {"input": 10, "cache_creation": 5, "output": 5, "total": 20},
        {"input": 10, "input_cached_tokens": 5, "cache_read_input_tokens": 5, "output": 5},
        {"output": 5},
    ],
)  # fmt: skip
def test_usage_that_breaks_langfuses_contract_is_not_used(tmp_path, usage):
    rows = [GENERATION, {**GENERATION, "id": "b", "usageDetails": usage}]
    lengths = [{**row, "input": None} for row in rows]
    trace = read(tmp_path, lengths)
    assert trace.ids == ("o1",)
    assert any(note.startswith("the usage of 1 generations") for note in trace.notes)
    assert any(note.startswith("1 rows hold no prompt") for note in trace.notes)
    with pytest.raises(InputError, match="no request left: 1 rows hold no prompt"):
        read(tmp_path, lengths[1:])
    assert len(read(tmp_path, rows)) == 2  # the text tells its own length


def test_other_observations_are_counted(tmp_path):
    rows = [{**GENERATION, "id": "a", "type": "SPAN"}, GENERATION,
            {**GENERATION, "id": "c", "type": "EMBEDDING"}]  # fmt: skip
    trace = read(tmp_path, rows)
    assert trace.ids == ("o1",)
    assert any(note.startswith("2 rows are observations that are no gen") for note in trace.notes)


def test_the_session_stands_on_the_trace_or_is_the_trace(tmp_path):
    row = {**GENERATION, "sessionId": None}
    document = {"id": "t1", "sessionId": "outer", "observations": [row]}
    assert read(tmp_path, document).session.names == ("outer",)
    trace = read(tmp_path, [row, {**row, "id": "b", "sessionId": ""}])
    assert trace.session.names == ("t1",)
    assert any(note.startswith("2 generations name no session") for note in trace.notes)


@pytest.mark.parametrize(
    ("stored", "body"),
    [
        (MESSAGES, {"messages": MESSAGES}),
        (json.dumps(MESSAGES), {"messages": MESSAGES}),
        (json.dumps(BODY), BODY),
        ({"input": "Hi", "instructions": "Be brief."}, {"model": "m", "input": "Hi",
                                                        "instructions": "Be brief."}),
    ],
)  # fmt: skip
def test_the_forms_of_langfuses_input(tmp_path, stored, body):
    trace = read(tmp_path, [{**GENERATION, "input": stored}])
    assert symbols(trace, 0) == symbols(as_body(tmp_path, body), 0)


@pytest.mark.parametrize(
    "stored", [{"question": "?"}, '{"question": "?"}', [1, 2], 5, {"messages": 5}]
)
def test_an_input_that_is_no_prompt_is_not_read_as_one(tmp_path, stored):
    trace = read(tmp_path, [{**GENERATION, "input": stored}])
    assert trace.identity == "lengths_only"
    assert any(note.startswith("input is no prompt that can be read") for note in trace.notes)


def test_plain_text_and_its_reply(tmp_path):
    trace = read(tmp_path, [{**GENERATION, "input": "Once", "output": '{"a": 1}'}])
    assert bytes(symbols(trace, 0)) == b"Once"
    assert b'{"a": 1}' in bytes(output(trace, 0))


# --- Helicone ---


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # The columns of Anthropic leave out what was cached: 176 + 1024 + 300.
        ({"provider": "ANTHROPIC", "prompt_tokens": 176, "prompt_cache_write_tokens": 300},
         (1500, 1024, 300)),
        ({"provider": "anthropic", "prompt_tokens": "176", "prompt_cache_write_tokens": 0},
         (1200, 1024, 0)),
        # Of others nothing is known of the hit: 0 may mean "not told".
        ({"prompt_cache_read_tokens": 0}, (476, ABSENT, ABSENT)),
        ({"response_body": {"usage": {"input_tokens": 176, "cache_read_input_tokens": 1024,
                                      "cache_creation_input_tokens": 300}}}, (1500, 1024, 300)),
        # Helicone's gateway: prompt_tokens = input + cached, without the writes.
        ({"response_body": {"usage": {"prompt_tokens": 1200, "prompt_tokens_details": {
            "cached_tokens": 1024, "cache_write_tokens": 300,
            "cache_write_details": {"write_5m_tokens": 300, "write_1h_tokens": 0}}}}},
         (1500, 1024, 300)),
    ],
)  # fmt: skip
def test_helicones_counts(tmp_path, change, expected):
    row = {**HELICONE, "request_body": NO_BODY, "response_body": NO_BODY, **change}
    assert counts(read(tmp_path, [row])) == [expected]


COLUMNS = ("prompt_tokens", "prompt_cache_read_tokens", "prompt_cache_write_tokens")


def of_anthropic(*told: int | None, **more: object) -> dict[str, object]:
    """Its columns only; an ellipsis is a column that the row does not have."""
    row = {**HELICONE, "request_body": NO_BODY, "response_body": NO_BODY, "provider": "ANTHROPIC",
           **dict(zip(COLUMNS, told, strict=True)), **more}  # fmt: skip
    return {name: value for name, value in row.items() if value is not ...}


@pytest.mark.parametrize(
    "told", [(176, None, None), (176, ..., ...), (176, 0, 0), (176, 0, None), (176, ..., 0)]
)
def test_helicones_zeros_of_anthropic_are_no_counts_by_themselves(tmp_path, told):
    rows = [of_anthropic(176, 1024, 0), of_anthropic(*told, request_id="b")]
    trace = read(tmp_path, rows)
    assert counts(trace) == [(1200, 1024, 0)]
    assert any(note.startswith("1 rows of Anthropic have no count above 0") for note in trace.notes)
    assert any(note.startswith("1 rows hold no prompt and tell no") for note in trace.notes)
    # With the prompt itself the row stays, and its hit is not told.
    with_text = read(tmp_path, [of_anthropic(*told, request_body=BODY)])
    assert counts(with_text)[0][1:] == (ABSENT, ABSENT)
    assert any(note.startswith("1 rows of Anthropic have no") for note in with_text.notes)
    # The response's own usage tells that nothing was read.
    usage = {"input_tokens": 176, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    by_usage = read(tmp_path, [of_anthropic(*told, response_body={"usage": usage})])
    assert counts(by_usage) == [(176, 0, 0)]
    assert not any("of Anthropic" in note for note in by_usage.notes)


@pytest.mark.parametrize("told", [(176, 1024, None), (176, None, 300), (None, 1024, 300)])
def test_helicones_prompt_of_anthropic_needs_all_three_columns(tmp_path, told):
    with pytest.raises(InputError, match="no request left: 1 rows hold no prompt and tell no"):
        read(tmp_path, [of_anthropic(*told)])


def test_helicone_reads_the_usage_of_bedrock_and_gemini(tmp_path):
    converse = {"usage": {"inputTokens": 176, "cacheReadInputTokens": 1024,
                          "cacheWriteInputTokens": 300}}  # fmt: skip
    gemini = {"usageMetadata": {"promptTokenCount": 1500, "cachedContentTokenCount": 1024}}
    rows = [{**HELICONE, "request_body": NO_BODY, "request_id": name, "response_body": body}
            for name, body in (("a", converse), ("b", gemini))]  # fmt: skip
    assert counts(read(tmp_path, rows)) == [(1500, 1024, 300), (1500, 1024, ABSENT)]


def test_the_writes_that_helicones_gateway_leaves_out_must_be_told(tmp_path):
    usage = {"prompt_tokens": 1200, "prompt_tokens_details": {"cached_tokens": 1024,
             "cache_write_details": {}}}  # fmt: skip
    row = {**HELICONE, "request_body": NO_BODY, "response_body": {"usage": usage}}
    with pytest.raises(InputError, match="tell no length of it"):
        read(tmp_path, [row])


def test_helicones_columns_of_other_providers_do_not_tell_what_they_include(tmp_path):
    row = {**HELICONE, "request_body": NO_BODY, "response_body": NO_BODY}
    with pytest.raises(InputError, match="no request left: 1 rows hold no prompt and tell no"):
        read(tmp_path, [row])


def test_helicones_own_cache_and_failures_are_left_out(tmp_path):
    rows = [
        HELICONE,
        {**HELICONE, "request_id": "b", "cache_reference_id": "5f0c9e"},
        {**HELICONE, "request_id": "c", "response_status": 429},
        {**HELICONE, "request_id": "d", "response_status": -3},
    ]
    trace = read(tmp_path, rows)
    assert trace.ids == ("r1",)
    assert any(note.startswith("1 rows were answered from Helicone's") for note in trace.notes)
    assert any(note.startswith("2 rows have a response_status") for note in trace.notes)


def test_zero_stands_for_a_time_that_is_not_told(tmp_path):
    trace = read(tmp_path, [{**HELICONE, "delay_ms": 0, "time_to_first_token": None}])
    assert np.isnan(trace.finish_s).all()
    assert np.isnan(trace.ttft_s).all()


@pytest.mark.parametrize("body", [NO_BODY, {"model": "m"}, "user: Hi", None])
def test_a_preview_or_an_omitted_body_is_no_prompt(tmp_path, body):
    trace = read(tmp_path, [{**HELICONE, "request_body": body}])
    assert trace.identity == "lengths_only"
    assert any("--include-body" in note for note in trace.notes)


def lengths_of_helicone(tmp_path, response, **change):
    row = {**HELICONE, "request_body": NO_BODY, "response_body": response, **change}
    return read(tmp_path, [row])


def test_helicones_output_is_the_usages_with_the_thoughts_of_gemini(tmp_path):
    told = {"promptTokenCount": 1000, "cachedContentTokenCount": 600}
    told |= {"candidatesTokenCount": 20, "thoughtsTokenCount": 100}
    trace = lengths_of_helicone(tmp_path, {"usageMetadata": told})
    assert trace.reported_output.tolist() == [120]
    usage = {"prompt_tokens": 1000, "completion_tokens": 33}
    trace = lengths_of_helicone(tmp_path, {"usage": usage}, completion_tokens=0)
    assert trace.reported_output.tolist() == [33]


def test_deepseeks_own_names_of_a_hit(tmp_path):
    usage = {"prompt_tokens": 1000, "prompt_cache_hit_tokens": 600, "prompt_cache_miss_tokens": 400}
    assert counts(lengths_of_helicone(tmp_path, {"usage": usage})) == [(1000, 600, ABSENT)]


def test_litellm_tells_writes_by_time_to_live_in_the_details(tmp_path):
    details = {
        "cached_tokens": 20,
        "cache_creation_tokens": 10,
        "cache_creation_token_details": {
            "ephemeral_5m_input_tokens": 7,
            "ephemeral_1h_input_tokens": 3,
        },
    }
    usage = {"prompt_tokens": 130, "completion_tokens": 5, "prompt_tokens_details": details}
    trace = read(tmp_path, [{**SPEND_WITHOUT_TEXT, "metadata": {"usage_object": usage}}])
    assert trace.reported_written.tolist() == [10]
    assert trace.reported_written_1h.tolist() == [3]


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (SPEND_WITHOUT_TEXT, "spend"),
        (SPEND_WITHOUT_TEXT, "response_cost"),
        (GENERATION, "totalCost"),
        (HELICONE, "costUSD"),
    ],
)
def test_a_cost_of_zero_is_no_price_known(tmp_path, row, name):
    assert read(tmp_path, [{**row, name: 0.25}]).reported_usd.tolist() == [0.25]
    for zero in (0, 0.0, "0"):
        assert np.isnan(read(tmp_path, [{**row, name: zero}]).reported_usd).all()


@pytest.mark.parametrize("told", [True, "x", [], -1, 1e300, "nan"])
def test_what_is_no_cost_is_named(tmp_path, told):
    with pytest.raises(InputError, match=r"costDetails\.total"):
        read(tmp_path, [{**GENERATION, "costDetails": {"total": told}}])
