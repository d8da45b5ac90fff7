"""Stretches of a text that look as if each request had its own: clocks, ids, counters, attribution.

A shape can only say what a stretch looks like. Whether it changes, two requests say; `is_sure` says
whether shape and words around it leave no doubt that it is stamped when a prompt is built: a time
beside "current time", a uuid, `[step 12]`, a known line of attribution. A date in an example, a
cutoff, opening hours, "Step 1:" of an instruction are found, but not sure.

Linear in the length of the text: patterns are tried where a run of digits, a word of theirs or a
line begins, and are bounded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hitpath.canonical import attribution_shapes as lines
from hitpath.canonical import clock_shapes as clocks
from hitpath.canonical import id_shapes as ids

VolatileKind = Literal["clock", "request_id", "counter", "attribution"]

_RANK = {"attribution": 0, "request_id": 1, "clock": 2, "counter": 3}
_NOW = re.compile(
    r"(?i:\b(?:now|today|tonight|current(?:ly)?|(?:current_?)?(?:time(?:stamp)?|date(?:time)?)|"
    r"clock|generated|stamped|it is|as of|session start(?:ed)?|started|requested at|heute|jetzt|"
    r"aktuell\w*|uhrzeit|datum|aujourd'hui|heure|hoy|ahora|fecha|hora|oggi|ora|data|hoje|сегодня|сейчас|дата|"
    r"время)\b|今天|今日|现在|現在|当前|當前|日期|时间|時間|時刻|日時|오늘|현재|날짜|시간)"
)
_NOT_NOW = re.compile(
    r"(?i:\b(?:cut-?off|until|since|before|after|example|e\.g|such as|format\w*|like|between|from|"
    r"to|till|through|released?|born|birth|version|updated|copyright|expires?|expiry|due|deadline|"
    r"effective|open(?:s|ing)?|hours|daily|every|valid|departs?|arriv\w*|established|founded|"
    r"published)\b|[(`«“])"
)
_ROOT = re.compile(
    r"time|date|now|current|today|tonight|clock|generated|stamped|it is|as of|start|requested at|"
    r"heute|jetzt|aktuell|uhrzeit|datum|aujourd|heure|hoy|ora|fecha|oggi|data|hoje|"
    r"сегодня|сейчас|дата|время|今|现|現|当前|當前|日期|日時|时间|時|오늘|현재|날짜|시간|"
    r"[\u017f\u0130\u0131\u212a\u1c80-\u1c88]"  # other forms of letters, which count as they
)
"""One stands in whatever _NOW matches, in small letters."""
_TOKEN = re.compile(r"\d++(?:(?=[^\s\d]|\s(?:[^\W\d_]|[/%]))|(?<=\d{8}))|[^\W\d_]+")
"""Of runs of digits (clocks.TOKEN) those that more follows, and long ones: others are nothing."""
_LOOK_BACK = 48
_EDGE = 4
"""Characters on each side of a time that is alone on its line."""
_LONGEST_COUNT = 80
"""From the word of a counter to its first digit at most."""
_DIGIT = re.compile(r"\d")
_COUNTED_UNIT = re.compile(r"[ ]?(?:[acimrstACIMRST/%]|[^\x00-\x7f])|[,.]")
"""What follows the digits of a counted unit: its first letter, a share, or more digits."""
_RUN = re.compile(r"(?<![0-9A-Za-z_-])[0-9A-Za-z_-]{10,160}(?![0-9A-Za-z_-])")
_SHORTEST_BARE_ID, _SHORTEST_MIXED_ID = 16, 20
_WORDS = frozenset().union(
    clocks.MONTH_WORDS, clocks.WEEKDAY_WORDS, ids.LABEL_WORDS, ids.COUNTED_WORDS, ids.SAID_WORDS
)


@dataclass(frozen=True, slots=True)
class Volatile:
    """Characters [start, stop) of a text; see the module for is_sure."""

    kind: VolatileKind
    start: int
    stop: int
    is_sure: bool


def find_volatile(text: str) -> tuple[Volatile, ...]:
    """All of them in order, none within another; where two overlap, an attribution goes before an
    id, an id before a clock, a clock before a counter, then the longer one. A long text is looked
    at window by window, so that only what is found in it takes memory."""
    if len(text) <= _WINDOW + _AHEAD:
        return _in_window(text)
    found: list[Volatile] = []
    begin = 0
    while begin < len(text):
        stop = begin + _WINDOW
        line = text.rfind("\n", max(0, begin - _AHEAD), begin) + 1
        base = min(line, max(0, begin - _BEHIND)) if line else max(0, begin - _BEHIND)
        for one in _in_window(text[base : stop + _AHEAD]):
            if begin <= base + one.start < stop:
                found.append(Volatile(one.kind, base + one.start, base + one.stop, one.is_sure))
        begin = max(stop, found[-1].stop if found else 0)
    return tuple(found)


_WINDOW, _BEHIND, _AHEAD = 1 << 20, 256, 1 << 12
"""Characters of a text that are looked at at once; those before and behind that decide too."""


def _in_window(text: str) -> tuple[Volatile, ...]:
    found = sorted(
        (*_attributions(text), *_long_ids(text), *_at_tokens(text)),
        key=lambda one: (one.start, one.stop, not one.is_sure),
    )
    apart: list[Volatile] = []
    for one in found:
        while apart and apart[-1].stop > one.start:
            if _goes_before(apart[-1], one):
                break
            apart.pop()
        else:
            apart.append(one)
    return tuple(apart)


def _goes_before(one: Volatile, other: Volatile) -> bool:
    return (_RANK[one.kind], one.start - one.stop) <= (_RANK[other.kind], other.start - other.stop)


def _attributions(text: str) -> Iterator[Volatile]:
    until = 0
    for begin in lines.LINE_STARTS.finditer(text):
        at = begin.start()
        found = lines.LINE.match(text, at) or lines.CLIENT.match(text, at)
        if found:
            until = found.end()
            yield Volatile("attribution", found.start(), until, True)
    for found in lines.PARTS.finditer(text):
        before = text[found.start() - 1 : found.start()]
        if not (before.isalnum() or before in ("_", ".")) or not before:
            yield Volatile("attribution", *found.span(), True)


def _long_ids(text: str) -> Iterator[Volatile]:
    """Ids that are one run of letters and digits."""
    for run in _RUN.finditer(text):
        start, stop = run.span()
        word = run.group()
        if ids.UUID.match(word) or ids.TRACEPARENT.match(word):
            yield Volatile("request_id", start, stop, True)
            continue
        prefixed = ids.PREFIXED.match(word)
        if prefixed:
            if ids.is_random(prefixed["value"]) or ids.is_mixed(prefixed["value"]):
                yield Volatile("request_id", start, stop, False)
        elif _is_bare_id(word) and not _is_part(text, start, stop):
            yield Volatile("request_id", start, stop, False)


def _is_bare_id(word: str) -> bool:
    """Whether a run by itself looks random: a ULID, hexadecimal, letters and digits mixed."""
    if len(word) < _SHORTEST_BARE_ID or not ids.is_random(word):
        return False
    is_long = len(word) >= _SHORTEST_MIXED_ID and "-" not in word
    return is_long or bool(ids.ULID.match(word) or ids.HEX.match(word))


def _is_part(text: str, start: int, stop: int) -> bool:
    """Whether a run belongs to a path, a name with dots, or encoded data."""
    if text[start - 1 : start] in ("/", ".", "+") or text[stop : stop + 1] in ("/", "+"):
        return True
    return text[stop : stop + 1] == "." and text[stop + 1 : stop + 2].isalnum()


def _at_tokens(text: str) -> Iterator[Volatile]:
    clock_until = 0
    for token in _TOKEN.finditer(text):
        start, word = token.start(), token.group().lower()
        if word[0].isdigit():
            if _COUNTED_UNIT.match(text, token.end()):
                yield from _counters(text, start, (ids.SURE_AT_DIGIT,), (ids.LOOSE_AT_DIGIT,))
        elif word not in _WORDS:
            continue
        else:
            yield from _at_word(text, start, word)
        if start >= clock_until:
            clock = clocks.clock_at(text, start, word)
            if clock is not None:
                clock_until = clock.end()
                is_sure = _is_now(text, start) or _is_alone(text, clock)
                yield Volatile("clock", start, clock_until, is_sure)


def _at_word(text: str, start: int, word: str) -> Iterator[Volatile]:
    if word in ids.LABEL_WORDS:
        found = ids.LABELLED.match(text, start)
        if found:
            yield Volatile("request_id", *found.span("value"), True)
        named = ids.NAMED.match(text, start)
        if named and ids.is_random(named["value"]):
            yield Volatile("request_id", *named.span("value"), True)
    if (word in ids.COUNTED_WORDS or word in ids.SAID_WORDS) and _DIGIT.search(
        text, start, start + _LONGEST_COUNT
    ):
        yield from _counters(text, start, ids.SURE_AT_WORD, ids.LOOSE_AT_WORD)


def _counters(
    text: str, start: int, sure: tuple[re.Pattern[str], ...], loose: tuple[re.Pattern[str], ...]
) -> Iterator[Volatile]:
    for shapes, is_sure in ((sure, True), (loose, False)):
        for shape in shapes:
            found = shape.match(text, start)
            if found is not None:
                yield Volatile("counter", *found.span(), is_sure)


def _is_now(text: str, start: int) -> bool:
    """Whether the words before it on its line say that this is the time of the request."""
    before = text[max(0, start - _LOOK_BACK) : start].rpartition("\n")[2]
    if not _ROOT.search(before.lower()):
        return False  # most have no such word near: that is quickly seen
    behind = 0
    for words in _NOW.finditer(before):
        behind = words.end()
    return behind > 0 and _NOT_NOW.search(before, behind) is None


def _is_alone(text: str, clock: re.Match[str]) -> bool:
    """Whether a time with its seconds is all that stands on its line, but for brackets."""
    start, stop = clock.span()
    if start > _EDGE and "\n" not in text[start - _EDGE : start]:
        return False
    if stop + _EDGE < len(text) and "\n" not in text[stop : stop + _EDGE]:
        return False
    parts = clock.groupdict()
    if parts.get("second") is None and parts.get("epoch") is None:
        return False
    before = text[max(0, start - _EDGE) : start].rpartition("\n")[2]
    behind = text[stop : stop + _EDGE].partition("\n")[0]
    return not (before + behind).strip("[]()<>* \r\t")
