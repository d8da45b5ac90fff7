"""Lines of a text that stand elsewhere than they did: moved, put in order anew, or drawn anew."""

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hitpath.doctor.kinds import is_instructions, is_tool_text
from hitpath.doctor.leaf_change import LeafChange, heading_of, label_of
from hitpath.doctor.shapes import KeyedLine, overlap, words_of
from hitpath.doctor.textdiff import common_length, equal_runs

if TYPE_CHECKING:
    from hitpath.doctor.change import Kind

_SHORTEST_MOVED = 8
_AROUND = 240
_MOST_EXCHANGED = 0.2
"""Lines that came or went among those that moved, of all these: from so many on the block was not
moved, its members were drawn anew."""
_APART, _MOST_BLOCKS = 600, 16
"""Characters of equal lines that part two blocks."""
_MOST_LAST = 8
"""Lines that are the last of a block, with something else behind them in the other text."""
_DIGITS = re.compile(r"\d+")
_FORM = re.compile(r"\s*\W*\w*[.:)]?")


class Line(KeyedLine):
    """A line with its end, and where it begins. Equal by its key."""

    __slots__ = ("start",)

    def __init__(self, start: int, text: str) -> None:
        super().__init__(text)
        self.start = start


class Gap(NamedTuple):
    """Lines [a, a_stop) of the earlier text stand where this one has [b, b_stop)."""

    a: int
    a_stop: int
    b: int
    b_stop: int


def lines_of(text: str) -> list[Line]:
    """All lines, with their ends."""
    lines: list[Line] = []
    at = 0
    for line in text.splitlines(keepends=True):
        lines.append(Line(at, line))
        at += len(line)
    return lines


def gaps_of(one: Sequence[Line], other: Sequence[Line]) -> list[Gap]:
    """Every stretch that is not equal, but for numbers and white space."""
    gaps: list[Gap] = []
    last_a = last_b = 0
    runs = equal_runs(one, other)
    for a, b, n in [*runs, (len(one), len(other), 0)]:
        if a > last_a or b > last_b:
            gaps.append(Gap(last_a, a, last_b, b))
        last_a, last_b = a + n, b + n
    return gaps


def heal_moves(
    there: str, here: str, role: str, found: list[LeafChange], most_drawn: int = 16
) -> str:
    """The earlier text with its lines where they stand now; what was found is added. most_drawn:
    blocks that are looked for as drawn anew."""
    one, other = lines_of(there), lines_of(here)
    gaps = gaps_of(one, other)
    moved = _moved_keys(one, other, gaps)
    if not moved:
        return there
    blocks = _blocks(other, [gap for gap in gaps if _holds(one, other, gap, moved)])
    if is_instructions(role) and most_drawn:
        gone, came = _exchanged(one, other)
        for block in blocks[:_MOST_BLOCKS]:
            if _is_drawn(one[block.a : block.a_stop], other[block.b : block.b_stop], gone, came):
                healed = _reordered(one, other, there, here, block, found)
                if healed is None:
                    healed = _drawn(one, other, there, here, block, found)
                return heal_moves(healed, here, role, found, most_drawn - 1)
    block = Gap(blocks[0].a, blocks[-1].a_stop, blocks[0].b, blocks[-1].b_stop)
    block = _without_lines_before(one, other, block, moved)
    begin, old_begin = _start(other, block.b, here), _start(one, block.a, there)
    first = begin + common_length(there[old_begin:], here[begin:])
    here_moved = [x for gap in gaps for x in other[gap.b : gap.b_stop] if x.key in moved]
    there_moved = {x.start: x for gap in gaps for x in one[gap.a : gap.a_stop] if x.key in moved}
    found.append(_move(here_moved, list(there_moved.values()), first))
    whole = _in_order_of(one, other)
    if whole is not None:
        return whole
    for part in (block, _with_neighbours(block, _blocks(other, gaps))):
        again = _in_order_of(one[part.a : part.a_stop], other[part.b : part.b_stop])
        if again is not None:
            rest = there[_start(one, part.a_stop, there) :]
            return there[: _start(one, part.a, there)] + again + rest
    healed = _with_moves(one, other, there_moved, moved)
    if healed.replace("\n", "") == here.replace("\n", ""):
        return here  # a line that was the last one has got a line end: part of the move
    return healed


def _without_lines_before(one: list[Line], other: list[Line], block: Gap, moved: set[str]) -> Gap:
    """A block without the lines before what moved that are the same ones with another value."""
    a, b = block.a, block.b
    while (
        a < block.a_stop
        and b < block.b_stop
        and not {one[a].key, other[b].key} & moved
        and _is_one_field(one[a].text, other[b].text)
    ):
        a, b = a + 1, b + 1
    return Gap(a, block.a_stop, b, block.b_stop)


def _holds(one: list[Line], other: list[Line], gap: Gap, moved: set[str]) -> bool:
    lines = (*one[gap.a : gap.a_stop], *other[gap.b : gap.b_stop])
    return any(line.key in moved for line in lines)


def _blocks(other: list[Line], gaps: list[Gap]) -> list[Gap]:
    """Gaps with little between them are one block."""
    blocks = gaps[:1]
    for gap in gaps[1:]:
        last = blocks[-1]
        between = sum(len(line.text) for line in other[last.b_stop : gap.b])
        if between <= _APART:
            blocks[-1] = Gap(last.a, gap.a_stop, last.b, gap.b_stop)
        else:
            blocks.append(gap)
    return blocks


def _with_neighbours(block: Gap, blocks: list[Gap]) -> Gap:
    """A block and the gaps beside it, in which no line moved: a tag that stands there often."""
    near = [x for x in blocks if x.a <= block.a_stop and block.a <= x.a_stop] or [block]
    return Gap(min(near[0].a, block.a), max(near[-1].a_stop, block.a_stop),
               min(near[0].b, block.b), max(near[-1].b_stop, block.b_stop))  # fmt: skip


def _drawn(
    one: list[Line], other: list[Line], there: str, here: str, block: Gap, found: list[LeafChange]
) -> str:
    """A block that was drawn anew as one change; the earlier text with the block as it is now."""
    begin, old_begin = _start(other, block.b, here), _start(one, block.a, there)
    stop, old_stop = _start(other, block.b_stop, here), _start(one, block.a_stop, there)
    old, new = there[old_begin:old_stop], here[begin:stop]
    first = begin + common_length(there[old_begin:], here[begin:])
    label = label_of(here[max(0, begin - _AROUND) : begin])
    heading = heading_of(here, begin, new or old)
    found.append(LeafChange("?words", first, begin, stop, old, new, label, heading=heading))
    return there[:old_begin] + new + there[old_stop:]


def _reordered(
    one: list[Line], other: list[Line], there: str, here: str, block: Gap, found: list[LeafChange]
) -> str | None:
    """Members of another form beside what was drawn anew, which only have another order: as a move
    of their own; the earlier text with them as they stand now. None where there are none."""
    piece = _permuted(one, other, block)
    if piece is None:
        return None
    was, now = one[piece.a : piece.a_stop], other[piece.b : piece.b_stop]
    again = _in_order_of(was, now)
    gaps = gaps_of(was, now)
    moved = _moved_keys(was, now, gaps)
    if again is None or not moved:
        return None
    begin, old_begin = _start(other, piece.b, here), _start(one, piece.a, there)
    first = begin + common_length(there[old_begin:], here[begin:])
    there_moved = [x for gap in gaps for x in was[gap.a : gap.a_stop] if x.key in moved]
    here_moved = [x for gap in gaps for x in now[gap.b : gap.b_stop] if x.key in moved]
    found.append(_move(here_moved, there_moved, first))
    return there[:old_begin] + again + there[_start(one, piece.a_stop, there) :]


def _permuted(one: list[Line], other: list[Line], block: Gap) -> Gap | None:
    """The beginning or the end of a block that has the same lines in both texts, in another order:
    most of one form, which no other line of the block has. Of what is drawn all is of one form."""
    was = [n for n in range(block.a, block.a_stop) if one[n].text.strip()]
    now = [n for n in range(block.b, block.b_stop) if other[n].text.strip()]
    for step in (1, -1):
        balance: Counter[str] = Counter()
        size = 0
        for number, (a, b) in enumerate(zip(was[::step], now[::step], strict=False), 1):
            for key, sign in ((one[a].key, 1), (other[b].key, -1)):
                balance[key] += sign
                if not balance[key]:
                    del balance[key]
            size = size if balance else number
        forms = Counter(_form(one[n]) for n in was[::step][:size])
        rest = {_form(one[n]) for n in was[::step][size:]}
        rest |= {_form(other[n]) for n in now[::step][size:]}
        form, num = forms.most_common(1)[0] if forms else ("", 0)
        if num > 1 and 2 * num >= size and form not in rest:
            if step > 0:
                return Gap(block.a, was[size - 1] + 1, block.b, now[size - 1] + 1)
            return Gap(was[-size], block.a_stop, now[-size], block.b_stop)
    return None


def _form(line: Line) -> str:
    """How a line begins: its mark, tag or first word."""
    found = _FORM.match(_DIGITS.sub("0", line.text))
    return "" if found is None else found[0]


def _start(lines: Sequence[Line], number: int, text: str) -> int:
    return lines[number].start if number < len(lines) else len(text)


def _moved_keys(one: list[Line], other: list[Line], gaps: list[Gap]) -> set[str]:
    """Lines that are as often in the gaps of the one as of the other, one of them a line that
    stands there once: braces and tags alone tell nothing."""
    gone = Counter(x.key for gap in gaps for x in one[gap.a : gap.a_stop])
    came = Counter(x.key for gap in gaps for x in other[gap.b : gap.b_stop])
    moved = {key for key in gone if gone[key] == came[key] and len(key) >= _SHORTEST_MOVED}
    if not moved:
        return moved
    often = Counter(line.key for line in one)
    return moved if any(often[key] == 1 for key in moved) else set()


def _exchanged(one: list[Line], other: list[Line]) -> tuple[set[str], set[str]]:
    """Lines that the one text has (more often), and that the other has."""
    old, new = (Counter(x.key for x in lines if x.text.strip()) for lines in (one, other))
    return set(old - new), set(new - old)


def _is_drawn(was: list[Line], now: list[Line], gone: set[str], came: set[str]) -> bool:
    """Whether lines that came and went stand among those that moved."""
    lost = [line.key for line in was if line.key in gone]
    put = [line.key for line in now if line.key in came]
    exchanged, num_fields = 0, 0
    for key in lost:
        same = next((other for other in put[:_MOST_LAST] if _is_one_line(key, other)), None)
        if same is None and not num_fields:
            same = next((other for other in put[:_MOST_LAST] if _is_one_field(key, other)), None)
            num_fields += same is not None
        if same is None:
            exchanged += 1
        else:
            put.remove(same)
    size = sum(bool(line.text.strip()) for line in (*was, *now))
    return exchanged + len(put) >= _MOST_EXCHANGED * size


def _is_one_field(one: str, other: str) -> bool:
    """Whether two lines say the same of another one: a user's name beside what has moved. Of what
    is drawn there are more."""
    return overlap(words_of(one), words_of(other)) >= _ONE_FIELD


_ONE_FIELD = 0.5


def _is_one_line(one: str, other: str) -> bool:
    """Whether two lines are one, but for what stands before the first one of a block, or behind
    the last."""
    shorter, longer = sorted((one, other), key=len)
    is_long = len(shorter) >= _SHORTEST_MOVED
    return is_long and (longer.startswith(shorter) or longer.endswith(shorter))


def _move(here_moved: list[Line], there_moved: list[Line], first: int) -> LeafChange:
    are_tools = all(is_tool_text(line.text) for line in here_moved)
    kind: Kind = "tool_order" if are_tools else "moved_block"
    start = min(first, here_moved[0].start)
    text = "".join(line.text for line in here_moved)
    old = "".join(line.text for line in there_moved)
    heading = _DIGITS.sub("0", here_moved[0].text[:12]).strip()
    detail = f"{len(here_moved):,} lines"
    return LeafChange(kind, first, start, start, old, text, "", detail, heading)


def _in_order_of(one: Sequence[Line], other: Sequence[Line]) -> str | None:
    """The earlier lines in the order of these, where both have the same lines but for numbers and
    empty ones."""
    lines: dict[str, OrderedDict[str, int]] = {}  # a plain dict is slow where its first ones go
    for line in one:
        if line.text.strip():
            known, text = lines.setdefault(line.key, OrderedDict()), line.text.rstrip("\r\n")
            known[text] = known.get(text, 0) + 1
    pieces: list[str] = []
    num_other = 0
    for line in other:
        text = line.text.rstrip("\r\n")
        if not text.strip():
            pieces.append(line.text)
            continue
        key = line.key if line.key in lines else _longer_or_shorter(line.key, lines)
        num_other += key != line.key
        if key is None or num_other > _MOST_LAST:
            return None
        known = lines[key]
        old = text if text in known else next(iter(known))
        known[old] -= 1
        if not known[old]:
            del known[old]
        if not known:
            del lines[key]
        is_value = key == line.key or not _differ_in_words(key, line.key)
        pieces += [old if is_value else text, line.text[len(text) :]]
    return None if lines else "".join(pieces)


def _differ_in_words(one: str, other: str) -> bool:
    """Whether what one line has beyond another is more than a number written otherwise."""
    shorter, longer = sorted((one, other), key=len)
    return any(map(str.isalpha, longer.replace(shorter, "", 1)))


def _longer_or_shorter(key: str, lines: Iterable[str]) -> str | None:
    return next((other for other in lines if _is_one_line(key, other)), None)


def _with_moves(
    one: list[Line], other: list[Line], there_moved: dict[int, Line], moved: set[str]
) -> str:
    """The earlier text with the moved lines behind the lines that they stand behind now."""
    kept = [line for line in one if line.start not in there_moved]
    runs = equal_runs(kept, [line for line in other if line.key not in moved])
    at_kept: dict[int, int] = {b + k: a + k for a, b, n in runs for k in range(n)}
    insert: dict[int, list[str]] = {}
    number, last = 0, 0
    for line in other:
        if line.key in moved:
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
