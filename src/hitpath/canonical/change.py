"""What a canonical form changed, exact to the character, and how to apply or align it.

Places are those of the original: a JSON path and characters (code points) of the string there. So
two texts can be compared per character, though one of them is in canonical form.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Change:
    """One change. Two sorts:

    In a string: characters [char_offset, char_offset + num_chars) of the string at `json_path`
    gave way to `replacement`.
    Of an order (`key_order`, `array_order`, `tool_order` of a value): the members of the object or
    list at `json_path` were put in another order. The characters are those from the first to the
    last member that moved, in the value's compact JSON text; `replacement` is a JSON list: the keys
    in their new order, or the old indexes in their new order.

    `json_path` is empty where a function was given the string or value itself.
    """

    kind: str
    json_path: str
    char_offset: int
    num_chars: int
    replacement: str


class Canonical(NamedTuple):
    """A new value, and what was changed; `value` is equal to the old one where `changes` is
    empty."""

    value: Any
    changes: tuple[Change, ...]


class CanonicalText(NamedTuple):
    """A new text, and what was changed."""

    value: str
    changes: tuple[Change, ...]


class Kept(NamedTuple):
    """Characters that stand in both texts: [start, start + num_chars) of the original is
    [new_start, new_start + num_chars) of the canonical text."""

    start: int
    new_start: int
    num_chars: int


def apply_changes(text: str, changes: Iterable[Change]) -> str:
    """The canonical text: the changes, none of an order, all of this string, applied to it."""
    pieces: list[str] = []
    at = 0
    for change in in_order(changes):
        pieces += (text[at : change.char_offset], change.replacement)
        at = change.char_offset + change.num_chars
    return "".join([*pieces, text[at:]])


def kept_stretches(num_chars: int, changes: Iterable[Change]) -> tuple[Kept, ...]:
    """What stayed of a string of `num_chars` characters, in order; see apply_changes."""
    kept: list[Kept] = []
    at = new_at = 0
    for change in in_order(changes):
        if change.char_offset > at:
            kept.append(Kept(at, new_at, change.char_offset - at))
        new_at += change.char_offset - at + len(change.replacement)
        at = change.char_offset + change.num_chars
    if num_chars > at:
        kept.append(Kept(at, new_at, num_chars - at))
    return tuple(kept)


def in_order(changes: Iterable[Change]) -> list[Change]:
    """By their places; insertions at one place stay in the order in which they were made."""
    return sorted(changes, key=lambda change: (change.char_offset, change.num_chars > 0))


def compose(first: Sequence[Change], second: Sequence[Change]) -> tuple[Change, ...]:
    """Changes of a string that do at once what `first` and then `second` do. Where the second
    changes what the first has put there, both become one change, of the second's kind."""
    if not first or not second:
        return tuple(first or second)
    return _Composition(in_order(first)).then(in_order(second))


class _Composition:
    """Walks over the text between (after `first`, before `second`) from left to right.

    `_first[i]` stands at `_between[i]` there; the text before it is moved by a known shift.
    """

    def __init__(self, first: list[Change]) -> None:
        self._first = first
        self._between: list[int] = []
        shift = 0
        for change in first:
            self._between.append(change.char_offset + shift)
            shift += len(change.replacement) - change.num_chars

    def then(self, second: list[Change]) -> tuple[Change, ...]:
        made: list[Change] = []
        at, shift = 0, 0  # the next of first; original offset + shift = offset between
        for change in second:
            start, stop = change.char_offset, change.char_offset + change.num_chars
            while at < len(self._first) and self._ends(at) <= start:
                made.append(self._first[at])
                shift += self._growth(at)
                at += 1
            begin, before, after, touched = start - shift, "", "", []
            while at < len(self._first) and self._between[at] < stop:
                touched.append(at)
                shift += self._growth(at)
                at += 1
            end = stop - shift
            if touched:
                one, last = touched[0], touched[-1]
                if self._between[one] <= start:
                    begin = self._first[one].char_offset
                    before = self._first[one].replacement[: start - self._between[one]]
                if self._ends(last) >= stop:
                    end = self._first[last].char_offset + self._first[last].num_chars
                    kept = self._ends(last) - stop
                    after = self._first[last].replacement[-kept:] if kept else ""
            text = before + change.replacement
            made.append(Change(change.kind, change.json_path, begin, end - begin, text))
            if after:  # the next of second may change it too: it stays a change of the first
                self._leave(touched[-1], stop, after, end)
                at = touched[-1]
                shift -= self._growth(at)
        return tuple(made + self._first[at:])

    def _ends(self, at: int) -> int:
        return self._between[at] + len(self._first[at].replacement)

    def _growth(self, at: int) -> int:
        return len(self._first[at].replacement) - self._first[at].num_chars

    def _leave(self, at: int, between: int, text: str, offset: int) -> None:
        old = self._first[at]
        self._first[at] = Change(old.kind, old.json_path, offset, 0, text)
        self._between[at] = between
