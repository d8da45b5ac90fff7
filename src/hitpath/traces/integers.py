"""Long lists of block ids, from JSON text straight into an array.

A trace of 16-token blocks is nothing but such lists; making a Python integer of every id costs
three times as much as all the rest of reading. Text that is not a plain list of unsigned 64-bit
integers goes the slow way through msgspec, which names the entry that is wrong.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.core import InputError
from hitpath.traces.decode import as_input_error
from hitpath.traces.in_sequence import reserved
from hitpath.traces.rows import symbols_from

_CHUNK_IDS = 1 << 20
_TEXT_BYTES = 1 << 16
_MALFORMED = -1
_COMMA, _OPEN, _CLOSE, _ZERO, _NINE = (ord(c) for c in ",[]09")
_SPACE, _TAB = ord(" "), ord("\t")

_decode_list = msgspec.json.Decoder(list[int])


@kernel
def _after_space(text: NDArray[np.uint8], at: int) -> int:
    while text[at] in (_SPACE, _TAB):
        at += 1
    return at


@kernel
def _parse(text: NDArray[np.uint8], size: int, out: NDArray[np.uint64], first: int) -> int:
    """Fill `out[first:]` from the first `size` bytes of text, "[1, 23, 456]"; the number of
    integers, or _MALFORMED for anything that is not such a list of integers of at most 19 digits
    (all of those fit 64 bits). The closing bracket at the end stops every loop."""
    last = size - 1
    if last < 1 or text[0] != _OPEN or text[last] != _CLOSE:
        return _MALFORMED
    at = _after_space(text, 1)
    if text[at] == _CLOSE:
        return 0 if at == last else _MALFORMED
    count = 0
    while True:
        begin = at
        value = np.uint64(0)
        while _ZERO <= text[at] <= _NINE:
            value = value * np.uint64(10) + np.uint64(text[at] - _ZERO)
            at += 1
        if at == begin or at - begin > 19 or (at - begin > 1 and text[begin] == _ZERO):
            return _MALFORMED
        out[first + count] = value
        count += 1
        at = _after_space(text, at)
        if text[at] == _CLOSE:
            return count if at == last else _MALFORMED
        if text[at] != _COMMA:
            return _MALFORMED
        at = _after_space(text, at + 1)


@kernel
def _parse_all(
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    out: NDArray[np.uint64],
    first: int,
    counts: NDArray[np.int64],
) -> int:
    """`_parse` of lists that stand one behind the other; how much of `out` is filled."""
    begin = 0
    for i in range(len(ends)):
        end = ends[i]
        counts[i] = _parse(text[begin:end], end - begin, out, first)
        if counts[i] != _MALFORMED:
            first += counts[i]
        begin = end
    return first


class IdParser:
    """Parses id lists into chunks that the rows' arrays are views of.

    text_bytes: how much text will come, 0 for unknown. The first chunk is large enough for all
    of it (memory that is never written costs nothing), so that the rows need not be joined.
    passing: what one call gave is not kept, and the next may overwrite it.
    """

    def __init__(self, text_bytes: int, passing: bool = False) -> None:
        self._chunk = reserved(0 if passing else text_bytes // 2, np.uint64)
        self._used = 0
        self._passing = passing
        self._make_text_room(_TEXT_BYTES)

    def _make_text_room(self, num_bytes: int) -> None:
        """A copy of the text, for the kernel: an array of every text costs more than copying."""
        self._text = np.empty(num_bytes, dtype=np.uint8)
        self._room = memoryview(self._text)  # type: ignore[arg-type]

    def parse(self, text: msgspec.Raw, name: str, place: str) -> NDArray[np.uint64]:
        """The ids, uint64. Raises InputError with the entry that is none."""
        size, chunk = len(text), self._chunk
        begin = 0 if self._passing else self._used
        if size > len(self._room):
            self._make_text_room(2 * size)
        most = size // 2  # an id and its comma or bracket take two bytes at least
        if begin + most > len(chunk):
            self._chunk = chunk = np.empty(max(_CHUNK_IDS, most), dtype=np.uint64)
            begin = 0
        self._room[:size] = text
        count = _parse(self._text, size, chunk, begin)
        if count == _MALFORMED:
            slowly = self.parse_slowly(text, name, place)
            count = len(slowly)
            chunk[begin : begin + count] = slowly
        self._used = end = begin + count
        return chunk[begin:end]

    def parse_all(self, texts: Sequence[msgspec.Raw]) -> list[NDArray[np.uint64] | None]:
        """The ids of several lists, which takes half the time of each by itself where they are
        short; None for a text that is for `parse_slowly`."""
        joined = b"".join(texts)
        begin = 0 if self._passing else self._used
        if begin + len(joined) // 2 > len(self._chunk):
            self._chunk = np.empty(max(_CHUNK_IDS, len(joined) // 2), dtype=np.uint64)
            begin = 0
        ends = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
        counts = np.empty(len(texts), dtype=np.int64)
        text = np.frombuffer(joined, dtype=np.uint8)
        self._used = _parse_all(text, ends, self._chunk, begin, counts)
        found: list[NDArray[np.uint64] | None] = []
        for count in counts.tolist():
            if count == _MALFORMED:
                found.append(None)
            else:
                found.append(self._chunk[begin : begin + count])
                begin += count
        return found

    @staticmethod
    def parse_slowly(text: msgspec.Raw, name: str, place: str) -> NDArray[np.uint64]:
        """The ids in an array of their own. Raises InputError with the entry that is none."""
        try:
            values = _decode_list.decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            told = as_input_error(error, place)
            raise InputError(place, name + told.field, told.cause) from error
        return symbols_from(values, np.uint64, name, place).astype(np.uint64, copy=False)
