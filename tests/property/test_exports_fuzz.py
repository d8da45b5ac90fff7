"""Mutated exports and transcripts: an error of ours that is fit to print, or a valid trace.

The rows are written by hand from the documented shapes, as in the unit tests of these readers.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import ABSENT, HitpathError
from hitpath.traces import Trace, read_trace

MESSAGES = [{"role": "user", "content": "Hi"}]
USAGE = {"prompt_tokens": 90, "prompt_tokens_details": {"cached_tokens": 64}}
LITELLM = {
    "id": "a", "call_type": "acompletion", "startTime": 5.5, "endTime": "2026-01-01T00:00:00Z",
    "completionStartTime": 6, "cache_hit": False, "status": "success", "model": "m",
    "session_id": "s", "prompt_tokens": 90, "completion_tokens": 4, "messages": MESSAGES,
    "model_parameters": {"tools": [{"name": "f"}]}, "metadata": {"usage_object": USAGE},
    "response": {"choices": [{"message": {"role": "assistant", "content": "Yes"}}]},
}  # fmt: skip
SPEND = {
    **LITELLM, "request_id": "b", "metadata": json.dumps({"additional_usage_values": USAGE}),
    "proxy_server_request": json.dumps({"messages": MESSAGES}), "messages": "{}", "response": "{}",
}  # fmt: skip
LANGFUSE = {
    "id": "c", "traceId": "t", "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z",
    "endTime": "2026-01-01T00:00:02Z", "input": MESSAGES, "output": "Yes", "userId": "u",
    "usageDetails": {"input": 26, "input_cached_tokens": 64, "output": 4, "total": 94},
}  # fmt: skip
HELICONE = {
    "request_id": "d", "request_created_at": "2026-01-01 00:00:00.5", "response_status": 200,
    "provider": "ANTHROPIC", "prompt_tokens": 26, "prompt_cache_read_tokens": "64",
    "prompt_cache_write_tokens": 0, "delay_ms": 12, "time_to_first_token": 3,
    "request_properties": {"Helicone-Session-Id": "s"}, "cache_reference_id": None,
    "request_body": {"model": "m", "messages": MESSAGES},
    "response_body": {"content": [{"type": "text", "text": "Yes"}], "usage": USAGE},
}  # fmt: skip
CLAUDE = {
    "type": "assistant", "sessionId": "s", "isSidechain": True, "agentId": "a", "uuid": "u",
    "timestamp": "2026-01-01T00:00:00Z", "requestId": "r",
    "message": {"id": "m", "model": "claude", "usage": {
        "input_tokens": 3, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 9,
        "cache_creation": {"ephemeral_5m_input_tokens": 9}, "output_tokens": 4}},
}  # fmt: skip
WITHOUT_TEXT = (
    {**LITELLM, "messages": None},
    {**LANGFUSE, "input": None},
    {**HELICONE, "request_body": {"model": "m"}, "response_body": None},
    CLAUDE,
)
KEYS = ("id", "request_id", "requestId")
ROWS = (LITELLM, SPEND, LANGFUSE, HELICONE, *WITHOUT_TEXT)
NASTY = st.one_of(
    st.sampled_from(
        [None, True, -1, 0, 2**31, 2**63, 10**400, 0.5, 1e308, "", "\x00", "\x1b[2J", "a\nb",
         "\ud800", "512", "[", "[{", '{"messages": 5}', "9" * 400, [], {}, [[]], [{}],
         {"messages": MESSAGES}, {"role": "user"},
         {"content": [{"type": "text", "text": 1}]}, {"input_tokens": 5}]
    ),
    st.integers(-3, 99),
    st.text(max_size=4),
)  # fmt: skip


def slots(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """(container, key) of everything inside `value`."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(inside):
        found.append((value, key))
        if isinstance(item, dict | list):
            slots(item, found)
    return found


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """One to three rows of one format after deletions, replacements, doublings and byte flips."""
    first = draw(st.sampled_from(ROWS))
    rows: list[Any] = []
    for i in range(draw(st.integers(1, 3))):
        row = json.loads(json.dumps(first))
        rows.append({**row, **{key: f"{row[key]}{i}" for key in KEYS if key in row}})
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
        else:
            container[draw(st.sampled_from(["data", "observations", "zz"]))] = container[key]
    lines = "\n".join(json.dumps(row) for row in rows)
    form = draw(st.sampled_from([lines, lines, json.dumps(rows), json.dumps({"data": rows})]))
    data = bytearray(form.encode())
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        if data:
            at = draw(st.integers(0, len(data) - 1))
            data[at : at + 1] = draw(st.binary(max_size=2))
    return bytes(data)


def check(trace: Trace) -> None:
    """What every trace keeps, whatever it was read from."""
    assert len(trace) == len(set(trace.ids)) > 0
    assert (np.diff(trace.arrival_s) >= 0).all()
    told = ~np.isnan(trace.finish_s)
    assert (trace.finish_s[told] >= trace.arrival_s[told]).all()
    assert not (trace.ttft_s < 0).any()
    hit = np.maximum(trace.reported_hit, 0) + np.maximum(trace.reported_written, 0)
    assert (hit[trace.counted] <= trace.prompt_tokens[trace.counted]).all()
    for column in (trace.reported_hit, trace.reported_written, trace.output_tokens):
        assert (column >= ABSENT).all()
    if trace.identity == "lengths_only":
        assert not trace.prompts.lengths.any()
        assert not trace.has_output.any()
    else:
        assert trace.prompts.lengths.tolist() == trace.prompt_tokens.tolist()
    assert all(note.isprintable() for note in trace.notes)


@settings(max_examples=600)
@given(data=mutated(), skip=st.booleans())
def test_any_export_gives_a_trace_or_an_error_of_ours(data, skip):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.write_bytes(data)
        try:
            trace = read_trace([str(path)], skip_bad_rows=skip)
        except HitpathError as error:
            told = str(error)
        else:
            check(trace)
            return
    assert told.isprintable()


def test_the_rows_themselves_are_read():
    """So that the mutations start from traces, not from errors."""
    with TemporaryDirectory() as folder:
        for i, row in enumerate(ROWS):
            path = Path(folder) / f"{i}.jsonl"
            path.write_text(json.dumps(row))
            trace = read_trace([str(path)])
            assert (trace.identity == "lengths_only") == (row in WITHOUT_TEXT)
            check(trace)
