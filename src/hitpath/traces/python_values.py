"""Rows that a Python program holds, as a file would hold them. Python has values that JSON has not:
numpy's numbers and arrays become what they stand for, half a character, numbers of thousands of
digits and objects of any other kind are an error with their place.
"""

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from hitpath.core import InputError

_LARGEST = 1 << 1024
"""A larger integer is no float either, and is not printed by Python without further ado."""


def plain_row(row: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The row in plain types. Raises InputError, RecursionError for one that holds itself."""
    return {_key(key, "", place): _plain(value, key, place) for key, value in row.items()}


def _plain(value: Any, name: str, place: str) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    kind = type(value)
    if value is None or kind is bool or kind is float:
        return value
    if kind is str:
        return _text(value, name, place)
    if kind is int:
        _check_size(value, value, name, place)
        return value
    if isinstance(value, Mapping):
        return {
            _key(key, name, place): _plain(inner, f"{name}.{key}", place)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        if set(map(type, value)) == {int}:
            try:
                array("Q", value)  # three times as quick as looking for the largest
            except OverflowError:
                _check_size(min(value), max(value), name, place)
            return value
        return [_plain(inner, f"{name}[{i}]", place) for i, inner in enumerate(value)]
    raise InputError(place, name, f"a value of type {kind.__name__} is not one that JSON has")


def _key(key: object, name: str, place: str) -> str:
    if type(key) is not str:
        kind = type(key).__name__
        raise InputError(place, name, f"a name of a field is text, not of type {kind}")
    return _text(key, name or key, place)


def _text(text: str, name: str, place: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        cause = f"{text[error.start]!r} is half a character (a lone surrogate)"
        raise InputError(place, name, cause) from error
    return text


def _check_size(least: int, most: int, name: str, place: str) -> None:
    if not -_LARGEST < least <= most < _LARGEST:
        raise InputError(place, name, "a number of more than 300 digits")
