"""Blocks of a message's content, whoever wrote them, as chat templates want them.

Known are the conventions' parts (gen-ai-input-messages.json: text, tool_call, tool_call_response,
reasoning), Anthropic's blocks (text, tool_use, tool_result, thinking) and Bedrock's (text,
toolUse, toolResult). A message that mixes tool results with text becomes several, in this order.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from hitpath.traces.conversations import Message

_KEPT = ("role", "name", "tool_calls", "tool_call_id", "reasoning_content")
_TEXTS = (None, "text", "input_text", "output_text")
_CALLS = {"tool_call": ("id", "arguments"), "tool_use": ("id", "input")}
_RESULTS = {"tool_call_response": ("id", "response"), "tool_result": ("tool_use_id", "content")}
_THOUGHTS = {"reasoning": "content", "thinking": "thinking"}
_SCHEMAS = ("parameters", "input_schema", "inputSchema")
_BEDROCK = ("toolUse", "toolResult", "image", "document", "video", "cachePoint", "guardContent")


def as_block(value: Any) -> bool:
    """Whether a value is a block of content, of a known writer or of any that names its type."""
    return isinstance(value, dict) and (
        isinstance(value.get("type"), str)
        or isinstance(value.get("text"), str)
        or any(name in value for name in _BEDROCK)
    )


def text_of(block: Any) -> str | None:
    """The text of a block that is text and nothing else."""
    if isinstance(block, dict) and block.get("type") in _TEXTS:
        text = block.get("text")
        if isinstance(text, str):
            return text
    return None


@dataclass(slots=True)
class Sorted:
    """Blocks of a message by what they are, each with its number in the content."""

    texts: list[tuple[int, Any]] = field(default_factory=list)
    calls: list[tuple[int, Any]] = field(default_factory=list)
    results: list[tuple[int, Message]] = field(default_factory=list)
    thoughts: list[tuple[int, str]] = field(default_factory=list)

    @property
    def is_results_alone(self) -> bool:
        """Whether nothing but results stands in it."""
        return bool(self.results) and not self.texts and not self.calls


def sorted_blocks(content: list[Any]) -> Sorted:
    """What a message's content holds."""
    found = Sorted()
    for number, block in enumerate(content):
        if (call := _call(block)) is not None:
            found.calls.append((number, call))
        elif (result := _result(block)) is not None:
            found.results.append((number, result))
        elif (thought := _thought(block)) is not None:
            found.thoughts.append((number, thought))
        else:
            text = text_of(block)
            found.texts.append((number, block if text is None else {"type": "text", "text": text}))
    return found


def as_chat(message: Message) -> list[Message]:
    """One message, in the form of OpenAI's chat: content as text (or as parts that a tokenizer
    will refuse with their place), calls as `tool_calls`, each result a message of its own."""
    content = message.get("content")
    kept: Message = {k: message[k] for k in _KEPT if message.get(k) is not None}
    if not isinstance(content, list):
        return [{**kept, "content": "" if content is None else content}]
    found = sorted_blocks(content)
    results = [result for _, result in found.results]
    if found.is_results_alone:
        return results
    texts: Any = [text for _, text in found.texts]
    if len(texts) == 1 and text_of(texts[0]) is not None:
        texts = texts[0]["text"]
    told: Message = {**kept, "content": texts or ""}
    if found.calls:
        told["tool_calls"] = [call for _, call in found.calls]
    if found.thoughts:
        told["reasoning_content"] = "\n".join(thought for _, thought in found.thoughts)
    return [*results, told]


def as_tool(tool: Any) -> Any:
    """A tool's definition in the form of OpenAI's chat; what is no function stays as it is."""
    if not isinstance(tool, dict) or "function" in tool or not isinstance(tool.get("name"), str):
        return tool
    told = {k: tool[k] for k in ("name", "description") if tool.get(k) is not None}
    for name in _SCHEMAS:
        if tool.get(name) is not None:
            told["parameters"] = tool[name]
            break
    return {"type": "function", "function": told}


def _call(block: Any) -> Any:
    if not isinstance(block, dict):
        return None
    if isinstance(block.get("toolUse"), dict):
        used = block["toolUse"]
        return _function_call(used.get("toolUseId"), used.get("name"), used.get("input"))
    names = _CALLS.get(str(block.get("type")))
    if names is None:
        return None
    return _function_call(block.get(names[0]), block.get("name"), block.get(names[1]))


def _function_call(number: Any, name: Any, arguments: Any) -> Any:
    text = arguments if isinstance(arguments, str) else _json(arguments or {})
    function = {"name": "" if name is None else str(name), "arguments": text}
    return {"id": "" if number is None else str(number), "type": "function", "function": function}


def _result(block: Any) -> Message | None:
    if not isinstance(block, dict):
        return None
    if isinstance(block.get("toolResult"), dict):
        told = block["toolResult"]
        number, content = told.get("toolUseId"), told.get("content")
    elif (names := _RESULTS.get(str(block.get("type")))) is not None:
        # `result` was the name of `response` up to semantic-conventions 1.37.
        number, content = block.get(names[0]), block.get(names[1], block.get("result"))
    else:
        return None
    return {
        "role": "tool",
        "tool_call_id": "" if number is None else str(number),
        "content": _result_text(content),
    }


def _result_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content:
        texts = [text_of(block) for block in content]
        if all(text is not None for text in texts):
            return "\n".join(text for text in texts if text is not None)
    return "" if content is None else _json(content)


def _thought(block: Any) -> str | None:
    if not isinstance(block, dict):
        return None
    name = _THOUGHTS.get(str(block.get("type")))
    value = block.get(name) if name is not None else None
    return value if isinstance(value, str) else None


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
