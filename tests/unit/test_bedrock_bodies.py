"""Bodies of Bedrock's Converse, written by hand from the documented shape (botocore,
bedrock-runtime ConverseRequest): what makes the prompt, and marks that are no part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hitpath.canonical import Options, canonical_request
from hitpath.doctor.lint_requests import lint_requests
from hitpath.text.as_bytes import render_chat
from hitpath.traces import read_trace
from hitpath.traces.cache_marks import Mark, marks_of
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

MARK = {"cachePoint": {"type": "default"}}


def tool(name: str) -> dict[str, Any]:
    schema = {"json": {"type": "object", "properties": {"place": {"type": "string"}}}}
    return {"toolSpec": {"name": name, "description": f"To {name}.", "inputSchema": schema}}


def body(*tools: Any, question: Any = ({"text": "Hi"},), **more: Any) -> dict[str, Any]:
    return {
        "modelId": "anthropic.claude-x",
        "system": [{"text": "Be brief."}, MARK],
        "messages": [{"role": "user", "content": list(question)}],
        "toolConfig": {"tools": list(tools)},
        **more,
    }


def prompt_of(path: Path, row: int = 0) -> bytes:
    prompts = read_trace([str(path)]).prompts
    return bytes(prompts.flat[prompts.offsets[row] : prompts.offsets[row + 1]])


def test_tools_system_and_messages_are_the_prompt_and_marks_are_not(tmp_path: Path) -> None:
    told = body(tool("book"), MARK, tool("search"), question=[{"text": "Hi"}, MARK])
    path = write_jsonl(tmp_path / "t.jsonl", [told])
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert prompt_of(path) == render_chat(said, [tool("book"), tool("search")])
    trace = read_trace([str(path)])
    assert trace.model.of(0) == trace.contexts[trace.context[0]].model == "anthropic.claude-x"
    assert not trace.notes[0].startswith("field")


def test_a_mark_that_moves_with_the_dialogue_breaks_nothing(tmp_path: Path) -> None:
    """The usual way to cache a growing dialogue."""
    first = body(tool("book"), question=[{"text": "Hi"}, MARK])
    later = body(tool("book"))
    later["messages"] += [
        {"role": "assistant", "content": [{"text": "Hello"}]},
        {"role": "user", "content": [{"text": "Bye"}, MARK]},
    ]
    path = write_jsonl(tmp_path / "t.jsonl", [first, later])
    head = len(render_chat([], None))
    assert prompt_of(path, 1).startswith(prompt_of(path, 0)[:-head])


def test_marks_are_the_ends_of_what_stands_before_them() -> None:
    told = body(tool("book"), MARK, tool("search"), question=[{"text": "a"}, MARK, {"text": "b"}])
    found = marks_of(msgspec.json.encode(told))
    assert found is not None
    tools = len(b"<|tools|>\n[") + len(msgspec.json.encode(tool("book")))
    begin = len(
        render_chat([{"role": "system", "content": "Be brief."}], [tool("book"), tool("search")])
    )
    system = begin - len(render_chat([], None))
    user = system + len(b'<|user|>\n{"content":[{"text":"a"}')
    assert found.marks == (Mark(tools, None), Mark(system, None), Mark(user, None))
    first = marks_of(msgspec.json.encode(body(tool("book"), question=[MARK, {"text": "a"}])))
    assert first is not None
    assert len({mark.end for mark in first.marks}) == 1  # both mark the end of the system text


def test_canonical_tools_leave_marks_at_their_places() -> None:
    told = body(tool("search"), MARK, tool("book"))
    found = canonical_request(told)
    assert found.value["toolConfig"]["tools"] == [tool("book"), MARK, tool("search")]
    assert [change.json_path for change in found.changes] == ["toolConfig.tools"]
    again = canonical_request(found.value)
    assert (again.value, again.changes) == (found.value, ())
    assert canonical_request(told, Options(tools=False, keys=False)).value == told


def test_lint_finds_the_order_and_the_clock(tmp_path: Path) -> None:
    rows = [
        body(*tools, system=[{"text": f"Time: 10:15:0{n}. Be brief and kind."}])
        for n, tools in enumerate(
            [(tool("book"), MARK, tool("see")), (tool("see"), MARK, tool("book"))]
        )
    ]
    found = {
        (one.rule.kind, one.json_path)
        for one in lint_requests([str(write_jsonl(tmp_path / "t.jsonl", rows))])
    }
    assert found == {("tool_order", "toolConfig.tools[0]"), ("clock", "system[0].text")}
    moved = [body(tool("book"), MARK, tool("see")), body(tool("book"), tool("see"), MARK)]
    assert lint_requests([str(write_jsonl(tmp_path / "m.jsonl", moved))]) == []
