"""The rows of a trace as the file has them, kept while its reader goes through them.

A reader makes symbols and forgets the text; the doctor asks later for the text of the few rows that
it compares, by their place. Up to MEMORY_BYTES stay in memory, more goes to a file without a name,
which is gone with the process.
"""

import os
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from io import BytesIO
from typing import IO, Any

import msgspec

from hitpath.core import InputError
from hitpath.doctor.in_row import Steps, path_steps
from hitpath.traces.json_document import Part
from hitpath.traces.mapping import Mapping
from hitpath.traces.sources import Input, Rows

MEMORY_BYTES = 256 << 20
_list_of_raw = msgspec.json.Decoder(list[msgspec.Raw])
_dict_of_raw = msgspec.json.Decoder(dict[str, msgspec.Raw])


class KeptRows:
    """Text of rows by place, as readers name places (`file:line`, `file[3]`, `file:line[3]`,
    `file:line.data[3]`, `file:line:spans[3]`). mapping: the fields that `--map` names in them;
    has_table: whether some are rows of a table."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES, mapping: Mapping | None = None) -> None:
        self.mapping = mapping
        self.has_table = False
        self._file: IO[bytes] = BytesIO()
        self._memory_bytes = memory_bytes
        self._at: dict[str, tuple[int, int]] = {}
        self._end = 0
        self._members_of = lru_cache(maxsize=8)(self._members)

    def __len__(self) -> int:
        return len(self._at)

    @property
    def places(self) -> Iterator[str]:
        """Of all that was kept, in the order of the files."""
        return iter(tuple(self._at))

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
        document, steps = self.document(place)
        if document is None or not steps:
            return self._own(document)
        members = self._members_of(document, steps[:-1])
        return members.get(steps[-1])

    def document(self, place: str) -> tuple[str | None, Steps]:
        """(the place of what was kept as a whole, the steps in it that lead to a row); None where
        nothing was kept for it."""
        if place in self._at:
            return place, ()
        for at in range(len(place) - 1, 0, -1):
            if place[at] not in ".:[":
                continue
            outer, rest = place[:at], place[at:].lstrip(".:")
            if f"{outer} {rest}" in self._at:
                return f"{outer} {rest}", ()
            if outer in self._at:
                return outer, tuple(path_steps(rest))
        return None, ()

    def _own(self, place: str | None) -> bytes | None:
        found = None if place is None else self._at.get(place)
        if found is None:
            return None
        self._file.seek(found[0], os.SEEK_SET)
        return self._file.read(found[1])

    def _members(self, document: str, steps: Steps) -> dict[str | int, bytes]:
        """The members of what stands at these steps of a document."""
        text = self._own(document) if not steps else self._members(document, steps[:-1])[steps[-1]]
        try:
            assert text is not None
            if text.lstrip()[:1] == b"[":
                return {n: bytes(member) for n, member in enumerate(_list_of_raw.decode(text))}
            return {name: bytes(member) for name, member in _dict_of_raw.decode(text).items()}
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return {}


def keep_rows(inputs: Sequence[Input], kept: KeptRows) -> list[Input]:
    """The same sources, whose rows are kept as their reader takes them. What was looked at of them
    stays."""
    return [_Keeping(source, kept) for source in inputs]


class _Keeping(Input):
    """A source in another's place: what it does is the other's, and rows are kept on the way."""

    def __init__(self, source: Input, kept: KeptRows) -> None:
        self._kept = kept
        self.__dict__.update(source.__dict__)

    def __setattr__(self, name: str, value: Any) -> None:
        """A table that is found in it keeps its rows too."""
        is_table = name == "table" and value is not None
        super().__setattr__(name, _KeepingTable(value, self._kept) if is_table else value)

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


class _KeepingTable:
    """A table in another's place, see sources.Rows; its rows are kept as JSON by column."""

    def __init__(self, table: Rows, kept: KeptRows) -> None:
        self.place = table.place
        self.columns = table.columns
        self.is_parquet = table.is_parquet
        self._table = table
        self._kept = kept
        kept.has_table = True

    def rows(
        self, wanted: Sequence[str], reject: Callable[[InputError], None]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        for place, values in self._table.rows(wanted, reject):
            self._kept.keep(place, msgspec.json.encode(values, enc_hook=str))
            yield place, values
