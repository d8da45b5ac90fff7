"""Which kind one number for another is: it counts, it is drawn, it is a user's or a request's."""

import re
from statistics import median

from hitpath.doctor.change import Change, Kind
from hitpath.doctor.fields import Pairs, labelled, num_within, stays_in_session
from hitpath.doctor.open_groups import Seen, nearest_words
from hitpath.doctor.words_of_kinds import COUNTED, REQUEST, SAMPLE, USER

_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|\d+(?:[.,]\d+)*")
_SMALL_STEP, _LOOKED_AT, _DRAWN = 16, 32, 3
_MOSTLY_WITHIN, _MOSTLY = 0.9, 0.6
_ORDINAL = re.compile(r"(?<![a-z])\d{1,6}(?:st|nd|rd|th|ème)\s*$")


def number_kind(seen: list[Seen], pairs: Pairs) -> Kind:
    steps = [step for one in seen if (step := _step(one.told)) is not None]
    rising = sum(step > 0 for step in steps)
    one_way = bool(steps) and max(rising, len(steps) - rising) >= 0.9 * len(steps)
    if labelled(SAMPLE, seen):
        return "random_sample"
    if _rises_within(seen):
        return "counter"
    jumps = _jumps(seen, steps)
    is_id = jumps and _is_of_a_request(seen)
    if labelled(COUNTED, seen) and not jumps and (one_way or not labelled(USER, seen)):
        return "counter"
    if stays_in_session(seen, pairs) and pairs.within and (labelled(USER, seen) or not one_way):
        return "request_id" if is_id else "per_user_field"
    if is_id:
        return "request_id"
    is_steady = len(steps) >= _DRAWN or all(abs(step) <= _SMALL_STEP for step in steps)
    if one_way and not jumps and is_steady:
        return "counter"
    if _counts_anew(seen) or all(_ORDINAL.search(one.told.here) for one in seen):
        return "counter"
    if labelled(USER, seen) and not num_within(seen):
        return "per_user_field"
    return "random_sample"


def _rises_within(seen: list[Seen]) -> bool:
    """Whether a number goes one way within sessions, in steps of about one size, or ever so often:
    it begins again with each."""
    within = [step for one in seen if one.same_session and (step := _step(one.told)) is not None]
    if len(within) < _DRAWN or not (min(within) > 0 or max(within) < 0):
        return False
    sizes = sorted(map(abs, within))
    return len(within) >= _OFTEN or sizes[-1] <= _ALIKE_STEPS * sizes[0]


_OFTEN, _ALIKE_STEPS = 6, 3


def _jumps(seen: list[Seen], steps: list[float]) -> bool:
    """Whether a number of several digits is drawn, and counts nothing: it rises and falls, or, seen
    a few times only, becomes quite another."""
    sizes = [max(len(_DIGITS.sub("", text)) for text in (one.told.there, one.told.here))
             for one in seen]  # fmt: skip
    if not steps or median(sizes) < _LONG_NUMBER:
        return False
    within = [step for one in seen if one.same_session and (step := _step(one.told)) is not None]
    if len(within) >= _DRAWN and (min(within) > 0 or max(within) < 0):
        return False  # it begins again with each session
    rising = sum(step > 0 for step in steps)
    fewer = min(rising, len(steps) - rising)
    if fewer >= 0.1 * len(steps) and fewer and len(steps) > 1:
        return True
    values = [value for one in seen for text in (one.told.there, one.told.here)
              if (value := _first_value(text)) is not None]  # fmt: skip
    size = median(map(abs, values)) if values else 0.0
    is_wide = median(map(abs, steps)) >= _WIDE_STEP * size
    return len(steps) < _FEW and is_wide and median(sizes) >= _ID_DIGITS


def _is_of_a_request(seen: list[Seen]) -> bool:
    """Whether the words before a number, or its own, name a request or what it is a part of."""
    told = seen[0].told
    near = f"{nearest_words(told.label)} {_NUMBER.sub('', told.here)}"
    return bool(REQUEST.search(near)) and not USER.search(near)


def _first_value(text: str) -> float | None:
    number = _NUMBER.search(text)
    if number is None or number[0].count(".") > 1 or len(number[0]) > _LOOKED_AT:
        return None
    return _value(number[0])


_DIGITS = re.compile(r"[^0-9]+")
_LONG_NUMBER, _ID_DIGITS, _WIDE_STEP, _FEW = 4, 6, 0.02, 5


def _counts_anew(seen: list[Seen]) -> bool:
    """Whether a number rises by small steps as a dialogue goes on, and begins again with each."""
    within = [one.told for one in seen if one.same_session]
    steps = [step for told in within or (one.told for one in seen)
             if (step := _step(told)) is not None]  # fmt: skip
    small = [step for step in steps if 0 < step <= _SMALL_STEP]
    needed = _MOSTLY_WITHIN if within else _MOSTLY
    return len(small) >= _DRAWN and len(small) >= needed * len(steps)


def _step(change: Change) -> float | None:
    """By how much a number rose."""
    old, new = _NUMBER.findall(change.there), _NUMBER.findall(change.here)
    if not old or not new:
        return None
    values = [
        _value(a) - _value(b)
        for a, b in zip(new, old, strict=False)
        if a.count(".") < 2 and b.count(".") < 2 and len(a) < 30 and len(b) < 30
    ]
    return next((value for value in values if value), None)


def _value(number: str) -> float:
    if number.startswith("0x"):
        return float(int(number, 16))
    return float(number.replace(",", ""))
