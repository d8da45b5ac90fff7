"""A clock goes on as time does: what goes back and forth between sessions by years is a user's,
what changed once by more than has passed was edited; a session's beginning and today's date are
clocks.
"""

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from doctor.test_fields_by_all_pairs import Text, rows_with
from doctor.test_planted_kinds import kinds_of
from hitpath.core import Setting
from hitpath.doctor.clock_values import step_of
from hitpath.doctor.relatives import find_families
from hitpath.report.doctor_run import findings_of, open_subject
from support import write_jsonl

NOW = datetime(2026, 3, 9, 10, 15)


def kinds_in_time(rows: list[dict[str, Any]], folder: Path) -> Counter[str]:
    """The kinds of all differences, where arrivals are known."""
    subject = open_subject([str(write_jsonl(folder / "trace.jsonl", rows))], Setting())
    findings = findings_of(subject, find_families(subject.trace))
    return Counter(c.kind for finding in findings for c in finding.comparison.changes)


def day_of(seed: int, num: int) -> str:
    return f"{NOW + timedelta(days=random.Random(seed).randrange(-num, num)):%Y-%m-%d}"


USERS: dict[str, Text] = {
    "birth": lambda s, _: f"Date of birth: {day_of(s, 9_000)}",
    "glued": lambda s, _: f"born:{day_of(s, 9_000)}",
    "check-in": lambda s, _: f"Guest checks in on {day_of(s, 40)}",
    "appointment": lambda s, _: f"The patient's next appointment: {day_of(s, 90)} 13:00",
}
CLOCKS: dict[str, Text] = {
    "session's beginning": lambda s, _: f"Session started: {NOW + timedelta(seconds=27 * s)}",
    "today": lambda s, n: f"Today:{NOW + timedelta(days=n // 30):%Y-%m-%d}",
    "two hosts": lambda _, n: f"Time: {NOW + timedelta(seconds=9 * n - 30 * (n % 2))}",
    "glued": lambda _, n: f"[now:{NOW + timedelta(seconds=9 * n):%H:%M:%S}]",
    "part of a day": lambda _, n: f"It is {'morning' if n < 20 else 'day'}.",
    "greeting": lambda _, n: f"{'Buenos días' if n < 20 else 'Buenas tardes'}, team.",
}
EDITS = {
    "deadline": ("The offer ends on 31 March 2026.", "The offer ends on 30 April 2026."),
    "cutoff": ("Knowledge cutoff: June 2024", "Knowledge cutoff: October 2024"),
    "hours": ("Support is open 09:00-17:00.", "Support is open 08:00-18:00."),
    "act": ("See the act of 12 May 2019.", "See the act of 3 June 2021."),
    "German": ("Die Preise gelten ab 1. März 2026.", "Die Preise gelten ab 1. Juni 2026."),
    "Chinese": ("优惠截止到2026年3月31日。", "优惠截止到2026年4月30日。"),
    "shift": ("The desk works the day shift.", "The desk works the night shift."),
}


@pytest.mark.parametrize("text", USERS.values(), ids=USERS)
def test_a_date_of_a_user(text: Text, tmp_path: Path) -> None:
    assert set(kinds_in_time(rows_with(text, 14, 3), tmp_path)) == {"per_user_field"}


@pytest.mark.parametrize("text", CLOCKS.values(), ids=CLOCKS)
def test_a_clock(text: Text, tmp_path: Path) -> None:
    assert set(kinds_in_time(rows_with(text, 14, 3), tmp_path)) == {"clock"}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_a_date_that_was_edited(old: str, new: str, tmp_path: Path) -> None:
    rows = rows_with(lambda session, _: old if session < 6 else new, 12, 2)
    assert kinds_in_time(rows, tmp_path) == Counter({"edited_message": 1})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Today is 3 March 2026", "Today is 4 March 2026"),
        ("Current month: March 2026", "Current month: April 2026"),
    ],
)
def test_a_day_that_begins_within_a_trace(old: str, new: str, tmp_path: Path) -> None:
    rows = rows_with(lambda session, _: old if session < 6 else new, 12, 2)
    assert kinds_in_time(rows, tmp_path) == Counter({"clock": 1})


def test_without_arrivals_a_date_is_a_clock(tmp_path: Path) -> None:
    assert set(kinds_of(rows_with(USERS["birth"], 14, 3), tmp_path)) == {"clock"}


@pytest.mark.parametrize(
    ("old", "new", "by_s"),
    [
        ("2026-03-09 06:36:29", "2026-03-09 06:37:29", 60),
        ("3/9/2026", "3/10/2026", 86_400),
        ("9 марта 2026", "8 марта 2026", -86_400),
        ("24 December", "1 January", 8 * 86_400),
        ("March 9, 2026 at 5:04 PM", "March 9, 2026 at 5:06 PM", 120),
        ("23:58", "00:01", 180),
    ],
)
def test_by_how_much_a_clock_rose(old: str, new: str, by_s: float) -> None:
    step = step_of(old, new)
    assert step is not None
    assert step.by_s == by_s


@pytest.mark.parametrize(
    ("old", "new"), [("2026-03-09", "10:15"), ("soon", "later"), ("2026-02-31", "2026-03-01")]
)
def test_what_cannot_be_read(old: str, new: str) -> None:
    assert step_of(old, new) is None
