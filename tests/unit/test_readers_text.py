"""Readers of conversations and of text, of Qwen-Bailian and RAGPulse: figures, traps, detection.

Lengths are worked out by hand from the plain rendering of text/as_bytes.py: the head of a
message is len(role) + 5 bytes (user 9, system 11, assistant 14), its end 8, and a prompt ends
with the assistant's head.
"""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import ABSENT, InputError, Setting, SettingError
from hitpath.report.document import document
from hitpath.spine import analyze_trace
from hitpath.summary import sum_up_lengths
from hitpath.traces import Trace, TraceBuilder, read_trace
from hitpath.traces.conversations import render_replies
from hitpath.traces.detect import FORMATS
from hitpath.traces.files import Source
from hitpath.traces.openai_requests import Usage, take_usage
from hitpath.traces.otel_genai import FORMAT as OTEL
from hitpath.traces.rows import Row
from hitpath.traces.sources import Input, ReadOptions
from support import shared_data, trace_of_rows

GONE = object()
USER = {"role": "user", "content": "Hi"}
HELLO = {"role": "assistant", "content": "Hello"}
BYE = {"role": "user", "content": "Bye"}
SYSTEM = {"role": "system", "content": "Be brief."}
FIRST = 9 + 2 + 8 + 14  # <user>Hi<end><assistant>
SECOND = FIRST + 5 + 8 + 9 + 3 + 8 + 14  # ... Hello<end><user>Bye<end><assistant>
BRIEF = 11 + 9 + 8  # <system>Be brief.<end>


# Written by hand from the documented shape (aiperf's page on Bailian traces).
def bailian(chat: int, parent: int, t: float, length: int, ids: list[int]) -> dict[str, Any]:
    return {
        "chat_id": chat,
        "parent_chat_id": parent,
        "timestamp": t,
        "input_length": length,
        "output_length": 7,
        "type": "text",
        "turn": 1,
        "hash_ids": ids,
    }


BAILIAN = [
    bailian(1, -1, 61.114, 40, [1, 2, 3]),
    bailian(2, 1, 62.5, 56, [1, 2, 4, 5]),
    bailian(3, 2, 60.0, 32, [1, 9]),
    bailian(4, 77, 63.0, 10, [8]),
]


# Written by hand in the shape of shared/data/ragpulse_sample.
def rag(t: Any, passages: list[int], told: int, **rest: Any) -> dict[str, Any]:
    ids = {"sys_prompt": [1], "passages_ids": passages, "history": [], "web_search": []}
    row = {"timestamp": t, "input_length": told, "output_length": 3, "session_id": "s"}
    return {**row, "hash_ids": {**ids, "user_input": [20]}, **rest}


TABLES = [
    {"sys_prompt_id": 1, "token_length": 5},
    {"passage_id": 10, "token_length": 4},
    {"passage_id": 11, "token_length": 3},
    {"user_input_id": 20, "token_length": 2},
]
RAG = [rag("82", [10], 11), rag("93", [11, 10], 14), rag("93", [10], 12)]

# The chat request has the shape of shared/data/tau_bench; the others are written by hand from
# the services' own references.
CHAT = [
    {"model": "m", "session_id": "s", "messages": [SYSTEM, USER]},
    {"model": "m", "session_id": "s", "messages": [SYSTEM, USER, HELLO, BYE]},
]
ANTHROPIC = [
    {"model": "m", "max_tokens": 5, "system": "Be brief.", "messages": [USER]},
    {
        "model": "m",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [USER, HELLO, {"role": "user", "content": [{"type": "text", "text": "Bye"}]}],
    },
]
RESPONSES = [
    {"model": "m", "instructions": "Be brief.", "input": "Hi"},
    {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            USER,
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
            },
            {"role": "user", "content": [{"type": "input_text", "text": "Bye"}]},
        ],
    },
]
BATCH = [
    {"custom_id": f"c{i}", "method": "POST", "url": "/v1/chat/completions", "body": body}
    for i, body in enumerate(CHAT)
]
ANTHROPIC_BATCH = [{"custom_id": f"c{i}", "params": body} for i, body in enumerate(ANTHROPIC)]

# In the shape of shared/data/lmcache_taubench.
LMCACHE = [
    {"timestamp": 1760587752311222, "input": "abcdefgh", "output": "", "session_id": "s"},
    {"timestamp": 1760587752017385, "input": "abcdé", "output": "xy", "session_id": "s"},
]

# Written by hand from the documented shape of the ShareGPT files.
SHAREGPT = [
    {
        "id": "c",
        "conversations": [
            {"from": "human", "value": "Hi"},
            {"from": "gpt", "value": "Hello"},
            {"from": "human", "value": "Bye"},
            {"from": "gpt", "value": "Ok"},
        ],
    }
]


# In the shape of shared/data/otel_genai.
def span(number: int, messages: list[dict[str, Any]], **attributes: Any) -> dict[str, Any]:
    return {
        "trace_id": "t",
        "span_id": f"s{number}",
        "start_time": f"2026-02-26T10:00:0{number}.500000+00:00",
        "end_time": f"2026-02-26T10:00:0{number}.750000+00:00",
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": json.dumps(messages),
            "gen_ai.output.messages": json.dumps([HELLO]),
            **attributes,
        },
    }


SPANS = {"trace_id": "t", "spans": [span(1, [USER]), span(2, [USER, HELLO, BYE])]}

# Written by hand from SWE-agent's page on output files and its types.
SWE = {
    "environment": "swe_main",
    "trajectory": [
        {
            "action": "ls",
            "observation": "a",
            "response": "Hello",
            "thought": "",
            "query": [USER],
        },
        {
            "action": "exit",
            "observation": "",
            "response": "Ok",
            "query": [{**USER, "agent": "main"}, {**HELLO, "thought": "x"}, BYE],
        },
        {"action": "exit_cost", "observation": "", "response": "", "query": [{}]},
    ],
    "history": [USER, HELLO, BYE],
    "info": {"exit_status": "submitted"},
}
SWE_OLD = {
    "trajectory": [{"action": "ls", "observation": "a", "response": "Hello"}],
    "history": [
        {**SYSTEM, "agent": "main"},
        {**HELLO, "is_demo": True},
        {**USER, "agent": "main"},
        {**HELLO, "action": "ls", "thought": "x"},
        BYE,
        {"role": "assistant", "content": "Ok"},
    ],
}

ROWS: dict[str, list[dict[str, Any]]] = {
    "qwen-bailian": BAILIAN,
    "ragpulse": [*TABLES, *RAG],
    "openai-requests": [*CHAT, *ANTHROPIC, *RESPONSES],
    "lmcache-agent": LMCACHE,
    "sharegpt": SHAREGPT,
    "otel-genai": [SPANS],
    "swe-agent": [SWE, SWE_OLD],
}
ALL_ROWS = {**ROWS, "openai-requests": ROWS["openai-requests"] + BATCH + ANTHROPIC_BATCH}


def lines_of(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(tmp_path: Path, content: str | bytes | list[Any], **options: Any) -> Trace:
    path = tmp_path / "t.jsonl"
    text = lines_of(content) if isinstance(content, list) else content
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_trace([str(path)], **options)


def refusal(tmp_path: Path, content: str | bytes | list[Any]) -> InputError:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    return caught.value


def hits(trace: Trace, block_size: int = 1, **options: Any) -> int:
    analysis = analyze_trace(trace, Setting(block_size=block_size, **options))
    return int(document(analysis, None)["tokens"]["hit"])


def changed(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {k: v for k, v in {**row, **changes}.items() if v is not GONE}


def shared_prefixes(prompts: list[bytes], block_size: int) -> int:
    """Hit tokens of an endless cache, the slow way."""

    def common(a: bytes, b: bytes) -> int:
        low, high = 0, min(len(a), len(b))
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
        return low

    total = 0
    for i, prompt in enumerate(prompts):
        longest = max((common(prompt, other) for other in prompts[:i]), default=0)
        total += longest // block_size * block_size
    return total


def as_text(messages: list[dict[str, Any]], tools: Any = None) -> bytes:
    """The rendering, written a second time."""

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    text = f"<|tools|>\n{compact(tools)}<|end|>\n" if tools else ""
    for message in messages:
        rest = {k: v for k, v in message.items() if k not in ("role", "content")}
        text += f"<|{message['role']}|>\n{message['content'] or ''}"
        text += (compact(rest) if rest else "") + "<|end|>\n"
    return (text + "<|assistant|>\n").encode()


# --- figures ---


def test_qwen_bailian(tmp_path):
    trace = read(tmp_path, BAILIAN)
    assert (trace.format, trace.identity, trace.block_size) == ("qwen-bailian", "chained", 16)
    # Seconds, by arrival; sessions are the roots of the parents' chains.
    assert trace.arrival_s.tolist() == [60.0, 61.114, 62.5, 63.0]
    assert trace.ids == ("3", "1", "2", "4")
    assert [trace.session.of(i) for i in range(4)] == ["1", "1", "1", "77"]
    assert trace.output_tokens.tolist() == [7] * 4
    # 3: nothing. 1: id 1 = 16. 2: ids 1, 2 = 32; id 3 is a part of a block. 4: nothing.
    assert int(trace.prompt_tokens.sum()) == 32 + 40 + 56 + 10
    assert hits(trace, 16) == 16 + 32
    assert any("did not stand in order" in note for note in trace.notes)


def test_qwen_bailian_absent_is_not_zero(tmp_path):
    rows = [changed(row, output_length=GONE, turn=GONE, type=GONE) for row in BAILIAN]
    trace = read(tmp_path, rows)
    assert set(trace.output_tokens.tolist()) == set(trace.turn.tolist()) == {ABSENT}
    assert (
        read(tmp_path, [changed(r, output_length=0) for r in rows]).output_tokens.tolist()
        == [0] * 4
    )


def test_ragpulse_reference():
    """README of the shared data: an independent trie."""
    trace = read_trace([str(shared_data("ragpulse_sample"))])
    assert (len(trace), int(trace.prompt_tokens.sum()), hits(trace)) == (300, 902_405, 285_833)
    assert trace.identity == "tokens"
    assert any("905,131" in note and "902,405" in note for note in trace.notes)
    assert trace.arrival_s[0] == 82, "strings of seconds"


def test_ragpulse_by_hand(tmp_path):
    trace = read(tmp_path, TABLES + RAG)
    assert trace.prompt_tokens.tolist() == [11, 14, 11]
    # The second shares the system prompt only: its passage 10 stands behind passage 11.
    assert hits(trace) == 5 + 11
    assert [n for n in trace.notes if "input_length" in n] == [
        "input_length is not the sum of the components in 1 rows: together 37 tokens there, "
        "36 in the components; the components are counted"
    ]
    told = [changed(row, input_length=GONE) for row in RAG]
    assert not [n for n in read(tmp_path, TABLES + told).notes if "input_length" in n]


def test_ragpulse_names_the_tables_that_are_missing(tmp_path):
    error = refusal(tmp_path, [TABLES[0], *RAG])
    assert error.field == "hash_ids"
    assert "passage_id (passages_ids), user_input_id (user_input)" in error.cause
    assert "sys_prompt_id" not in error.cause
    assert "history_id" not in error.cause, "no row has a history"
    assert "the trace itself" in refusal(tmp_path, TABLES).cause
    with pytest.raises(InputError, match="length tables missing"):
        read(tmp_path, RAG, skip_bad_rows=True)


@pytest.mark.parametrize("rows", [CHAT, ANTHROPIC, RESPONSES, BATCH, ANTHROPIC_BATCH])
def test_requests_of_every_service_are_the_same_conversation(tmp_path, rows):
    trace = read(tmp_path, rows)
    assert (trace.format, trace.identity) == ("openai-requests", "text")
    assert trace.prompt_tokens.tolist() == [BRIEF + FIRST, BRIEF + SECOND]
    assert hits(trace) == BRIEF + FIRST
    assert trace.contexts[0].model == "m"
    assert trace.arrival_s.tolist() == [0, 1]
    assert any("no times in this trace" in note for note in trace.notes)
    assert any("one byte of text" in note for note in trace.notes)
    assert not [note for note in trace.notes if "is not one that hitpath reads" in note]
    if "custom_id" in rows[0]:
        assert trace.ids == ("c0", "c1")
    if "session_id" in str(rows):
        assert trace.session.names == ("s",)


def test_requests_of_an_array_document(tmp_path):
    trace = read(tmp_path, json.dumps(CHAT, indent=1))
    assert trace.prompt_tokens.tolist() == [BRIEF + FIRST, BRIEF + SECOND]
    one_line = read(tmp_path, json.dumps(CHAT))
    assert one_line.prompt_tokens.tolist() == trace.prompt_tokens.tolist()


def test_tau_bench_requests():
    path = shared_data("tau_bench/airline_gpt4o_requests.jsonl")
    requests = [json.loads(line) for line in path.read_text().splitlines()]
    prompts = [as_text(r["messages"], r["tools"]) for r in requests]
    trace = read_trace([str(path)])
    assert len(trace) == 177
    assert trace.prompt_tokens.tolist() == [len(p) for p in prompts]
    assert hits(trace, 16) == shared_prefixes(prompts, 16) == 3_612_640
    assert len(trace.session.names) == 12


def test_tools_stand_first_and_count(tmp_path):
    tool = {"type": "function", "function": {"name": "f", "parameters": {"annotations": 1}}}
    other = {"type": "function", "function": {"name": "f", "parameters": {"logprobs": 1}}}
    rows = [{**CHAT[0], "tools": [tool]}, {**CHAT[0], "tools": [other]}]
    trace = read(tmp_path, rows)
    assert trace.prompt_tokens.tolist() == [
        len(as_text([SYSTEM, USER], [t])) for t in (tool, other)
    ]
    until = json.dumps([tool], separators=(",", ":")).split("annotations")[0]
    assert hits(trace) == len("<|tools|>\n" + until)
    marked = {**tool, "cache_control": {"type": "ephemeral"}}
    same = read(tmp_path, [{**CHAT[0], "tools": [tool]}, {**CHAT[0], "tools": [marked]}])
    assert hits(same) == int(same.prompt_tokens[0]), "a mark for the provider is no part of it"


def test_the_reply_is_the_beginning_of_the_next_prompt(tmp_path):
    message = {"role": "assistant", "content": "Hello", "refusal": None, "annotations": []}
    response = {"choices": [{"message": message}], "usage": {"prompt_tokens": 3}}
    for told in (
        response,
        {"status_code": 200, "body": response},
        {"content": [{"type": "text", "text": "Hello"}], "usage": {"input_tokens": 3}},
        {"output": [{"type": "message", "role": "assistant", "content": "Hello", "id": "x"}]},
        "Hello",
    ):
        trace = read(tmp_path, [{**CHAT[0], "response": told}, CHAT[1]])
        assert trace.output_tokens.tolist() == [len("Hello<|end|>\n"), ABSENT]
        assert hits(trace, outputs="insert") == BRIEF + FIRST + len("Hello<|end|>\n")


@pytest.mark.parametrize(
    ("usage", "hit", "prompt"),
    [
        ({}, None, None),
        ({"prompt_tokens": 100}, None, 100),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 0}}, 0, 100),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64}}, 64, 100),
        ({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64}}, 64, 100),
        ({"input_tokens": 100, "total_tokens": 120}, None, 100),
        ({"input_tokens": 100}, None, None),
        # Anthropic's parts: the whole is known where all of them are told, and absent is not 0.
        ({"input_tokens": 36, "cache_read_input_tokens": 64}, 64, None),
        ({"input_tokens": 36, "cache_creation_input_tokens": 64}, None, None),
        (
            {"input_tokens": 36, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 0},
            64,
            100,
        ),
        (
            {
                "input_tokens": 6,
                "cache_read_input_tokens": 64,
                "cache_creation_input_tokens": 30,
            },
            64,
            100,
        ),
        ({"prompt_tokens": 100, "cache_read_input_tokens": 64}, 64, 100),
        # Bedrock's Converse counts as Anthropic does.
        (
            {
                "inputTokens": 6,
                "outputTokens": 5,
                "totalTokens": 105,
                "cacheReadInputTokens": 64,
                "cacheWriteInputTokens": 30,
            },
            64,
            100,
        ),
        ({"inputTokens": 36, "cacheReadInputTokens": 64}, 64, None),
        ({"inputTokens": 100, "outputTokens": 5, "totalTokens": 105}, None, None),
        # Gemini's prompt includes what came from the cache.
        (
            {
                "promptTokenCount": 100,
                "candidatesTokenCount": 5,
                "totalTokenCount": 105,
                "cachedContentTokenCount": 64,
            },
            64,
            100,
        ),
        ({"promptTokenCount": 100, "totalTokenCount": 105}, None, 100),
    ],
)
def test_counts_that_include_and_that_exclude_cached_tokens(usage, hit, prompt):
    row = Row("a", 0.0, np.zeros(0, dtype=np.uint32), 0)
    take_usage(row, json_struct(usage), "t:1")
    assert (row.reported, row.reported_prompt) == (hit, prompt)


def json_struct(usage: dict[str, Any]) -> Usage:
    return msgspec.convert(usage, Usage)


def test_reported_tokens_are_not_compared_with_bytes(tmp_path):
    usage = {"prompt_tokens": 9999, "prompt_tokens_details": {"cached_tokens": 9000}}
    trace = read(tmp_path, [{**CHAT[0], "usage": usage}])
    assert not trace.excluded
    assert trace.reported_hit.tolist() == [ABSENT]
    assert any("not comparable" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("told", "seconds", "unit"),
    [
        (12, 12.0, "s"),
        ("12.5", 12.5, "s"),
        (1760587752, 1760587752.0, "s"),
        (1760587752500, 1760587752.5, "ms"),
        (1760587752500000, 1760587752.5, "us"),
        (1760587752500000000, 1760587752.5, "ns"),
        ("2026-02-26T10:00:00Z", 1772100000.0, None),
        ("2026-02-26T12:00:00+02:00", 1772100000.0, None),
        ("2026-02-26T10:00:00", 1772100000.0, None),
    ],
)
def test_times_of_requests(tmp_path, told, seconds, unit):
    trace = read(tmp_path, [{**CHAT[0], "timestamp": told}])
    assert trace.arrival_s.tolist() == [seconds]
    assert any(f"as {unit} in 1 rows" in note for note in trace.notes) == (unit is not None)
    assert not any("no times" in note for note in trace.notes)


def test_times_of_one_trace_have_one_unit(tmp_path):
    """5e10 would be seconds and 2e11 milliseconds: then the later would come first."""
    told = ("2026-02-26T10:00:00Z", 50e9, 60e9, "200000000000", 2e11)
    rows = [{**CHAT[0], "timestamp": t} for t in told]
    for last in (rows[3], rows[4]):
        error = refusal(tmp_path, [*rows[:3], last])
        assert (error.place[-9:], error.field) == ("t.jsonl:4", "timestamp")
        assert error.cause == (
            "200000000000 would be ms by its size, but "
            f"{tmp_path}/t.jsonl:2 is in s: one unit a trace"
        )
    trace = read(tmp_path, [*rows[1:3], rows[4], rows[1]], skip_bad_rows=True)
    assert trace.arrival_s.tolist() == [50e9, 50e9, 60e9]
    assert len(trace.skipped) == 1
    assert any("by the first one's size as s in 3 rows" in note for note in trace.notes)


def test_lmcache_reference():
    """README of the shared data: 64-byte blocks of UTF-8 in order of time."""
    trace = read_trace([str(shared_data("lmcache_taubench"))])
    assert (len(trace), int(trace.prompt_tokens.sum()), hits(trace, 64)) == (78, 75_911, 62_784)
    assert np.all(np.diff(trace.arrival_s) >= 0)
    assert any("did not stand in order" in note for note in trace.notes)


def test_lmcache_by_hand(tmp_path):
    trace = read(tmp_path, LMCACHE)
    assert trace.arrival_s.tolist() == [1760587752.017385, 1760587752.311222], "microseconds"
    assert trace.prompt_tokens.tolist() == [6, 8], "bytes of UTF-8"
    assert trace.output_tokens.tolist() == [2, 0]
    assert trace.has_output.tolist() == [True, True], "an empty output is not an absent one"
    assert hits(trace) == 4
    absent = [LMCACHE[0], {**LMCACHE[1], "output": None}]
    assert read(tmp_path, absent).output_tokens.tolist() == [ABSENT, 0]


@pytest.mark.parametrize("form", [lines_of, json.dumps, lambda rows: json.dumps(rows, indent=2)])
def test_sharegpt(tmp_path, form):
    trace = read(tmp_path, form(SHAREGPT))
    assert (trace.ids, trace.session.names) == (("c/1", "c/3"), ("c",))
    assert trace.prompt_tokens.tolist() == [FIRST, SECOND]
    assert trace.output_tokens.tolist() == [5 + 8, 2 + 8]
    assert hits(trace) == FIRST
    assert any("no times in this trace" in note for note in trace.notes)


def test_sharegpt_messages_that_are_no_requests(tmp_path):
    turns = SHAREGPT[0]["conversations"]
    rows = [
        {"id": "a", "conversations": turns[1:]},  # begins with an answer
        {"id": "b", "conversations": [*turns[:2], *turns[1:3]]},  # answered twice, then not
        {"id": "c", "conversations": []},
    ]
    trace = read(tmp_path, rows)
    assert trace.ids == ("a/2", "b/1")
    assert "answers to nothing, or to an answer: 2, no requests" in trace.notes
    assert (
        "messages at the end of a conversation that nobody answered: 1, no requests" in trace.notes
    )
    # <assistant>Hello<end><user>Bye<end><assistant>
    assert trace.prompt_tokens.tolist() == [14 + 5 + 8 + 9 + 3 + 8 + 14, FIRST]


@pytest.mark.parametrize("name", ["prefix_sharing_example.json", "simple_chain.json"])
def test_otel_real_spans(name):
    path = shared_data(f"otel_genai/{name}")
    spans = json.loads(path.read_text())["spans"]
    prompts = [as_text(json.loads(s["attributes"]["gen_ai.input.messages"])) for s in spans]
    trace = read_trace([str(path)])
    assert (len(trace), trace.format) == ({"p": 7, "s": 3}[name[0]], "otel-genai")
    assert trace.prompt_tokens.tolist() == [len(p) for p in prompts]
    assert hits(trace) == shared_prefixes(prompts, 1)
    assert np.all(trace.finish_s > trace.arrival_s)
    assert any("the trace stands for the session" in note for note in trace.notes)
    assert trace.reported_hit.tolist() == [ABSENT] * len(trace)


def test_otel_by_hand(tmp_path):
    trace = read(tmp_path, [SPANS])
    assert trace.prompt_tokens.tolist() == [FIRST, SECOND]
    assert trace.ids == ("t/s1", "t/s2")
    assert trace.arrival_s.tolist() == [1772100001.5, 1772100002.5]
    assert hits(trace) == FIRST
    assert hits(trace, outputs="insert") == FIRST + 5 + 8


def otlp(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp(v) for v in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": otlp(v)} for k, v in value.items()]}}
    return {"stringValue": value}


def otlp_span(number: int, attributes: dict[str, Any]) -> dict[str, Any]:
    start = 1_772_100_000_000_000_000 + number * 1_000_000_000
    return {
        "traceId": "t",
        "spanId": f"s{number}",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 250_000_000),
        "attributes": [{"key": k, "value": otlp(v)} for k, v in attributes.items()],
    }


# Written by hand from OTLP's JSON mapping and the GenAI conventions (parts, system instructions).
def otlp_document() -> dict[str, Any]:
    parts = [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
    call = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.conversation.id": "conv",
        "gen_ai.usage.input_tokens": 50,
        "gen_ai.usage.cache_read.input_tokens": 40,
    }
    system = [{"type": "text", "content": "Be brief."}]
    spans = [
        otlp_span(1, {**call, "gen_ai.input.messages": parts}),
        otlp_span(
            2,
            {
                **call,
                "gen_ai.input.messages": json.dumps(parts),
                "gen_ai.system_instructions": json.dumps(system),
            },
        ),
        otlp_span(3, {"gen_ai.operation.name": "execute_tool"}),
        otlp_span(4, {"http.method": "GET"}),
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def test_otlp_nanoseconds_parts_and_spans_that_call_no_model(tmp_path):
    trace = read(tmp_path, [otlp_document()])
    assert trace.prompt_tokens.tolist() == [FIRST, BRIEF + FIRST]
    assert trace.arrival_s.tolist() == [1772100001.0, 1772100002.0]
    assert trace.finish_s.tolist() == pytest.approx([1772100001.25, 1772100002.25], abs=1e-6)
    assert trace.session.names == ("conv",)
    assert "2 spans call no model: no requests" in trace.notes
    assert any("not comparable" in note for note in trace.notes)


def test_otel_input_tokens_include_the_cached_ones(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(otlp_document()))
    builder = TraceBuilder()
    OTEL.read([Input(Source("t", path))], builder, ReadOptions())
    assert [(r.reported, r.reported_prompt) for r in builder.rows] == [(40, 50), (40, 50)]


def test_swe_agent(tmp_path):
    trace = read(tmp_path, json.dumps(SWE, indent=1))
    assert trace.prompt_tokens.tolist() == [FIRST, SECOND]
    assert trace.output_tokens.tolist() == [5 + 8, 2 + 8]
    assert hits(trace) == FIRST
    assert any("no times in this trace" in note for note in trace.notes)
    assert not any("history" in note for note in trace.notes)


def test_swe_agent_before_queries_were_kept(tmp_path):
    trace = read(tmp_path, [SWE_OLD])
    demo = 14 + 5 + 8  # <assistant>Hello<end>: shown to the model, not answered by it
    assert trace.prompt_tokens.tolist() == [BRIEF + demo + FIRST, BRIEF + demo + SECOND]
    assert hits(trace) == BRIEF + demo + FIRST
    assert any("the whole history" in note for note in trace.notes)


def test_a_reply_keeps_what_the_next_turn_repeats():
    call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    reply = {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None}
    told = render_replies([reply])
    assert json.loads(told.removesuffix(b"<|end|>\n")) == {"tool_calls": [call]}


# --- traps ---


BAD: list[tuple[list[Any], dict[str, Any], str, str]] = [
    # (good rows before, the bad row, field, cause)
    (BAILIAN[:1], changed(BAILIAN[1], timestamp="62"), "timestamp", "str"),
    (BAILIAN[:1], changed(BAILIAN[1], timestamp=-1), "timestamp", "not a time"),
    (BAILIAN[:1], changed(BAILIAN[1], hash_ids=[1, 2]), "hash_ids", "2 ids for 56 tokens"),
    (BAILIAN[:1], changed(BAILIAN[1], hash_ids=[1, -2, 3, 4]), "hash_ids[1]", "not an integer"),
    (BAILIAN[:1], changed(BAILIAN[1], input_length=GONE), "input_length", "missing"),
    (BAILIAN[:1], changed(BAILIAN[1], output_length=-1), "output_length", "not a count"),
    (BAILIAN[:1], changed(BAILIAN[1], turn=1.5), "turn", "float"),
    (BAILIAN[:1], changed(BAILIAN[1], chat_id=1), "id", "'1' stands at"),
    (BAILIAN[:1], changed(BAILIAN[1], parent_chat_id=2), "parent_chat_id", "back to itself"),
    (TABLES, rag("x", [10], 11), "timestamp", "'x' is not a number of seconds"),
    (TABLES, rag("1e5", [10], 11), "timestamp", "not a number of seconds"),
    (TABLES, rag("", [10], 11), "timestamp", "not a number of seconds"),
    (TABLES, rag(-1, [10], 11), "timestamp", "not a time"),
    (TABLES, rag("1", [10, 12], 11), "hash_ids.passages_ids[1]", "12 is not in the table"),
    (TABLES, rag("1", [10], -1), "input_length", "not a count"),
    (TABLES, changed(RAG[0], hash_ids={"zz": [1]}), "hash_ids", "zz"),
    (TABLES, {"passage_id": 10, "token_length": 9}, "token_length", "9, but passage_id 10 had 4"),
    (TABLES, {"passage_id": 13, "token_length": -1}, "token_length", "not a count"),
    (TABLES, {"passage_id": 13, "history_id": 1, "token_length": 1}, "", "exactly one of"),
    (CHAT[:1], {"model": "m"}, "", "needs messages, input or prompt"),
    (CHAT[:1], {**CHAT[1], "input": "x"}, "", "has messages and input"),
    (CHAT[:1], {**CHAT[1], "messages": [1]}, "messages[0]", "int"),
    (CHAT[:1], {**CHAT[1], "messages": "x"}, "messages", "str"),
    (CHAT[:1], {**CHAT[1], "tools": {}}, "tools", "object"),
    (CHAT[:1], {**CHAT[1], "model": 5}, "model", "int"),
    (CHAT[:1], {**CHAT[1], "timestamp": 5}, "timestamp", "a time, but"),
    (CHAT[:1], {**RESPONSES[0], "previous_response_id": "r"}, "previous_response_id", "kept by"),
    (BATCH[:1], {**BATCH[1], "url": "/v1/embeddings"}, "url", "no request for generated text"),
    (BATCH[:1], {**BATCH[1], "body": {"messages": 1}}, "body.messages", "int"),
    (BATCH[:1], {**BATCH[1], "body": {}}, "body", "needs messages, input or prompt"),
    (BATCH[:1], {**BATCH[1], "params": {}}, "", "body and params"),
    (BATCH[:1], {**BATCH[1], "custom_id": "c0"}, "id", "stands at"),
    (
        [{**CHAT[0], "timestamp": 5}],
        CHAT[1],
        "timestamp",
        "missing, but",
    ),
    (
        [{**CHAT[0], "timestamp": 5}],
        {**CHAT[0], "timestamp": "yesterday"},
        "timestamp",
        "not an ISO 8601 time",
    ),
    (
        CHAT[:1],
        {**CHAT[1], "usage": {"prompt_tokens": -1}},
        "usage.prompt_tokens",
        "not a count",
    ),
    (CHAT[:1], {**CHAT[1], "usage": {"prompt_tokens": True}}, "usage.prompt_tokens", "bool"),
    (LMCACHE[:1], changed(LMCACHE[1], timestamp="1"), "timestamp", "str"),
    (LMCACHE[:1], changed(LMCACHE[1], timestamp=-1), "timestamp", "microseconds"),
    (LMCACHE[:1], changed(LMCACHE[1], timestamp=10**30), "timestamp", "microseconds"),
    (LMCACHE[:1], changed(LMCACHE[1], input=GONE), "input", "missing"),
    (LMCACHE[:1], changed(LMCACHE[1], input=None), "input", "null"),
    (SHAREGPT, {"id": "d", "conversations": [{"from": "human"}]}, "conversations[0].value", "miss"),
    (SHAREGPT, {"id": "d", "conversations": 1}, "conversations", "int"),
    (SHAREGPT, {"id": 1.5, "conversations": []}, "id", "float"),
    (SHAREGPT, SHAREGPT[0], "id", "stands at"),
    ([SPANS], changed(span(3, []), start_time=GONE), "start_time", "missing"),
    ([SPANS], changed(span(3, []), start_time="noon"), "start_time", "not an ISO 8601 time"),
    ([SPANS], changed(span(3, []), start_time=10**22), "start_time", "nanoseconds"),
    ([SPANS], changed(span(3, []), end_time="2026-02-26T09:00:00Z"), "finish_s", "before the"),
    ([SPANS], changed(span(3, []), span_id=GONE, context={}), "span_id", "missing"),
    (
        [SPANS],
        {"spans": [span(3, [], **{"gen_ai.input.messages": None})]},
        "spans[0].attributes.gen_ai.input.messages",
        "cannot be known",
    ),
    (
        [SPANS],
        {"spans": [span(3, [], **{"gen_ai.input.messages": "[{"})]},
        "spans[0].attributes.gen_ai.input.messages",
        "truncated",
    ),
    (
        [SPANS],
        span(3, [USER], **{"gen_ai.usage.input_tokens": 1.5}),
        "attributes.gen_ai.usage.input_tokens",
        "not a number of tokens",
    ),
    ([SPANS], span(1, [USER]), "id", "stands at"),
    ([SPANS], {"spans": [{"attributes": 5}]}, "spans[0].attributes", "int"),
    ([SWE], {"trajectory": 1, "history": []}, "trajectory", "int"),
    ([SWE], {"trajectory": [], "history": [1]}, "history[0]", "int"),
    ([SWE], {"trajectory": [{"query": [1]}], "history": []}, "trajectory[0].query[0]", "int"),
]


@pytest.mark.parametrize(("before", "row", "field", "cause"), BAD)
def test_bad_rows_are_named(tmp_path, before, row, field, cause):
    good = list(before)
    if good == TABLES:
        good = [*TABLES, RAG[0]]
    error = refusal(tmp_path, [*good, row])
    assert error.place.endswith(f"t.jsonl:{len(good) + 1}")
    assert error.field == field
    assert cause in error.cause
    assert str(error).isprintable()
    kept = read(tmp_path, [*good, row], skip_bad_rows=True)
    assert {(p.field, p.place) for p in kept.skipped} == {(error.field, error.place)}
    assert len(kept) == len(read(tmp_path, good))


def test_a_ring_of_parents(tmp_path):
    rows = [bailian(1, -1, 0, 16, [1]), bailian(2, 3, 1, 16, [1]), bailian(3, 2, 2, 16, [1])]
    leads_in = bailian(4, 3, 3, 16, [1])
    trace = read(tmp_path, [*rows, leads_in], skip_bad_rows=True)
    assert trace.ids == ("1",)
    assert [p.place[-2:] for p in trace.skipped] == [":2", ":3", ":4"]


def test_places_in_documents(tmp_path):
    document = json.dumps([CHAT[0], {"model": "m"}], indent=1)
    assert refusal(tmp_path, document).place.endswith("t.jsonl[1]")
    assert refusal(tmp_path, json.dumps([CHAT[0], {"model": "m"}])).place.endswith("t.jsonl:1[1]")


@pytest.mark.parametrize("name", sorted(ROWS))
def test_truncated_json_and_blank_lines(tmp_path, name):
    rows = ROWS[name]
    whole = read(tmp_path, rows)
    text = lines_of(rows)
    error = refusal(tmp_path, text + text.splitlines()[-1][:-9])
    assert error.place.endswith(f":{len(rows) + 1}")
    assert error.field == ""
    assert "truncated" in error.cause or "malformed" in error.cause
    blank = read(tmp_path, "\r\n\r\n".join(text.splitlines()))
    assert blank.prompt_tokens.tolist() == whole.prompt_tokens.tolist()


def test_unknown_fields_are_counted(tmp_path):
    for name in ("qwen-bailian", "lmcache-agent", "sharegpt"):
        trace = read(tmp_path, [{**ROWS[name][0], "zz": 1}])
        assert "field 'zz' is not one that hitpath reads (1 rows)" in trace.notes
    trace = read(tmp_path, [{**CHAT[0], "zz": 1, "temperature": 0.5}])
    assert [n for n in trace.notes if "hitpath reads" in n] == [
        "field 'zz' is not one that hitpath reads (1 rows)"
    ]
    trace = read(tmp_path, [*TABLES, {**RAG[0], "zz": 1}])
    assert "field 'zz' is not one that hitpath reads (1 rows)" in trace.notes


def test_empty_prompts(tmp_path):
    assert read(tmp_path, [{**LMCACHE[0], "input": ""}]).prompt_tokens.tolist() == [0]
    assert read(tmp_path, [bailian(1, -1, 0, 0, [])]).prompt_tokens.tolist() == [0]
    assert read(tmp_path, [{"model": "m", "messages": []}]).prompt_tokens.tolist() == [14]


# --- detection ---


SAMPLES = [(name, row) for name, rows in ALL_ROWS.items() for row in rows] + [
    ("otel-genai", otlp_document()),
    ("otel-genai", span(1, [USER])),
    ("sharegpt", SHAREGPT),
    ("openai-requests", CHAT),
]
OTHERS: list[Any] = [
    {"id": "a", "arrival_s": 0, "tokens": [1]},
    {"id": "a", "arrival_s": 0, "messages": [USER]},
    {"id": "a", "messages": [USER]},
    {"timestamp": 0, "input_length": 1000, "hash_ids": [1, 2]},
    {"id": "s", "block_size": 64, "requests": []},
    {"object": "chat.completion", "id": "x", "choices": []},
    None,
    5,
    "x",
    [],
    [[]],
    {},
    {"body": 5},
]
MINE = sorted(ROWS)


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_rows_are_recognised_by_their_own_format_only(known):
    for name, row in SAMPLES:
        if known.name == "mooncake" and name in ("qwen-bailian", "ragpulse"):
            continue  # such rows have Mooncake's fields too: asked first, below
        assert known.recognises(row) == (known.name == name), (known.name, name, row)
    if known.name in MINE:
        assert not any(known.recognises(other) for other in OTHERS)


@pytest.mark.parametrize(("name", "row"), SAMPLES)
def test_the_first_format_that_recognises_a_row_is_its_own(name, row):
    assert next(known.name for known in FORMATS if known.recognises(row)) == name


# --- documentation ---


def test_the_documented_examples(tmp_path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "trace-format.md").read_text()
    example = re.compile(r"```json\n([^`]*)```\n\nHit (\d+) of (\d+)(.*)")
    seen = set()
    for rows, hit, prompt, rest in example.findall(page.partition("## More formats")[2]):
        trace = read(tmp_path, rows)
        told = (hits(trace, 1 if "--block-size 1`" in rest else 16), int(trace.prompt_tokens.sum()))
        assert told == (int(hit), int(prompt)), rows
        seen.add(trace.format)
    assert seen >= set(MINE)


# --- fuzz ---


NASTY = st.one_of(
    st.sampled_from(
        [None, True, -1, 0, 1, 2**31, 2**53, 2**64, 10**400, 0.5, 1e308, "", "\x00", "é", "5",
         "[{", "9" * 400, [], {}, [[]], [{}], {"content": [{"type": "text", "text": 1}]}]
    ),
    st.integers(-3, 40),
    st.text(max_size=4),
)  # fmt: skip


def slots(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(inside):
        found.append((value, key))
        if isinstance(item, dict | list):
            slots(item, found)
    return found


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Valid rows after a few deletions, doublings, replacements and byte flips."""
    rows: list[Any] = json.loads(json.dumps(draw(st.sampled_from(FUZZED))))
    for _ in range(draw(st.integers(0, 4))):
        places = slots(rows, [])
        if not places:
            break
        container, key = places[draw(st.integers(0, len(places) - 1))]
        what = draw(st.sampled_from(["delete", "replace", "replace", "double"]))
        if what == "delete":
            del container[key]
        elif what == "replace":
            container[key] = json.loads(json.dumps(draw(NASTY)))
        elif isinstance(container, list):
            container.insert(key, json.loads(json.dumps(container[key])))
    form = draw(st.sampled_from([lines_of, lines_of, json.dumps]))
    data = bytearray(form(rows).encode())
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


def otlp_events() -> dict[str, Any]:
    """The same with its messages in events, in the older forms, and with lengths only."""
    document = otlp_document()
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}])
    for n, (name, told) in enumerate(
        [
            ("gen_ai.client.inference.operation.details", {"gen_ai.input.messages": messages}),
            ("gen_ai.user.message", {"content": '[{"text": "Hi"}]'}),
            ("gen_ai.user.message", {"gen_ai.event.content": '{"content": "Hi"}'}),
            ("gen_ai.content.prompt", {"gen_ai.prompt": "Hi"}),
        ]
    ):
        counts = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.cache_read_input_tokens": 0}
        added = otlp_span(5 + n, {"gen_ai.operation.name": "chat", **counts})
        attributes = [{"key": k, "value": otlp(v)} for k, v in told.items()]
        answer = [{"key": "message", "value": otlp('{"content": "Hello"}')}]
        added["events"] = [
            {"name": name, "attributes": attributes},
            {"name": "gen_ai.choice", "attributes": answer},
        ]
        spans.append(added)
    indexed = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi"}
    spans.append(otlp_span(9, {"llm.request.type": "chat", **indexed}))
    return document


LENGTHS = span(1, [], **{"gen_ai.usage.input_tokens": 9, "gen_ai.usage.cache_read.input_tokens": 4})
del LENGTHS["attributes"]["gen_ai.input.messages"]
FUZZED = [
    *ALL_ROWS.values(),
    [otlp_document()],
    [otlp_events()],
    [span(1, [USER])],
    [LENGTHS],
    [SWE_OLD],
    [SWE],
]


@settings(max_examples=400)
@given(data=mutated(), skip=st.booleans())
def test_any_input_gives_a_trace_or_an_error_of_ours(data, skip):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.write_bytes(data)
        try:
            trace = read_trace([str(path)], skip_bad_rows=skip)
        except (InputError, SettingError):
            return
    assert len(trace)
    if trace.identity == "lengths_only":
        sum_up_lengths(trace, Setting())  # checks its own sums
        return
    tokens = document(analyze_trace(trace, Setting()), None)["tokens"]
    causes = [n for n in tokens["causes"].values() if n is not None]
    assert tokens["hit"] + sum(causes) + tokens["unexplained"] == tokens["prompt"]


def test_a_cache_salt_in_a_body_isolates(tmp_path):
    """vLLM and SGLang take `cache_salt` in the body: prompts under two salts share nothing."""
    body = {"model": "m", "messages": [{"role": "user", "content": "the same words " * 9}]}
    rows = [body, {**body, "cache_salt": "a"}, {**body, "cache_salt": "a"}]
    trace = trace_of_rows(tmp_path, rows)
    assert [trace.contexts[c].salt for c in trace.context] == [None, "a", "a"]
    hits = analyze_trace(trace, Setting(block_size=1)).ledger.hit.tolist()
    assert hits[:2] == [0, 0]
    assert hits[2] == trace.prompt_tokens[2]


def test_a_body_that_was_given_an_id_is_a_request_body(tmp_path: Path) -> None:
    """Loggers put `id` and `timestamp` beside the body; hitpath's own rows have `arrival_s`, or a
    field that no body has."""
    body = {"id": "a", "timestamp": "2026-03-01T10:00:00Z", "model": "m", "messages": [USER]}
    trace = trace_of_rows(tmp_path, [body, {**body, "id": "b"}])
    assert (trace.format, trace.ids) == ("openai-requests", ("a", "b"))
    with pytest.raises(InputError, match="arrival_s: missing"):
        trace_of_rows(tmp_path, [{**body, "session": "s"}])
    own = {"id": "a", "arrival_s": 0, "messages": [USER]}
    assert trace_of_rows(tmp_path, [own]).format == "hitpath"
