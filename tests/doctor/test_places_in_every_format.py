"""In every format that holds text the doctor says where a defect is in the row as the file has it.

The oracle reads the file by itself, follows the JSON path that was told, and looks at the
character: there the text must part from what the relative has at the same path."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from doctor.text_formats import FORMATS, Call, TextFormat, Written
from hitpath.core import Setting
from hitpath.report.doctor_document import doctor_document
from hitpath.report.doctor_run import examine, open_subject

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.doctor.diagnosis import Diagnosis

RULES = "You are the night desk of a small hotel. Answer in two sentences at most, be kind. " * 6
TOOLS: tuple[dict[str, Any], ...] = tuple(
    {"type": "function", "function": {
        "name": name, "description": f"Does {name.replace('_', ' ')} for a guest, and says so.",
        "parameters": {"type": "object", "required": ["room"], "properties": {
            "room": {"type": "string"},
            "why": {"type": "string", "description": "Reason of the guest."}}}}}
    for name in ("book_room", "find_guest", "call_taxi", "send_key")
)  # fmt: skip
STEP = re.compile(r"\[(\d+)\]|\[(\"(?:[^\"\\]|\\.)*\")\]|\.?([^.\[\]]+)")


def calls_with(defect: str, *, tools: bool = True) -> list[Call]:
    """Two sessions of three turns."""
    made: list[Call] = []
    for turn in range(3):
        for session in ("a", "b"):
            number = len(made)
            clock = f"\nIt is 10:{15 + number if defect == 'clock' else 15}:07.\nName no price. "
            said = [{"role": "system", "content": f"{RULES}{clock}{RULES}"}]
            for t in range(turn + 1):
                room = "cellar" if (defect, turn, t) == ("edited", 2, 0) else "kitchen"
                question = f"Guest {session} asks for the {t}. time whether the {room} is open."
                said.append({"role": "user", "content": question})
                if t < turn:
                    said.append({"role": "assistant", "content": f"Answer {t} to {session}: yes."})
            order = (2, 0, 3, 1) if defect == "tools" and number % 2 else range(4)
            mine = tuple(TOOLS[i] for i in order) if tools else ()
            reply = f"Answer {turn} to {session}: yes."
            made.append(Call(number, session, tuple(said), mine, number * 20, reply))
    return made


def at_path(root: Any, path: str) -> Any:
    """What stands at a path. Strings are looked into as JSON, OTLP's pairs by their keys."""
    found = root
    for index, quoted, name in STEP.findall(path):
        if isinstance(found, str):
            found = json.loads(found)
        step = int(index) if index else json.loads(quoted) if quoted else name
        if isinstance(found, dict) and "values" in found:
            found = found["values"]
        if isinstance(found, list) and isinstance(step, str):
            found = {pair["key"]: plain(pair["value"]) for pair in found}
        found = found[step]
    return found


def plain(value: dict[str, Any]) -> Any:
    """OTLP's value."""
    kind, inner = next(iter(value.items()))
    if kind == "arrayValue":
        return [plain(v) for v in inner["values"]]
    if kind == "kvlistValue":
        return {pair["key"]: plain(pair["value"]) for pair in inner["values"]}
    return inner


def examined(known: TextFormat, defect: str, tmp_path: Path) -> tuple[Written, Diagnosis]:
    written = known.write(calls_with(defect, tools=known.tools))
    path = tmp_path / f"trace.{known.ending}"
    path.write_text(written.text)
    subject = open_subject([str(path)], Setting(block_size=1), mapping=known.mapping)
    return written, examine(subject, what_ifs=False)


def only_defect(found: Diagnosis, kind: str) -> Any:
    assert [defect.kind for defect in found.defects] == [kind]
    return found.defects[0]


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
@pytest.mark.parametrize(("defect", "kind"), [("clock", "clock"), ("edited", "edited_message")])
def test_text_is_at_the_path_and_character_told(
    known: TextFormat, defect: str, kind: str, tmp_path: Path
) -> None:
    written, found = examined(known, defect, tmp_path)
    told = only_defect(found, kind)
    rows = (told.relative, told.example)
    paths = [found.in_row(row, told.json_path) for row in rows]
    old, new = (at_path(written.roots[row], path) for row, path in zip(rows, paths, strict=True))
    assert isinstance(old, str)
    assert isinstance(new, str)
    at = told.char_offset
    assert old[:at] == new[:at]
    assert old[at] != new[at]
    assert new[at:].startswith(("cellar",) if defect == "edited" else tuple("0123456789"))
    segment = {"clock": "system", "edited": "message 1"}[defect]
    assert told.segment == segment
    document = doctor_document(found, Setting(block_size=1), rows=True)
    assert document["defects"][0]["json_path"] == paths[1]
    row = next(r for r in document["per_request"] if r["id"] == found.trace.ids[told.example])
    assert (row["json_path"], row["char_offset"]) == (paths[1], at)


@pytest.mark.parametrize(
    "known", [known for known in FORMATS if known.tools], ids=lambda known: known.name
)
def test_orders_of_tools_are_at_the_list(known: TextFormat, tmp_path: Path) -> None:
    written, found = examined(known, "tools", tmp_path)
    told = only_defect(found, "tool_order")
    assert told.segment == "tools"
    if known.name == "otel-indexed":  # a key a field: there is no list
        assert found.path_of(told) == 'attributes["llm.request.functions"]'
        return
    listed = at_path(written.roots[told.example], found.path_of(told))
    listed = json.loads(listed) if isinstance(listed, str) else listed
    tools = [tool for tool in listed if "cachePoint" not in tool]
    names = [(tool.get("function") or tool.get("toolSpec") or tool)["name"] for tool in tools]
    assert names == [TOOLS[i]["function"]["name"] for i in (2, 0, 3, 1)]


def test_places_within_a_large_document(tmp_path: Path) -> None:
    """Documents of more than a MiB are read by their pieces; each is a row of its own."""
    known = next(known for known in FORMATS if known.name == "otlp")
    document = json.loads(known.write(calls_with("clock")).text)
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    other = {"traceId": "x", "spanId": "y", "startTimeUnixNano": "1", "attributes": [
        {"key": "note", "value": {"stringValue": "n" * 1_500_000}}]}  # fmt: skip
    document["resourceSpans"][0]["scopeSpans"][0]["spans"] = [other, *spans]
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(document))
    found = examine(open_subject([str(path)], Setting(block_size=1)), what_ifs=False)
    told = only_defect(found, "clock")
    assert found.path_of(told) == 'attributes["gen_ai.system_instructions"][0].content'
    place = f"{path}:1:resourceSpans[0].scopeSpans[0].spans[{told.example + 1}]"
    assert found.trace.places[told.example] == place


def test_names_of_fields_are_no_content(tmp_path: Path) -> None:
    """--no-content hashes keys that people chose, not those of the format."""
    known = next(known for known in FORMATS if known.name == "otel-text")
    _, found = examined(known, "clock", tmp_path)
    document = doctor_document(found, Setting(block_size=1), content=False)
    path = 'attributes["gen_ai.system_instructions"][0].content'
    assert document["defects"][0]["json_path"] == path


BLOCKS: dict[str, list[dict[str, Any]]] = {
    "one text": [{"type": "text", "text": "It is open."}],
    "thinking": [{"type": "thinking", "thinking": "Is it?", "signature": "c2ln"},
                 {"type": "text", "text": "It is open."}],
    "redacted": [{"type": "redacted_thinking", "data": "ZGF0YQ=="},
                 {"type": "text", "text": "It is open."}],
    "tool_use": [{"type": "text", "text": "I look."},
                 {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}}],
    "tool_result": [{"type": "tool_result", "tool_use_id": "t1", "content": [
        {"type": "text", "text": "open", "cache_control": {"type": "ephemeral"}}]}],
    "image": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
              {"type": "text", "text": "What is this?"}],
}  # fmt: skip


@pytest.mark.parametrize("kind", BLOCKS)
def test_blocks_of_hitpath_rows_are_seen_as_in_bodies(kind: str, tmp_path: Path) -> None:
    """The same messages as a row of hitpath's own and as a request body: one structure."""
    role = "user" if kind in ("tool_result", "image") else "assistant"
    content = [dict(block) for block in BLOCKS[kind]]
    content[-1] = {**content[-1], "cache_control": {"type": "ephemeral"}}
    said = (("system", RULES), ("user", "Is it open?"), (role, content), ("user", "Bye."))
    messages = [{"role": name, "content": words} for name, words in said]
    tools = [{**tool, "cache_control": {"type": "ephemeral"}} for tool in TOOLS]
    rows = [
        {"id": "1", "arrival_s": 0, "messages": messages, "tools": tools},
        {"model": "m", "messages": messages, "tools": tools},
    ]
    found = []
    for number, row in enumerate(rows):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(row) + "\n")
        request = open_subject([str(path)], Setting()).requests.of(0)
        assert request is not None
        assert not request.prompt.is_flat
        assert len(request.prompt.messages) == 4
        found.append([(p.path, p.segment, p.form, p.text) for p in request.prompt.parts])
    assert found[0] == found[1]
    assert not any("ephemeral" in text for *_, text in found[0])
