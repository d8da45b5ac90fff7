"""CSV and Parquet as rows with places: `file:line` in CSV, `file:row` (from 1) in Parquet.

Both stream: CSV line by line (also from a pipe or compressed), Parquet batch by batch and only
the columns that are asked for, from a file only, for it is read from its end.
"""

import csv
import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from hitpath.core import InputError
from hitpath.traces.sources import Input
from hitpath.traces.values import Moment

_MAGIC = b"PAR1"
_DELIMITERS = (",", ";", "\t")
_LONGEST_FIELD = 64 << 20
"""Characters: a quote that is never closed must not swallow a whole file."""
_BATCH_ROWS = 128
_BUFFER_BYTES = 1 << 20

Reject = Callable[[InputError], None]


def rows_of_tables(
    inputs: Sequence[Input], wanted: Collection[str], reject: Reject
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, value by column) of all tables, one after the other."""
    for source in inputs:
        if source.table is not None:
            yield from source.table.rows([c for c in source.table.columns if c in wanted], reject)
        elif source.problem is not None:
            reject(source.problem)


class CsvTable:
    """A text source whose first line that is not blank names the columns."""

    is_parquet = False

    def __init__(self, source: Input, columns: Sequence[str], delimiter: str) -> None:
        self.place = source.name
        self.columns = _each_once(columns, source.name)
        self._source = source
        self._delimiter = delimiter
        self._line = 0
        self._undecoded = False

    def rows(self, wanted: Sequence[str], reject: Reject) -> Iterator[tuple[str, dict[str, Any]]]:
        """See sources.Rows. Values are text; an empty cell is absent (None)."""
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
        reader = csv.reader(self._text(), delimiter=self._delimiter, strict=True)
        next(reader)
        width = len(self.columns)
        while True:
            place, self._undecoded = f"{self.place}:{self._line + 1}", False
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                reject(InputError(place, "", f"not CSV: {error}"))
                continue
            if self._undecoded:
                reject(InputError(place, "", "not valid UTF-8"))
            elif len(cells) == width:
                yield place, dict(zip(self.columns, [c or None for c in cells], strict=True))
            elif cells and (len(cells) > 1 or not cells[0].isspace()):
                cause = f"{len(cells)} fields; the header names {width} columns"
                reject(InputError(place, "", cause))

    def _text(self) -> Iterator[str]:
        """The lines from the header on. A row that is no UTF-8 is told when it is complete."""
        begun = False
        for number, line in self._source.raw_lines():
            begun = begun or not (line.isspace() or not line)
            if not begun:
                continue
            self._line = number
            try:
                yield line.decode()
            except UnicodeDecodeError:
                self._undecoded = True
                yield line.decode(errors="replace")


def header_of(line: bytes) -> tuple[list[str], str] | None:
    """(names of columns, delimiter) of a CSV's first line; None where it cannot be one: the
    delimiter is the one of comma, semicolon and tab that gives most names."""
    try:
        text = line.decode().rstrip("\r")
    except UnicodeDecodeError:
        return None
    best: tuple[list[str], str] | None = None
    for delimiter in _DELIMITERS:
        try:
            cells = next(csv.reader([text], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        if best is None or len(cells) > len(best[0]):
            best = ([cell.strip() for cell in cells], delimiter)
    if best is None:
        return None
    return best if any(best[0]) else None


def _each_once(columns: Sequence[str], place: str) -> tuple[str, ...]:
    seen: set[str] = set()
    for name in columns:
        if name and name in seen:
            raise InputError(place, name, "two columns have this name")
        seen.add(name)
    return tuple(columns)


def is_parquet(source: Input) -> bool:
    """Whether a source is a Parquet file. Raises InputError where it is one that cannot be read
    as such: in a pipe, or compressed as a whole."""
    path = source.path
    if path is not None and path.suffix.lower() not in (".gz", ".zst"):
        try:
            if stat.S_ISREG(path.stat().st_mode):
                with path.open("rb") as file:
                    return file.read(len(_MAGIC)) == _MAGIC
        except OSError:
            return False  # told when its lines are read
    first = None if source.is_array else next(source.peek(), None)
    if first is not None and first[1].startswith(_MAGIC):
        cause = "Parquet is read from its end: give the path of the file itself, not compressed"
        raise InputError(source.name, "", cause)
    return False


class ParquetTable:
    """A Parquet file."""

    is_parquet = True

    def __init__(self, source: Input) -> None:
        assert source.path is not None
        self.place = source.name
        self._path = source.path
        self._progress = source.progress
        _check_end(self._path, self.place)
        with _told_as_input_error(self.place):
            columns = _open(str(self._path)).schema_arrow.names
        self.columns = _each_once(columns, self.place)

    def rows(self, wanted: Sequence[str], reject: Reject) -> Iterator[tuple[str, dict[str, Any]]]:
        """See sources.Rows. Values are Python's; times are `Moment`s."""
        number = 0
        columns = list(wanted) or list(self.columns[:1])  # no columns would be no rows
        with _told_as_input_error(self.place):
            file = _open(str(self._path))
            total = file.metadata.num_rows
            batches = file.iter_batches(batch_size=_BATCH_ROWS, columns=columns, use_threads=False)
        while True:
            with _told_as_input_error(self.place):
                batch = next(batches, None)
                if batch is None:
                    break
                names = batch.schema.names
                rows = list(zip(*map(_values, batch.columns), strict=True))
            for row in rows:
                number += 1
                yield f"{self.place}:{number}", dict(zip(names, row, strict=True))
            if self._progress is not None:
                self._progress(f"reading {self.place}", number, total)


def _check_end(path: Path, place: str) -> None:
    """Raise InputError for a file that lacks its end, where all that describes it stands."""
    with _told_as_input_error(place), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(_MAGIC)))
        if size >= 2 * len(_MAGIC) and file.read() == _MAGIC:
            return
    cause = f"is cut off: Parquet ends with {_MAGIC.decode()}, this file of {size:,} bytes does not"
    raise InputError(place, "", cause)


def _open(path: str) -> Any:
    import pyarrow.parquet as pq  # 0.2 s of import, for this only

    # Without pre_buffer=False a row group's columns stand in memory as a whole.
    return pq.ParquetFile(
        path, buffer_size=_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
    )


@contextmanager
def _told_as_input_error(place: str) -> Iterator[None]:
    """The one place where errors of the Parquet reader become ours."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(place, "", f"cannot be read as Parquet: {error}") from error


def _values(column: Any) -> list[Any]:
    """A column's values in Python's types; times as seconds, nanoseconds included."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_decimal(kind):
        return [_without_nulls(value) for value in column.to_pylist()]
    if not (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)):
        values: list[Any] = column.to_pylist()
        return values
    per_s = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    counts = column.cast(pa.int64()).to_pylist()
    return [None if count is None else Moment(count / per_s) for count in counts]


def _without_nulls(value: Any) -> Any:
    """Without the nulls of objects: a column of structs fills each field that any row has. A
    decimal number, in which databases keep counts and times, is a whole one or a float."""
    if type(value) is Decimal:
        return int(value) if value == value.to_integral_value() else float(value)
    if type(value) is list:
        if value and type(value[0]) in (int, str):
            return value
        return [_without_nulls(inner) for inner in value]
    if type(value) is dict:
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value
