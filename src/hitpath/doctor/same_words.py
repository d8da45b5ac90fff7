"""Texts that say the same: in another form, in another order, or but for what is stamped."""

import html
import re
import unicodedata

from hitpath.canonical.json_text import canonical_json_text
from hitpath.doctor.kinds import are_ids
from hitpath.doctor.said_keys import FEW, LEAST_SAID
from hitpath.doctor.shapes import HIDDEN
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.written_otherwise import numbers_of


def are_the_same_words(text: str, other: str) -> bool:
    """Whether texts differ in their form alone: in marks, in the order of members or lines, in how
    characters are written."""
    if len(text) < LEAST_SAID:
        return False
    one, two = _plain_order(text), _plain_order(other)
    return len(one) >= FEW and sorted(one) == sorted(two)


def is_another_order(text: str, other: str) -> bool:
    """Whether both have the same words in another order: that is another question, as where two
    answers that are judged change places. Keys of JSON have no order."""
    one, two = (
        _plain_order(canonical_json_text(side, inside=True).value) for side in (text, other)
    )
    return one != two and sorted(one) == sorted(two)


def _plain_order(text: str) -> list[str]:
    """The words as they stand, however they are written."""
    return _WORD.findall(unicodedata.normalize("NFKC", html.unescape(HIDDEN.sub("", text))))


_WORD = re.compile(r"\w+")


def numbers_in(text: str) -> list[str]:
    """Its numbers, and the words with digits, as they stand."""
    return [found.rstrip(".,-") for found in _WITH_DIGITS.findall(text)]


_WITH_DIGITS = re.compile(r"[A-Za-z_-]*\d[A-Za-z\d_.,-]*")


def are_the_same_numbers(ones: list[str], others: list[str]) -> bool:
    """Whether they are the same one by one, however they are written: 12 and 12.0."""
    return len(ones) == len(others) and all(
        one == other or numbers_of(one) & numbers_of(other)
        for one, other in zip(ones, others, strict=True)
    )


def are_stamped_otherwise(text: str, other: str) -> bool:
    """Whether an id is all that differs, and the last line is a question of its own behind it: it
    was asked again. An id within that line is what is asked about."""
    first = common_length(text, other)
    rest = common_length(text[first:][::-1], other[first:][::-1])
    while first and _is_of_a_word(text[first - 1]):
        first -= 1
    while rest and _is_of_a_word(text[len(text) - rest]):
        rest -= 1
    words = [side[first : len(side) - rest] for side in (text, other)]
    _, line, question = text[len(text) - rest :].rpartition("\n")
    return bool(line) and len(question) >= _QUESTION and are_ids(words[0], words[1])


def _is_of_a_word(character: str) -> bool:
    return character.isalnum() or character in "-_"


_QUESTION = 40
