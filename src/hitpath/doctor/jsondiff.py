"""What differs between two JSON values: orders of keys and arrays at any depth, numbers written
otherwise, strings. Paths are those of this request's value."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from hitpath.canonical.json_path import joined

JsonKind = Literal["key_order", "array_order", "number_format", "string", "value"]
_DEPTH = 200


@dataclass(frozen=True, slots=True)
class JsonDifference:
    """kind `string`: two strings (which rules of text explain); `value`: anything else that was
    replaced, and objects that have other keys, as a whole. steps: the path from the compared values
    on."""

    kind: JsonKind
    steps: tuple[str | int, ...]
    there: Any
    here: Any


def json_differences(
    there: Any, here: Any, steps: tuple[str | int, ...] = ()
) -> Iterator[JsonDifference]:
    """All of them, outer ones first. Equal values give none, orders count."""
    if len(steps) > _DEPTH:
        if _differ(there, here):
            yield JsonDifference("value", steps, there, here)
    elif isinstance(there, dict) and isinstance(here, dict):
        yield from _of_objects(there, here, steps)
    elif isinstance(there, list) and isinstance(here, list):
        yield from _of_arrays(there, here, steps)
    elif isinstance(there, str) and isinstance(here, str):
        if there != here:
            yield JsonDifference("string", steps, there, here)
    elif not _same_scalar(there, here):
        is_number = _is_number(there) and _is_number(here) and there == here
        yield JsonDifference("number_format" if is_number else "value", steps, there, here)


def _of_objects(
    there: dict[str, Any], here: dict[str, Any], steps: tuple[str | int, ...]
) -> Iterator[JsonDifference]:
    common = [key for key in here if key in there]
    if [key for key in there if key in here] != common:
        yield JsonDifference("key_order", steps, there, here)
    if len(common) < max(len(there), len(here)):
        was = {key: here.get(key, value) for key, value in there.items()}
        yield JsonDifference("value", steps, was, here)  # but for what differs within members
    for key in common:
        yield from json_differences(there[key], here[key], (*steps, key))


def _of_arrays(
    there: list[Any], here: list[Any], steps: tuple[str | int, ...]
) -> Iterator[JsonDifference]:
    one, other = [sorted_text(x) for x in there], [sorted_text(x) for x in here]
    if one != other and Counter(one) == Counter(other):
        yield JsonDifference("array_order", steps, there, here)
        places: dict[str, list[int]] = {}
        for at, text in enumerate(one):
            places.setdefault(text, []).append(at)
        for at, text in enumerate(other):
            yield from json_differences(there[places[text].pop(0)], here[at], (*steps, at))
    elif len(there) == len(here):
        for at, (a, b) in enumerate(zip(there, here, strict=True)):
            yield from json_differences(a, b, (*steps, at))
    else:
        yield JsonDifference("value", steps, there, here)


def _differ(there: Any, here: Any) -> bool:
    """As `!=`, without going down by recursion: values may be as deep as readers take them."""
    pairs = [(there, here)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if list(one) != list(other):
                return True
            pairs += zip(one.values(), other.values(), strict=True)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return True
            pairs += zip(one, other, strict=True)
        elif not _same_scalar(one, other):
            return True
    return False


def _same_scalar(there: Any, here: Any) -> bool:
    """0.0 and -0.0 are equal and written otherwise."""
    is_same = type(there) is type(here) and there == here
    return is_same and (there != 0 or str(there) == str(here))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def sorted_text(value: Any) -> str:
    """Equal for values that differ in orders of keys and arrays, and in the form of numbers."""
    try:
        return msgspec.json.encode(_sorted(value, 0)).decode("utf-8", "replace")
    except RecursionError:
        return msgspec.json.encode(value).decode("utf-8", "replace")  # so deep, as it is


def _sorted(value: Any, depth: int) -> Any:
    if depth > _DEPTH:
        return msgspec.json.encode(value).decode()
    if isinstance(value, dict):
        return {key: _sorted(value[key], depth + 1) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return sorted((_sorted(item, depth + 1) for item in value), key=_text)
    if _is_number(value):
        return float(value) if abs(value) < 2**53 else value
    return value


def _text(value: Any) -> bytes:
    return msgspec.json.encode(value)


def offset_within(value: Any, steps: tuple[str | int, ...]) -> int:
    """Bytes before a member in the compact text of a value."""
    at = 0
    for step in steps:
        at += 1
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            if isinstance(value, dict):
                at += len(msgspec.json.encode(key)) + 1
            if key == step:
                break
            at += len(msgspec.json.encode(member)) + 1
        value = value[step]
    return at


def path_of(path: str, steps: tuple[str | int, ...]) -> str:
    """A JSON path gone on."""
    for step in steps:
        path = joined(path, step)
    return path
