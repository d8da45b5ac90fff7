"""Two stretches of a document that should be the same: line by line as far as nobody typed.

What differs in form alone (white space, hidden characters, Unicode form) or is stamped into the
comment at the beginning is a change; the first line in which anything else differs is new.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from hitpath.doctor.completion_marks import FILE
from hitpath.doctor.leaf import LeafChange, leaf_changes
from hitpath.doctor.shapes import HIDDEN
from hitpath.doctor.textdiff import common_length

_STAMPS = ("clock", "request_id", "counter", "attribution", "per_user_field", "random_sample",
           "?id", "?number")  # fmt: skip
_FORMS = ("white_space", "hidden_characters", "unicode_form")
_COMMENT = re.compile(
    r"\s*(?:$|#(?!include|define|undef|if|el|endif|pragma|import)|//|/?\*|--|;|%|<!--|\{-|\(\*|REM\b|<\?)"
)
_QUOTES = re.compile(r'\s*[rRbBuU]?("""|\'\'\')')
_LEAST_LINES, _MOST_FORMS, _MOST_STAMPED = 2, 2_000, 64
"""That another indentation must be seen in: one is what somebody typed; lines that are looked at,
written otherwise or stamped."""


class Cut(NamedTuple):
    """Changes of one stretch up to new_at, from which on all is new; None: nothing is."""

    changes: list[LeafChange]
    new_at: int | None


def cut_of_lines(old: str, new: str, has_cursor: bool) -> Cut:
    """Line by line, as long as lines differ in form alone, or in a stamp of the comment above."""
    olds, news = old.splitlines(keepends=True), new.splitlines(keepends=True)
    num = min(len(olds), len(news)) - has_cursor
    head = _stamped_lines(olds, news, num, has_cursor)
    forms: list[int] = []
    num_stamped, stop = 0, max(num, 0)
    for number in range(stop):
        old_line, new_line = olds[number], news[number]
        if old_line == new_line:
            continue
        if _said(old_line) == _said(new_line) and len(forms) < _MOST_FORMS:
            forms.append(number)
        elif number in head and num_stamped < _MOST_STAMPED and _is_stamped(old_line, new_line):
            num_stamped += 1
        else:
            stop = number
            break
    stop = min([stop, *_typed(olds, news, forms, stop)])
    ends = sum(map(len, olds[:stop])), sum(map(len, news[:stop]))
    changes: list[LeafChange] = []
    if old[: ends[0]] != new[: ends[1]]:
        for change in leaf_changes(old[: ends[0]], new[: ends[1]], "user"):
            if change.kind not in (*_STAMPS, *_FORMS):
                return Cut(changes, change.first)
            changes.append(change)
    more = common_length(old[ends[0] :], new[ends[1] :])
    is_all = ends[0] + more == len(old) and ends[1] + more == len(new)
    return Cut(changes, None if is_all else ends[1] + more)


def _stamped_lines(
    olds: Sequence[str], news: Sequence[str], num: int, has_cursor: bool
) -> frozenset[int]:
    """Lines at the beginning in which a value may be stamped: a document's comment, if the document
    behind it begins with the same line; of what stands before all marks, the words before the
    first file. Between two paths stand files, in comments too."""
    head = max(num, 0)
    if has_cursor:
        heads = _num_comments(olds), _num_comments(news)
        body = heads[0]
        is_other = body < num and _said(olds[body]) != _said(news[body])
        head = 0 if heads[0] != heads[1] or is_other else body
    paths = [number for number, line in enumerate(news[:head]) if FILE.match(line)] or [head]
    behind = range(paths[-1] + 1, head) if has_cursor else range(0)
    return frozenset((*range(paths[0]), *behind))


def _is_stamped(old: str, new: str) -> bool:
    """Whether all that differs in a line is a value; the name of a file is none."""
    if FILE.match(old) or FILE.match(new):
        return False
    return all(change.kind in _STAMPS for change in leaf_changes(old, new, "user"))


def _said(line: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", HIDDEN.sub("", line)).split())


def _typed(olds: Sequence[str], news: Sequence[str], forms: Sequence[int], stop: int) -> list[int]:
    """Lines with other white space that somebody typed: not all lines that have such white space
    are written otherwise."""
    found: list[int] = []
    for side in (0, 1):  # before a line's words, behind them
        changed = [k for k in forms if _space(olds[k], side) != _space(news[k], side)]
        having = [k for k in range(stop) if _space(olds[k], side) or _space(news[k], side)]
        if changed and (changed != having or len(changed) < _LEAST_LINES) and changed[0]:
            found.append(changed[0])
    inner = [k for k in forms if _inner(olds[k]) != _inner(news[k])]
    return found + inner[:1]


def _space(line: str, side: int) -> str:
    """The white space at one side of a line, its end aside."""
    line = line.rstrip("\r\n")
    size = len(line) - len(line.lstrip(" \t\u00a0")), len(line.rstrip(" \t\u00a0"))
    return line[: size[0]] if side == 0 else line[size[1] :]


def _inner(line: str) -> str:
    """A line in one Unicode form, with the white space between its words."""
    return unicodedata.normalize("NFKC", HIDDEN.sub("", line)).strip()


def _num_comments(lines: Sequence[str]) -> int:
    """Lines of the comment that a text begins with."""
    quotes = ""
    for number, line in enumerate(lines):
        if quotes:
            quotes = "" if quotes in line else quotes
        elif (found := _QUOTES.match(line)) is not None:
            quotes = found[1] if found[1] not in line[found.end() :] else ""
        elif not _COMMENT.match(line):
            return number
    return len(lines)
