"""Rows of LiteLLM, Langfuse and Helicone, all of one call, and what tests read of them.

They are written by hand from the documented shapes: LiteLLM 1.110.2 (StandardLoggingPayload and
LiteLLM_SpendLogs), the reference of Langfuse's export fields and its page on usage types, and
Helicone's HeliconeRequest.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from hitpath.traces import Trace, read_trace
from support import write_jsonl

T0 = 1736942400.0  # 2025-01-15T12:00:00Z
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is a prefix cache?"},
]
TOOLS = [{"type": "function", "function": {"name": "search"}}]
REPLY = {"role": "assistant", "content": "A store of KV."}
ANSWER = {"choices": [{"message": REPLY}]}
BODY = {"model": "m", "messages": MESSAGES, "tools": TOOLS}

# A spend log with prompts stored: the request body stands in proxy_server_request.
SPEND = {
    "request_id": "chatcmpl-1",
    "call_type": "acompletion",
    "api_key": "hash",
    "cache_hit": "False",
    "prompt_tokens": 1500,
    "completion_tokens": 20,
    "total_tokens": 1520,
    "startTime": "2025-01-15T12:00:00.000Z",
    "endTime": "2025-01-15T12:00:03.000Z",
    "completionStartTime": "2025-01-15T12:00:00.500Z",
    "model": "m",
    "team_id": "team",
    "session_id": "s",
    "status": "success",
    "messages": "{}",
    "response": "{}",
    "proxy_server_request": "{}",
    "metadata": json.dumps(
        {"additional_usage_values": {"prompt_tokens_details": {"cached_tokens": 1024}}}
    ),
}
PAYLOAD = {
    "id": "msg-1",
    "trace_id": "t",
    "call_type": "completion",
    "cache_hit": None,
    "stream": True,
    "status": "success",
    "startTime": T0,
    "endTime": T0 + 3,
    "completionStartTime": T0 + 0.5,
    "model": "m",
    "prompt_tokens": 1500,
    "completion_tokens": 20,
    "metadata": {
        "user_api_key_team_id": "team",
        "usage_object": {
            "prompt_tokens": 1500,
            "prompt_tokens_details": {"cached_tokens": 1024, "cache_creation_tokens": 300},
            "cache_read_input_tokens": 1024,
            "cache_creation_input_tokens": 300,
        },
    },
    "messages": MESSAGES,
    "model_parameters": {"tools": TOOLS, "temperature": 0},
    "response": ANSWER,
}
NO_TEXT = {**PAYLOAD, "messages": None, "model_parameters": {}, "response": None}

GENERATION = {
    "id": "o1",
    "traceId": "t1",
    "type": "GENERATION",
    "startTime": "2025-01-15T12:00:00.000Z",
    "endTime": "2025-01-15T12:00:03.000Z",
    "completionStartTime": "2025-01-15T12:00:00.500Z",
    "providedModelName": "m",
    "sessionId": "s",
    "userId": "team",
    "input": {"messages": MESSAGES, "tools": TOOLS},
    "output": REPLY,
    "usageDetails": {"input": 476, "input_cached_tokens": 1024, "output": 20, "total": 1520},
}
# The same as the export to storage writes it.
OBSERVATION = {
    "id": "o1",
    "trace_id": "t1",
    "project_id": "p",
    "type": "GENERATION",
    "start_time": "2025-01-15 12:00:00.000000",
    "end_time": "2025-01-15 12:00:03.000000",
    "completion_start_time": "2025-01-15 12:00:00.500000",
    "provided_model_name": "m",
    "session_id": "s",
    "user_id": "team",
    "input": json.dumps({"messages": MESSAGES, "tools": TOOLS}),
    "output": json.dumps(REPLY),
    "usage_details": GENERATION["usageDetails"],
}
HELICONE = {
    "request_id": "r1",
    "request_created_at": "2025-01-15 12:00:00.000",
    "response_status": 200,
    "request_model": "m",
    "request_user_id": "team",
    "request_properties": {"Helicone-Session-Id": "s", "other": "x"},
    "provider": "OPENAI",
    "delay_ms": 3000,
    "time_to_first_token": 500,
    "prompt_tokens": 476,
    "prompt_cache_read_tokens": 1024,
    "prompt_cache_write_tokens": 0,
    "completion_tokens": 20,
    "cache_reference_id": "00000000-0000-0000-0000-000000000000",
    "request_body": BODY,
    "response_body": {
        "choices": [{"message": REPLY}],
        "usage": {"prompt_tokens": 1500, "prompt_tokens_details": {"cached_tokens": 1024}},
    },
}
NO_BODY = {"helicone_message": "fetching body from signed_url..."}
HELICONE_USAGE_ONLY = {
    **HELICONE,
    "request_body": {"model": "m"},
    "response_body": {"usage": HELICONE["response_body"]["usage"]},
}


def read(tmp_path: Path, rows: Any, **options: Any) -> Trace:
    """Rows as JSON lines, or a document as it is."""
    if isinstance(rows, list):
        path = write_jsonl(tmp_path / "t.jsonl", rows)
    else:
        path = tmp_path / "t.json"
        path.write_text(rows if isinstance(rows, str) else json.dumps(rows))
    return read_trace([str(path)], **options)


def symbols(trace: Trace, row: int) -> list[int]:
    return trace.prompts.flat[trace.prompts.offsets[row] : trace.prompts.offsets[row + 1]].tolist()


def output(trace: Trace, row: int) -> list[int]:
    return trace.outputs.flat[trace.outputs.offsets[row] : trace.outputs.offsets[row + 1]].tolist()


def counts(trace: Trace) -> list[tuple[int, int, int]]:
    columns = (trace.prompt_tokens, trace.reported_hit, trace.reported_written)
    return [tuple(row) for row in np.stack(columns, axis=1).tolist()]


def as_body(tmp_path: Path, body: dict[str, Any], reply: dict[str, Any] | None = None) -> Trace:
    """What the reader of plain request bodies makes of it."""
    row = {**body, "response": {"choices": [{"message": reply}]}} if reply else body
    return read(tmp_path, [row])


WITH_TEXT = [
    ("litellm", PAYLOAD),
    ("litellm", {**SPEND, "proxy_server_request": json.dumps(BODY), "response": json.dumps(REPLY)}),
    ("litellm", {**SPEND, "proxy_server_request": BODY, "response": ANSWER}),
    ("langfuse", GENERATION),
    ("langfuse", OBSERVATION),
    ("helicone", HELICONE),
]  # fmt: skip
LENGTHS = [
    ("litellm", NO_TEXT),
    ("litellm", SPEND),
    ("langfuse", {**GENERATION, "input": None}),
    ("langfuse", {**OBSERVATION, "input": "", "output": ""}),
    ("helicone", HELICONE_USAGE_ONLY),
]
