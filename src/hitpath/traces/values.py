"""One cell of a table as what a field of ours must be.

CSV has text only, and tables of other tools hold whole numbers as floats (12.0, NaN for absent):
here both become what JSON would have said. Null, NaN and a number without digits are absent
(None), never 0. Each function takes (value, name, place), and raises InputError for what does
not fit.
"""

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import iso_seconds
from hitpath.traces.decode import as_input_error

Convert = Callable[[Any, str, str], Any]

UNITS: dict[str, float | None] = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "iso": None}
"""Units of time by their names: how many are a second; None for text in ISO 8601."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_WHOLE_NUMBERS = re.compile(r"\s*[0-9]{1,30}(?:\s+[0-9]{1,30})*\s*")
_NUMBER = re.compile(r"[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?")
_LARGEST = 10**30
_SHORT = 15
"""Digits: most cells are so many or fewer, and nothing else; these need no look at their form."""
_NOT_A_NUMBER = "nan"


class Moment(float):
    """Seconds, from a column whose type says that it is a time: no unit need be given."""


def _unfit(value: object, wanted: str, name: str, place: str) -> InputError:
    return InputError(place, name, f"{value!r:.80} is not {wanted}")


def number(value: Any, name: str, place: str) -> int | float | None:
    """A finite number."""
    if type(value) is str and len(value) <= _SHORT and value.isdecimal() and value.isascii():
        return int(value)
    found = value
    if type(found) is str:
        text = found.strip()
        if not text or text.lower() == _NOT_A_NUMBER:
            return None
        if _WHOLE.fullmatch(text):
            found = int(text)
        elif _NUMBER.fullmatch(text):
            found = float(text)
    if found is None:
        return None
    if type(found) is int and -_LARGEST < found < _LARGEST:
        return found
    if type(found) is float:
        if math.isnan(found):
            return None
        if math.isfinite(found):
            return found
    raise _unfit(value, "a number", name, place)


def whole(value: Any, name: str, place: str) -> int | None:
    """A whole number; 12.0 is 12."""
    if type(value) is str and len(value) <= _SHORT and value.isdecimal() and value.isascii():
        return int(value)
    found = number(value, name, place)
    if isinstance(found, float):
        if not found.is_integer():
            raise _unfit(value, "a whole number", name, place)
        return int(found)
    return found


@cache
def seconds_in(unit: str) -> Convert:
    """For a time in one of UNITS: seconds."""
    per_s = UNITS[unit]

    def convert(value: Any, name: str, place: str) -> float | None:
        if type(value) is Moment:
            return float(value)
        if per_s is not None:
            found = _number_of_units(value, name, place)
            return None if found is None else found / per_s
        if type(value) is not str:
            if value is None:
                return None
            raise _unfit(value, "text in ISO 8601", name, place)
        return iso_seconds(value.strip(), name, place) if value.strip() else None

    return convert


def _number_of_units(value: Any, name: str, place: str) -> int | float | None:
    try:
        return number(value, name, place)
    except InputError as error:
        if type(value) is not str:
            raise
        hint = "a number (for ISO 8601 put :iso behind the column)"
        raise _unfit(value, hint, name, place) from error


def text(value: Any, name: str, place: str) -> str | None:
    """Text as it is."""
    if type(value) is bytes:
        try:
            value = value.decode()
        except UnicodeDecodeError as error:
            raise InputError(place, name, "not valid UTF-8") from error
    if value is not None and type(value) is not str:
        raise _unfit(value, "text", name, place)
    found: str | None = value
    return found


def label(value: Any, name: str, place: str) -> str | None:
    """A name: text, or a whole number as text."""
    if type(value) in (int, float):
        found = whole(value, name, place)
        return None if found is None else str(found)
    return text(value, name, place)


_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def flag(value: Any, name: str, place: str) -> bool | None:
    """True or false, also as text or as 1 and 0."""
    if value is None or type(value) is bool:
        return value
    found = label(value, name, place)
    if found is None:
        return None
    if found.strip().lower() not in _FLAGS:
        raise _unfit(value, "true or false", name, place)
    return _FLAGS[found.strip().lower()]


def json_value(value: Any, name: str, place: str) -> Any:
    """Lists and objects, or their JSON text."""
    if type(value) in (list, dict):
        _check_json(value, name, place)
        return value
    found = text(value, name, place)
    if found is None:
        return None
    try:
        return msgspec.json.decode(found)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise InputError(place, name, as_input_error(error, place).cause) from error


def _check_json(value: Any, name: str, place: str) -> None:
    if type(value) is list:
        for inner in value:
            _check_json(inner, name, place)
    elif type(value) is dict:
        for inner in value.values():
            _check_json(inner, name, place)
    elif type(value) not in (str, int, bool, type(None)) and not (
        type(value) is float and math.isfinite(value)
    ):
        raise _unfit(value, "a value that JSON has", name, place)


def integers(value: Any, name: str, place: str) -> Any:
    """A list of integers: a list, JSON text of one, or numbers with spaces between them."""
    if type(value) is list:
        return value
    found = text(value, name, place)
    if found is None:
        return None
    if found.lstrip()[:1] == "[":
        return json_value(found, name, place)
    if _WHOLE_NUMBERS.fullmatch(found):
        return list(map(int, found.split()))
    return [whole(part, f"{name}[{i}]", place) for i, part in enumerate(found.split())]


def keys(value: Any, name: str, place: str) -> Any:
    """A list of block keys: a list, JSON text of one, or words (each a string, whatever it looks
    like: 0012 and 12 are two keys) with spaces between them."""
    if type(value) is list:
        return value
    found = text(value, name, place)
    if found is None:
        return None
    if found.lstrip()[:1] == "[":
        return json_value(found, name, place)
    return found.split()
