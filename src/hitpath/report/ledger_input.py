"""A ledger read back: the Parquet file that `analyze --ledger` writes, or the same table still in
memory, as rows whose labels add up.

Every counted row is checked: counts in range, hit + causes + unexplained = prompt.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.diff import HIT
from hitpath.core import ABSENT, CAUSES, MAX_TOKENS, NUM_RUNGS, InputError
from hitpath.report.rows import METADATA_KEY
from hitpath.summary.diff import differing
from hitpath.summary.labelled_rows import (
    MISSED,
    UNEXPLAINED,
    By,
    LabelledRows,
    rows_in,
    steps_of_two,
    turns_or_places,
)
from hitpath.traces.decode import as_input_error
from hitpath.traces.files import Source
from hitpath.traces.table import Ints, Labels

_MAGIC = b"PAR1"
_LABELS = ("tenant", "model", "worker", "session")
_RUNGS = tuple(f"r{i}" for i in range(NUM_RUNGS))
_COLUMNS = (
    *_LABELS,
    "turn",
    "prompt_tokens",
    "hit_tokens",
    "reported_hit_tokens",
    _RUNGS[-1],
    *CAUSES,
    UNEXPLAINED,
    "excluded",
)


def is_ledger(source: Source) -> bool:
    """Whether a source is a Parquet file with a ledger's columns. Nothing is read of a pipe.
    Raises InputError for a Parquet file that cannot be read."""
    if source.path is None or not source.path.is_file():
        return False
    try:
        with source.path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return False
    except OSError:
        return False  # told when it is read as a trace
    with _told_as_input_error(source.name):
        import pyarrow.parquet as pq  # 0.2 s of import, for this only

        names = set(pq.read_schema(source.path).names)
    return names.issuperset((*_COLUMNS, *_RUNGS))


class Origin(msgspec.Struct, kw_only=True):
    """How a ledger was made (report/rows.py)."""

    setting: dict[str, Any]
    block_size: int | None
    workers: int | None
    unit: str
    block_ids: bool | None
    format: str


def origin_of(sources: Sequence[Source]) -> Origin | None:
    """How all these ledgers were made; None where they do not say (older ones). Raises InputError
    where two were made in different ways."""
    import pyarrow.parquet as pq

    found: dict[str, Origin | None] = {}
    for source in sources:
        assert source.path is not None  # is_ledger saw it
        with _told_as_input_error(source.name):
            told = (pq.read_schema(source.path).metadata or {}).get(METADATA_KEY)
        try:
            found[source.name] = None if told is None else msgspec.json.decode(told, type=Origin)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise as_input_error(error, source.name) from error
    names, origins = list(found), list(found.values())
    for name, origin in found.items():
        first = origins[0]
        if (origin is None) != (first is None):
            raise InputError(name, "", f"says how it was made, or {names[0]} does: not both")
        if origin is not None and first is not None and origin.setting != first.setting:
            cause = f"was made with {differing(origin.setting, first.setting)} beside {names[0]}"
            raise InputError(name, "", cause)
    return origins[0]


def read_ledgers(sources: Sequence[Source]) -> LabelledRows:
    """All ledgers as one, in the order of `sources`. Raises InputError."""
    import pyarrow as pa

    tables = [_read(source) for source in sources]
    ends = np.cumsum([len(table) for table in tables])

    def place_of(row: int) -> str:
        number = int(np.searchsorted(ends, row, side="right"))
        return f"{sources[number].name}:{row - int(ends[number]) + len(tables[number]) + 1}"

    return labelled_rows(pa.concat_tables(tables), place_of)


def _read(source: Source) -> Any:
    """One ledger's columns, in the types that they have when written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _told_as_input_error(source.name):
        assert source.path is not None
        file = pq.ParquetFile(source.path, page_checksum_verification=True)
        names = file.schema_arrow.names
        twice = next((name for name in _COLUMNS if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(source.name, twice, "two columns have this name")
        read = file.read(columns=list(_COLUMNS))
    columns = {}
    for name in _COLUMNS:
        kind = pa.bool_() if name == "excluded" else pa.int64()
        with _told_as_input_error(f"{source.name}: {name}"):
            read[name].validate(full=True)  # codes within their dictionary, text that is UTF-8
            columns[name] = read[name].cast(pa.string() if name in _LABELS else kind)
    return pa.table(columns)


def labelled_rows(table: Any, place_of: Callable[[int], str]) -> LabelledRows:
    """The rows of a ledger (a pyarrow.Table) that are in its hit rate. place_of: how messages call
    a row, from 0. Raises InputError."""

    def integers(name: str) -> Ints:
        return _integers(table, name, place_of)

    counted = ~_excluded(table, place_of)
    lengths_only = table[_RUNGS[-1]].null_count == len(table)
    prompt, hit = integers("prompt_tokens"), integers("hit_tokens")
    told = counted & (integers("reported_hit_tokens") != ABSENT)
    rows = counted & (hit != ABSENT) if lengths_only else counted
    tokens = {HIT: hit[rows]}
    if lengths_only:
        tokens[MISSED] = prompt[rows] - hit[rows]
    for name in () if lengths_only else (*CAUSES, UNEXPLAINED):
        column = integers(name)[rows]
        if np.any(column != ABSENT) or name == UNEXPLAINED:
            tokens[name] = column
    _check_sums(tokens, prompt[rows], lambda row: place_of(int(np.flatnonzero(rows)[row])))
    labels = {name: _labels(table[name]) for name in _LABELS}
    turn = turns_or_places(integers("turn"), labels["session"])
    by: dict[By, Labels] = {
        "tenant": rows_in(labels["tenant"], rows),
        "model": rows_in(labels["model"], rows),
        "worker": rows_in(labels["worker"], rows),
        "session": rows_in(labels["session"], rows),
        "turn": steps_of_two(turn[rows]),
        "length": steps_of_two(prompt[rows]),
    }
    num_counted, num_reporting = int(counted.sum()), int(told.sum())
    return LabelledRows(prompt[rows], tokens, by, lengths_only, num_counted, num_reporting)


def _excluded(table: Any, place_of: Callable[[int], str]) -> NDArray[np.bool_]:
    column = table["excluded"]
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise InputError(place_of(row), "excluded", "null: a row counts or it does not")
    values: NDArray[np.bool_] = column.to_numpy()
    return values


def _integers(table: Any, name: str, place_of: Callable[[int], str]) -> Ints:
    """A column, ABSENT for null."""
    import pyarrow.compute as pc

    column: Ints = pc.fill_null(table[name], ABSENT).to_numpy()
    told = ~table[name].is_null().to_numpy()
    wrong = np.flatnonzero(told & ((column < 0) | (column > MAX_TOKENS)))
    if len(wrong):
        cause = f"{column[wrong[0]]:,} is not from 0 to {MAX_TOKENS:,}"
        raise InputError(place_of(int(wrong[0])), name, cause)
    return column


def _check_sums(tokens: dict[str, Ints], prompt: Ints, place_of: Callable[[int], str]) -> None:
    """Every label told, and all of a row adding up to its prompt."""
    for name, column in tokens.items():
        wrong = np.flatnonzero(column < 0)
        if len(wrong):  # a null, or what a hit above its prompt leaves to miss
            cause = "more than prompt_tokens" if name == MISSED else "null in a row that counts"
            field = "hit_tokens" if name in (HIT, MISSED) else name
            raise InputError(place_of(int(wrong[0])), field, cause)
    total: Ints = np.sum(list(tokens.values()), axis=0)
    wrong = np.flatnonzero(total != prompt)
    if len(wrong):
        row = int(wrong[0])
        cause = f"hit, causes and unexplained are {total[row]:,}, not {prompt[row]:,}"
        raise InputError(place_of(row), "prompt_tokens", cause)


def _labels(column: Any) -> Labels:
    """A column of names, as one dictionary whatever its chunks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(column.cast(pa.string()).combine_chunks())
    codes: Any = pc.fill_null(encoded.indices, ABSENT).to_numpy(zero_copy_only=False)
    return Labels(codes.astype(np.int64), tuple(encoded.dictionary.to_pylist()))


@contextmanager
def _told_as_input_error(place: str) -> Iterator[None]:
    """The one place where errors of the Parquet reader become ours."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(place, "", f"cannot be read as a ledger: {error}") from error
