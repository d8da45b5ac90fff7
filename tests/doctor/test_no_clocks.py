"""Numbers beside words that are months, weekdays or units in some language are no clocks, nor is a
count that rises with every request however evenly these come; dates in any language are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hitpath.canonical import find_volatile
from hitpath.core import Setting
from hitpath.doctor.clock_by_time import Pair, goes_with_time
from hitpath.doctor.clock_words import further_spans
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NONE = """
    Your opponent has Elo 1437
    elo rating 2048
    Signed out 1937 users
    Mac 2014 and MAC 2020
    The LED 1937 module
    You may 1937 tokens at most write
    You may 5 tokens more
    context set 2037 tokens
    set 1920 x 1080
    Bal. 2137 USD
    on port 2137, set by the host
    Client release 3.11.25 is installed
    section 4.2.25
    Data set 2012
    ratio 16:10 2048
    Psalm 2:12 and 1450
    verse John 3:16 p 1945
    price 5.30 per sat
    opened 5.30 out 2000
    lap time, sat 20 of them
    Room 1402, Mac 2
    sent 2048
    5 st 3 bags
    march 5 men
"""
CLOCKS = """
    Mar 9, 2026
    9 mar 2026
    Sat 12:30
    12:30 Uhr
    7.15 den 9. marts 2026
    9 tháng 3 năm 2026
    марта 2026
    juillet 2026
    9/3/26
    09.03.26
    12:30 h on Mon
    5 min 20 sec
    2 h 30 m
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("text", lines(NONE))
def test_is_no_clock(text: str) -> None:
    assert list(further_spans(text)) == []
    assert [one for one in find_volatile(text) if one.kind == "clock"] in ([], times_of(text))


def times_of(text: str) -> list[object]:
    """What is a time of day by its shape alone, whatever it means there."""
    return [one for one in find_volatile(text) if ":" in text[one.start : one.stop]]


@pytest.mark.parametrize("text", lines(CLOCKS))
def test_is_a_clock(text: str) -> None:
    spans = [*further_spans(text), *((v.start, v.stop) for v in find_volatile(text))]
    assert max(stop - start for start, stop in spans) >= 0.6 * len(text)


DRAWN: dict[str, Callable[[int], str]] = {
    "elo": lambda n: f"Your opponent has Elo {1400 + n * 37 % 99}.",
    "out": lambda n: f"Of the calls {n % 7 + 3} timed out, {1900 + n * 37 % 99} did not.",
    "may": lambda n: f"You may {1900 + n * 37 % 99} tokens at most write.",
    "release": lambda n: f"Client release {n % 9 + 1}.{n % 12 + 1}.{20 + n % 8} is installed.",
    "sentiment": lambda n: f"Sentiment score: {1500 + n * 37 % 99}",
    "timeout": lambda n: f"Timeout in ms: {1500 + n * 37 % 99}",
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_number_of_each_session_is_no_clock(name: str, tmp_path: Path) -> None:
    rules = "Answer briefly and cite the page of the manual you used. " * 9
    rows = [
        {"id": f"r{n}", "arrival_s": n * 97 + n * 31 % 50, "session": f"s{n}",
         "messages": [{"role": "system", "content": f"{rules}\n{DRAWN[name](n)}\n{rules}"},
                      {"role": "user", "content": f"Question {n} about part {n * 31}"}]}
        for n in range(24)
    ]  # fmt: skip
    found = examine(open_subject([str(write_jsonl(tmp_path / "t.jsonl", rows))], Setting()))
    assert found.defects
    assert "clock" not in {defect.kind for defect in found.defects}


@pytest.mark.parametrize(
    "gaps", [[60] * 30, [60] * 15 + [200] + [60] * 14, [60 + n % 3 for n in range(30)]]
)
def test_what_rises_with_every_request_is_no_clock(gaps: list[int]) -> None:
    at = [sum(gaps[:n]) for n in range(31)]
    pairs = [Pair(f"{1000 + 10 * n}", f"{1010 + 10 * n}", n + 1, n) for n in range(30)]
    assert not goes_with_time(pairs, lambda row, other: float(at[row] - at[other]))


def test_what_rises_with_the_seconds_is_a_clock() -> None:
    gaps = [7 + n * 53 % 200 for n in range(30)]
    at = [sum(gaps[:n]) for n in range(31)]
    pairs = [Pair(str(900 + at[n]), str(900 + at[n + 1]), n + 1, n) for n in range(30)]
    assert goes_with_time(pairs, lambda row, other: float(at[row] - at[other]))


def test_versions_of_another_length_are_no_numbers() -> None:
    pairs = [Pair("1.6", "1.6.1", n + 1, n) for n in range(9)]
    assert not goes_with_time(pairs, lambda row, other: 7.0)
