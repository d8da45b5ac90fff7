"""BurstGPT (CSV): lengths, times in SECONDS and the model asked, nothing of the prompts.

HPMLL/BurstGPT, README.md: Timestamp, Model, Request tokens, Response tokens, Total tokens, Log
Type; BurstGPT_3 (release v2.0) has Session ID and Elapsed time between. "some failure that
Response tokens are 0s": such requests stay, and a note counts them.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from hitpath.traces.lengths import count_of, seconds_of, seconds_or_none
from hitpath.traces.rows import NO_SYMBOLS, Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace, model_context
from hitpath.traces.tabular import rows_of_tables
from hitpath.traces.values import label

NAME = "burstgpt"
_REQUIRED = frozenset({"Timestamp", "Request tokens", "Response tokens"})
_MODEL, _TOTAL, _SESSION, _ELAPSED = "Model", "Total tokens", "Session ID", "Elapsed time"


def recognises(value: object) -> bool:
    """No JSON is of this format."""
    return False


def has_columns(columns: frozenset[str]) -> bool:
    """Whether a table is of this format."""
    return columns >= _REQUIRED


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows. Raises InputError."""
    failed = wrong_totals = 0

    def make_row(cells: dict[str, Any], place: str) -> Row:
        nonlocal failed, wrong_totals
        arrival_s = seconds_of(cells, "Timestamp", place)
        elapsed_s = seconds_or_none(cells, _ELAPSED, place)
        model = label(cells.get(_MODEL), _MODEL, place)
        row = Row(
            id=str(len(builder.rows) + len(builder.skipped)),
            id_may_repeat=True,
            arrival_s=arrival_s,
            prompt=NO_SYMBOLS,
            prompt_tokens=count_of(cells, "Request tokens", place),
            output_tokens=count_of(cells, "Response tokens", place),
            finish_s=None if elapsed_s is None else arrival_s + elapsed_s,
            session=label(cells.get(_SESSION), _SESSION, place),
            model=model,
            context=model_context(model),
        )
        assert row.output_tokens is not None
        failed += row.output_tokens == 0
        total = None if _TOTAL not in cells else count_of(cells, _TOTAL, place)
        wrong_totals += total not in (None, row.prompt_tokens + row.output_tokens)
        return row

    columns = {*_REQUIRED, _MODEL, _TOTAL, _SESSION, _ELAPSED}
    for place, cells in rows_of_tables(inputs, columns, builder.reject):
        builder.attempt(partial(make_row, cells, place), place)
    if failed:
        builder.notes.append(
            f"0 response tokens, which is how BurstGPT writes a failed request: {failed:,} rows"
        )
    if wrong_totals:
        builder.notes.append(
            f"Total tokens is not request + response tokens in {wrong_totals:,} rows; not used"
        )
    return builder.build(NAME, "lengths_only", None)


FORMAT = Format(NAME, "BurstGPT CSV", recognises, read, has_columns=has_columns)
