"""A text with several escapes at once (a JSON string's, an entity's, an address's) is one text
written otherwise; a stroke that means something is not."""

import pytest

from hitpath.doctor.leaf import leaf_changes

LINK = "https://desk.example/größe/7"
SAME = [
    (f'{{"link": "{LINK}"}} ok', '{"link": "https:\\/\\/desk.example\\/gr\\u00f6\\u00dfe\\/7"} ok'),
    (f"see {LINK} ok", "see https:\\/\\/desk.example\\/gr\\u00f6\\u00dfe\\/7 ok"),
    (f"see {LINK} ok", "see https://desk.example/gr%C3%B6%C3%9Fe/7 ok"),
    ('see "Tür/7" ok', 'see "T\\u00fcr\\/7" ok'),
    ('see "Müller" ok', 'see \\"M\\u00fcller\\" ok'),
    ("it's <7> ok", "it\\u0027s \\u003c7\\u003e ok"),
    ("see Käse &amp; Öl/7 ok", "see K\\u00e4se & \\u00d6l\\/7 ok"),
    ('{"a": "x", "b": 1} ok', '{\\"a\\": \\"x\\", \\"b\\": 1} ok'),
    ("one line\nand two\n", "one line\\nand two\\n"),
    ("the Café of Köln ok", "the Caf=C3=A9 of K=C3=B6ln ok"),
]
OTHERS = [
    ("C:/new", "C:\\new"),
    ("C:\\new\\table", "C:/new/table"),
    ("a and b", "a \\ b"),
    ("x y", "x\\y"),
    ("a n b", "a \\n b"),
    ("mark Ab now", "mark =41=62=FF now"),
    ("x=C3", "x=D4"),
    ('say "yes" now', "say yes now"),
    ('say \\"yes\\" now', 'say \\"no\\" now'),
]


@pytest.mark.parametrize("is_escaped_later", [True, False])
@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_text_with_escapes(old: str, new: str, is_escaped_later: bool) -> None:
    sides = (old, new) if is_escaped_later else (new, old)
    assert {one.kind for one in leaf_changes(*sides, "tool")} == {"unicode_form"}


@pytest.mark.parametrize(("old", "new"), OTHERS)
def test_a_stroke_that_means_something(old: str, new: str) -> None:
    assert {one.kind for one in leaf_changes(old, new, "tool")} == {"edited_message"}


def test_a_number_beside_escapes_is_another() -> None:
    found = leaf_changes("größe/7 ok", "gr\\u00f6\\u00dfe\\/8 ok", "tool")
    assert [one.kind for one in found] == ["unicode_form", "?number"]


@pytest.mark.parametrize("mark", ["\u2800", "\u3164", "\u115f"])
def test_letters_that_show_nothing(mark: str) -> None:
    found = leaf_changes("Be brief.\nGo.", f"Be brief.{mark}\nGo.", "system")
    assert [one.kind for one in found] == ["hidden_characters"]
