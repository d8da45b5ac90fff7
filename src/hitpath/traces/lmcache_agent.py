"""LMCache agent traces: prompts as flat text, `timestamp` in MICROSECONDS, rows in any order."""

from collections.abc import Sequence
from functools import partial

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import build_text
from hitpath.traces.decode import RowDecoder
from hitpath.traces.in_sequence import sequence_for
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import Row, TraceBuilder, check_seconds
from hitpath.traces.sources import Format, Input, ReadOptions, lines_of
from hitpath.traces.table import Trace

NAME = "lmcache-agent"
_FIELDS = {"timestamp", "input", "output", "session_id"}


class LmcacheRow(msgspec.Struct, kw_only=True):
    """The fields that hitpath reads."""

    timestamp: int | float
    input: str
    output: str | None = None
    session_id: str | int | None = None


class _Strict(LmcacheRow, forbid_unknown_fields=True, kw_only=True):
    pass


def recognises(value: object) -> bool:
    """Whether a first row is of this format."""
    return isinstance(value, dict) and value.keys() >= _FIELDS and "model" not in value


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows. Raises InputError."""
    prompts = TextPrompts(options.tokenizer, sequence_for(builder, inputs))
    decoder = RowDecoder(LmcacheRow, _Strict, builder.ignored_fields)

    def make_row(line: bytes, place: str) -> Row:
        data = decoder.decode(line, place)
        session = None if data.session_id is None else str(data.session_id)
        prompt = prompts.prompt(data.input, session, "input", place)
        output = None
        if data.output is not None:
            output = prompts.reply(data.output, False, "output", place)
        return Row(
            id=str(len(builder.rows) + len(builder.skipped)),
            id_may_repeat=True,
            arrival_s=_seconds(data.timestamp, place),
            prompt=prompt,
            prompt_tokens=len(prompt),
            output=output,
            output_tokens=None if output is None else len(output),
            session=session,
        )

    for place, line in lines_of(inputs):
        builder.attempt(partial(make_row, line, place), place)
    return build_text(builder, NAME, prompts)


def _seconds(microseconds: int | float, place: str) -> float:
    if not 0 <= microseconds <= 1e18:
        raise InputError(place, "timestamp", f"{microseconds} is not a time in microseconds")
    return check_seconds(microseconds / 1e6, "timestamp", place)


FORMAT = Format(NAME, "LMCache agent JSONL", recognises, read)
