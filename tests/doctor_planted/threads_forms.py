"""The register of forms of what clients do between two turns, and what forms share.

A form is a function from an application and a draw to a planter, which rewrites one request of a
session as the client of its `source` does. What it says of itself is the truth: `kinds` names the
right kind first, behind it names that docs/doctor.md allows as well; `scope` tells where it plants.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from doctor_planted.threads_sessions import App, Message, Step

Plant = Callable[[Step], None]
Make = Callable[[App, Random], Plant]
CHAT = ("openai", "openai", "openai_blocks", "anthropic", "anthropic_blocks", "responses", "rows")
OAI = ("openai", "rows", "openai_blocks")
ANT = ("anthropic", "anthropic_blocks")
RATES = (0.05, 0.15, 0.3, 0.5, 0.8, 1.0)


@dataclass(frozen=True)
class Form:
    """styles: the bodies that can carry it. shapes: the applications. scope: `said`, `tools`,
    `system`, `both` (system and said), `context`, `flat` (tools within one text). needs_session:
    nothing but the session id leads from one request to the next."""

    name: str
    kinds: tuple[str, ...]
    make: Make
    styles: tuple[str, ...]
    shapes: tuple[str, ...]
    scope: str
    source: str
    needs_session: bool


FORMS: dict[str, Form] = {}


def form(
    name: str,
    kinds: str,
    *,
    source: str,
    styles: tuple[str, ...] = CHAT,
    shapes: tuple[str, ...] = ("code", "service", "browser"),
    scope: str = "said",
    needs_session: bool = False,
) -> Callable[[Make], Make]:
    """Registers a form. kinds: `first/second/...`."""

    def register(make: Make) -> Make:
        assert name not in FORMS, name
        FORMS[name] = Form(
            name, tuple(kinds.split("/")), make, styles, shapes, scope, source, needs_session
        )
        return make

    return register


def coin(seed: int, *key: object, p: float) -> bool:
    """The same answer for the same key, on every machine."""
    digest = hashlib.sha256(repr((seed, *key)).encode()).hexdigest()
    return int(digest[:8], 16) / 0xFFFFFFFF < p


def seed_of(rng: Random) -> int:
    return rng.getrandbits(40)


def texts(message: Message) -> str | None:
    """The content where it is text."""
    content = message.get("content")
    return content if isinstance(content, str) else None


def results(messages: list[Message]) -> list[Message]:
    return [m for m in messages if m["role"] == "tool"]


def groups(messages: list[Message]) -> list[list[Message]]:
    """What may not be parted: a message, and the results of its calls with it."""
    out: list[list[Message]] = []
    for message in messages:
        if message["role"] == "tool" and out:
            out[-1].append(message)
        else:
            out.append([message])
    return out


def flat(grouped: list[list[Message]]) -> list[Message]:
    return [message for group in grouped for message in group]


def topic(grouped: list[list[Message]]) -> str:
    """What a summary says of messages: how each question began."""
    users = [m for group in grouped for m in group if m["role"] == "user"]
    return "; ".join(" ".join((texts(m) or "").split()[:7]) for m in users)


def thinks(step: Step, when: Callable[[int], bool], write: Callable[[Message], None]) -> None:
    """Writes the reasoning of some replies."""
    for i, message in enumerate(step.messages):
        if message["role"] == "assistant" and when(i):
            write(message)


def each_call(step: Step, change: Callable[[str, int], str]) -> None:
    """Rewrites the arguments of all calls; change: (arguments, place of the message)."""
    for i, message in enumerate(step.messages):
        for call in message.get("tool_calls") or []:
            call["function"]["arguments"] = change(call["function"]["arguments"], i)


def stale(step: Step, i: int) -> bool:
    """Whether a message stands before the last question."""
    return i < step.last_user


def images_of(step: Step) -> Iterator[tuple[int, Message, Message]]:
    """(place of the message, the message, the block) of all pictures."""
    for i, message in enumerate(step.messages):
        if isinstance(message.get("content"), list):
            for block in message["content"]:
                if block["type"] == "image_url":
                    yield i, message, block
