"""Rows of hitpath's own format as a Parquet file: a column a field, null where absent."""

from collections.abc import Iterator
from typing import IO, Any

import msgspec

from hitpath.report.convert.own_rows import OWN_FIELDS, JsonRow

_ROWS_PER_GROUP = 10_000
_VALUES_PER_GROUP = 1 << 20
"""Token ids, keys and characters: a group stands in memory as a whole, some 100 bytes each."""
_JSON_FIELDS = ("segments", "reply_segments", "context", "reported")
"""Fields without one flat type: written as the JSON text that they have in a line."""


def write_parquet(rows: Iterator[JsonRow], file: IO[bytes], string_keys: bool) -> None:
    """Stream the rows into row groups. `string_keys`: block ids are names, or keyed hashes."""
    import pyarrow.parquet as pq  # 0.1 s of import, for this output only

    schema = _schema(string_keys)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _groups(rows):
            writer.write_table(_table(group, schema))


def _groups(rows: Iterator[JsonRow]) -> Iterator[list[JsonRow]]:
    """At most _ROWS_PER_GROUP rows, and no row behind _VALUES_PER_GROUP values; at least one
    group, so that a file of no rows has its columns."""
    group: list[JsonRow] = []
    num_values = num_groups = 0
    for row in rows:
        flat = _flat(row)
        group.append(flat)
        num_values += sum(len(value) for value in flat.values() if isinstance(value, list | str))
        if len(group) == _ROWS_PER_GROUP or num_values >= _VALUES_PER_GROUP:
            yield group
            group, num_values, num_groups = [], 0, num_groups + 1
    if group or not num_groups:
        yield group


def _flat(row: JsonRow) -> JsonRow:
    return {
        name: msgspec.json.encode(value).decode() if name in _JSON_FIELDS else value
        for name, value in row.items()
    }


def _table(group: list[JsonRow], schema: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist(group, schema)


def _schema(string_keys: bool) -> Any:
    """A column for every field."""
    import pyarrow as pa

    text, whole, number, tokens = pa.string(), pa.int64(), pa.float64(), pa.list_(pa.uint32())
    keys = pa.list_(text if string_keys else pa.uint64())
    types: dict[str, Any] = {
        **dict.fromkeys(("tokens", "output_ids"), tokens),
        **dict.fromkeys(("block_keys", "output_block_keys"), keys),
        **dict.fromkeys(("arrival_s", "finish_s"), number),
        **dict.fromkeys(("block_size", "prompt_tokens", "output_tokens", "turn"), whole),
        **dict.fromkeys(("model_is_label", "id_may_repeat"), pa.bool_()),
    }
    return pa.schema([(name, types.get(name, text)) for name in OWN_FIELDS])
