"""A source with its beginning already looked at, and what a format is.

Everything is read once (a source may be a pipe): what finding out the format consumed is kept
and given again to the reader. A source is lines of text, or a table (`tabular.py`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from hitpath.core import InputError, Progress
from hitpath.text.tokenizer import ByteTokenizer, TextTokenizer
from hitpath.traces.files import Source, filled, lines
from hitpath.traces.rows import TraceBuilder
from hitpath.traces.table import Trace

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.traces.mapping import Mapping


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
    """One source: `lines()`, `document()` or the rows of its `table` once, by its one reader.

    problem: under --skip-bad-rows, why not one row of it could be read.
    """

    def __init__(self, source: Source, progress: Progress | None = None) -> None:
        self.name = source.name
        self.path: Path | None = source.path
        self.size_bytes = source.size_bytes
        self.progress = progress
        self.problem: InputError | None = None
        self.table: Rows | None = None
        self._rest = lines(source, progress)
        self._head: list[tuple[int, bytes]] = []

    def peek(self) -> Iterator[tuple[int, bytes]]:
        """Lines that are not blank from the beginning, kept for the reader."""
        yield from filled(tuple(self._head))
        for numbered in self._rest:
            self._head.append(numbered)
            yield from filled((numbered,))

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """(place, line) for every line that is not blank."""
        for number, line in filled(self.raw_lines()):
            yield f"{self.name}:{number}", line

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """(number, line with its end) for every line."""
        return chain(self._head, self._rest)

    def document(self) -> bytes:
        """The whole source (blank lines left out)."""
        self._head += self._rest
        return b"\n".join(line for _, line in filled(self._head))


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
