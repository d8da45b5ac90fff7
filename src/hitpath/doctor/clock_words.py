"""Times and dates that have no place in `canonical.clock_shapes`: in words, with other marks
between the parts, beside a label; and counts of seconds or ticks since some year."""

import re

from hitpath.doctor.volatile_lines import volatile_in
from hitpath.doctor.words_of_kinds import CLOCK_LABEL, USER, WORD_CLOCK

_HOUR, _MINUTE = r"(?:[01]?\d|2[0-3])", r"[0-5]\d"
_DAY, _YEAR = r"(?<![\w.,:/-])(?:0?[1-9]|[12]\d|3[01])", r"(?:19|20)\d\d"
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
_YEAR_S = 366 * 86_400
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
    if any(found.end() - found.start() >= least for found in FURTHER.finditer(head)):
        return True
    clocks = [one for one in volatile_in(head) if one.kind == "clock"]
    if any(one.stop - one.start >= least for one in clocks) or WORD_CLOCK.fullmatch(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    shares = [_share(line) for line in lines[:_MOST_LINES] if len(line) <= _LONGEST_LINE]
    if len(lines) > len(shares) or not all(shares):
        return False
    return any(one.is_sure for one in clocks) or min(shares) >= _MOSTLY


def _share(line: str) -> float:
    """How much of a line is clocks, 0 to 1; white space left out."""
    rest = list(line)
    for one in volatile_in(line):
        if one.kind == "clock":
            rest[one.start : one.stop] = " " * (one.stop - one.start)
    for found in FURTHER.finditer(line):
        rest[found.start() : found.end()] = " " * (found.end() - found.start())
    size = len("".join(line.split()))
    return 1 - len("".join("".join(rest).split())) / size if size else 0.0


def is_labelled(line_before: str, sides: list[str]) -> bool:
    """Whether words that may be a clock, or a number, stand behind a word for time."""
    label = _CLAUSE.split(line_before[-40:])[-1]
    if not CLOCK_LABEL.search(label):
        return False
    if all(side.replace(",", "").replace(".", "").isdigit() for side in sides):
        return not USER.search(label)
    return all(WORD_CLOCK.fullmatch(side) or is_clock(side) for side in sides if side)


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
    """Whether two numbers count the time since some year, and are less than a year apart."""
    if not (there.isdecimal() and here.isdecimal()) or max(len(there), len(here)) > 20:
        return False
    one, other = int(there), int(here)
    return any(
        low <= one <= high and low <= other <= high and abs(one - other) < _YEAR_S * second
        for low, high, second in _COUNTS
    )
