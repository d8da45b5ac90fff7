"""JSON values with their object keys in one order, and their one compact text.

Objects: keys by code points, at any depth. Arrays: never touched (`enum`, `oneOf`, `prefixItems`,
`items`, `examples` mean their order), but for `required` of a JSON schema where that is asked for.
Numbers: integers stay integers; a float is the shortest decimal that reads back as the same float,
so `1.10` is `1.1`, and `1.0` stays `1.0`: equal to `1` for arithmetic, but another type for those
who look. Strings: as they are; only what JSON must escape is escaped, and lone surrogates, which no
UTF-8 can hold.

Walks without recursion. Deeper than MAX_DEPTH, not JSON (a set, NaN, a key that is no string):
InputError with the JSON path.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import Any

from hitpath.canonical.change import Canonical, CanonicalText, Change
from hitpath.canonical.json_path import joined
from hitpath.core import InputError

MAX_DEPTH = 1000
PLACE = "value"
_SURROGATE = re.compile("[\ud800-\udfff]")
DATA_KEYS = frozenset(["const", "default", "enum", "example", "examples"])
"""Keys of a schema whose values are data: a `required` in them is no list of names."""


def canonical_json(
    value: Any, *, sort_keys: bool = True, sort_required: bool = False, path: str = ""
) -> CanonicalText:
    """The one text of a JSON value, and which orders it changed. Raises InputError."""
    ordered, changes = ordered_json(
        value, sort_keys=sort_keys, sort_required=sort_required, path=path
    )
    return CanonicalText(compact(ordered), changes)


def ordered_json(
    value: Any,
    *,
    sort_keys: bool = True,
    sort_required: bool = False,
    first: Sequence[str] = (),
    path: str = "",
) -> Canonical:
    """The value with its keys (and `required`) in order, as new objects; what is in order already
    is equal, key by key. first: keys that come before all others where an object has them. Raises
    InputError."""
    walk = _Walk(sort_keys, sort_required, {key: at for at, key in enumerate(first)})
    return Canonical(walk.of(value, path), tuple(walk.changes))


@dataclass(slots=True)
class _Level:
    """An object or array that is being rebuilt. is_data: stands in a schema's data."""

    value: Any
    path: str
    is_data: bool
    in_properties: bool
    todo: Iterator[tuple[Any, Any]]
    key: Any = None
    steps: list[Any] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


class _Walk:
    """One rebuild. Sizes of compact texts are summed on the way up, so that places cost nothing."""

    def __init__(self, sort_keys: bool, sort_required: bool, first: Mapping[str, int]) -> None:
        self._sort_keys = sort_keys
        self._sort_required = sort_required
        self._first = first
        self.changes: list[Change] = []

    def of(self, value: Any, path: str) -> Any:
        if not isinstance(value, dict | list | tuple):
            _size(value, path)
            return value
        levels = [_level(value, path, False, False)]
        while True:
            level = levels[-1]
            step = next(level.todo, None)
            if step is not None:
                key, member = step
                if isinstance(member, dict | list | tuple):
                    if len(levels) == MAX_DEPTH:
                        cause = f"nested deeper than {MAX_DEPTH:,} levels"
                        raise InputError(PLACE, path, cause)
                    level.key = key
                    is_data = level.is_data or (key in DATA_KEYS and not level.in_properties)
                    names = key == "properties" and not level.in_properties
                    levels.append(_level(member, joined(level.path, key), is_data, names))
                else:
                    _add(level, key, member, _size(member, level.path, key))
                continue
            rebuilt, size = self._closed(level)
            levels.pop()
            if not levels:
                return rebuilt
            _add(levels[-1], levels[-1].key, rebuilt, size)

    def _closed(self, level: _Level) -> tuple[Any, int]:
        """(the new object or array, the size of its compact text)."""
        num = len(level.done)
        size = sum(level.sizes) + max(num - 1, 0) + 2
        if not isinstance(level.value, dict):
            self._note_required(level)
            return level.done, size
        rank = self._first
        order = list(range(num))
        if self._sort_keys:
            keys = level.steps
            order.sort(key=lambda at: (rank.get(keys[at], len(rank)), keys[at]))
            if order != list(range(num)):
                self._note(level, "key_order", order, [keys[at] for at in order])
        return {level.steps[at]: level.done[at] for at in order}, size

    def _note_required(self, level: _Level) -> None:
        """Sorts the list of required names where that is what this is."""
        if not (self._sort_required and level.path.endswith("required") and not level.is_data):
            return
        if not all(isinstance(name, str) for name in level.done):
            return
        order = sorted(range(len(level.done)), key=lambda at: level.done[at])
        if order != list(range(len(order))):
            self._note(level, "array_order", order, order)
            level.done = [level.done[at] for at in order]

    def _note(self, level: _Level, kind: str, order: list[int], told: list[Any]) -> None:
        moved = [at for at, old in enumerate(order) if at != old]
        begin = 1 + sum(level.sizes[: moved[0]]) + moved[0]
        stop = sum(level.sizes[: moved[-1] + 1]) + moved[-1] + 1
        new_order = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        self.changes.append(Change(kind, level.path, begin, stop - begin, new_order))


def _level(value: Any, path: str, is_data: bool, in_properties: bool) -> _Level:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    return _Level(value, path, is_data, in_properties, iter(members))


def _add(level: _Level, key: Any, member: Any, size: int) -> None:
    if isinstance(level.value, dict):
        if not isinstance(key, str):
            raise InputError(PLACE, level.path, f"the key {key!r} is no string: not JSON")
        size += len(written_string(key)) + 1
    level.steps.append(key)
    level.done.append(member)
    level.sizes.append(size)


def _size(member: Any, path: str, key: Any = "") -> int:
    """Characters of a scalar's compact text. Raises InputError for what is none of JSON's."""
    try:
        return len(_scalar(member))
    except (TypeError, ValueError) as error:
        place = joined(path, key) if key != "" else path
        raise InputError(PLACE, place, str(error)) from None


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return written_string(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)  # ValueError for more digits than Python writes
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no number of JSON")
        return float.__repr__(value)
    raise TypeError(f"a {type(value).__name__} is no value of JSON")


def written_string(text: str) -> str:
    """In quotes, with the escapes that JSON needs."""
    written: str = encode_basestring(text)
    if text.isascii():
        return written
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", written)


def compact(value: Any) -> str:
    """The text of a value that was checked, in the order that it has."""
    pieces: list[str] = []
    if not isinstance(value, dict | list | tuple):
        return _scalar(value)
    levels: list[tuple[Iterator[Any], str]] = []
    nothing = object()

    def enter(found: Any) -> None:
        of_object = isinstance(found, dict)
        pieces.append("{" if of_object else "[")
        levels.append((iter(found.items() if of_object else found), "}" if of_object else "]"))

    enter(value)
    is_first = True
    while levels:
        todo, end = levels[-1]
        member: Any = next(todo, nothing)
        if member is nothing:
            pieces.append(end)
            levels.pop()
            is_first = False
            continue
        if not is_first:
            pieces.append(",")
        if end == "}":
            pieces += (written_string(member[0]), ":")
            member = member[1]
        is_first = isinstance(member, dict | list | tuple)
        if is_first:
            enter(member)
        else:
            pieces.append(_scalar(member))
    return "".join(pieces)
