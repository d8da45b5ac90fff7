"""A source with its beginning already looked at, and what a format is.

Everything is read once (a source may be a pipe): what finding out the format consumed is kept
and given again to the reader.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from hitpath.core import InputError, Progress, SettingError
from hitpath.text.tokenizer import ByteTokenizer, TextTokenizer
from hitpath.traces.files import Source, lines
from hitpath.traces.rows import TraceBuilder
from hitpath.traces.table import Trace

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user said that readers need. block_size: tokens, None for the trace's own."""

    block_size: int | None = None
    tokenizer: TextTokenizer = field(default_factory=ByteTokenizer)

    def bytes_only(self, format_name: str) -> None:
        """For formats whose text only bytes can stand for yet. Raises SettingError."""
        if not isinstance(self.tokenizer, ByteTokenizer):
            raise SettingError("--tokenizer", f"not for {format_name} traces yet: leave it out")


class Input:
    """One source: `lines()` or `document()` once, by its one reader.

    problem: under --skip-bad-rows, why not one row of it could be read.
    """

    def __init__(self, source: Source, progress: Progress | None = None) -> None:
        self.name = source.name
        self.path: Path | None = source.path
        self.size_bytes = source.size_bytes
        self.problem: InputError | None = None
        self._rest = lines(source, progress)
        self._head: list[tuple[int, bytes]] = []

    def peek(self) -> Iterator[tuple[int, bytes]]:
        """Lines from the beginning, kept for the reader."""
        yield from tuple(self._head)
        for numbered in self._rest:
            self._head.append(numbered)
            yield numbered

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """(place, line) for every line that is not blank."""
        for number, line in chain(self._head, self._rest):
            yield f"{self.name}:{number}", line

    def document(self) -> bytes:
        """The whole source (blank lines left out)."""
        self._head += self._rest
        return b"\n".join(line for _, line in self._head)


def lines_of(inputs: Sequence[Input]) -> Iterator[tuple[str, bytes]]:
    """(place, line) of all inputs, one after the other."""
    return chain.from_iterable(i.lines() for i in inputs)


def never(head: bytes) -> bool:
    """For formats that are JSON: no other text is theirs."""
    return False


@dataclass(frozen=True, slots=True)
class Format:
    """One trace format.

    recognises: whether a source is of it whose first JSON value (its first line, or the whole
    document) is this; must not raise. sniffs: the same for a first line that is not JSON.
    read: all inputs, which are of this format, into one trace; raises InputError or SettingError,
    and passes bad rows to the builder's `attempt` or `reject`.
    """

    name: str
    title: str
    recognises: Callable[[object], bool]
    read: Callable[[Sequence[Input], TraceBuilder, ReadOptions], Trace]
    sniffs: Callable[[bytes], bool] = never
