"""GenAI spans in every form that messages and counts of tokens are recorded in.

All spans here are written by hand from the documented shapes: the GenAI semantic conventions
(1.27 to 1.41 and their repository since), OpenLLMetry's and Strands' own code, Azure's SDK. The
prompt is the same in each, so that its length in bytes is known from one of them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hitpath.core import ABSENT, InputError, Setting
from hitpath.spine import analyze, analyze_trace
from hitpath.text import as_bytes
from hitpath.traces import Trace, read_trace
from hitpath.traces.otel_blocks import as_chat, as_tool
from hitpath.traces.otel_spans import decode_span
from hitpath.traces.otel_usage import usage_of

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Hello"}
MESSAGES = [SYSTEM, USER, ANSWER, {"role": "user", "content": "Bye"}]
PROMPT = as_bytes.render_chat(MESSAGES, None)
REPLY = as_bytes.render_reply("Ok", True)
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
DETAILS = "gen_ai.client.inference.operation.details"


def parts(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "role": message["role"],
        "parts": [{"type": "text", "content": message["content"]}],
    }


def sdk_span(number: int, attributes: dict[str, Any], events: Any = ()) -> dict[str, Any]:
    """As the SDKs write a span to a file."""
    return {
        "name": "chat m",
        "context": {"trace_id": "0xt", "span_id": f"0x{number}"},
        "start_time": f"2026-02-26T10:00:{number:02}.000000Z",
        "end_time": f"2026-02-26T10:00:{number:02}.500000Z",
        "attributes": attributes,
        "events": [
            {"name": name, "timestamp": "2026-02-26T10:00:00Z", "attributes": told}
            for name, told in events
        ],
    }


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(v) for v in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": key_values(value)}}
    return {"stringValue": value}


def key_values(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in fields.items()]


def otlp(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """The same spans as OTLP JSON."""
    told = []
    for n, span in enumerate(spans):
        start = 1_772_100_000_000_000_000 + n * 1_000_000_000
        told.append(
            {
                "traceId": "t",
                "spanId": f"s{n}",
                "startTimeUnixNano": str(start),
                "endTimeUnixNano": str(start + 500_000_000),
                "attributes": key_values(span["attributes"]),
                "events": [
                    {
                        "timeUnixNano": str(start),
                        "name": e["name"],
                        "attributes": key_values(e["attributes"]),
                    }
                    for e in span["events"]
                ],
            }
        )
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": told}]}]}


def read(tmp_path: Path, rows: list[Any], **options: Any) -> Trace:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_trace([str(path)], **options)


def refusal(tmp_path: Path, rows: list[Any]) -> InputError:
    with pytest.raises(InputError) as caught:
        read(tmp_path, rows)
    return caught.value


# --- where messages stand ---


OUT = [{**parts({"role": "assistant", "content": "Ok"}), "finish_reason": "stop"}]
FORMS: dict[str, tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]] = {
    "attributes, structured": (
        {"gen_ai.input.messages": [parts(m) for m in MESSAGES], "gen_ai.output.messages": OUT},
        [],
    ),
    "attributes, as JSON text": (
        {
            "gen_ai.input.messages": json.dumps([parts(m) for m in MESSAGES[1:]]),
            "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
            "gen_ai.output.messages": json.dumps(OUT),
        },
        [],
    ),
    "event with all": (
        {},
        [
            (
                DETAILS,
                {
                    "gen_ai.input.messages": [parts(m) for m in MESSAGES],
                    "gen_ai.output.messages": OUT,
                },
            )
        ],
    ),
    "events, input and output apart (Strands)": (
        {},
        [
            (DETAILS, {"gen_ai.input.messages": json.dumps([parts(m) for m in MESSAGES])}),
            (DETAILS, {"gen_ai.output.messages": json.dumps(OUT)}),
        ],
    ),
    "one event a message, fields": (
        {},
        [
            *((f"gen_ai.{m['role']}.message", {"content": m["content"]}) for m in MESSAGES),
            (
                "gen_ai.choice",
                {"index": 0, "finish_reason": "stop", "message": '{"content": "Ok"}'},
            ),
        ],
    ),
    "one event a message, blocks as JSON text (Strands)": (
        {},
        [
            *(
                (f"gen_ai.{m['role']}.message", {"content": json.dumps([{"text": m["content"]}])})
                for m in MESSAGES
            ),
            ("gen_ai.choice", {"finish_reason": "end_turn", "message": '[{"text": "Ok"}]'}),
        ],
    ),
    "one event a message, as JSON text (Azure)": (
        {},
        [
            *(
                (f"gen_ai.{m['role']}.message", {"gen_ai.event.content": json.dumps(m)})
                for m in MESSAGES
            ),
            (
                "gen_ai.choice",
                {"gen_ai.event.content": json.dumps({"message": {"content": "Ok"}, "index": 0})},
            ),
        ],
    ),
    "one event a message, the choice as plain text": (
        {},
        [
            *((f"gen_ai.{m['role']}.message", {"content": m["content"]}) for m in MESSAGES),
            ("gen_ai.choice", {"message": "Ok"}),
        ],
    ),
    "indexed attributes (OpenLLMetry)": (
        {
            **{f"gen_ai.prompt.{i}.role": m["role"] for i, m in enumerate(MESSAGES)},
            **{f"gen_ai.prompt.{i}.content": m["content"] for i, m in enumerate(MESSAGES)},
            "gen_ai.completion.0.role": "thinking",
            "gen_ai.completion.0.content": "hm",
            "gen_ai.completion.1.role": "assistant",
            "gen_ai.completion.1.content": "Ok",
        },
        [],
    ),
    "gen_ai.prompt": ({"gen_ai.prompt": json.dumps(MESSAGES), "gen_ai.completion": "Ok"}, []),
    "event gen_ai.content.prompt": (
        {},
        [
            ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(MESSAGES)}),
            ("gen_ai.content.completion", {"gen_ai.completion": '[{"content": "Ok"}]'}),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrap", [lambda spans: spans, lambda spans: [otlp(spans)]])
def test_messages_in_every_form(tmp_path: Path, form: str, wrap: Callable[..., Any]) -> None:
    attributes, events = FORMS[form]
    trace = read(tmp_path, wrap([sdk_span(1, CHAT | attributes, events)]))
    assert trace.identity == "text"
    assert bytes(trace.prompts.flat.astype(np.uint8)) == PROMPT
    assert bytes(trace.outputs.flat.astype(np.uint8)) == REPLY


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_is_the_beginning_of_the_next_prompt(tmp_path: Path, form: str) -> None:
    attributes, events = FORMS[form]
    longer = [*MESSAGES, {"role": "assistant", "content": "Ok"}, USER]
    spans = [
        sdk_span(1, CHAT | attributes, events),
        sdk_span(2, CHAT | {"gen_ai.input.messages": longer}),
    ]
    trace = read(tmp_path, spans)
    ledger = analyze_trace(trace, Setting(outputs="insert", block_size=1)).ledger
    assert ledger.hit.tolist() == [0, len(PROMPT) + len(REPLY)]


def test_tools_and_calls_of_openllmetry(tmp_path: Path) -> None:
    told = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": json.dumps([{"type": "text", "text": "Hi"}]),
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.tool_calls.0.id": "c",
        "gen_ai.prompt.1.tool_calls.0.name": "f",
        "gen_ai.prompt.1.tool_calls.0.arguments": "{}",
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.content": "3",
        "gen_ai.prompt.2.tool_call_id": "c",
        "llm.request.functions.0.name": "f",
        "llm.request.functions.0.description": "d",
        "llm.request.functions.0.parameters": '{"type": "object"}',
    }
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    function = {"name": "f", "description": "d", "parameters": {"type": "object"}}
    expected = as_bytes.render_chat(
        [
            USER,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "3", "tool_call_id": "c"},
        ],
        [{"type": "function", "function": function}],
    )
    trace = read(tmp_path, [sdk_span(1, told)])
    assert bytes(trace.prompts.flat.astype(np.uint8)) == expected


def test_a_completion_prompt_is_no_chat(tmp_path: Path) -> None:
    rows = [
        sdk_span(1, {"llm.request.type": "completion", "gen_ai.prompt.0.user": "Once"}),
        sdk_span(2, {"gen_ai.operation.name": "text_completion", "gen_ai.prompt": "Once more"}),
    ]
    assert read(tmp_path, rows).prompt_tokens.tolist() == [4, 9]


def test_text_that_looks_like_json_stays_text(tmp_path: Path) -> None:
    for content in ('["a"]', '[{"a": 1}]', "[1", '{"text": "x"}', "[]"):
        events = [("gen_ai.user.message", {"content": content})]
        trace = read(tmp_path, [sdk_span(1, CHAT, events)])
        expected = as_bytes.render_chat([{"role": "user", "content": content}], None)
        assert bytes(trace.prompts.flat.astype(np.uint8)) == expected


def test_attributes_go_before_events(tmp_path: Path) -> None:
    attributes, _ = FORMS["attributes, structured"]
    _, events = FORMS["one event a message, fields"]
    trace = read(tmp_path, [sdk_span(1, CHAT | attributes, events)])
    assert trace.prompt_tokens.tolist() == [len(PROMPT)]


def test_other_spans_are_not_looked_into(tmp_path: Path) -> None:
    attributes, events = FORMS["event with all"]
    http = {**sdk_span(2, {"http.method": "GET", "error.type": "500"}), "events": 5}
    agent = sdk_span(3, CHAT | attributes | {"gen_ai.operation.name": "invoke_agent"}, events)
    trace = read(tmp_path, [sdk_span(1, CHAT, events), http, agent])
    assert len(trace) == 1
    assert "2 spans call no model: no requests" in trace.notes


@pytest.mark.parametrize(
    ("events", "field", "cause"),
    [
        (5, "events", "array"),
        ([{"attributes": {}}], "events[0].name", "missing"),
        ([{"name": "x", "attributes": 5}], "events[0].attributes", "int"),
        (
            [{"name": DETAILS, "attributes": {"gen_ai.input.messages": "[{"}}],
            "events[0].attributes.gen_ai.input.messages",
            "truncated",
        ),
        (
            [{"name": DETAILS, "attributes": {"gen_ai.input.messages": "5"}}],
            "events[0].attributes.gen_ai.input.messages",
            "is not a list of messages",
        ),
    ],
)
def test_bad_events_are_named(tmp_path: Path, events: Any, field: str, cause: str) -> None:
    error = refusal(tmp_path, [{**sdk_span(1, CHAT), "events": events}])
    assert error.field == field
    assert cause in error.cause


# --- counts ---


def usage(**told: Any) -> dict[str, Any]:
    """Attributes by the end of their names: input -> gen_ai.usage.input_tokens."""
    names = {
        "input": "input_tokens", "prompt": "prompt_tokens", "output": "output_tokens",
        "read": "cache_read.input_tokens", "created": "cache_creation.input_tokens",
        "wrote": "cache_write.input_tokens", "old_read": "cache_read_input_tokens",
        "old_created": "cache_creation_input_tokens", "old_wrote": "cache_write_input_tokens",
        "cached": "cached_tokens", "total": "total_tokens",
    }  # fmt: skip
    return {f"gen_ai.usage.{names[k]}" if k in names else k: v for k, v in told.items()}


@pytest.mark.parametrize(
    ("told", "prompt", "hit", "written"),
    [
        ({}, None, None, None),
        ({"input": 100}, 100, None, None),
        ({"prompt": 100}, 100, None, None),
        ({"input": 100, "read": 0}, 100, 0, None),
        # The conventions' names: parts of the input, whoever the provider is.
        ({"input": 100, "read": 64, "created": 30}, 100, 64, 30),
        ({"input": 100, "read": 64, "wrote": 30}, 100, 64, 30),
        ({"input": 100, "read": 64, "gen_ai.provider.name": "anthropic"}, 100, 64, None),
        ({"input": 6, "read": 64}, 6, 64, None),  # against them: the row is left out of the sums
        # SGLang: OpenAI's names.
        ({"prompt": 100, "cached": 64}, 100, 64, None),
        # Older names, and a provider that counts cached tokens in.
        ({"input": 100, "old_read": 64, "gen_ai.system": "openai"}, 100, 64, None),
        ({"input": 100, "cached": 64, "gen_ai.provider.name": "azure.ai.openai"}, 100, 64, None),
        # OpenLLMetry adds up what Anthropic counts apart.
        (
            {"input": 100, "old_read": 64, "old_created": 30, "gen_ai.system": "Anthropic",
             "llm.request.type": "completion"},
            100, 64, 30,
        ),
        # Nothing cached: both ways of counting give the same.
        ({"input": 100, "old_read": 0, "old_created": 0}, 100, 0, 0),
        # Fewer than the parts, or a total of all four: counted apart.
        ({"input": 6, "old_read": 64, "old_created": 30}, 100, 64, 30),
        ({"input": 70, "output": 5, "old_read": 64, "old_wrote": 3, "total": 142}, 137, 64, 3),
        # Could be either.
        ({"input": 100, "old_read": 64, "gen_ai.system": "anthropic"}, None, 64, None),
        ({"input": 100, "output": 5, "old_read": 64, "total": 105}, None, 64, None),
        ({"input": 100, "cached": 64}, None, 64, None),
        # Counted apart, but one of the two is not told: the whole is not known.
        ({"input": 6, "old_read": 64}, None, 64, None),
        ({"input": 6, "old_created": 30}, None, None, 30),
        ({"input": 70, "output": 5, "old_read": 64, "total": 139}, None, 64, None),
        ({"input": 100, "old_read": 0}, None, 0, None),
    ],
)  # fmt: skip
def test_what_input_tokens_include(
    told: dict[str, Any], prompt: int | None, hit: int | None, written: int | None
) -> None:
    raw = json.dumps(sdk_span(1, usage(**told))).encode()
    found = usage_of(decode_span(raw, "", "t:1"))
    assert (found.prompt, found.hit, found.written) == (prompt, hit, written)
    assert (found.unsure is not None) == (prompt is None and "input" in told)


def test_spans_without_messages_are_lengths(tmp_path: Path) -> None:
    rows = [
        sdk_span(1, CHAT | usage(input=100, output=7, read=0)
                 | {"gen_ai.response.time_to_first_chunk": 0.25}),
        sdk_span(2, CHAT | usage(input=150, read=96, created=50)),
        sdk_span(3, {"gen_ai.usage.prompt_tokens": 30, "gen_ai.latency.time_to_first_token": 2}),
        sdk_span(4, CHAT | {"error.type": "timeout"}),
        sdk_span(5, {"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 3}),
    ]  # fmt: skip
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [otlp(rows[:1]), *rows[1:]]))
    trace = read_trace([str(path)])
    assert (trace.identity, trace.prompts.flat.size) == ("lengths_only", 0)
    assert trace.prompt_tokens.tolist() == [100, 150, 30]
    assert trace.output_tokens.tolist() == [7, ABSENT, ABSENT]
    assert trace.reported_hit.tolist() == [0, 96, ABSENT]
    assert trace.reported_written.tolist() == [ABSENT, 50, ABSENT]
    assert trace.ttft_s.tolist()[0] == 0.25
    assert np.isnan(trace.ttft_s[1])
    assert trace.ttft_s[2] == 2
    assert not trace.excluded
    for note in (
        "3 spans hold no messages: only lengths and reported counts are known",
        "1 spans call no model: no requests",
        "1 spans ended in an error and tell no prompt: no requests",
    ):
        assert note in trace.notes
    analysis = analyze([str(path)], Setting())
    assert (analysis.hit_tokens, analysis.missed_tokens) == (96, 154)


def test_counts_against_the_conventions_leave_the_sums(tmp_path: Path) -> None:
    rows = [
        sdk_span(1, CHAT | usage(input=100, read=50)),
        sdk_span(2, CHAT | usage(input=6, read=64)),
        sdk_span(3, CHAT | usage(input=60, read=40, created=30)),
    ]
    trace = read(tmp_path, rows)
    assert sorted(trace.excluded) == [1, 2]
    assert any(note.startswith("2 spans report more cached than input") for note in trace.notes)


def test_spans_without_messages_among_others_are_bad_rows(tmp_path: Path) -> None:
    bare = sdk_span(1, CHAT | usage(input=100, read=0))
    full = sdk_span(2, CHAT | FORMS["attributes, structured"][0])
    for rows in ([bare, full], [full, bare]):
        error = refusal(tmp_path, rows)
        assert error.place.endswith(f":{1 + rows.index(bare)}")
        assert error.field == "attributes.gen_ai.input.messages"
        assert "cannot be known" in error.cause
        kept = read(tmp_path, rows, skip_bad_rows=True)
        assert (len(kept), len(kept.skipped), kept.identity) == (1, 1, "text")


@pytest.mark.parametrize(
    ("attributes", "field", "cause"),
    [
        ({}, "gen_ai.usage.input_tokens", "missing: the span holds neither"),
        (usage(prompt=-1), "gen_ai.usage.prompt_tokens", "not a count"),
        (usage(input=1.5), "gen_ai.usage.input_tokens", "not a number of tokens"),
        (usage(input=100, old_read=9), "gen_ai.usage.input_tokens", "cannot be told"),
        (usage(input=1) | {"gen_ai.response.time_to_first_chunk": "1"},
         "gen_ai.response.time_to_first_chunk", "not a number of seconds"),
        (usage(input=1) | {"gen_ai.response.time_to_first_chunk": -1},
         "gen_ai.response.time_to_first_chunk", "not a time"),
    ],
)  # fmt: skip
def test_lengths_that_are_none(
    tmp_path: Path, attributes: dict[str, Any], field: str, cause: str
) -> None:
    error = refusal(tmp_path, [sdk_span(1, CHAT | attributes)])
    assert error.field == f"attributes.{field}"
    assert cause in error.cause


# --- blocks as chat templates want them ---


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "3"}


@pytest.mark.parametrize(
    ("message", "chat"),
    [
        (USER, [USER]),
        ({"role": "assistant", "content": None, "tool_calls": [CALL]},
         [{"role": "assistant", "content": "", "tool_calls": [CALL]}]),
        ({"role": "assistant", "content": [
            {"type": "text", "text": "so"},
            {"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}]},
         [{"role": "assistant", "content": "so", "tool_calls": [CALL]}]),
        ({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
         [{"role": "assistant", "content": "", "tool_calls": [CALL], "reasoning_content": "hm"}]),
        ({"role": "assistant", "content": [
            {"type": "reasoning", "content": "hm"},
            {"toolUse": {"toolUseId": "c", "name": "f", "input": {"a": 1}}}]},
         [{"role": "assistant", "content": "", "tool_calls": [CALL], "reasoning_content": "hm"}]),
        ({"role": "tool", "content": [{"type": "tool_call_response", "id": "c", "response": "3"}]},
         [RESULT]),
        ({"role": "tool", "content": [{"type": "tool_call_response", "id": "c", "result": "3"}]},
         [RESULT]),
        ({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "3"}]},
            {"type": "text", "text": "go on"}]},
         [RESULT, {"role": "user", "content": "go on"}]),
        ({"role": "user", "content": [
            {"toolResult": {"toolUseId": "c", "content": [{"json": {"n": 3}}]}}]},
         [{**RESULT, "content": '[{"json":{"n":3}}]'}]),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]},
         [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}]),
    ],
)  # fmt: skip
def test_blocks_of_every_writer(message: dict[str, Any], chat: list[dict[str, Any]]) -> None:
    assert as_chat(message) == chat


@pytest.mark.parametrize("name", ["parameters", "input_schema", "inputSchema"])
def test_tools_of_every_writer(name: str) -> None:
    function = {"name": "f", "description": "d", "parameters": {"type": "object"}}
    told = {"name": "f", "description": "d", name: {"type": "object"}}
    assert as_tool(told) == {"type": "function", "function": function}
    assert as_tool(as_tool(told)) == as_tool(told)
    assert as_tool({"type": "web_search"}) == {"type": "web_search"}
