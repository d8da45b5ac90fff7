"""What differs between two strings that are meant to be the same: each difference healed, the next
one looked for.

Order: JSON within the text, items of a line, lines that moved, then what a diff by tokens finds.
Whatever is explained is put right in the earlier text, so that the next step no longer sees it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from hitpath.canonical.tools import tool_name
from hitpath.doctor.change import Kind
from hitpath.doctor.jsondiff import json_differences, sorted_text
from hitpath.doctor.kinds import Difference, is_tool, is_tool_text, json_blocks, kind_of
from hitpath.doctor.shapes import HIDDEN, line_key
from hitpath.doctor.textdiff import common_length, equal_runs, hunks_of

_SHORTEST_MOVED = 8
_AROUND = 240
_DIGITS = re.compile(r"\d+")
_ITEMS = re.compile(r"\s*[,;|]\s*|\s+(?:and|or)\s+|\s*/\s*")
_BULLET = re.compile(r"\s{0,8}(?:[-*•+]|\d{1,3}[.)])\s")
_ORDERS: dict[str, Kind] = {
    "key_order": "key_order", "array_order": "array_order", "number_format": "number_format",
}  # fmt: skip


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


class _Line(NamedTuple):
    start: int
    text: str


def leaf_changes(there: str, here: str, role: str) -> list[LeafChange]:
    """All differences, by their place in this text."""
    found: list[LeafChange] = []
    common = common_length(there, here)
    there = _heal_json(there, here, found)
    there = _heal_items(there, here, found)
    there = _heal_moves(there, here, found)
    has_moved = any(change.kind in ("moved_block", "array_order") for change in found)
    for hunk in hunks_of(there, here):
        old, new = there[hunk.there_start : hunk.there_stop], here[hunk.start : hunk.stop]
        if has_moved and not old.strip("\r\n") and not new.strip("\r\n"):
            continue  # empty lines between blocks that moved
        before = here[max(0, hunk.start - _AROUND) : hunk.start]
        after = here[hunk.stop : hunk.stop + _AROUND]
        kind = kind_of(Difference(old, new, before, after, hunk.shape, role))
        first = hunk.start + common_length(old, new)
        found.append(
            LeafChange(
                kind, first, hunk.start, hunk.stop, old, new, _label(before),
                heading=_heading(here, hunk.start, new or old),
            )
        )  # fmt: skip
    found.sort(key=lambda change: (change.first, change.stop))
    joined = _joined(found)
    if joined:  # what was put in may begin as what follows does: the first character decides
        joined[0] = replace(joined[0], first=common)
    return joined


def _label(before: str) -> str:
    """The words before a difference in its line, numbers masked."""
    return _DIGITS.sub("0", HIDDEN.sub("", before.rpartition("\n")[2][-60:])).strip()


def _heading(text: str, at: int, changed: str) -> str:
    """How the line begins in which a difference stands, numbers masked; where the line itself is
    what changed, how that begins."""
    begin = text.rfind("\n", max(0, at - 4000), at) + 1
    start = text[begin : min(begin + 40, at)] if at > begin else changed[:24]
    return _DIGITS.sub("0", HIDDEN.sub("", start)).strip()


def _joined(changes: list[LeafChange]) -> list[LeafChange]:
    """Neighbours of one kind are one change: the date and the time of a clock."""
    joined: list[LeafChange] = []
    for change in changes:
        last = joined[-1] if joined else None
        if last is not None and last.kind == change.kind and change.start - last.stop <= 12:
            joined[-1] = LeafChange(
                last.kind, last.first, last.start, max(last.stop, change.stop),
                f"{last.there}…{change.there}", f"{last.here}…{change.here}", last.label,
                last.detail, last.heading,
            )  # fmt: skip
        else:
            joined.append(change)
    return joined


def _heal_json(there: str, here: str, found: list[LeafChange]) -> str:
    """JSON blocks that differ in their orders, put in this text's order."""
    if "{" not in here and "[" not in here:
        return there
    one, other = json_blocks(there), json_blocks(here)
    if len(one) != len(other):
        return there
    pieces: list[str] = []
    at = 0
    for (a0, a1, a), (b0, b1, b) in zip(one, other, strict=True):
        old, new = there[a0:a1], here[b0:b1]
        if old == new:
            continue
        if _are_tools(a) and _are_tools(b) and _tool_names(a) != _tool_names(b):
            first = b0 + common_length(old, new)
            stop = max(first, b1 - common_length(old[::-1], new[::-1]))
            found.append(LeafChange("tool_set", first, first, stop, old, new, ""))
            pieces += (there[at:a0], new)
            at = a1
            continue
        if not _equal_but_order(a, b):
            continue
        kinds = list(dict.fromkeys(_orders(a, b)))
        if kinds in ([], ["number_format"]):
            continue
        first = b0 + common_length(old, new)
        for kind in kinds:
            label = _label(here[max(0, b0 - _AROUND) : b0])
            found.append(LeafChange(kind, first, b0, b1, old, new, label))
        pieces += (there[at:a0], new)
        at = a1
    return "".join([*pieces, there[at:]])


def _orders(one: object, other: object) -> Iterator[Kind]:
    """The kinds of differences of order and form; of a list of tools the order is theirs."""
    for found in json_differences(one, other):
        if found.kind == "array_order" and not found.steps and _are_tools(one):
            yield "tool_order"
        elif found.kind in _ORDERS:
            yield _ORDERS[found.kind]


def _are_tools(value: object) -> bool:
    """Whether a list in a text is one of tools."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, dict) and is_tool(item) for item in value)


def _tool_names(value: object) -> list[str]:
    assert isinstance(value, list)
    return sorted(map(tool_name, value))


def _equal_but_order(one: object, other: object) -> bool:
    try:
        return sorted_text(one) == sorted_text(other)
    except (UnicodeEncodeError, RecursionError, ValueError, OverflowError):
        return False  # no JSON that could be written again


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    at = 0
    for line in text.splitlines(keepends=True):
        lines.append(_Line(at, line))
        at += len(line)
    return lines


def _gaps(one: list[_Line], other: list[_Line]) -> Iterator[tuple[list[_Line], list[_Line], int]]:
    """(lines there, lines here, where they stand here) of every stretch that is not equal."""
    last_a = last_b = 0
    runs = equal_runs(
        [line_key(line.text) for line in one], [line_key(line.text) for line in other]
    )
    end = other[-1].start + len(other[-1].text) if other else 0
    for a, b, n in [*runs, (len(one), len(other), 0)]:
        if a > last_a or b > last_b:
            start = other[last_b].start if last_b < len(other) else end
            yield one[last_a:a], other[last_b:b], start
        last_a, last_b = a + n, b + n


def _heal_items(there: str, here: str, found: list[LeafChange]) -> str:
    """Lines whose items (between commas) stand in another order."""
    healed: dict[int, str] = {}
    one = _lines(there)
    for lines, others, _ in _gaps(one, _lines(here)):
        if len(lines) != len(others):
            continue
        for line, other in zip(lines, others, strict=True):
            prefix, suffix = _ends(line.text, other.text)
            old, new = (text[prefix : len(text) - suffix] for text in (line.text, other.text))
            if old != new and _same_items(line.text, other.text):
                start = other.start + prefix
                label = _label(other.text[:prefix])
                stop = start + len(new)
                found.append(LeafChange("array_order", start, start, stop, old, new, label))
                healed[line.start] = other.text
    return "".join(healed.get(line.start, line.text) for line in one) if healed else there


def _ends(one: str, other: str) -> tuple[int, int]:
    """Characters that are the same at the beginning, and at the end."""
    prefix = common_length(one, other)
    suffix = common_length(one[prefix:][::-1], other[prefix:][::-1])
    return prefix, suffix


def _same_items(one: str, other: str) -> bool:
    if len(one) > 4000 or one.count(",") + one.count(";") + one.count("|") < 1:
        return False
    heads = [text.rpartition(":")[2] for text in (one, other)]
    items = [sorted(filter(None, _ITEMS.split(text.strip(" .\n\r()[]{}")))) for text in heads]
    if one.rpartition(":")[0] != other.rpartition(":")[0]:
        return False
    return len(items[0]) >= 2 and items[0] == items[1]


def _heal_moves(there: str, here: str, found: list[LeafChange]) -> str:
    """Lines that stand elsewhere: taken from their old places and put where they are now."""
    one, other = _lines(there), _lines(here)
    gaps = list(_gaps(one, other))
    removed = [line for lines, _, _ in gaps for line in lines]
    added = Counter(line_key(line.text) for _, lines, _ in gaps for line in lines)
    gone = Counter(line_key(line.text) for line in removed)
    moved = {key for key in gone if gone[key] == added[key] and len(key) >= _SHORTEST_MOVED}
    if not moved:
        return there
    here_moved = [line for _, lines, _ in gaps for line in lines if line_key(line.text) in moved]
    there_moved = {line.start: line for line in removed if line_key(line.text) in moved}
    first = common_length(there, here)
    is_list = all(_BULLET.match(line.text) for line in here_moved) and len(here_moved) >= 1
    kind: Kind = "array_order" if is_list else "moved_block"
    if all(map(is_tool_text, (line.text for line in here_moved))):
        kind = "tool_order"
    start = min(first, here_moved[0].start)
    text = "".join(line.text for line in here_moved)
    old = "".join(line.text for line in there_moved.values())
    detail = f"{len(here_moved):,} lines"
    heading = _DIGITS.sub("0", here_moved[0].text[:12]).strip()
    found.append(LeafChange(kind, first, start, start, old, text, "", detail, heading))
    again = _in_order_of(one, other)
    if again is not None:
        return again
    healed = _with_moves(one, other, there_moved, moved)
    if healed.replace("\n", "") == here.replace("\n", ""):
        return here  # a line that was the last one has got a line end: part of the move
    return healed


def _in_order_of(one: list[_Line], other: list[_Line]) -> str | None:
    """The earlier lines in the order of these, where both have the same lines but for numbers and
    empty ones."""
    lines: dict[str, list[str]] = {}
    for line in one:
        if line.text.strip():
            lines.setdefault(line_key(line.text), []).append(line.text.rstrip("\r\n"))
    pieces: list[str] = []
    for line in other:
        text = line.text.rstrip("\r\n")
        if text.strip():
            known = lines.get(line_key(line.text))
            if not known:
                return None
            pieces.append(known.pop(known.index(text) if text in known else 0))
        else:
            pieces.append(text)
        pieces.append(line.text[len(text) :])
    return None if any(lines.values()) else "".join(pieces)


def _with_moves(
    one: list[_Line], other: list[_Line], there_moved: dict[int, _Line], moved: set[str]
) -> str:
    """The earlier text with the moved lines behind the lines that they stand behind now."""
    kept = [line for line in one if line.start not in there_moved]
    runs = equal_runs(
        [line_key(line.text) for line in kept],
        [line_key(line.text) for line in other if line_key(line.text) not in moved],
    )
    at_kept: dict[int, int] = {b + k: a + k for a, b, n in runs for k in range(n)}
    insert: dict[int, list[str]] = {}
    number, last = 0, 0
    for line in other:
        if line_key(line.text) in moved:
            insert.setdefault(last, []).append(line.text)
        else:
            last = at_kept.get(number, last - 1) + 1
            number += 1
    pieces: list[str] = []
    for at in range(len(kept) + 1):
        pieces += insert.get(at, [])
        if at < len(kept):
            pieces.append(kept[at].text)
    return "".join(pieces)
