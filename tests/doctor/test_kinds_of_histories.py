"""Histories that were taken for something else: calls of tools for summaries, reasoning in fields,
ids that are given out again, windows in one text, reminders, summaries told anew. Each beside its
hard negative. Prompts are written by hand from the documented shapes."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.test_dialogues_and_forms import HOUSE, called, chat, said
from doctor.test_histories import HEAD, changes, turn
from doctor.test_planted_kinds import findings_of
from doctor.test_real_traffic import diagnosis_of
from hitpath.doctor.compare_message import _paired_best
from hitpath.doctor.id_texts import compare_texts
from hitpath.doctor.shapes import overlap, words_of
from hitpath.doctor.symbols import compare_symbols
from support import write_jsonl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Row = dict[str, Any]
SYSTEM = said("system", HOUSE)
THOUGHT = "The guest wants a double room; room 12 is free."
ANSWER = "Yes, room 12 is free on Friday."
FIRST = said("user", "Is there a room for two people on Friday night?")
NEXT = said("user", "And what would it cost with breakfast?")


def call(number: str, name: str, arguments: str) -> list[Row]:
    function = {"name": name, "arguments": arguments}
    made = {"id": f"call_{number}", "type": "function", "function": function}
    return [said("assistant", None, tool_calls=[made]),
            said("tool", f"{name} gave {arguments}", tool_call_id=f"call_{number}")]  # fmt: skip


def kinds(before: list[Row], after: list[Row], folder: Path, session: str = "s") -> list[str]:
    rows = [chat(*before, at=0, session=session), chat(*after, at=9, session=session)]
    return [kind for kind, _ in changes(rows, folder)]


def test_a_call_of_a_tool_that_makes_summaries_is_no_summary(tmp_path: Path) -> None:
    old, new = (call(number, "summarise_branch", '{"branch": "main"}')
                for number in ("8d1f02aa", "5e90b3c7"))  # fmt: skip
    found = kinds([*HEAD, *old, NEXT], [*HEAD, *new, NEXT, *turn(2)], tmp_path)
    assert found == ["request_id", "request_id"]


def test_words_of_a_user_that_sum_up_are_a_summary(tmp_path: Path) -> None:
    summary = said("user", "<summary>\nThe boiler was looked at, and it is fixed.\n</summary>")
    before = [*HEAD, *turn(1), *turn(2)]
    found = kinds(before, [SYSTEM, summary, *turn(3)], tmp_path)
    assert found == ["compacted_history"]


def thinking(text: str) -> list[Row]:
    return [{"type": "thinking", "thinking": text, "signature": "c2lnbmF0dXJl"},
            {"type": "text", "text": ANSWER}]  # fmt: skip


def in_field(text: str | None) -> Row:
    return {"content": ANSWER, "reasoning_content": text}


REDACTED = {"content": [{"type": "redacted_thinking", "data": "b3BhcXVl" * 6},
                        {"type": "text", "text": ANSWER}]}  # fmt: skip
REASONING: list[tuple[Row, Row, str]] = [
    (in_field(""), in_field(THOUGHT), "template_flip"),
    (in_field(THOUGHT), in_field(""), "template_flip"),
    (in_field(None), in_field(THOUGHT), "template_flip"),
    (in_field(THOUGHT), in_field("x"), "template_flip"),
    ({"content": ANSWER}, in_field(THOUGHT), "template_flip"),
    ({"content": thinking("")}, {"content": thinking(THOUGHT)}, "template_flip"),
    ({"content": thinking(THOUGHT)}, REDACTED, "template_flip"),
    (in_field(THOUGHT), in_field(f"{THOUGHT} "), "white_space"),
    ({"content": ANSWER}, {"content": f"{ANSWER} "}, "white_space"),
    (
        {"content": ANSWER},
        {"content": "Yes, a room with a view is free on Friday."},
        "edited_message",
    ),
]


@pytest.mark.parametrize(("before", "after", "kind"), REASONING)
def test_reasoning_that_comes_and_goes_is_no_edit(
    before: Row, after: Row, kind: str, tmp_path: Path
) -> None:
    old, new = ({"role": "assistant", **message} for message in (before, after))
    found = kinds([SYSTEM, FIRST, old, NEXT], [SYSTEM, FIRST, new, NEXT, *turn(2)], tmp_path)
    assert set(found) == {kind}


def dialogue(who: str, question: str, arguments: str, number: str) -> list[Row]:
    return [SYSTEM, said("user", question), said("assistant", f"Certainly, {who}, I look at it."),
            *call(number, "get_details", arguments)]  # fmt: skip


@pytest.mark.parametrize(("is_same", "relative"), [(False, None), (True, "told")])
def test_ids_of_calls_that_are_given_out_again_join_no_dialogues(
    is_same: bool, relative: str | None, tmp_path: Path
) -> None:
    """Recorded agents give ids out again; one call that stands in both is one dialogue."""
    first = dialogue("Mia", "Book me a flight to Seattle, please.", '{"user_id": "mia_li"}', "7")
    other = dialogue("Omar", "Move my trip by a week, please.", '{"user_id": "omar_rossi"}', "7")
    rows = [chat(*first, at=0), chat(*(first if is_same else other), *turn(3), at=9)]
    last = findings_of(rows, tmp_path)[-1]
    assert last.same_session == (relative is not None)
    assert not last.comparison.changes


def test_a_dialogue_that_begins_anew_in_a_session_is_new(tmp_path: Path) -> None:
    one = said("user", "For the third time: my card is broken, see ticket #66944.")
    other = said("user", "For the third time: my loan is broken, see ticket #25584.")
    assert kinds([SYSTEM, one, *turn(1)], [SYSTEM, other], tmp_path) == []
    assert kinds([SYSTEM, one, *turn(1)], [SYSTEM, other, *turn(1), NEXT], tmp_path) != []


CONTINUED = said(
    "user", "This session is being continued from a previous conversation. Nothing is open."
)


def test_a_session_that_says_that_it_goes_on_was_compacted(tmp_path: Path) -> None:
    before = [*HEAD, *turn(1)]
    assert kinds(before, [SYSTEM, CONTINUED, *turn(5)], tmp_path, "") == ["compacted_history"]
    assert kinds([SYSTEM, CONTINUED, NEXT], [SYSTEM, CONTINUED, *turn(5)], tmp_path, "") == []


def test_a_summary_that_is_told_anew_behind_an_example_is_one_change(tmp_path: Path) -> None:
    example = [said("user", "Good morning, who is this?"),
               said("assistant", "The assistant. How can I help?")]  # fmt: skip

    def summed(text: str) -> Row:
        return said("user", f"[CONTEXT SUMMARY]\n{text}\nSome turns were condensed.")

    old = [SYSTEM, *example, summed("The boiler is cold."), *turn(1), *turn(2)]
    new = [SYSTEM, *example, summed("The boiler is cold, valve 1 was turned."), *turn(2), *turn(3)]
    assert kinds(old, new, tmp_path) == ["compacted_history"]
    asked = [said("user", f"Write a summary of the log of {day}, in five lines at most.")
             for day in ("Monday", "Tuesday")]  # fmt: skip
    before = [*HEAD, *turn(1)]
    found = kinds([*before, asked[0], *turn(2)], [*before, asked[1], *turn(2), NEXT], tmp_path)
    assert "compacted_history" not in found
    assert found


def picture(data: str) -> Row:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data * 12}"}}


@pytest.mark.parametrize(
    ("stands", "kind"),
    [({"type": "text", "text": "[image omitted]"}, "truncated_history"),
     (picture("c2Nyb2xs"), "image_encoding")],
)  # fmt: skip
def test_a_note_in_the_place_of_a_picture_is_no_encoding(
    stands: Row, kind: str, tmp_path: Path
) -> None:
    words = {"type": "text", "text": "The page after the first action."}
    old = [*HEAD, said("user", [words, picture("aW1hZ2Ux")]), NEXT]
    new = [*HEAD, said("user", [words, stands]), NEXT, *turn(2)]
    assert kinds(old, new, tmp_path) == [kind]


def test_a_reminder_that_every_request_ends_with_has_moved(tmp_path: Path) -> None:
    def reminder(number: int) -> Row:
        return said("system", f"Reminder: {number} tasks are open, be brief.")

    rows = [chat(*HEAD, reminder(48), at=0, session="s"),
            chat(*HEAD, *called("9a8b7c6d", "gauge"), reminder(47), at=9, session="s")]  # fmt: skip
    last = findings_of(rows, tmp_path)[-1].comparison
    assert [(c.kind, c.json_path, c.stop - c.start) for c in last.changes] == [
        ("moved_block", "messages[2]", 0)
    ]
    put_in = kinds([*HEAD, NEXT], [*HEAD, said("system", "Be brief."), NEXT, *turn(2)], tmp_path)
    assert put_in == ["edited_message"]


TUTOR = "You are a patient tutor of physics.\n\n"
LINES = [f"{who}: sentence {n} speaks of the lever, of weight {n * 7} and of {n * 3} arms.\n"
         for n in range(24) for who in ("User", "Tutor")]  # fmt: skip


@pytest.mark.parametrize(
    ("cut", "kind"), [(633, "position_shift"), (len("".join(LINES[:8])), "truncated_history")]
)
def test_a_window_that_cuts_into_one_text_has_moved_on(cut: int, kind: str, tmp_path: Path) -> None:
    """By lines it is the history that was cut, between two letters the window moved on."""
    told = "".join(LINES[:40])
    rows = [{"id": "a", "arrival_s": 0, "session": "s", "prompt": TUTOR + told},
            {"id": "b", "arrival_s": 9, "session": "s",
             "prompt": TUTOR + told[cut:] + "".join(LINES[40:44])}]  # fmt: skip
    last = findings_of(rows, tmp_path)[-1].comparison
    assert [c.kind for c in last.changes] == [kind]
    if kind == "position_shift":
        assert [(c.char_offset, c.stop - c.start) for c in last.changes] == [(len(TUTOR), 0)]
        assert sum(b - a for a, b in last.kept) == len(TUTOR) + len(told) - cut


def test_a_mark_that_only_the_last_question_has_is_no_window(tmp_path: Path) -> None:
    def sent(*said_: str) -> str:
        return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in
                       zip(("system", "user", "assistant", "user"), said_, strict=False)
                       ) + "<|im_start|>assistant\n"  # fmt: skip

    question = "Where is the gate for the flight to Tromsø, and when does it close?"
    rows = [{"id": "a", "arrival_s": 0, "session": "s", "prompt": sent(HOUSE, f"[LAST]{question}")},
            {"id": "b", "arrival_s": 9, "session": "s",
             "prompt": sent(HOUSE, question, "Gate 7, at ten.", "[LAST]Thanks!")}]  # fmt: skip
    last = findings_of(rows, tmp_path)[-1].comparison
    assert [c.kind for c in last.changes][:1] == ["template_flip"]


def test_a_reworded_question_without_sessions_is_an_edit_where_it_has_its_number(
    tmp_path: Path,
) -> None:
    def asked(text: str) -> list[Row]:
        return [*HEAD, said("assistant", "The boiler is cold, I see."), said("user", text)]

    old = "The letter says 18ba14d3a988 under the barcode, is that my reservation?"
    new = (
        "The letter, as I said before, says 18ba14d3a988 under the barcode, is that my reservation?"
    )
    assert kinds(asked(old), [*asked(new), *turn(2)], tmp_path, "") == ["edited_message"]
    other = "The letter says 18ba14d3a988 at its top, and I lost the barcode on the way home."
    assert kinds(asked(old), [*asked(other), *turn(2)], tmp_path, "") == []


def test_what_differs_first_is_the_first_token_and_the_smallest_string(tmp_path: Path) -> None:
    """Of a truncated history the role's name differs before any text does; of new questions the
    text, and not what the block says of itself."""
    rows = [chat(*HEAD, *turn(1), at=0, session="s"),
            chat(*HEAD, turn(1)[-1], *turn(2), at=9, session="s"),
            chat(SYSTEM, said("user", [{"type": "text", "text": "Where is it?"}, picture("YQ==")]),
                 at=20),
            chat(SYSTEM, said("user", [{"type": "text", "text": "When is it?"}, picture("YQ==")]),
                 at=30)]  # fmt: skip
    found = findings_of(rows, tmp_path)
    assert found[1].comparison.changes[0].offset == found[1].common
    new = found[3].comparison.new_at
    assert new is not None
    assert (new.json_path, new.char_offset) == ("messages[1].content[0].text", 3)


def shuffled(order: list[int], question: str) -> list[Row]:
    notes = "\n".join(f'<doc id="{n}">\n{"Article " + str(n) + " of the rules. " * 12}</doc>'
                      for n in order)  # fmt: skip
    head = " ".join(f"Rule {n} of the house holds for all guests." for n in range(14))
    return [said("system", f"{head}\nContext:\n{notes}"), said("user", question)]


def test_of_equal_documents_the_request_with_their_order_is_the_relative(tmp_path: Path) -> None:
    """One system prompt and other documents are one application."""
    orders = [[1, 2, 3, 4, 5], [5, 3, 1, 2, 4], [2, 1, 5, 4, 3], [1, 2, 3, 4, 5], [7, 8, 9, 6, 11]]
    rows = [chat(*shuffled(order, f"What of point {n}?"), at=9 * n)
            for n, order in enumerate(orders)]  # fmt: skip
    found = findings_of(rows, tmp_path)
    assert found[3].relative == 0
    assert not found[3].comparison.changes
    assert len({finding.application for finding in found}) == 1


def test_tokens_that_only_another_request_explains_have_their_defect(tmp_path: Path) -> None:
    """The last question is the first one's, its tools are in the order of the second: the relative
    has these tools and another question, the first request the question behind other tools."""
    tools = [{"type": "function", "function": {"name": name, "description": f"Does {name}."}}
             for name in ("search", "refund", "export", "update")]  # fmt: skip
    question = "Could you compare the seedling with the delivery for me, in a table?"
    rows = [
        chat(SYSTEM, said("user", question), at=0, tools=tools),
        chat(SYSTEM, said("user", "What is open on Sundays?"), at=9, tools=tools[::-1]),
        chat(SYSTEM, said("user", question), at=20, tools=tools[::-1]),
    ]
    found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", rows))
    last = found.findings[2]
    assert (last.relative, last.comparison.changes) == (1, ())
    assert found.costs.lost[2] >= len(question)
    assert found.costs.unexplained.sum() == 0
    (defect,) = found.defects
    assert defect.kind == "tool_order"
    assert defect.tokens_invalidated == found.costs.lost.sum()


@pytest.mark.parametrize("field", ["salt", "adapter"])
def test_another_salt_costs_what_a_trace_without_salts_reuses(field: str, tmp_path: Path) -> None:
    said_so_far = [SYSTEM, FIRST]
    rows: list[Row] = []
    for number in range(8):
        salt = "ab"[number // 2 % 2]
        row = {"id": str(number), "arrival_s": 9 * number, "session": "s",
               "messages": list(said_so_far)}  # fmt: skip
        rows.append({**row, "context": {field: salt}})
        said_so_far += turn(number)
    with_salts = diagnosis_of(write_jsonl(tmp_path / "a.jsonl", rows), block_size=1)
    bare = [{k: v for k, v in row.items() if k != "context"} for row in rows]
    without = diagnosis_of(write_jsonl(tmp_path / "b.jsonl", bare), block_size=1)
    (defect,) = with_salts.defects
    assert defect.kind == "context_changed"
    hits = [int(d.trace.prompt_tokens.sum() * (d.before or 0) + 0.5) for d in (with_salts, without)]
    assert defect.tokens_invalidated == hits[1] - hits[0] > 0


def numbers(text: str) -> np.ndarray:
    """Ids that are bytes of their text."""
    return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.uint32)


def decoded(ids: Sequence[int]) -> str:
    return bytes(ids).decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("value", "other", "kind"),
    [("10:15:07", "10:16:52", "clock"), ("terse answers", "long answers", "?words")],
)
def test_ids_with_a_tokenizer_tell_the_kind_by_their_text(
    value: str, other: str, kind: str
) -> None:
    texts = [f"You help in a hotel.\nNow: {word}\n{HOUSE * 3}" for word in (value, other)]
    one, two = (numbers(text) for text in texts)
    by_ids = compare_symbols(one, two, True, decoded)
    assert {change.kind for change in by_ids.changes} == {"edited_message"}
    told = compare_texts(one, two, True, by_ids, decoded)
    assert told is not None
    (change,) = told.changes
    assert (change.kind, change.json_path) == (kind, "tokens")
    first = next(n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
    assert change.offset == change.char_offset == first


def test_ids_that_part_characters_keep_what_their_runs_tell() -> None:
    one, two = numbers(f"Now: 10:15 in Tromsø\n{HOUSE}"), numbers(f"Now: 10:16 in Tromsø\n{HOUSE}")
    by_ids = compare_symbols(one, two, True, decoded)
    assert compare_texts(one, two, True, by_ids, decoded) is None


def test_one_text_of_which_the_first_turn_looks_like_none(tmp_path: Path) -> None:
    """`Tutor:` is no role that is known: what goes on behind the last question is new."""
    first = f"{TUTOR}Time: 10:00:23\n{HOUSE}\nUser: What is a lever, and who made the first one?\n"
    later = first.replace("10:00:23", "10:00:46") + "Tutor: A bar.\nUser: And what is a wheel?\n"
    more = later.replace("10:00:46", "10:01:09") + "Tutor: A round bar.\nUser: And a screw?\n"
    rows = [{"id": str(n), "arrival_s": 9 * n, "session": "s", "prompt": text}
            for n, text in enumerate((first, later, more))]  # fmt: skip
    for finding in findings_of(rows, tmp_path)[1:]:
        assert [change.kind for change in finding.comparison.changes] == ["clock"]
        assert finding.comparison.new_at is not None


def test_two_questions_alike_but_for_several_numbers_are_two_dialogues(tmp_path: Path) -> None:
    """A session holds two dialogues; one place that differs alone may be a stamp."""

    def asked(at: str, number: str) -> Row:
        return said("user", f"[{at}] Where do I find the conditions? I looked at page {number}.")

    before = [SYSTEM, said("user", "Is the ferry open?"), *turn(1), asked("02:11", "68925")]
    other = [SYSTEM, asked("06:44", "25584"), *turn(5)]
    assert kinds(before, other, tmp_path) == []
    stamped = [SYSTEM, asked("06:44", "68925"), *turn(5)]
    assert kinds(before, stamped, tmp_path) != []


def test_a_line_that_is_gone_from_one_text_is_no_window(tmp_path: Path) -> None:
    def sent(line: str, *more: str) -> str:
        system = f"{HOUSE}\n{line}Close every conversation by asking."
        turns = zip(("system", "user", "assistant", "user"),
                    (system, "Is it open at ten?", *more), strict=False)  # fmt: skip
        return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)

    stamp = "Message-Id: <2fd1c5ec2e6c2557c739@mail.example.org>\n"
    rows = [{"id": "a", "arrival_s": 0, "session": "s", "prompt": sent(stamp)},
            {"id": "b", "arrival_s": 9, "session": "s",
             "prompt": sent("", "It is open.", "And on Sunday?")}]  # fmt: skip
    last = findings_of(rows, tmp_path)[-1].comparison
    assert [change.kind for change in last.changes] == ["request_id"]


def test_a_summary_that_grows_by_what_went_is_one_change(tmp_path: Path) -> None:
    """As a message of the system, without a word that says summary."""

    def memory(text: str, num: int) -> Row:
        return said("system", f"What was before\n- {text}\n- {num} messages are not shown")

    old = [SYSTEM, memory("the boiler is cold", 3), *turn(1), *turn(2)]
    new = [SYSTEM, memory("the boiler is cold; valve 1 was turned", 6), *turn(2), *turn(3)]
    assert kinds(old, new, tmp_path) == ["compacted_history"]
    same = [SYSTEM, memory("the boiler is cold; valve 1 was turned", 6), *turn(1), *turn(2), NEXT]
    assert "compacted_history" not in kinds(old, same, tmp_path)


@pytest.mark.parametrize(
    ("now", "kind"), [("", "truncated_history"), ("ok, done", "edited_message")]
)
def test_a_result_that_was_emptied_is_cut(now: str, kind: str, tmp_path: Path) -> None:
    asked, given = called("9a8b7c6d", "gauge")
    old = [*HEAD, asked, {**given, "content": "It is open."}, said("assistant", "I see.")]
    new = [*HEAD, asked, {**given, "content": now}, said("assistant", "I see.")]
    assert kinds([*old, NEXT], [*new, NEXT, *turn(2)], tmp_path) == [kind]


def test_another_first_question_of_a_session_is_no_summary(tmp_path: Path) -> None:
    """One session id for all: a tool's name in a short question says nothing of a history."""
    long = "I think there is a bug in close_file: the lengths are the file's, and times are not."
    one, other = said("user", long), said("user", "Refactor summarise_branch, please.")
    assert kinds([SYSTEM, one], [SYSTEM, other], tmp_path) == []
    assert kinds([SYSTEM, one, *turn(1)], [SYSTEM, CONTINUED], tmp_path) == ["compacted_history"]


@given(
    st.lists(st.text("ab ", max_size=5), min_size=1, max_size=4),
    st.lists(st.text("ab ", max_size=5), min_size=1, max_size=5),
)
def test_blocks_are_paired_so_that_all_pairs_are_as_alike_as_may_be(
    one: list[str], other: list[str]
) -> None:
    fewer, more = sorted((one, other), key=len)
    pairs = _paired_best(fewer, more)
    assert [a for a, _ in pairs] == list(range(len(fewer)))

    def alike(numbers: tuple[int, ...]) -> float:
        return sum(overlap(words_of(fewer[a]), words_of(more[b])) for a, b in enumerate(numbers))

    best = max(map(alike, combinations(range(len(more)), len(fewer))))
    assert alike(tuple(b for _, b in pairs)) == pytest.approx(best)
