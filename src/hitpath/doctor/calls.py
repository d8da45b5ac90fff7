"""Calls of tools and their results, in every form of a request: who calls, and by which id."""

import re

from hitpath.doctor.prompt import Message, Part, Prompt

_RESULT_IDS = ("tool_call_id", "tool_use_id", "call_id")
_CALLS = ("tool_use", "function", "tool_call", "function_call", "server_tool_use", "mcp_tool_use")
_RESULT_ROLES = ("tool", "function", "function_call_output")
_MOST_KNOWN = 1 << 20
_ids: dict[int, frozenset[str]] = {}


def call_ids(prompt: Prompt, message: Message) -> frozenset[str]:
    """The ids of the calls of tools that a message makes or answers."""
    known = _ids.get(message.key)
    if known is None:
        if len(_ids) >= _MOST_KNOWN:
            _ids.clear()
        parts = prompt.parts[message.begin : message.end]
        known = _ids[message.key] = frozenset(i for part in parts if (i := call_id(part)))
    return known


def call_id(part: Part) -> str:
    """The id in a part that is a call, or names the one that it answers; "" in others."""
    if part.path.endswith(_RESULT_IDS):
        return part.text.strip('"')
    value = part.value
    if isinstance(value, dict) and (value.get("type") in _CALLS or "function" in value):
        told = value.get("id") or value.get("call_id")
        return told if isinstance(told, str) else ""
    return ""


def calls_of(prompt: Prompt) -> dict[str, tuple[str, str]]:
    """The tool, and with what it is called, by the call's id."""
    found: dict[str, tuple[str, str]] = {}
    for part in prompt.parts:
        if isinstance(part.value, dict) and (call := call_id(part)):
            inner = part.value.get("function")
            told = inner if isinstance(inner, dict) else part.value
            given = told.get("arguments", told.get("input"))
            found[call] = str(told.get("name")), str(given)
    return found


def is_call(prompt: Prompt, message: Message) -> bool:
    """Whether a message calls a tool."""
    return message.role == "function_call" or (
        message.role in ("assistant", "model") and bool(call_ids(prompt, message))
    )


def is_result(prompt: Prompt, message: Message) -> bool:
    """Whether a message answers a call of a tool."""
    return message.role in _RESULT_ROLES or (
        message.role not in ("assistant", "model", "function_call")
        and bool(call_ids(prompt, message))
    )


def is_told_by_a_tool(part: Part, role: str) -> bool:
    """Whether a text is what a tool gave back."""
    return role in _RESULT_ROLES or _IN_A_RESULT.search(part.path) is not None


_IN_A_RESULT = re.compile(r"\.content\[\d+\]\.(?:content|output)\b")


def without_ids(prompt: Prompt, message: Message) -> int:
    """Equal for messages that are the same to the letter but for the ids of their calls."""
    text = prompt.text_of(message)
    for one in call_ids(prompt, message):
        text = text.replace(one, "")
    return hash((message.role, text))
