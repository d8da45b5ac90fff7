"""Conversations of a trace that names no sessions: a request goes on where an earlier one's last
words stand in its history."""

import re
from collections.abc import Iterator
from typing import Any

from hitpath.canonical.tools import tool_name
from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Prompt
from hitpath.doctor.shapes import loose_key, overlap, words_of
from hitpath.doctor.words_of_kinds import SUMMARY

_LEAST_SAID = 16
"""Characters of a message by which two requests are known to be of one conversation."""
_MOST_BACK = 12
_FEW, _FIRST = 2, 6
_ALIKE = 0.5
_OF_ONE_APPLICATION = 0.4
_OF_ONE_TEMPLATE = 0.2
_MOST_KEYS = 1 << 20
Key = tuple[str, int]


class Threads:
    """Which request ended with which words, the latest of each."""

    def __init__(self) -> None:
        self._ended_with: dict[Key, int] = {}

    def continued_by(self, row: int, prompt: Prompt) -> int | None:
        """The request that this one goes on from, None where none is known; it is remembered."""
        if prompt.is_flat:
            return None
        found: int | None = None
        looked_at = 0
        for message in reversed(prompt.messages[:-1]):
            if message.role in ("assistant", "system", "developer", "tools"):
                continue
            key = self._key(prompt, message)
            found = None if key is None else self._ended_with.get((message.role, message.key))
            if found is None and key is not None:
                found = self._ended_with.get(key)
            looked_at += 1
            if found is not None or looked_at == _MOST_BACK:
                break
        last = self._key(prompt, prompt.messages[-1]) if prompt.messages else None
        if last is not None and len(self._ended_with) < _MOST_KEYS:
            self._ended_with[last] = row
            self._ended_with[last[0], prompt.messages[-1].key] = row
        return found

    def _key(self, prompt: Prompt, message: Message) -> Key | None:
        if len(prompt.text_of(message)) < _LEAST_SAID:
            return None
        return message.role, loose_of(prompt, message)


_loose: dict[int, int] = {}


def loose_of(prompt: Prompt, message: Message) -> int:
    """The loose key of a message, which most requests of a session have again."""
    known = _loose.get(message.key)
    if known is None:
        if len(_loose) >= _MOST_KEYS:
            _loose.clear()
        known = _loose[message.key] = loose_key(prompt.words_of(message))
    return known


def is_one_conversation(there: Prompt, here: Prompt) -> bool:
    """Whether the later request tells what the earlier one's last messages said."""
    if there.is_flat or here.is_flat:
        return False
    said = [
        m for m in there.messages if m.segment not in (SYSTEM, TOOLS) and m.role != "assistant"
    ][-2:]
    keys = {(m.role, loose_of(there, m)) for m in said if len(there.text_of(m)) >= _LEAST_SAID}
    if not any((m.role, loose_of(here, m)) in keys for m in here.messages[:-1]):
        return False
    olds, news = _said(there), _said(here)
    if {m.key for m in olds} & {m.key for m in news}:
        return True
    return len(olds) <= _FEW and (loose_of(there, olds[0]) == loose_of(here, news[0]))


def _said(prompt: Prompt) -> list[Message]:
    """The messages that are no instructions and long enough to be known again."""
    return [
        m
        for m in prompt.messages
        if m.segment not in (SYSTEM, TOOLS) and len(prompt.text_of(m)) >= _LEAST_SAID
    ]


def are_two_dialogues(there: Prompt, here: Prompt) -> bool:
    """Whether nothing that was said stands in both, exactly, nearly or in short: a session may hold
    more than one dialogue."""
    if there.is_flat or here.is_flat:
        return False
    olds, news = _said(there), _said(here)
    if not olds or not news or SUMMARY.search(here.text_of(news[0])[:400]):
        return False
    if {m.key for m in olds} & {m.key for m in news}:
        return False
    first = next(m for m in here.messages if m.segment not in (SYSTEM, TOOLS))
    if first.role in ("assistant", "tool"):
        return False  # it began otherwise
    other = here.text_of(news[0])
    words = words_of(other)
    for old in olds[:_FIRST]:
        text = there.text_of(old)
        if old.role == news[0].role and (
            text.endswith(other) or overlap(words_of(text), words) >= _ALIKE
        ):
            return False
    return True


def is_one_application(there: Prompt, here: Prompt) -> bool:
    """Whether a good part of the instructions and tools is the same: runs of four words."""
    if there.is_flat or here.is_flat or are_built_otherwise(there, here):
        return False
    one, other = (_runs_of_words(p, (SYSTEM, TOOLS)) for p in (there, here))
    return _shares(one, other, _OF_ONE_APPLICATION)


def shares_words(there: Prompt, here: Prompt) -> bool:
    """Whether a part of the whole prompts is the same, where the JSON around words does not count:
    instructions may stand in the first message."""
    if are_built_otherwise(there, here):
        return False
    return _shares(_runs_of_words(there), _runs_of_words(here), _OF_ONE_TEMPLATE)


def are_built_otherwise(there: Prompt, here: Prompt) -> bool:
    """Whether both have tools and not one in common, or their instructions stand in another field
    of the request: two applications may share rules of their house, these they do not."""
    tools = [{tool_name(p.parts[number].value) for number in p.tools} for p in (there, here)]
    if all(tools) and not tools[0] & tools[1]:
        return True
    fields = [_field_of_instructions(p) for p in (there, here)]
    return all(fields) and fields[0] != fields[1]


def _field_of_instructions(prompt: Prompt) -> str:
    """`system`, `messages`, `instructions`; empty where no instructions are told as such."""
    paths = (part.path for part in prompt.parts if part.segment == SYSTEM and part.path)
    return _FIELD.split(next(paths, ""))[0]


Runs = set[tuple[str, ...]]


def _shares(one: Runs, other: Runs, frac: float) -> bool:
    least = min(len(one), len(other))
    return least > 0 and len(one & other) >= max(min(2, least), frac * least)


def _runs_of_words(prompt: Prompt, segments: tuple[str, ...] = ()) -> Runs:
    """Of these segments, of all where none is named; numbers masked. Tools are told by their names
    and words, not by the keys of a schema."""
    texts = [
        "\n".join(_words_of_tool(part.value, 0)) if part.segment == TOOLS else part.text
        for part in prompt.parts
        if part.form != "glue" and (not segments or part.segment in segments)
    ]
    runs: Runs = set()
    for text in texts:
        words = _WORD.findall(_NUMBER.sub("0", text))
        runs |= {tuple(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1))}
    return runs - {()}


def _words_of_tool(value: Any, depth: int) -> Iterator[str]:
    """The strings of a tool, and the names of what it takes."""
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, list):
        for item in value:
            yield from _words_of_tool(item, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, item in value.items():
            if key not in _SCHEMA:
                yield key
            if key != "type":
                yield from _words_of_tool(item, depth + 1)


_SCHEMA = frozenset((
    "type", "function", "name", "description", "parameters", "input_schema", "inputSchema",
    "properties", "required", "items", "enum", "additionalProperties", "strict", "default",
    "cache_control", "title",
))  # fmt: skip
_DEEPEST = 32
_RUN = 4
_FIELD = re.compile(r"[\[.]")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
