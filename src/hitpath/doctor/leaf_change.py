"""One difference of two strings, and the words before it by which fields are told apart."""

import re
from dataclasses import dataclass

from hitpath.doctor.change import Kind
from hitpath.doctor.shapes import HIDDEN

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class LeafChange:
    """Characters [start, stop) of this text stand for `there` of the earlier one; first: the first
    character that differs."""

    kind: Kind
    first: int
    start: int
    stop: int
    there: str
    here: str
    label: str
    detail: str = ""
    heading: str = ""


def label_of(before: str) -> str:
    """The words before a difference in its line, numbers masked; where a line begins with it, the
    line before that, if that is a heading."""
    above, _, line = before.rpartition("\n")
    words = _masked(line[-60:])
    if not line.strip() and above:
        heading = _masked(above.rpartition("\n")[2][:60])
        words = heading if _HEADING.fullmatch(heading) else words
    return words


def _masked(text: str) -> str:
    return _DIGITS.sub("0", HIDDEN.sub("", text)).strip()


_HEADING = re.compile(r"(?:#{1,6}\s.*|[^.?!]*:|<\w[\w -]*>|\[\w[\w -]*\]|\w+ 0)")
"""`## Hints`, `Hints of the day:`, `<example>`, `[EXAMPLES]`, `Example 1`."""


def heading_of(text: str, at: int, changed: str) -> str:
    """How the line begins in which a difference stands, numbers masked; where the line itself is
    what changed, how that begins."""
    begin = text.rfind("\n", max(0, at - 4000), at) + 1
    start = text[begin : min(begin + 40, at)] if at > begin else changed[:24]
    return _masked(start)
