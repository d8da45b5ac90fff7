"""Lints request bodies: what changes from request to request ahead of text that they share.

Texts of instructions and tools are put together by what stays: their place (tools by name) and the
text in canonical form with every volatile stretch masked, so that a second defect hides no first
one. Only a difference between two such texts is a finding, so a date that stays the same, another
system prompt or another set of tools is none; what the user, the model and tools wrote is never
looked at. A file with one request cannot be compared: there, what is surely stamped
for each request (canonical/volatile.py) is told. One pass; texts held for
comparison are dropped when they become too many.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from hitpath.canonical import (
    Volatile,
    canonical_json,
    find_volatile,
    normalise_space,
    normalise_unicode,
    stable_tools,
)
from hitpath.canonical.slots import texts_of, tool_lists
from hitpath.canonical.tools import tool_name
from hitpath.core import InputError
from hitpath.doctor.lint_record import (
    RULE_OF_KIND,
    Finding,
    LookedAt,
    fingerprinted,
    stable_path,
)
from hitpath.traces import open_inputs
from hitpath.traces.conversations import is_mark, rows_of
from hitpath.traces.decode import decode_any
from hitpath.traces.request_bodies import WRAPPERS

_LISTS = ("messages", "input", "tools", "functions")
_CONTEXT = 24
_MOST_HELD_CHARS = 100_000_000
_CACHED = 1024
_LONGEST_CACHED = 50_000


def lint_requests(paths: list[str]) -> list[Finding]:
    """All findings in files of request bodies (JSONL, an array, one body; `-`, .gz, .zst too).
    Raises InputError for what cannot be read or is no request."""
    return lint_requests_and_count(paths)[0]


def lint_requests_and_count(paths: list[str]) -> tuple[list[Finding], LookedAt]:
    """The same with the number of requests, and of those in which there was nothing to look at."""
    rows = _Requests()
    for source in open_inputs(paths):
        for number, (place, text) in enumerate(rows_of(source), 1):
            rows.add(_body(text, place), stable_path(source.name), _line(place, number))
    return fingerprinted(rows.findings()), rows.looked_at()


def _body(text: bytes, place: str) -> dict[str, Any]:
    value = decode_any(text, place)
    for name in WRAPPERS:
        inner = value.get(name) if isinstance(value, dict) else None
        if isinstance(inner, dict) and not value.keys() & {"messages", "input"}:
            value = inner
    if not isinstance(value, dict) or not value.keys() & {"messages", "input", "prompt", "system"}:
        raise InputError(place, "", "no request body: it has neither messages nor input nor prompt")
    for name in _LISTS:
        if name in value and not isinstance(value[name], list | str | None):
            raise InputError(place, name, "expected a list")
    return value


def _is_one_text(body: dict[str, Any]) -> bool:
    return "prompt" in body and not body.get("messages")


def _line(place: str, number: int) -> int:
    """The line of a place as readers tell it, file:line; else which row it is."""
    line = place.rpartition(":")[2]
    return int(line) if line.isdecimal() else number


@dataclass(slots=True)
class _Where:
    """A request: its file and line."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(slots=True)
class _Stretch:
    """The n-th volatile stretch of a group: its last value, and how often it became another."""

    last: str
    first: Finding
    is_sure: bool
    num_changed: int = 0
    changed: Finding | None = None


@dataclass(slots=True)
class _Group:
    """A text of several requests, equal where it is masked and in canonical form."""

    stretches: list[_Stretch]
    num_requests: int = 0


class _Requests:
    """What is kept of the requests so far."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, bytes], _Group] = {}
        self._texts: dict[tuple[str, bytes], tuple[str, str]] = {}
        self._held_chars = 0
        self._tools: dict[tuple[str, ...], tuple[list[Any], _Where]] = {}
        self._told: dict[tuple[str, str, str], Finding] = {}
        self._num_requests = self._num_one_text = self._num_without = 0

    def add(self, body: dict[str, Any], path: str, line: int) -> None:
        """One more request."""
        where = _Where(path, line)
        self._num_requests += 1
        slots = [s for s in texts_of(body) if s.author in ("instructions", "tools")]
        texts = [(slot.path, slot.text) for slot in slots]
        self._volatile(texts, _names_of(body), where)
        self._forms(texts, where)
        lists = list(tool_lists(body))
        for holder, name, path in lists:
            self._orders(holder[name], path, where)
        if not texts and not any(holder[name] for holder, name, _ in lists):
            self._num_one_text += _is_one_text(body)
            self._num_without += not _is_one_text(body)

    def looked_at(self) -> LookedAt:
        return LookedAt(None, self._num_requests, self._num_one_text, self._num_without)

    def findings(self) -> Iterator[Finding]:
        """All of them; volatile text by what the requests of its group showed."""
        yield from self._told.values()
        for group in self._groups.values():
            for one in group.stretches:
                if one.changed is not None:
                    yield _with_counts(one.changed, one.num_changed, group.num_requests)
                elif self._num_requests == 1 and one.is_sure:
                    yield one.first

    def _volatile(
        self, texts: list[tuple[str, str]], names: Mapping[str, str], where: _Where
    ) -> None:
        behind = sum(len(text) for _, text in texts)
        for path, text in texts:
            volatile, mask, _ = _masked(text)
            found = [
                _Stretch(
                    text[one.start : one.stop],
                    _volatile_finding(one, path, text, where, behind - one.start),
                    one.is_sure,
                )
                for one in volatile
            ]
            behind -= len(text)
            if found:
                self._compare((_by_name(path, names), mask), found)

    def _compare(self, key: tuple[str, bytes], found: list[_Stretch]) -> None:
        """The stretches of a text against those of the request before that had it."""
        group = self._groups.setdefault(key, _Group(found))
        group.num_requests += 1
        for old, new in zip(group.stretches, found, strict=True):
            if new.last != old.last:
                old.num_changed += 1
                old.changed = old.changed or new.first
            old.last = new.last

    def _forms(self, texts: list[tuple[str, str]], where: _Where) -> None:
        """Texts that differ from an earlier one in white space or Unicode form, and but for what is
        volatile in nothing else; hidden characters in each."""
        for path, text in texts:
            hidden = _hidden(text)
            if hidden:
                at, size, told = hidden
                self._tell("hidden_characters", path, text, at, at + size, where, told)
            if self._held_chars > _MOST_HELD_CHARS:
                self._texts.clear()
                self._held_chars = 0
            volatile, mask, masked = _masked(text)
            before = self._texts.get((path, mask))
            if before is None:
                self._texts[(path, mask)] = (str(where), masked)
                self._held_chars += len(masked)
            elif before[1] != masked:
                kind, at = _form_kind(before[1], masked)
                at = _unmasked(volatile, at)
                self._tell(kind, path, text, at, at + 1, where, f"differs from {before[0]}")

    def _orders(self, told: list[Any], name: str, where: _Where) -> None:
        """Tools against the last request that had the same ones by name."""
        numbers = [number for number, tool in enumerate(told) if not is_mark(tool)]
        tools = [told[number] for number in numbers]
        key = (name, *sorted(map(tool_name, tools)))
        old_tools, old_where = self._tools.get(key, (tools, where))
        self._tools[key] = (tools, where)
        if _written(tools) == _written(old_tools):
            return
        differs = f"differs from {old_where}"
        names, old_names = list(map(tool_name, tools)), list(map(tool_name, old_tools))
        if names != old_names:
            at = _first_difference(names, old_names)
            text = f"{old_names[at]} -> {names[at]}"
            self._tell("tool_order", f"{name}[{numbers[at]}]", text, 0, len(text), where, differs)
        by_name = dict(zip(old_names, old_tools, strict=True))
        for at, tool in enumerate(tools):
            old = by_name[names[at]]
            kind = _order_kind(old, tool)
            if kind is not None:
                offset = _first_difference(_written(old), _written(tool))
                path = f"{name}[{numbers[at]}]"
                self._tell(kind, path, _written(tool), offset, offset + 1, where, differs)

    def _tell(
        self, kind: str, path: str, text: str, start: int, stop: int, where: _Where, told: str
    ) -> None:
        """One finding for a kind at a path of a file; the others are counted."""
        rule = RULE_OF_KIND[kind]
        key = (kind, where.path, path)
        before = self._told.get(key)
        number = 1 if before is None or before.num_requests is None else before.num_requests + 1
        first = before or Finding(
            rule=rule,
            path=where.path,
            line=where.line,
            column=1,
            message=f"{rule.sentence[:-1]}: {told}.",
            excerpt=text[max(0, start - _CONTEXT) : stop + _CONTEXT],
            json_path=path,
            char_offset=start,
            num_chars=stop - start,
            context=kind,
        )
        self._told[key] = _with_counts(first, number, None)


Masked = tuple[tuple[Volatile, ...], bytes, str]


def _masked(text: str) -> Masked:
    """(volatile stretches, a hash of the canonical form of the text without them and of how many
    there are of which kind, the text with `<kind>` for each), kept for texts that come again."""
    return _find_masked(text) if len(text) < _LONGEST_CACHED else _find_masked.__wrapped__(text)


@lru_cache(maxsize=_CACHED)
def _find_masked(text: str) -> Masked:
    found = find_volatile(text)
    pieces, at = [], 0
    for one in found:
        pieces += [text[at : one.start], f"<{one.kind}>"]
        at = one.stop
    masked = "".join([*pieces, text[at:]])
    told = "\0".join([*(one.kind for one in found), "", _canonical(masked)])
    return found, blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).digest(), masked


def _unmasked(found: Sequence[Volatile], at: int) -> int:
    """Where a character of the masked text stands in the text itself."""
    longer = 0
    for one in found:
        tag = len(f"<{one.kind}>")
        if at < one.start + longer:
            break
        if at < one.start + longer + tag:
            return one.start
        longer += tag - (one.stop - one.start)
    return at - longer


def _canonical(text: str) -> str:
    """White space and Unicode written one way."""
    composed = normalise_unicode(normalise_space(text).value)
    return normalise_space(composed.value).value if composed.changes else composed.value


def _names_of(body: dict[str, Any]) -> dict[str, str]:
    """`tools[3]` -> what stands for it in whatever order: its name."""
    return {
        f"{path}[{at}]": f"{path} {tool_name(tool)}"
        for holder, name, path in tool_lists(body)
        for at, tool in enumerate(holder[name])
    }


def _by_name(path: str, names: Mapping[str, str]) -> str:
    """A path whose tool is told by its name."""
    end = path.find("]") + 1
    return names.get(path[:end], path[:end]) + path[end:]


def _hidden(text: str) -> tuple[int, int, str] | None:
    """(offset, size, what) of the first hidden characters of a text."""
    return _find_hidden(text) if len(text) < _LONGEST_CACHED else _find_hidden.__wrapped__(text)


@lru_cache(maxsize=_CACHED)
def _find_hidden(text: str) -> tuple[int, int, str] | None:
    hidden = [one for one in normalise_space(text).changes if one.kind == "hidden_characters"]
    if not hidden:
        return None
    first = hidden[0]
    stretch = text[first.char_offset : first.char_offset + first.num_chars]
    names = ", ".join(sorted({f"U+{ord(c):04X}" for c in stretch}))
    told = f"{len(hidden):,} in this text, the first {names}"
    return first.char_offset, first.num_chars, told


def _volatile_finding(one: Volatile, path: str, text: str, where: _Where, behind: int) -> Finding:
    rule = RULE_OF_KIND[one.kind]
    before = text[max(0, one.start - _CONTEXT) : one.start]
    return Finding(
        rule=rule,
        path=where.path,
        line=where.line,
        column=1,
        message=rule.sentence,
        excerpt=text[one.start : one.stop],
        json_path=path,
        char_offset=one.start,
        num_chars=one.stop - one.start,
        chars_behind=behind,
        context=f"{one.kind} {_masked_words(before)}",
    )


def _masked_words(text: str) -> str:
    """Without digits, which change."""
    return "".join("0" if c.isdigit() else c for c in text)


def _with_counts(finding: Finding, number: int, of_requests: int | None) -> Finding:
    return replace(finding, num_requests=number, of_requests=of_requests)


def _written(value: Any) -> str:
    """The compact text, in the order that it has."""
    return canonical_json(value, sort_keys=False).value


def _order_kind(old: Any, new: Any) -> str | None:
    """What differs between two tools that mean the same; None where they are equal, or differ in
    more than order and number format."""
    if _written(old) == _written(new):
        return None
    one, other = stable_tools([old]).value, stable_tools([new]).value
    if _written(one) == _written(other):
        return "key_order"
    one, other = (stable_tools([tool], sort_required=True).value for tool in (old, new))
    if _written(one) == _written(other):
        return "array_order"
    return "number_format" if one == other else None  # 1 and 1.0 are equal in Python


def _form_kind(old: str, new: str) -> tuple[str, int]:
    """(kind, where the new text differs) of texts that are equal in canonical form."""
    at = _first_difference(old, new)
    if normalise_unicode(old).value == normalise_unicode(new).value:
        return "unicode_form", at
    hidden = {one.kind for text in (old, new) for one in normalise_space(text).changes}
    return ("hidden_characters" if hidden == {"hidden_characters"} else "white_space"), at


def _first_difference(one: Sequence[str], other: Sequence[str]) -> int:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))
