"""Tools in one order: by name, then by their canonical text.

The shapes: OpenAI chat (`{"type": "function", "function": {...}}`), OpenAI Responses (flat),
Anthropic (`name`, `input_schema`), MCP (`name`, `inputSchema`), Bedrock's `toolSpec`, Gemini's
lists of `functionDeclarations`, and built-in tools that have only a `type`. Within a tool the keys
that say what it is come first, as every API documents them, the rest by code points.

A `cache_control` marks a place (everything up to this tool), not a tool: it stays at its place, and
so does a `cachePoint` of Bedrock's, an element of its own.
"""

import json
from collections.abc import Sequence
from typing import Any

from hitpath.canonical.change import Canonical, Change
from hitpath.canonical.json_path import joined
from hitpath.canonical.json_value import PLACE, compact, ordered_json
from hitpath.core import InputError

FIRST_KEYS = ("type", "name", "title", "description", "function", "toolSpec")
_HOLDERS = ("function", "toolSpec")
_MARK = "cache_control"
_LISTS = ("functionDeclarations", "function_declarations")


def stable_tools(
    tools: Sequence[Any], *, sort_keys: bool = True, sort_required: bool = False, path: str = ""
) -> Canonical:
    """The same tools in their stable order, with stable keys; the places of changes are those in
    the list as given. Raises InputError for what is not JSON."""
    if not isinstance(tools, list | tuple):
        raise InputError(PLACE, path, "tools are a list")
    changes: list[Change] = []
    stable: list[Any] = []
    for at, tool in enumerate(tools):
        place = joined(path, at)
        ordered, found = ordered_json(
            tool, sort_keys=sort_keys, sort_required=sort_required, first=FIRST_KEYS, path=place
        )
        changes += found
        stable.append(_with_stable_lists(ordered, place, changes))
    sizes = [len(compact(tool)) for tool in stable]
    marks = _taken_marks(stable)
    order = _order(stable)
    if order != list(range(len(order))):
        changes.append(_moved(order, sizes, path))
    moved = [
        tool if mark is None else ordered_json({**tool, _MARK: mark}, first=FIRST_KEYS).value
        for tool, mark in zip([stable[at] for at in order], marks, strict=True)
    ]
    return Canonical(moved, tuple(changes))


def _taken_marks(tools: list[Any]) -> list[Any]:
    """The marks by their places, taken off the tools; a list with strange members keeps them."""
    if not all(isinstance(tool, dict) for tool in tools):
        return [None] * len(tools)
    return [tool.pop(_MARK) if tool.get(_MARK) is not None else None for tool in tools]


def tool_name(tool: Any) -> str:
    """What a tool is called; built-in ones by their type, "" for none."""
    if not isinstance(tool, dict):
        return ""
    holders = [tool, *(tool.get(key) for key in _HOLDERS)]
    for key in ("name", "type"):
        for holder in holders:
            if isinstance(holder, dict) and isinstance(holder.get(key), str):
                return str(holder[key])
    return ""


def _with_stable_lists(tool: Any, path: str, changes: list[Change]) -> Any:
    """Gemini's tool is a list of functions."""
    if not isinstance(tool, dict):
        return tool
    for key in _LISTS:
        declared = tool.get(key)
        if isinstance(declared, list):
            order = _order(declared)
            if order != list(range(len(order))):
                sizes = [len(compact(one)) for one in declared]
                changes.append(_moved(order, sizes, joined(path, key)))
            tool = {**tool, key: [declared[at] for at in order]}
    return tool


def _order(tools: Sequence[Any]) -> list[int]:
    """Which tool stands at each place. What is nothing but a mark stays."""
    free = [
        at
        for at, tool in enumerate(tools)
        if not isinstance(tool, dict) or tool.keys() != {"cachePoint"}
    ]
    order = list(range(len(tools)))
    told = sorted(free, key=lambda at: (tool_name(tools[at]), compact(tools[at])))
    for at, old in zip(free, told, strict=True):
        order[at] = old
    return order


def _moved(order: list[int], sizes: Sequence[int], path: str) -> Change:
    moved = [at for at, old in enumerate(order) if at != old]
    begin = 1 + sum(sizes[: moved[0]]) + moved[0]
    stop = sum(sizes[: moved[-1] + 1]) + moved[-1] + 1
    told = json.dumps(order, separators=(",", ":"))
    return Change("tool_order", path, begin, stop - begin, told)
