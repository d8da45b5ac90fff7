"""Files of a memory in another order beside examples that were drawn anew are two defects; examples
of which two have changed places are one. Written by hand."""

from typing import Any

import pytest

from hitpath.doctor.moved_lines import heal_moves

FILES = [
    f"<memory id='{name}'>The note of {name} on all of it.</memory>" for name in ("a", "b", "c")
]
ASKED = [f"Q: {q}\nA: {a}" for q, a in (
    ("I want to cancel.", "Shall I cancel all items?"),
    ("I was charged twice.", "One of the two is a reservation."),
    ("Who is my contact?", "The service desk in Graz is."),
    ("How do I return it?", "Print the label and drop it."),
    ("Can I pay by invoice?", "Yes, from the second order on."),
    ("Is it open on Sunday?", "From ten to four, all year."),
)]  # fmt: skip
RULES = "Never disclose another customer's lock. Hand over to a colleague where a tool fails."


def text(*parts: list[str]) -> str:
    return "\n".join([*("\n".join(part) for part in parts if part), RULES])


def found_in(there: str, here: str) -> tuple[str, list[tuple[str, str]]]:
    found: list[Any] = []
    healed = heal_moves(there, here, "system", found)
    return healed, [(change.kind, change.here.split("\n")[0]) for change in found]


@pytest.mark.parametrize("files_first", [True, False])
def test_files_in_another_order_beside_drawn_examples(files_first: bool) -> None:
    order = slice(None, None, 1 if files_first else -1)
    there = text(*(FILES, ASKED[:4])[order])
    here = text(*([*FILES[1:], FILES[0]], [ASKED[4], ASKED[3], ASKED[5], ASKED[0]])[order])
    healed, found = found_in(there, here)
    assert healed == here
    assert sorted(kind for kind, _ in found) == ["?words", "moved_block"]
    assert all(begin.startswith("<memory") == (kind == "moved_block") for kind, begin in found)


def test_examples_of_which_two_have_changed_places_are_drawn_alone() -> None:
    there = text(ASKED[:4])
    here = text([ASKED[1], ASKED[0], ASKED[4], ASKED[5]])
    healed, found = found_in(there, here)
    assert healed == here
    assert [kind for kind, _ in found] == ["?words"]
