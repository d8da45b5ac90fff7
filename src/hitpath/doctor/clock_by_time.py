"""Values that go with the time of the requests are clocks, however they are written: seconds since
a start, hexadecimal or Julian dates, minutes past an hour.

Between two requests such a value changes by a constant times the seconds between them. A counter
changes by a constant times the requests between them; where requests come so evenly that both fit,
nothing is told.
"""

import re
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

Apart = Callable[[int, int], float | None]
"""Seconds from the arrival of a request's relative to its own, by their rows; None: not known."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{8,16})")
_FEWEST, _MOST, _MOSTLY = 5, 200, 0.9
_SLACK, _STEPS = 0.02, 1.6
"""A difference may be off by this share of it, or by so many of its smallest steps."""
_LEAST_GROWN = 4
_ROUNDS = ((1 / 60, 60), (1.0, 60), (1 / 3600, 24), (1 / 3600, 12), (1 / 86.4, 1000))
"""(a second in units, units until it begins again): minutes, seconds, hours, beats."""


class Pair(NamedTuple):
    """What stood in two requests, and their rows."""

    there: str
    here: str
    row: int
    relative: int


class _Step(NamedTuple):
    """By how much a value rose in how many seconds and requests; unit: the smallest step that it
    can make."""

    by: float
    seconds: float
    rows: float
    unit: float


def goes_with_time(pairs: Sequence[Pair], apart: Apart) -> bool:
    """Whether the values of one place tell the time, as far as arrivals are known."""
    steps = [step for pair in pairs[:_MOST] if (step := _step(pair, apart)) is not None]
    if len(steps) < _FEWEST or len(steps) < _MOSTLY * min(len(pairs), _MOST):
        return False
    by_request = [step._replace(seconds=step.rows) for step in steps]
    a_request = median(step.by / step.rows for step in steps)
    if _fit(by_request, a_request, None):
        return False
    rate = median(step.by / step.seconds for step in steps)
    grown = median(abs(step.by) / step.unit for step in steps)
    if grown >= _LEAST_GROWN and _fit(steps, rate, None):
        return True
    steps_made = {round(step.by / step.unit) for step in steps}
    return len(steps_made) >= _FEWEST and any(_fit(steps, *round_) for round_ in _ROUNDS)


def _fit(steps: Sequence[_Step], rate: float, modulus: float | None) -> bool:
    num = 0
    for step in steps:
        expected = rate * step.seconds
        off = step.by - expected
        allowed = max(_STEPS * step.unit, _SLACK * abs(expected))
        if modulus is not None:
            off = (off + modulus / 2) % modulus - modulus / 2
            allowed = _STEPS * step.unit
        num += abs(off) <= allowed
    return num >= _MOSTLY * len(steps)


def _step(pair: Pair, apart: Apart) -> _Step | None:
    seconds = apart(pair.row, pair.relative)
    values = _values(pair.there.strip(), pair.here.strip())
    if seconds is None or seconds <= 0 or values is None:
        return None
    old, new, unit = values
    return _Step(new - old, seconds, pair.row - pair.relative, unit)


def _values(there: str, here: str) -> tuple[float, float, float] | None:
    """(the number that changed as it was, as it is, its smallest step)."""
    one, other = _HEX.fullmatch(there), _HEX.fullmatch(here)
    if one and other and len(one[1]) == len(other[1]) and not (there + here).isdecimal():
        return float(int(one[1], 16)), float(int(other[1], 16)), 1.0
    numbers, others = _NUMBER.findall(there), _NUMBER.findall(here)
    if len(numbers) != len(others):
        return None
    for old, new in zip(numbers, others, strict=True):
        if old != new and max(len(old), len(new)) <= _LONGEST:
            if max(old.count("."), new.count(".")) > 1:
                return None
            values = [float(number.replace(",", "")) for number in (old, new)]
            decimals = max(len(number.partition(".")[2]) for number in (old, new))
            return values[0], values[1], 10.0**-decimals
    return None


_LONGEST = 24
