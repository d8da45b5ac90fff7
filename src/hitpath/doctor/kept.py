"""The rows of a trace as the file has them, kept while its reader goes through them.

A reader makes symbols and forgets the text; the doctor asks later for the text of the few rows that
it compares, by their place. Up to MEMORY_BYTES stay in memory, more goes to a file without a name,
which is gone with the process.
"""

import os
import tempfile
import weakref
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from io import BytesIO
from typing import IO

import msgspec

from hitpath.traces.json_document import Part
from hitpath.traces.sources import Input

MEMORY_BYTES = 256 << 20
_list_of_raw = msgspec.json.Decoder(list[msgspec.Raw])


class KeptRows:
    """Text of rows by place, as readers name places (`file:line`, `file[3]`, `file:line[3]`)."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._file: IO[bytes] = BytesIO()
        self._memory_bytes = memory_bytes
        self._at: dict[str, tuple[int, int]] = {}
        self._end = 0
        self._elements_of = lru_cache(maxsize=8)(self._elements)

    def __len__(self) -> int:
        return len(self._at)

    def keep(self, place: str, text: bytes) -> None:
        """Remember a row."""
        if self._end <= self._memory_bytes < self._end + len(text):
            self._to_disk()
        self._file.seek(self._end, os.SEEK_SET)
        self._file.write(text)
        self._at[place] = (self._end, len(text))
        self._end += len(text)

    def _to_disk(self) -> None:
        """From here on in a file without a name."""
        assert isinstance(self._file, BytesIO)
        file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with this object)
        weakref.finalize(self, file.close)
        file.write(self._file.getbuffer())
        self._file = file

    def text(self, place: str) -> bytes | None:
        """The row at a place, None where no row was kept for it."""
        found = self._at.get(place)
        if found is not None:
            self._file.seek(found[0], os.SEEK_SET)
            return self._file.read(found[1])
        outer, bracket, index = place.rpartition("[")
        if not bracket or not index[:-1].isdecimal():
            return None
        elements, at = self._elements_of(outer), int(index[:-1])
        return bytes(elements[at]) if at < len(elements) else None

    def _elements(self, place: str) -> list[msgspec.Raw]:
        """The elements of an array that was kept as a whole."""
        text = self.text(place)
        if text is None:
            return []
        try:
            return _list_of_raw.decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return []


def keep_rows(inputs: Sequence[Input], kept: KeptRows) -> list[Input]:
    """The same sources, whose rows are kept as their reader takes them. What was looked at of them
    stays."""
    return [_Keeping(source, kept) for source in inputs]


class _Keeping(Input):
    """A source in another's place: what it does is the other's, and rows are kept on the way."""

    def __init__(self, source: Input, kept: KeptRows) -> None:
        self.__dict__.update(source.__dict__)
        self._kept = kept

    def lines(self) -> Iterator[tuple[str, bytes]]:
        for place, line in super().lines():
            self._kept.keep(place, line)
            yield place, line

    def elements(self) -> Iterator[tuple[str, bytes]]:
        for place, text in super().elements():
            self._kept.keep(place, text)
            yield place, text

    def document(self) -> bytes:
        text = super().document()
        self._kept.keep(self.name, text)
        return text

    def parts(self, each: Collection[str], keep: Collection[str]) -> Iterator[Part]:
        for part in super().parts(each, keep):
            if part.array:
                self._kept.keep(f"{part.place} {part.path}", part.text)
            yield part
