"""Any CSV, Parquet or JSON rows under a `--map`, and tables that bear our own names: each row
becomes a row of hitpath JSONL and goes through its reader, with all of its checks.

Without `id` the number of the row is the id; without `arrival_s` the order of the rows stands
for the order of arrival.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import rows_of
from hitpath.traces.decode import as_input_error, decode_any
from hitpath.traces.hitpath_jsonl import HitpathRows, StrictRow
from hitpath.traces.mapping import Mapping, Pair, is_trace
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace

NAME = "mapped"
_MOST_NAMES = 12


def recognises(value: object) -> bool:
    """JSON rows are of this format only where a mapping says so."""
    return False


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows. Raises InputError."""
    rows = _MappedRows(builder, options)
    for source in inputs:
        for place, values, pairs in rows.values_of(source):
            make = partial(rows.make, values, pairs, place)
            builder.attempt(make, place, lambda: rows.ours.units_agree)
    rows.check_paths(inputs)
    rows.add_notes()
    return rows.ours.build(NAME)


class _MappedRows:
    """Makes rows; remembers which columns and paths were found."""

    def __init__(self, builder: TraceBuilder, options: ReadOptions) -> None:
        self.ours = HitpathRows(builder, TextPrompts(options.tokenizer))
        self._builder = builder
        self._mapping = options.mapping or Mapping()
        self._found: set[str] = set()
        self._json_rows = 0
        self._ignored_columns: Counter[str] = Counter()

    def values_of(
        self, source: Input
    ) -> Iterator[tuple[str, dict[str, Any] | bytes, tuple[Pair, ...]]]:
        """(place, row, pairs that hold for it); a row of JSON is still text."""
        if source.table is not None:
            pairs = self._pairs_of_table(source.table.place, source.table.columns)
            wanted = [pair.theirs for pair in pairs if pair.theirs is not None]
            for place, values in source.table.rows(wanted, self._builder.reject):
                yield place, values, pairs
        elif source.problem is not None:
            self._builder.reject(source.problem)
        else:
            for place, text in rows_of(source):
                yield place, text, ()

    def _pairs_of_table(self, place: str, columns: tuple[str, ...]) -> tuple[Pair, ...]:
        pairs = self._mapping.with_own(columns)
        known = frozenset(columns)
        for pair in pairs:
            if pair.theirs is not None and pair.theirs not in known:
                shown = ", ".join(columns[:_MOST_NAMES])
                raise InputError(place, pair.ours, f"no column {pair.theirs!r}; columns: {shown}")
        read = {pair.theirs for pair in pairs}
        self._ignored_columns.update(name for name in columns if name and name not in read)
        return pairs

    def make(self, values: dict[str, Any] | bytes, pairs: tuple[Pair, ...], place: str) -> Row:
        """One row, or InputError."""
        if isinstance(values, bytes):
            values, pairs = self._json_row(values, place)
        row: dict[str, Any] = {"arrival_s": None}
        for pair in pairs:
            pair.put(pair.value if pair.theirs is None else values[pair.theirs], row, place)
        if "id" not in row:
            row["id"] = str(len(self._builder.rows) + len(self._builder.skipped))
            row["id_may_repeat"] = True
        try:
            data = msgspec.convert(row, StrictRow)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise as_input_error(error, place) from error
        return self.ours.make(data, place)

    def _json_row(self, text: bytes, place: str) -> tuple[dict[str, Any], tuple[Pair, ...]]:
        """The row's fields, those mapped under their path, and the pairs that it has."""
        decoded = decode_any(text, place)
        if not isinstance(decoded, dict):
            raise InputError(place, "", "is no JSON object")
        self._json_rows += 1
        values: dict[str, Any] = dict(decoded)
        used = {pair.theirs.partition(".")[0] for pair in self._mapping.pairs if pair.theirs}
        pairs = []
        for pair in self._mapping.with_own(decoded):
            if pair.theirs is not None:
                used.add(pair.theirs)
                if not _put_at(decoded, pair.theirs, values):
                    continue
                self._found.add(pair.theirs)
            pairs.append(pair)
        self._builder.ignored_fields.update(sorted(decoded.keys() - used))
        return values, tuple(pairs)

    def check_paths(self, inputs: Sequence[Input]) -> None:
        """A path that no row of JSON has is a mistake, not an absent value."""
        if not self._json_rows:
            return
        for pair in self._mapping.pairs:
            if pair.theirs is not None and pair.theirs not in self._found:
                raise InputError(inputs[0].name, pair.ours, f"no row has {pair.theirs!r}")

    def add_notes(self) -> None:
        """What the analysis should say of these rows."""
        if self._ignored_columns:
            names = sorted(self._ignored_columns)
            more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
            self._builder.notes.append(f"columns not read: {', '.join(names[:_MOST_NAMES])}{more}")


def _put_at(row: dict[str, Any], path: str, values: dict[str, Any]) -> bool:
    """Put the value under a field's name, or under a path of names with dots between them, into
    `values`; whether it is there."""
    found: Any = row
    for name in (path,) if path in row else path.split("."):
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    values[path] = found
    return True


FORMAT = Format(NAME, "mapped CSV, Parquet or JSON rows", recognises, read, has_columns=is_trace)
