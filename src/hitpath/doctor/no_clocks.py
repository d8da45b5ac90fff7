"""Dates and times that tell no time: a clock goes on as time does, in steps of what has passed.

What never changes within sessions, and goes back and forth between them by more than has passed, is
a user's (a birthday, an appointment); what does so within sessions is drawn; what changed once, by
more than has passed or backwards, was edited (opening hours, a deadline, a cutoff), unless words
say that it is now, or it is the day of the request. Users of other zones are quarters of an hour
apart. Where arrivals are not known, or a date cannot be read, nothing is told.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from hitpath.doctor.change import Change, Kind
from hitpath.doctor.clock_by_time import Apart
from hitpath.doctor.clock_values import Step, days_of, step_of
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.fields import Pairs
from hitpath.doctor.open_groups import general_path, nearest_words
from hitpath.doctor.prompt import TOOLS
from hitpath.doctor.words_of_kinds import CLOCK_LABEL, GREETING

At = tuple[int, int]
Arrived = Callable[[int], float | None]
"""When a row came, in seconds since 1970; None where that is not known."""
_FEWEST, _MANY_PAIRS, _MOSTLY, _SURELY = 3, 10, 0.5, 0.8
_DAY_S, _SLACK_S, _ZONE_S, _FARTHEST_S = 86_400.0, 120.0, 900.0, 15 * 3600.0
"""Clocks of two zones are a day apart at most, by quarters of an hour; those of two hosts some
seconds."""
_NOW = re.compile(
    r"(?i)(?<![a-z])(?:current(?:ly)?|week of|period|"
    r"this (?:week|month|quarter)|(?:week|month|quarter|year|day)\W{0,3}$)"
)
_NOT_NOW = re.compile(
    r"(?i)(?<![a-z])(?:cut-?off|until|till|ends?|expir\w+|due|deadline|updated|effective|open|hours|"
    r"since|before|after|born|birth|valid|version|released?|published)(?![a-z])"
)


class _Told(NamedTuple):
    """A clock that changed: where, whether within a session, by how much in how many seconds, and
    when the request came."""

    at: At
    same_session: bool
    change: Change
    step: Step | None
    passed_s: float | None
    arrived_s: float | None

    @property
    def is_too_far(self) -> bool:
        """Whether no clock does this: it goes back, or further than time did."""
        if self.step is None or self.passed_s is None:
            return False
        slack = _DAY_S if self.step.has_day else _SLACK_S
        return not -slack <= self.step.by_s <= self.passed_s + max(self.step.quantum_s, slack)

    @property
    def is_of_another_zone(self) -> bool:
        """Whether only quarters of an hour are between it and what time made of it."""
        if self.step is None or self.passed_s is None:
            return False
        off = self.step.by_s - self.passed_s
        rest = abs(off - round(off / _ZONE_S) * _ZONE_S)
        return abs(off) <= 2 * _FARTHEST_S and rest <= _SLACK_S

    @property
    def is_now(self) -> bool:
        """Whether words say that it is the time of the request, or its day is that of it, or the
        first one of its week or month."""
        label = self.change.label
        if _NOT_NOW.search(label):
            return False
        words = (CLOCK_LABEL, GREETING, _NOW)
        if any(one.search(label) for one in words) or not any(map(str.isalpha, label)):
            return True
        if self.arrived_s is None:
            return False
        today = datetime.fromtimestamp(self.arrived_s, UTC).date()
        return any(_is_of(day, today) for day in days_of(self.change.here, today.year))


def _is_of(number: int, today: date) -> bool:
    """Whether a day is this one, the first of its month, or the Monday of its week."""
    number_today = today.toordinal()
    firsts = today.replace(day=1).toordinal(), number_today - today.weekday()
    return number in firsts or abs(number - number_today) <= 1


def as_no_clocks(
    findings: Sequence[Finding],
    pairs: Mapping[int, Pairs],
    times: tuple[Apart, Arrived | None],
    decided: Mapping[At, Kind],
) -> Iterator[tuple[At, Kind]]:
    """(finding, change) of clocks that are none, and what they are. decided: what open changes
    are."""
    apart, arrived = times
    fields: dict[tuple[int, str, str], list[_Told]] = defaultdict(list)
    for number, finding in enumerate(findings):
        for at, change in enumerate(finding.comparison.changes):
            if change.kind == "clock" and change.there.strip() and change.here.strip():
                field = finding.application, general_path(change.json_path), _field(change)
                one = _Told(
                    (number, at), finding.same_session, change,
                    step_of(change.there, change.here), apart(finding.row, finding.relative),
                    None if arrived is None else arrived(finding.row),
                )  # fmt: skip
                fields[field].append(one)
    for (application, _, _), told in fields.items():
        kind = _kind_of(told, pairs[application])
        if kind == "per_user_field" and pairs[application].within < _FEWEST:
            kind = kind if _are_beside_users(told, findings, decided) else None
        if kind is not None:
            yield from ((one.at, kind) for one in told)


def _field(change: Change) -> str:
    return nearest_words(change.label) or change.heading


def _kind_of(told: list[_Told], pairs: Pairs) -> Kind | None:
    far = [one for one in told if one.is_too_far]
    if len({(one.change.there, one.change.here) for one in told}) == 1:
        is_once = pairs.within + pairs.between >= _MANY_PAIRS
        is_none = all(one.is_too_far or _is_word(one) for one in told)
        edited: Kind = "tool_set" if told[0].change.segment == TOOLS else "edited_message"
        return edited if is_once and is_none and not told[0].is_now else None
    goes_back = {one.step.by_s < 0 for one in far if one.step is not None}
    if len(told) < _FEWEST or len(goes_back) < len((True, False)):
        return None
    if len(far) < _MOSTLY * len(told) or any(one.same_session and one not in far for one in told):
        return None  # within sessions it goes on as time does
    if sum(one.is_of_another_zone for one in far) >= _SURELY * len(far):
        return None
    return "random_sample" if any(one.same_session for one in told) else "per_user_field"


def _is_word(one: _Told) -> bool:
    """Whether a clock is the name of a day or a quarter, which stands in rules too."""
    return one.step is None and _WORD.fullmatch(one.change.here.strip()) is not None


_WORD = re.compile(r"[^\W\d_]{3,12}(?:…[^\W\d_]{3,12})?|[QqWw]\d{1,2}")


def _are_beside_users(
    told: list[_Told], findings: Sequence[Finding], decided: Mapping[At, Kind]
) -> bool:
    """Whether most stand beside a user's value that changed too: no session tells whose it is."""
    num = 0
    for one in told:
        number, _ = one.at
        changes = enumerate(findings[number].comparison.changes)
        num += any(
            decided.get((number, at)) == "per_user_field"
            and other.json_path == one.change.json_path
            and abs(other.char_offset - one.change.char_offset) <= _BESIDE
            for at, other in changes
        )
    return num > _MOSTLY * len(told)


_BESIDE = 60
