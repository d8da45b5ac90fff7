"""Where two built prompts part: strings, token ids, lists of messages, whole request bodies."""

import re
from dataclasses import dataclass, replace
from typing import Any

from hitpath.canonical import (
    canonical_json,
    find_volatile,
    normalise_space,
    normalise_unicode,
    stable_tools,
)
from hitpath.canonical.json_path import joined
from hitpath.canonical.tools import tool_name

_CONTEXT = 40
KEY = re.compile(r"""["'][\w $.-]{1,80}["']\s*:""")
"""A key of an object as JSON and Python write it."""
_BETWEEN = re.compile(r"""[\s,;:|"'(){}\[\]]+""")
_LISTS = ("messages", "input")
_IN_ORDER = frozenset(["tools", "functions", "response_format", "output_format", "output_config"])
"""Parts of a body that templates print with their keys as they come."""
_NO_PROMPT = frozenset(
    ["metadata", "client_metadata", "headers", "extra_headers", "extra_query", "request_id",
     "trace_id", "idempotency_key", "seed", "safety_identifier", "store", "stream",
     "stream_options", "timeout"]
)  # fmt: skip
"""Fields of a body that no model sees and no cache is chosen by."""
_NO_TEXT = frozenset(["id", "metadata", "created_at", "createdAt"])
"""Fields of a message with a role that are its store's."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first one. char_offset: in the string at json_path (of token ids: the token's number;
    of tools: in their JSON text). `first` and `second`: the text around it."""

    kind: str
    json_path: str
    char_offset: int
    first: str
    second: str


def first_difference(first: Any, second: Any, free_tail: bool = False) -> Difference | None:
    """None where the first is the beginning of the second. free_tail: differences within the
    last message, behind other messages or instructions, are none."""
    if isinstance(first, str) and isinstance(second, str):
        return _of_texts(first, second, "", may_grow=True)
    if isinstance(first, dict) and isinstance(second, dict):
        return _of_bodies(first, second, free_tail)
    if isinstance(first, list) and isinstance(second, list):
        if all(isinstance(one, int) for one in (*first, *second)):
            return _of_tokens(first, second)
        return _of_messages(first, second, "messages", free_tail and len(first) > 1)
    return Difference("edited_message", "", 0, type(first).__name__, type(second).__name__)


def _of_texts(first: str, second: str, path: str, may_grow: bool = False) -> Difference | None:
    if first == second or (may_grow and second.startswith(first)):
        return None
    at = _common(first, second)
    return Difference(_kind(first, second, at), path, at, _around(first, at), _around(second, at))


def _of_tokens(first: list[int], second: list[int]) -> Difference | None:
    at = _common(first, second)
    if at == len(first):
        return None
    told = [", ".join(map(str, ids[max(0, at - 4) : at + 4])) for ids in (first, second)]
    return Difference("edited_message", "", at, told[0], told[1])


def _of_bodies(first: dict[str, Any], second: dict[str, Any], free_tail: bool) -> Difference | None:
    """Everything that is no list of messages, then these."""
    lists = [name for name in _LISTS if isinstance(first.get(name), list)]
    rest = [name for name in (*first, *second) if name not in lists and name not in _NO_PROMPT]
    order = sorted(dict.fromkeys(rest), key=lambda name: (name not in _IN_ORDER, name))
    for name in order:
        if name not in first or name not in second:
            held = "first" if name in first else "second"
            return Difference("context_changed", name, 0, f"only in the {held}", "")
        if name in ("tools", "functions"):
            found = _of_tools(first[name], second[name], name)
        else:
            found = _of_values(first[name], second[name], name, name in _IN_ORDER)
        if found is not None:
            return found
    has_more = any(first.get(name) for name in ("system", "instructions"))
    for name in lists:
        if not isinstance(second.get(name), list):
            return Difference("edited_message", name, 0, "a list", type(second[name]).__name__)
        free = free_tail and (has_more or len(first[name]) > 1)
        found = _of_messages(first[name], second[name], name, free)
        if found is not None:
            return found
    return None


def _of_messages(
    first: list[Any], second: list[Any], path: str, free_tail: bool
) -> Difference | None:
    for at, message in enumerate(first):
        place = joined(path, at)
        if at == len(second):
            kind = "truncated_history"
            return Difference(kind, place, 0, _around(_written(message), 0), "(no such message)")
        is_last = at == len(first) - 1
        found = _of_values(_shown(message), _shown(second[at]), place, False)
        if found is None or (is_last and free_tail and _is_tail(message, second, at)):
            continue
        if found.kind == "edited_message" and _is_cut(first[at:], second[at:]):
            return replace(found, kind="truncated_history")
        return found
    return None


def _shown(message: Any) -> Any:
    """A message without what only its store knows it by."""
    if not isinstance(message, dict) or "role" not in message:
        return message
    return {key: value for key, value in message.items() if key not in _NO_TEXT}


def _is_cut(first: list[Any], second: list[Any]) -> bool:
    """Whether messages at the beginning were left out, and the rest follows: a window that moved
    on."""
    return any(first[k:] == second[: len(first) - k] for k in range(1, len(first)))


def _is_tail(message: Any, second: list[Any], at: int) -> bool:
    """Whether the last message may differ: it is last in both, or it has lost only its end."""
    if at == len(second) - 1:
        return _role(message) == _role(second[at]) and _role(message) not in ("system", "developer")
    old, new = (
        one.get("content") if isinstance(one, dict) else one for one in (message, second[at])
    )
    return isinstance(old, str) and isinstance(new, str) and old.startswith(new)


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _of_values(first: Any, second: Any, path: str, in_order: bool) -> Difference | None:
    if isinstance(first, str) and isinstance(second, str):
        return _of_texts(first, second, path)
    if isinstance(first, dict) and isinstance(second, dict):
        if in_order and list(first) != list(second):
            return _of_written(first, second, path)
        for key in dict.fromkeys((*first, *second)):
            if key not in first or key not in second:
                return _of_written(first, second, path)
            found = _of_values(first[key], second[key], joined(path, key), in_order)
            if found is not None:
                return found
        return None
    if isinstance(first, list) and isinstance(second, list):
        for at, (one, other) in enumerate(zip(first, second, strict=False)):
            found = _of_values(one, other, joined(path, at), in_order)
            if found is not None:
                return found
        return None if len(first) == len(second) else _of_written(first, second, path)
    if first == second and type(first) is type(second):
        return None
    return _of_written(first, second, path)


def _of_tools(first: Any, second: Any, path: str) -> Difference | None:
    """Tools: the same in another order are told at the first that moved."""
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        names, others = list(map(tool_name, first)), list(map(tool_name, second))
        if names != others and sorted(names) == sorted(others):
            at = _common(names, others)
            return Difference("tool_order", joined(path, at), 0, names[at], others[at])
    return _of_values(first, second, path, True)


def _of_written(first: Any, second: Any, path: str) -> Difference:
    """Values as JSON text."""
    texts = [_written(value) for value in (first, second)]
    at = _common(*texts)
    kind = _order_kind(first, second)
    return Difference(kind, path, at, _around(texts[0], at), _around(texts[1], at))


def _order_kind(first: Any, second: Any) -> str:
    if first == second and not isinstance(first, dict | list):
        return "number_format"
    if _stable(first, False) == _stable(second, False):
        return "key_order"
    if _stable(first, True) == _stable(second, True):
        return "array_order"
    if isinstance(first, list) and isinstance(second, list):
        ones, others = sorted(map(_written, first)), sorted(map(_written, second))
        if ones == others:
            return "array_order"
    return "edited_message"


def _stable(value: Any, sort_required: bool) -> str:
    return _written(stable_tools([value], sort_required=sort_required).value)


def _written(value: Any) -> str:
    return canonical_json(value, sort_keys=False).value


def _kind(first: str, second: str, at: int) -> str:
    """What sort of text differs there."""
    kinds = [
        next((one.kind for one in find_volatile(text) if one.start <= at < one.stop), None)
        for text in (first, second)
    ]
    if kinds[0] is not None and kinds[0] == kinds[1]:
        return kinds[0]
    if normalise_unicode(first).value == normalise_unicode(second).value:
        return "unicode_form"
    one, other = normalise_space(first), normalise_space(second)
    if one.value == other.value:
        hidden = any(c.kind == "hidden_characters" for c in (*one.changes, *other.changes))
        return "hidden_characters" if hidden else "white_space"
    if sorted(_BETWEEN.split(first)) == sorted(_BETWEEN.split(second)):
        are_keys = all(KEY.search(_around(text, at)) for text in (first, second))
        return "key_order" if are_keys else "array_order"
    if kinds[0] or kinds[1]:
        return str(kinds[0] or kinds[1])
    return "edited_message"


def _around(text: str, at: int) -> str:
    """An excerpt with the character marked."""
    before, here, behind = text[max(0, at - _CONTEXT) : at], text[at : at + 1], text[at + 1 :]
    return f"{before}⟦{here or 'end'}⟧{behind[:_CONTEXT]}"


def _common(first: Any, second: Any) -> int:
    for at, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return at
    return min(len(first), len(second))
