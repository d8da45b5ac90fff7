"""A list of numbers with other spaces is in no other order; a value that a scrubber took out is an
edit, and a mark of the template in its place is none; numbers of a list stay where they are.
"""

import pytest

from hitpath.doctor.leaf import leaf_changes

HOUSE = "You are the desk of a small hotel; be brief and kind. " * 4


def kinds(there: str, here: str, role: str = "system") -> set[str]:
    there, here = (f"{HOUSE}\n{text}\n{HOUSE}" for text in (there, here))
    return {change.kind for change in leaf_changes(there, here, role)}


@pytest.mark.parametrize(
    ("there", "here", "kind"),
    [
        ("[1, 2, 3]", "[1,2,3]", "white_space"),
        ("at (52.52, 13.40) now", "at (52.52,13.40) now", "white_space"),
        ("rows 1, 2 and 3", "rows 1,2 and 3", "white_space"),
        ('{"p": [0.5, 0.25], "q": "r"}', '{"p":[0.5,0.25],"q":"r"}', "white_space"),
        ('{"a": [\n  1,\n  2\n]}', '{"a":[1,2]}', "white_space"),
        ("[1, 2, 3]", "[1, 3, 2]", "array_order"),
        ("1,000 rows", "1000 rows", "number_format"),
        ("1 000 rows", "1000 rows", "number_format"),
    ],
)
def test_numbers_with_other_spaces(there: str, here: str, kind: str) -> None:
    assert kinds(there, here) == {kind}


SAID = "words of the user {} and words that go on"


@pytest.mark.parametrize("mark", ["[REDACTED]", "<|redacted|>", "[NAME]", "<PERSON_1>", "***"])
@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_a_value_that_was_taken_out(mark: str, role: str) -> None:
    assert kinds(SAID.format("Ann"), SAID.format(mark), role) == {"edited_message"}


@pytest.mark.parametrize("mark", ["<|im_end|>", "<|eot_id|>", "</s>", "[/INST]"])
def test_a_mark_of_a_template_within(mark: str) -> None:
    there, here = SAID.replace("{} ", ""), SAID.format(mark)
    assert kinds(there, here, "assistant") == {"template_flip"}


def test_a_switch_at_the_end() -> None:
    there, here = "Where is my lamp?", "Where is my lamp?\n/no_think"
    assert [c.kind for c in leaf_changes(there, here, "user")] == ["template_flip"]


def test_lines_whose_numbers_stay() -> None:
    there = "Read these. 1. invoices\n2. ideas\n3. notes\n4. trips Then answer."
    here = "Read these. 1. notes\n2. ideas\n3. trips\n4. invoices Then answer."
    assert kinds(there, here) == {"array_order"}
    other = here.replace("trips", "plans")
    assert "array_order" not in kinds(there, other)


@pytest.mark.parametrize(
    ("there", "here", "kinds_told"),
    [
        ("Chat with @ann_lee12 now", "Chat with @bob_ray7 now", {"?words"}),
        ("Good morning, Ann", "Good evening, Ann", {"clock"}),
        ("a morning person", "a night person", {"?words"}),
        ("UID: 920256870", "UID: 928299523", {"?number"}),
        ("ts=1773050000", "ts=1773050060", {"clock"}),
    ],
)
def test_what_looks_like_an_id_or_a_clock(there: str, here: str, kinds_told: set[str]) -> None:
    assert kinds(there, here) == kinds_told
