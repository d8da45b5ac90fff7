"""What is moved to the end of an agent's prompt stands behind the last result of a tool, in every
format of requests: elsewhere it would break the prefix of the next turn itself."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from doctor.model_folders import model_folder
from hitpath.canonical.tail import HEADER
from hitpath.core import Setting
from hitpath.report.doctor_fix import write_fixed
from hitpath.report.doctor_run import examine, open_subject

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TURNS = 8
RULES = "You are the night desk of a small hotel; look things up before you answer. " * 9
ASKED = "Please plan the whole week of the desk, step by step, and look up each day."
Json = dict[str, Any]


def system(turn: int) -> str:
    return f"Time: 10:{turn + 10}:07. {RULES}"


def gave(call: int) -> str:
    return (
        f"day {call} has {call * 3 + 1} rooms free and {call * 7} guests that leave, say the books"
    )


def chat(turn: int) -> Json:
    said: list[Json] = [
        {"role": "system", "content": system(turn)},
        {"role": "user", "content": ASKED},
    ]
    for call in range(turn):
        function = {"name": "find", "arguments": json.dumps({"day": call})}
        made = {"id": f"call_{call}", "type": "function", "function": function}
        said.append({"role": "assistant", "content": None, "tool_calls": [made]})
        said.append({"role": "tool", "tool_call_id": f"call_{call}", "content": gave(call)})
    return {"model": "m", "messages": said}


def responses(turn: int, *, parts: bool = False) -> Json:
    items: list[Json] = [{"role": "user", "content": ASKED}]
    for call in range(turn):
        output: Any = [{"type": "input_text", "text": gave(call)}] if parts else gave(call)
        known = {"call_id": f"call_{call}"}
        items.append(
            {"type": "function_call", **known, "name": "find", "arguments": f'{{"day":{call}}}'}
        )
        items.append({"type": "function_call_output", **known, "output": output})
    return {"model": "m", "instructions": system(turn), "input": items}


def anthropic(turn: int, *, parts: bool = False) -> Json:
    said: list[Json] = [{"role": "user", "content": ASKED}]
    for call in range(turn):
        content: Any = [{"type": "text", "text": gave(call)}] if parts else gave(call)
        used = {"type": "tool_use", "id": f"toolu_{call}", "name": "find", "input": {"day": call}}
        given = {"type": "tool_result", "tool_use_id": f"toolu_{call}", "content": content}
        said += [{"role": "assistant", "content": [used]}, {"role": "user", "content": [given]}]
    return {"model": "m", "max_tokens": 9, "system": system(turn), "messages": said}


def converse(turn: int) -> Json:
    said: list[Json] = [{"role": "user", "content": [{"text": ASKED}]}]
    for call in range(turn):
        used = {"toolUse": {"toolUseId": f"tooluse_{call}", "name": "find", "input": {"day": call}}}
        given = {
            "toolUseId": f"tooluse_{call}",
            "content": [{"text": gave(call)}],
            "status": "success",
        }
        said.append({"role": "assistant", "content": [used]})
        said.append({"role": "user", "content": [{"toolResult": given}]})
    return {"modelId": "m", "system": [{"text": system(turn)}], "messages": said}


def span(turn: int, name: str = "response") -> Json:
    said: list[Json] = [{"role": "user", "parts": [{"type": "text", "content": ASKED}]}]
    for call in range(turn):
        used = {
            "type": "tool_call",
            "id": f"call_{call}",
            "name": "find",
            "arguments": {"day": call},
        }
        given = {"type": "tool_call_response", "id": f"call_{call}", name: gave(call)}
        said += [{"role": "assistant", "parts": [used]}, {"role": "tool", "parts": [given]}]
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.conversation.id": "c",
        "gen_ai.system_instructions": [{"type": "text", "content": system(turn)}],
        "gen_ai.input.messages": said,
    }
    return {
        "trace_id": "t",
        "span_id": f"s{turn}",
        "start_time": f"2026-01-15T12:0{turn}:00Z",
        "attributes": told,
    }


LOOPS: dict[str, Callable[[int], Json]] = {
    "chat": chat,
    "responses": responses,
    "responses-parts": lambda turn: responses(turn, parts=True),
    "anthropic": anthropic,
    "anthropic-parts": lambda turn: anthropic(turn, parts=True),
    "bedrock": converse,
    "otel": span,
    "otel-result": lambda turn: span(turn, "result"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_values_stand_behind_the_last_result(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(LOOPS[name](turn)) + "\n" for turn in range(TURNS)))
    subject = open_subject([str(path)], Setting(block_size=1))
    found = examine(subject, what_ifs=False)
    (defect,) = found.defects
    assert defect.kind == "clock"
    assert found.after is not None
    # All but a turn's own call, result and values, and the values of the turn before, is read.
    assert found.after > 0.75
    file = io.BytesIO()
    write_fixed(found, subject.kept, subject.requests, file)
    for turn, line in enumerate(file.getvalue().decode().splitlines()):
        assert line.count(HEADER) == 1
        last = gave(turn - 1) if turn else ASKED
        assert line.index(HEADER) > line.index(last)
    again = tmp_path / "again.jsonl"
    again.write_bytes(file.getvalue())
    read = examine(open_subject([str(again)], Setting(block_size=1)), what_ifs=False)
    assert read.before == found.after


CALLS: dict[str, tuple[Callable[[Any], Json], Json]] = {
    "parts": (
        lambda told: {"type": "tool_call", "id": "c1", "name": "find", "arguments": told},
        {"type": "tool_call_response", "id": "c1", "response": "room 12"},
    ),
    "text": (
        lambda told: {
            "type": "tool_call",
            "id": "c1",
            "name": "find",
            "arguments": json.dumps(told),
        },
        {"type": "tool_call_response", "id": "c1", "response": "room 12"},
    ),
    "anthropic": (
        lambda told: {"type": "tool_use", "id": "c1", "name": "find", "input": told},
        {"type": "tool_result", "tool_use_id": "c1", "content": "room 12"},
    ),
    "bedrock": (
        lambda told: {"toolUse": {"toolUseId": "c1", "name": "find", "input": told}},
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "room 12"}]}},
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_recorded_call_keeps_its_form_in_tokens(name: str, tmp_path: Path) -> None:
    """The template's form of a call is another object than the span's: only its arguments change,
    and they stay an object, or text, as they were."""
    make, result = CALLS[name]
    rows = []
    for turn in range(4):
        told = {"day": 3, "room": "x"} if turn % 2 else {"room": "x", "day": 3}
        row = span(0)
        row |= {"span_id": f"s{turn}", "start_time": f"2026-01-15T12:0{turn}:00Z"}
        said = [
            {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
            {"role": "assistant", "parts": [make(told)]},
            {"role": "tool", "parts": [result]},
        ]
        for number in range(turn):
            said.append(
                {"role": "assistant", "parts": [{"type": "text", "content": f"Day {number}."}]}
            )
            said.append(
                {"role": "user", "parts": [{"type": "text", "content": f"{RULES} {number}?"}]}
            )
        row["attributes"] |= {"gen_ai.input.messages": said}
        rows.append(row)
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    setting = Setting(block_size=1, tokenizer=model_folder(tmp_path / "model", "clean_chatml"))
    subject = open_subject([str(path)], setting)
    found = examine(subject, what_ifs=False)
    assert "key_order" in {defect.kind for defect in found.defects}
    file = io.BytesIO()
    write_fixed(found, subject.kept, subject.requests, file)
    again = tmp_path / "again.jsonl"
    again.write_bytes(file.getvalue())
    read = examine(open_subject([str(again)], setting), what_ifs=False)
    assert read.before == found.after
    assert "key_order" not in {defect.kind for defect in read.defects}
    for line in file.getvalue().splitlines():
        parts = json.loads(line)["attributes"]["gen_ai.input.messages"][1]["parts"]
        assert parts == [make({"day": 3, "room": "x"})] or name == "text"
        if name == "text":
            assert json.loads(parts[0]["arguments"]) == {"day": 3, "room": "x"}
