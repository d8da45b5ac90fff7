"""One large JSON object in pieces as it comes, so that a file may be larger than memory: the
elements of those of its arrays that hold the requests, and at last the object without them.

Where the arrays stand is told by paths such as `benchmarks[].requests.successful`. The text is
cut at the commas and brackets of the objects and arrays on the way there; whether a piece is JSON
is for its decoder to say. An object that is cut off gives a last element, or a rest, that is no
JSON. Objects may follow each other, as in lines.
"""

import re
from collections.abc import Collection, Generator, Iterator
from io import BytesIO
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.traces.json_array import Readable

_CHUNK_BYTES = 1 << 18
_QUOTE, _BACKSLASH, _COMMA, _COLON = ord('"'), ord("\\"), ord(","), ord(":")
_OPEN, _CLOSE, _OPEN_OBJECT, _CLOSE_OBJECT = (ord(c) for c in "[]{}")
_OUTSIDE, _INSIDE, _ESCAPED = 0, 1, 2
_NONE = -1  # no byte: the end of the text
_NO_SPACE = re.compile(rb"[^ \t\r\n]")


class Part(NamedTuple):
    """A piece of a document. array: the path of the array that it is an element of, without
    numbers; "" for the document without those elements. path: with numbers."""

    place: str
    array: str
    path: str
    text: bytes


@kernel
def _next(text: NDArray[np.uint8], at: int, state: NDArray[np.int64]) -> int:
    """The place, from `at` on, of the comma, colon or closing bracket that ends what begins here;
    the length of the text if it is not in it. state: brackets open since, in a string or not."""
    depth, string = state[0], state[1]
    while at < len(text):
        byte = text[at]
        if string == _INSIDE:
            if byte == _QUOTE:
                string = _OUTSIDE
            elif byte == _BACKSLASH:
                string = _ESCAPED
        elif string == _ESCAPED or byte == _QUOTE:
            string = _INSIDE
        elif byte in (_OPEN, _OPEN_OBJECT):
            depth += 1
        elif byte in (_CLOSE, _CLOSE_OBJECT):
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and byte in (_COMMA, _COLON):
            break
        at += 1
    state[0], state[1] = depth, string
    return at


class _Text:
    """The text as it comes, and how far it is read."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._chunk, self._at = b"", 0
        self._array = np.empty(0, dtype=np.uint8)
        self._begun = False
        self.line = 1

    def _fill(self) -> bool:
        self.line += self._chunk.count(b"\n")
        self._chunk, self._at = self._stream.read(_CHUNK_BYTES), 0
        if not self._begun:
            self._chunk = self._chunk.removeprefix(b"\xef\xbb\xbf")
            self._begun = True
        self._array = np.frombuffer(self._chunk, dtype=np.uint8)
        return bool(self._chunk)

    def line_here(self) -> int:
        """The number of the line that is read, from 1."""
        return self.line + self._chunk.count(b"\n", 0, self._at)

    def first(self) -> int:
        """The next byte that is no white space, which is not read yet."""
        while True:
            found = _NO_SPACE.search(self._chunk, self._at)
            self._at = len(self._chunk) if found is None else found.start()
            if found is not None:
                return self._chunk[self._at]
            if not self._fill():
                return _NONE

    def line_rest(self) -> bytes:
        """What stands before the end of the line, or its beginning, for it is of no use."""
        parts: list[bytes] = []
        while True:
            end = self._chunk.find(b"\n", self._at)
            if not parts:
                parts.append(self._chunk[self._at : end if end >= 0 else len(self._chunk)])
            self._at = end if end >= 0 else len(self._chunk)
            if end >= 0 or not self._fill():
                return parts[0]

    def step(self) -> None:
        """Read one byte."""
        self._at += 1

    def take(self, keep: bool = True) -> tuple[bytes, int]:
        """(the text up to the comma, colon or bracket that ends what begins here, that byte). Both
        are read. keep: else the text is not wanted."""
        parts: list[bytes] = []
        state = np.zeros(2, dtype=np.int64)
        while True:
            stop = _next(self._array, self._at, state)
            if keep:
                parts.append(self._chunk[self._at : stop])
            if stop < len(self._chunk):
                self._at = stop + 1
                return b"".join(parts), self._chunk[stop]
            if not self._fill():
                return b"".join(parts), _NONE


class _Cutter:
    """Reads one object. `rest` gathers what is no element; what nobody reads is null there."""

    def __init__(
        self, text: _Text, place: str, each: Collection[str], keep: Collection[str]
    ) -> None:
        self._text = text
        self._place = place
        self._each, self._keep = each, keep
        self._ways = {way for path in (*each, *keep) for way in _ways_to(path)}
        self.rest: list[bytes] = []

    def object(self, path: str = "", plain: str = "") -> Iterator[Part]:
        """The elements in an object of which the first bracket comes next. plain: the path without
        numbers."""
        self._text.step()
        self.rest.append(b"{")
        stop = _COMMA
        while stop == _COMMA:
            key, stop = self._text.take()
            self.rest.append(key)
            if stop == _COLON:  # else an empty object, or no JSON
                self._write(stop)
                name = f".{_name(key)}" if path else _name(key)
                stop = yield from self._value(path + name, plain + name)
            self._write(stop)

    def _array(self, path: str, plain: str) -> Iterator[Part]:
        self._text.step()
        self.rest.append(b"[")
        number, stop = 0, _COMMA
        if self._text.first() == _CLOSE:
            self._write(self._text.take()[1])
            return
        while stop == _COMMA:
            stop = yield from self._value(f"{path}[{number}]", f"{plain}[]")
            self._write(stop)
            number += 1

    def _elements(self, path: str, plain: str) -> Iterator[Part]:
        self._text.step()
        self.rest.append(b"[")
        number, stop = 0, _COMMA
        while stop == _COMMA:
            element, stop = self._text.take()
            element = element.strip()
            if number or element or stop != _CLOSE:  # else an empty array
                yield Part(self._place, plain, f"{path}[{number}]", element)
            number += 1
        self._write(stop)

    def _value(self, path: str, plain: str) -> Generator[Part, None, int]:
        """The byte behind a value."""
        first = self._text.first()
        is_way = plain in self._ways
        if plain in self._each and first == _OPEN:
            yield from self._elements(path, plain)
        elif is_way and first == _OPEN_OBJECT:
            yield from self.object(path, plain)
        elif is_way and first == _OPEN:
            yield from self._array(path, plain)
        elif not (is_way or plain in self._each or plain in self._keep):
            self.rest.append(b"null")
            return self._text.take(keep=False)[1]
        text, stop = self._text.take()
        self.rest.append(text)
        return stop

    def _write(self, stop: int) -> None:
        self.rest.append(b"" if stop == _NONE else bytes([stop]))


def _ways_to(path: str) -> Iterator[str]:
    """The paths of what stands around."""
    yield ""
    for at, char in enumerate(path):
        if char == "." or path.startswith("[]", at):
            yield path[:at]


def _name(key: bytes) -> str:
    """A name as it stands in paths; one that is none, or could be taken for a path, as a NUL."""
    try:
        name = msgspec.json.decode(key, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return "\0"
    return name if name and "." not in name and "[" not in name else "\0"


def parts(
    stream: Readable, name: str, each: Collection[str], keep: Collection[str]
) -> Iterator[Part]:
    """The pieces of all objects of a stream, in order, and behind its elements the rest of each
    object: what `keep` names, as JSON. each: the arrays whose elements are pieces. Places are
    `name:3` by the line where an object begins."""
    text = _Text(stream)
    while (first := text.first()) != _NONE:
        place = f"{name}:{text.line_here()}"
        if first != _OPEN_OBJECT:  # what stands behind an object, as a rest that is none
            yield Part(place, "", "", text.line_rest())
            continue
        cutter = _Cutter(text, place, each, keep)
        yield from cutter.object()
        yield Part(place, "", "", b"".join(cutter.rest))


def large_object(head: bytes) -> dict[str, str] | None:
    """Of a text that begins so: the names at the top of its first object, as far as they stand in
    it, each with the first character of its value; None where no object begins, or it has ended."""
    text = _Text(BytesIO(head))
    if text.first() != _OPEN_OBJECT:
        return None
    text.step()
    found: dict[str, str] = {}
    while True:
        key, stop = text.take()
        if stop == _COLON:
            first = text.first()
            found[_name(key)] = "" if first == _NONE else chr(first)
            stop = text.take(keep=False)[1]
        if stop == _NONE:
            return found
        if stop != _COMMA:
            return None
