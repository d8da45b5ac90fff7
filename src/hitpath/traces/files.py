"""From what the user typed to lines of bytes with a place: globs, folders, -, .gz, .zst.

Reads only; decompresses while streaming, so a large trace never stands in memory as text.
"""

import glob
import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from hitpath.core import InputError, Progress, one_line

STDIN = "-"
_SUFFIXES = (".jsonl", ".json", ".ndjson", ".traj")
_TABLES = (".csv", ".tsv", ".parquet")
_COMPRESSED = (".gz", ".zst")
_CHUNK_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """One input file, or standard input; `name` is how messages call it."""

    name: str
    path: Path | None

    @property
    def size_bytes(self) -> int:
        """Bytes on disk; 0 for standard input."""
        return self.path.stat().st_size if self.path is not None else 0


def _is_named(path: Path, suffixes: tuple[str, ...]) -> bool:
    name = path.name.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return path.is_file() and name.endswith(suffixes)


def _traces_in(folder: Path) -> list[Path]:
    """A folder's JSON files; its tables only where it has none of them, for a table beside
    traces is more often a result than a trace."""
    entries = sorted(folder.iterdir())
    traces = [path for path in entries if _is_named(path, _SUFFIXES)]
    return traces or [path for path in entries if _is_named(path, _TABLES)]


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
            for member in _members(argument):
                found.setdefault(member.resolve(), Source(one_line(str(member)), member))
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(argument, "", f"cannot be read: {_cause(error)}") from error
    return list(found.values())


def _cause(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _members(argument: str) -> list[Path]:
    """The files that one argument names."""
    path = Path(argument)
    if argument and path.is_dir():
        members = _traces_in(path)
        if not members:
            cause = "no .jsonl or .json file in this folder, nor .csv or .parquet"
            raise InputError(argument, "", cause)
        return members
    if argument and path.exists():
        return [path]
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


@contextmanager
def _told_as_input_error(source: Source, line: list[int]) -> Iterator[None]:
    """The one place where errors of the system become ours."""
    try:
        yield
    except (EOFError, zlib.error) as error:
        raise InputError(f"{source.name}:{line[0]}", "", f"compressed data: {error}") from error
    except OSError as error:
        raise InputError(source.name, "", f"cannot be read: {_cause(error)}") from error


def _raw_lines(source: Source, progress: Progress | None) -> Iterator[bytes]:
    """Every line with its end, as the stream gives them."""
    stream = _open_bytes(source)
    total, done, told = source.size_bytes, 0, 0
    with stream if source.path is not None else _kept_open(stream):
        for line in stream:
            yield line
            if progress is None:
                continue
            done += len(line)
            if done - told >= _CHUNK_BYTES:
                progress(f"reading {source.name}", done, total)
                told = done
    if progress is not None:
        progress(f"reading {source.name}", total, total)


@contextmanager
def _kept_open(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Standard input is not ours to close."""
    yield stream


def lines(source: Source, progress: Progress | None = None) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, line with its end) for every line; no byte order mark.

    Raises InputError where the file cannot be opened, read or decompressed.
    """
    at = [1]
    with _told_as_input_error(source, at):
        for number, line in enumerate(_raw_lines(source, progress), 1):
            at[0] = number
            yield number, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        at[0] += 1


def filled(numbered: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, without their ends."""
    for number, line in numbered:
        if not line.isspace() and line:
            yield number, line.rstrip(b"\n")
