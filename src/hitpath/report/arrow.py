"""Rows as an Arrow table whose types do not hang on what the rows happen to hold."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow import Table


def table_of(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> "Table":
    """[len(rows)] Columns by name -> int64, float64, string or bool; of a row only these."""
    import pyarrow as pa

    known: dict[str, Any] = {
        "int64": pa.int64(),
        "float64": pa.float64(),
        "string": pa.string(),
        "bool": pa.bool_(),
    }
    schema = pa.schema([(name, known[alias]) for name, alias in types.items()])
    shown = [{name: row[name] for name in types} for row in rows]
    table: Table = pa.Table.from_pylist(shown, schema)
    return table
