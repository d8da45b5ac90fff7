"""Which shapes of clocks are tried is chosen by what follows; the oracle tries them all."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.canonical import find_volatile
from hitpath.canonical.clock_shapes import AT_DIGIT, AT_MONTH, TOKEN, clock_at

PIECES = [
    "2025", "03", "3", "31", "-", "/", ".", ":", " ", "14", "22", "59", "T", "Z", "pm", "AM",
    "a.m.", "May", "mar", "März", "mars", "Monday", "Sept.", "of ", "de ", "2025年3月3日", "午後",
    "2時", "년", "월", "일", "1764400201", "1764400201123", "20250303", "20250303T142231", "UTC",
    "+02:00", "at ", "st", "th", "º", "ſ", "İ", "K", "٣", "１２", "%", ",", "\u202f", "\u00a0",
    "\n", "x", "_", "Feb", "feb.", "décembre", "12 de ", "10/Oct/2025:10:11:12",
]  # fmt: skip


def longest(text: str, start: int, shapes: tuple[re.Pattern[str], ...]) -> tuple[int, int] | None:
    ends = [one.end() for shape in shapes if (one := shape.match(text, start))]
    return (start, max(ends)) if ends and max(ends) > start else None


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_the_shapes_tried_are_those_that_can_match(text: str) -> None:
    for token in TOKEN.finditer(text):
        word = token.group().lower()
        if word[0].isdigit():
            found = clock_at(text, token.start(), word)
            wanted = longest(text, token.start(), AT_DIGIT)
            assert (None if found is None else found.span()) == wanted


@pytest.mark.parametrize("text", ["May 3", "May  3", "Sept. 12, 2025", "März 2025", "may 3rd"])
def test_a_month_before_a_day_or_a_year_is_a_date(text: str) -> None:
    word = re.match(r"\w+", text)
    assert word is not None
    found = clock_at(text, 0, word[0].lower())
    assert found is not None
    assert found.span() == longest(text, 0, AT_MONTH)


@pytest.mark.parametrize("text", ["May be", "mars, 3", "May. x"])
def test_a_month_before_anything_else_is_none(text: str) -> None:
    word = re.match(r"\w+", text)
    assert word is not None
    assert clock_at(text, 0, word[0].lower()) is None
    assert longest(text, 0, AT_MONTH) is None


def test_numbers_that_nothing_follows_are_passed_over() -> None:
    assert not find_volatile("1 2 3 45 6.7 8\n9 " * 50)
    assert [one.kind for one in find_volatile("3 tokens left, 1764400201")] == ["counter", "clock"]
