"""Times and dates in any language: parts of a line (a time of day, a date in numbers, the name of a
month or weekday, a year, a number beside one of them) that stand together are one clock.

Words alone are never a clock, nor is a number: something must surely be a date or a time, and the
rest stands beside it, parted by marks and a few small words (`7.15 den 9. marts 2026`). Short words
of eighty languages are words of each other (`set`, `out`, `Mac`, `sat`), so a short month counts
only with a day, and a year only where it is about now. Linear: one pass over the tokens of each
line that has a digit.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from hitpath.doctor.words_of_time import (
    AGO,
    DAYS,
    HALVES,
    MONTHS,
    PARTS_OF_A_DAY,
    UNITS,
    WEEKDAYS,
)

_APART = (
    r"\s\d\x00-\x40\x5b-\x60\x7b-\x7f\u2000-\u200b\u200e-\u206f\u3000-\u303f\uff00-\uff0f"
    r"\u060c\u061b\u061f"
)
_LETTERS = rf"[^{_APART}«»¿¡·]"
_TOKEN = re.compile(
    r"(?P<date>(?<![\d.,:/-])(?:\d{4}(?P<a>[-/.]) ?\d{1,2}(?P=a) ?\d{1,2}"
    r"|\d{1,2}(?P<b>[-/.]) ?\d{1,2}(?P=b) ?\d{4})"
    r"(?![\d:/-]))"
    r"|(?P<asian>(?<!\d)\d{1,2} ?[月월] ?\d{1,2} ?[日号號일](?![\d楼樓线線店门門]))"
    r"|(?P<swedish>(?<![\d.,:/-])\d{1,2}/\d{1,2} (?:19|20)\d\d(?![\d:/-]))"
    r"|(?P<time>(?<![\d.,:：/-])(?:[01]?\d|2[0-4])[:：][0-5]\d(?:[:：][0-5]\d(?:[.,]\d{1,9})?)?"
    r"(?![\d:：]))"
    r"|(?P<short>(?<![\d.,:/-])(?:\d{1,2}(?P<c>[-/.]) ?\d{1,2}(?P=c) ?\d\d"
    r"|\d\d(?P<d>[-/.]) ?\d{1,2}(?P=d) ?\d)(?![\d:/-]|\.\d))"
    r"|(?P<dotted>(?<![\d.,:/-])(?:[01]?\d|2[0-3])[.h][0-5]\d(?:\.[0-5]\d)?(?![\d:/-]|\.\d))"
    r"|(?P<year>(?<![\d.,:/-])(?:1[34]|19|20|21|25)\d\d(?![\d:/-]|[.,]\d))"
    r"|(?P<number>(?<![A-Za-z_\d.,:/-])\d{1,2}(?:st|nd|rd|th|er|º|ª|-[^\W\d_]{1,2}(?![^\W\d_]))?"
    r"(?![\d:/]|[.,]\d))"
    r"|(?P<digits>\d{1,40})"
    rf"|(?P<word>(?:{_LETTERS}\.){{2,3}}|{_LETTERS}{{1,40}}(?:[-'’׳]{_LETTERS}{{1,40}}){{0,3}})"
)
_GAP = re.compile(r"[\s,.،、;()\[\]|@·•/–—\-~'\"\u200e\u200f\u2009\u202f\u00a0]{0,5}")
_SHORT, _LONGEST_ZONE, _MOST_GLUE, _GLUE_CHARS, _LONGEST_LINE = 3, 5, 3, 28, 2_000
_CLASSES = (
    ("month", MONTHS), ("weekday", WEEKDAYS), ("half", HALVES | PARTS_OF_A_DAY), ("unit", UNITS),
    ("ago", AGO), ("days", DAYS),
)  # fmt: skip
_STRONG = frozenset(("date", "swedish", "time", "short", "dotted", "year", "number"))
_BEHIND_A_NUMBER = frozenset(("unit", "half", "days"))
_FEWEST, _MONTHS_A_YEAR, _LONGEST_MONTH, _YEARS = 2, 12, 31, range(15, 40)
_WEAK_MONTH_CHARS, _AMBIGUOUS_MONTHS = 4, frozenset(("march", "august", "augusta", "marca"))
_ABOUT_NOW = range(1970, 2040)
_SHORT_UNITS = frozenset(("h", "m", "s", "d", "hr", "mn", "kl"))
"""Those of Latin letters that are surely units behind a number."""
_HOURS = frozenset(("h", "u"))
_DIGITS = re.compile(r"\d+")
_PADDED = re.compile(r"\d\d(?P<mark>[-/.])\d\d(?P=mark)\d\d")
_SURELY_A_DAY = frozenset(("date", "swedish", "short", "weekday", "year"))
_NUMBERS = _SURELY_A_DAY - {"weekday"} | {"time", "dotted"}


class _Atom(NamedTuple):
    """A token that may be part of a clock. kinds: what it may be, none for a word of any kind."""

    start: int
    stop: int
    text: str
    kinds: frozenset[str]


def time_spans(text: str) -> Iterator[tuple[int, int]]:
    """Characters [start, stop) of each clock of several parts, in order."""
    for begin, end in _lines(text):
        cluster: list[_Atom] = []
        for atom in _atoms(text, begin, end):
            if cluster and not _stands_beside(text, cluster, atom):
                yield from _clock(cluster)
                cluster = []
            if atom.kinds or cluster:
                cluster.append(atom)
        yield from _clock(cluster)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Lines that have a digit, but for very long ones: each is looked at by itself."""
    begin = 0
    while (digit := _DIGITS.search(text, begin)) is not None:
        begin = text.rfind("\n", begin, digit.start()) + 1 or begin
        end = text.find("\n", digit.end())
        end = len(text) if end < 0 else end
        if end - begin <= _LONGEST_LINE:
            yield begin, end
        begin = end


def _atoms(text: str, begin: int, end: int) -> Iterator[_Atom]:
    for match in _TOKEN.finditer(text, begin, end):
        kind = match.lastgroup or ""
        token = match[0]
        if kind == "word":
            plain = unicodedata.normalize("NFC", token.casefold()).strip("'’׳.")
            kinds = frozenset(name for name, words in _CLASSES if plain in words)
            if match.start() > begin and text[match.start() - 1].isdecimal():
                kinds &= _BEHIND_A_NUMBER
            if not kinds and len(plain) > 1 and plain[0] in "בו" and plain[1:] in MONTHS:
                kinds = frozenset(("month",))  # Hebrew: `in March`
        else:
            kinds = frozenset(("date",) if kind == "asian" else (kind,)) & _STRONG
        yield _Atom(match.start(), match.end(), token, kinds)


def _stands_beside(text: str, cluster: list[_Atom], atom: _Atom) -> bool:
    """Whether a token goes on with a cluster: beside its last part, but for a few small words."""
    if not _GAP.fullmatch(text, cluster[-1].stop, atom.start):
        return False
    if atom.kinds:
        return True
    if atom.text[0].isdigit():
        return False  # a number of another kind
    glue = 1
    for before in reversed(cluster):
        if before.kinds:
            break
        glue += 1
    is_small = not atom.text[0].isupper() or (
        len(atom.text) <= _LONGEST_ZONE and atom.text.isupper()
    )
    size = atom.stop - cluster[-glue].stop if glue <= len(cluster) else 0
    return is_small and glue <= _MOST_GLUE and size <= _GLUE_CHARS


def _clock(cluster: list[_Atom]) -> Iterator[tuple[int, int]]:
    """The clock that a cluster is, without what only stands beside it; nothing where it is none."""
    atoms = _trimmed(cluster)
    if len(atoms) < _FEWEST:
        is_asian = bool(atoms) and not atoms[0].text.isascii()
        if atoms and (is_asian or " " in atoms[0].text or _is_short_date(atoms[0])):
            yield atoms[0].start, atoms[0].stop
        return
    has = frozenset().union(*(atom.kinds for atom in atoms))
    number = "number" in has
    years = [atom for atom in atoms if "year" in atom.kinds]
    months = [atom for atom in atoms if "month" in atom.kinds]
    is_strong = any(map(_is_strong_month, months))
    is_now = any(int(atom.text) in _ABOUT_NOW for atom in years)
    has_year = is_now or bool(years and is_strong)
    has_month = is_strong or (bool(months) and number)
    has_weekday = any(map(_is_weekday, atoms))
    has_day = has_weekday or bool(has & {"date", "swedish", "short"})
    is_time = "time" in has or ("dotted" in has and (has_day or (has_month and has_year)))
    is_time = is_time or ("half" in has and any(map(_is_french, atoms)))
    beside = has_day or has_month or "half" in has or any(map(_is_behind_a_time, atoms))
    is_known = (
        (is_time and beside)
        or (has_month and has_year)
        or (has_month and has_weekday and number)
        or ("short" in has and (has_weekday or bool(has & {"half", "dotted"})))
        or (bool(has & {"date", "swedish"}) and bool(has - {"date", "swedish"}))
        or _num_units(atoms) >= 2
        or ("ago" in has and _num_units(atoms, "days") > 0)
    )
    if is_known:
        yield atoms[0].start, atoms[-1].stop


def _is_strong_month(atom: _Atom) -> bool:
    """Whether a word is hardly another one. Names of other scripts and long ones are."""
    plain = atom.text.casefold().strip("'’׳.")
    if "month" not in atom.kinds or (plain.isascii() and len(plain) <= _WEAK_MONTH_CHARS):
        return False
    return plain not in _AMBIGUOUS_MONTHS or atom.text[0].isupper()


def _is_weekday(atom: _Atom) -> bool:
    """Whether a word is hardly another one: of Latin letters a short one has a capital."""
    word = atom.text
    is_short = word.isascii() and len(word) <= _SHORT
    is_name = len(word) > 1 and word[0].isupper() and word[1:].islower()
    return "weekday" in atom.kinds and (is_name or not is_short)


def _is_behind_a_time(atom: _Atom) -> bool:
    """Whether a unit says that the number before it is an hour: `12:30 Uhr`, `12:30 h`."""
    if "unit" not in atom.kinds:
        return False
    return len(atom.text) > 1 or not atom.text.isascii() or atom.text in _HOURS


def _is_short_date(atom: _Atom) -> bool:
    """Whether `9/3/26` may be a day, a month and a year of this time. With other marks than strokes
    only in pairs of digits, for `3.11.25` is a version."""
    if "short" not in atom.kinds or not ("/" in atom.text or _PADDED.fullmatch(atom.text)):
        return False
    one, two, three = map(int, _DIGITS.findall(atom.text))
    if one in _YEARS and len(atom.text.split("/")[0]) > 1 and three not in _YEARS:
        one, three = three, one
    return (
        0 < min(one, two) <= _MONTHS_A_YEAR and max(one, two) <= _LONGEST_MONTH and three in _YEARS
    )


def _num_units(atoms: list[_Atom], *more: str) -> int:
    """How many units of time stand behind a number of their own."""
    wanted = {"unit", *more}
    return len(
        {
            two.text
            for one, two in pairwise(atoms)
            if "number" in one.kinds and two.kinds & wanted and _is_surely_a_unit(two.text)
        }
    )


def _is_surely_a_unit(word: str) -> bool:
    return len(word) > 2 or not word.isascii() or word.lower() in _SHORT_UNITS


def _trimmed(cluster: list[_Atom]) -> list[_Atom]:
    atoms = list(cluster)
    while atoms and not _is_part(atoms, 0, 1):
        atoms.pop(0)
    while atoms and not _is_part(atoms, len(atoms) - 1, -1):
        atoms.pop()
    return atoms


def _is_french(atom: _Atom) -> bool:
    """`10h15`."""
    return "dotted" in atom.kinds and "h" in atom.text


def _is_of_a_time(beside: list[_Atom]) -> bool:
    """Whether a time stands there, but for its unit and a few small words: `10:15 Uhr abends`,
    `8:15 in the evening`."""
    for atom in beside:
        if atom.kinds & {"time", "dotted", "number"}:
            return True
        is_small = not atom.kinds or ("weekday" in atom.kinds and not _is_weekday(atom))
        if not (is_small or atom.kinds & {"unit", "half"}):
            return False
    return False


def _is_part(atoms: list[_Atom], at: int, step: int) -> bool:
    """Whether the first (or last) token of a cluster is part of the clock."""
    atom, kinds = atoms[at], atoms[at].kinds
    if kinds & _NUMBERS:
        return True
    beside = atoms[at + step] if 0 <= at + step < len(atoms) else None
    if "half" in kinds and _is_of_a_time(atoms[at + step :: step] if at + step >= 0 else []):
        return True
    if beside is None or not kinds:
        return False
    over = atoms[at + 2 * step] if 0 <= at + 2 * step < len(atoms) else None
    if "number" in kinds:
        is_unit = step > 0 and bool(beside.kinds & {"unit", "days"})
        is_dated = "month" in beside.kinds or (
            not beside.kinds and over is not None and "month" in over.kinds
        )
        return is_unit or is_dated
    if kinds & {"unit", "days"} and step < 0 and "number" in beside.kinds:
        return True
    if "ago" in kinds:
        return bool(beside.kinds & {"unit", "days", "number"})
    if "weekday" in kinds:
        return _is_weekday(atom) and bool(beside.kinds or (over is not None and over.kinds))
    return "month" in kinds and bool(beside.kinds & {"number", "year"})
