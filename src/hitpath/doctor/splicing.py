"""Generated ids put back where the next prompt holds another tokenisation of them.

A prompt is read against what it should begin with: its relative's prompt and the reply's ids. Where
both say the same text in other ids, the expected ones take their place; where the expected ones
hold reasoning that was left out here, they are put in. What the ids say stays, letter by letter.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hitpath.doctor.words_of_kinds import THINK, THOUGHT
from hitpath.traces.table import Symbols

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hitpath.doctor.replies import Decode

_BROKEN = "\ufffd"
_MOST_PIECES = 8
"""Ids that hold a part of one character each."""
_MOST_SYNC = 4096
_FIRST_STEP = 256
_LONGEST_THOUGHT = 65_536
_LONGEST_MARK, _LOOKED_AT = 8, 12
_BLOCK = re.compile(rf"\s*(?P<thought>{THOUGHT.pattern.removeprefix('(?is)')})\s*", re.I | re.S)
Encode = Callable[[str], Symbols]


class Edit(NamedTuple):
    """Ids [start, stop) of a prompt give way to others, which say the same text, or reasoning that
    was left out there (start = stop)."""

    start: int
    stop: int
    ids: Symbols


@dataclass(slots=True)
class Reading:
    """How a prompt follows what it should begin with. runs: (place there, place here, length) of
    equal ids; edits: what makes it begin so."""

    runs: list[tuple[int, int, int]] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)


def edited(own: Symbols, edits: Iterable[Edit]) -> Symbols:
    """The ids with the edits in."""
    pieces: list[NDArray[np.generic]] = []
    at = 0
    for edit in edits:
        pieces += [own[at : edit.start], edit.ids]
        at = edit.stop
    joined: Symbols = np.concatenate([*pieces, own[at:]]).astype(own.dtype)
    return joined


def moved(edits: Iterable[Edit], reading: Reading) -> list[Edit]:
    """Edits of the relative where the same ids stand here."""
    found: list[Edit] = []
    for edit in edits:
        for there, here, length in reading.runs:
            if there <= edit.start and edit.stop <= there + length:
                shift = here - there
                found.append(edit._replace(start=edit.start + shift, stop=edit.stop + shift))
                break
    return found


class Splicing:
    """Reads prompts of one tokenizer. reasoning: whether what was left out is put back; texts:
    whether other ids of one text are replaced."""

    def __init__(self, decode: "Decode", encode: Encode, *, texts: bool, reasoning: bool) -> None:
        self._decode = decode
        self._encode = encode
        self._texts = texts
        self._reasoning = reasoning
        self._said: dict[int, str] = {}

    def read(self, expected: Symbols, own: Symbols) -> Reading:
        """From the beginning to where the texts part, or to the end of one of them."""
        found = Reading()
        i = j = 0
        while True:
            same = _num_equal(expected[i:], own[j:])
            if same:
                found.runs.append((i, j, same))
            i, j = i + same, j + same
            if i >= len(expected) or j >= len(own):
                return found
            synced = self._same_text(expected, own, i, j)
            if synced is not None:
                stop, here, rest = synced
                if self._texts:
                    ids = expected[i:stop]
                    if rest:
                        ids = np.concatenate([ids, self._encode(rest).astype(ids.dtype)])
                    found.edits.append(Edit(j, here, ids))
                i, j = stop, here
                continue
            thought = self._thought(expected, own, i, j) if self._reasoning else None
            if thought is None:
                return found
            begin, stop, here = thought
            found.edits.append(Edit(here, here, expected[begin:stop]))
            i, j = stop, here

    def _same_text(
        self, expected: Symbols, own: Symbols, i: int, j: int
    ) -> tuple[int, int, str] | None:
        """(place there, place here, text that the last id here has beyond the expected end) where
        both have said the same from i and j on; None where the texts part first."""
        one = other = ""
        a, b = i, j
        while max(a - i, b - j) < _MOST_SYNC:
            if len(one) <= len(other):
                if a == len(expected):
                    return None if _BROKEN in other else (a, b, other)
                more, a = self._next(expected, a)
                one += more
            elif b == len(own):
                return None
            else:
                more, b = self._next(own, b)
                other += more
            shared = min(len(one), len(other))
            if one[:shared] != other[:shared]:
                return None
            one, other = one[shared:], other[shared:]
            if not one and not other and a > i and b > j:
                return a, b, ""
        return None

    def _next(self, ids: Symbols, at: int) -> tuple[str, int]:
        """(text, where the next begins) of the id there, with those that end its character."""
        text = self._one(int(ids[at]))
        stop = at + 1
        while text.endswith(_BROKEN) and stop < min(len(ids), at + _MOST_PIECES):
            stop += 1
            text = self._decode(ids[at:stop].tolist())
        return (self._one(int(ids[at])), at + 1) if text.endswith(_BROKEN) else (text, stop)

    def _one(self, number: int) -> str:
        text = self._said.get(number)
        if text is None:
            text = self._said[number] = self._decode([number])
        return text

    def _thought(
        self, expected: Symbols, own: Symbols, i: int, j: int
    ) -> tuple[int, int, int] | None:
        """(begin, stop) of reasoning there that is left out here, and its place here: what follows
        it there goes on here. It may begin with ids that what follows begins with too."""
        for back in range(min(_LONGEST_MARK, i, j) + 1):
            begin, here = i - back, j - back
            if expected[begin:i].tolist() != own[here:j].tolist():
                return None
            opening = self._decode(expected[begin : begin + _LONGEST_MARK].tolist())
            if THINK.match(opening.lstrip()):
                text = self._decode(expected[begin : begin + _LONGEST_THOUGHT].tolist())
                block = _BLOCK.match(text)
                if block is not None and len(THINK.findall(block["thought"])) > 1:
                    stops = self._stops(expected, begin, block)
                    follows = (stop for stop in stops if self._goes_on(expected, stop, own, here))
                    stop = next(follows, None)
                    return None if stop is None else (begin, stop, here)
        return None

    def _stops(self, expected: Symbols, begin: int, block: re.Match[str]) -> Iterator[int]:
        """Where ids end behind the reasoning and in the space behind it."""
        size, at = 0, begin
        while size < block.end() and at < len(expected):
            piece, at = self._next(expected, at)
            size += len(piece)
            if block.end("thought") <= size <= block.end():
                yield at

    def _goes_on(self, expected: Symbols, at: int, own: Symbols, here: int) -> bool:
        """Whether the texts from there on begin alike."""
        one, other = (
            self._decode(ids.tolist()).rstrip(_BROKEN)
            for ids in (expected[at : at + _LOOKED_AT], own[here : here + _LOOKED_AT])
        )
        shared = min(len(one), len(other))
        return one[:shared] == other[:shared] and (shared > 0 or at == len(expected))


def _num_equal(one: Symbols, other: Symbols) -> int:
    """Leading ids that both have; looked at in steps, for most stretches are short."""
    at, step = 0, _FIRST_STEP
    most = min(len(one), len(other))
    while at < most:
        stop = min(at + step, most)
        differing = np.flatnonzero(one[at:stop] != other[at:stop])
        if len(differing):
            return at + int(differing[0])
        at, step = stop, 4 * step
    return most
