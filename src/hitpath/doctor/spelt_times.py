"""Times and dates whose figures are words or other numerals: `eleven o'clock`, `March tenth`,
`三月十日`, `星期二`. The line with figures in their place is what clocks are known by.
"""

import re

from hitpath.doctor.number_words import cjk_in_figures, number_in

_WORD = re.compile(r"[^\W\d_]{2,24}(?:-[^\W\d_]{2,16})?")
_WEEKDAY = re.compile(
    r"(?:星期|周|週|礼拜|禮拜)[一二三四五六日天]|[月火水木金土日]曜日?|[월화수목금토일]요일"
)
_POINTS = re.compile(r"(?:以下|如下|这|這|有|共|第|遵守|注意)[一二三四五六七八九十]{1,3}[点點]")
"""Three points to mind, and no three o'clock."""
_LONGEST = 400


def in_figures(there: str, here: str) -> tuple[str, str] | None:
    """Two lines with the numbers that are spelt out in figures; None where none of them is in what
    differs, or the lines are long."""
    if max(len(there), len(here)) > _LONGEST or _POINTS.search(here):
        return None
    found = _with_figures(there), _with_figures(here)
    return found if found != (there, here) and found[0] != found[1] else None


def is_hour(before: str, sides: list[str], after: str) -> bool:
    """Whether the words around two numbers say that they are the hour: `Son las 11`, `Il est 11
    heures`."""
    if not all(side.isdecimal() and int(side[:_HOUR_DIGITS]) <= _HOURS for side in sides):
        return False
    if any(len(side) > _HOUR_DIGITS for side in sides):
        return False
    return bool(_SAID.search(before) or (_SAID_WITH_UNIT.search(before) and _UNIT.match(after)))


_HOURS, _HOUR_DIGITS = 24, 2
_SAID = re.compile(r"(?i)(?<!\w)(?:son las|sono le|jest godzina|klockan är|klokken er|kello on)\s$")
_SAID_WITH_UNIT = re.compile(r"(?i)(?<!\w)(?:il est|são|het is|es ist|it is|it['’]s)\s$")
_UNIT = re.compile(r"(?i)\s?(?:heures?|horas?|h|uur|uhr|o['’]clock)(?!\w)")


def are_weekdays(there: str, here: str) -> bool:
    """Whether two lines differ in the day of the week alone, in Chinese, Japanese or Korean."""
    return _WEEKDAY.sub("", there) == _WEEKDAY.sub("", here) and there != here


def _with_figures(line: str) -> str:
    def figure(word: re.Match[str]) -> str:
        number = number_in(word[0])
        is_short = word[0].isascii() and len(word[0]) < _LEAST
        return word[0] if number is None or is_short else str(number)

    return cjk_in_figures(_WORD.sub(figure, line))


_LEAST = 3
"""Letters of a word that surely is a number: `on` and `ba` are words of many languages."""
