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
    behind: str = ""


def label_of(before: str) -> str:
    """The words before a difference in its line, numbers masked; where a line begins with it, the
    line before that, if that is a heading."""
    above, _, line = before.rpartition("\n")
    words = _masked(line[-60:])
    if not line.strip() and above:
        heading = _masked(above.rpartition("\n")[2][:60])
        words = heading if _HEADING.fullmatch(heading) else words
    return words


def behind_of(after: str) -> str:
    """The words behind a difference in its line, numbers masked."""
    return _masked(after[:_BEHIND].partition("\n")[0])


_BEHIND = 32


def _masked(text: str) -> str:
    return _DIGITS.sub("0", HIDDEN.sub("", text)).strip()


_HEADING = re.compile(r"(?:#{1,6}\s.*|[^.?!]*:|<\w[\w -]*>|\[\w[\w -]*\]|\w+ ?0)")
"""`## Hints`, `Hints of the day:`, `<example>`, `[EXAMPLES]`, `Example 1`."""


def heading_of(text: str, at: int, changed: str) -> str:
    """How the line begins in which a difference stands, numbers masked; where the line itself is
    what changed, how that begins. Before an item of a list, the words over it: `Memory: -`."""
    begin = text.rfind("\n", max(0, at - _FAR), at) + 1
    start = _masked(text[begin : min(begin + 40, at)] if at > begin else changed[:24])
    over = _over_the_list(text[max(0, begin - _FAR) : begin]) if _ITEM.match(start) else ""
    return f"{over}: {start}" if over else start


def _over_the_list(before: str) -> str:
    """The heading of the list whose items stand before a line; "" where something else does."""
    for line in before.splitlines()[::-1][:_MOST_ITEMS]:
        if not line.strip() or _ITEM.match(line):
            continue
        words = _masked(line[:60])
        return words.strip("#: <>[]*") if _HEADING.fullmatch(words) else ""
    return ""


_FAR, _MOST_ITEMS = 4000, 24
_ITEM = re.compile(
    r"[ \t]{0,8}(?:[-*•–+]|\d{1,3}[.)])(?:\s|$)|[^\W\d_]{1,12}(?::(?:\s|$)|：|(?<=[぀-힣]):)"
)
"""`- `, `2. `, `Q: `: a line of a list, or of an example."""
