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


def as_input_error(error: Exception, place: str, data: bytes | str = b"") -> InputError:
    """msgspec's complaint as ours: the path without its `$.`, the cause in lower case. data: what
    was decoded; near its end half a character looks like a cut."""
    if isinstance(error, RecursionError):
        return InputError(place, "", "JSON is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return InputError(place, "", "not valid UTF-8")
    match = _AT.match(str(error))
    cause = match["cause"] if match else str(error)
    if "utf-16 surrogate pair" in cause or (cause == _TRUNCATED and _ends_with_half(data)):
        return InputError(place, "", _HALF)
    path = (match["path"] or "" if match else "").removeprefix("$").removeprefix(".")
    if cause.startswith("Object missing required field"):
        name = cause.split("`")[-2]
        return InputError(place, f"{path}.{name}" if path else name, "missing")
    return InputError(place, path, (cause[:1].lower() + cause[1:]).replace("jSON", "JSON"))


_TRUNCATED = "Input data was truncated"
_HALF = "half of a character in a string: an escape from \\ud800 to \\udfff without its other half"
_HALF_AT_END = re.compile(rb"""\\u[dD][89abAB][0-9a-fA-F]{2}[^\\"]{0,6}"[^\\]{0,8}$""")


def _ends_with_half(data: bytes | str) -> bool:
    """Whether a first half stands so near the end that no second one fits behind it."""
    end = data[-64:]
    return bool(
        _HALF_AT_END.search(end if isinstance(end, bytes) else end.encode("utf-8", "replace"))
    )


def is_beginning_of_json(text: bytes) -> bool:
    """Whether a text is right as far as it goes, but no JSON value yet."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        return str(error) == _TRUNCATED
    return False


def other_encoding(beginning: bytes) -> str | None:
    """What a text is in, by its first bytes, where it is UTF-16 or UTF-32, which is not read; None
    for any other text."""
    for mark, name in _MARKS:
        if beginning.startswith(mark):
            return _not_utf8(name)
    first, second = beginning[:64:2], beginning[1:64:2]
    if len(second) >= 2 and any(first) != any(second):
        letters, name = (first, "UTF-16LE") if any(first) else (second, "UTF-16BE")
        if all(byte in b"\t\r" or 0x20 <= byte < 0x7F for byte in letters):
            return _not_utf8(name)
    return None


def _not_utf8(name: str) -> str:
    return f"is {name}, as PowerShell's > writes it, not UTF-8: iconv -f {name} -t UTF-8 FILE"


_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def decode_any(data: bytes | str, place: str) -> Any:
    """Any JSON value, or InputError; UnicodeEncodeError for text with a lone surrogate."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise as_input_error(error, place, data) from error


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
            raise as_input_error(error, place, data) from error


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
                raise as_input_error(error, place, line) from error
        try:
            row = self._lenient.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise as_input_error(error, place, line) from error
        self._ignored.update(sorted(set(decode_any(line, place)) - self._known))
        return row
