"""Volatile text moved out of the instructions to the end of the last message.

A clock in the system prompt breaks every prefix behind it. Here such a stretch gives way to
`[clock 1: at the end]`, and the last message gets a block at its end that says what each was:

    [values of this request, moved here from the instructions above]
    clock 1: 2025-03-03 14:22:31

What is moved: what is surely stamped for a request (volatile.py) in system and developer messages
and in descriptions of tools. Never what the user, the model or a tool wrote. With `coarse`, a clock
is left there by the day (or hour), and only its exact time moves. A message of the assistant at the
end (a reply begun) stays last; the block goes to the one before it.
"""

import re
from collections.abc import Sequence
from typing import Any

from hitpath.canonical.change import Canonical, Change, apply_changes, compose
from hitpath.canonical.clock import ClockUnit, coarser_clock
from hitpath.canonical.json_path import joined
from hitpath.canonical.json_value import PLACE, ordered_json
from hitpath.canonical.slots import MESSAGE_LISTS, Slot, author_of, is_text_part, texts_of
from hitpath.canonical.volatile import Volatile, find_volatile
from hitpath.core import InputError

HEADER = "[values of this request, moved here from the instructions above]"
_NAMES = {"clock": "clock", "request_id": "id", "counter": "count", "attribution": "attribution"}
_PLACEHOLDER = re.compile(r"\[(?:clock|id|count|attribution) (\d{1,9}): at the end\]")


def volatile_to_tail(
    messages: Sequence[Any], *, coarse: ClockUnit | None = None, path: str = "messages"
) -> Canonical:
    """The messages with volatile text at their end. Idempotent. Raises InputError for what is not
    JSON."""
    if not isinstance(messages, list | tuple):
        raise InputError(PLACE, path, "messages are a list")
    body = {"messages": ordered_json(list(messages), sort_keys=False, path=path).value}
    changes = move_to_tail(body, coarse)
    if path != "messages":
        changes = [_under(change, path) for change in changes]
    return Canonical(body["messages"], tuple(changes))


def _under(change: Change, path: str) -> Change:
    place = path + change.json_path.removeprefix("messages")
    return Change(change.kind, place, change.char_offset, change.num_chars, change.replacement)


def move_to_tail(body: dict[str, Any], coarse: ClockUnit | None) -> list[Change]:
    """Changes a body in place."""
    target = _Target.of(body)
    if target is None:
        return []
    slots = list(texts_of(body))
    taken = [int(n) for slot in slots for n in _PLACEHOLDER.findall(slot.text)]
    move = _Move(max(taken, default=0), coarse)
    changes: list[Change] = []
    for slot in slots:
        if slot.author in ("instructions", "tools"):
            changes += move.out_of(slot)
    if move.entries:
        changes += target.append(move.entries, changes)
    return changes


class _Move:
    """Takes volatile text out of one text after the other, and numbers it."""

    def __init__(self, number: int, coarse: ClockUnit | None) -> None:
        self._number = number
        self._coarse = coarse
        self.entries: list[tuple[str, str]] = []

    def out_of(self, slot: Slot) -> tuple[Change, ...]:
        """Changes of this text; again until nothing is left, for what one stretch overlapped may
        come to light when it has gone."""
        changes: tuple[Change, ...] = ()
        while found := self._found(slot.text, slot.path):
            slot.put(apply_changes(slot.text, found))
            changes = compose(changes, found)
        return changes

    def _found(self, text: str, path: str) -> list[Change]:
        changes: list[Change] = []
        for volatile in find_volatile(text.partition(HEADER)[0]):
            if not volatile.is_sure:
                continue
            made = _replaced(text, volatile, self._number + 1, self._coarse, path)
            if made:  # else it is as coarse as it may be
                self._number += 1
                changes += made
                said = text[volatile.start : volatile.stop]
                name = f"{_NAMES[volatile.kind]} {self._number}"
                self.entries.append((volatile.kind, f"{name}: {said}"))
        return changes


def _replaced(
    text: str, volatile: Volatile, number: int, coarse: ClockUnit | None, path: str
) -> list[Change]:
    if volatile.kind == "clock" and coarse is not None:
        return list(coarser_clock(text, volatile.start, coarse, path))
    place = f"[{_NAMES[volatile.kind]} {number}: at the end]"
    num_chars = volatile.stop - volatile.start
    return [Change(volatile.kind, path, volatile.start, num_chars, place)]


class _Target:
    """The end of the last message that the assistant did not write: where the block goes."""

    def __init__(self, holder: Any, at: str | int, path: str, name: str) -> None:
        self._holder = holder  # of the message
        self._at = at
        self._path = path
        self._part_type = "input_text" if name == "input" else "text"

    @classmethod
    def of(cls, body: dict[str, Any]) -> "_Target | None":
        """None where there is no such message."""
        for name in MESSAGE_LISTS:
            messages = body.get(name)
            if isinstance(messages, str):
                return cls(body, name, name, name)
            if not isinstance(messages, list):
                continue
            for at in range(len(messages) - 1, -1, -1):
                if author_of(messages[at]) != "assistant":
                    return cls(messages, at, joined(name, at), name)
        return None

    def append(self, entries: list[tuple[str, str]], before: list[Change]) -> list[Change]:
        """Puts the block there; each entry is a change of its kind."""
        slot = self._slot()
        text = slot.text
        # Insertions are told at the end of the text as it was before its own stretches moved.
        grown = sum(
            len(one.replacement) - one.num_chars for one in before if one.json_path == slot.path
        )
        opening = f"\n\n{HEADER}\n" if text else f"{HEADER}\n"
        changes = []
        for at, (kind, line) in enumerate(entries):
            start = "\n" if at or HEADER in text else opening
            changes.append(Change(kind, slot.path, len(text) - grown, 0, start + line))
        slot.put(text + "".join(change.replacement for change in changes))
        return changes

    def _slot(self) -> Slot:
        """The text that the block is added to; a message or part of its own where there is none."""
        message = self._holder[self._at]
        if isinstance(message, str):
            return Slot(self._holder, self._at, self._path, "user")
        for key in ("content", "output"):
            content = message.get(key) if isinstance(message, dict) else None
            if isinstance(content, str):
                return Slot(message, key, joined(self._path, key), "user")
            if isinstance(content, list):
                return self._part(content, joined(self._path, key))
        at = int(self._at) + 1
        self._holder.insert(at, {"role": "user", "content": ""})
        path = joined(joined(self._path.rpartition("[")[0], at), "content")
        return Slot(self._holder[at], "content", path, "user")

    def _part(self, content: list[Any], path: str) -> Slot:
        last = content[-1] if content else None
        text = last.get("text") if isinstance(last, dict) else None
        if not (isinstance(text, str) and text.startswith(HEADER)):
            types = [part.get("type") for part in content if is_text_part(part)]
            known = [kind for kind in types if kind in ("text", "input_text")]
            content.append({"type": known[-1] if known else self._part_type, "text": ""})
        at = len(content) - 1
        return Slot(content[at], "text", joined(joined(path, at), "text"), "user")
