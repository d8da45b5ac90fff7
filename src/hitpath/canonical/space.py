"""White space and hidden characters that a reader does not see, and Unicode's composed form.

`normalise_space` changes: byte order marks, zero-width spaces, word joiners, soft hyphens (gone);
joiners U+200C and U+200D where they join nothing (gone: between two letters beyond ASCII they are
spelling, or hold an emoji together); CRLF and lone CR (LF); no-break, figure and narrow spaces (a
space); spaces and tabs at the end of a line (gone: Markdown's line break of two spaces too).
Everything else stays, tabs, indentation, blank lines and marks of direction among it.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

from hitpath.canonical.change import CanonicalText, Change, apply_changes, compose

UnicodeForm = Literal["NFC", "NFD"]

_INVISIBLE = "\u00ad\u180e\u200b\u2060-\u2064\ufeff"
_JOINERS = "\u200c\u200d"
_SPACES = "\u00a0\u2007\u202f"
_BLANK = f" \t{_SPACES}"
_FOUND = re.compile(
    f"[{_INVISIBLE}{_JOINERS}]+|\r\n?|"
    # A run of blanks, from its beginning only: with a strange one, or before a line end.
    rf"(?<![{_BLANK}])(?:[ \t]*+[{_SPACES}][{_BLANK}]*+|[ \t]++(?=[\r\n]|\Z))"
)
_HIDDEN = re.compile(f"[{_INVISIBLE}]")
_LONGEST_RUN = 1000
_PIECE = re.compile("[\x00-\x7f]?[^\x00-\x7f]+")


def normalise_space(text: str, path: str = "") -> CanonicalText:
    """The text without what nobody sees, and each change (`white_space`, `hidden_characters`)."""
    new, changes = text, tuple(_found(text, path))
    more = changes
    while more:  # what a hidden character leaves may end a line: spaces around it do
        new = apply_changes(new, more)
        more = tuple(_found(new, path))
        changes = compose(changes, more)
    return CanonicalText(new, changes)


def _found(text: str, path: str) -> Iterator[Change]:
    for found in _FOUND.finditer(text):
        stretch = found.group()
        start, stop = found.span()
        if stretch[0] == "\r":
            yield Change("white_space", path, start, stop - start, "\n")
        elif stretch[0] in _BLANK:
            yield from _blanks(text, stretch, start, path)
        else:
            yield from _hidden(text, stretch, start, path)


def _blanks(text: str, stretch: str, start: int, path: str) -> Iterator[Change]:
    """Of spaces: gone before the end of a line or text, else each strange one a plain one."""
    stop = start + len(stretch)
    if stop == len(text) or text[stop] in "\r\n":
        yield Change("white_space", path, start, len(stretch), "")
        return
    for at, character in enumerate(stretch):
        if character in _SPACES:
            yield Change("hidden_characters", path, start + at, 1, " ")


def _hidden(text: str, stretch: str, start: int, path: str) -> Iterator[Change]:
    stop = start + len(stretch)
    before, behind = text[start - 1 : start], text[stop : stop + 1]
    if _is_joined(before) and _is_joined(behind):
        for found in _HIDDEN.finditer(stretch):
            yield Change("hidden_characters", path, start + found.start(), 1, "")
    else:
        yield Change("hidden_characters", path, start, len(stretch), "")


def _is_joined(character: str) -> bool:
    return character > "\x7f" and not character.isspace()


def normalise_unicode(text: str, form: UnicodeForm = "NFC", path: str = "") -> CanonicalText:
    """The text in Unicode's composed (or decomposed) form, and each change (`unicode_form`).

    A run of more than 1,000 characters beyond ASCII that holds as many combining marks stays as it
    is: no writing has such, and putting them in order takes quadratic time.
    """
    if unicodedata.is_normalized(form, text) if len(text) < _LONGEST_RUN else text.isascii():
        return CanonicalText(text, ())
    pieces: list[str] = []
    changes: list[Change] = []
    at = 0
    for found in _PIECE.finditer(text):
        old, start = found.group(), found.start()
        if _is_hostile(old):
            continue
        new = unicodedata.normalize(form, old)
        if new != old:
            same = _common(old, new)
            tail = _common(old[same:][::-1], new[same:][::-1])
            begin, stop = start + same, start + len(old) - tail
            put = new[same : len(new) - tail]
            changes.append(Change("unicode_form", path, begin, stop - begin, put))
            pieces += (text[at:begin], put)
            at = stop
    if not changes:
        return CanonicalText(text, ())
    return CanonicalText("".join([*pieces, text[at:]]), tuple(changes))


def _is_hostile(piece: str) -> bool:
    if len(piece) <= _LONGEST_RUN:
        return False
    run = 0
    for character in piece:
        run = run + 1 if unicodedata.combining(character) else 0
        if run > _LONGEST_RUN:
            return True
    return False


def _common(one: str, other: str) -> int:
    """How many leading characters are equal."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))
