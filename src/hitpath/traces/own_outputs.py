"""What hitpath itself has written and what is no trace: said by its name, with what to do with it,
instead of being read as something that it resembles.
"""

from collections.abc import Collection

_LEDGER = frozenset(("r0", "r8", "modelled_hit_tokens", "cold", "excluded"))
_PER_REQUEST = frozenset(("modelled_hit_tokens", "hit_tokens", "causes"))
_IS_LEDGER = (
    "is a ledger, as `hitpath analyze --ledger` writes it, and no trace: ask it with `hitpath "
    "query LEDGER 'SELECT …'`, compare two with `hitpath diff A B`, or analyse the trace itself"
)


def own_table(columns: Collection[str]) -> str | None:
    """Why a table with these columns is no trace; None for any other table."""
    return _IS_LEDGER if _LEDGER.issubset(columns) else None


def own_json(value: object) -> str | None:
    """The same for a JSON document, or for the first of many rows."""
    if not isinstance(value, dict):
        return None
    schema = value.get("schema")
    if isinstance(schema, str) and schema.startswith("hitpath."):
        return f"is a result of hitpath ({schema}), and no trace: analyse the trace itself"
    if value.keys() >= _PER_REQUEST:
        return (
            "is what `hitpath analyze --per-request` writes, and no trace: analyse the trace itself"
        )
    return own_table(value)
