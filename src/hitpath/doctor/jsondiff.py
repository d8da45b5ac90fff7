"""What differs between two JSON values: orders of keys and arrays at any depth, numbers written
otherwise, strings. Paths are those of this request's value."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
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


def json_differences(there: Any, here: Any) -> Iterator[JsonDifference]:
    """All of them, outer ones first. Equal values give none, orders count."""
    return _differences(there, here, (), _SortedTexts())


def _differences(
    there: Any, here: Any, steps: tuple[str | int, ...], texts: "_SortedTexts"
) -> Iterator[JsonDifference]:
    if len(steps) > _DEPTH:
        if _differ(there, here):
            yield JsonDifference("value", steps, there, here)
    elif isinstance(there, dict) and isinstance(here, dict):
        yield from _of_objects(there, here, steps, texts)
    elif isinstance(there, list) and isinstance(here, list):
        yield from _of_arrays(there, here, steps, texts)
    elif isinstance(there, str) and isinstance(here, str):
        if there != here:
            yield JsonDifference("string", steps, there, here)
    elif not _same_scalar(there, here):
        is_number = _is_number(there) and _is_number(here) and there == here
        yield JsonDifference("number_format" if is_number else "value", steps, there, here)


def _of_objects(
    there: dict[str, Any],
    here: dict[str, Any],
    steps: tuple[str | int, ...],
    texts: "_SortedTexts",
) -> Iterator[JsonDifference]:
    common = [key for key in here if key in there]
    if [key for key in there if key in here] != common:
        yield JsonDifference("key_order", steps, there, here)
    if len(common) < max(len(there), len(here)):
        was = {key: here.get(key, value) for key, value in there.items()}
        yield JsonDifference("value", steps, was, here)  # but for what differs within members
    for key in common:
        yield from _differences(there[key], here[key], (*steps, key), texts)


def _of_arrays(
    there: list[Any], here: list[Any], steps: tuple[str | int, ...], texts: "_SortedTexts"
) -> Iterator[JsonDifference]:
    one, other = [texts.of(x) for x in there], [texts.of(x) for x in here]
    if one != other and Counter(one) == Counter(other):
        yield JsonDifference("array_order", steps, there, here)
        places: dict[str, list[int]] = {}
        for at, text in enumerate(one):
            places.setdefault(text, []).append(at)
        for at, text in enumerate(other):
            yield from _differences(there[places[text].pop(0)], here[at], (*steps, at), texts)
    elif len(there) == len(here):
        for at, (a, b) in enumerate(zip(there, here, strict=True)):
            yield from _differences(a, b, (*steps, at), texts)
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
    return _SortedTexts().of(value)


class _SortedTexts:
    """The same of many values, some of them parts of others: each object or array is sorted once.
    The values must outlive it."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, value: Any) -> str:
        """See sorted_text."""
        try:
            return self._of(value, 0)
        except RecursionError:
            return _text(value)  # so deep, as it is

    def _of(self, value: Any, depth: int) -> str:
        if not isinstance(value, dict | list | tuple):
            is_short = _is_number(value) and abs(value) < 2**53
            return _text(float(value) if is_short else value)
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = self._sorted(value, depth)
        return known

    def _sorted(self, value: Any, depth: int) -> str:
        if depth > _DEPTH:
            return _text(value)
        if isinstance(value, dict):
            members = (f"{_text(key)}:{self._of(value[key], depth + 1)}" for key in sorted(value))
            return f"{{{','.join(members)}}}"
        return f"[{','.join(sorted(self._of(member, depth + 1) for member in value))}]"


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")


class OffsetsWithin:
    """Bytes before a member in the compact text of a value, for many of its members: each object or
    array is measured once."""

    def __init__(self, value: Any) -> None:
        self._root = _Node(value)

    def of(self, steps: tuple[str | int, ...]) -> int:
        """Of the member behind these steps. Raises KeyError where none is."""
        at, node = 0, self._root
        for step in steps:
            at += node.starts[step]
            node = node.below(step)
        return at


class _Node:
    def __init__(self, value: Any) -> None:
        self._value = value
        self._below: dict[str | int, _Node] = {}

    @cached_property
    def starts(self) -> dict[str | int, int]:
        """Of each member, behind its key."""
        is_object = isinstance(self._value, dict)
        members = self._value.items() if is_object else enumerate(self._value)
        at, starts = 1, {}
        for key, member in members:
            at += len(msgspec.json.encode(key)) + 1 if is_object else 0
            starts[key] = at
            at += len(msgspec.json.encode(member)) + 1
        return starts

    def below(self, step: str | int) -> "_Node":
        """The member."""
        if step not in self._below:
            self._below[step] = _Node(self._value[step])
        return self._below[step]


def path_of(path: str, steps: tuple[str | int, ...]) -> str:
    """A JSON path gone on."""
    for step in steps:
        path = joined(path, step)
    return path
