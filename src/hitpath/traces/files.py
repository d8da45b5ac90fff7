"""From what the user typed to lines of bytes with a place: globs, folders, -, .gz, .zst.

Reads only; decompresses while streaming, so a large trace never stands in memory as text.
"""

import glob
import gzip
import io
import re
import shlex
import sys
import weakref
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from hitpath.core import InputError, Progress, one_line
from hitpath.traces.folders import is_log, traces_in
from hitpath.traces.json_array import elements
from hitpath.traces.json_document import Part, parts

STDIN = "-"
_URL = re.compile(r"(?i)https?://.")
_CHUNK_BYTES = 1 << 20
_LONGEST_LINE_BYTES = 1 << 30
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """One input file, or standard input; `name` is how messages call it. is_perhaps: a text of a
    folder, which is read only if its content is that of a log."""

    name: str
    path: Path | None
    is_perhaps: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes on disk; 0 for standard input, and where none can be told (it has just gone: that
        is told when it is read)."""
        try:
            return 0 if self.path is None else self.path.stat().st_size
        except OSError:
            return 0


def expand(arguments: list[str]) -> list[Source]:
    """Sources named by files, folders (not recursive), globs or `-`, in a stable order.

    Raises InputError for a name that leads to nothing; a file named twice is read once.
    """
    found: dict[Path | None, Source] = {}
    for argument in arguments:
        if argument == STDIN:
            found.setdefault(None, Source("stdin", None))
            continue
        try:
            of_folder = Path(argument).is_dir()
            for member in _members(argument):
                is_perhaps = of_folder and is_log(member)
                source = Source(one_line(str(member)), member, is_perhaps)
                before = found.setdefault(member.resolve(), source)
                if before.is_perhaps and not is_perhaps:  # also named by itself
                    found[member.resolve()] = source
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(argument, "", f"cannot be read: {_cause(error)}") from error
    return list(found.values())


def _cause(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _members(argument: str) -> list[Path]:
    """The files that one argument names."""
    path = Path(argument)
    if argument and path.is_dir():
        return traces_in(path)
    if argument and path.exists():
        return [path]
    if _URL.match(argument):
        cause = f"is a URL: curl -sL {shlex.quote(argument)} | hitpath analyze -"
        raise InputError(argument, "", cause)
    if not glob.has_magic(argument):
        raise InputError(argument, "", "no such file or folder")
    members = sorted(Path(p) for p in glob.glob(argument, recursive=True))
    members = [p for p in members if p.is_file()]
    if not members:
        raise InputError(argument, "", "no file matches this pattern")
    return members


def _open_bytes(source: Source) -> IO[bytes]:
    if source.path is None:
        if sys.stdin is None:
            raise InputError(source.name, "", "standard input is closed")
        return sys.stdin.buffer
    if source.path.suffix.lower() == ".gz":
        return cast("IO[bytes]", gzip.open(source.path, "rb"))
    if source.path.suffix.lower() == ".zst":
        import pyarrow as pa  # only for this: 0.1 s of import

        stream = pa.input_stream(str(source.path), compression="zstd")
        return cast("IO[bytes]", io.BufferedReader(stream, _CHUNK_BYTES))
    return source.path.open("rb", buffering=_CHUNK_BYTES)


def _is_compressed(source: Source) -> bool:
    return source.path is not None and source.path.suffix.lower() in (".gz", ".zst")


@contextmanager
def _told_as_input_error(source: Source, line: list[int]) -> Iterator[None]:
    """The one place where errors of the system become ours."""
    try:
        yield
    except (EOFError, zlib.error) as error:
        raise InputError(f"{source.name}:{line[0]}", "", f"compressed data: {error}") from error
    except OSError as error:
        raise InputError(source.name, "", f"cannot be read: {_cause(error)}") from error


class Stream:
    """The bytes of a source, once: as lines, or (behind `beginning`) as the elements of an array
    or the parts of large objects.

    All raise InputError where the source cannot be opened, read or decompressed.
    """

    def __init__(self, source: Source, progress: Progress | None = None) -> None:
        self._source = source
        self._progress = progress
        self._opened: IO[bytes] | None = None
        self._done = self._told = 0

    def _stream(self) -> IO[bytes]:
        if self._opened is None:
            self._opened = _open_bytes(self._source)
            if self._source.path is not None:  # standard input is not ours to close
                self._close = weakref.finalize(self, self._opened.close)
        return self._opened

    def _end(self) -> None:
        if self._source.path is not None:
            self._close()
        if self._progress is not None:
            total = self._source.size_bytes
            self._progress(f"reading {self._source.name}", total, total)

    def _tell(self, num_bytes: int) -> None:
        self._done += num_bytes
        if self._progress is not None and self._done - self._told >= _CHUNK_BYTES:
            self._progress(f"reading {self._source.name}", self._done, self._source.size_bytes)
            self._told = self._done

    def beginning(self) -> bytes:
        """Some bytes from the beginning, which are still there to be read."""
        with _told_as_input_error(self._source, [1]):
            peek = getattr(self._stream(), "peek", None)
            return b"" if peek is None else bytes(peek(_CHUNK_BYTES))

    def can_be_opened_again(self) -> bool:
        """Whether it is a file, and no pipe."""
        return self._source.path is not None and self._source.path.is_file()

    def close(self) -> None:
        """Before its end, if it is open."""
        if self._opened is not None and self._source.path is not None:
            self._close()

    def head(self) -> bytes:
        """The first MiB of a file, as far as it can be had before it is read: a compressed one is
        opened once more."""
        if not (self.can_be_opened_again() and _is_compressed(self._source)):
            return self.beginning()
        with _told_as_input_error(self._source, [1]), _open_bytes(self._source) as file:
            return file.read(_CHUNK_BYTES)

    def _raw_lines(self) -> Iterator[bytes]:
        """Raises InputError for a line that would not stand in memory: /dev/zero has no other."""
        limited = iter(partial(self._stream().readline, _LONGEST_LINE_BYTES), b"")
        for line in limited:
            if len(line) == _LONGEST_LINE_BYTES:
                cause = f"a line of {_LONGEST_LINE_BYTES >> 20:,} MiB and more is no row"
                raise InputError(self._source.name, "", cause)
            yield line
            if self._progress is not None:
                self._tell(len(line))
        self._end()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """(line number from 1, line with its end) for every line; no byte order mark."""
        at = [1]
        with _told_as_input_error(self._source, at):
            numbered = enumerate(self._raw_lines(), 1)
            for at[0], line in numbered:
                yield 1, line.removeprefix(_BYTE_ORDER_MARK)
                break
            for at[0], line in numbered:
                yield at[0], line
            at[0] += 1

    def elements(self) -> Iterator[tuple[str, bytes]]:
        """See json_array.elements."""
        with _told_as_input_error(self._source, [1]):
            yield from elements(self, self._source.name)
            self._end()

    def parts(self, each: Collection[str], keep: Collection[str]) -> Iterator[Part]:
        """See json_document.parts."""
        with _told_as_input_error(self._source, [1]):
            yield from parts(self, self._source.name, each, keep)
            self._end()

    def read(self, size: int) -> bytes:
        """At most so many bytes, none at the end."""
        found = self._stream().read(size)
        self._tell(len(found))
        return found

    def readline(self) -> bytes:
        """Up to the end of a line."""
        return self._stream().readline()


def lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """The lines of a source, see Stream.lines."""
    return Stream(source).lines()


def filled(numbered: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, without their ends."""
    for number, line in numbered:
        if not line.isspace() and line:
            yield number, line.rstrip(b"\n")
