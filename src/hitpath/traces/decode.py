"""JSON to typed structs with errors that name the field, shared by the readers.

msgspec does the work; here its messages become (field, cause), and fields that a format does
not know are counted instead of being dropped in silence.
"""

import re
from collections import Counter
from typing import Any, Generic, TypeVar

import msgspec

from hitpath.core import InputError

T = TypeVar("T", bound=msgspec.Struct)
_AT = re.compile(r"^(?P<cause>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)


def as_input_error(error: Exception, place: str) -> InputError:
    """msgspec's complaint as ours: the path without its `$.`, the cause in lower case."""
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


def decode_any(data: bytes, place: str) -> Any:
    """Any JSON value, or InputError."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise as_input_error(error, place) from error


_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode_outline(data: bytes, place: str) -> Any:
    """Any JSON value; an object whose values cannot all be decoded (a number out of range) with
    those as Raw, so that its format can be told by its fields. Raises InputError."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        try:
            return _decode_object.decode(data)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            raise as_input_error(error, place) from error


class RowDecoder(Generic[T]):
    """Decodes rows of one struct type, counting the fields that it does not know.

    `strict` is `lenient` with unknown fields forbidden. The lenient one is tried only where the
    strict one finds an unknown field, so that clean files pay nothing.
    """

    def __init__(self, lenient: type[T], strict: type[T], ignored: Counter[str]) -> None:
        self._strict = msgspec.json.Decoder(strict)
        self._lenient = msgspec.json.Decoder(lenient)
        self._known = {f.encode_name for f in msgspec.structs.fields(strict)}
        self._ignored = ignored

    def decode(self, line: bytes, place: str) -> T:
        """One row; raises InputError with the field's path."""
        try:
            return self._strict.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            if "unknown field" not in str(error):
                raise as_input_error(error, place) from error
        try:
            row = self._lenient.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise as_input_error(error, place) from error
        self._ignored.update(sorted(set(decode_any(line, place)) - self._known))
        return row
