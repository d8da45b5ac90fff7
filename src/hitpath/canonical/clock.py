"""Clocks made coarser where they stand: finer parts become zero, the form stays.

`2025-03-03 14:22:31.123` by the hour is `2025-03-03 14:00:00.000`, `2:22 PM` is `2:00 PM`, by the
day `12:00 AM`; an epoch is rounded down, in UTC. So a prompt changes once a unit.
"""

import re
from collections.abc import Iterator
from typing import Literal

from hitpath.canonical.change import CanonicalText, Change, apply_changes
from hitpath.canonical.clock_shapes import TOKEN, clock_at
from hitpath.canonical.volatile import find_volatile

ClockUnit = Literal["minute", "hour", "day"]
_UNIT_S = {"minute": 60, "hour": 3600, "day": 86_400}
_MORNINGS = {"下午": "上午", "午後": "午前", "오후": "오전"}


def coarsen_clock(
    text: str, unit: ClockUnit = "hour", *, only_sure: bool = True, path: str = ""
) -> CanonicalText:
    """The text with its clocks by the unit. only_sure: leave times that the words around them do
    not make the time of the request (see volatile.py)."""
    changes: list[Change] = []
    for clock in find_volatile(text):
        if clock.kind == "clock" and (clock.is_sure or not only_sure):
            changes += coarser_clock(text, clock.start, unit, path)
    return CanonicalText(apply_changes(text, changes), tuple(changes))


def coarser_clock(text: str, start: int, unit: ClockUnit, path: str) -> Iterator[Change]:
    """The changes of one clock, which begins there."""
    token = TOKEN.match(text, start)
    found = None if token is None else clock_at(text, start, token.group().lower())
    if found is None:
        return
    for begin, stop, new in sorted(_parts(found, unit)):
        if text[begin:stop] != new:
            yield Change("clock", path, begin, stop - begin, new)


def _parts(found: re.Match[str], unit: ClockUnit) -> Iterator[tuple[int, int, str]]:
    """(start, stop, new text) of each part that is finer than the unit."""
    groups = {name: text for name, text in found.groupdict().items() if text is not None}
    if "epoch" in groups:
        yield from _epoch(found, groups, unit)
        return
    zeroed = ["second", "second3", "fraction"]
    if unit != "minute":
        zeroed += ["minute", "minute3"]
    if unit == "day":
        zeroed += ["hour", "hour3", "hour4"]
    for name in zeroed:
        if name in groups:
            new = "0" * len(groups[name])
            if name == "hour" and groups.keys() & {"half", "half2"}:
                new = "12"
            yield (*found.span(name), new)
    if unit == "day":
        for name in groups.keys() & {"half", "half2"}:
            yield (*found.span(name), groups[name].replace("p", "a").replace("P", "A"))
        if "half3" in groups:
            half = groups["half3"]
            yield (*found.span("half3"), _MORNINGS.get(half, half))


def _epoch(
    found: re.Match[str], groups: dict[str, str], unit: ClockUnit
) -> Iterator[tuple[int, int, str]]:
    seconds = int(groups["epoch"])
    yield (*found.span("epoch"), str(seconds - seconds % _UNIT_S[unit]))
    for name in groups.keys() & {"digits", "fraction"}:
        yield (*found.span(name), "0" * len(groups[name]))
