"""Orders within and between lines that no parser of JSON reads: items of a line (item_orders.py),
the lines of a YAML block, lines that differ in numbers only.

What stands in another order is put in this text's order, and told; a line that is the same but for
escaped characters is put right too.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from urllib.parse import unquote

from hitpath.doctor.change import Kind
from hitpath.doctor.item_orders import KEYED, drawn_items, ends, order_of_items, same_items
from hitpath.doctor.kinds import is_tool_text
from hitpath.doctor.leaf_change import LeafChange, label_of
from hitpath.doctor.moved_lines import Gap, Line, gaps_of, lines_of
from hitpath.doctor.numbered_lines import heal_numbers_in_order, known_lines, renumbered
from hitpath.doctor.shuffled import shuffled
from hitpath.doctor.textdiff import common_length

_FIELD = re.compile(r"[ \t]{0,16}(?:- )?[\"']?[\w.-]{1,40}[\"']?\s?[:=]\s?([^\s,][^\n]{0,80})$")
_SENTENCE = re.compile(
    r"(?:\S{1,40} ){3}|(?:\S{1,40} )?\S{0,40}[\u3002\uff01]|\S{1,40} .{0,80}[.!?][\"']?\s*$"
)
_SHORT, _LONGEST, _NEAR, _BEFORE = 8, 4000, 600, 240
_MOST_LINES, _MOST_GAPS, _MOST_ROW, _LEAST_APART = 200, 24, 4, 2
_LEAST_NUMBERS = 3
"""Members of a list, or lines, that differ in numbers only: two may be two counters."""
_MOST_HEALED, _MOST_TRIED = 64, 1000
"""Blocks of lines that are put in order, and lines that are looked at item by item."""


def heal_items(
    there: str, here: str, found: list[LeafChange], most: int = _MOST_HEALED
) -> str:  # fmt: skip
    """The earlier text with the orders of this one; what differed is added to found."""
    one, two = lines_of(there), lines_of(here)
    gaps = gaps_of(one, two)
    known = known_lines(one, two, gaps)
    anew = renumbered(known, one, two, gaps)
    known = [line for line in known if line.old.start not in anew]
    healed = anew | heal_numbers_in_order(known, one, here, found)
    pairs = [(*pair, False) for gap in gaps for pair in _of_gap(one, two, gap)]
    pairs += [(x.old, x.new, True) for x in known if x.old.start not in healed]
    for line, other, is_known in pairs[:_MOST_TRIED]:
        text = _heal_line(line.text, other, is_known, found)
        if text != line.text:
            healed[line.start] = text
    if not most:
        return there
    if healed:
        text = "".join(healed.get(line.start, line.text) for line in one)
        return heal_items(text, here, found, most - 1)
    return _heal_shuffled_lines(there, here, (one, two), gaps, found, most)


def _of_gap(one: list[Line], other: list[Line], gap: Gap) -> Iterator[tuple[Line, Line]]:
    """The lines of a gap that has as many on both sides."""
    if gap.a_stop - gap.a == gap.b_stop - gap.b:
        yield from zip(one[gap.a : gap.a_stop], other[gap.b : gap.b_stop], strict=True)


def _heal_line(old: str, line: Line, is_known: bool, found: list[LeafChange]) -> str:
    """A line with its items, else those of each of its sentences, in this order."""
    change = _of_line(old, line, is_known)
    if change is not None:
        found.append(change)
        return line.text
    was, now = _sentences(old), _sentences(line.text)
    if not 1 < len(was) == len(now) <= _MOST_SENTENCES:
        return old
    said = [[one.text.strip() for one in side] for side in (was, now)]
    if shuffled(*said) is not None and all(" " in one for one in said[0]):
        at = line.start + common_length(old, line.text)
        label = label_of(line.text[: at - line.start])
        found.append(LeafChange("moved_block", at, at, at, old, line.text, label))
        return line.text
    for number, (one, other) in enumerate(zip(was, now, strict=True)):
        if len(one.text) == len(other.text) and sorted(one.text) == sorted(other.text):
            change = _of_line(one.text, Line(line.start + other.start, other.text), is_known)
            if change is not None:
                found.append(change)
                was[number] = other
    return "".join(one.text for one in was)


def _sentences(text: str) -> list[Line]:
    """A line in its sentences, each with the space behind it."""
    if len(text) > _LONGEST:
        return []
    ends_at = [found.end() for found in _SENTENCE_END.finditer(text)]
    return [Line(a, text[a:b]) for a, b in pairwise([0, *ends_at, len(text)]) if a < b]


_SENTENCE_END, _MOST_SENTENCES = re.compile(r"[.;!?]\s+|[\u3002\uff1b\uff01\uff1f]\s*"), 64


def _of_line(old: str, line: Line, is_known: bool) -> LeafChange | None:
    """What a line has in another order, or escaped. is_known: it differs in numbers only."""
    new = line.text
    if max(len(old), len(new)) > _LONGEST or _are_spaced_otherwise(old, new):
        return None
    if any(mark in old or mark in new for mark in "&%\\") and _decoded(old) == _decoded(new):
        return _change("unicode_form", old, line)
    if len(old) == len(new) and sorted(old) == sorted(new):
        kind = order_of_items(old, new, _LEAST_NUMBERS if is_known else 2)
        return None if kind is None else _change(kind, old, line)
    if is_known:
        return None
    if len(old) != len(new) and same_items(old, new):
        return _change("array_order", old, line)
    return _drawn(old, line)


def _drawn(old: str, line: Line) -> LeafChange | None:
    """A list that was drawn anew as a whole."""
    drawn = drawn_items(old, line.text)
    if drawn is None:
        return None
    begin, was, now = drawn
    start, first = line.start + begin, line.start + common_length(old, line.text)
    label = label_of(line.text[:begin])
    return LeafChange("?words", first, start, start + len(now), was, now, label)


def _are_spaced_otherwise(old: str, new: str) -> bool:
    """Whether two texts are the same but for white space: nothing is in another order."""
    return old == new or "".join(old.split()) == "".join(new.split())


def _decoded(line: str) -> str:
    """A line without the escapes of HTML, of addresses and of JSON's `/`."""
    return unquote(html.unescape(line).replace("\\/", "/"))


def _change(kind: Kind, old: str, line: Line) -> LeafChange:
    prefix, suffix = ends(old, line.text)
    start, stop = line.start + prefix, line.start + len(line.text) - suffix
    word = max(line.text.rfind(mark, 0, prefix) for mark in " ,;|(") + 1  # `gr` of `grey`, `green`
    label = label_of(line.text[:word])
    new = line.text[prefix : len(line.text) - suffix]
    return LeafChange(kind, start, start, stop, old[prefix : len(old) - suffix], new, label)


def _heal_shuffled_lines(
    there: str, here: str, lines: tuple[list[Line], list[Line]], gaps: list[Gap],
    found: list[LeafChange], most: int,
) -> str:  # fmt: skip
    """Lines all of which stand in another order, where single ones do not show it: too short to be
    known wherever they stand (the fields of a YAML block), or the first and the last of them are
    part of a sentence."""
    one, other = lines
    candidates = (*_windows(one, other, gaps), *_blocks(other, gaps), *_neighbours(other, gaps))
    for gap in candidates:
        old, new = one[gap.a : gap.a_stop], other[gap.b : gap.b_stop]
        if not 2 <= len(new) <= _MOST_LINES or abs(len(old) - len(new)) > _LEAST_APART:
            continue
        sides = [
            [text for line in side if (text := line.text.rstrip("\r\n"))] for side in (old, new)
        ]
        inside = shuffled(*sides) if len(sides[0]) == len(sides[1]) > 1 else None
        is_known = all(len(line.key) >= _SHORT for line in old if line.key)
        is_window = gap not in gaps and inside is not None and len(gaps) > 1
        if inside is None or (is_known and not inside.is_glued and not is_window):
            continue
        begin, stop = new[0].start, new[-1].start + len(new[-1].text)
        old_stop = old[-1].start + len(old[-1].text)
        was, now = there[old[0].start : old_stop], here[begin:stop]
        if _are_spaced_otherwise(was, now):
            continue
        first = begin + common_length(was, now)
        label = label_of(here[max(0, begin - _BEFORE) : begin])
        kind = "array_order" if inside.is_numbered else _kind_of_lines(inside.lines)
        stop = stop if kind == "key_order" else first
        found.append(LeafChange(kind, first, first, stop, was, now, label))
        return heal_items(there[: old[0].start] + now + there[old_stop:], here, found, most - 1)
    return there


def _windows(one: Sequence[Line], other: Sequence[Line], gaps: list[Gap]) -> Iterator[Gap]:
    """Stretches, from one gap to another, that hold the same lines on both sides, with equal lines
    around them: paragraphs in another order, beside something else that changed."""
    begin = 0
    while begin < len(gaps):
        surplus: Counter[str] = Counter()
        step = 1
        for end in range(begin, min(begin + _MOST_GAPS, len(gaps))):
            gap = gaps[end]
            surplus.update(line.key for line in one[gap.a : gap.a_stop] if line.text.strip())
            surplus.subtract(line.key for line in other[gap.b : gap.b_stop] if line.text.strip())
            if not any(surplus.values()):
                if end > begin and _stands_alone(other, gaps, begin, end):
                    first = gaps[begin]
                    yield Gap(first.a, gap.a_stop, first.b, gap.b_stop)
                step = end - begin + 1
                break
        begin += step


def _neighbours(other: Sequence[Line], gaps: list[Gap]) -> Iterator[Gap]:
    """Two to four gaps in a row: something else that changed may stand near a block."""
    for begin, first in enumerate(gaps[:_MOST_GAPS]):
        for end in range(begin + 1, min(begin + _MOST_ROW, len(gaps))):
            last, before = gaps[end], gaps[end - 1]
            if sum(len(line.text) for line in other[before.b_stop : last.b]) > _NEAR:
                break
            yield Gap(first.a, last.a_stop, first.b, last.b_stop)


def _stands_alone(other: Sequence[Line], gaps: list[Gap], begin: int, end: int) -> bool:
    """Whether equal lines part a window from what else changed: else it is part of that."""
    around = []
    if begin:
        around.append(other[gaps[begin - 1].b_stop : gaps[begin].b])
    if end + 1 < len(gaps):
        around.append(other[gaps[end].b_stop : gaps[end + 1].b])
    return all(sum(bool(line.text.strip()) for line in lines) >= _LEAST_APART for lines in around)


def _kind_of_lines(lines: list[str]) -> Kind:
    if is_tool_text("\n".join(lines)):
        return "tool_order"
    fields = [_FIELD.match(line) for line in lines]
    keys = [found[0] for line in lines if (found := KEYED.search(line))]
    if not all(fields) or len(set(keys)) != len(lines):
        return "moved_block"
    told = sum(field is not None and bool(_SENTENCE.match(field[1])) for field in fields)
    return "key_order" if 2 * told < len(lines) else "moved_block"


def _blocks(other: Sequence[Line], gaps: list[Gap]) -> list[Gap]:
    """Gaps with little between them are one block."""
    blocks: list[Gap] = []
    for gap in gaps:
        last = blocks[-1] if blocks else None
        if last and sum(len(line.text) for line in other[last.b_stop : gap.b]) <= _NEAR:
            blocks[-1] = Gap(last.a, gap.a_stop, last.b, gap.b_stop)
        else:
            blocks.append(gap)
    return blocks
