"""Trace files -> one `Trace`. One module a format; the format is found out by content.

To add a format: a module with a `FORMAT` (see sources.Format), its line in `detect.FORMATS`, a
section in docs/trace-format.md, and cases in tests/unit/test_traces.py and the fuzz test.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from hitpath.core import InputError, Progress
from hitpath.text.tokenizer import ByteTokenizer, TextTokenizer
from hitpath.traces.decode import as_input_error
from hitpath.traces.detect import find_format, without_strangers
from hitpath.traces.files import expand
from hitpath.traces.hitpath_jsonl import NAME, HitpathRows, StrictRow
from hitpath.traces.mapping import parse_mapping
from hitpath.traces.problems import Problem, Skipped
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.python_values import plain_row
from hitpath.traces.rows import DEFAULT_BLOCK_SIZE, Row, TraceBuilder
from hitpath.traces.sampling import Sampler
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Context, Labels, Runs, Trace

__all__ = [
    "Context",
    "Labels",
    "Problem",
    "Runs",
    "Skipped",
    "Trace",
    "TraceBuilder",
    "open_inputs",
    "read_rows",
    "read_trace",
]


def read_trace(
    arguments: list[str],
    *,
    block_size: int | None = None,
    skip_bad_rows: bool = False,
    sampler: Sampler | None = None,
    tokenizer: TextTokenizer | None = None,
    mapping: Sequence[str] = (),
    progress: Progress | None = None,
    inputs: Sequence[Input] | None = None,
    keep_places: bool = False,
) -> Trace:
    """Read files, folders, globs or `-` into one trace. `block_size`: the user's, if any.
    `sampler`: keep only some blocks of each prompt (`Trace.thinned`). `tokenizer`: for text;
    None lets bytes stand for tokens. `mapping`: `--map` as typed, "ours=theirs" each (mapping.py).

    `inputs`: the same sources, where their beginnings have been looked at already. `keep_places`:
    whether the trace tells where each row stands (`Trace.places`).

    Raises InputError (place, field, cause) for what cannot be read, SettingError for a mapping
    that is none; with `skip_bad_rows` bad rows are listed in `Trace.skipped` instead.
    """
    told = parse_mapping(mapping)
    builder = TraceBuilder(skip_bad_rows, sampler, block_size or DEFAULT_BLOCK_SIZE)
    builder.keeps_places = keep_places
    inputs = open_inputs(arguments, progress) if inputs is None else inputs
    builder.notes += [source.note for source in inputs if source.note]
    found: list[tuple[Input, Format | None]] = []
    for source in inputs:
        found.append((source, find_format(source, skip_bad_rows, told)))
        if len(inputs) > 1:
            source.release()
    readable = [(source, known) for source, known in found if known is not None]
    if not readable:
        unreadable = next((source.problem for source in inputs if source.problem), None)
        cause = f"not one readable row; first {unreadable}" if unreadable else "the input is empty"
        raise InputError(", ".join(arguments), "", f"no requests: {cause}")
    known = _one_format(readable)
    # A source without one readable row goes along: its rows are listed one by one.
    to_read = [source for source, its in found if its is not None or source.problem is not None]
    options = ReadOptions(block_size, tokenizer or ByteTokenizer(), told)
    trace = known.read(to_read, builder, options)
    if not len(trace):
        cause = f"no request left: {trace.skipped.num:,} bad rows"
        raise InputError(readable[0][0].name, "", cause)
    return trace


def read_rows(
    rows: Iterable[Mapping[str, Any]],
    *,
    tokenizer: TextTokenizer | None = None,
    skip_bad_rows: bool = False,
    keep: Callable[[str, bytes], None] | None = None,
) -> Trace:
    """Rows of hitpath's own format, already in memory, as one trace; lists may be numpy arrays.

    keep: is given each row as a file would hold it, with its place (`rows[i]`); the trace then
    tells `places`. Raises InputError (rows[i], field, cause).
    """
    builder = TraceBuilder(skip_bad_rows)
    builder.keeps_places = keep is not None
    own = HitpathRows(builder, TextPrompts(tokenizer or ByteTokenizer()))
    for number, row in enumerate(rows):
        place = f"rows[{number}]"
        builder.attempt(partial(_own_row, own, row, place, keep), place, lambda: own.units_agree)
    # Who asks for the rows again must know how to take them apart.
    trace = own.build("rows" if keep is None else NAME)
    if not len(trace):
        raise InputError("rows", "", f"no request left: {trace.skipped.num:,} bad rows")
    return trace


def _own_row(
    own: HitpathRows,
    row: Mapping[str, Any],
    place: str,
    keep: Callable[[str, bytes], None] | None,
) -> Row:
    try:
        plain = plain_row(row, place)
        data = msgspec.convert(plain, StrictRow)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise as_input_error(error, place) from error
    if keep is not None:
        keep(place, msgspec.json.encode(plain))
    return own.make(data, place)


def open_inputs(arguments: list[str], progress: Progress | None = None) -> list[Input]:
    """The sources that files, folders, globs or `-` name. Raises InputError."""
    return without_strangers([Input(source, progress) for source in expand(arguments)])


def _one_format(readable: list[tuple[Input, Format]]) -> Format:
    first, known = readable[0]
    for source, other in readable[1:]:
        if other is not known:
            cause = f"format is {other.name}, but {first.name} is {known.name}"
            raise InputError(source.name, "", cause)
    return known
