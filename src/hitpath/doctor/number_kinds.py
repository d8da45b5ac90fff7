"""Which kind one number for another is: it counts, it is drawn, it is a user's or a request's."""

import re
from statistics import median

from hitpath.doctor.change import Change, Kind
from hitpath.doctor.fields import (
    Pairs,
    are_phones,
    is_of_a_request,
    labelled,
    num_within,
    stays_in_session,
)
from hitpath.doctor.open_groups import Seen, nearest_words
from hitpath.doctor.words_of_kinds import AMOUNT, COUNTED, SAMPLE, USER

_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|\d+(?:[.,]\d+)*")
_SMALL_STEP, _LOOKED_AT, _DRAWN = 16, 32, 3
_MOSTLY_WITHIN, _MOSTLY = 0.9, 0.6
_ORDINAL = re.compile(r"(?<![a-z])\d{1,6}(?:st|nd|rd|th|ème)\s*$")


def number_kind(seen: list[Seen], pairs: Pairs) -> Kind:
    steps = [step for one in seen if (step := _step(one.told)) is not None]
    one_way = _is_one_way(steps)
    if labelled(SAMPLE, seen):
        return "random_sample"
    if are_phones(seen) and not num_within(seen):
        return "per_user_field"
    if _rises_within(seen) or _is_used_up(seen, steps, pairs):
        return "counter"
    jumps = _jumps(seen, steps)
    is_id = jumps and _is_of_a_request(seen)
    is_somebodys = labelled(USER, seen) or _is_left_to_somebody(seen, pairs)
    may_count = not jumps and not _wavers_within(seen)
    if labelled(COUNTED, seen) and may_count and (one_way or not is_somebodys):
        return "counter"
    if stays_in_session(seen, pairs) and pairs.within and (labelled(USER, seen) or not one_way):
        return "request_id" if is_id else "per_user_field"
    if is_id:
        return "request_id"
    if not pairs.within and labelled(USER, seen) and not labelled(COUNTED, seen):
        return "per_user_field"
    is_steady = len(steps) >= _DRAWN or all(abs(step) <= _SMALL_STEP for step in steps)
    if one_way and not jumps and is_steady:
        return "counter"
    if _counts_anew(seen) or all(_ORDINAL.search(one.told.here) for one in seen):
        return "counter"
    if labelled(USER, seen) and not num_within(seen):
        return "per_user_field"
    return "random_sample"


def counts_by_small_steps(seen: list[Seen]) -> bool:
    """Whether numbers go one way by small steps, in all or anew in each session, whatever words
    say."""
    steps = [step for one in seen if (step := _step(one.told)) is not None]
    is_small = all(abs(step) <= _SMALL_STEP for step in steps)
    return (is_small and _is_one_way(steps)) or _rises_within(seen) or _counts_anew(seen)


def _rises_within(seen: list[Seen]) -> bool:
    """Whether a number goes one way within sessions, in steps of about one size, or ever so often:
    it begins again with each."""
    within = [step for one in seen if one.same_session and (step := _step(one.told)) is not None]
    if len(within) < _DRAWN or not (min(within) > 0 or max(within) < 0):
        return False
    sizes = sorted(map(abs, within))
    return len(within) >= _OFTEN or sizes[-1] <= _ALIKE_STEPS * sizes[0]


_OFTEN, _ALIKE_STEPS = 6, 3


def _wavers_within(seen: list[Seen]) -> bool:
    """Whether a number rises as often as it falls while a dialogue goes on: it is drawn, whatever
    it is called."""
    within = [step for one in seen if one.same_session and (step := _step(one.told)) is not None]
    ups = sum(step > 0 for step in within)
    return len(within) >= _OFTEN and min(ups, len(within) - ups) >= _WAVERING * len(within)


_WAVERING = 0.25


def _is_used_up(seen: list[Seen], steps: list[float], pairs: Pairs) -> bool:
    """Whether a number is what was used, or is left, of a whole: words say so, or two numbers of
    which one falls by what the other rises. Within sessions it goes one way; what changes between
    them only is a user's, and where there are none it goes one way too."""
    within = [step for one in seen if one.same_session and (step := _step(one.told)) is not None]
    told = seen[0].told
    has_rest = bool(steps) and all(_has_rest(one.told) for one in seen)
    if not within:
        is_said = labelled(AMOUNT, seen) and not USER.search(nearest_words(told.label))
        return pairs.within < _DRAWN and (has_rest or (is_said and _is_one_way(steps)))
    is_said = labelled(AMOUNT, seen) or all(_SAID_BEHIND.match(one.told.behind) for one in seen)
    is_part = all(_OF_A_WHOLE.match(one.told.behind) for one in seen)
    return _is_one_way(within) and (has_rest or is_said or is_part)


def _is_left_to_somebody(seen: list[Seen], pairs: Pairs) -> bool:
    """Whether what is left, or was used, never changes as a dialogue goes on: `vacation days
    left`."""
    return labelled(AMOUNT, seen) and not num_within(seen) and pairs.within >= _DRAWN


def _is_one_way(steps: list[float]) -> bool:
    ups = sum(step > 0 for step in steps)
    return bool(steps) and max(ups, len(steps) - ups) >= _MOSTLY_WITHIN * len(steps)


def _has_rest(told: Change) -> bool:
    """Whether one number rose by what another fell: `used 12, left 88`."""
    sides = [[_value(x) for x in _NUMBER.findall(text) if len(x) <= _LOOKED_AT and x.count(".") < 2]
             for text in (told.there, told.here)]  # fmt: skip
    if not len(sides[0]) == len(sides[1]) == _TWO:
        return False
    one, other = (new - old for old, new in zip(sides[0], sides[1], strict=True))
    return one + other == 0 != one


_TWO = 2
_SAID_BEHIND = re.compile(
    r"\s?%?\s?(?:[^\W\d_]{2,16}\s)?(?:are\s|is\s)?"
    r"(?:used|remaining|left|spent|consumed|so far)(?!\w)"
    r"|\s?%?\s?(?:使用|已用|剩余|残り|remaining)"
)
_OF_A_WHOLE = re.compile(r"\s?(?:/|(?:of|von|de|sur|di|van|из|z)(?:\s\w{2,4})?)\s?0(?![./-])")


def _jumps(seen: list[Seen], steps: list[float]) -> bool:
    """Whether a number of several digits is drawn, and counts nothing: it rises and falls, or, seen
    a few times only, becomes quite another."""
    sizes = [_num_digits(one.told) for one in seen]
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
    return is_of_a_request(f"{nearest_words(told.label)} {_NUMBER.sub('', told.here)}".strip())


def _num_digits(told: Change) -> int:
    """Of the first number that is another now."""
    pairs = zip(_NUMBER.findall(told.there), _NUMBER.findall(told.here), strict=False)
    return next(
        (max(len(_DIGITS.sub("", x)) for x in pair) for pair in pairs if pair[0] != pair[1]), 0
    )


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
