"""`--map ours=theirs`: which columns (or fields) of a file are which fields of hitpath JSONL.

    ours=theirs          the column, or a field of JSON rows by its path (usage.prompt_tokens)
    ours=theirs:unit     a time in s, ms, us, ns or iso; without a unit it is seconds
    ours==value          the same value in every row
    ours=                nothing: a column of that name is something else

`ours` is a field of docs/trace-format.md, with a dot inside `context` and `reported`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from hitpath.core import InputError, SettingError
from hitpath.traces.hitpath_jsonl import Reported
from hitpath.traces.mapping_hints import nearest
from hitpath.traces.values import (
    UNITS,
    Convert,
    flag,
    integers,
    json_value,
    keys,
    label,
    number,
    seconds_in,
    text,
    whole,
)

_TIME = seconds_in("s")
_FIELDS: dict[str, Convert] = {
    "id": label,
    "arrival_s": _TIME,
    "tokens": integers,
    "block_keys": keys,
    "block_size": whole,
    "prompt_tokens": whole,
    "messages": json_value,
    "tools": json_value,
    "prompt": text,
    "segments": json_value,
    "output_tokens": whole,
    "output_ids": integers,
    "output_block_keys": keys,
    "reply": text,
    "reply_segments": json_value,
    "finish_s": _TIME,
    "session": label,
    "parent": label,
    "turn": whole,
    "tenant": label,
    "model": label,
    "worker": label,
    "context": json_value,
    "model_is_label": flag,
    "id_may_repeat": flag,
    "unit": text,
    "id_scope": label,
    "clock": label,
    "reported": json_value,
    "excluded": text,
}
_REPORTED: dict[str, Convert] = {
    "counting": text,
    "currency": text,
    "cost": number,
    "cached_by_tier": json_value,
}
_PROMPTS = {"tokens", "block_keys", "messages", "prompt", "segments", "prompt_tokens"}
_OPTION = "--map"


@lru_cache(maxsize=1024)
def converter_of(ours: str) -> Convert | None:
    """What a value for this field of ours goes through; None for a field that we do not have."""
    if ours in _FIELDS:
        return _FIELDS[ours]
    head, _, name = ours.partition(".")
    if head == "context" and name:
        return label
    if head != "reported":
        return None
    if name in _REPORTED:
        return _REPORTED[name]
    if name in Reported.__struct_fields__:
        return _TIME if name.endswith("_s") else whole
    tier = name.removeprefix("cached_by_tier.")
    return whole if tier != name and tier else None


def _known() -> list[str]:
    return [*_FIELDS, "context.salt", *(f"reported.{n}" for n in Reported.__struct_fields__)]


def is_trace(columns: Iterable[str]) -> bool:
    """Whether a table with these columns is a trace in our own names, without any mapping."""
    names = set(columns)
    return "arrival_s" in names and not names.isdisjoint(_PROMPTS)


@dataclass(frozen=True, slots=True)
class Pair:
    """One `--map`. theirs: a column or path; None where `value` is meant for every row."""

    ours: str
    theirs: str | None
    value: str
    convert: Convert

    name: str = field(init=False)
    """How messages call it."""

    def __post_init__(self) -> None:
        named = self.ours if self.theirs in (None, self.ours) else f"{self.ours} ({self.theirs})"
        object.__setattr__(self, "name", named)

    def put(self, value: Any, row: dict[str, Any], place: str) -> None:
        """Convert and set in a row of ours; what is absent is left out. Raises InputError."""
        found = self.convert(value, self.name, place)
        if found is None:
            return
        if "." not in self.ours:
            row[self.ours] = found
            return
        *outer, last = self.ours.split(".", 2 if self.ours.startswith("reported.") else 1)
        for key in outer:
            row = _inner(row, key, self.name, place)
        row[last] = found


def _inner(row: dict[str, Any], key: str, name: str, place: str) -> dict[str, Any]:
    inner = row.setdefault(key, {})
    if type(inner) is not dict:
        raise InputError(place, name, f"{key} is no object to put it in")
    return inner


@dataclass(frozen=True, slots=True)
class Mapping:
    """All `--map` of a command, in order; no field of ours twice. unread: fields of ours that a
    column of the same name is not."""

    pairs: tuple[Pair, ...] = ()
    unread: frozenset[str] = frozenset()

    def with_own(self, names: Iterable[str]) -> tuple[Pair, ...]:
        """The pairs for a row with these columns: those that bear our names as they are (unless
        mapped, or mapped to something else), then the mapped ones."""
        taken = {p.ours for p in self.pairs} | {p.theirs for p in self.pairs} | self.unread
        own = []
        for name in names:
            convert = converter_of(name)
            if convert is not None and name not in taken:
                own.append(Pair(name, name, "", convert))
        return (*sorted(own, key=lambda pair: pair.ours.count(".")), *self.pairs)


def parse_mapping(typed: Sequence[str]) -> Mapping | None:
    """What was typed behind each `--map`; None for nothing. Raises SettingError."""
    pairs: dict[str, Pair | None] = {}
    for words in typed:
        ours, pair = _parse(words)
        if ours in pairs:
            raise SettingError(f"{_OPTION} {words}", f"{ours} is mapped twice")
        pairs[ours] = pair
    if not pairs:
        return None
    unread = frozenset(ours for ours, pair in pairs.items() if pair is None)
    return Mapping(tuple(pair for pair in pairs.values() if pair is not None), unread)


def _parse(words: str) -> tuple[str, Pair | None]:
    ours, sign, theirs = words.partition("=")
    option = f"{_OPTION} {words}"
    try:
        words.encode()
    except UnicodeEncodeError as error:
        raise SettingError(option, "is not UTF-8") from error
    if not sign or not ours or theirs == "=":
        raise SettingError(option, "is not ours=theirs, ours=theirs:unit, ours==value or ours=")
    convert = converter_of(ours)
    if convert is None:
        raise SettingError(option, f"{ours!r} is no field of ours{nearest(ours, _known())}")
    if not theirs:
        return ours, None
    if theirs.startswith("="):
        try:
            convert(theirs[1:], ours, option)
        except InputError as error:
            raise SettingError(option, error.cause) from error
        return ours, Pair(ours, None, theirs[1:], convert)
    column, colon, unit = theirs.rpartition(":")
    if convert is _TIME and colon and column and unit in UNITS:
        return ours, Pair(ours, column, "", seconds_in(unit))
    return ours, Pair(ours, theirs, "", convert)
