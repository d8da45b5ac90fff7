"""Summaries that roll on, notes that count, results and calls that were cleared, heads of replies:
in any words and languages, by what became of the messages. Each beside what must not be taken for
it. Prompts are written by hand from the documented shapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from doctor.test_dialogues_and_forms import HOUSE, chat, said
from doctor.test_histories import HEAD, changes, turn
from doctor.test_planted_kinds import findings_of
from hitpath.doctor.history import is_cleared, is_note, result_shortened
from hitpath.doctor.same_words import are_the_same_words
from hitpath.doctor.thoughts import without_thoughts

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
SYSTEM = HEAD[0]
ASKED = "Please look after the boiler of the north wing, it is cold in here."
RESULT = "Pressure 2.1 bar, flow 3.4 litres, pump on, valve half open, no alarm in the last hour."
NOTES = ("Note: 4 earlier messages have been removed from this conversation.", "—— 中略 ——",
         "(Conversation truncated; earlier turns not shown.)", "以前的消息已被截断",
         "[Ältere Nachrichten wurden entfernt]", "Les messages précédents ont été supprimés.",
         "Se omitieron 4 mensajes anteriores.", "Ранние сообщения удалены.",
         "<!-- 4 messages elided -->", "NOTE: older messages were dropped to save tokens.",
         "[NOTE] Some of the earlier conversation was removed. The task remains.")  # fmt: skip
ASKS = ("Why were my older messages removed?", "Please tell me which records were deleted.",
        "Were any results omitted from the table?",
        "[2025-04-19 20:53] Leila: is it ready?")  # fmt: skip
SUMMARIES = ("Summary so far: {a}", "对话历史摘要：{a}", "Samenvatting van het gesprek: {a}",
             "Folded {n}: {a}", "What we know: {a}. That took {n} messages.",
             "Краткое содержание беседы ({n}): {a}", "<handoff>\n{a}\n{n}\n</handoff>")  # fmt: skip


def compared(old: list[Row], new: list[Row], folder: Path, session: str = "s") -> list[str]:
    rows = [chat(*old, at=0, session=session), chat(*new, at=9, session=session)]
    return [kind for kind, _ in changes(rows, folder)]


@pytest.mark.parametrize("note", NOTES)
def test_a_note_in_any_words_tells_that_messages_were_dropped(note: str, tmp_path: Path) -> None:
    assert is_note(note)
    old = [SYSTEM, said("user", ASKED), *turn(1), *turn(2)]
    assert compared(old, [SYSTEM, said("system", note), *turn(2), *turn(3)], tmp_path) == [
        "truncated_history"
    ]


@pytest.mark.parametrize("text", ASKS)
def test_what_a_user_asks_is_no_note(text: str, tmp_path: Path) -> None:
    assert not is_note(text)
    new = [*HEAD, *turn(1)[:-1], said("user", text)]
    assert compared([*HEAD, *turn(1)], new, tmp_path) == []


@pytest.mark.parametrize("note", ["*** {n} turns cut ***", "Se omitieron {n} mensajes.", "({n})"])
def test_a_note_that_counts_on_is_no_counter(note: str, tmp_path: Path) -> None:
    first = said("user", ASKED)
    old = [SYSTEM, first, said("user", note.format(n=4)), *turn(2), *turn(3)]
    new = [SYSTEM, first, said("user", note.format(n=8)), *turn(3), *turn(4)]
    assert compared(old, new, tmp_path) == ["truncated_history"]


def test_a_number_in_a_message_of_which_nothing_was_dropped_counts(tmp_path: Path) -> None:
    kinds = [
        found.comparison.changes[0].kind
        for found in findings_of(
            [
                chat(SYSTEM, said("user", f"Request {n}: {ASKED}"), *turn(1), *turn(n)[: n % 3],
                     said("user", "Go on."), at=9 * n, session="s")
                for n in range(3, 9)
            ],
            tmp_path,
        )[1:]
    ]  # fmt: skip
    assert set(kinds) == {"counter"}


@pytest.mark.parametrize("role", ["user", "system", "assistant"])
@pytest.mark.parametrize("form", SUMMARIES)
def test_a_summary_that_rolls_on_is_one_change(form: str, role: str, tmp_path: Path) -> None:
    one, two = "the boiler of the north wing", "turn the valve number 1 to the left"
    old = [SYSTEM, said(role, form.format(a=one, n=4)), *turn(1), *turn(2), *turn(3)]
    new = [SYSTEM, said(role, form.format(a=f"{one}; {two}", n=8)), *turn(2), *turn(3), *turn(4)]
    assert compared(old, new, tmp_path) == ["compacted_history"]


@pytest.mark.parametrize("form", SUMMARIES)
def test_a_summary_of_the_first_turns_quotes_them(form: str, tmp_path: Path) -> None:
    old = [SYSTEM, said("user", ASKED), *turn(1), *turn(2), *turn(3)]
    told = form.format(a=ASKED[:40], n=4)
    for answer in ([], [said("assistant", "Ok.")]):
        new = [SYSTEM, said("user", told), *answer, *turn(3), *turn(4)]
        assert compared(old, new, tmp_path) == ["compacted_history"]


@pytest.mark.parametrize(
    "form", ["\n\n<CONVERSATION SUMMARY>\n{a}\n</CONVERSATION SUMMARY>", "\nSummary so far: {a}"]
)
def test_a_summary_at_the_end_of_the_instructions(form: str, tmp_path: Path) -> None:
    old = [SYSTEM, said("user", ASKED), *turn(1), *turn(2)]
    longer = said("system", HOUSE + form.format(a=ASKED[:40]))
    assert compared(old, [longer, *turn(2), *turn(3)], tmp_path) == ["compacted_history"]


def test_another_session_has_another_summary_in_its_instructions(tmp_path: Path) -> None:
    heading = "\n\n<CONVERSATION SUMMARY>\n{}\n</CONVERSATION SUMMARY>"
    told = "a double room in May; ninety euros a night, with breakfast", ASKED
    rows = [
        chat(said("system", HOUSE + heading.format(words)), *turn(n), at=n, session=f"s{n}")
        for n, words in enumerate(told)
    ]
    assert changes(rows, tmp_path) == [("compacted_history", "messages[0].content")]


@pytest.mark.parametrize(
    "line", ["Recap the order at the end.\n\nUser: {}", "Give no summary: talk.\nTip: {}\n" + HOUSE]
)
def test_what_stands_behind_a_word_of_summaries_is_no_summary(line: str, tmp_path: Path) -> None:
    rows = [
        chat(said("system", HOUSE + line.format(words)), said("user", f"{n}: {ASKED}"), at=n,
             session=f"s{n}")
        for n, words in enumerate(["Ann Lee", "Bruno Diaz"])
    ]  # fmt: skip
    assert all(kind != "compacted_history" for kind, _ in changes(rows, tmp_path))


def test_a_sample_drawn_anew_beside_a_cut_is_no_summary(tmp_path: Path) -> None:
    system = [said("system", f"{HOUSE}\nTip of the day: {tip}")
              for tip in ("drink enough water", "read the manual twice")]  # fmt: skip
    old = [system[0], said("user", ASKED), *turn(1), *turn(2)]
    found = compared(old, [system[1], *turn(2), *turn(3)], tmp_path)
    assert "compacted_history" not in found
    assert found[1] == "truncated_history"


def test_two_messages_that_are_one_now_are_no_summary(tmp_path: Path) -> None:
    second = "And say whether the pump of the south wing is on as well."
    old = [SYSTEM, said("user", ASKED), said("user", second)]
    new = [SYSTEM, said("user", f"{ASKED}\n\n{second}"), *turn(1)]
    assert compared(old, new, tmp_path) == ["edited_message"]


CLEARED = ["The output of this call is no longer available.", "已清除", "{}", "", "<omitted>",
           "[Alte Werkzeugausgabe gelöscht]", RESULT[:40] + "……（下略）", RESULT[:50] + "--snip--",
           RESULT[-45:], "Visited URL https://intra.example/p/0\nContent omitted"]  # fmt: skip


@pytest.mark.parametrize("left", CLEARED)
def test_a_result_of_which_little_is_left_was_cut(left: str, tmp_path: Path) -> None:
    assert result_shortened(RESULT, left) is not None
    old, new = turn(1), turn(1)
    old[1]["content"], new[1]["content"] = RESULT, left
    before, after = [*HEAD, *old, *turn(2)], [*HEAD, *new, *turn(2), *turn(3)]
    assert compared(before, after, tmp_path) == ["truncated_history"]


@pytest.mark.parametrize(
    "text", [RESULT.replace("half", "fully"), RESULT + " All quiet.", '{"pressure": 2.1}']
)
def test_a_result_that_was_edited_was_not_cut(text: str) -> None:
    told = json.dumps({"pressure": 2.1, "flow": 3.4, "pump": "on"})
    assert result_shortened(told if text[0] == "{" else RESULT, text) is None


def test_a_result_that_had_a_stamp_at_its_end_was_not_cut() -> None:
    assert result_shortened("done\nวันที่ 10 มีนาคม 2569 เวลา 06:27 น.", "done") is None
    assert not is_cleared("Two lines were removed.", "Removed.")


def test_a_result_of_several_parts_that_gave_way_to_a_note_is_one_change(tmp_path: Path) -> None:
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    old, new = turn(1), turn(1)
    old[1]["content"] = [{"type": "text", "text": RESULT}, url]
    new[1]["content"] = "Visited URL https://intra.example/p/0\nContent omitted"
    before, after = [*HEAD, *old, *turn(2)], [*HEAD, *new, *turn(2), *turn(3)]
    assert compared(before, after, tmp_path) == ["truncated_history"]


def test_arguments_of_which_nothing_is_left_were_cut(tmp_path: Path) -> None:
    old, new = turn(1), turn(1)
    new[0]["tool_calls"][0]["function"]["arguments"] = "{}"
    before, after = [*HEAD, *old, *turn(2)], [*HEAD, *new, *turn(2), *turn(3)]
    rows = [chat(*before, at=0, session="s"), chat(*after, at=9, session="s")]
    path = "messages[2].tool_calls[0].function.arguments"
    assert changes(rows, tmp_path) == [("truncated_history", path)]


def test_results_are_known_by_their_calls_where_ids_are_made_anew(tmp_path: Path) -> None:
    def with_ids(mark: str, result: str) -> list[Row]:
        rows = turn(1)
        rows[0]["tool_calls"][0]["id"] = rows[1]["tool_call_id"] = f"call_{mark}f00d"
        rows[1]["content"] = result
        return rows

    old = [*HEAD, *with_ids("8a1b", RESULT), *turn(2)]
    new = [*HEAD, *with_ids("77c0", "[cleared]"), *turn(2), *turn(3)]
    found = compared(old, new, tmp_path)
    assert sorted(set(found)) == ["request_id", "truncated_history"]
    assert found[0] == "request_id"


def test_calls_that_a_reply_took_the_place_of_were_left_out(tmp_path: Path) -> None:
    old = [*HEAD, *turn(1)[:2]]
    new = [*HEAD, said("assistant", "It shows 1 bar now."), said("user", "Thank you. And today?")]
    assert compared(old, new, tmp_path) == ["truncated_history"]


@pytest.mark.parametrize(
    "head", ["Here are my reasoning steps:\n", "```json\n{", "<|START|><|END|>"]
)
def test_words_that_a_template_puts_before_each_reply_are_a_flip(head: str, tmp_path: Path) -> None:
    def prompt(*turns: str) -> str:
        roles = ("user", "assistant")
        said_so_far = [f"<|im_start|>{roles[n % 2]}\n{t}<|im_end|>\n" for n, t in enumerate(turns)]
        begin = f"<|im_start|>system\n{HOUSE}<|im_end|>\n"
        return f"{begin}{''.join(said_so_far)}<|im_start|>assistant\n{head}"

    questions = ("Is the boiler of the north wing on?", "And the pump of the south wing?")
    rows: list[Row] = [
        {"model": "m", "timestamp": at, "session_id": "s", "prompt": prompt(*turns)}
        for at, turns in enumerate([questions[:1], (questions[0], "Yes, it is.", questions[1])])
    ]
    found = findings_of(rows, tmp_path)[-1].comparison.changes
    assert [change.kind for change in found] == ["template_flip"]
    assert prompt(questions[0])[found[0].char_offset :] == head


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Here is my thought process: first the gauge.\n\nHere is my response: 2 bar.", "2 bar."),
        ("Thought: first the gauge.\nFinal Answer: 2 bar.", "2 bar."),
        ("My thoughts on this: it is cold.", "My thoughts on this: it is cold."),
        ("<думать>\nсначала\n</думать>\n\n2 бар.", "2 бар."),
        ("<tool_call>{}</tool_call>", "<tool_call>{}</tool_call>"),
    ],
)
def test_reasoning_announced_in_words(text: str, rest: str) -> None:
    assert without_thoughts(text) == rest


def test_the_first_question_written_otherwise_is_of_one_dialogue(tmp_path: Path) -> None:
    assert are_the_same_words("a list: one, two, three", "three; a list - two, one")
    assert not are_the_same_words("order 61750 is late", "order 47959 is late")
    asked = ['{"open": true, "page": "/orders", "theme": "dark"}\nWhere is it?',
             '{"page": "/orders", "theme": "dark", "open": true}\nWhere is it?']  # fmt: skip
    old = [SYSTEM, said("user", asked[0])]
    assert compared(old, [SYSTEM, said("user", asked[1]), *turn(1)], tmp_path) == ["key_order"]
