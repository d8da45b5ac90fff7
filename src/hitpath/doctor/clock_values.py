"""By how much a date or a time rose from one text to another, where both can be read.

Dates in numbers, and with the name of a month in the languages of `canonical.clock_shapes`. Where
a form may be read in two ways (9/3 and 3/9), the smaller step is meant; so it is where no year is
told.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from hitpath.canonical.clock_shapes import MONTH_NUMBERS
from hitpath.doctor.digits import in_ascii_digits

_DAY_S = 86_400
_YMD = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/.年년_ ]{1,2}(\d{1,2})[-/.月월_ ]{1,2}(\d{1,2})(?!\d)")
_DMY = re.compile(r"(?<!\d)(\d{1,2})[-/.] ?(\d{1,2})[-/.] ?((?:19|20)\d\d)(?!\d)")
_YM = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/.年년] ?(\d{1,2})(?![\d/.-])")
_WORD = r"([^\W\d_]{3,12})\.?"
_DAY_MONTH = re.compile(
    rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th|er|[.º])?[ -](?:of |de )?{_WORD}"
    r"(?:,?[ -](?:de )?((?:19|20)\d\d))?"
)
_MONTH_DAY = re.compile(rf"{_WORD} {{1,2}}(\d{{1,2}})(?!\d)(?:st|nd|rd|th)?(?:,? ((?:19|20)\d\d))?")
_MONTH_YEAR = re.compile(rf"{_WORD} (?:de )?((?:19|20)\d\d)")
_TIME = re.compile(
    r"(?<!\d)([01]?\d|2[0-3])[:：]([0-5]\d)(?:[:：]([0-5]\d))?(?: ?([apAP])\.?[mM])?"
)
_ANY_YEAR = 2000
"""Where none is told; a leap year."""


class Step(NamedTuple):
    """Seconds from one clock to the other; quantum: the smallest step that such a clock makes.
    has_day: whether it tells a date, and not the time of a day alone."""

    by_s: float
    quantum_s: float
    has_day: bool


class _Read(NamedTuple):
    """dates: what a text may mean, as days; quantum_s: of its form; time_s: within the day."""

    dates: tuple[int, ...]
    quantum_s: float
    time_s: float | None
    has_year: bool


def step_of(there: str, here: str) -> Step | None:
    """None where one cannot be read, or the two are of different forms."""
    one, other = _read(in_ascii_digits(there[:_LONGEST])), _read(in_ascii_digits(here[:_LONGEST]))
    if len(one.dates) != len(other.dates) or (one.time_s is None) != (other.time_s is None):
        return None
    by_s = 0.0 if one.time_s is None or other.time_s is None else other.time_s - one.time_s
    if one.dates:
        days = [b - a for a, b in zip(one.dates, other.dates, strict=True)]
        if not (one.has_year and other.has_year):
            days = [(by + _HALF_YEAR) % (2 * _HALF_YEAR) - _HALF_YEAR for by in days]
        least = min(days, key=abs)
        quantum = max(one.quantum_s, other.quantum_s)
        return Step(least * _DAY_S + by_s, quantum if by_s == 0 else 60.0, True)
    if one.time_s is None or other.time_s is None:
        return None
    by_s = (by_s + _DAY_S / 2) % _DAY_S - _DAY_S / 2
    return Step(by_s, max(_quantum_of_day(one.time_s), _quantum_of_day(other.time_s)), False)


_LONGEST, _HALF_YEAR = 120, 183


def days_of(text: str, year: int) -> tuple[int, ...]:
    """What days a text may mean, as numbers of `date.toordinal`; of this year, where none is told;
    none where it names no day."""
    found = _read(in_ascii_digits(text[:_LONGEST]))
    if found.has_year:
        return found.dates
    days = (date.fromordinal(number) for number in found.dates)
    return tuple(number for day in days for number in _days((year, day.month, day.day)))


def _quantum_of_day(time_s: float) -> float:
    """An hour where a time has no minutes, and so on."""
    return next((unit for unit in (3600.0, 900.0, 300.0, 60.0) if time_s % unit == 0), 1.0)


def _read(text: str) -> _Read:
    time = _TIME.search(text)
    time_s = None if time is None else _seconds(time)
    for dates, quantum_s, has_year in _dates(text):
        if dates:
            return _Read(dates, quantum_s, time_s, has_year)
    return _Read((), 0.0, time_s, False)


def _seconds(found: re.Match[str]) -> float:
    hour = int(found[1])
    if found[4] is not None:
        hour = hour % 12 + 12 * (found[4] in "pP")
    return hour * 3600.0 + int(found[2]) * 60 + int(found[3] or 0)


def _dates(text: str) -> Iterator[tuple[tuple[int, ...], float, bool]]:
    """Whatever dates a text may hold, the fullest form first."""
    if found := _YMD.search(text):
        yield _days((int(found[1]), int(found[2]), int(found[3]))), _DAY_S, True
    if found := _DMY.search(text):
        one, two, year = (int(part) for part in found.groups())
        yield (*_days((year, two, one)), *_days((year, one, two))), _DAY_S, True
    for shape, month, day in ((_DAY_MONTH, 2, 1), (_MONTH_DAY, 1, 2)):
        for found in shape.finditer(text):
            number = MONTH_NUMBERS.get(found[month].casefold())
            if number is not None:
                year = int(found[3] or _ANY_YEAR)
                yield _days((year, number, int(found[day]))), _DAY_S, found[3] is not None
    for found in _MONTH_YEAR.finditer(text):
        number = MONTH_NUMBERS.get(found[1].casefold())
        if number is not None:
            yield _days((int(found[2]), number, 1)), 31 * _DAY_S, True
    if found := _YM.search(text):
        yield _days((int(found[1]), int(found[2]), 1)), 31 * _DAY_S, True


def _days(parts: tuple[int, int, int]) -> tuple[int, ...]:
    """The day as a number, nothing where there is no such day."""
    year, month, day = parts
    try:
        return (date(year, month, day).toordinal(),)
    except ValueError:
        return ()
