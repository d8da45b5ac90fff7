"""A text in tokens for a diff, so that a clock or an id is one token however it is written.

What changes by itself is found by `canonical.volatile`; the rest is cut into numbers, words, white
space, hidden characters and marks. Nothing here decides what is a defect: a date in a user's
question has the shape of a clock too. All patterns are bounded: time is linear in the text.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from hitpath.doctor.clock_words import FURTHER
from hitpath.doctor.time_spans import time_spans
from hitpath.doctor.volatile_lines import volatile_in

Shape = Literal["clock", "id", "number", "space", "hidden", "word", "mark"]

_HIDDEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls that end no line
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # Unicode's Default_Ignorable_Code_Point, and marks of annotation
)
_TERMINAL = (
    r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)"
    r"|[()][0-2A-B]|[=>78cDEHM])"
)
"""What colours a terminal's text or moves its cursor: CSI and OSC sequences, sets of characters."""
HIDDEN = re.compile(f"{_TERMINAL}|[{_HIDDEN}]")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_LATIN = f"[^\\W{_CJK}]"
"""What a number may not touch: in Chinese, Japanese and Korean no space stands beside it."""
_GROUPED = r"(?<!\w)\d{1,3}(?: \d{3}(?!\d))+(?:[.,]\d{1,24})?"
_PLAIN = rf"(?<!{_LATIN})\d+(?:[.,'_\u00a0\u2009\u202f\u2019]\d{{1,24}})*"
_TOKENS = re.compile(
    r"(?P<number>(?<!\w)0x[0-9A-Fa-f]{1,16}(?!\w)"
    rf"|(?:(?:(?<![\w.)\]])[-+\u2212])?(?:{_GROUPED}|{_PLAIN}|(?<![\w.])\.\d{{1,24}}))"
    rf"(?:[eE][+-]?\d{{1,4}})?(?!{_LATIN}))"
    r"|(?P<space>\s)"
    rf"|(?P<word>{_LATIN}(?:{_LATIN}|[\u0300-\u036f])*|[{_CJK}][{_CJK}\u3099\u309a]*)"
    r"|(?P<mark>.)",
    re.DOTALL,
)
_KEYS = {"clock": "\0clock", "id": "\0id", "number": "\0number", "hidden": "\0hidden"}
_SHAPES: dict[str, Shape] = {"clock": "clock", "request_id": "id"}
_LEAST_ID, _LEAST_MIXED = 6, 16


class Token(NamedTuple):
    """A piece of a text: `start` in characters; `key` is equal for pieces that a diff should pair
    (any two clocks, any two numbers)."""

    start: int
    text: str
    shape: Shape
    key: str


def tokens_of(text: str) -> list[Token]:
    """The whole text in tokens. Hidden characters within one are part of it."""
    if not HIDDEN.search(text):
        return _tokens_of_seen(text)
    hidden = {at for found in HIDDEN.finditer(text) for at in range(*found.span())}
    places = [at for at in range(len(text)) if at not in hidden]
    found: list[Token] = []
    at = 0
    for token in _tokens_of_seen(HIDDEN.sub("", text)):
        start = places[token.start]
        _add_hidden(found, text, at, start)
        at = places[token.start + len(token.text) - 1] + 1
        found.append(token._replace(start=start, text=text[start:at]))
    _add_hidden(found, text, at, len(text))
    return found


def _add_hidden(found: list[Token], text: str, begin: int, end: int) -> None:
    found += [Token(at, text[at], "hidden", _KEYS["hidden"]) for at in range(begin, end)]


def _tokens_of_seen(text: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    for start, stop, shape in _shaped(text):
        if start >= at:
            _add_plain(found, text, at, start)
            found.append(Token(start, text[start:stop], shape, _KEYS[shape]))
            at = stop
    _add_plain(found, text, at, len(text))
    return found


def _shaped(text: str) -> list[tuple[int, int, Shape]]:
    """What is one token though it has several words: clocks and ids."""
    known: list[tuple[int, int, Shape]] = [
        (one.start, one.stop, _SHAPES[one.kind]) for one in volatile_in(text) if one.kind in _SHAPES
    ]
    known += [(*one.span(), "clock") for one in FURTHER.finditer(text)]
    known += [(*span, "clock") for span in time_spans(text)]
    joined: list[tuple[int, int, Shape]] = []
    for start, stop, shape in sorted(known, key=lambda one: (one[0], -one[1])):
        last = joined[-1] if joined else None
        if last is not None and start < last[1]:
            if shape == last[2] == "clock" and stop > last[1]:
                joined[-1] = (last[0], stop, shape)
        else:
            joined.append((start, stop, shape))
    return joined


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


class KeyedLine:
    """A line that equals those of the same key (line_key). The key is made when the texts differ:
    most lines of a diff are the same on both sides."""

    __slots__ = ("_key", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._key: str | None = None

    @property
    def key(self) -> str:
        """Equal for lines that differ in numbers, white space and form only."""
        if self._key is None:
            self._key = line_key(self.text)
        return self._key

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyedLine):
            return NotImplemented
        return self.text == other.text or self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def line_key(line: str) -> str:
    """Equal for lines that differ only in numbers, white space, hidden characters, Unicode form."""
    return _short_key(line) if len(line) <= _SHORT_LINE else _line_key(line)


def _line_key(line: str) -> str:
    if line.isascii() and "\x1b" not in line:
        return _ascii_key(line.encode())
    plain = unicodedata.normalize("NFKC", HIDDEN.sub("", line))
    return _RUN.sub("0", " ".join(plain.split()))


def _ascii_key(line: bytes) -> str:
    """The same, some ten times as fast: long prompts are mostly ASCII."""
    plain = line.translate(_PLAIN_BYTES, _HIDDEN_BYTES).strip()
    for run in (b" ", b"0"):
        while run * 2 in plain:
            plain = plain.replace(run * 4, run).replace(run * 2, run)
    return plain.decode()


_RUN = re.compile(r"\d+")
_SHORT_LINE = 1_000
_short_key = lru_cache(maxsize=1 << 13)(_line_key)
_HIDDEN_BYTES = bytes(n for n in range(128) if HIDDEN.match(chr(n)))
_PLAIN_BYTES = bytes.maketrans(b"123456789\t\n\r\v\f", b"000000000     ")


def is_id(word: str) -> bool:
    """Whether a word is of letters and digits mixed, or long and of letters in mixed cases, as ids
    are; behind a prefix (`RM_oHwLMeaZqo9D`) fewer do."""
    if len(word) < _LEAST_ID or not word.isascii() or not any(map(str.isalpha, word)):
        return False
    num_digits = sum(c.isdigit() for c in word)
    behind = word.rpartition("_")[2]
    return bool(num_digits >= 2 or _is_mixed(behind) or _is_prefixed(word))


def _is_prefixed(word: str) -> bool:
    """Whether a few letters and a stroke stand before letters in mixed cases, or with a digit
    amid them, and no names in camel case."""
    found = _PREFIXED.fullmatch(word)
    if found is None or _NAME.fullmatch(found[1]):
        return False
    value: str = found[1]
    turns = sum(one.isupper() != other.isupper() for one, other in pairwise(value))
    has_digit = _AMID.search(value) is not None
    return turns * (_MIXED_WITH_DIGIT if has_digit else _MIXED) >= len(value)


_PREFIXED = re.compile(r"[A-Za-z]{1,6}_([A-Za-z0-9]{8,64})")
_NAME = re.compile(r"[a-z]{0,12}(?:[A-Z][a-z]{2,}|[A-Z]{1,4}(?![a-z])|\d{1,4}(?=$|[A-Z][a-z]))*")
_AMID = re.compile(r"[A-Za-z]\d[A-Za-z]")
_MIXED, _MIXED_WITH_DIGIT = 3, 4


def _is_mixed(word: str) -> bool:
    """Whether case changes far more often than at the words of a name."""
    turns = sum(one.isupper() != other.isupper() for one, other in pairwise(word))
    return len(word) >= _LEAST_MIXED and 3 * turns >= len(word)


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
