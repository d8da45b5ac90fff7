"""Bursts are told where a clock of days or hours breaks all open sessions at one boundary, and only
there: not of a clock that changes with every request, nor of a trace that lies near a boundary.

Written by hand: dialogues of a hotel's desk whose instructions begin with a date or a time.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from hitpath.core import Setting
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

_DAY = 1_764_460_800.0  # 2025-11-30 00:00 UTC
_RULES = "You are the night desk of a small hotel; give keys to guests only. " * 6
Clock = Callable[[float], str]


def shown(form: str, zone_h: float = 0.0) -> Clock:
    zone = timezone(timedelta(hours=zone_h)) if zone_h else UTC
    return lambda at_s: datetime.fromtimestamp(at_s, zone).strftime(form)


def turns(start_s: float, stop_s: float, step_s: float, num_sessions: int = 4) -> Iterator[float]:
    at_s = start_s
    while at_s < stop_s:
        yield from (at_s + session for session in range(num_sessions))
        at_s += step_s


def diagnosed(folder: Path, arrivals: Iterator[float], clock: Clock, since: float = 0) -> Diagnosis:
    """since: what arrival times are counted from."""
    rows, said = [], [0] * 4
    for number, at_s in enumerate(arrivals):
        session = number % 4
        talk = [{"role": ("user", "assistant")[i % 2], "content": f"said {i} by {session} here"}
                for i in range(2 * said[session] + 1)]  # fmt: skip
        said[session] += 1
        system = {"role": "system", "content": f"Now: {clock(at_s)}.\n{_RULES}"}
        rows.append({"id": str(number), "session": str(session), "arrival_s": at_s - since,
                     "messages": [system, *talk]})  # fmt: skip
    path = write_jsonl(folder / "t.jsonl", rows)
    return examine(open_subject([str(path)], Setting(block_size=1)), what_ifs=False)


def bursts_of(found: Diagnosis) -> list[str]:
    assert {defect.kind for defect in found.defects} == {"clock"}
    return [cause.text for cause in found.shared_causes if cause.kind == "burst"]


_SECONDS = shown("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("arrivals", "since"),
    [
        (lambda: turns(_DAY, _DAY + 100, 20), _DAY),
        (lambda: turns(_DAY + 36_000, _DAY + 36_840, 140), 0),
        (lambda: turns(_DAY - 1_200, _DAY + 86_400, 6_000), 0),
        (lambda: turns(_DAY, _DAY + 8 * 3_600, 3_600), 0),
    ],
    ids=["times count from the beginning", "within one quarter", "a whole day", "full hours only"],
)
def test_a_clock_of_seconds_is_no_burst(
    tmp_path: Path, arrivals: Callable[[], Iterator[float]], since: float
) -> None:
    assert bursts_of(diagnosed(tmp_path, arrivals(), _SECONDS, since)) == []


@pytest.mark.parametrize(
    ("form", "zone_h", "boundary_s", "name"),
    [
        ("%Y-%m-%d", 0, 0, "midnight"),
        ("%Y-%m-%d", -5, 5 * 3_600, "midnight of UTC-05:00"),
        ("%Y-%m-%d", 5.75, 86_400 - 5.75 * 3_600, "midnight of UTC+05:45"),
        ("%Y-%m-%d %H:00", 0, 7 * 3_600, "the hour"),
        ("%Y-%m-%d %H:00", 5.5, 7.5 * 3_600, "the half hour"),
    ],
)
def test_a_boundary_is_named_by_what_the_clock_shows(
    tmp_path: Path, form: str, zone_h: float, boundary_s: float, name: str
) -> None:
    middle = _DAY + boundary_s
    # ten hours before and after for a day, so that full hours pass at which nothing breaks
    wide, step = (36_000, 3_000) if "%H" not in form else (1_500, 250)
    arrivals = turns(middle - wide + 200, middle + wide, step)
    found = diagnosed(tmp_path, arrivals, shown(form, zone_h))
    (text,) = bursts_of(found)
    assert f"after {name} (once): one clock" in text


def test_the_tokens_of_a_burst_are_counted(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, turns(_DAY - 1_500, _DAY + 1_500, 250), shown("%Y-%m-%d"))
    (cause,) = [cause for cause in found.shared_causes if cause.kind == "burst"]
    rows = found.defects[cause.defect or 0].rows
    assert cause.num_requests == len(rows) == 4
    assert cause.tokens == int(found.costs.lost[list(rows)].sum()) > 0
