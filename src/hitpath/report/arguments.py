"""Arguments of the Python functions. Anything may come in there: it is checked before it is used,
so that what does not fit is a SettingError or an InputError, and no traceback from further down.
"""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from hitpath.core import InputError, SettingError

Place = str | PathLike[str]
Row = Mapping[str, Any]


def place_of(option: str, value: object) -> str:
    """The name of a file or folder. Raises SettingError for anything else."""
    found = fspath(value) if isinstance(value, PathLike) else value
    if isinstance(found, str):
        return found
    raise SettingError(option, f"a value of type {type(value).__name__} is no name of a file")


def places_or_rows(traces: Place | Iterable[Place] | Iterable[Row]) -> tuple[list[str], list[Row]]:
    """(names of files, none) or (none, rows). Raises InputError for neither, or for both."""
    if isinstance(traces, str | PathLike):
        return [place_of("traces", traces)], []
    if isinstance(traces, Mapping):
        raise InputError("traces", "", "one row alone: give a list of rows")
    if hasattr(traces, "read"):
        raise InputError("traces", "", "an open file: give its name")
    if hasattr(traces, "columns"):
        cause = "a table: give its rows, as df.to_dict('records') or table.to_pylist() makes them"
        raise InputError("traces", "", cause)
    items = list(traces) if isinstance(traces, Iterable) else []
    places = [place_of("traces", item) for item in items if isinstance(item, str | PathLike)]
    rows = [item for item in items if isinstance(item, Mapping)]
    if not items or len(items) not in (len(places), len(rows)):
        raise InputError("traces", "", "neither files nor rows: give one or more of one kind")
    return places, rows


def mapping_of(value: object) -> list[str]:
    """What stands behind each `--map`. Raises SettingError for anything else."""
    return texts_of("mapping", value, "ours=theirs")


def texts_of(option: str, value: object, example: str) -> list[str]:
    """A list of texts; one text alone would be taken apart. Raises SettingError."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if all(isinstance(item, str) for item in value):
            return list(value)
        value = next(item for item in value if not isinstance(item, str))
    kind = type(value).__name__
    raise SettingError(option, f"a value of type {kind} is not a list of texts like {example!r}")
