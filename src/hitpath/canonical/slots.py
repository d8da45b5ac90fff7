"""Where the texts of a request body stand: OpenAI chat and Responses, Anthropic messages, Bedrock's
Converse.

`parts_of` and `texts_of` walk over a body that the caller owns and may change in place.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from hitpath.canonical.json_path import joined
from hitpath.canonical.json_value import DATA_KEYS

Author = Literal["instructions", "tools", "user", "assistant", "tool"]
"""Who wrote a text: the application (instructions, tools), the user, the model, a tool's run."""

TEXT_PARTS = frozenset(["text", "input_text", "output_text"])
MESSAGE_LISTS = ("messages", "input")
INSTRUCTIONS = ("system", "instructions")
_AUTHORS: dict[Any, Author] = {
    "system": "instructions",
    "developer": "instructions",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


@dataclass(slots=True)
class Slot:
    """A text of a body: `holder[key]`, at `path`."""

    holder: Any
    key: str | int
    path: str
    author: Author

    @property
    def text(self) -> str:
        return str(self.holder[self.key])

    def put(self, text: str) -> None:
        self.holder[self.key] = text


def is_text_part(part: Any) -> bool:
    """Whether a part of a content is text."""
    if not isinstance(part, dict) or not isinstance(part.get("text"), str):
        return False
    kind = part.get("type")
    return kind is None or (isinstance(kind, str) and kind in TEXT_PARTS)


def author_of(message: Any) -> Author:
    """Who wrote a message or an item of a Responses input."""
    if not isinstance(message, dict):
        return "user"
    kind = message.get("type")
    if isinstance(kind, str) and kind.endswith("_output"):
        return "tool"
    if isinstance(kind, str) and (kind.endswith("_call") or kind == "reasoning"):
        return "assistant"
    role = message.get("role")
    return _AUTHORS.get(role, "user") if isinstance(role, str) else "user"


def texts_of(body: dict[str, Any]) -> Iterator[Slot]:
    """Every text that a person or an application wrote or a tool gave, in the order of a prompt:
    descriptions of tools, instructions, messages."""
    for holder, name, path in tool_lists(body):
        yield from descriptions_of(holder[name], path)
    for name in INSTRUCTIONS:
        yield from _content(body, name, name, "instructions")
    for name in MESSAGE_LISTS:
        if isinstance(body.get(name), str):
            yield Slot(body, name, name, "user")
        elif isinstance(body.get(name), list):
            for at in range(len(body[name])):
                yield from _message(body[name], at, joined(name, at))


def tool_lists(body: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """(holder, key, path) of each list of tools: `holder[key]`. Bedrock's Converse has its own in
    `toolConfig`."""
    config = body.get("toolConfig")
    holders = [(body, "tools", ""), (body, "functions", "")]
    if isinstance(config, dict):
        holders.append((config, "tools", "toolConfig"))
    for holder, name, path in holders:
        if isinstance(holder.get(name), list):
            yield holder, name, joined(path, name)


def _message(messages: list[Any], at: int, path: str) -> Iterator[Slot]:
    message = messages[at]
    if isinstance(message, str):
        yield Slot(messages, at, path, "user")
    if not isinstance(message, dict):
        return
    author = author_of(message)
    for key in ("content", "output"):
        yield from _content(message, key, joined(path, key), author)


def _content(holder: Any, key: str | int, path: str, author: Author) -> Iterator[Slot]:
    """A text, or a list of parts with texts; results of tools hold such a content once more."""
    content = holder.get(key) if isinstance(holder, dict) else holder[key]
    if isinstance(content, str):
        yield Slot(holder, key, path, author)
    elif isinstance(content, list):
        for at, part in enumerate(content):
            place = joined(path, at)
            if isinstance(part, str):
                yield Slot(content, at, place, author)
            elif is_text_part(part):
                yield Slot(part, "text", joined(place, "text"), author)
            elif isinstance(part, dict) and part.get("type") == "tool_result":
                yield from _result(part, joined(place, "content"))


def _result(block: dict[str, Any], path: str) -> Iterator[Slot]:
    """The content of Anthropic's tool_result: a text, or parts (no results within)."""
    content = block.get("content")
    if isinstance(content, str):
        yield Slot(block, "content", path, "tool")
    elif isinstance(content, list):
        for at, part in enumerate(content):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield Slot(part, "text", joined(joined(path, at), "text"), "tool")


def descriptions_of(value: Any, path: str) -> Iterator[Slot]:
    """The descriptions in tools and their schemas, at any depth, in order. What stands in
    `default`, `enum` or `examples` is data, unless a parameter has that name."""
    todo: list[tuple[Any, str, bool]] = [(value, path, False)]
    while todo:
        holder, place, in_properties = todo.pop()
        below: list[tuple[Any, str, bool]] = []
        if isinstance(holder, list):
            below = [(member, joined(place, at), False) for at, member in enumerate(holder)]
        elif isinstance(holder, dict):
            if isinstance(holder.get("description"), str) and not in_properties:
                yield Slot(holder, "description", joined(place, "description"), "tools")
            below = [
                (member, joined(place, key), key == "properties" and not in_properties)
                for key, member in holder.items()
                if in_properties or key not in DATA_KEYS
            ]
        todo += [one for one in reversed(below) if isinstance(one[0], dict | list)]
