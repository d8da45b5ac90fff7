"""Lines that are the same but for numbers: in another order, or numbered anew because their list
has gained or lost a line."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hitpath.doctor.leaf_change import LeafChange, label_of
from hitpath.doctor.moved_lines import Gap, Line
from hitpath.doctor.shuffled import bare_of
from hitpath.doctor.textdiff import common_length

if TYPE_CHECKING:
    from hitpath.doctor.change import Kind

_NUMBERED = re.compile(
    r"([ \t]{0,16}[^\w\s]{0,4} ?(?:[^\W\d_]{1,12}[ #]{0,2})?[\[(#]?)(\d{1,3})(?!\w|[.,:]\d)"
)
_LONGEST, _BEFORE = 4000, 240
_LEAST = 3
"""Lines that differ in numbers only: two may be two counters."""


class Known(NamedTuple):
    """A line of the earlier text and the one that stands for it, the same but for numbers and what
    is not seen. before: the last gap in front of them that has not as many lines on both sides; by:
    how many more it and those before it have here."""

    old: Line
    new: Line
    before: Gap
    by: int


def known_lines(one: Sequence[Line], other: Sequence[Line], gaps: Sequence[Gap]) -> list[Known]:
    """Of lines that are not in the gaps, those whose text is not the same."""
    known: list[Known] = []
    a = b = by = 0
    before = Gap(0, 0, 0, 0)
    for gap in (*gaps, Gap(len(one), len(one), len(other), len(other))):
        pairs = zip(one[a : gap.a], other[b : gap.b], strict=True)
        known += [Known(x, y, before, by) for x, y in pairs if x.text != y.text]
        a, b = gap.a_stop, gap.b_stop
        longer = (b - gap.b) - (a - gap.a)
        by += longer
        before = gap if longer else before
    return known


def renumbered(
    known: Sequence[Known], one: Sequence[Line], other: Sequence[Line], gaps: Sequence[Gap]
) -> dict[int, str]:
    """Lines of which only the number at the beginning is another one, behind lines with such
    numbers that came or went (and did not move): as they stand now, by the places of the old ones.
    They are part of what came or went."""
    healed: dict[int, str] = {}
    gone = {gap: one[gap.a : gap.a_stop] for gap in gaps}
    came = {gap: other[gap.b : gap.b_stop] for gap in gaps}
    moved = _keys_in(gone) & _keys_in(came)
    heads: dict[Gap, set[str]] = {}
    for line in known:
        was, now = _NUMBERED.match(line.old.text), _NUMBERED.match(line.new.text)
        if not line.by or was is None or now is None or was[1] != now[1]:
            continue
        by = int(now[2]) - int(was[2])
        if not by or by * line.by < 0 or abs(by) > abs(line.by):
            continue
        if line.old.text[was.end() :].rstrip() != line.new.text[now.end() :].rstrip():
            continue
        if line.before not in heads:
            lines = (*gone[line.before], *came[line.before])
            heads[line.before] = _heads_of(x.text for x in lines if x.key not in moved)
        if was[1] in heads[line.before]:
            healed[line.old.start] = line.new.text
    return healed


def _keys_in(lines: dict[Gap, Sequence[Line]]) -> set[str]:
    return {line.key for of_gap in lines.values() for line in of_gap}


def _heads_of(lines: Iterable[str]) -> set[str]:
    """What stands before the numbers that lines begin with."""
    return {found[1] for line in lines if (found := _NUMBERED.match(line))}


def heal_numbers_in_order(
    known: Sequence[Known], one: Sequence[Line], here: str, found: list[LeafChange]
) -> dict[int, str]:
    """Lines that only their numbers tell apart, in another order: as they stand now, by the places
    of the old ones; what differed is added to found."""
    by_key: dict[str, list[Known]] = defaultdict(list)
    for line in known:
        if len(line.old.text) <= _LONGEST:
            by_key[line.old.key].append(line)
    healed: dict[int, str] = {}
    for lines in by_key.values():
        was = [bare_of(line.old.text.strip()) for line in lines]
        now = [bare_of(line.new.text.strip()) for line in lines]
        if was == now or len(lines) < 2 or Counter(was) != Counter(now):
            continue
        first = lines[0]
        if sum(line.key == first.old.key for line in one) < _LEAST:
            continue
        at = first.new.start + common_length(first.old.text, first.new.text)
        texts = "".join(x.old.text for x in lines), "".join(x.new.text for x in lines)
        label = label_of(here[max(0, at - _BEFORE) : at])
        is_list = was[0] != first.old.text.strip() or not any(map(str.isalpha, was[0]))
        kind: Kind = "array_order" if is_list else "moved_block"
        detail = f"{len(lines):,} lines"
        found.append(LeafChange(kind, at, at, at, *texts, label=label, detail=detail))
        healed.update((line.old.start, line.new.text) for line in lines)
    return healed
