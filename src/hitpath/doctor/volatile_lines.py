"""`canonical.find_volatile` line by line, each line looked at once: of the instructions of a trace
all but a few lines are the same in every request. What stands before a line decides too (`Current
time:` in the line before), so its end belongs to the key."""

import re
from functools import lru_cache

from hitpath.canonical import Volatile, find_volatile

_CONTEXT = 64
_DIGIT = re.compile(r"\d")
_WHOLE = 400
"""Characters of a text that is not worth cutting."""


def volatile_in(text: str) -> tuple[Volatile, ...]:
    """As find_volatile of the whole text, but for what reaches over a line's end."""
    if len(text) <= _WHOLE:
        return _of_line("", text)
    found: list[Volatile] = []
    at = 0
    for line in text.splitlines(keepends=True):
        before = _DIGIT.sub("0", text[max(0, at - _CONTEXT) : at])
        for one in _of_line(before, line):
            found.append(Volatile(one.kind, at + one.start, at + one.stop, one.is_sure))
        at += len(line)
    return tuple(found)


@lru_cache(maxsize=20_000)
def _of_line(before: str, line: str) -> tuple[Volatile, ...]:
    """Those that begin in the line, counted from its beginning."""
    size = len(before)
    return tuple(
        Volatile(one.kind, one.start - size, one.stop - size, one.is_sure)
        for one in find_volatile(before + line)
        if one.start >= size
    )
