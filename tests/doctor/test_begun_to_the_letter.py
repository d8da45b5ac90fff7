"""A request that begins with all of an earlier one goes on from there, whoever else has asked the
same, or had the same reply, further back; and a question whose parts change places is another one.

Requests are written by hand from the documented shapes of the APIs.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from doctor.test_which_relative import DESK, Message, all_kinds, diagnosed, kinds, said

PARK, PARKED = said("user", "Where do I park the car?"), said("assistant", "Behind the hall.")
PAY, PAID = said("user", "What does a day ticket cost?"), said("assistant", "Twelve euros a day.")
OPEN, OPENED = said("user", "When do you open on Sundays?"), said("assistant", "At ten o'clock.")


def rows_of(dialogues: list[list[Message]], session: str | None = None) -> list[dict[str, Any]]:
    rows = [{"messages": [said("system", DESK), *told]} for told in dialogues]
    return [{**row, "session": session} for row in rows] if session else rows


def test_a_question_that_another_guest_asked_twice(tmp_path: Path) -> None:
    longer = [PAY, PAID, OPEN, OPENED, PARK, PARKED, PARK]
    asked = [[PARK], *(longer[:num] for num in (1, 3, 5, 7)), [PARK, PARKED, PARK]]
    found = diagnosed(tmp_path, rows_of(asked))
    assert all_kinds(found) == []
    assert [finding.relative for finding in found.findings] == [-1, 0, 1, 2, 3, 0]


def test_short_answers_are_the_same_in_many_dialogues(tmp_path: Path) -> None:
    """A menu: `1`, `2`, `yes`; each goes on from its own beginning."""
    menu = [said("assistant", f"Choose one of the {name} by its number.") for name in ("a", "b")]
    one, two, yes = (said("user", text) for text in ("1", "2", "yes"))
    asked = [[one], [two], [one, menu[0], two], [two, menu[1], two]]
    asked += [[one, menu[0], two, menu[1], yes], [two, menu[1], two, menu[1], yes]]
    found = diagnosed(tmp_path, rows_of(asked))
    assert all_kinds(found) == []
    assert [finding.relative for finding in found.findings][2:] == [0, 1, 2, 3]


def test_a_dialogue_that_lost_its_middle_goes_on_from_its_last_turn(tmp_path: Path) -> None:
    """What is left begins with its own first turn, to the letter."""
    told = [PAY, PAID, OPEN, OPENED, PARK, PARKED, said("user", "And is it lit at night?")]
    found = diagnosed(tmp_path, rows_of([told[:1], told[:3], told[:5], [*told[:1], *told[3:]]]))
    assert found.findings[3].relative == 2
    assert kinds(found, 3) == ["truncated_history"]


def test_a_dialogue_whose_beginning_was_never_sent_alone_is_cut(tmp_path: Path) -> None:
    told = [PAY, PAID, OPEN, OPENED, PARK, PARKED, said("user", "And is it lit at night?")]
    found = diagnosed(tmp_path, rows_of([told[:5], told[2:]]))
    assert found.findings[1].relative == 0
    assert kinds(found, 1) == ["truncated_history"]


def test_one_stock_reply_makes_no_two_dialogues_one(tmp_path: Path) -> None:
    """One id for all traffic."""
    stock = said("assistant", "Let me look at the address for you.")
    asked = [
        [PAY],
        [OPEN],
        [PAY, stock, said("user", "Thank you. Is there a ticket for the year?")],
        [OPEN, stock, said("user", "And on Mondays?")],
    ]
    found = diagnosed(tmp_path, rows_of(asked, "default"))
    assert all_kinds(found) == []
    assert [finding.relative for finding in found.findings][2:] == [0, 1]


def test_of_many_who_began_alike_the_one_whose_reply_is_told(tmp_path: Path) -> None:
    hello, replies = said("user", "Hi there"), ["Hello!", "Good day, how can I help?", "Welcome."]
    rows = [{**row, "reply": reply} for row, reply in
            zip(rows_of([[hello]] * 3), replies, strict=True)]  # fmt: skip
    later = [[hello, said("assistant", reply), said("user", f"{reply} Where is it?")]
             for reply in replies]  # fmt: skip
    found = diagnosed(tmp_path, [*rows, *rows_of(later)])
    assert all_kinds(found) == []
    assert [finding.relative for finding in found.findings][3:] == [0, 1, 2]


def test_a_reply_that_was_edited_is_still_told(tmp_path: Path) -> None:
    rows = [{**rows_of([[PAY]])[0], "reply": "Twelve euros, and six for children."}]
    later = [PAY, said("assistant", "Eleven euros, and six for children."), OPEN]
    found = diagnosed(tmp_path, [*rows, *rows_of([later])])
    assert kinds(found, 1) == ["edited_message"]


@pytest.mark.parametrize("session", ["none", "one for each request"])
@pytest.mark.parametrize("form", ["{}\n\nAnswer A:\n{}\n\nAnswer B:\n{}", "{}\nA: {}\nB: {}"])
def test_answers_that_change_places_make_another_question(
    tmp_path: Path, session: str, form: str
) -> None:
    """A judge that asks twice, against a bias for what stands first."""
    rng = random.Random(5)
    words = ["copper", "lamp", "kettle", "bridge", "letter", "stone", "paper", "cloud", "market"]
    asked = []
    for _ in range(6):
        question, one, two = (" ".join(rng.choices(words, k=num)) for num in (9, 30, 25))
        asked += [[said("user", form.format(question, *answers))]
                  for answers in ((one, two), (two, one))]  # fmt: skip
    rows = rows_of(asked)
    if session != "none":
        rows = [{**row, "session": f"r{number}"} for number, row in enumerate(rows)]
    assert all_kinds(diagnosed(tmp_path, rows)) == []


def test_a_first_message_whose_parts_moved_within_a_dialogue_is_told(tmp_path: Path) -> None:
    parts = [f"Page {name}: {text} " * 4 for name, text in
             (("one", "rooms are let by the night."), ("two", "dogs pay half a bed."))]  # fmt: skip
    sent = [said("user", "\n\n".join([*order, "May I bring my dog along?"]))
            for order in (parts, parts[::-1])]  # fmt: skip
    later = [sent[1], said("assistant", "Yes, for half a bed."), said("user", "And a cat?")]
    found = diagnosed(tmp_path, rows_of([[sent[0]], later]))
    assert found.findings[1].relative == 0
    assert kinds(found, 1) == ["moved_block"]


@pytest.mark.parametrize(
    "form",
    ["Context: {}\n\n{}\n\nBe brief.",
     "Context: {}\n\nQuestion: {}\n\nBe brief.",
     "Context: {}\n\n问题：{}\n\nBe brief.",
     "<attachments>\n{}\n</attachments>\n{}"],
)  # fmt: skip
@pytest.mark.parametrize("named", [True, False])
def test_documents_around_a_question_hide_not_whose_it_is(
    tmp_path: Path, form: str, named: bool
) -> None:
    """The history holds the plain question. Another guest has asked in between."""
    asked = [said("user", form.format("dogs pay half.", PAY["content"]))]
    other = [said("user", form.format("cats pay none.", PARK["content"]))]
    rows = rows_of([asked, other, [PAY, PAID, OPEN]])
    if named:
        rows = [{**row, "session": name} for row, name in zip(rows, "aba", strict=True)]
    found = diagnosed(tmp_path, rows)
    assert found.findings[2].relative == 0
    assert found.findings[2].same_session
