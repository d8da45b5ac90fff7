"""Arguments of calls: JSON that stands as text in JSON.

A client that reads a call and writes it again writes its arguments its own way. Whoever takes them
parses them, so that order and white space mean nothing there.
"""

from typing import Any

import msgspec

from hitpath.canonical import canonical_json_text

_NAME = "arguments"
_MOST_DEPTH = 8
_CALLS = ("tool_calls", "function", "function_call")


def with_arguments(value: Any, *, sort_keys: bool, depth: int = 0) -> Any:
    """A call, or a list of calls, with its arguments in canonical JSON; sort_keys: else without
    white space, keys as they are. What is no call stays, and text that is no JSON."""
    if isinstance(value, list) and depth < _MOST_DEPTH:
        return [with_arguments(one, sort_keys=sort_keys, depth=depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    found = dict(value)
    for name, inner in value.items():
        if name == _NAME and isinstance(inner, str):
            found[name] = canonical_arguments(inner, sort_keys=sort_keys)
        elif name in _CALLS and depth < _MOST_DEPTH:
            found[name] = with_arguments(inner, sort_keys=sort_keys, depth=depth + 1)
    return found


def canonical_arguments(text: str, *, sort_keys: bool) -> str:
    """One text of arguments; as it is where it is no JSON of an object."""
    if not text.lstrip().startswith("{"):
        return text
    if sort_keys:
        return canonical_json_text(text).value
    try:
        msgspec.json.decode(text, type=dict)
        return msgspec.json.format(text, indent=-1)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return text
