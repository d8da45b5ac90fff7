"""Requests that stand whole, to the letter, at the beginning of a later one: it goes on from there,
whoever else has asked the same further back.

Standard questions, menus and fixed replies are said in many dialogues; the tools, the instructions
and all messages together in few. Of these, where the trace has replies, the one is meant whose
reply follows here. Linear: a number is remembered for each request, one looked up for each message.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hitpath.doctor.prompt import Message, Prompt
from hitpath.doctor.replies import built_reply
from hitpath.doctor.requests import Request

_MOST = 1 << 20


class Beginning(NamedTuple):
    """row: the latest request that is the beginning of another; num_messages: that it has."""

    row: int
    num_messages: int


class Beginnings:
    """What whole requests said, the latest of each."""

    def __init__(self) -> None:
        self._of_all: dict[int, int] = {}
        self._of_replied: dict[int, int] = {}

    def longest(self, prompt: Prompt) -> Beginning | None:
        """The longest that a prompt goes on from: at least its last message is new."""
        if prompt.is_flat or not self._of_all:
            return None
        keys = list(_keys(prompt, prompt.messages))
        for at in range(len(keys) - 2, -1, -1):
            known = self._of_all.get(keys[at])
            if known is not None:
                return Beginning(self._of_replied.get(keys[at + 1], known), at + 1)
        return None

    def remember(self, row: int, request: Request) -> None:
        """What a request said, and what was replied to it."""
        prompt = request.prompt
        if prompt.is_flat or not prompt.messages or len(self._of_all) >= _MOST:
            return
        *_, whole = _keys(prompt, prompt.messages)
        self._of_all[whole] = row
        if len(request.replies) == 1:
            reply = built_reply(request.replies[0], "").messages[0]
            self._of_replied[hash((whole, reply.key))] = row


def _keys(prompt: Prompt, messages: Sequence[Message]) -> Iterator[int]:
    """For each message a key of all up to it."""
    key = hash(tuple(prompt.parts[number].text for number in prompt.tools))
    for message in messages:
        key = hash((key, message.key))
        yield key
