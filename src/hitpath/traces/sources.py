"""A source with its beginning already looked at, and what a format is.

Everything is read once (a source may be a pipe): what finding out the format consumed is kept
and given again to the reader. A source is lines of text, or a table (`tabular.py`).
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hitpath.core import InputError, Progress
from hitpath.text.tokenizer import ByteTokenizer, TextTokenizer
from hitpath.traces.container_logs import unwrapped
from hitpath.traces.files import Source, Stream, filled
from hitpath.traces.json_array import begins_array
from hitpath.traces.rows import TraceBuilder
from hitpath.traces.table import Trace

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.traces.mapping import Mapping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user said that readers need. block_size: tokens, None for the trace's own.
    mapping: which columns or fields of the file are which of ours (`--map`)."""

    block_size: int | None = None
    tokenizer: TextTokenizer = field(default_factory=ByteTokenizer)
    mapping: "Mapping | None" = None


class Rows(Protocol):
    """The rows of a table. columns: as the file names them, "" for one without a name."""

    place: str
    columns: tuple[str, ...]

    def rows(
        self, wanted: Sequence[str], reject: Callable[[InputError], None]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """(place, value by column) of each row, at least the columns in `wanted`; a row that is
        no row goes to `reject`. Raises InputError for a file that cannot be read on."""


class Input:
    """One source: `lines()`, `document()`, the `elements()` of an array or the rows of its `table`
    once, by its one reader.

    problem: under --skip-bad-rows, why not one row of it could be read. is_perhaps: see Source.
    note: what must be said of the files beside it.
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
        self._stream = Stream(source, progress)
        self._rest = unwrapped(self._stream.lines())
        self._head: deque[tuple[int, bytes]] = deque()
        self._more_elements = self._stream.elements()
        self._elements: deque[tuple[str, bytes]] = deque()

    @cached_property
    def is_array(self) -> bool:
        """Whether it begins as an array of objects: then it has `elements` and no lines."""
        return begins_array(self._stream.beginning())

    def peek_elements(self) -> Iterator[tuple[str, bytes]]:
        """(place, JSON text) of the array's elements, kept for the reader."""
        for element in self._more_elements:
            self._elements.append(element)
            yield element

    def elements(self) -> Iterator[tuple[str, bytes]]:
        """(place, JSON text) of every element of the array."""
        return _taken(self._elements, self._more_elements)

    def peek(self) -> Iterator[tuple[int, bytes]]:
        """Lines that are not blank from the beginning, kept for the reader."""
        yield from filled(tuple(self._head))
        for numbered in self._rest:
            self._head.append(numbered)
            yield from filled((numbered,))

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
        self._head += self._rest
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


def no_table(columns: frozenset[str]) -> bool:
    """For formats that are text."""
    return False


@dataclass(frozen=True, slots=True)
class Format:
    """One trace format.

    recognises: whether a source is of it whose first JSON value (its first line, or the whole
    document) is this; must not raise. sniffs: the same for a first line that is not JSON;
    has_columns: the same for the names of a table's columns.
    read: all inputs, which are of this format, into one trace; raises InputError or SettingError,
    and passes bad rows to the builder's `attempt` or `reject`.
    """

    name: str
    title: str
    recognises: Callable[[object], bool]
    read: Callable[[Sequence[Input], TraceBuilder, ReadOptions], Trace]
    sniffs: Callable[[bytes], bool] = never
    has_columns: Callable[[frozenset[str]], bool] = no_table
