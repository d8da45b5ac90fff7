"""Numbers in words and in other numerals: Chinese and Japanese ones, Roman ones, circled ones.
A counter that is spelt out counts too.
"""

import re
import unicodedata

from hitpath.doctor.words_of_numbers import called, plain

_WORDS = called()
_HUNDREDS = re.compile(r"(\w{1,8}) hundred(?: and)?(?: ([\w -]{1,20}))?")
_ROMAN = re.compile(r"(?=[IVXLC])(C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_CJK = re.compile(r"[〇零一二三四五六七八九十百两]{1,7}")
_CJK_DIGITS = {mark: number for number, mark in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
}
_TEN, _HUNDRED, _LONGEST = 10, 100, 40
_WORDS_BEFORE = re.compile(r"(?:(?<!\w)[^\W\d_]{1,16}(?:[ -]|$)){1,3}$")


def number_in(text: str) -> int | None:
    """The number that a short text is; None for any other text."""
    text = unicodedata.normalize("NFKC", text).strip(" \t\n.,;:()[]#")
    if not text or len(text) > _LONGEST:
        return None
    if text.isdecimal():  # ⑫
        return int(text)
    words = plain(text)
    if words in _WORDS:
        return _WORDS[words]
    hundreds = _HUNDREDS.fullmatch(words)
    if hundreds is not None:
        first = 1 if hundreds[1] == "a" else _WORDS.get(hundreds[1])
        rest = _WORDS.get(hundreds[2]) if hundreds[2] else 0
        return None if first is None or rest is None else _HUNDRED * first + rest
    if _ROMAN.fullmatch(text.upper()) and text in (text.upper(), text.lower()):
        return _of_roman(text.upper())
    return _of_cjk(text) if _CJK.fullmatch(text) else None


def numbers_of_sides(there: str, here: str) -> tuple[int, int] | None:
    """The numbers that two short texts are, or the one in which they differ, where their other
    words are the same Chinese or Japanese ones (`第十四回合`, `第十五回合`)."""
    one, other = number_in(there), number_in(here)
    if one is not None and other is not None:
        return one, other
    if max(len(there), len(here)) > _LONGEST or _CJK.sub("", there) != _CJK.sub("", here):
        return None
    sides = [_CJK.findall(text) for text in (there, here)]
    if len(sides[0]) != len(sides[1]):
        return None
    changed = [(old, new) for old, new in zip(*sides, strict=True) if old != new]
    return (_of_cjk(changed[0][0]), _of_cjk(changed[0][1])) if len(changed) == 1 else None


def cjk_in_figures(line: str) -> str:
    """The line with its Chinese and Japanese numerals in figures."""
    return _CJK.sub(lambda numerals: str(_of_cjk(numerals[0])), line)


def size_of_its_beginning(before: str, old: str, new: str) -> int:
    """How many characters before a difference are words of the number that it is part of:
    `twenty-` of `twenty-one`, which was `twenty-two`."""
    words = _WORDS_BEFORE.search(before[-_LONGEST:])
    if words is None or max(len(old), len(new)) > _LONGEST:
        return 0
    begins = [words.start(), *(words.start() + x.end() for x in re.finditer("[ -]", words[0]))]
    for begin in begins:
        beginning = before[-_LONGEST:][begin:]
        if beginning and None not in (number_in(beginning + old), number_in(beginning + new)):
            return len(beginning)
    return 0


def _of_roman(text: str) -> int:
    values = [_VALUES[mark] for mark in text]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))


def _of_cjk(text: str) -> int:
    """`二十一` is 21, `二一` too."""
    if not {"十", "百"} & set(text):
        return int("".join(str(_CJK_DIGITS[mark]) for mark in text))
    total, digit = 0, 0
    for mark in text:
        if mark in ("十", "百"):
            total += max(digit, 1) * (_TEN if mark == "十" else _HUNDRED)
            digit = 0
        else:
            digit = _CJK_DIGITS[mark]
    return total + digit
