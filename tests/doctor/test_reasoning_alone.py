"""A reply that is reasoning and a call, whose reasoning is gone when it is sent again, in the marks
of many families of models: `template_flip`. Written by hand from the models' chat templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doctor.test_dialogues_and_forms import chat, said
from doctor.test_histories import HEAD, changes
from hitpath.doctor.prompt import Part
from hitpath.doctor.thoughts import is_reasoning, is_thought, without_thoughts

if TYPE_CHECKING:
    from pathlib import Path

THOUGHT = "I should read the record. I need one more look.\nThe guest said Friday."
ANSWER = "The room is free."
MARKS = [
    ("<unused94>thought\n", "<unused95>"),  # MedGemma
    ("<|channel>thought\n", "<channel|>"),  # Gemma 4
    ("<|channel|>analysis<|message|>", "<|end|>"),  # gpt-oss
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|think|>", "<|end|>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),  # Kimi
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<think>", "</think>"),
    ("<mm:think>", "</mm:think>"),
    ("<start_working_out>", "<end_working_out>"),
    ('<thinking mode="short">', "</thinking>"),
]
NO_MARKS = [
    "<reasonable_offer id=3> We can do 40.",
    "<endpoint> GET /rooms",
    "<analysis_report.csv> is the file.",
    "<start_date> is thoughtful.",
    "<unused_var> is a thought.",
    "Thinking: of you.",
    "[BEGIN FINAL RESPONSE] We can do 40.",
]
FIELDS = [
    "reasoning_content",
    "encrypted_reasoning",
    "thoughtSignature",
    "modelThinking",
    "thought",
]
NO_FIELDS = ["unthinking_reply", "forethought", "content", "tool_calls", "design_signature_id"]


@pytest.mark.parametrize(("begin", "end"), MARKS)
def test_marks(begin: str, end: str) -> None:
    """The end of the reasoning may be gone: the model called a tool within it."""
    assert is_thought(begin + THOUGHT)
    assert is_thought(begin + THOUGHT + end)
    assert without_thoughts(begin + THOUGHT + end + ANSWER) == ANSWER


@pytest.mark.parametrize(
    ("name", "is_one"), [*((name, True) for name in FIELDS), *((name, False) for name in NO_FIELDS)]
)
def test_fields(name: str, is_one: bool) -> None:
    part = Part(f"messages[2].{name}", "assistant", "string", "gAAAAA")
    assert is_reasoning(part, "assistant") == is_one


@pytest.mark.parametrize("end", ["", "\n[END FINAL RESPONSE]"])
def test_words_that_announce_it_and_no_answer(end: str) -> None:
    text = f"Here are my reasoning steps:\n{THOUGHT}\n[BEGIN FINAL RESPONSE]\n"
    assert is_thought(text + end)
    assert without_thoughts(text + ANSWER) == ANSWER


@pytest.mark.parametrize("text", NO_MARKS)
def test_no_marks(text: str) -> None:
    assert without_thoughts(text) == text


def sent(text: str | None, folder: Path, later: str | None = None) -> list[tuple[str, str]]:
    call = {"id": "call_8d1f02aa", "type": "function",
            "function": {"name": "find", "arguments": "{}"}}  # fmt: skip
    rows = []
    for at, content in enumerate((text, later)):
        reply = said("assistant", content, tool_calls=[call])
        told = said("tool", "Room 12 is free on Friday.", tool_call_id="call_8d1f02aa")
        rows.append(chat(*HEAD, reply, told, said("user", "And breakfast?"), at=at, session="s"))
    rows[1]["messages"] += [said("assistant", "It is 12 more."), said("user", "Fine, book it.")]
    return changes(rows, folder)


@pytest.mark.parametrize(("begin", "end"), MARKS[:3])
@pytest.mark.parametrize("later", [None, ""])
def test_reasoning_alone_that_is_gone(
    begin: str, end: str, later: str | None, tmp_path: Path
) -> None:
    flip = [("template_flip", "messages[2].content")]
    assert sent(begin + THOUGHT, tmp_path, later) == flip
    assert sent(begin + THOUGHT + end, tmp_path, later) == flip


def test_words_that_are_gone_are_no_reasoning(tmp_path: Path) -> None:
    found = sent("I will look for a room that is free on Friday.", tmp_path)
    assert [kind for kind, _ in found] == ["edited_message"]


def test_only_the_tag_of_the_reasoning_went(tmp_path: Path) -> None:
    """The rest of the reply is there yet, so that nothing was edited."""
    words = "Heat the court from below, and open the vents at noon."
    for old, new in ((f"<think> {words}", words), (words, f"<think> {words}")):
        assert sent(old, tmp_path, new) == [("template_flip", "messages[2].content")]


def test_a_plan_beside_calls_is_reasoning(tmp_path: Path) -> None:
    """`tool_plan` of Cohere's chat."""
    call = {"id": "call_8d1f02aa", "type": "function",
            "function": {"name": "find", "arguments": "{}"}}  # fmt: skip
    rows = []
    for at, more in enumerate(({"tool_plan": THOUGHT}, {})):
        reply = said("assistant", None, tool_calls=[call], **more)
        told = said("tool", "Room 12 is free on Friday.", tool_call_id="call_8d1f02aa")
        rows.append(chat(*HEAD, reply, told, said("user", "And breakfast?"), at=at, session="s"))
    rows[1]["messages"] += [said("assistant", "It is 12 more."), said("user", "Fine, book it.")]
    assert [kind for kind, _ in changes(rows, tmp_path)] == ["template_flip"]


CALL = {"id": "call_8d1f02aa", "type": "function",
        "function": {"name": "find", "arguments": '{"signature": "A. Lee"}'}}  # fmt: skip
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "Q2hhbmdlZA=="}}}
THOUGHTS = [{"type": "reasoningContent", "reasoningText": {"text": THOUGHT, "signature": "x"}}]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ({"content": THOUGHTS, "tool_calls": [CALL]}, {"content": None, "tool_calls": [CALL]},
         "template_flip"),  # Bedrock
        ({"content": None, "tool_calls": [SIGNED]}, {"content": None, "tool_calls": [CALL]},
         "template_flip"),  # Gemini
        ({"content": None, "tool_calls": [CALL]},
         {"content": None, "tool_calls": [{**CALL, "function": {"name": "find",
                                                                "arguments": "{}"}}]},
         "truncated_history"),  # what a tool was given is no signature
    ],
)  # fmt: skip
def test_reasoning_beside_calls_that_is_gone(old: Any, new: Any, kind: str, tmp_path: Path) -> None:
    rows = []
    for at, reply in enumerate((old, new)):
        told = said("tool", "Room 12 is free on Friday.", tool_call_id="call_8d1f02aa")
        rows.append(chat(*HEAD, {"role": "assistant", **reply}, told,
                         said("user", "And breakfast?"), at=at, session="s"))  # fmt: skip
    rows[1]["messages"] += [said("assistant", "It is 12 more."), said("user", "Fine, book it.")]
    assert [found for found, _ in changes(rows, tmp_path)] == [kind]
