"""The elements of a JSON array of objects, one by one as they come, so that a file may be larger
than memory: only the element that is being read stands in it.

The text is cut at the commas between elements; whether an element is JSON is for its decoder to
say. What is wrong with the array itself (cut off, an element missing, text behind its end) comes
as an element that is no JSON, so that it is refused as any bad row is.
"""

import re
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel

_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")
_CHUNK_BYTES = 1 << 18
_MOST_CUTS = 4096
_QUOTE, _BACKSLASH, _COMMA = ord('"'), ord("\\"), ord(",")
_OPEN, _CLOSE, _OPEN_OBJECT, _CLOSE_OBJECT = (ord(c) for c in "[]{}")
_OUTSIDE, _INSIDE, _ESCAPED = 0, 1, 2


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int) -> bytes:
        """At most so many bytes, none at the end."""

    def readline(self) -> bytes:
        """Up to the end of a line, with it."""


def begins_array(text: bytes) -> bool:
    """Whether a source that begins with this begins an array of objects (a log may begin with a
    time in brackets)."""
    return _BEGINNING.match(text) is not None


@kernel
def _cut(
    text: NDArray[np.uint8], at: int, state: NDArray[np.int64], cuts: NDArray[np.int64]
) -> int:
    """The places of the commas between elements, and of the array's end, into `cuts`; how many.

    state: depth of brackets, in a string or not, and where to go on: it is the length of the text
    unless `cuts` is full or the array has ended (depth 0).
    """
    depth, string = state[0], state[1]
    count = 0
    while at < len(text) and count < len(cuts):
        byte = text[at]
        if string == _INSIDE:
            if byte == _QUOTE:
                string = _OUTSIDE
            elif byte == _BACKSLASH:
                string = _ESCAPED
        elif string == _ESCAPED or byte == _QUOTE:
            string = _INSIDE
        elif byte == _COMMA:
            if depth == 1:
                cuts[count] = at
                count += 1
        elif byte in (_OPEN, _OPEN_OBJECT):
            depth += 1
        elif byte in (_CLOSE, _CLOSE_OBJECT):
            depth -= 1
            if depth == 0:
                cuts[count] = at
                count += 1
                at += 1
                break
        at += 1
    state[0], state[1], state[2] = depth, string, at
    return count


def elements(stream: Readable, name: str) -> Iterator[tuple[str, bytes]]:
    """(place, JSON text) of each element; then of each line behind an array that stands in one.

    Places are `name[3]`, or `name:1[3]` in an array that begins and ends in one line.
    """
    chunk = stream.read(_CHUNK_BYTES)
    begin = chunk.index(b"[") + 1
    line = chunk.count(b"\n", 0, begin) + 1
    place, several = f"{name}:{line}", False
    state, cuts = np.array([1, _OUTSIDE, begin]), np.empty(_MOST_CUTS, dtype=np.int64)
    parts: list[bytes] = []
    number = 0
    while chunk:
        text = np.frombuffer(chunk, dtype=np.uint8)
        while state[0] and state[2] < len(chunk):
            for cut in cuts[: _cut(text, int(state[2]), state, cuts)].tolist():
                element = b"".join([*parts, chunk[begin:cut]])
                if number == 0:
                    several = b"\n" in element or chunk[cut : cut + 2] in (b",\n", b",\r")
                    place = name if several else place
                yield f"{place}[{number}]", element.strip()
                number, parts, begin = number + 1, [], cut + 1
        if not state[0]:
            behind = chunk[begin:]
            if not behind.endswith(b"\n"):
                behind += stream.readline()
            yield from _behind(behind, stream, name, 0 if several else line)
            return
        parts.append(chunk[begin:])
        chunk, begin, state[2] = stream.read(_CHUNK_BYTES), 0, 0
    yield f"{place}[{number}]", b"".join(parts).strip()


def _behind(text: bytes, stream: Readable, name: str, line: int) -> Iterator[tuple[str, bytes]]:
    """The lines behind an array in line `line`. Text in that line, and any behind an array over
    several lines (`line` 0), is refused: with the bracket before it it is no JSON."""
    bracket = b"]"
    while text:
        for part in text.removesuffix(b"\n").split(b"\n"):
            if part and not part.isspace():
                yield f"{name}:{line}" if line else name, bracket + part
            if line:
                line, bracket = line + 1, b""
        text = stream.readline()
