"""A prompt that is one text: where its question stands, and which lines before it are the same but
for a value in them."""

import re
from collections.abc import Sequence

from hitpath.doctor.shapes import line_key
from hitpath.doctor.textdiff import equal_runs

_CUE = re.compile(r"\s*(?:[^\n]{1,30}[:：>\]]|\w{1,16})\s*")
"""What the reply goes on from: `Answer:`, `### Response:`, `SELECT`."""
_PIECES = re.compile(r"\w+|[^\w\s]")
_FIELD = re.compile(r"[^\n:=：]{2,30}[:=：]")
_LONGEST_FIELD = 120
_MOST_CHANGED, _LEAST_SAME, _LEAST_CHARS = 24, 8, 40
"""Of a line, pieces (words and marks) that a value may have; that must be the same behind or before
it; and the characters of these."""


def question_of(lines: Sequence[str]) -> int:
    """The line with which the last paragraph begins that says more than a cue; where nothing parts
    it from the rest, the last such line."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or _CUE.fullmatch(lines[end - 1])):
        end -= 1
    start = end
    while start and lines[start - 1].strip():
        start -= 1
    return start or max(end - 1, 0)


def alike_lines(lines: Sequence[str], others: Sequence[str]) -> int:
    """How many lines from the beginning are equal, or equal but for a value in them, the last of
    them with one, or behind a line of a value; 0 for none."""
    found, is_behind = 0, False
    for number, (line, other) in enumerate(zip(lines, others, strict=False)):
        if line == other:
            if is_behind and _says_something(line):
                found = number + 1
            is_behind = False
        elif _are_alike(line, other):
            found, is_behind = number + 1, False
        elif is_behind or not _are_of_one_field(line, other):
            break
        else:
            is_behind = True
    return found


def _says_something(line: str) -> bool:
    return bool(line.strip()) and _CUE.fullmatch(line) is None


def _are_of_one_field(line: str, other: str) -> bool:
    """Whether two short lines begin with one name (`User: Ann`, `User: Ivan`), or differ in numbers
    only."""
    if max(len(line), len(other)) > _LONGEST_FIELD:
        return False
    if line_key(line) == line_key(other):
        return True
    names = [_FIELD.match(text) for text in (line, other)]
    return names[0] is not None and names[1] is not None and names[0][0] == names[1][0]


def _are_alike(line: str, other: str) -> bool:
    """Whether two lines differ in few words and share many."""
    pieces = _PIECES.findall(line), _PIECES.findall(other)
    if not all(pieces):
        return False
    runs = equal_runs(*pieces)
    same = [pieces[0][a : a + n] for a, _, n in runs]
    num = sum(map(len, same))
    if max(map(len, pieces)) - num > _MOST_CHANGED:
        return False
    return any(len(run) >= _LEAST_SAME and len(" ".join(run)) >= _LEAST_CHARS for run in same)
