"""Cells of tables that are counts of tokens, or times."""

from typing import Any, TypeVar

from hitpath.core import InputError
from hitpath.traces.rows import check_seconds, check_tokens
from hitpath.traces.values import seconds_in, whole

T = TypeVar("T")


def count_or_none(cells: dict[str, Any], column: str, place: str) -> int | None:
    """A number of tokens, None for none. Raises InputError for what is no count."""
    found = whole(cells.get(column), column, place)
    return None if found is None else check_tokens(found, column, place)


def count_of(cells: dict[str, Any], column: str, place: str) -> int:
    """A number of tokens. Raises InputError for none."""
    return _there(count_or_none(cells, column, place), column, place)


def seconds_or_none(
    cells: dict[str, Any], column: str, place: str, unit: str = "s"
) -> float | None:
    """A time in one of values.UNITS as seconds, None for none. Raises InputError for no time."""
    found = seconds_in(unit)(cells.get(column), column, place)
    return None if found is None else check_seconds(found, column, place)


def seconds_of(cells: dict[str, Any], column: str, place: str, unit: str = "s") -> float:
    """A time as seconds. Raises InputError for none."""
    return _there(seconds_or_none(cells, column, place, unit), column, place)


def _there(found: T | None, column: str, place: str) -> T:
    if found is None:
        raise InputError(place, column, "missing")
    return found
