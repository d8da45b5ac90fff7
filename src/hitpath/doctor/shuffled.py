"""Members, or lines, that two lists have in another order."""

import re
from collections import Counter
from typing import NamedTuple

from hitpath.doctor.textdiff import common_length

_MOST_CUTS = 8
_BEFORE, _BEHIND = " >\"'`(=", " <\"'`)"
"""What may stand right before the first member, and right behind the last."""
_EDGES = 2
"""Members that may be written with other words beside them: the first and the last."""
_ORDINAL = re.compile(r"^\s*(?:\d{1,3}|[a-z])[.):]\s+")


class Inside(NamedTuple):
    """Lines that two texts have, without the words beside the first and the last of them.
    is_numbered: but for their numbers, which stay where they are."""

    lines: list[str]
    is_glued: bool
    is_numbered: bool = False


def shuffled(old: list[str], new: list[str]) -> Inside | None:
    """The new lines where they are the old ones in another order, perhaps behind the same words on
    the first line and before the same on the last one. Both have as many lines, two at least."""
    if old == new:
        return None
    prefix = common_length(old[0], new[0])
    heads = {0, *[at + 1 for at in range(prefix) if old[0][at] in _BEFORE][-_MOST_CUTS:]}
    backwards = old[-1][::-1]
    suffix = common_length(backwards, new[-1][::-1])
    tails = {0, *[at + 1 for at in range(suffix) if backwards[at] in _BEHIND][-_MOST_CUTS:]}
    for is_numbered in (False, True):
        left = _left_between(old, new, is_numbered)
        if left is None:
            continue
        for head in sorted(heads):
            for tail in sorted(tails):
                edges = [_edges(lines, head, tail, is_numbered) for lines in (old, new)]
                sides = [sorted([*one, *more]) for one, more in zip(edges, left, strict=True)]
                if sides[0] == sides[1]:
                    lines = [_lines(x, head, tail, is_numbered) for x in (old, new)]
                    if lines[0] != lines[1]:
                        return Inside(lines[1], head + tail > 0, is_numbered)
    return None


def _left_between(old: list[str], new: list[str], is_numbered: bool) -> list[list[str]] | None:
    """Of each side, the lines between the first and the last that the other has not there; None
    where they are more than the first and the last of the other could be."""
    one, other = (Counter(_bare(line, is_numbered) for line in x[1:-1]) for x in (old, new))
    left = one - other, other - one
    return None if max(x.total() for x in left) > _EDGES else [list(x.elements()) for x in left]


def _edges(lines: list[str], head: int, tail: int, is_numbered: bool) -> list[str]:
    last = lines[-1][: len(lines[-1]) - tail]
    return [_bare(lines[0][head:], is_numbered), _bare(last, is_numbered)]


def _lines(lines: list[str], head: int, tail: int, is_numbered: bool) -> list[str]:
    first, last = _edges(lines, head, tail, is_numbered)
    return [first, *(_bare(line, is_numbered) for line in lines[1:-1]), last]


def _bare(line: str, is_numbered: bool) -> str:
    return bare_of(line) if is_numbered else line


def bare_of(line: str) -> str:
    """A line without the number that it has in its list."""
    return _ORDINAL.sub("", line)
