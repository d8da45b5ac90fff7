"""Conversations of a trace that names no sessions: a request goes on where an earlier one's last
words stand in its history."""

import re

from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Prompt
from hitpath.doctor.shapes import loose_key

_LEAST_SAID = 16
"""Characters of a message by which two requests are known to be of one conversation."""
_MOST_BACK = 12
_OF_ONE_APPLICATION = 0.4
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
            found = None if key is None else self._ended_with.get(key)
            looked_at += 1
            if found is not None or looked_at == _MOST_BACK:
                break
        last = self._key(prompt, prompt.messages[-1]) if prompt.messages else None
        if last is not None and len(self._ended_with) < _MOST_KEYS:
            self._ended_with[last] = row
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
        known = _loose[message.key] = loose_key(prompt.text_of(message))
    return known


def is_one_conversation(there: Prompt, here: Prompt) -> bool:
    """Whether the later request tells what the earlier one's last messages said."""
    if there.is_flat or here.is_flat:
        return False
    said = [
        m for m in there.messages if m.segment not in (SYSTEM, TOOLS) and m.role != "assistant"
    ][-2:]
    keys = {(m.role, loose_of(there, m)) for m in said if len(there.text_of(m)) >= _LEAST_SAID}
    if not keys:
        return False
    return any((m.role, loose_of(here, m)) in keys for m in here.messages[:-1])


def is_one_application(there: Prompt, here: Prompt) -> bool:
    """Whether a good part of the instructions and tools is the same: runs of four words."""
    if there.is_flat or here.is_flat:
        return False
    one, other = _runs_of_words(there), _runs_of_words(here)
    least = min(len(one), len(other))
    return least > 0 and len(one & other) >= _OF_ONE_APPLICATION * least


def _runs_of_words(prompt: Prompt) -> set[tuple[str, ...]]:
    """Of instructions and tools, numbers masked."""
    parts = [p.text for p in prompt.parts if p.segment in (SYSTEM, TOOLS) and p.form != "glue"]
    words = _WORD.findall(_NUMBER.sub("0", "\n".join(parts)))
    return {tuple(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1))} - {()}


_RUN = 4
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
