"""Azure LLM inference traces (CSV): lengths and times of arrival, nothing of the prompts.

AzurePublicDataset, AzureLLMInferenceDataset2023.md and 2024.md (TIMESTAMP, ContextTokens,
GeneratedTokens) and AzureLMMInferenceDataset2025.md (NumImages beside them). TIMESTAMP is
2023-11-16 18:17:03.9799600 in 2023 and 2024-05-10 00:00:00.009930+00:00 in 2024, the fraction
left out where it is zero.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from hitpath.traces.lengths import count_of, seconds_of
from hitpath.traces.rows import NO_SYMBOLS, Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace
from hitpath.traces.tabular import rows_of_tables

NAME = "azure-llm"
_COLUMNS = frozenset({"TIMESTAMP", "ContextTokens", "GeneratedTokens"})
_IMAGES = "NumImages"


def recognises(value: object) -> bool:
    """No JSON is of this format."""
    return False


def has_columns(columns: frozenset[str]) -> bool:
    """Whether a table is of this format."""
    return columns >= _COLUMNS


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows. Raises InputError."""
    with_images = 0

    def make_row(cells: dict[str, Any], place: str) -> Row:
        nonlocal with_images
        row = Row(
            id=str(len(builder.rows) + len(builder.skipped)),
            id_may_repeat=True,
            arrival_s=seconds_of(cells, "TIMESTAMP", place, "iso"),
            prompt=NO_SYMBOLS,
            prompt_tokens=count_of(cells, "ContextTokens", place),
            output_tokens=count_of(cells, "GeneratedTokens", place),
        )
        with_images += _IMAGES in cells and count_of(cells, _IMAGES, place) > 0
        return row

    for place, cells in rows_of_tables(inputs, _COLUMNS | {_IMAGES}, builder.reject):
        builder.attempt(partial(make_row, cells, place), place)
    if with_images:
        builder.notes.append(
            f"rows with images: {with_images:,}; whether ContextTokens counts them is not told"
        )
    return builder.build(NAME, "lengths_only", None)


FORMAT = Format(NAME, "Azure LLM inference CSV", recognises, read, has_columns=has_columns)
