"""The linter over request bodies: differences ahead of shared text, and hard negatives.

All requests are written by hand from the documented shapes of the APIs, but for tau_bench's.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from hitpath.core import InputError
from hitpath.doctor.lint_record import Finding
from hitpath.doctor.lint_requests import lint_requests
from support import shared_data, write_jsonl

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"The tool {name}.",
            "parameters": {
                "type": "object",
                "properties": {"q": {"type": "string", "enum": ["b", "a"]}, "n": {"minimum": 1}},
                "required": ["q", "n"],
            },
        },
    }
    for name in ("search", "book", "cancel")
]
RULES = "You are the assistant of an airline. Refunds until 2024-06-01 only. Be brief."


def body(system: str = RULES, question: str = "Hi", tools: Any = TOOLS) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": "m", "tools": tools, "messages": messages}


def linted(tmp_path: Path, rows: list[dict[str, Any]]) -> list[Finding]:
    return lint_requests([str(write_jsonl(tmp_path / "requests.jsonl", rows))])


def kinds(findings: list[Finding]) -> list[tuple[str, str | None, int | None]]:
    return [(one.rule.kind, one.json_path, one.char_offset) for one in findings]


VOLATILE = {
    "clock": ("Current time: 2025-03-03 14:2{}:31. ", 14),
    "request_id": ("Session id: 8f2k{}x. ", 12),
    "counter": ("[step {}] ", 1),
    "attribution": ("x-anthropic-billing-header: cc_version=2; cch=a{};\n", 0),
}


@pytest.mark.parametrize("kind", VOLATILE)
def test_what_changes_ahead_of_shared_text(tmp_path: Path, kind: str) -> None:
    form, offset = VOLATILE[kind]
    rows = [body(form.format(n) + RULES, f"Question {n}") for n in (1, 2, 2, 3)]
    (one,) = linted(tmp_path, rows)
    assert kinds([one]) == [(kind, "messages[0].content", offset)]
    assert (one.line, one.num_requests, one.of_requests) == (2, 2, 4)
    text = rows[1]["messages"][0]["content"]
    assert one.num_chars is not None
    assert one.excerpt == text[offset : offset + one.num_chars]
    assert one.chars_behind == len(text) - offset


def test_two_defects_of_one_text_are_both_found(tmp_path: Path) -> None:
    rows = [body(f"Now: 2025-03-03 14:2{n}:31. [step {n}] {RULES}") for n in (1, 2)]
    assert [one.rule.kind for one in linted(tmp_path, rows)] == ["clock", "counter"]


def test_what_stays_or_is_the_users_own_is_no_finding(tmp_path: Path) -> None:
    fixed = "The current time is 2024-05-15 15:00:00 EST. Session id: 8f2k1x. " + RULES
    rows = [body(fixed, f"Current time: 2025-03-03 14:2{n}:31, [step {n}]") for n in range(5)]
    rows.append(body("Another application, since 2023-01-03."))
    rows.append(body(fixed, "Only two tools", TOOLS[:2]))  # another set of tools
    assert linted(tmp_path, rows) == []


def test_one_body_is_told_by_its_looks(tmp_path: Path) -> None:
    (one,) = linted(tmp_path, [body("Current time: 2025-03-03 14:22:31. " + RULES)])
    assert kinds([one]) == [("clock", "messages[0].content", 14)]
    assert linted(tmp_path, [body()]) == []


def test_tools_in_another_order(tmp_path: Path) -> None:
    rows = [body(), body(tools=[TOOLS[1], TOOLS[0], TOOLS[2]]), body()]
    (one,) = linted(tmp_path, rows)
    assert one.rule.kind == "tool_order"
    assert one.excerpt == "search -> book"
    assert (one.line, one.num_requests) == (2, 2)
    assert "differs from" in one.message


def changed(change: Any) -> list[Any]:
    tools = copy.deepcopy(TOOLS)
    change(tools[1]["function"]["parameters"])
    return tools


def with_other_keys(parameters: dict[str, Any]) -> None:
    parameters["properties"] = dict(reversed(parameters["properties"].items()))


def with_other_required(parameters: dict[str, Any]) -> None:
    parameters["required"].reverse()


def with_other_number(parameters: dict[str, Any]) -> None:
    parameters["properties"]["n"]["minimum"] = 1.0


def with_other_enum(parameters: dict[str, Any]) -> None:
    parameters["properties"]["q"]["enum"].reverse()


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (with_other_keys, "key_order"),
        (with_other_required, "array_order"),
        (with_other_number, "number_format"),
        (with_other_enum, None),  # its order means something: another tool
    ],
)
def test_orders_within_a_tool(tmp_path: Path, change: Any, kind: str | None) -> None:
    found = linted(tmp_path, [body(), body(tools=changed(change)), body(tools=changed(change))])
    assert [one.rule.kind for one in found] == ([] if kind is None else [kind])
    if found:
        (one,) = found
        assert one.json_path == "tools[1]"
        written, old = (json.dumps(t[1], separators=(",", ":")) for t in (changed(change), TOOLS))
        assert one.char_offset is not None
        assert written[: one.char_offset] == old[: one.char_offset]
        assert written[one.char_offset] != old[one.char_offset]


def test_white_space_hidden_characters_and_unicode(tmp_path: Path) -> None:
    one, two = "Line one.\nLine two café.", "Line one.\r\nLine two café."
    assert kinds(linted(tmp_path, [body(one), body(two)])) == [
        ("white_space", "messages[0].content", 9)
    ]
    decomposed = one.replace("é", "e\u0301")
    assert kinds(linted(tmp_path, [body(one), body(decomposed)])) == [
        ("unicode_form", "messages[0].content", one.index("é"))
    ]
    (hidden,) = linted(tmp_path, [body("Be\u200b brief."), body("Be\u200b brief.")])
    assert kinds([hidden]) == [("hidden_characters", "messages[0].content", 2)]
    assert "U+200B" in hidden.message
    assert linted(tmp_path, [body(question="\ufeffhi\u200b\r\n")]) == []


def test_other_apis_and_wrappers(tmp_path: Path) -> None:
    clocks = [f"Now: 2025-03-03 14:2{n}:31. {RULES}" for n in (1, 2)]
    anthropic = [
        {"system": [{"type": "text", "text": text}], "messages": [{"role": "user", "content": "a"}]}
        for text in clocks
    ]
    assert kinds(linted(tmp_path, anthropic)) == [("clock", "system[0].text", 5)]
    responses = [{"model": "m", "instructions": text, "input": "a"} for text in clocks]
    assert kinds(linted(tmp_path, responses)) == [("clock", "instructions", 5)]
    wrapped = [{"custom_id": "x", "body": body(text)} for text in clocks]
    assert kinds(linted(tmp_path, wrapped)) == [("clock", "messages[0].content", 5)]
    described = [
        body(tools=[{"name": "t", "description": text, "input_schema": {}}]) for text in clocks
    ]
    assert kinds(linted(tmp_path, described)) == [("clock", "tools[0].description", 5)]


def test_an_array_and_one_document(tmp_path: Path) -> None:
    rows = [body(f"Now: 2025-03-03 14:2{n}:31. {RULES}") for n in (1, 2)]
    array = tmp_path / "array.json"
    array.write_text(json.dumps(rows))
    assert [one.rule.kind for one in lint_requests([str(array)])] == ["clock"]
    single = tmp_path / "single.json"
    single.write_text(json.dumps(rows[0], indent=2))
    assert [one.rule.kind for one in lint_requests([str(single)])] == ["clock"]


@pytest.mark.parametrize(
    "text", ["{", "[1, 2]", '{"a": 1}', '{"messages": 3}', "\xff", '{"tools": {}, "input": "x"}']
)
def test_bad_input_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        lint_requests([str(path)])
    assert "\n" not in str(caught.value)


def test_fingerprints_survive_moved_lines_and_other_values(tmp_path: Path) -> None:
    rows = [body(f"Now: 2025-03-03 14:2{n}:31. {RULES}") for n in (1, 2, 3)]
    other = [body("Another application.")] * 3
    first = linted(tmp_path, rows)
    second = linted(tmp_path, other + rows[1:])
    assert [one.fingerprint for one in first] == [one.fingerprint for one in second]
    assert first[0].line != second[0].line


def test_real_agent_requests_are_clean() -> None:
    assert lint_requests([str(shared_data("tau_bench/airline_gpt4o_requests.jsonl"))]) == []


def test_real_agent_requests_with_a_planted_clock(tmp_path: Path) -> None:
    path = shared_data("tau_bench/airline_gpt4o_requests.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for minute, row in enumerate(rows):
        told = f"Session started 2025-03-03 14:{minute % 60:02d}:31\n"
        row["messages"][0]["content"] = told + row["messages"][0]["content"]
    (one,) = linted(tmp_path, rows)
    assert kinds([one]) == [("clock", "messages[0].content", 16)]
    assert one.num_requests == len(rows) - 1


@pytest.mark.parametrize(
    ("second", "kind"),
    [
        (lambda b: b["tools"].reverse(), "tool_order"),
        (
            lambda b: b["messages"][0].update(content=b["messages"][0]["content"] + " "),
            "white_space",
        ),
        (lambda b: b["tools"][0]["function"]["parameters"]["required"].reverse(), "array_order"),
    ],
)
def test_a_second_defect_hides_no_first_one(tmp_path: Path, second: Any, kind: str) -> None:
    """Every request has another clock, every second one another form too."""
    rows = [
        copy.deepcopy(body(f"Now: 2025-03-03 14:2{n}:31. {RULES}", f"Question {n}"))
        for n in range(8)
    ]
    for row in rows[1::2]:
        second(row)
    found = {one.rule.kind: one for one in linted(tmp_path, rows)}
    assert set(found) == {"clock", kind}
    clock = found["clock"]
    assert (clock.json_path, clock.char_offset) == ("messages[0].content", 5)
    assert (clock.num_requests, clock.of_requests) == (7, 8)


def test_a_form_behind_a_clock_is_told_where_it_stands(tmp_path: Path) -> None:
    ends = [body(f"Now: 2025-03-03 14:2{n}:31. Be kind.{n * ' '}") for n in range(2)]
    found = {one.rule.kind: one for one in linted(tmp_path, ends)}
    assert found["white_space"].char_offset == len("Now: 2025-03-03 14:21:31. Be kind.")


def test_a_clock_in_a_tool_is_followed_by_the_tools_name(tmp_path: Path) -> None:
    rows = [copy.deepcopy(body()) for _ in range(4)]
    for n, row in enumerate(rows):
        row["tools"][1]["function"]["description"] = f"Books. Today is 2025-03-0{n + 1}."
        if n % 2:
            row["tools"].reverse()
    clocks = [one for one in linted(tmp_path, rows) if one.rule.kind == "clock"]
    assert [(one.num_requests, one.of_requests) for one in clocks] == [(3, 4)]
