"""Rows of hitpath's own format as a Parquet file: a column a field, null where absent."""

from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

import msgspec

from hitpath.report.convert.own_rows import OWN_FIELDS, JsonRow

_ROWS_PER_GROUP = 10_000
_JSON_FIELDS = ("segments", "reply_segments", "context", "reported")
"""Fields without one flat type: written as the JSON text that they have in a line."""


def write_parquet(rows: Iterator[JsonRow], file: IO[bytes], hashed: bool) -> None:
    """Stream the rows into row groups of _ROWS_PER_GROUP. `hashed`: block ids are keyed hashes."""
    import pyarrow.parquet as pq  # 0.1 s of import, for this output only

    first = list(islice(rows, _ROWS_PER_GROUP))
    schema = _schema(hashed)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        group = first
        while group:
            writer.write_table(_table(group, schema))
            group = list(islice(rows, _ROWS_PER_GROUP))


def _table(group: list[JsonRow], schema: Any) -> Any:
    import pyarrow as pa

    flat = [
        {
            name: msgspec.json.encode(value).decode() if name in _JSON_FIELDS else value
            for name, value in row.items()
        }
        for row in group
    ]
    return pa.Table.from_pylist(flat, schema)


def _schema(hashed: bool) -> Any:
    """A column for every field; block ids are numbers, or strings where they are keyed hashes."""
    import pyarrow as pa

    text, whole, number, tokens = pa.string(), pa.int64(), pa.float64(), pa.list_(pa.uint32())
    keys = pa.list_(text if hashed else pa.uint64())
    types: dict[str, Any] = {
        **dict.fromkeys(("tokens", "output_ids"), tokens),
        **dict.fromkeys(("block_keys", "output_block_keys"), keys),
        **dict.fromkeys(("arrival_s", "finish_s"), number),
        **dict.fromkeys(("block_size", "prompt_tokens", "output_tokens", "turn"), whole),
        "model_is_label": pa.bool_(),
    }
    return pa.schema([(name, types.get(name, text)) for name in OWN_FIELDS])
