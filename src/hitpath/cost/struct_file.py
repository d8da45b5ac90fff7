"""A small JSON file as a typed struct, and what is wrong with it as one InputError."""

import re
from pathlib import Path
from typing import TypeVar

import msgspec

from hitpath.core import InputError, why_no_file

T = TypeVar("T")

MAX_FILE_BYTES = 16 << 20
"""A description of hardware or of prices is a page, not a trace; what is larger is another file."""

_AT = re.compile(r"^(?P<cause>.*?)(?: - at (?:`key` in )?`(?P<path>[^`]*)`)?$", re.DOTALL)


def read_struct(path: Path, kind: type[T]) -> T:
    """The file as `kind`. Raises InputError (place = the path) whatever its bytes are."""
    place = str(path)
    try:
        if not path.is_file():
            raise InputError(place, "", why_no_file(path))
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InputError(place, "", f"larger than {MAX_FILE_BYTES >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(place, "", f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(place, "", f"no path: {error}") from error
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _as_input_error(error, place) from error


def _as_input_error(error: Exception, place: str) -> InputError:
    if isinstance(error, RecursionError):
        return InputError(place, "", "JSON is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return InputError(place, "", "not valid UTF-8")
    match = _AT.match(str(error))
    cause = match["cause"] if match else str(error)
    path = (match["path"] or "" if match else "").removeprefix("$").removeprefix(".")
    if "missing required field" in cause:
        name = cause.split("`")[-2]
        return InputError(place, f"{path}.{name}" if path else name, "missing")
    return InputError(place, path, (cause[:1].lower() + cause[1:]).replace("jSON", "JSON"))
