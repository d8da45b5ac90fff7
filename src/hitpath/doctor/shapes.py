"""A text in tokens for a diff, so that a clock or an id is one token however it is written.

What changes by itself is found by `canonical.volatile`; the rest is cut into numbers, words, white
space, hidden characters and marks. Nothing here decides what is a defect: a date in a user's
question has the shape of a clock too. All patterns are bounded: time is linear in the text.
"""

import re
import unicodedata
from typing import Literal, NamedTuple

from hitpath.doctor.volatile_lines import volatile_in

Shape = Literal["clock", "id", "number", "space", "hidden", "word", "mark"]

_HIDDEN = (
    "\u200b-\u200f\u2060-\u2064\u00ad\ufeff\u202a-\u202e\u2066-\u2069\u180e\ufe0e\ufe0f\x00-\x08"
    "\x0e-\x1f\x7f"
)
HIDDEN = re.compile(f"[{_HIDDEN}]")
_TOKENS = re.compile(
    r"(?P<number>(?:(?<!\w)\d+(?:[.,'_\u00a0\u202f]\d{1,24})*|(?<![\w.])\.\d{1,24})"
    r"(?:[eE][+-]?\d{1,4})?(?!\w))"
    rf"|(?P<hidden>[{_HIDDEN}])|(?P<space>\s)"
    r"|(?P<word>\w(?:\w|[\u0300-\u036f])*)|(?P<mark>.)",
    re.DOTALL,
)
_KEYS = {"clock": "\0clock", "id": "\0id", "number": "\0number", "hidden": "\0hidden"}
_SHAPES: dict[str, Shape] = {"clock": "clock", "request_id": "id"}
_LEAST_ID = 6


class Token(NamedTuple):
    """A piece of a text: `start` in characters; `key` is equal for pieces that a diff should pair
    (any two clocks, any two numbers)."""

    start: int
    text: str
    shape: Shape
    key: str


def tokens_of(text: str) -> list[Token]:
    """The whole text in tokens."""
    found: list[Token] = []
    at = 0
    for one in volatile_in(text):
        shape = _SHAPES.get(one.kind)
        if shape is None or one.start < at:
            continue
        _add_plain(found, text, at, one.start)
        found.append(Token(one.start, text[one.start : one.stop], shape, _KEYS[shape]))
        at = one.stop
    _add_plain(found, text, at, len(text))
    return found


def _add_plain(found: list[Token], text: str, begin: int, end: int) -> None:
    for match in _TOKENS.finditer(text, begin, end):
        shape: Shape = match.lastgroup  # type: ignore[assignment]
        piece = match[0]
        if shape == "word" and is_id(piece):
            shape = "id"
        key = _KEYS.get(shape)
        if key is None:
            key = piece if shape == "space" else unicodedata.normalize("NFKC", piece)
        found.append(Token(match.start(), piece, shape, key))


def line_key(line: str) -> str:
    """Equal for lines that differ only in numbers, white space, hidden characters, Unicode form."""
    plain = unicodedata.normalize("NFKC", HIDDEN.sub("", line))
    return _RUN.sub("0", " ".join(plain.split()))


_RUN = re.compile(r"\d+")


def is_id(word: str) -> bool:
    """Whether a word is of letters and digits mixed, as ids are."""
    if len(word) < _LEAST_ID or not word.isascii() or not any(map(str.isalpha, word)):
        return False
    num_digits = sum(c.isdigit() for c in word)
    return 2 <= num_digits < len(word)


def loose_key(text: str) -> int:
    """Equal for texts that differ only in what changes by itself, in the order of their words, in
    white space, hidden characters or Unicode form. Linear."""
    return hash(frozenset(words_of(text).items()))


_WORDS = re.compile(r"\w+")
_DIGITS = frozenset("0123456789")


def words_of(text: str) -> dict[str, int]:
    """How often each word stands there: numbers and ids masked, hidden characters left out."""
    plain = unicodedata.normalize("NFKC", HIDDEN.sub("", text)).casefold()
    counts: dict[str, int] = {}
    for word in _WORDS.findall(plain):
        if not (word.isalpha() or _DIGITS.isdisjoint(word)):
            word = "0"
        counts[word] = counts.get(word, 0) + 1
    return counts


def overlap(one: dict[str, int], other: dict[str, int]) -> float:
    """Shared words over the words of the longer text, 0 to 1."""
    shared = sum(min(count, other.get(word, 0)) for word, count in one.items())
    most = max(sum(one.values()), sum(other.values()))
    return shared / most if most else 1.0
