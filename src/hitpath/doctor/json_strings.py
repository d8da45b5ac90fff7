"""JSON within a text, JSON within strings of it opened: `{"payload": "{\\"eu\\": true}"}`.

A client that encodes an object, and then the message that holds it, writes the inner one with its
quotes escaped; it is as much of an object as the outer one.
"""

import json
import re

_OPENING = re.compile(r"[{\[](?=\s{0,64}[\"{\[\d\-tfn\]}])|[{\[](?=(?:\s|\\[nrt]){0,64}\\+\")")
_STRING = re.compile(r"(?:[^\"\\\n]|\\.){2,20000}")
_PIECE = re.compile(
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?:u[0-9A-Fa-f]{4}|.)|.",  # a pair of surrogates is one
    re.DOTALL,
)
_MOST_TRIES, _DEEPEST, _LONGEST = 200, 8, 200_000
"""Of openings in a text, of strings within strings, and the characters of a string that is read."""


def opened_blocks(text: str) -> list[tuple[int, int, object]]:
    """(start, stop, value) of the largest objects and arrays within a text, escaped ones too; a
    string that holds one is that. Bounded: what is no JSON is not read again from every bracket."""
    decoder = json.JSONDecoder()
    found: list[tuple[int, int, object]] = []
    at, tries = 0, 0
    while tries < _MOST_TRIES:
        begin = _OPENING.search(text, at)
        if begin is None:
            break
        tries += 1
        try:
            value, stop = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            escaped = _escaped(decoder, text, begin.start())
            if escaped is None:
                at = begin.start() + 1
                continue
            value, stop = escaped
        found.append((begin.start(), stop, _opened(value, 0)))
        at = stop
    return found


def _escaped(decoder: json.JSONDecoder, text: str, begin: int) -> tuple[object, int] | None:
    """(a value that is written as part of a JSON string, where it ends); None where none is."""
    written = _STRING.match(text, begin)
    if written is None or "\\" not in written[0]:
        return None
    try:
        value, size = decoder.raw_decode(json.loads(f'"{written[0]}"'))
    except (ValueError, RecursionError):
        return None
    at = begin
    for _ in range(size):
        piece = _PIECE.match(text, at)
        at = len(text) if piece is None else piece.end()
    return value, at


def _opened(value: object, depth: int) -> object:
    """A value with what its strings hold in their place."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        return {key: _opened(member, depth + 1) for key, member in value.items()}
    if isinstance(value, list):
        return [_opened(member, depth + 1) for member in value]
    if not isinstance(value, str) or len(value) > _LONGEST or value[:1] not in ("{", "["):
        return value
    try:
        return _opened(json.loads(value), depth + 1)
    except (ValueError, RecursionError):
        return value
