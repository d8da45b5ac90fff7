"""Questions to ledgers in SQL: DuckDB over Parquet files, as one table `ledger`.

The table has the columns that docs/json-output.md lists for `--ledger`, and `file`, the ledger
that a row is from. Nothing is written; the query may read no other file.
"""

import glob
from collections import Counter
from pathlib import Path
from typing import Any

from hitpath.core import InputError, SettingError
from hitpath.report.output import check_places, is_stdout
from hitpath.report.pages import print_page, write_json
from hitpath.report.text_parts import Page, count, label, table

_MOST_ROWS_SHOWN = 200


def run_query(ledgers: str, sql: str, json_file: str | None) -> None:
    """Print (or write as JSON) what `sql` says of the ledgers. Raises HitpathError."""
    if json_file is not None:
        check_places([json_file], map(Path, _files(ledgers)))
    columns, rows = ask(ledgers, sql)
    if json_file is not None:
        write_json(json_file, _objects(columns, rows))
    if json_file is None or not is_stdout(json_file):
        print_page(lambda page: _print_rows(page, columns, rows))


def ask(ledgers: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(names of the columns, rows). `ledgers`: a Parquet file, a folder of them, or a glob."""
    try:
        import duckdb
    except ImportError as error:
        cause = "needs DuckDB, which comes with the extra query (README)"
        raise SettingError("query", cause) from error
    connection = duckdb.connect(":memory:")
    try:
        files = _files(ledgers)
        connection.execute(
            "CREATE TABLE ledger AS SELECT * EXCLUDE (filename), filename AS file "
            "FROM read_parquet($1, union_by_name = true, filename = true)",
            [list(map(glob.escape, files))],
        )
        connection.execute("SET enable_external_access = false")
    except (duckdb.Error, UnicodeEncodeError) as error:
        cause = f"not a ledger (analyze --ledger makes one): {_first_line(error)}"
        raise InputError(ledgers, "", cause) from error
    try:
        cursor = connection.execute(sql)
        if cursor is None:
            raise SettingError("SQL", "no statement: SELECT … FROM ledger")
        columns = [name for name, *_ in cursor.description or []]
        return columns, cursor.fetchall()
    except (duckdb.Error, ValueError, OverflowError) as error:
        # Beside DuckDB's own: text that is not UTF-8, a date that Python does not have.
        raise SettingError("SQL", _first_line(error)) from error


def _files(ledgers: str) -> list[str]:
    try:
        path = Path(ledgers)
        if ledgers and path.is_dir():
            found = sorted(str(p) for p in path.glob("*.parquet"))
        elif path.is_file():
            found = [ledgers]
        else:
            found = sorted(p for p in glob.glob(ledgers, recursive=True) if Path(p).is_file())
    except (OSError, ValueError) as error:
        cause = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise InputError(ledgers, "", cause) from error
    if not found:
        raise InputError(ledgers, "", "no Parquet ledger here (make one with --ledger)")
    return found


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _objects(columns: list[str], rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Rows by the names of their columns, which JSON can hold once each."""
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise SettingError("SQL", f"two columns are named {twice[0]!r}: name one with AS")
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _print_rows(page: Page, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    numbers = [
        bool(rows) and all(isinstance(v, int | float | None) for v in c) for c in _turn(rows)
    ]
    marks = [name if number else f"{name}<" for name, number in zip(columns, numbers, strict=False)]
    shown = table(*(marks or [f"{name}<" for name in columns]))
    for row in rows[:_MOST_ROWS_SHOWN]:
        shown.add_row(*map(_cell, row))
    page.print(shown)
    if len(rows) > _MOST_ROWS_SHOWN:
        page.print(f"… {len(rows) - _MOST_ROWS_SHOWN:,} more rows (--json writes all)")


def _turn(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True))


def _cell(value: Any) -> Any:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return label(str(value))
