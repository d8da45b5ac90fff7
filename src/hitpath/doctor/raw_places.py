"""Where a change stands in the text of the file, for what is no string: orders of keys and tools
are shown there as they were written."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from hitpath.doctor.change import Change
from hitpath.doctor.in_row import InRow, Steps
from hitpath.doctor.requests import Request
from hitpath.doctor.textdiff import common_length

_list_of_raw = msgspec.json.Decoder(list[msgspec.Raw])
_dict_of_raw = msgspec.json.Decoder(dict[str, msgspec.Raw])
Members = dict[str | int, bytes]


def in_the_file(there: Request, here: Request, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes with characters of subtrees counted in their text in the file, where that is
    known. Each list and object is read once, however many changes are in it."""
    if not (there.raw and here.raw and any(change.there_path for change in changes)):
        return changes
    trees = _Raw(there.raw, there.in_row), _Raw(here.raw, here.in_row)
    found: list[Change] = []
    for change in changes:
        if change.there_path:
            old, new = trees[0].at(change.there_path), trees[1].at(change.json_path)
            if old and new and old != new:
                texts = [text.decode("utf-8", "replace") for text in (old, new)]
                change = replace(change, char_offset=common_length(*texts))
        found.append(change)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Raw:
    """The text of a row, and where a request stands in it."""

    text: bytes
    in_row: InRow
    known: dict[Steps, Members] = field(default_factory=dict)

    def at(self, path: str) -> bytes:
        """The text at a path, b"" where there is none."""
        steps, text = self.in_row.steps(path), self.text
        for number, step in enumerate(steps):
            before = steps[:number]
            if before not in self.known:
                self.known[before] = _members(text)
            text = self.known[before].get(step, b"")
            if not text:
                return b""
        return text


def _members(text: bytes) -> Members:
    """The texts of the members of an object or a list, or of one in a string; none of anything
    else. Attributes of a span may be a list of keys and values."""
    try:
        if text.lstrip()[:1] == b'"':
            text = msgspec.json.decode(text, type=str).encode()
        if text.lstrip()[:1] == b"[":
            listed = _list_of_raw.decode(text)
            return {n: bytes(member) for n, member in enumerate(listed)} | _pairs(listed)
        return {name: bytes(member) for name, member in _dict_of_raw.decode(text).items()}
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return {}


def _pairs(listed: Sequence[msgspec.Raw]) -> Members:
    """OTLP's attributes by their keys, where they are strings."""
    if not (listed and bytes(listed[0]).lstrip().startswith(b'{"key"')):
        return {}
    pairs = (msgspec.json.decode(pair, type=_Pair) for pair in listed)
    return {pair.key: msgspec.json.encode(pair.value.get("stringValue")) for pair in pairs}


class _Pair(msgspec.Struct):
    key: str
    value: dict[str, Any]
