"""Calls of tools and their results, in every form of a request: who calls, and by which id."""

import re

from hitpath.canonical.tail import HEADER
from hitpath.doctor.prompt import Message, Part, Prompt

_RESULT_IDS = ("tool_call_id", "tool_use_id", "call_id")
_CALLS = ("tool_use", "function", "tool_call", "function_call", "server_tool_use", "mcp_tool_use")
_RESULT_ROLES = ("tool", "function")
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
    if isinstance(value, dict) and value.get("type") == "tool_result":  # it holds nothing
        told = value.get("tool_use_id")
        return told if isinstance(told, str) else ""
    return ""


def is_call_id(part: Part, path: str) -> bool:
    """Whether a path in a part is the field with the id of a call, as the call or its result has
    it: no id that a tool was given or gave back."""
    if part.path.endswith(_RESULT_IDS):
        return True
    return bool(call_id(part)) and path in (f"{part.path}.id", f"{part.path}.call_id")


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
    return is_call_role(message.role) or (
        message.role in ("assistant", "model") and bool(call_ids(prompt, message))
    )


def is_call_role(role: str) -> bool:
    """Whether a message is an item of the responses API that calls a tool (`function_call`,
    `custom_tool_call`, `local_shell_call`)."""
    return role.endswith("_call")


def _is_result_role(role: str) -> bool:
    return role in _RESULT_ROLES or role.endswith("_call_output")


def is_result(prompt: Prompt, message: Message) -> bool:
    """Whether a message answers a call of a tool."""
    return _is_result_role(message.role) or (
        message.role not in ("assistant", "model")
        and not is_call_role(message.role)
        and bool(call_ids(prompt, message))
    )


def is_told_by_a_tool(part: Part, role: str) -> bool:
    """Whether a text is what a tool gave back."""
    return _is_result_role(role) or _IN_A_RESULT.search(part.path) is not None


_IN_A_RESULT = re.compile(r"\.content\[\d+\]\.(?:content|output)\b")


def without_ids(prompt: Prompt, message: Message) -> int:
    """Equal for messages that are the same to the letter but for the ids of their calls. A short
    id, as `1`, stands in other words too: it is left out of its own field alone."""
    parts = prompt.parts[message.begin : message.end]
    texts = [
        part.text.partition(HEADER)[0]
        for part in parts
        if part.form != "glue" and not part.path.endswith(_RESULT_IDS)
    ]
    text = "\n".join(texts)
    for one in call_ids(prompt, message):
        text = text.replace(f'"{one}"' if len(one) < _LONG_ID else one, "")
    return hash((message.role, text))


_LONG_ID = 6
