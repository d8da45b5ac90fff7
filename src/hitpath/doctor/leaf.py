"""What differs between two strings that are meant to be the same: each difference healed, the next
one looked for.

Order: JSON within the text, items of a line, lines that moved, then what a diff by tokens finds.
Whatever is explained is put right in the earlier text, so that the next step no longer sees it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from hitpath.canonical.tools import tool_name
from hitpath.doctor.change import Kind
from hitpath.doctor.digits import in_ascii_digits
from hitpath.doctor.json_strings import opened_blocks
from hitpath.doctor.jsondiff import json_differences, sorted_text
from hitpath.doctor.kinds import Difference, are_ids, is_tool, kind_of
from hitpath.doctor.leaf_change import LeafChange, behind_of, heading_of, label_of
from hitpath.doctor.line_orders import heal_items
from hitpath.doctor.literals import literal_blocks
from hitpath.doctor.moved_lines import heal_moves
from hitpath.doctor.number_words import size_of_its_beginning
from hitpath.doctor.textdiff import Hunk, common_length, hunks_of
from hitpath.doctor.words_of_kinds import ATTRIBUTION

__all__ = ["LeafChange", "leaf_changes"]

_AROUND = 240
Block = tuple[int, int, object]
_ORDERS: dict[str, Kind] = {
    "key_order": "key_order", "array_order": "array_order", "number_format": "number_format",
}  # fmt: skip


def leaf_changes(there: str, here: str, role: str) -> list[LeafChange]:
    """All differences, by their place in this text. Digits of other scripts are read as ours."""
    plain = in_ascii_digits(there), in_ascii_digits(here)
    if plain == (there, here) or plain[0] == plain[1] or _are_exchanged(there, here, plain):
        return _leaf_changes(there, here, role)
    return [_as_written(one, there, here, plain) for one in _leaf_changes(*plain, role)]


def _are_exchanged(there: str, here: str, plain: tuple[str, str]) -> bool:
    """Whether digits of one script may stand for those of another: as many of them on both sides,
    and on one side all are ours."""
    is_one_sided = there == plain[0] or here == plain[1]
    nums = [sum(map(str.isdecimal, text)) for text in plain]
    return is_one_sided and nums[0] == nums[1]


def _as_written(change: LeafChange, there: str, here: str, plain: tuple[str, str]) -> LeafChange:
    """A change of two texts whose digits were replaced, with the digits that stand there."""
    new = here[change.start : change.stop]
    at = plain[0].find(change.there) if change.there else -1
    old = change.there if at < 0 else there[at : at + len(change.there)]
    is_part = plain[1][change.start : change.stop] == change.here
    return replace(change, there=old, here=new if is_part else change.here)


def _leaf_changes(there: str, here: str, role: str) -> list[LeafChange]:
    found: list[LeafChange] = []
    common = common_length(there, here)
    earlier = there
    there = _heal_attribution(there, here, found)
    there = _heal_blocks(there, here, found, opened_blocks)
    there = _heal_blocks(there, here, found, literal_blocks)
    there = heal_items(there, here, found)
    num_healed = len(found)
    there = heal_moves(there, here, role, found)
    has_moved = len(found) > num_healed
    for hunk in hunks_of(there, here):
        old, new = there[hunk.there_start : hunk.there_stop], here[hunk.start : hunk.stop]
        if has_moved and not old.strip("\r\n") and not new.strip("\r\n"):
            continue  # empty lines between blocks that moved
        if has_moved and _stand_as_often(old or new, earlier, here) and not (old and new):
            continue  # `</file>`, which belongs to one of them
        if has_moved and hunk.shape == "number" and _is_ordinal(here, hunk):
            continue  # the number that a line has in its list
        before = here[max(0, hunk.start - _AROUND) : hunk.start]
        by = size_of_its_beginning(before, old, new)
        if by and there[: hunk.there_start].endswith(here[hunk.start - by : hunk.start]):
            hunk = hunk._replace(there_start=hunk.there_start - by, start=hunk.start - by)
            old, new = there[hunk.there_start : hunk.there_stop], here[hunk.start : hunk.stop]
            before = before[:-by]
        after = here[hunk.stop : hunk.stop + _AROUND]
        kind = kind_of(Difference(old, new, before, after, hunk.shape, role))
        first = _first_of(there, here, hunk)
        start, stop = _changed(old, new, hunk) if kind in _FORMS else (hunk.start, hunk.stop)
        found.append(
            LeafChange(
                kind, first, start, stop, old, new, label_of(before),
                heading=heading_of(here, hunk.start, new or old), behind=behind_of(after),
            )
        )  # fmt: skip
    found.sort(key=lambda change: (change.first, change.stop))
    joined = _joined(found, here)
    if joined:  # what was put in may begin as what follows does: the first character decides
        joined[0] = replace(joined[0], first=common)
    return joined


def _heal_attribution(there: str, here: str, found: list[LeafChange]) -> str:
    """A client's line at the beginning, which only one of the two has."""
    sides = [_client_line(text) for text in (there, here)]
    if bool(sides[0]) == bool(sides[1]):
        return there
    first, stop = common_length(there, here), len(sides[1])
    found.append(LeafChange("attribution", first, 0, stop, sides[0], sides[1], ""))
    return sides[1] + there[len(sides[0]) :]


def _client_line(text: str) -> str:
    """The first line with its end, where it tells a client; else nothing."""
    line, end, rest = text[:_LONGEST_CLIENT].partition("\n")
    if not end or not ATTRIBUTION.match(line.lstrip()):
        return ""
    return line + end + rest[: len(rest) - len(rest.lstrip("\n"))]


_LONGEST_CLIENT = 1_000


def _stand_as_often(lines: str, there: str, here: str) -> bool:
    """Whether short lines stand as often in both texts, of which one has them at another place."""
    texts = [line.strip() for line in lines.splitlines() if line.strip()]
    if len(texts) > _MOST_LOOSE or any(len(text) > _SHORT_LINE for text in texts):
        return False
    counts = [Counter(map(str.strip, text.splitlines())) for text in (there, here)]
    return all(counts[0][text] == counts[1][text] > 0 for text in texts)


_MOST_LOOSE, _SHORT_LINE = 32, 24


def _is_ordinal(here: str, hunk: Hunk) -> bool:
    """Whether a number begins its line, and a list's mark stands behind it."""
    begins = not here[max(0, hunk.start - 8) : hunk.start].rpartition("\n")[2].strip()
    return begins and here[hunk.stop : hunk.stop + 2] in (". ", ") ")


_FORMS: set[Kind] = {"white_space", "hidden_characters", "unicode_form"}


def _changed(old: str, new: str, hunk: Hunk) -> tuple[int, int]:
    """Of a word written otherwise, the characters that are not as they were."""
    head = common_length(old, new)
    tail = common_length(old[head:][::-1], new[head:][::-1])
    return hunk.start + head, hunk.stop - tail


def _first_of(there: str, here: str, hunk: Hunk) -> int:
    """The first character that differs: what came or went may begin as what follows does."""
    size = max(hunk.stop - hunk.start, hunk.there_stop - hunk.there_start)
    old = there[hunk.there_start : hunk.there_start + size]
    return hunk.start + common_length(old, here[hunk.start : hunk.start + size])


def _joined(changes: list[LeafChange], here: str) -> list[LeafChange]:
    """Neighbours of one kind are one change: the date and the time of a clock; so are parts of one
    value that nothing but a mark parts: `ann.lee24`."""
    joined: list[LeafChange] = []
    for change in _without_parts(changes, here):
        last = joined[-1] if joined else None
        between = "" if last is None else here[last.stop : change.start]
        if last is None or change.start < last.start:
            joined.append(change)
        elif (one := _one_value(last, change, between)) is not None:
            joined[-1] = one
        elif last.kind == change.kind and len(between) <= 12:
            joined[-1] = _as_one(last, change, last.kind, "…")
        else:
            joined.append(change)
    return joined


_OPEN: set[Kind] = {"?words", "?id", "?number"}


def _without_parts(changes: list[LeafChange], here: str) -> list[LeafChange]:
    """With a number or an id between two edits as part of them: `[4:0]` that became `(1/x)`."""
    found: list[LeafChange] = []
    for number, change in enumerate(changes):
        last = found[-1] if found else None
        after = changes[number + 1] if number + 1 < len(changes) else None
        is_part = (
            change.kind in ("?number", "?id")
            and last is not None
            and after is not None
            and last.kind == after.kind == "edited_message"
            and 0 <= change.start - last.stop <= _TOUCHING
            and 0 <= after.start - change.stop <= _TOUCHING
        )
        found.append(replace(change, kind="edited_message") if is_part else change)
    return found


_TOUCHING = 2


def _one_value(last: LeafChange, change: LeafChange, between: str) -> LeafChange | None:
    """Two neighbours as one, where they are parts of one id, or both may be anything yet."""
    if len(between) > 2 or between.isspace():
        return None
    one = _as_one(last, change, "?id", between)
    kinds = {last.kind, change.kind}
    if kinds == {"?number"}:
        return None  # two numbers, as of `12/40`
    if kinds <= {*_OPEN, "edited_message"} and are_ids(one.there, one.here):
        return one
    return replace(one, kind="?words") if kinds <= _OPEN else None


def _as_one(one: LeafChange, other: LeafChange, kind: Kind, between: str) -> LeafChange:
    return replace(
        one, kind=kind, stop=max(one.stop, other.stop), behind=other.behind,
        there=f"{one.there}{between}{other.there}", here=f"{one.here}{between}{other.here}",
    )  # fmt: skip


def _heal_blocks(
    there: str, here: str, found: list[LeafChange], blocks_of: Callable[[str], list[Block]]
) -> str:
    """Blocks of JSON (or of Python's literals) that differ in their orders, put in this text's
    order."""
    if there == here or ("{" not in here and "[" not in here):
        return there
    one, other = blocks_of(there), blocks_of(here)
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
            label = label_of(here[max(0, b0 - _AROUND) : b0])
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
