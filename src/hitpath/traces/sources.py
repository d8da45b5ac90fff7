"""A source with its beginning already looked at, and what a format is.

Everything is read once (a source may be a pipe): what finding out the format consumed is kept
and given again to the reader. A source is lines of text, or a table (`tabular.py`).
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hitpath.core import InputError, Progress
from hitpath.text.tokenizer import ByteTokenizer, TextTokenizer
from hitpath.traces.container_logs import unwrapped
from hitpath.traces.decode import is_beginning_of_json
from hitpath.traces.files import Source, Stream, filled
from hitpath.traces.json_array import begins_array
from hitpath.traces.json_document import Part, large_object
from hitpath.traces.rows import TraceBuilder
from hitpath.traces.table import Trace

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.traces.mapping import Mapping

T = TypeVar("T")
_MOST_PEEKED = 200_000
_MOST_PEEKED_BYTES = 64 << 20
_DOCUMENT_BYTES = 1 << 20
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user said that readers need. block_size: tokens, None for the trace's own.
    mapping: which columns or fields of the file are which of ours (`--map`)."""

    block_size: int | None = None
    tokenizer: TextTokenizer = field(default_factory=ByteTokenizer)
    mapping: "Mapping | None" = None


class Rows(Protocol):
    """The rows of a table. columns: as the file names them, "" for one without a name; is_parquet:
    whether values have types of the file's own, and are no text."""

    place: str
    columns: tuple[str, ...]
    is_parquet: bool

    def rows(
        self, wanted: Sequence[str], reject: Callable[[InputError], None]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """(place, value by column) of each row, at least the columns in `wanted`; a row that is
        no row goes to `reject`. Raises InputError for a file that cannot be read on."""


class Input:
    """One source: `lines()`, `document()`, the `elements()` of an array or the rows of its `table`
    once, by its one reader.

    problem: under --skip-bad-rows, why not one row of it could be read. is_perhaps: see Source.
    note: what must be said of the files beside it. in_parts: its format is to read its `parts`, and
    no lines.
    """

    def __init__(self, source: Source, progress: Progress | None = None) -> None:
        self.name = source.name
        self.path: Path | None = source.path
        self.size_bytes = source.size_bytes
        self.progress = progress
        self.problem: InputError | None = None
        self.is_perhaps = source.is_perhaps
        self.note = ""
        self.table: Rows | None = None
        self.in_parts = False
        self._source = source
        self._begin()

    def _begin(self) -> None:
        self._stream = Stream(self._source, self.progress)
        self._rest = unwrapped(self._stream.lines())
        self._head: deque[tuple[int, bytes]] = deque()
        self._peeked_bytes = 0
        self._is_whole = False
        self._more_elements = self._stream.elements()
        self._elements: deque[tuple[str, bytes]] = deque()

    def release(self) -> None:
        """Close a file that was only looked at, and forget what was seen of it: of many files not
        all can stay open, nor their beginnings in memory. What can be read only once stays."""
        if self._stream.can_be_opened_again():
            self._stream.close()
            self._begin()

    def forget(self) -> None:
        """Nobody will ask again for what was looked at."""
        self._head.clear()

    @cached_property
    def _begins(self) -> tuple[bool, dict[str, str] | None]:
        """(is_array, large_object), found out together before a line is read."""
        beginning = self._stream.beginning()
        first_line, _, more = beginning.lstrip(_BEFORE_JSON).partition(b"\n")
        if not first_line.startswith(b"{") or (more and first_line.rstrip().endswith(b"}")):
            return begins_array(beginning), None
        head = self._stream.head()
        return False, large_object(head) if len(head) >= _DOCUMENT_BYTES else None

    @property
    def is_array(self) -> bool:
        """Whether it begins as an array of objects: then it has `elements` and no lines."""
        return self._begins[0]

    @property
    def large_object(self) -> dict[str, str] | None:
        """Of a source that begins as an object of more than a MiB: names at its top, each with the
        first character of its value."""
        return self._begins[1]

    def parts(self, each: Collection[str], keep: Collection[str]) -> Iterator[Part]:
        """The elements of large objects and their rests, see json_document.parts."""
        return self._stream.parts(each, keep)

    def peek_elements(self) -> Iterator[tuple[str, bytes]]:
        """(place, JSON text) of the array's elements, kept for the reader; as `peek`, some of
        them."""
        num, size = 0, 0
        for element in self._more_elements:
            self._elements.append(element)
            yield element
            num, size = num + 1, size + len(element[1])
            if num >= _MOST_PEEKED or size >= _MOST_PEEKED_BYTES:
                return

    def elements(self) -> Iterator[tuple[str, bytes]]:
        """(place, JSON text) of every element of the array."""
        return _taken(self._elements, self._more_elements)

    def peek(self) -> Iterator[tuple[int, bytes]]:
        """Lines that are not blank from the beginning, kept for the reader: the first one if there
        is any, and so many more that what is kept stays small. A file is never read to its end for
        what is only looked for."""
        yield from filled(tuple(self._head))
        while len(self._head) < _MOST_PEEKED and self._peeked_bytes < _MOST_PEEKED_BYTES:
            numbered = next(self._rest, None)
            if numbered is None:
                self._is_whole = True
                return
            self._head.append(numbered)
            self._peeked_bytes += len(numbered[1])
            yield from filled((numbered,))

    def begins_document(self) -> bool:
        """Whether the text may be one JSON value over several lines, by its first MiB: a value that
        is right so far and not yet at its end. Else a broken first row would have all of a large
        file read at once."""
        size, lines = 0, []
        for _, line in self.peek():
            lines.append(line)
            size += len(line)
            if size >= _DOCUMENT_BYTES:
                break
        return self._is_whole or is_beginning_of_json(b"\n".join(lines))

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """(place, line) for every line that is not blank."""
        name = self.name
        for number, line in self.raw_lines():
            if line and not line.isspace():
                yield f"{name}:{number}", line.rstrip(b"\n")

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """(number, line with its end) for every line."""
        return _taken(self._head, self._rest)

    def document(self) -> bytes:
        """The whole source (blank lines left out)."""
        self._head += (numbered for numbered in self._rest if not numbered[1].isspace())
        return b"\n".join(line for _, line in filled(self._head))


def _taken(kept: deque[T], rest: Iterator[T]) -> Iterator[T]:
    """What was looked at already, given away piece by piece, then the rest."""
    while kept:
        yield kept.popleft()
    yield from rest


def lines_of(inputs: Sequence[Input]) -> Iterator[tuple[str, bytes]]:
    """(place, line) of all inputs, one after the other."""
    return chain.from_iterable(i.lines() for i in inputs)


def never(head: bytes) -> bool:
    """For formats that are JSON: no other text is theirs."""
    return False


def no_object(names: dict[str, str]) -> bool:
    """For formats that hold one row a line, or documents that stand in memory as a whole."""
    return False


def no_table(columns: frozenset[str]) -> bool:
    """For formats that are text."""
    return False


@dataclass(frozen=True, slots=True)
class Format:
    """One trace format.

    recognises: whether a source is of it whose first JSON value (its first line, or the whole
    document) is this; must not raise. sniffs: the same for a first line that is not JSON;
    has_columns: the same for the names of a table's columns; begins: for what stands at the top of
    a large object (Input.large_object), which `read` then takes by its parts.
    read: all inputs, which are of this format, into one trace; raises InputError or SettingError,
    and passes bad rows to the builder's `attempt` or `reject`.
    """

    name: str
    title: str
    recognises: Callable[[object], bool]
    read: Callable[[Sequence[Input], TraceBuilder, ReadOptions], Trace]
    sniffs: Callable[[bytes], bool] = never
    has_columns: Callable[[frozenset[str]], bool] = no_table
    begins: Callable[[dict[str, str]], bool] = no_object
