"""Where a JSON value stands in a text that a chat template has rendered.

A template writes JSON its own way: other separators, indented, or member by member between words of
its own. The value is looked for as a whole in the usual ways of writing it, else its members are.
"""

import json
import re
from typing import Any, NamedTuple

import msgspec

_STYLES: tuple[dict[str, Any], ...] = (
    {"ensure_ascii": False},
    {"ensure_ascii": False, "separators": (",", ":")},
    {"ensure_ascii": False, "indent": 4},
    {"ensure_ascii": False, "indent": 2},
    {},
)
_LEXEME = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]', re.DOTALL)
_COLON = re.compile(r'"?\s*[:=]\s*')
_DEEPEST = 12
_MOST_CHARS = 20_000_000
"""Looked through for one value."""


class Stretch(NamedTuple):
    """Characters [start, stop) of the value's compact text are [at, end) of the rendered one."""

    start: int
    stop: int
    at: int
    end: int


class JsonPlaces:
    """One value within characters [begin, end) of a text."""

    def __init__(self, value: Any, text: str, begin: int, end: int) -> None:
        self._text = text
        self._end = end
        self._left = _MOST_CHARS
        self.found: list[Stretch] = []
        self._locate(value, 0, begin, 0)
        self.found.sort()

    def place(self, char: int) -> int | None:
        """Where a character of the compact text stands: the next one that does, where it does not
        itself; None where nothing was found."""
        after = [one for one in self.found if one.stop > char]
        if after:
            one = after[0]
            return one.at + max(0, char - one.start)
        return self.found[-1].end if self.found else None

    def holds(self, char: int) -> bool:
        """Whether a character of the compact text is written itself."""
        return any(one.start <= char < one.stop for one in self.found)

    def _find(self, wanted: str, begin: int) -> int:
        if self._left <= 0:
            return -1
        at = self._text.find(wanted, begin, self._end)
        self._left -= (self._end if at < 0 else at) - begin
        return at

    def _locate(self, value: Any, start: int, begin: int, depth: int) -> int:
        """(as far as the text is done with) the value, whose compact text begins at `start`."""
        compact = _compact(value)
        for style in _STYLES:
            written = json.dumps(value, **style)
            at = self._find(written, begin)
            if at >= 0:
                self._add(compact, start, written, at)
                return at + len(written)
        if depth >= _DEEPEST or self._left <= 0:
            return begin
        if isinstance(value, dict):
            return self._members(value, start, begin, depth)
        if isinstance(value, list):
            at = begin
            place = start + 1
            for member in value:
                at = self._locate(member, place, at, depth + 1)
                place += len(_compact(member)) + 1
            return at
        if isinstance(value, str) and value and (at := self._find(value, begin)) >= 0:
            self.found.append(Stretch(start + 1, start + len(compact) - 1, at, at + len(value)))
            return at + len(value)
        return begin

    def _members(self, value: dict[str, Any], start: int, begin: int, depth: int) -> int:
        """Member by member; one that stands before another, against their order, is found too."""
        at = begin
        place = start + 1
        for key, member in value.items():
            name = _compact(key)
            found = max(self._find(name, at), -1)
            if found < 0 and at > begin:
                found = self._find(name, begin)
            behind = place + len(name) + 1
            colon = _COLON.match(self._text, found + len(name) - 1, self._end)
            then = found + len(name) if colon is None else colon.end()
            if found >= 0 and self._may_stand_at(member, then):
                self.found.append(Stretch(place, behind - 1, found, found + len(name)))
                if isinstance(member, dict | list | str) or self._stands_at(member, then):
                    at = max(at, self._locate(member, behind, then, depth + 1))
            elif isinstance(member, dict | list | str):
                num = len(self.found)
                at = max(at, self._locate(member, behind, at, depth + 1))
                if len(self.found) == num and at > begin:
                    self._locate(member, behind, begin, depth + 1)
            place = behind + len(_compact(member)) + 1
        return at

    def _may_stand_at(self, member: Any, at: int) -> bool:
        """Whether a key is this member's: its string stands behind it, or is JSON, which a template
        may write anew. `"id"` is a key of a call and of its arguments."""
        if not isinstance(member, str) or member[:1] in ("{", "["):
            return True
        written = member, json.dumps(member, ensure_ascii=False), json.dumps(member)
        return self._text.startswith(written, at)

    def _stands_at(self, member: Any, at: int) -> bool:
        """A number or word is only looked for behind its key."""
        return self._text.startswith(json.dumps(member), at)

    def _add(self, compact: str, start: int, written: str, at: int) -> None:
        """Lexeme by lexeme: they are the same but for spaces between and escapes within."""
        for one, other in zip(_LEXEME.finditer(compact), _LEXEME.finditer(written), strict=True):
            self.found.append(
                Stretch(
                    start + one.start(), start + one.end(), at + other.start(), at + other.end()
                )
            )


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()
