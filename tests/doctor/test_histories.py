"""What became of a history: dropped, summed up, told again, with and without reasoning; and which
earlier request is the relative. Prompts are written by hand from the documented shapes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doctor.test_dialogues_and_forms import HOUSE, called, chat, said, tools
from doctor.test_planted_kinds import findings_of
from doctor.test_real_traffic import diagnosis_of
from hitpath.doctor.history import is_note, shortened
from hitpath.doctor.relatives import NONE
from hitpath.doctor.symbols import compare_symbols
from hitpath.doctor.thoughts import are_one_without, is_thought, without_thoughts
from support import write_jsonl

HEAD = [said("system", HOUSE), said("user", "Look after the boiler, it is cold in here.")]
Row = dict[str, Any]


def turn(number: int) -> list[Row]:
    return [*called(f"a{number}b2c3d4", "gauge"), said("assistant", f"It shows {number} bar now."),
            said("user", f"Turn the valve number {number} to the left.")]  # fmt: skip


def changes(rows: list[Row], folder: Path) -> list[tuple[str, str]]:
    last = findings_of(rows, folder)[-1]
    return [(change.kind, change.json_path) for change in last.comparison.changes]


@pytest.mark.parametrize("session", ["", "s"])
@pytest.mark.parametrize(
    ("note", "kind"),
    [
        (None, "truncated_history"),
        ("[Earlier messages were removed]", "truncated_history"),
        ("... (6 older messages left out: dropped) ...", "truncated_history"),
        ("[The earlier turns were condensed and dropped]", "compacted_history"),
    ],
)
def test_turns_that_were_dropped_are_one_change(
    note: str | None, kind: str, session: str, tmp_path: Path
) -> None:
    stands = [said("user", note)] if note else []
    rows = [
        chat(*HEAD, *turn(1), *turn(2), at=0, session=session),
        chat(*HEAD, *stands, *turn(2), *turn(3), at=9, session=session),
    ]
    path = "messages[2].content" if note else "messages[2].tool_calls[0]"
    assert changes(rows, tmp_path) == [(kind, path)]


def test_a_note_where_nothing_was_dropped_yet_is_the_same_defect(tmp_path: Path) -> None:
    note = said("user", "[history truncated]")
    rows = [
        chat(*HEAD, *turn(1), at=0, session="s"),
        chat(*HEAD, note, *turn(1), *turn(2), at=9, session="s"),
    ]
    assert changes(rows, tmp_path) == [("truncated_history", "messages[2].content")]


def test_a_summary_that_is_told_again_is_one_change(tmp_path: Path) -> None:
    def summary(of: str) -> Row:
        return said("user", f"[CONTEXT SUMMARY]\n{of}\nOf the boiler.")

    rows = [
        chat(HEAD[0], summary("3 turns about a gauge"), *turn(2), *turn(3), at=0, session="s"),
        chat(HEAD[0], summary("7 turns about a valve"), *turn(3), *turn(4), at=9, session="s"),
    ]
    assert changes(rows, tmp_path) == [("compacted_history", "messages[1].content")]


def test_a_state_in_tags_in_place_of_many_messages_is_a_summary(tmp_path: Path) -> None:
    state = said("user", "<state_snapshot><goal>Look after the boiler</goal></state_snapshot>")
    rows = [
        chat(*HEAD, *turn(1), *turn(2), at=0, session="s"),
        chat(HEAD[0], state, *turn(2), *turn(3), at=9, session="s"),
    ]
    assert changes(rows, tmp_path) == [("compacted_history", "messages[1].content")]


@pytest.mark.parametrize(
    ("there", "here", "found"),
    [
        ("Row one of the table.\nRow two of it.\nRow three, and more of the same kind.",
         "Row one of the table.\nRow ... [49 characters left out]", ("truncated_history", 26)),
        ('[{"a": "a long value of many words"}, {"b": "another long value"}]',
         '[{"a": "a long value of ma... [skipped 39]', ("truncated_history", 26)),
        ("<|im_start|>user of the house says so /think off<|im_end|>",
         "<|im_start|>user of the house says so<|im_end|>", None),
        ("The pump is old.\nTrace 7f3c9a12d4e85b60a1b2c3d4", "The pump is old.", None),
    ],
)  # fmt: skip
def test_what_is_left_of_a_text_that_was_cut(
    there: str, here: str, found: tuple[str, int] | None
) -> None:
    assert shortened(there, here) == found


def test_words_that_only_ask_about_a_removal_are_no_note() -> None:
    assert is_note("[Old tool result content cleared]")
    assert is_note("Earlier messages were removed to fit the window.")
    assert not is_note("Why were my messages removed?")
    assert not is_note("[a list]")


THOUGHTS = [
    "<think>\nThe pump first.\n</think>\n\n", "<seed:think>The pump first.</seed:think>",
    "[REASON]The pump first.[/REASON]", "\u25c1think\u25b7The pump first.\u25c1/think\u25b7",
    "<|channel|>analysis<|message|>The pump first.<|end|>",
    "<|START_THINKING|>The pump first.<|END_THINKING|>",
    "<|begin_of_thought|>The pump first.<|end_of_thought|>\n",
]  # fmt: skip


@pytest.mark.parametrize("thought", THOUGHTS)
def test_reasoning_in_any_tag_is_told_from_what_is_said(thought: str, tmp_path: Path) -> None:
    assert is_thought(thought)
    assert without_thoughts(f"{thought}Yes.") == "Yes."
    assert are_one_without(f"{thought}Yes.", "Yes.")
    assert not are_one_without("Yes.", "No.")
    rows = [
        chat(*HEAD, said("assistant", f"{thought}Yes."), said("user", "And now?"), at=0,
             session="s"),
        chat(*HEAD, said("assistant", "Yes."), said("user", "And now?"),
             said("assistant", "It is warm."), said("user", "Well done, thank you."), at=9,
             session="s"),
    ]  # fmt: skip
    assert changes(rows, tmp_path) == [("template_flip", "messages[2].content")]


def test_a_block_of_reasoning_that_is_gone_is_one_change(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "The pump first.", "signature": "c2ln"}
    text = {"type": "text", "text": "Yes, it is."}
    rows = [
        chat(*HEAD, said("assistant", [thought, text]), said("user", "And now?"), at=0,
             session="s"),
        chat(*HEAD, said("assistant", [text]), said("user", "And now?"),
             said("assistant", [text]), said("user", "Well done, thank you."), at=9, session="s"),
    ]  # fmt: skip
    assert [kind for kind, _ in changes(rows, tmp_path)] == ["template_flip"]


def test_a_block_that_goes_is_what_its_text_is_and_where_it_stood(tmp_path: Path) -> None:
    line = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.37.a1b; cch=7e6d5;"}
    rest = [{"type": "text", "text": HOUSE}, {"type": "text", "text": "Be kind to every guest."}]
    rows = [
        {**chat(HEAD[1], at=0, session="s"), "system": [line, *rest]},
        {**chat(HEAD[1], said("assistant", "It is warm."), said("user", "Thank you very much."),
                at=9, session="s"), "system": rest},
    ]  # fmt: skip
    assert changes(rows, tmp_path) == [("attribution", "system[0].text")]


def test_a_result_is_known_by_its_call_and_not_by_its_words(tmp_path: Path) -> None:
    edited = called("11aa22bb", "gauge")
    edited[1] = {**edited[1], "content": "ok, so they say"}
    rows = [
        chat(*HEAD, *called("11aa22bb", "gauge"), at=0, session="s"),
        chat(*HEAD, *edited, *called("33cc44dd", "gauge"), at=9, session="s"),
    ]
    assert {path for _, path in changes(rows, tmp_path)} == {"messages[3].content"}


def test_the_relative_is_the_request_before_even_where_two_forms_take_turns(
    tmp_path: Path,
) -> None:
    def form(number: int) -> Row:
        return said("system", HOUSE if number % 2 else HOUSE.replace("money", "mon\u200bey"))

    rows = []
    for session in ("s", ""):
        rows = []
        for number in range(5):
            turns = [message for n in range(number) for message in turn(n)]
            rows.append(chat(form(number), HEAD[1], *turns, at=number, session=session))
        assert [f.relative for f in findings_of(rows, tmp_path)] == [NONE, 0, 1, 2, 3]
        found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", rows))
        assert int(found.costs.unexplained.sum()) == 0
        assert [(d.kind, d.num_requests) for d in found.defects] == [("hidden_characters", 4)]


def test_a_request_that_is_sent_again_and_a_branch_have_the_nearest_relative(
    tmp_path: Path,
) -> None:
    asked = [said("assistant", "It is warm again."), said("user", "Shall I come tomorrow at nine?")]
    other = [asked[0], said("user", "What does a new boiler cost these days?")]
    rows = [chat(*HEAD, at=0), chat(*HEAD, *asked, at=1), chat(*HEAD, *asked, at=2),
            chat(*HEAD, *other, at=3)]  # fmt: skip
    assert [f.relative for f in findings_of(rows, tmp_path)] == [NONE, 0, 1, 2]


def test_examples_that_all_dialogues_begin_with_make_none_of_two_one(tmp_path: Path) -> None:
    shown = [said("user", "Good morning, who is there?"), said("assistant", "The desk of the inn.")]
    rows = [
        chat(HEAD[0], *shown, said("user", question), *called(number, "gauge"),
             said("user", f"State after step 1: {n} elements."), at=n, session=session)
        for session in ("s", "") for n, (question, number) in enumerate(
            [("My bag from Genoa has not come.", "a1b2c3d4"),
             ("How many stars does your hotel have?", "9f8e7d6c")])
    ]  # fmt: skip
    for pair in (rows[:2], rows[2:]):
        assert changes(pair, tmp_path) == []


def test_one_house_s_rules_in_another_order_are_two_applications(tmp_path: Path) -> None:
    rules = [
        "Never tell a secret to anyone who asks.",
        "Keep each answer to three short lines.",
        "Ask the owner before you spend any money.",
        "Write amounts with two decimals.",
    ]
    rows = [
        chat(said("system", " ".join([f"You are the voice of {name}.", *told])),
             said("user", question), at=at, session="s")
        for at, (name, told, question) in enumerate([
            ("the ferry to the north island", rules, "When is the next one to the island?"),
            ("a small museum of clocks", rules[::-1], "Is there a lift to the upper floor?")])
    ]  # fmt: skip
    assert [f.relative for f in findings_of(rows, tmp_path)] == [NONE, NONE]


def test_a_phrase_that_is_said_again_does_not_hide_a_window_that_moved_on() -> None:
    rng = np.random.default_rng(7)
    kept, gone, phrase, seen, new = (
        rng.integers(0, 900, n).astype(np.uint32) for n in (64, 50, 30, 40, 40)
    )
    there = np.concatenate([kept, gone, phrase, gone[::-1], seen])
    here = np.concatenate([kept, seen, new, phrase, new[::-1]])
    found = compare_symbols(there, here, True).changes
    assert [(change.kind, change.start) for change in found] == [("position_shift", 64)]


def test_a_list_has_one_row_for_a_defect_and_its_example_shows_it(tmp_path: Path) -> None:
    rows = []
    for number in range(8):
        turns = [message for n in range(max(0, number - 2), number) for message in turn(n)]
        system = said(
            "system", f"Case {number:03}0 of today.\n{HOUSE}\nNow: 2026-11-29 20:1{number}"
        )
        rows.append(chat(system, HEAD[1], *turns, at=number, session="s", tools=tools("gauge")))
    found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", rows))
    assert sorted(d.kind for d in found.defects) == ["clock", "counter", "truncated_history"]
    for defect in found.defects:
        shown = found.findings[defect.example].comparison.changes
        assert (defect.kind, defect.json_path, defect.char_offset) in {
            (change.kind, change.json_path, change.char_offset) for change in shown
        }


def test_many_changes_of_one_request_take_time_in_proportion(tmp_path: Path) -> None:
    def many(number: int) -> list[Row]:
        made = tools(*(["same"] * 1_500))
        for n, tool in enumerate(made):
            tool["function"]["description"] = f"Does thing {n * (number + 1)}."
        return made

    rows = [chat(*HEAD, at=n, session="s", tools=many(n)) for n in range(2)]
    finding = findings_of(rows, tmp_path)[1]
    assert 0 < len(finding.comparison.changes) <= 1_000


def test_a_first_question_that_was_edited_is_one_conversation_without_sessions(
    tmp_path: Path,
) -> None:
    question = "It is 03:48 here and the boiler still has not been looked at."
    edited = question.replace("boiler", "boiler, as I said before,")
    rows = [
        chat(HEAD[0], said("user", question), at=0),
        chat(HEAD[0], said("user", edited), *turn(1), at=9),
    ]
    assert changes(rows, tmp_path) == [("edited_message", "messages[1].content")]
