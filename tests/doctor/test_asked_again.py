"""A first message that stands in the history of a later request, the same but for a number's form
or an id that is stamped on it, where no session is named; and its hard negatives: two questions.

Requests are written by hand from the documented shapes of the APIs.
"""

from pathlib import Path

import pytest

from doctor.test_which_relative import DESK, Message, all_kinds, diagnosed, said
from hitpath.doctor.same_words import are_stamped_otherwise, are_the_same_numbers, numbers_in

LONG = "Which of the rooms of the second floor have a bath of their own?"
TASK = "Keep answers short. Your task ID is {}.\n\n{}"


LATER = [said("assistant", "One moment."), said("user", "Thank you, I wait.")]


def told(folder: Path, *dialogues: list[Message]) -> list[str]:
    rows = [{"messages": [said("system", DESK), *messages]} for messages in dialogues]
    return all_kinds(diagnosed(folder, rows))


@pytest.mark.parametrize(
    ("there", "here", "kind"),
    [("Is the room free from the 7th on? stock: 12.0 pieces", "12", "number_format"),
     ("Is the room free from the 7th on? stock: 1,000 pieces", "1000", "number_format"),
     (TASK.format("task-93ypx94i", LONG), "task-zcmtrqqk", "request_id"),
     (TASK.format("3f0a1b7c9d2e4f60", LONG), "77c1d09ab3e8f512", "request_id")],
)  # fmt: skip
def test_a_message_that_is_sent_again(tmp_path: Path, there: str, here: str, kind: str) -> None:
    old = next(word for word in ("12.0", "1,000", "task-93ypx94i", "3f0a1b7c9d2e4f60")
               if word in there)  # fmt: skip
    later = [said("user", there.replace(old, here)), *LATER]
    assert told(tmp_path, [said("user", there)], later) == [kind]


@pytest.mark.parametrize(
    ("there", "here"),
    [("Where is order 5998 now, please?", "Where is order 5999 now, please?"),
     ("Please add 12.5 and 3, rounded.", "Please add 12.0 and 3, rounded."),
     ("I have 2 rooms. Where is W10806?", "I have 2 rooms. Where is W10807?"),
     (TASK.format("task-93ypx94i", LONG), TASK.format("task-zcmtrqqk", "May I bring my dog?")),
     (f"Hello.\n\nNo key 93ypx94i5k. {LONG}", f"Hello.\n\nNo key zcm4rqq2k7. {LONG}"),
     (f"{LONG} My booking: 93ypx94i5k", f"{LONG} My booking: zcm4rqq2k7")],
)  # fmt: skip
def test_another_question_is_new(tmp_path: Path, there: str, here: str) -> None:
    one, other = said("user", there), said("user", here)
    asked = [[one], [other], [one, *LATER], [other, *LATER]]
    assert told(tmp_path, *asked) == []


@pytest.mark.parametrize(
    ("text", "other", "is_same"),
    [("12.0 of 3", "12 of 3", True), ("1,000", "1000", True), ("12.5", "12.0", False),
     ("W10806", "W10807", False), ("12 of 3", "12", False), ("no number", "none", True)],
)  # fmt: skip
def test_numbers_are_the_same_however_they_are_written(
    text: str, other: str, is_same: bool
) -> None:
    assert are_the_same_numbers(numbers_in(text), numbers_in(other)) == is_same


@pytest.mark.parametrize(("num", "is_stamped"), [(40, True), (39, False)])
def test_a_question_behind_an_id_is_a_line_of_its_own(num: int, is_stamped: bool) -> None:
    one, other = (f"Task {name}:\n{'q' * num}" for name in ("93ypx94i5k", "zcm4rqq2k7"))
    assert are_stamped_otherwise(one, other) == is_stamped
    assert not are_stamped_otherwise(one.replace("\n", " "), other.replace("\n", " "))
