"""Mooncake JSONL (FAST'25 release): `timestamp` in ms, lengths, and chained block ids.

The last id may stand for a partial block. The file names no block size: 512 where the rows fit
it, else what they do fit (or what `--block-size` or a `block_size` field in the rows says).
"""

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
import numpy as np

from hitpath.core import InputError, SettingError
from hitpath.traces.blocks import (
    MOONCAKE_BLOCK_SIZE,
    check_block_size,
    check_num_ids,
    infer_block_size,
    possible_block_sizes,
)
from hitpath.traces.decode import RowDecoder
from hitpath.traces.integers import IdParser
from hitpath.traces.rows import Row, TraceBuilder, check_seconds, check_tokens
from hitpath.traces.sources import Format, Input, ReadOptions, lines_of
from hitpath.traces.table import Ints, Trace

NAME = "mooncake"
_BATCH_BYTES = 1 << 16  # of rows whose ids are parsed in one go


class MooncakeRow(msgspec.Struct, kw_only=True):
    """The fields that hitpath reads."""

    timestamp: int | float
    input_length: int
    hash_ids: msgspec.Raw
    output_length: int | None = None
    session_id: str | int | None = None
    block_size: int | None = None


class _Strict(MooncakeRow, forbid_unknown_fields=True, kw_only=True):
    pass


def recognises(value: object) -> bool:
    """Whether a first row is of this format."""
    return isinstance(value, dict) and "hash_ids" in value and "input_length" in value


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows. Raises InputError or SettingError."""
    decoder = RowDecoder(MooncakeRow, _Strict, builder.ignored_fields)
    ids = IdParser(sum(i.size_bytes for i in inputs), passing=builder.thins)
    builder.prompts_in_sequence = True
    told: dict[int, str] = {}

    def make_row(data: MooncakeRow | InputError, place: str) -> Row:
        if isinstance(data, InputError):
            raise data
        prompt = next(lists)
        if prompt is None:
            prompt = ids.parse_slowly(data.hash_ids, "hash_ids", place)
        if data.block_size is not None:
            told.setdefault(data.block_size, place)
        session, output = data.session_id, data.output_length
        if output is not None:
            check_tokens(output, "output_length", place)
        return Row(
            id=str(len(builder.rows) + len(builder.skipped)),
            id_may_repeat=True,
            arrival_s=check_seconds(data.timestamp, "timestamp", place) / 1000,
            prompt=prompt,
            prompt_tokens=check_tokens(data.input_length, "input_length", place),
            output_tokens=output,
            session=None if session is None else str(session),
        )

    for batch in _batches(lines_of(inputs)):
        rows = [_decoded(decoder, line, place) for place, line in batch]
        lists = iter(ids.parse_all([row.hash_ids for row in rows if isinstance(row, MooncakeRow)]))
        for (place, _), row in zip(batch, rows, strict=True):
            builder.attempt(partial(make_row, row, place), place)
    num_ids = np.array([row.num_ids for row in builder.rows], dtype=np.int64)
    tokens = np.array([row.prompt_tokens for row in builder.rows], dtype=np.int64)
    size = _block_size(num_ids, tokens, told, options.block_size)
    _check_rows(builder, num_ids, tokens, size)
    return builder.build(NAME, "chained", size)


def _batches(lines: Iterator[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    num_bytes = 0
    for place, line in lines:
        batch.append((place, line))
        num_bytes += len(line)
        if num_bytes >= _BATCH_BYTES:
            yield batch
            batch, num_bytes = [], 0
    if batch:
        yield batch


def _decoded(decoder: RowDecoder[MooncakeRow], line: bytes, place: str) -> MooncakeRow | InputError:
    try:
        return decoder.decode(line, place)
    except InputError as error:
        return error


def _block_size(num_ids: Ints, tokens: Ints, told: dict[int, str], asked: int | None) -> int:
    """The rows' own word, else `--block-size` where they fit it, else what they do fit."""
    if len(told) > 1:
        (first, _), (other, place) = list(told.items())[:2]
        raise InputError(place, "block_size", f"{other}, but {first} before")
    if told:
        ((size, place),) = told.items()
        return check_block_size(size, "block_size", place)
    low, high = possible_block_sizes(num_ids, tokens)
    if asked is not None and low <= asked <= high:
        return asked
    proven = infer_block_size(num_ids, tokens)
    if proven is not None:
        return proven
    if low > high:
        return (
            asked or MOONCAKE_BLOCK_SIZE
        )  # some row contradicts the others: the row check names it
    if asked is not None:
        cause = f"the rows do not fit it; they fit every size from {low} to {high}"
        raise SettingError(f"--block-size {asked}", cause)
    cause = f"the file tells none, and its rows fit every size from {low} to {high}; give one"
    raise SettingError("--block-size", cause)


def _check_rows(builder: TraceBuilder, num_ids: Ints, tokens: Ints, size: int) -> None:
    """Each row's ids against its length; bad rows leave the builder if they may be skipped."""
    bad = np.flatnonzero((num_ids < tokens // size) | (num_ids > -(-tokens // size))).tolist()
    for i in bad:
        row = builder.rows[i]
        place = builder.place_of(row)
        try:
            check_num_ids(row.num_ids, row.prompt_tokens, size, "hash_ids", place)
        except InputError as error:
            builder.reject(error)
    for i in reversed(bad):
        del builder.rows[i]


FORMAT = Format(NAME, "Mooncake JSONL", recognises, read)
