"""Does splitting on a regex part two characters that stand side by side, whatever the context?

*A letter and the space or newline after it* are parted if (1) no way through the pattern reads a
letter and right after it that character, so that no match spans the place, and a search that ends
there goes as if the text ended there; and (2) the character alone always matches, so that no gap
between matches spans it either. What comes after the place then depends on what comes after it
only, as nothing looks behind.

*A newline and the letter after it* are parted under the same two conditions and (3) no look-ahead
sees the letter. That holds if there is none, or if each stands in an alternative that reads white
space only and comes after `\\s*[\\r\\n]+`: a try that begins in the white space before the letter
has then matched up to the newline before the look-ahead is asked (that white space ends in a
newline), and a try that begins earlier stops at what is no white space, before the letter.

The pattern is read by Python's own parser, with properties such as \\p{L} replaced, and checked
as a Glushkov automaton: which class can follow which. A pattern with any part that is not covered
here (anchors, look-behind, look-ahead other than `(?!class)` without spaces, back-references, set
operations) is not decided, which callers take for "no". Oniguruma's and fancy-regex's syntax.
"""

import importlib
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ENDS = frozenset(" \n")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a stage does at x y: for which y it never joins them, and for which it always `parts`
    them; the same for newline, letter."""

    apart: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    line_apart: bool = False
    line_parts: bool = False


def regex_verdict(pattern: str) -> Verdict:
    """What splitting on the matches of a pattern does at letter, space; letter, newline; and
    newline, letter."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # set operations, which Python reads differently
            tree = importlib.import_module("re._parser").parse(_without_properties(pattern))
        if tree.state.flags & ~re.UNICODE.value:
            return Verdict()
        may = _Automaton(certain=False)
        whole = may.read(tree)
        must = _Automaton(certain=True)
        sure = must.read(tree)
    except (_Unknown, re.error, Warning, ImportError, AttributeError):
        return Verdict()
    if whole is None or whole.nullable:
        return Verdict()
    apart = ENDS - may.after_letter()
    ends = sure.first & sure.last if sure is not None else set()
    alone = frozenset("".join(must.classes[i] for i in ends))
    line_apart = not may.letter_after_newline() and _sees_no_letter_after_newline(tree)
    return Verdict(apart, apart & alone, line_apart, line_apart and "\n" in alone)


class _Unknown(Exception):
    """The pattern has a part that the check does not cover."""


_PROPERTY = re.compile(r"\\p\{([LMNPSZC][a-z]?)\}|\\p([LMNPSZC])")
_PRIVATE = 0xF0000  # stands for properties while Python's parser reads the pattern


def _without_properties(pattern: str) -> str:
    """Properties as private characters, one a category."""
    if any(0xF0000 <= ord(char) < 0xFFFFE for char in pattern) or "{," in pattern:
        raise _Unknown

    def private(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return chr(_PRIVATE + ord(name[0]) * 256 + (ord(name[1]) if name[1:] else 0))

    if re.search(r"\\\\[pP]", pattern):
        raise _Unknown
    return _PROPERTY.sub(private, pattern)


def _in_literal(code: int, char: str, loose: bool) -> bool:
    """Whether a literal matches; `loose`: in any case, for patterns that ignore it."""
    forms = (char, char.lower(), char.upper()) if loose else (char,)
    if 0xF0000 <= code < 0xFFFFE:
        major, minor = divmod(code - _PRIVATE, 256)
        category = chr(major) + (chr(minor) if minor else "")
        return any(unicodedata.category(form).startswith(category) for form in forms)
    own = chr(code)
    return char == own or (loose and char in (own.lower(), own.upper(), own.casefold()))


_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_SPACE": lambda char: not char.isspace(),
    "CATEGORY_WORD": str.isalpha,
    "CATEGORY_NOT_WORD": lambda char: not char.isalpha(),
    "CATEGORY_DIGIT": lambda char: False,
    "CATEGORY_NOT_DIGIT": lambda char: True,
}


def _in_item(item: tuple[Any, Any], char: str, loose: bool) -> bool:
    kind, value = str(item[0]), item[1]
    if kind == "LITERAL":
        return _in_literal(value, char, loose)
    if kind == "RANGE":
        if value[1] >= _PRIVATE:
            raise _Unknown
        forms = (char, char.lower(), char.upper()) if loose else (char,)
        return any(value[0] <= ord(form) <= value[1] for form in forms)
    if kind == "CATEGORY":
        return _CATEGORIES[str(value)](char)
    raise _Unknown


@dataclass(slots=True)
class _Part:
    nullable: bool
    first: set[int]
    last: set[int]


class _Automaton:
    """Which of the relevant characters (letters, space, newline) can follow which in a match.

    `certain` counts only what surely matches (an assertion or a possessive part fails); else
    whatever may match counts (an assertion holds). None stands for a part that never matches.
    """

    def __init__(self, certain: bool) -> None:
        self.certain = certain
        self.classes: list[str] = []  # position -> its relevant characters
        self.follow: set[tuple[int, int]] = set()

    def after_letter(self) -> frozenset[str]:
        """Every space or newline that a letter can stand right before within a match."""
        return frozenset(
            char
            for left, right in self.follow
            if any(letter in self.classes[left] for letter in LETTERS)
            for char in self.classes[right]
            if char in ENDS
        )

    def letter_after_newline(self) -> bool:
        """Whether a letter can stand right behind a newline within a match."""
        return any(
            "\n" in self.classes[left] and any(char in LETTERS for char in self.classes[right])
            for left, right in self.follow
        )

    def read(self, nodes: Iterable[tuple[Any, Any]]) -> _Part | None:
        """A sequence of parsed nodes."""
        whole = _Part(True, set(), set())
        dead = False
        for kind, value in nodes:
            part = self._node(str(kind), value)
            if part is None:
                dead = True
                continue
            self.follow |= {(a, b) for a in whole.last for b in part.first}
            whole = _Part(
                whole.nullable and part.nullable,
                whole.first | (part.first if whole.nullable else set()),
                part.last | (whole.last if part.nullable else set()),
            )
        return None if dead else whole

    def _node(self, kind: str, value: Any) -> _Part | None:
        if kind in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            return self._position(_members(kind, value, self.certain))
        if kind == "BRANCH":
            return _either([self.read(branch) for branch in value[1]])
        if kind == "SUBPATTERN":
            if (value[1] | value[2]) & ~re.IGNORECASE.value:
                raise _Unknown
            return self.read(value[3])
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self._repeat(kind, *value)
        if kind == "ATOMIC_GROUP":
            return None if self.certain else self.read(value)
        if kind == "ASSERT_NOT" and value[0] == 1 and len(value[1]) == 1:
            ((inner, what),) = value[1]
            if set(_members(str(inner), what, False)) & ENDS:
                raise _Unknown  # the end of the text and y would differ
            return None if self.certain else _Part(True, set(), set())
        raise _Unknown

    def _position(self, members: str) -> _Part:
        self.classes.append(members)
        at = {len(self.classes) - 1}
        return _Part(False, at, set(at))

    def _repeat(self, kind: str, low: int, high: Any, inner: Any) -> _Part | None:
        part = self.read(inner)
        possessive = kind == "POSSESSIVE_REPEAT"
        if part is None or (self.certain and possessive):
            return _Part(True, set(), set()) if low == 0 and not possessive else None
        if possessive or high > 1:  # `{2}+` repeats again in some dialects: count the loop
            self.follow |= {(a, b) for a in part.last for b in part.first}
        if high == 0:
            raise _Unknown
        if self.certain and low > 1:
            return None  # one character alone does not match
        return _Part(part.nullable or low == 0, part.first, part.last)


def _members(kind: str, value: Any, certain: bool) -> str:
    """The relevant characters that a class may match; for those of ENDS, does match."""
    chars = LETTERS + "".join(sorted(ENDS))
    if kind == "ANY":
        return chars.replace("\n", "") if certain else chars
    if kind == "LITERAL":
        return "".join(char for char in chars if _in_literal(value, char, True))
    if kind == "NOT_LITERAL":
        return "".join(char for char in chars if not _in_literal(value, char, False))
    if kind != "IN":
        raise _Unknown
    negated = str(value[0][0]) == "NEGATE"
    items = value[1:] if negated else value
    return "".join(
        char for char in chars if any(_in_item(i, char, not negated) for i in items) != negated
    )


def _either(parts: list[_Part | None]) -> _Part | None:
    alive = [part for part in parts if part is not None]
    if not alive:
        return None
    return _Part(
        any(part.nullable for part in alive),
        set().union(*(part.first for part in alive)),
        set().union(*(part.last for part in alive)),
    )


def _sees_no_letter_after_newline(tree: Iterable[tuple[Any, Any]]) -> bool:
    """Whether no look-ahead can tell the letter behind a newline from the end of the text."""
    nodes = list(tree)
    if not _looks_ahead(nodes):
        return True
    if len(nodes) != 1 or str(nodes[0][0]) != "BRANCH":
        return False
    reads_all = False  # an alternative before matches all white space that ends in a newline
    for branch in nodes[0][1][1]:
        if _looks_ahead(branch) and not (reads_all and all(map(_is_space, branch))):
            return False
        reads_all = reads_all or _is_space_up_to_newline(list(branch))
    return True


def _looks_ahead(parsed: Any) -> bool:
    """Whether a look-ahead stands anywhere in what the parser made (nested tuples and lists)."""
    if parsed is None or isinstance(parsed, int):
        return False
    items = list(parsed)
    if items and str(items[0]) in ("ASSERT", "ASSERT_NOT"):
        return True
    return any(map(_looks_ahead, items))


def _is_space(node: tuple[Any, Any]) -> bool:
    """Whether a node reads white space only, or nothing."""
    kind, value = str(node[0]), node[1]
    if kind == "MAX_REPEAT":
        return all(map(_is_space, value[2]))
    if kind == "IN":
        return [(str(k), str(v)) for k, v in value] == [("CATEGORY", "CATEGORY_SPACE")]
    return kind == "ASSERT_NOT"


def _is_space_up_to_newline(nodes: list[tuple[Any, Any]]) -> bool:
    r"""Whether nodes are `\s*` and then newlines, of which there is one at least."""
    if len(nodes) != 2 or any(str(kind) != "MAX_REPEAT" for kind, _ in nodes):
        return False
    (low, high, spaces), (least, _, newlines) = (node[1] for node in nodes)
    if (low, str(high), least) != (0, "MAXREPEAT", 1) or not all(map(_is_space, spaces)):
        return False
    ((kind, members),) = newlines if len(newlines) == 1 else (("", ()),)
    return (
        len(spaces) == 1
        and str(kind) == "IN"
        and all(str(k) == "LITERAL" and chr(v) in "\r\n" for k, v in members)
        and any(chr(v) == "\n" for _, v in members)
    )
