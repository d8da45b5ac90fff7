"""Times of log lines: vLLM's own stamps, which have no year, or ISO 8601 before them.

vLLM's format is `%m-%d %H:%M:%S` in all versions (vllm/logger.py, _DATE_FORMAT). A container
runtime or a changed format may put a whole date before it, which is then used.
"""

import re

from hitpath.core import InputError
from hitpath.traces.conversations import iso_seconds

_STAMP = re.compile(r"(?<![\d-])(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?!\d)")
_ISO = re.compile(
    r"(?<!\d)(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?"
)
_DAYS_BEFORE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_DAYS_IN = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY_S = 86_400.0
_HALF_A_YEAR_S = 183 * _DAY_S
_JITTER_S = 2.0
"""Processes that write to one file pass each other by this much; more is another clock."""


class LogClock:
    """Seconds of one log's lines, in the order of its lines.

    Stamps without a year count from the first of January of the log's first year; a step back of
    more than half a year is a new year, and a 29th of February makes its year a leap year.
    """

    def __init__(self) -> None:
        self._last_s = 0.0
        self._years_before_s = 0.0
        self._leap = False

    def seconds(self, text: str, dated: bool, place: str) -> float | None:
        """The time in the beginning of a line; None where there is none. dated: whether it is
        ISO 8601 or a stamp without a year. Raises InputError for a date that is none."""
        found = self._dated(text, place) if dated else self._stamped(text, place)
        if found is None:
            return None
        if self._last_s - _JITTER_S <= found < self._last_s:
            return self._last_s
        self._last_s = found
        return found

    @staticmethod
    def _dated(text: str, place: str) -> float | None:
        match = _ISO.search(text)
        if match is None:
            return None
        day, time, fraction, zone = match.groups()
        stamp = f"{day}T{time}.{(fraction or '0')[:6]:0<6}{zone or ''}"
        return iso_seconds(stamp, "", place)

    def _stamped(self, text: str, place: str) -> float | None:
        match = _STAMP.search(text)
        if match is None:
            return None
        month, day, hour, minute, second = map(int, match.groups())
        if not (1 <= month <= 12 and 1 <= day <= _DAYS_IN[month - 1] and hour < 24):
            raise InputError(place, "", f"{match[0]!r} is not a date")
        within_s = hour * 3600.0 + minute * 60.0 + second
        if (month, day) == (2, 29):
            self._leap = True
        days = _DAYS_BEFORE[month - 1] + day - 1
        found = self._years_before_s + days * _DAY_S + within_s
        if found < self._last_s - _HALF_A_YEAR_S:
            year_s = (365 + self._leap) * _DAY_S
            self._years_before_s += year_s
            self._leap = False
            found += year_s
        return found + (self._leap and month > 2) * _DAY_S


def is_dated(text: str) -> bool:
    """Whether the beginning of a line has a date with its year."""
    return _ISO.search(text) is not None


def is_stamped(text: str) -> bool:
    """Whether the beginning of a line has vLLM's stamp without a year."""
    return _STAMP.search(text) is not None
