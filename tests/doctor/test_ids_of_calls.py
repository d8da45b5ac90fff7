"""Ids of calls of tools that a client makes anew in what was sent before: `request_id`, whatever
they are made of. Beside them what only looks like one. Written by hand from the documented
shapes of OpenAI's chat and responses and of Anthropic's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doctor.test_dialogues_and_forms import chat, said
from doctor.test_histories import HEAD, changes
from hitpath.doctor.build_prompt import PromptBuilder, Said
from hitpath.doctor.calls import without_ids

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
IDS = [
    ("J2CO3x8SI", "OjIIcSKQX"),  # nine letters, as Mistral wants them
    ("jwOkMkhfv", "fexmNjAit"),
    ("call_3", "call_8"),
    ("7", "12"),
    ("1", "2"),  # llama.cpp, Ollama
    ("functions.find:0", "functions.find:4"),
    ("toolu_vrtx_01GbX", "toolu_vrtx_01Hcd"),
    ("3f9a", "c01d"),
    ("first-call", "other-call"),
]
RESULT = "The record says that room 12 is free on Friday."
NEXT = said("user", "And what would it cost with breakfast?")


def of_openai(number: str, given: str = '{"day": "Friday"}') -> list[Row]:
    call = {"id": number, "type": "function", "function": {"name": "find", "arguments": given}}
    return [said("assistant", None, tool_calls=[call]), said("tool", RESULT, tool_call_id=number)]


def of_anthropic(number: str) -> list[Row]:
    call = {"type": "tool_use", "id": number, "name": "find", "input": {"day": "Friday"}}
    result = {"type": "tool_result", "tool_use_id": number, "content": RESULT}
    return [said("assistant", [call]), said("user", [result])]


def of_responses(number: str) -> list[Row]:
    call = {"type": "function_call", "call_id": number, "name": "find", "arguments": "{}"}
    return [call, {"type": "function_call_output", "call_id": number, "output": RESULT}]


@pytest.mark.parametrize(("old", "new"), IDS)
@pytest.mark.parametrize("made", [of_openai, of_anthropic])
def test_an_id_made_anew(made: Any, old: str, new: str, tmp_path: Path) -> None:
    rows = [chat(*HEAD, *made(number), NEXT, at=at, session="s")
            for at, number in enumerate((old, new))]  # fmt: skip
    rows[1]["messages"] += [said("assistant", "It is 40 more."), NEXT]
    found = changes(rows, tmp_path)
    assert [kind for kind, _ in found] == ["request_id", "request_id"]
    assert [path.rpartition(".")[2] for _, path in found] == (
        ["id", "tool_call_id"] if made is of_openai else ["id", "tool_use_id"]
    )


def test_an_id_of_an_item(tmp_path: Path) -> None:
    rows = [
        {"model": "m", "timestamp": 1_764_400_000 + at, "session_id": "s",
         "input": [HEAD[0], HEAD[1], *of_responses(number), NEXT]}
        for at, number in enumerate(("J2CO3x8SI", "OjIIcSKQX"))
    ]  # fmt: skip
    rows[1]["input"] += [said("assistant", "It is 40 more."), NEXT]
    assert changes(rows, tmp_path) == [
        ("request_id", "input[2].call_id"),
        ("request_id", "input[3].call_id"),
    ]


def test_an_id_that_a_tool_was_given_is_no_id_of_a_call(tmp_path: Path) -> None:
    """The same call with other words in it was edited."""
    rows = [
        chat(*HEAD, *of_openai("call_3", f'{{"id": "the {word} room"}}'), NEXT, at=at, session="s")
        for at, word in enumerate(("double", "single"))
    ]
    rows[1]["messages"] += [said("assistant", "It is 40 more."), NEXT]
    assert [kind for kind, _ in changes(rows, tmp_path)] == ["edited_message"]


@pytest.mark.parametrize(
    ("ids", "is_one"), [(("a12345", "b67890"), True), (("a1234", "b6789"), False)]
)
def test_long_ids_are_left_out_of_words_too(ids: tuple[str, str], is_one: bool) -> None:
    """A short one may be any word."""
    made = []
    for number in ids:
        told = said("tool", f"The call {number} gave nothing.", tool_call_id=number)
        prompt = PromptBuilder().prompt([Said(told, "messages[0]")])
        made.append(without_ids(prompt, prompt.messages[0]))
    assert (made[0] == made[1]) == is_one
