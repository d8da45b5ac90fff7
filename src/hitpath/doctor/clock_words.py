"""Times and dates that have no place in `canonical.clock_shapes`: in words, with other marks
between the parts, beside a label; and counts of seconds or ticks since some year."""

import re
from collections.abc import Iterator

from hitpath.canonical.clock_shapes import MONTH_WORDS
from hitpath.doctor.time_spans import time_spans
from hitpath.doctor.volatile_lines import volatile_in
from hitpath.doctor.words_of_kinds import CLOCK_LABEL, LASTING, USER, WORD_CLOCK

_HOUR, _MINUTE = r"(?:[01]?\d|2[0-3])", r"[0-5]\d"
_DAY, _YEAR = r"(?<![\w.,:/-])(?:0?[1-9]|[12]\d|3[01])", r"(?:19|20)\d\d"
_MONTH, _DAYS = r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_SAID = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty)"
_WORD = r"[^\W\d_]{2,14}"
"""A month or a word like it in any language: known by the numbers around it."""
FURTHER = re.compile(
    rf"(?i)(?<![\w.:]){_HOUR}[.:h]{_MINUTE}(?:[.:m]{_MINUTE}s?)?\s?[ap]\.?m(?!\w)"  # 5.12am
    rf"|(?<![\w.:,]){_HOUR}\s?h\s?{_MINUTE}(?:\s?(?:m|min)?\s?{_MINUTE}\s?s)?(?!\w)"  # 9h12
    rf"|(?<![\w.:,/-])(?:[01]\d|2[0-3])\.{_MINUTE}\.{_MINUTE}(?!\w|\.\d)"  # 11.30.18
    r"|\d{1,4}\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]"
    r"|(?:(?:上午|下午|午前|午後|오전|오후)\s?)?\d{1,2}\s?[時时點点시]\s?(?:\d{1,2}\s?[分분](?:\s?\d{1,2}\s?[秒초])?)?"
    r"|(?<![\w-])(?:19|20)\d\d-W[0-5]\d(?:-[1-7])?(?!\w)"
    rf"|(?<![\w.-])\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[ T-]{_HOUR}{_MINUTE}{_MINUTE}(?!\w)"
    rf"|(?<![\w.-])\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[ T-]{{1,2}}{_HOUR}:{_MINUTE}"
    rf"(?::{_MINUTE})?(?!\w)"  # 260309 22:12:30, as MySQL logs
    r"|(?<![\w/])\d{1,2}/\d{1,2}\s(?:19|20)\d\d(?!\d)"
    r"|(?<!\w)@\d{1,3}(?:\.\d{1,3})?\s?\.?beats(?!\w)"  # Swatch's
    r"|(?<!\w)(?:day|week|kw)\s\d{1,3}\s(?:of|in)\s(?:19|20)\d\d(?!\d)"
    r"|(?<!\w)(?:\d{1,6}|an?|one|two|three|four|five|six|ten)\s"
    r"(?:second|minute|hour|day|week|month)s?\sago(?!\w)"
    rf"|(?<!\w)(?:(?:half|quarter|{_SAID})\spast|quarter\sto)\s{_SAID}(?!\w)"
    r"|(?<!\w)\d{1,4}\s?h(?:ours?|rs?)?,?\s?\d{1,2}\s?m(?:in(?:utes?|s)?)?"
    r"(?:,?\s?\d{1,2}\s?s(?:ec(?:onds?|s)?)?)?(?!\w)"  # 0h 35m 8s
    r"|(?<!\w)(?:datetime\.)?(?:datetime|date|Timestamp)\((?:19|20)\d\d(?:,\s?\d{1,6}){2,6}"
    r"(?:,\s?tzinfo=[\w.]{1,40})?\)"  # as Python writes it
    rf"|{_DAY}\.?\s(?:[^\W\d_]{{1,4}}\s)?{_WORD}\.?,?\s(?:[^\W\d_]{{1,6}}\.?\s)?{_YEAR},?\s"
    rf"(?:{_WORD}\.?\s)?{_HOUR}[.:h]{_MINUTE}(?:[.:]{_MINUTE})?(?!\w)"  # 9 Mart 2026, saat 18.37
    rf"|(?<!\d){_YEAR}{_MONTH}{_DAYS}[T_-]?{_HOUR}{_MINUTE}{_MINUTE}(?![\w-])"
    rf"|(?<![\w.:/-]){_YEAR}-(?:[0-2]\d\d|3[0-6]\d)(?:[T ]{_HOUR}:{_MINUTE}(?::{_MINUTE})?)?"
    r"(?![\w-])"
    rf"|(?<![\w.:/-]){_YEAR}:{_MONTH}:{_DAYS} {_HOUR}:{_MINUTE}:{_MINUTE}(?!\w)"
    r"|(?<!\w)-?P(?=\d|T\d)(?:\d{1,6}Y)?(?:\d{1,6}M)?(?:\d{1,6}W)?(?:\d{1,6}D)?"
    r"(?:T(?=\d)(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}(?:[.,]\d{1,9})?S)?)?(?!\w)"  # PT3M7S
    rf"|(?<!\w)(?:0[1-9]|[12]\d|3[01]){_HOUR}{_MINUTE}Z\s(?:{_WORD})\s\d\d(?!\w)"  # 090730Z MAR 26
    r"|(?<!\w)(?:\d{1,6}\s?(?:ms|s|m|h|d|w|mo|y|secs?|mins?|hrs?)|just now)\s+ago(?!\w)"
    r"|(?<!\w)\d{1,5}\s?d(?:ays?)?,?\s\d{1,2}(?::\d\d(?::\d\d)?|\s?h)(?:\s?\d{1,2}\s?m)?(?!\w)"
    rf"|{_DAY}\s{_WORD}\s\d{{1,2}}\s{_WORD}\s{_YEAR}"  # 9 tháng 3 năm 2026
    rf"(?:,?\s(?:{_WORD}\s)?{_HOUR}[.:h]{_MINUTE}(?:[.:]{_MINUTE})?)?(?!\w)"
)
_SPOKEN = re.compile(
    r"(?i)\d{1,2}\s?(?:h|uhr|hrs?|o'clock)(?:\s?\d{1,2})?(?!\w)"
    r"|(?<!\w)\d{1,2}\.?\s(?:de\s)?[a-zà-ÿ]{3,12}\.?,?\s(?:de\s)?(?:19|20)\d\d"
    r"(?:,?\s(?:à|a las|um|at|às|alle|kl\.?)\s\d{1,2}(?:\s?[h:.]\s?\d{1,2})?)?"
)
_CLAUSE = re.compile(r"[.!?]\s|[(\[;]")
_MOST_LINES, _LONGEST_LINE, _MOSTLY = 4, 120, 0.6
_YEAR_S, _MONTH_S = 366 * 86_400, 31 * 86_400
_COUNTS = (
    (900_000_000, 2_600_000_000, 1),  # Unix, in seconds
    (900_000_000_000, 2_600_000_000_000, 10**3),
    (900_000_000_000_000, 2_600_000_000_000_000, 10**6),
    (900_000_000_000_000_000, 2_600_000_000_000_000_000, 10**9),
    (120_000_000_000_000_000, 160_000_000_000_000_000, 10**7),  # Windows, since 1601
    (620_000_000_000_000_000, 670_000_000_000_000_000, 10**7),  # .NET, since the year 1
)
"""(from, to, a second) of clocks that count, for the years about 2000 to 2050."""


def is_clock(text: str) -> bool:
    """Whether a text is nothing but a clock, or lines that tell one each."""
    head = text[:400]
    least = min(len(text), 200) * 0.8
    if any(stop - start >= least for start, stop in further_spans(head)):
        return True
    clocks = [one for one in volatile_in(head) if one.kind == "clock"]
    if any(one.stop - one.start >= least for one in clocks) or WORD_CLOCK.fullmatch(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    shares = [_share(line) for line in lines[:_MOST_LINES] if len(line) <= _LONGEST_LINE]
    if len(lines) > len(shares) or not all(shares):
        return False
    return any(one.is_sure for one in clocks) or min(shares) >= _MOSTLY


def further_spans(text: str) -> Iterator[tuple[int, int]]:
    """Clocks that canonical forms do not know: characters [start, stop) of each, in order; what
    several rules see parts of is one."""
    first, last = 0, 0
    for start, stop in sorted(
        (*(found.span() for found in FURTHER.finditer(text)), *time_spans(text))
    ):
        if start >= last:
            if last:
                yield first, last
            first = start
        last = max(last, stop)
    if last:
        yield first, last


def _share(line: str) -> float:
    """How much of a line is clocks, 0 to 1; white space left out."""
    rest = list(line)
    for one in volatile_in(line):
        if one.kind == "clock":
            rest[one.start : one.stop] = " " * (one.stop - one.start)
    for start, stop in further_spans(line):
        rest[start:stop] = " " * (stop - start)
    size = len("".join(line.split()))
    return 1 - len("".join("".join(rest).split())) / size if size else 0.0


def is_labelled(line_before: str, sides: list[str]) -> bool:
    """Whether words that may be a clock, or a number, stand behind a word for time."""
    label = _CLAUSE.split(line_before[-40:])[-1]
    found = list(CLOCK_LABEL.finditer(label))
    if not found:
        return False
    if all(side.replace(",", "").replace(".", "").isdigit() for side in sides):
        is_last = bool(_BEHIND_LABEL.fullmatch(label, found[-1].end()))
        is_sized = bool(LASTING.search(label)) or all(map(_may_tell_time, sides))
        return is_last and is_sized and not USER.search(label)
    return all(
        WORD_CLOCK.fullmatch(side) or is_clock(side) or side.casefold() in MONTH_WORDS
        for side in sides
        if side
    )


_BEHIND_LABEL = re.compile(
    r"(?i)(?:[\s:=(\[\"'#@<>_-]|is|are|now|at|utc|gmt|in|ms|us|ns|s|sec(?:onds?)?|millis(?:econds)?|"
    r"hui|era?|è|é|ist|sono le|est|es|son las|value|id|iso|unix|of|the|day|week|month|year){0,8}"
)


def _may_tell_time(number: str) -> bool:
    """Whether a bare number may be an hour, a minute or a day, `0715`, a year, a day's number with
    parts of a day, or a count of seconds and less."""
    whole, _, parts = number.replace(",", "").partition(".")
    if len(whole) <= 2:
        return len(parts) in (0, 2)
    if len(whole) in (4, 6) and not parts:
        return int(whole[-2:]) < 60 and int(whole[-4:-2] or 0) < 60 and int(whole[:2]) < 24
    return len(whole) >= _LEAST_COUNT or (len(whole) == _DAY_NUMBER and len(parts) > 1)


_LEAST_COUNT, _DAY_NUMBER = 9, 5


def is_beside_a_date(line_before: str, number: str, line_after: str) -> bool:
    """Whether a number is the hour, the minute or the day of a date in words: `9 mars, 6 h 44`."""
    before = line_before[-32:]
    near = before + number + line_after[:16]
    if len(number.strip()) > 4:
        return False
    return any(
        found.start() <= len(before) < found.end()
        for shape in (_SPOKEN, FURTHER)
        for found in shape.finditer(near)
    )


def are_counts(there: str, here: str) -> bool:
    """Whether two numbers count the time since some year, and are less than a year apart; of those
    in hexadecimal, less than a month."""
    texts = [text.removeprefix("0x").removeprefix("0X") for text in (there, here)]
    if max(map(len, texts)) > 20:
        return False
    if all(map(_JULIAN.fullmatch, texts)):
        return abs(float(texts[0]) - float(texts[1])) < _MONTH_S / 86_400
    if all(map(str.isdecimal, texts)) and texts == [there, here]:
        values, most = [int(text) for text in texts], _YEAR_S
    elif all(map(_HEX.fullmatch, texts)):
        values, most = [int(text, 16) for text in texts], _MONTH_S
    else:
        return False
    return any(
        all(low <= value <= high for value in values) and abs(values[0] - values[1]) < most * second
        for low, high, second in _COUNTS
    )


_JULIAN = re.compile(r"24[4-7]\d{4}\.\d{3,9}")
_HEX = re.compile(r"[0-9a-fA-F]{8,16}")
