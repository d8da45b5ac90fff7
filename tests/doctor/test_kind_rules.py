"""One rule a kind, on shapes that people report; and what no rule may take for a defect."""

import pytest

from hitpath.doctor.kinds import Difference, kind_of
from hitpath.doctor.leaf import leaf_changes


def kinds(there: str, here: str, role: str = "system") -> list[str]:
    return [change.kind for change in leaf_changes(there, here, role)]


# ruff: noqa: E501
CASES = [
    ("Current time: 2026-11-29 10:15:07.", "Current time: 2026-11-29 10:15:28.", "clock"),
    ("Today is Sunday, November 29, 2026.", "Today is Monday, November 30, 2026.", "clock"),
    ("now=1764411307123", "now=1764411311123", "clock"),
    ("It is a fine Monday morning.", "It is a fine Tuesday evening.", "clock"),
    ("Request: 7f9c24e8-3b1a-4c5d-9e2f-1a2b3c4d5e6f", "Request: 1a2b3c4d-3b1a-4c5d-9e2f-7f9c24e85e6f", "?id"),
    ("trace req_8f3a2b1c9d end", "trace req_1c9d8f3a2b end", "?id"),
    ("This is request #41 today", "This is request #42 today", "?number"),
    ("x-anthropic-billing-header: cc_version=2.1.3; cch=00a1f;\nYou", "x-anthropic-billing-header: cc_version=2.1.3; cch=9c4d2;\nYou", "attribution"),
    ("one two", "one  two", "white_space"),
    ("one\ntwo\n", "one\r\ntwo\r\n", "white_space"),
    ("one two", "one two ", "white_space"),
    ("one two", "\ufeffone two", "hidden_characters"),
    ("one two", "one\u200b two", "hidden_characters"),
    ("one two", "one\u00a0two", "hidden_characters"),
    ("caf\u00e9", "cafe\u0301", "unicode_form"),
    ("he said \u201cno\u201d", 'he said "no"', "unicode_form"),
    ("limit 1,500 euros", "limit 1500 euros", "number_format"),
    ("rate 0.10 now", "rate 0.1 now", "number_format"),
    ("rate 3,14 now", "rate 3.14 now", "number_format"),
    ('see {"a": 1, "b": 2} ok', 'see {"b": 2, "a": 1} ok', "key_order"),
    ('see {"a": ["x", "y"]} ok', 'see {"a": ["y", "x"]} ok', "array_order"),
    ("regions: us, eu, ap.", "regions: ap, us, eu.", "array_order"),
    ("You serve Alice Moreau well", "You serve Bob Tanaka well", "?words"),
]  # fmt: skip


@pytest.mark.parametrize(("there", "here", "kind"), CASES)
def test_each_shape_is_of_its_kind(there: str, here: str, kind: str) -> None:
    assert set(kinds(there, here)) == {kind}
    assert set(kinds(here, there)) == {kind}


@pytest.mark.parametrize(
    "lines",
    [
        ["Document A: about ships", "Document B: about trains", "Document C: about planes"],
        ["[1] first passage of text", "[2] second passage of text", "[3] third passage, longer"],
    ],
)
def test_lines_in_another_order_have_moved(lines: list[str]) -> None:
    there = "Intro\n" + "\n".join(lines) + "\nEnd\n"
    here = "Intro\n" + "\n".join([lines[2], *lines[:2]]) + "\nEnd\n"
    assert kinds(there, here) == ["moved_block"]


def test_a_list_of_bullets_in_another_order_is_an_array() -> None:
    there = "Rules\n- alpha is first\n- beta is second\n- gamma is third\n"
    here = "Rules\n- gamma is third\n- alpha is first\n- beta is second\n"
    assert kinds(there, here) == ["array_order"]


def test_reasoning_that_comes_and_goes_is_a_template_flip() -> None:
    think = "<think>\n\n</think>\n\nThe answer is 4."
    assert kinds(think, "The answer is 4.", "assistant") == ["template_flip"]


def test_an_image_encoded_anew() -> None:
    difference = Difference("/9j/4AAQ", "iVBORw0K", '"url":"data:image/jpeg;base64,', '"}')
    assert kind_of(difference) == "image_encoding"


def test_what_the_model_said_otherwise_is_an_edit() -> None:
    assert kinds("I will look it up.", "I have looked it up.", "assistant") == ["edited_message"]


def test_all_differences_of_one_text_are_found_with_their_first_character() -> None:
    there = "Bot.\nTime: 2026-11-29 10:15:07\nID: req_8f3a2b1c9d\nBe nice.\n"
    here = "Bot.\nTime: 2026-11-29 10:15:28\nID: req_8f3a2b1c9e\nBe  nice.\n"
    found = leaf_changes(there, here, "system")
    assert [change.kind for change in found] == ["clock", "?id", "white_space"]
    assert [change.first for change in found] == [
        here.index("28"),
        here.index("e\nBe"),
        here.index(" nice"),
    ]
