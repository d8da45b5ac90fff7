"""Which open changes of a trace are of one field: by the words before them, by lines that they
share (a sample's are drawn from one pool), and by what stands there in other requests.

A line that one of two requests lacks says little by itself. So the texts that stood there are
compared with each other: what differs between them tells the kind of the field.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hitpath.doctor.change import OPEN, Change, Kind
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.leaf import leaf_changes

_INDEX = re.compile(r"^(messages|input|conversations)\[\d+\]")
_SEPARATOR = re.compile(r"[|;,.\t(]\s*")
_UNITS = re.compile(r"\n|\s\|\s")
_MARKS = " \t\r-*•\"'|<>"
_ORDINAL = re.compile(r"^\d{1,3}[.)]\s+")
_LIST = re.compile(r"([^.;:,]{2,40}:)\s(?:[^.;:,]{1,40},\s?)+$")
_PARTED = re.compile(r", |; | \| |\w and \w")
_LAST_NAME = re.compile(r"=[^\s=]{1,60}(\s[\w.-]{1,30}=)$")
_WITH_DIGITS = re.compile(r"\w*\d\w*")
_NAME_WORDS = 3
_LEAST_UNIT, _MOST_UNIT = 12, 48
_MOST_COMPARED = 24
_LEAST_LISTS = 3
_CUT = 200
"""Characters that a change keeps of a text: the last unit of one so long may be cut."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One open change: where it is (finding, change), and whether within a session."""

    finding: int
    change: int
    same_session: bool
    told: Change


Place = tuple[int, str]
"""An application and a general path."""


@dataclass(frozen=True, slots=True)
class Group:
    """Open changes of one field."""

    place: Place
    kind: Kind
    seen: list[Seen]


def groups_of(findings: Sequence[Finding]) -> list[Group]:
    """All open changes, each in one group."""
    by_words: dict[tuple[Place, str, Kind], list[Seen]] = defaultdict(list)
    for number, finding in enumerate(findings):
        for at, change in enumerate(finding.comparison.changes):
            if change.kind in OPEN:
                place = (finding.application, general_path(change.json_path))
                key = (place, words_before(change), change.kind)
                by_words[key].append(Seen(number, at, finding.same_session, change))
    groups = [Group(place, kind, seen) for (place, _, kind), seen in by_words.items()]
    return _pooled(groups)


def _pooled(groups: list[Group]) -> list[Group]:
    """Groups of words of one place that have a line in common are one."""
    root = list(range(len(groups)))

    def find(number: int) -> int:
        while root[number] != number:
            root[number] = root[root[number]]
            number = root[number]
        return number

    holder: dict[tuple[Place, str], int] = {}
    for number, group in enumerate(groups):
        if group.kind == "?words":
            for one in group.seen:
                for unit in units_of(one.told):
                    root[find(number)] = find(holder.setdefault((group.place, unit), number))
    joined: dict[int, list[Seen]] = defaultdict(list)
    for number, group in enumerate(groups):
        joined[find(number)] += group.seen
    return [
        Group(groups[number].place, groups[number].kind, sorted(seen, key=_order))
        for number, seen in joined.items()
    ]


def _order(seen: Seen) -> tuple[int, int]:
    return seen.finding, seen.change


def units_of(change: Change) -> set[str]:
    """The lines, or items of a line, on either side."""
    return _units(change.there) | _units(change.here)


def _units(text: str) -> set[str]:
    """By their beginnings, those that are long enough to tell."""
    pieces = [_ORDINAL.sub("", piece.strip(_MARKS)) for piece in _UNITS.split(text)]
    if len(text) >= _CUT and len(pieces[-1]) < _MOST_UNIT:
        pieces.pop()
    return {piece[:_MOST_UNIT] for piece in pieces if len(piece) >= _LEAST_UNIT}


def are_drawn_lists(seen: Sequence[Seen]) -> bool:
    """Whether texts are lists of a few members each, and most members stand in several of them."""
    lists = {text for one in seen for text in (one.told.there, one.told.here) if text.strip()}
    members = [
        {part.strip(" .") for part in re.split(r", |; | \| | and |…", text[:_CUT])}
        for text in lists
        if _PARTED.search(text)
    ]
    if len(members) < _LEAST_LISTS or 2 * len(members) < len(lists):
        return False
    often = Counter(member for of_one in members for member in of_one)
    return 2 * sum(count > 1 for count in often.values()) > len(often)


def slots_of(change: Change) -> tuple[str, ...]:
    """What differs between the two sides: of a template that is filled in with other words only
    those (`Malmö`, `starter`, of `Malmö - Ruiz's plan: starter`), else all."""
    sides = [text.split(_ELLIPSIS) for text in (change.there, change.here)]
    if len(sides[0]) != len(sides[1]):
        return change.there, change.here
    return tuple(slot for one, other in zip(*sides, strict=True) for slot in _slots(one, other))


def _slots(one: str, other: str) -> Iterator[str]:
    words, others = one.split(), other.split()
    num_same = sum(a == b for a, b in zip(words, others, strict=False))
    if len(words) != len(others) or not num_same or 3 * num_same < len(words):
        yield from (one, other)
        return
    for side in (words, others):
        run: list[str] = []
        for word, a, b in zip(side, words, others, strict=True):
            if a == b:
                if run:
                    yield " ".join(run)
                run = []
            else:
                run.append(word)
        if run:
            yield " ".join(run)


_ELLIPSIS = "…"


def num_returned(seen: Sequence[Seen]) -> int:
    """Lines that came back after they had gone: they are drawn from a pool."""
    gone: set[str] = set()
    back: set[str] = set()
    for one in seen:
        went, came = _units(one.told.there), _units(one.told.here)
        back |= (came - went) & gone
        gone |= went - came
    return len(back)


def general_path(path: str) -> str:
    """A path without the number of its message."""
    return _INDEX.sub(r"\1[*]", path)


def nearest_words(label: str) -> str:
    """The words nearest to a value; before them may stand another value. Of `user=Ann n=` the last
    name, with the space before it."""
    named = _LAST_NAME.search(label)
    if named is not None:
        return named[1]
    parts = [part for part in _SEPARATOR.split(label) if part.strip()]
    return parts[-1].strip()[-32:] if parts else ""


def words_before(change: Change) -> str:
    """What changes of one field have in common: the words right before it, to their colon."""
    words = _WITH_DIGITS.sub("0", nearest_words(change.label))  # an id before it may change too
    may_be_listed = change.kind in ("?words", "array_order")
    listed = _LIST.search(change.label) if may_be_listed else None
    if listed is not None:  # some members of a list may stay
        return listed[1]
    if is_sentence(words):  # the item before it in a list: the line's beginning tells
        name, colon, _ = change.heading.partition(":")
        return name + colon if colon else change.heading
    head, colon, _ = (words or change.heading).rpartition(":")
    return head + colon if colon or not words else words


def is_sentence(words: str) -> bool:
    """Whether words are said, and are not the name of a field."""
    return not words.endswith((":", "=", "#", '"', ">")) and len(words.split()) > _NAME_WORDS


def is_one_sided(change: Change) -> bool:
    """A line that one of the two lacks."""
    return not change.there.strip() or not change.here.strip()


def compared(seen: Sequence[Seen]) -> tuple[Kind, list[Seen]] | None:
    """For a line that comes and goes: what differs between the texts that stood there, as if one
    had given way to the next; None where that is not one thing."""
    if not all(is_one_sided(one.told) for one in seen):
        return None
    texts = list(dict.fromkeys((one.told.there or one.told.here).strip() for one in seen))
    found: list[Seen] = []
    for one, (old, new) in zip(seen, pairwise(texts[:_MOST_COMPARED]), strict=False):
        changes = leaf_changes(old, new, "system")
        if len({change.kind for change in changes}) != 1:
            return None
        leaf = changes[0]
        told = replace(one.told, kind=leaf.kind, there=leaf.there[:_CUT], here=leaf.here[:_CUT],
                       label=leaf.label, heading=leaf.heading)  # fmt: skip
        found.append(replace(one, told=told))
    kinds = {one.told.kind for one in found}
    return (kinds.pop(), found) if len(kinds) == 1 else None
