"""Baseten completion traces (Parquet): block ids or the text of the prompt, and what was measured.

Columns as AIPerf 0.13.0 reads them (ai-dynamo/aiperf, src/aiperf/dataset/loader/
baseten_trace.py and docs/benchmark-modes/baseten-trace-replay.md). `total_hashes` are ids of
blocks of `block_size`; AIPerf's examples give those of the prompt, while the recorder that
Baseten gave to Dynamo (ai-dynamo/dynamo, performance metrics, `append_tokens_to_total_hash`)
hashes prompt and output as one text, each block by itself, the last one in part. Which of the
two a file does is found out from its lengths (baseten_ids.py); whether ids stand for prefixes,
the analysis finds out.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from hitpath.core import InputError
from hitpath.text.tokenizer import ByteTokenizer
from hitpath.traces.baseten_ids import IDS, SIZE, BlockIds
from hitpath.traces.conversations import build_text
from hitpath.traces.lengths import count_of, count_or_none, seconds_of, seconds_or_none
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import NO_SYMBOLS, Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace, model_context
from hitpath.traces.tabular import rows_of_tables
from hitpath.traces.values import flag, label, text

NAME = "baseten"
_TIME, _PROMPT = "timestamp_start_unix_ms", "prompt"
_REQUIRED = frozenset({_TIME, _PROMPT, "input_tokens", "output_tokens"})
_PROVIDED, _DERIVED = "provided_session_id", "poor_man_session_id"
_REPORTED, _CANCELED = "cached_tokens_reference", "request_canceled"
_ALWAYS = frozenset(
    {
        *(_TIME, "input_tokens", "output_tokens", _PROVIDED, _DERIVED, "model_name", "org_id"),
        *("duration_e2e_ms", "duration_ttft_ms", _REPORTED, _CANCELED),
    }
)


def recognises(value: object) -> bool:
    """No JSON is of this format."""
    return False


def has_columns(columns: frozenset[str]) -> bool:
    """Whether a table is of this format."""
    return columns >= _REQUIRED


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows: ids where the first row has them and no tokenizer is given, else the text.

    Raises InputError, and SettingError where nobody tells the size of the blocks.
    """
    tables = [source for source in inputs if source.table is not None]
    for source in tables:
        if source.table is None or not source.table.is_parquet:
            cause = "Baseten traces are Parquet; a table like them is read with --map"
            raise InputError(source.name, "", cause)
    rows = _BasetenRows()
    if isinstance(options.tokenizer, ByteTokenizer) and _begins_with_ids(tables):
        return _read_ids(rows, inputs, builder, options)
    return _read_text(rows, inputs, builder, options)


def _begins_with_ids(tables: Sequence[Input]) -> bool:
    first = next(rows_of_tables(tables, {IDS}, _raise), None)
    return first is not None and bool(first[1].get(IDS))


def _raise(error: InputError) -> None:
    raise error


def _read_ids(
    rows: "_BasetenRows", inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions
) -> Trace:
    blocks = BlockIds(builder, options.block_size)
    for place, cells in rows_of_tables(inputs, _ALWAYS | {IDS, SIZE}, builder.reject):
        try:
            row = rows.make(cells, place)
            row.prompt = blocks.symbols(cells, place)
        except InputError as error:
            builder.reject(error)
            continue
        blocks.add(row, place)
    blocks.decide()
    rows.finish(builder)
    if blocks.with_outputs:
        builder.notes.append(f"{IDS} are of prompt and output together, by their number")
    return builder.build(NAME, "chained", blocks.size, key_names=blocks.key_names)


def _read_text(
    rows: "_BasetenRows", inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions
) -> Trace:
    prompts = TextPrompts(options.tokenizer)

    def make_row(cells: dict[str, Any], place: str) -> Row:
        row = rows.make(cells, place)
        prompt = text(cells[_PROMPT], _PROMPT, place)
        if prompt is None:
            raise InputError(place, _PROMPT, "missing")
        row.prompt = prompts.prompt(prompt, rows.session_of(row), _PROMPT, place)
        row.reported_prompt, row.prompt_tokens = row.prompt_tokens, len(row.prompt)
        reply = text(cells.get("output_text"), "output_text", place)
        if prompts.in_bytes:
            row.output_tokens = None  # tokens, where all else is bytes
        if reply is not None:
            row.output = prompts.reply(reply, False, "output_text", place)
            row.output_tokens = len(row.output)
        return row

    for place, cells in rows_of_tables(inputs, _ALWAYS | {_PROMPT, "output_text"}, builder.reject):
        builder.attempt(partial(make_row, cells, place), place, prompts.comparable)
    rows.finish(builder)
    if any(source.table is not None and IDS in source.table.columns for source in inputs):
        builder.notes.append(f"{IDS} are not read: the text of the prompts is")
    return build_text(builder, NAME, prompts)


class _BasetenRows:
    """What a row has beside its prompt, and what all rows say together.

    The session is `provided_session_id` where the trace has any, else `poor_man_session_id`
    (AIPerf 0.13.0 prefers in this order, by the columns).
    """

    def __init__(self) -> None:
        self._count = 0
        self._canceled = 0
        self._derived: dict[str, str | None] = {}

    def make(self, cells: dict[str, Any], place: str) -> Row:
        """A row whose prompt is still to come; `prompt_tokens` is the recorded count."""
        request = str(self._count)
        self._count += 1
        arrival_s = seconds_of(cells, _TIME, place, "ms")
        lasted_s = seconds_or_none(cells, "duration_e2e_ms", place, "ms")
        model = label(cells.get("model_name"), "model_name", place)
        self._canceled += bool(flag(cells.get(_CANCELED), _CANCELED, place))
        self._derived[request] = label(cells.get(_DERIVED), _DERIVED, place)
        return Row(
            id=request,
            id_may_repeat=True,
            arrival_s=arrival_s,
            prompt=NO_SYMBOLS,
            prompt_tokens=count_of(cells, "input_tokens", place),
            output_tokens=count_of(cells, "output_tokens", place),
            finish_s=None if lasted_s is None else arrival_s + lasted_s,
            ttft_s=seconds_or_none(cells, "duration_ttft_ms", place, "ms"),
            session=label(cells.get(_PROVIDED), _PROVIDED, place),
            tenant=label(cells.get("org_id"), "org_id", place),
            model=model,
            context=model_context(model),
            reported=count_or_none(cells, _REPORTED, place),
        )

    def session_of(self, row: Row) -> str | None:
        """The row's session as far as it is known yet."""
        return row.session or self._derived[row.id]

    def finish(self, builder: TraceBuilder) -> None:
        """Sessions, and what the analysis should say."""
        if all(row.session is None for row in builder.rows):
            for row in builder.rows:
                row.session = self._derived[row.id]
        reporting = sum(row.reported is not None for row in builder.rows)
        if reporting:
            builder.notes.append(f"reported hits are {_REPORTED}, in {reporting:,} rows")
        if self._canceled:
            builder.notes.append(f"canceled requests, which are kept: {self._canceled:,}")


FORMAT = Format(NAME, "Baseten Parquet", recognises, read, has_columns=has_columns)
