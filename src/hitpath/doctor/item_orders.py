"""Items within one line in another order: members of a list, `key=value` pairs, flags of a command;
and lists that were drawn anew."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hitpath.doctor.change import Kind
from hitpath.doctor.clock_words import further_spans
from hitpath.doctor.shuffled import shuffled
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.volatile_lines import volatile_in

_ITEMS = re.compile(r"\s*,?\s+(?:and|or|und|oder|et|ou|y|o|e)\s+|\s*[,;|]\s*|\s*/\s*")
_SEPARATORS = tuple(map(re.compile, (r"\s*[,;]\s*", r"\s*\|\s*", r"\s*&\s*", r"\s*/\s*")))
_VALUE = (
    r"(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'"
    r"|(?:[^\s\"'`<>=&,;()]|\([^\s()]{0,60}\)){1,400}(?<![.:!?]))"
)
_PAIRS = re.compile(rf"[\w.-]{{1,40}}={_VALUE}")
_COLONS = re.compile(r"[^\W\d][\w.-]{1,40}: ?(?![/\\])[^\s\"'`<>:,;()]{1,400}(?<![.!?])")
_FLAG = r"(?<![\w/:-])(?:--?|/|:)[A-Za-z?][\w-]{0,40}(?![\w/])"
_FLAGS = re.compile(rf"{_FLAG}(?:[= :](?!(?:--?|/|:)[A-Za-z]){_VALUE})?")
_SWITCHES = re.compile(_FLAG)
_BRACKETED = tuple(map(re.compile, (
    r"<[^<>\n]{1,80}>|\[[^\[\]\n]{1,80}\]|[#@][\w.-]{1,40}", r"[\w.@-]{1,40} ?\([^()\n]{1,400}\)",
)))  # fmt: skip
"""`<#help> <#rooms>`, `move_to (Walk to a place.); wait (Do nothing.)`."""
_SAID = re.compile(r"[^\s,;|/+&]").search
_ENUMERATED = re.compile(r",\s(?:and\s|or\s)?|\s(?:and|or|und|oder|et|ou|y|o|e)\s")
_WORDS, _NAME = re.compile(r"\s+"), re.compile(r"[\w./:@-]{1,32}")
_BORDER = re.compile(r"[\[\](){}<>\uff08\uff09]|[:=?.!]\s|[\uff1a\u3002]|\?(?=\w{1,40}=)")
_MARKS = re.compile(r"\s*([^\w\s.]{1,3})\s*")
_LIST_MARKS = frozenset(",;|&+·、，；")
"""What parts numbers that are members, and no parts of a date, a time or a telephone's."""
_ENDS = " \t\r\n.\u3002\uff0e"
KEYED = re.compile(r"[\"']?[\w.@-]{1,40}[\"']?\s?(?:=|:(?![/\\]))")
"""A key at the beginning, and no address's `https:`."""
_NEAR, _MOST_MARKS, _LEAST_SAID, _THOUSANDS = 600, 4, 3, 3
_MOST_WORDS = 4
"""Words up to the first one that differs, and from the last one on, that may be of a member."""


class _Window(NamedTuple):
    """Characters [start, len - behind) of both lines, and what may part members there."""

    start: int
    behind: int
    separators: Sequence[re.Pattern[str]]


def order_of_items(old: str, new: str, least: int = 2) -> Kind | None:
    """key_order or array_order, where the items of two lines are the same; None of a clock whose
    digits were exchanged. least: members that a list has."""
    kind = _order_of_pairs(old, new) or _order_of_members(old, new, least)
    return kind if kind is None or _clocks(old) == _clocks(new) else None


def _clocks(line: str) -> list[str]:
    if not any(map(str.isdigit, line)):
        return []
    spans = [(one.start, one.stop) for one in volatile_in(line) if one.kind == "clock"]
    return sorted(line[start:stop] for start, stop in (*spans, *further_spans(line)))


def _order_of_pairs(old: str, new: str) -> Kind | None:
    """Of `key=value` pairs, of a command's flags, and of members in brackets or with them."""
    for pattern in (_PAIRS, _COLONS, _FLAGS, _SWITCHES):
        was, now = pattern.findall(old), pattern.findall(new)
        is_shuffled = len(was) > 1 and was != now and sorted(was) == sorted(now)
        if is_shuffled and pattern.sub("", old) == pattern.sub("", new):
            are_keyed = all(any(map(one[1:].__contains__, "=: ")) for one in was)
            return "key_order" if are_keyed else "array_order"
    for pattern in _BRACKETED:
        was, now = pattern.findall(old), pattern.findall(new)
        is_shuffled = len(was) >= _LEAST_SAID and was != now and sorted(was) == sorted(now)
        between = pattern.split(old)[1:-1]
        if is_shuffled and between == pattern.split(new)[1:-1] and not any(map(_SAID, between)):
            return "array_order" if pattern.sub("", old) == pattern.sub("", new) else None
    return None


def _order_of_members(old: str, new: str, least: int) -> Kind | None:
    prefix, suffix = ends(old, new)
    for start, behind, separators in _windows(old, new, prefix, suffix):
        inside = [text[start : len(text) - behind].strip(_ENDS) for text in (old, new)]
        marks = _marks_between(old[start:], new[start:])
        kind = _order_by((*separators, *marks), inside, least)
        if kind is not None:
            return kind
    return "array_order" if least <= 2 and same_items(old, new) else None


def _windows(old: str, new: str, prefix: int, suffix: int) -> Iterator[_Window]:
    """Where the members may stand: between the marks around what differs, else from the first word
    that differs, or one before it, to the last one, or one behind it."""
    begin = max((m.end() for m in _BORDER.finditer(old) if m.end() <= prefix), default=0)
    border = _BORDER.search(old, len(old) - suffix)
    behind = 0 if border is None else len(old) - border.start()
    word = old.rfind(" ", 0, prefix) + 1
    yield _Window(begin, behind, _SEPARATORS)
    yield _Window(max(begin, word), behind, (_ENUMERATED,))
    yield _Window(begin, behind, (_WORDS,) if old[:begin].endswith(": ") else ())
    last = len(old) - suffix
    if last - prefix > _NEAR:
        return
    words = [match.span() for match in _WORD.finditer(old)]
    heads = [start for start, _ in words if begin <= start <= prefix][: -_MOST_WORDS - 1 : -1]
    tails = [stop for _, stop in words if last <= stop <= len(old) - behind][:_MOST_WORDS]
    for start in heads:
        for stop in tails:
            yield _Window(start, len(old) - stop, (_ENUMERATED, *_SEPARATORS, _BLANKS))


_WORD, _BLANKS = re.compile(r"[^\s,;|]+"), re.compile(r"[ \t]+")


def _marks_between(old: str, new: str) -> Iterator[re.Pattern[str]]:
    """Any other mark that stands between three members and more: `、`, `·`, `+`, `->`."""
    counts = [Counter(_MARKS.findall(text)) for text in (old, new)]
    for mark, num in counts[0].most_common(_MOST_MARKS):
        if num >= _LEAST_SAID - 1 and counts[1][mark] == num:
            yield re.compile(rf"\s*{re.escape(mark)}\s*")


def _order_by(
    separators: Sequence[re.Pattern[str]], inside: list[str], least: int
) -> Kind | None:  # fmt: skip
    for separator in separators:
        items = [separator.split(text) for text in inside]
        if not least <= len(items[0]) == len(items[1]):
            continue
        members = shuffled(*items)
        if members is None:
            continue
        if separator is _WORDS and not _are_names(items[0]):
            return None
        moved = [x for x, a, b in zip(members.lines, *items, strict=True) if a != b]
        are_numbers = not any(map(str.isalpha, "".join(moved)))
        if are_numbers and not _are_listed(items[0], separator.findall(inside[0])):
            continue
        if separator is _BLANKS and any(map(str.isalpha, inside[0])):
            continue
        are_keyed = not are_numbers and all(map(KEYED.match, moved))
        return "key_order" if are_keyed else "array_order"
    return None


def _are_names(words: list[str]) -> bool:
    """Whether words are members of a list, and not of a sentence."""
    are_short = len(words) >= _LEAST_SAID and all(map(_NAME.fullmatch, words))
    return are_short and not any(word.endswith(":") for word in words)


def _are_listed(numbers: list[str], marks: list[str]) -> bool:
    """Whether numbers are members of a list, and not parts of one number, date or time."""
    if len(numbers) < _LEAST_SAID:
        return False
    if all(mark == "," for mark in marks) and all(len(x) == _THOUSANDS for x in numbers[1:]):
        return False
    return all(mark != mark.strip() or mark in _LIST_MARKS for mark in marks)


def ends(one: str, other: str) -> tuple[int, int]:
    """Characters that are the same at the beginning, and at the end."""
    prefix = common_length(one, other)
    suffix = common_length(one[prefix:][::-1], other[prefix:][::-1])
    return prefix, suffix


def same_items(one: str, other: str) -> bool:
    """Whether two lines say the same, and then have the same items, whatever parts these."""
    if one.count(",") + one.count(";") + one.count("|") < 1:
        return False
    heads = [text.rpartition(":")[2] for text in (one, other)]
    items = [sorted(filter(None, _ITEMS.split(text.strip(" .\n\r()[]{}")))) for text in heads]
    if one.rpartition(":")[0] != other.rpartition(":")[0]:
        return False
    return len(items[0]) >= 2 and items[0] == items[1]


def drawn_items(old: str, new: str) -> tuple[int, str, str] | None:
    """(where it begins in both, the old one, the new one): a list of which some members were
    exchanged, and others stand elsewhere now, so that it was drawn anew as a whole."""
    prefix, _ = ends(old, new)
    begin = max((m.end() for m in _COLON.finditer(new) if m.end() <= prefix), default=0)
    ended = [text[begin:].rstrip(" \t\r\n.") for text in (old, new)]
    if not begin or max(map(len, ended)) > _NEAR:
        return None
    for separator in _LISTS:
        items = [[x.strip(" .") for x in separator.split(text)] for text in ended]
        is_plain = separator is not _LISTS[-1] or _are_short(items)  # commas stand in sentences too
        if min(map(len, items)) > 1 and _are_exchanged(items[0], items[1], is_plain):
            return begin, ended[0], ended[1]
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
_LEAST_ITEM = 3
