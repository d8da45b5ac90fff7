"""Chat requests as prompts with their structure, rendered as `text.as_bytes` does it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from hitpath.canonical.json_path import joined
from hitpath.doctor.in_row import Steps
from hitpath.doctor.prompt import ASSISTANT, GLUE, SYSTEM, TOOLS, Form, Message, Part, Prompt
from hitpath.traces.conversations import is_mark, plain_message, plain_tools

_SYSTEM_ROLES = ("system", "developer")
_ASSISTANT_ROLES = ("assistant", "model", "function_call", "reasoning")
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "thinking": "thinking",
          "refusal": "refusal", "tool_result": "content",
          "tool_call_response": "response"}  # fmt: skip
"""Types of content blocks, each with the key of its text."""
_RESULTS = ("response", "result")
"""Names of what a tool gave in OpenTelemetry's parts."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a request, where it stands there, and the path of its content, where that is
    another than `path`.content."""

    message: dict[str, Any]
    path: str
    content_path: str | None = None


class PromptBuilder:
    """Puts parts together."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._messages: list[Message] = []
        self._tools: list[int] = []
        self._in_head = True

    def prompt(self, said: Sequence[Said], tools: Sequence[tuple[str, Any]] = ()) -> Prompt:
        """The whole request up to the head of the reply. tools: (path, tool) each. Raises what
        msgspec raises for what is no JSON, and UnicodeEncodeError for a lone surrogate."""
        if tools:
            self._add_tools(tools)
        for number, message in enumerate(said):
            self._add_message(number, message)
        self._glue("<|assistant|>\n", len(said))
        return Prompt(tuple(self._parts), tuple(self._messages), tuple(self._tools))

    def _glue(self, text: str, message: int) -> None:
        self._parts.append(Part("", GLUE, "glue", text, message))

    def _add_tools(self, tools: Sequence[tuple[str, Any]]) -> None:
        self._parts.append(Part("", GLUE, "glue", "<|tools|>\n["))
        for number, (path, tool) in enumerate(tools):
            if number:
                self._parts.append(Part("", GLUE, "glue", ","))
            self._tools.append(len(self._parts))
            plain = plain_tools([tool])[0]
            self._parts.append(Part(path, TOOLS, "json", _json(plain), value=plain))
        self._parts.append(Part("", GLUE, "glue", "]<|end|>\n"))

    def _add_message(self, number: int, said: Said) -> None:
        plain = plain_message(said.message)
        role = str(plain.get("role", ""))
        segment = self._segment(number, role)
        begin = len(self._parts)
        self._glue(f"<|{role}|>\n", number)
        content = plain.get("content")
        if isinstance(content, str):
            path = said.content_path or _content_path(said)
            self._parts.append(Part(path, segment, "string", content, number, steps=("content",)))
        rest = {
            key: value
            for key, value in plain.items()
            if key != "role" and not (key == "content" and isinstance(value, str | None))
        }
        if rest:
            self._add_rest(rest, said, segment, number)
        self._glue("<|end|>\n", number)
        parts = self._parts[begin:]
        key = hash((role, *((part.form, part.text) for part in parts)))
        self._messages.append(Message(said.path, role, segment, begin, len(self._parts), key))

    def _segment(self, number: int, role: str) -> str:
        if role in _SYSTEM_ROLES and self._in_head:
            return SYSTEM
        self._in_head = False
        return ASSISTANT if role in _ASSISTANT_ROLES else f"message {number}"

    def _add_rest(self, rest: dict[str, Any], said: Said, segment: str, number: int) -> None:
        """All that is not role and text, as one JSON object."""
        between = "{"
        for key, value in rest.items():
            self._glue(f"{between}{_json(key)}:", number)
            path, numbers = joined(said.path, key), None
            if key == "content":
                path = said.content_path or path
                numbers = block_numbers(said.message["content"])
            self._add_value(value, path, segment, number, (key,), numbers)
            between = ","
        self._glue("}", number)

    def _add_value(
        self,
        value: Any,
        path: str,
        segment: str,
        number: int,
        steps: Steps,
        numbers: Sequence[int] | None = None,
    ) -> None:
        """numbers: of the elements of a list in the request, where they are others."""
        if isinstance(value, str):
            self._string(value, path, segment, number, steps)
        elif isinstance(value, list) and value:
            for at, item in enumerate(value):
                self._glue("," if at else "[", number)
                its = f"{path}[{at if numbers is None else numbers[at]}]"
                self._add_block(item, its, segment, number, (*steps, at))
            self._glue("]", number)
        else:
            self._add(path, segment, "json", _json(value), number, value, steps)

    def _add_block(self, block: Any, path: str, segment: str, number: int, steps: Steps) -> None:
        """A block of content: its text by itself, whatever else it is as it is."""
        key = _text_key(block)
        if isinstance(block, str):
            self._string(block, path, segment, number, steps)
        elif key is None:
            self._add(path, segment, "json", _json(block), number, block, steps)
        else:
            self._add_members(block, key, path, segment, number, steps)

    def _add_members(
        self, block: Any, key: str, path: str, segment: str, number: int, steps: Steps
    ) -> None:
        """An object of which one member is or holds text."""
        between = "{"
        for name, value in block.items():
            self._glue(f"{between}{_json(name)}:", number)
            between = ","
            inner, its = joined(path, name), (*steps, name)
            if name != key:
                self._add(inner, segment, "json", _json(value), number, value, its)
            elif isinstance(value, dict):
                self._add_members(value, "content", inner, segment, number, its)
            else:
                self._add_value(value, inner, segment, number, its)
        self._glue("}", number)

    def _string(self, text: str, path: str, segment: str, number: int, steps: Steps) -> None:
        self._glue('"', number)
        self._add(path, segment, "escaped", text, number, None, steps)
        self._glue('"', number)

    def _add(
        self,
        path: str,
        segment: str,
        form: Form,
        text: str,
        number: int,
        value: Any,
        steps: Steps,
    ) -> None:
        self._parts.append(Part(path, segment, form, text, number, value, steps=steps))


def _text_key(block: Any) -> str | None:
    """Under which key a block of content has its text; None where it has none. Bedrock's have no
    type: a text, or `toolResult` with content of its own."""
    if not isinstance(block, dict):
        return None
    if "type" in block:
        key = _TEXTS.get(str(block["type"]))
        keys = _RESULTS if key in _RESULTS else (key,)
        return next((k for k in keys if k and isinstance(block.get(k), str | list)), None)
    if isinstance(block.get("text"), str):
        return "text"
    result = block.get("toolResult")
    has_content = isinstance(result, dict) and isinstance(result.get("content"), list)
    return "toolResult" if has_content else None


def _content_path(said: Said) -> str:
    """Content of one block of text stands as that text."""
    content = said.message.get("content")
    if isinstance(content, str):
        return joined(said.path, "content")
    return f"{joined(said.path, 'content')}[{block_numbers(content)[0]}].text"


def block_numbers(content: Any) -> list[int]:
    """The numbers of the elements of a content that are part of the prompt."""
    return [number for number, block in enumerate(content) if not is_mark(block)]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
