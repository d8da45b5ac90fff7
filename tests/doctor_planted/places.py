"""Where text is planted: the head, middle, tail and inside of the system prompt, a tool's
description, the first user message, an early message of the history."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from doctor_planted.bases import App, Message, Step
from doctor_planted.marks import OPEN

SYSTEM = ("system_head", "system_line", "system_mid", "system_inline", "system_tail")
ALL = (*SYSTEM, "tool_description", "first_user", "history")


class Site(NamedTuple):
    """What a planter is told: num requests of the application, where it may plant, further
    surface forms instead of its own."""

    rng: random.Random
    app: App
    num: int
    where: tuple[str, ...]
    more: tuple[Any, ...]


@dataclass(frozen=True)
class Spot:
    """A place with its indices."""

    name: str
    index: int

    def insert(self, step: Step, text: str) -> bool:
        """Puts a (marked) text there; False where the request has no such place."""
        return self._edit(step, lambda old: _joined(self.name, text, old))

    def edit(self, step: Step, change: Callable[[str], str]) -> bool:
        """Changes the text that stands there."""
        return self._edit(step, change)

    def _edit(self, step: Step, change: Callable[[str], str]) -> bool:
        if self.name == "system_own":
            step.system.insert(0, change(""))
        elif self.name == "system_head":
            step.system[0] = change(step.system[0])
        elif self.name.startswith("system"):
            at = self.index if self.name != "system_tail" else len(step.system) - 1
            at = 0 if self.name == "system_line" else min(at, len(step.system) - 1)
            step.system[at] = change(step.system[at])
        elif self.name == "tool_description":
            function = step.tools[self.index]["function"]
            function["description"] = change(function["description"])
        elif self.name == "tool_parameter":
            return _edit_parameter(step.tools[self.index], change)
        else:
            at = self.index if self.name == "history" else 0
            if at >= len(step.messages):
                return False
            return _edit_message(step.messages[at], change)
        return True


def make_spot(rng: random.Random, app: App, names: Sequence[str]) -> Spot:
    usable = [name for name in names if _fits(name, app)]
    name = rng.choice(usable)
    index = rng.randrange(1, len(app.system) - 1)
    if name in ("tool_description", "tool_parameter"):
        index = rng.randrange(len(app.tools))
    elif name == "history":
        index = rng.randrange(1, 4)
    return Spot(name, index)


def _fits(name: str, app: App) -> bool:
    if name in ("tool_description", "tool_parameter"):
        return bool(app.tools)
    return name != "history" or app.shape in ("service", "code", "browser", "tau")


def _joined(name: str, text: str, old: str) -> str:
    if name == "system_own":
        return text
    if name in ("system_head", "first_user"):
        return f"{text}\n\n{old}"
    if name == "user_tail":
        return f"{old}\n\n{text}"
    if name in ("system_line", "system_mid"):
        return f"{text}\n{old}"
    if name == "system_inline" and OPEN not in old:
        first, dot, rest = old.partition(". ")
        return f"{first}{dot}{text} {rest}" if dot else f"{old} {text}"
    return f"{old}\n{text}" if name in ("system_tail", "history") else f"{old} ({text})"


def _edit_parameter(tool: dict[str, Any], change: Callable[[str], str]) -> bool:
    """The description of the tool's first parameter that has one."""
    for schema in tool["function"]["parameters"]["properties"].values():
        if isinstance(schema.get("description"), str):
            schema["description"] = change(schema["description"])
            return True
    return False


def _edit_message(message: Message, change: Callable[[str], str]) -> bool:
    content = message["content"]
    if isinstance(content, str) and content:
        message["content"] = change(content)
        return True
    if isinstance(content, list):
        for block in content:
            if block["type"] == "text":
                block["text"] = change(block["text"])
                return True
    return False
