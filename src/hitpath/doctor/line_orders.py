"""Orders within and between lines that no parser of JSON reads: items of a line, `key=value` pairs,
attributes of a tag, the lines of a YAML block.

What stands in another order is put in this text's order, and told; a line that is the same but for
escaped characters is put right too.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from hitpath.doctor.change import Kind
from hitpath.doctor.clock_words import further_spans
from hitpath.doctor.kinds import is_tool_text
from hitpath.doctor.leaf_change import LeafChange, label_of
from hitpath.doctor.moved_lines import Gap, Line, gaps_of, lines_of
from hitpath.doctor.textdiff import common_length

_ITEMS = re.compile(r"\s*,?\s+(?:and|or|und|oder|et|ou|y|o|e)\s+|\s*[,;|]\s*|\s*/\s*")
_SEPARATORS = tuple(map(re.compile, (r"\s*[,;]\s*", r"\s*\|\s*", r"\s*&\s*", r"\s*/\s*")))
_PAIRS = re.compile(r"[\w.-]{1,40}=(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|[^\s\"'<>=&,;]{1,400})")
_ENUMERATED = re.compile(r",\s(?:and\s|or\s)?|\s(?:and|or|und|oder|et|ou|y|o|e)\s")
_WORDS, _NAME = re.compile(r"\s+"), re.compile(r"[\w./:@-]{1,32}")
_BORDER = re.compile(r"[\[\](){}<>\uff08\uff09]|[:=?.!]\s|[\uff1a\u3002]|\?(?=\w{1,40}=)")
_MARKS = re.compile(r"\s*([^\w\s.]{1,3})\s*")
_ENDS = " \t\r\n.\u3002\uff0e"
_KEYED = re.compile(r"[\"']?[\w.@-]{1,40}[\"']?\s?[:=]")
_FIELD = re.compile(r"[ \t]{0,16}(?:- )?[\"']?[\w.-]{1,40}[\"']?\s?[:=]\s?[^\s,][^\n]{0,80}$")
_SHORT, _LONGEST, _NEAR, _MOST_MARKS = 8, 4000, 600, 4
_MOST_LINES, _MOST_GAPS, _MOST_ROW, _LEAST_APART, _MOST_CUTS = 200, 24, 4, 2, 8


def heal_items(there: str, here: str, found: list[LeafChange]) -> str:
    """The earlier text with the orders of this one; what differed is added to found."""
    healed: dict[int, str] = {}
    one, two = lines_of(there), lines_of(here)
    gaps = gaps_of(one, two)
    for gap in gaps:
        lines, others = one[gap.a : gap.a_stop], two[gap.b : gap.b_stop]
        if len(lines) != len(others):
            continue
        for line, other in zip(lines, others, strict=True):
            change = _of_line(line.text, other)
            if change is not None:
                found.append(change)
                healed[line.start] = other.text
    text = "".join(healed.get(line.start, line.text) for line in one) if healed else there
    return text if healed else _heal_shuffled_lines(there, here, (one, two), gaps, found)


def _of_line(old: str, line: Line) -> LeafChange | None:
    """What a line has in another order, or escaped."""
    new = line.text
    if old == new or max(len(old), len(new)) > _LONGEST:
        return None
    if any(mark in old or mark in new for mark in "&%\\") and _decoded(old) == _decoded(new):
        return _change("unicode_form", old, line)
    if len(old) != len(new) or sorted(old) != sorted(new):
        if len(old) != len(new) and _same_items(old, new):
            return _change("array_order", old, line)
        return _drawn_items(old, line)
    kind = _order_of_items(old, new)
    at = common_length(old, new)
    if kind is None or any(start <= at < stop for start, stop in further_spans(new)):
        return None
    return _change(kind, old, line)


def _decoded(line: str) -> str:
    """A line without the escapes of HTML, of addresses and of JSON's `/`."""
    return unquote(html.unescape(line).replace("\\/", "/"))


def _drawn_items(old: str, line: Line) -> LeafChange | None:
    """A list of which some members were exchanged, and others stand elsewhere now: drawn anew as a
    whole."""
    new = line.text
    prefix, _ = _ends(old, new)
    begin = max((m.end() for m in _COLON.finditer(new) if m.end() <= prefix), default=0)
    ended = [text[begin:].rstrip(" \t\r\n.") for text in (old, new)]
    if not begin or max(map(len, ended)) > _NEAR:
        return None
    for separator in _LISTS:
        items = [[x.strip(" .") for x in separator.split(text)] for text in ended]
        is_plain = separator is not _LISTS[-1] or _are_short(items)  # commas stand in sentences too
        if min(map(len, items)) > 1 and _are_exchanged(items[0], items[1], is_plain):
            start, stop = line.start + begin, line.start + begin + len(ended[1])
            first = line.start + prefix
            label = label_of(new[:begin])
            return LeafChange("?words", first, start, stop, ended[0], ended[1], label)
    return None


def _are_short(lists: list[list[str]]) -> bool:
    """Whether members are names, and no parts of a sentence."""
    members = [member for members in lists for member in members]
    return all(len(member.split()) <= _LEAST_SAID for member in members)


def _are_exchanged(old: list[str], new: list[str], is_plain: bool) -> bool:
    """Whether members came and went, and some of those that stayed are at another place; of a plain
    list, whether some stayed at all."""
    stayed = [item for item in new if len(item) >= _LEAST_ITEM and item in old]
    exchanged = set(old) ^ set(new)
    if any(map(str.isdigit, "".join(exchanged))):
        return False  # a stamp among them
    is_moved = any(old.index(item) != new.index(item) for item in stayed)
    if is_plain and stayed and min(len(old), len(new)) >= _LEAST_SAID:
        is_moved = is_moved or all(" " in x for x in exchanged) or _are_short([old, new])
    return is_moved and set(old) != set(new) and len(stayed) < max(len(old), len(new))


_COLON = re.compile(r":\s")
_LISTS = tuple(map(re.compile, (r";\s", r"\s\|\s", r",\s(?:and\s)?|\sand\s")))
_LEAST_ITEM, _LEAST_SAID = 3, 3


def _change(kind: Kind, old: str, line: Line) -> LeafChange:
    prefix, suffix = _ends(old, line.text)
    start, stop = line.start + prefix, line.start + len(line.text) - suffix
    label = label_of(line.text[:prefix])
    new = line.text[prefix : len(line.text) - suffix]
    return LeafChange(kind, start, start, stop, old[prefix : len(old) - suffix], new, label)


def _order_of_items(old: str, new: str) -> Kind | None:
    """key_order or array_order, where the items of two lines are the same."""
    prefix, suffix = _ends(old, new)
    was, now = _PAIRS.findall(old), _PAIRS.findall(new)
    is_pairs = len(was) > 1 and was != now and sorted(was) == sorted(now)
    if is_pairs and _PAIRS.sub("", old) == _PAIRS.sub("", new):
        return "key_order"
    begin = max((m.end() for m in _BORDER.finditer(old) if m.end() <= prefix), default=0)
    behind = _BORDER.search(old, len(old) - suffix)
    stop = len(old) - (len(old) if behind is None else behind.start())
    for start, separators in (
        (begin, _SEPARATORS),
        (max(begin, old.rfind(" ", 0, prefix) + 1), (_ENUMERATED,)),
        (begin, (_WORDS,) if old[:begin].endswith(": ") else ()),
    ):
        inside = [text[start : len(text) - stop].strip(_ENDS) for text in (old, new)]
        kind = _order_by((*separators, *_marks_between(old[start:], new[start:])), inside)
        if kind is not None:
            return kind
    return "array_order" if _same_items(old, new) else None


def _marks_between(old: str, new: str) -> Iterator[re.Pattern[str]]:
    """Any other mark that stands between three members and more: `、`, `·`, `+`, `->`."""
    counts = [Counter(_MARKS.findall(text)) for text in (old, new)]
    for mark, num in counts[0].most_common(_MOST_MARKS):
        if num >= _LEAST_SAID - 1 and counts[1][mark] == num:
            yield re.compile(rf"\s*{re.escape(mark)}\s*")


def _order_by(separators: Sequence[re.Pattern[str]], inside: list[str]) -> Kind | None:
    for separator in separators:
        items = [separator.split(text) for text in inside]
        is_list = len(items[0]) == len(items[1]) > 1
        if is_list and _same_lines(items[0], items[1]) is not None:
            if separator is _WORDS and not _are_names(items[0]):
                return None
            is_keyed = all(map(_KEYED.match, items[0]))
            return "key_order" if is_keyed else "array_order"
    return None


def _are_names(words: list[str]) -> bool:
    """Whether words are members of a list, and not of a sentence."""
    return len(words) >= _LEAST_SAID and all(map(_NAME.fullmatch, words))


def _ends(one: str, other: str) -> tuple[int, int]:
    """Characters that are the same at the beginning, and at the end."""
    prefix = common_length(one, other)
    suffix = common_length(one[prefix:][::-1], other[prefix:][::-1])
    return prefix, suffix


def _same_items(one: str, other: str) -> bool:
    if one.count(",") + one.count(";") + one.count("|") < 1:
        return False
    heads = [text.rpartition(":")[2] for text in (one, other)]
    items = [sorted(filter(None, _ITEMS.split(text.strip(" .\n\r()[]{}")))) for text in heads]
    if one.rpartition(":")[0] != other.rpartition(":")[0]:
        return False
    return len(items[0]) >= 2 and items[0] == items[1]


def _heal_shuffled_lines(
    there: str, here: str, lines: tuple[list[Line], list[Line]], gaps: list[Gap],
    found: list[LeafChange],
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
        inside = _same_lines(*sides) if len(sides[0]) == len(sides[1]) > 1 else None
        is_known = all(len(line.key) >= _SHORT for line in old if line.key)
        is_window = gap not in gaps and inside is not None and len(gaps) > 1
        if inside is None or (is_known and not inside.is_glued and not is_window):
            continue
        begin, stop = new[0].start, new[-1].start + len(new[-1].text)
        old_stop = old[-1].start + len(old[-1].text)
        was, now = there[old[0].start : old_stop], here[begin:stop]
        first = begin + common_length(was, now)
        label = label_of(here[max(0, begin - 240) : begin])
        kind = _kind_of_lines(inside.lines)
        stop = stop if kind == "key_order" else first
        found.append(LeafChange(kind, first, first, stop, was, now, label))
        return heal_items(there[: old[0].start] + now + there[old_stop:], here, found)
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


class _Inside(NamedTuple):
    """Lines that two texts have, without the words beside the first and the last of them."""

    lines: list[str]
    is_glued: bool


def _same_lines(old: list[str], new: list[str]) -> _Inside | None:
    """The new lines where they are the old ones in another order, perhaps behind the same words on
    the first line and before the same on the last one."""
    if old == new:
        return None
    prefix = common_length(old[0], new[0])
    heads = {0, *[at + 1 for at in range(prefix) if old[0][at] in " >"][-_MOST_CUTS:]}
    backwards = old[-1][::-1]
    suffix = common_length(backwards, new[-1][::-1])
    tails = {0, *[at + 1 for at in range(suffix) if backwards[at] in " <"][-_MOST_CUTS:]}
    for head in sorted(heads):
        for tail in sorted(tails):
            sides = [_cut(lines, head, tail) for lines in (old, new)]
            if sides[0] != sides[1] and sorted(sides[0]) == sorted(sides[1]):
                return _Inside(sides[1], head + tail > 0)
    return None


def _cut(lines: list[str], head: int, tail: int) -> list[str]:
    last = lines[-1][: len(lines[-1]) - tail]
    return [lines[0][head:], *lines[1:-1], last]


def _kind_of_lines(lines: list[str]) -> Kind:
    if is_tool_text("\n".join(lines)):
        return "tool_order"
    keys = [found[0] for line in lines if (found := _KEYED.search(line))]
    are_fields = all(map(_FIELD.match, lines)) and len(set(keys)) == len(lines)
    return "key_order" if are_fields else "moved_block"


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
