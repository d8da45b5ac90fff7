"""Turns of a word or two, replies that a client begins, and pictures that are taken out of what was
said: each beside its hard negative. Written by hand from the documented shapes."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING, Any

import pytest

from doctor.test_dialogues_and_forms import HOUSE, chat, said
from doctor.test_histories import changes
from doctor.test_planted_kinds import findings_of

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
CLIENTS = ["", "x-anthropic-billing-header: cc_version=2.1.10; cc_entrypoint=cli; cch={n};\n\n"]
PREFILLS = ['{"a":', "{", "Sure, here is the JSON:\n"]
QUESTIONS = ["Which gate opens first?", "And the second one?", "Who keeps the keys?"]


def test_short_turns_behind_another_line_are_the_same_turns(tmp_path: Path) -> None:
    rows: list[Row] = []
    turns: list[Row] = []
    for step in range(8):
        turns = [*turns, said("user", f"Question {step}?")]
        line = CLIENTS[step % 3 > 0].format(n=f"a1{step}f")
        rows.append(chat(said("system", line + HOUSE), *turns, at=step, session="s"))
        turns = [*turns, said("assistant", f"Answer {step}.")]
    found = [c for one in findings_of(rows, tmp_path) for c in one.comparison.changes]
    assert {change.kind for change in found} == {"attribution"}
    assert {change.json_path for change in found} == {"messages[0].content"}


def test_a_short_turn_that_is_gone_is_told(tmp_path: Path) -> None:
    turns = [said("assistant" if n % 2 else "user", f"Station {n}.") for n in range(9)]
    rows = [chat(said("system", HOUSE), *turns, at=0, session="s"),
            chat(said("system", HOUSE), *turns[:2], *turns[4:], said("assistant", "Fine."),
                 said("user", "And now?"), at=9, session="s")]  # fmt: skip
    assert changes(rows, tmp_path) == [("truncated_history", "messages[3].content")]


def prefilled(words: str, replies: list[str], folder: Path) -> list[list[tuple[str, str]]]:
    rows: list[Row] = []
    turns = [said("system", HOUSE)]
    for step, question in enumerate(QUESTIONS):
        turns = [*turns, said("user", question)]
        rows.append(chat(*turns, said("assistant", words), at=step, session="s"))
        turns = [*turns, said("assistant", replies[step])]
    return [
        [(change.kind, change.json_path) for change in one.comparison.changes]
        for one in findings_of(rows, folder)
    ]


@pytest.mark.parametrize("words", PREFILLS)
def test_a_reply_that_a_client_begins(words: str, tmp_path: Path) -> None:
    whole = [f'{words} {n}, "b": "north gate {n}"}}' for n in range(3)]
    assert prefilled(words, whole, tmp_path) == [[], [], []]


def test_the_words_of_a_client_that_are_not_in_the_history(tmp_path: Path) -> None:
    rest = [f' {n}, "b": "north gate {n}"}}' for n in range(3)]
    assert prefilled(PREFILLS[0], rest, tmp_path) == [
        [],
        [("template_flip", "messages[2].content")],
        [("template_flip", "messages[4].content")],
    ]


def picture(number: int) -> Row:
    data = base64.b64encode(random.Random(number).randbytes(300)).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def text(words: str) -> Row:
    return {"type": "text", "text": words}


@pytest.mark.parametrize("named", ["s", ""])
@pytest.mark.parametrize("keep", [1, 2])
@pytest.mark.parametrize("note", [[], [text("[image removed]")]])
def test_old_pictures_are_taken_out(note: list[Row], keep: int, named: str, tmp_path: Path) -> None:
    rows: list[Row] = []
    for step in range(7):
        turns = [said("system", HOUSE), said("user", "Book a table for two at the harbour.")]
        for shown in range(step + 1):
            page = ("home", "list", "form", "done")[shown % 4]
            screen = [text(f"Screen after step {shown}, the page {page} is open.")]
            kept = [picture(shown)] if shown > step - keep else note
            turns.append(said("user", [*screen, *kept]))
            turns.append(said("assistant", f"I see the {page}; I click on {7 * shown + 3}."))
        rows.append(chat(*turns[:-1], at=step, session=named))
    found = [[c.kind for c in one.comparison.changes] for one in findings_of(rows, tmp_path)]
    assert found == [*([[]] * keep), *([["truncated_history"]] * (7 - keep))]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ([text("One."), picture(1)], [text("One."), picture(2)], "image_encoding"),
        ([text("The north gate is open."), picture(1)],
         [text("The south gate is open."), picture(1)], "edited_message"),
        ([text("One."), picture(1), picture(2)], [text("One."), picture(2)], "truncated_history"),
        ([text("<system-reminder>Use the list.</system-reminder>"), text("Open the north gate.")],
         [text("Open the north gate.")], "edited_message"),
    ],
)  # fmt: skip
def test_what_became_of_blocks(old: list[Row], new: list[Row], kind: str, tmp_path: Path) -> None:
    rows = [chat(said("system", HOUSE), said("user", blocks), said("assistant", "It is done now."),
                 said("user", "Thank you for that."), at=at, session="s")
            for at, blocks in enumerate((old, new))]  # fmt: skip
    rows[1]["messages"] += [said("assistant", "With pleasure."), said("user", "And now?")]
    assert [found for found, _ in changes(rows, tmp_path)] == [kind]


@pytest.mark.parametrize("left", ["[cleared]", "", [], None, [text("[image omitted]")]])
@pytest.mark.parametrize("is_openai", [True, False])
def test_a_result_of_text_and_picture_is_gone_at_once(
    left: Any, is_openai: bool, tmp_path: Path
) -> None:
    """Behind a clock, and with the same picture once more in the history."""
    words = "The page shows a list of rooms, and the prices of all of them for the next week."
    blocks = [text(words), picture(1)]

    def result(content: Any, number: str) -> list[Row]:
        function = {"name": "look", "arguments": "{}"}
        if is_openai:
            call = {"id": number, "type": "function", "function": function}
            return [said("assistant", None, tool_calls=[call]),
                    said("tool", content, tool_call_id=number)]  # fmt: skip
        call = {"type": "tool_use", "id": number, "name": "look", "input": {}}
        told = {"type": "tool_result", "tool_use_id": number, "content": content}
        told = {name: value for name, value in told.items() if value is not None}
        return [said("assistant", [call]), said("user", [told])]

    rows = [
        chat(said("system", f"Time: 2026-03-09 10:15:{minute}.\n{HOUSE}"),
             said("user", "Look after the rooms."), *result(content, "call_8d1f02aa"),
             *result([text("Nothing new."), picture(1)], "call_5e90b3c7"), at=at, session="s")
        for at, (minute, content) in enumerate((("01", blocks), ("33", left)))
    ]  # fmt: skip
    rows[1]["messages"] += [said("assistant", "It is done."), said("user", "And now?")]
    assert [kind for kind, _ in changes(rows, tmp_path)] == ["clock", "truncated_history"]


AROUND = [
    "<documents>\n{d}\n</documents>\n\n{q}",
    "{q}\n\nContext: {d}",
    "Context: {d}\n\nQuestion: {q}",
    "Use the pages below.\n\n{q}\n\n{d}",
]
ASKED = ["Which ferry goes to the island on Sunday morning?",
         "And what does it cost with a bicycle and a child?",
         "Where do I change the boat if there is a storm?"]  # fmt: skip


@pytest.mark.parametrize("named", ["s", ""])
@pytest.mark.parametrize("form", AROUND)
def test_what_stood_around_a_question_for_one_call(form: str, named: str, tmp_path: Path) -> None:
    """The history holds the plain question: its words were sent otherwise before. No window."""
    rows: list[Row] = []
    turns = [said("system", HOUSE)]
    for step, question in enumerate(ASKED):
        pages = " ".join(f"Page {step} of the timetable tells of pier {n}." for n in range(9))
        rows.append(chat(*turns, said("user", form.format(q=question, d=pages)), at=step,
                         session=named))  # fmt: skip
        turns += [said("user", question), said("assistant", f"The ferry {step} goes at nine.")]
    found = [one.comparison.changes for one in findings_of(rows, tmp_path)]
    assert [[(c.kind, c.json_path) for c in told][:1] for told in found] == [
        [], [("edited_message", "messages[1].content")], [("edited_message", "messages[3].content")]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "told",
    ["Rezumatul conversației de până acum: {t}", "Σύνοψη της συνομιλίας: {t}",
     "Tóm tắt cuộc trò chuyện: {t}", "สรุปการสนทนา: {t}", "A beszélgetés összefoglalása: {t}",
     "Souhrn rozhovoru: {t}", "خلاصه گفتگو: {t}"],
)  # fmt: skip
def test_summaries_of_further_languages(told: str, tmp_path: Path) -> None:
    turns = [said("assistant" if n % 2 else "user", f"Station {n} of the way is by the old mill.")
             for n in range(8)]  # fmt: skip
    told = told.format(t="the way goes by eight stations, and the mill is one of them")
    after = [*turns[5:], said("assistant", "Fine."), said("user", "And now?")]
    rows = [chat(said("system", HOUSE), *turns, at=0, session="s"),
            chat(said("system", HOUSE), said("user", told), *after, at=9, session="s")]  # fmt: skip
    assert [kind for kind, _ in changes(rows, tmp_path)] == ["compacted_history"]


@pytest.mark.parametrize("named", ["s", ""])
@pytest.mark.parametrize("moved_by", [0, 5])
def test_a_completion_of_code_in_a_chat_is_one_document(
    moved_by: int, named: str, tmp_path: Path
) -> None:
    """However little of the window is left, the clock above it is told."""
    lines = [f"def gate_{n}(key):\n    return key.turn({n * 7}) and lamp_{n}.lit\n"
             for n in range(16)]  # fmt: skip
    rows = []
    for at in range(2):
        first = moved_by * at
        code = "".join(lines[first : first + 6]) + "<|fim_suffix|>" + lines[first + 6]
        text = f"# opened at 2026-03-09 10:15:0{at}\n<|fim_prefix|>{code}<|fim_middle|>"
        rows.append(chat(said("system", HOUSE), said("user", text), at=at, session=named))
    assert changes(rows, tmp_path) == [("clock", "messages[1].content")]


def test_two_questions_are_no_document(tmp_path: Path) -> None:
    asked = ["It is 10:15:00 and I look for the gate.", "At 10:15:09 the lamp went out; why?"]
    rows = [chat(said("system", HOUSE), said("user", text), at=at) for at, text in enumerate(asked)]
    assert changes(rows, tmp_path) == []
