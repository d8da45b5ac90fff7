"""Breakpoints of a request for a provider's cache: where its blocks end, and which are marked.

Marks are Anthropic's `cache_control` of a tool, a block of system text or of content, or at the top
of the body (automatic: on the last block), and `cachePoint` of Bedrock's Converse, an element of
its own whose place is marked (docs.claude.com and AWS, "Prompt caching").
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hitpath.doctor.requests import Request


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked block: its number from the beginning of the prompt, where it ends as a share of the
    rendered prompt, and the lifetime that it asks for (`ttl`)."""

    block: int
    end_frac: float
    ttl: object = None


def marks_of(request: Request | None) -> tuple[Mark, ...] | None:
    """The breakpoints of a body, in the order tools, system, messages. None where the row holds no
    body, which alone has marks."""
    body = None if request is None else request.body
    if request is None or not isinstance(body, dict):
        return None
    found: list[Mark] = []
    ends = _ends(request)
    number = -1
    for number, (path, block) in enumerate(_blocks(body)):
        mark = _mark_of(block)
        if mark is not None:
            found.append(Mark(number, ends.get(path, 0.0), mark.get("ttl")))
    automatic = body.get("cache_control")
    if isinstance(automatic, dict) and number >= 0:
        found.append(Mark(number, 1.0, automatic.get("ttl")))
    return tuple(found)


def _mark_of(block: object) -> dict[str, Any] | None:
    if not isinstance(block, dict):
        return None
    told = block.get("cache_control") or block.get("cachePoint")
    return told if isinstance(told, dict) else None


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """(path, block) of a tool, a block of text, or a message that is one text. A cachePoint is none
    by itself: it marks the block before it."""
    waiting: tuple[str, object] | None = None
    for path, block in _elements(body):
        if isinstance(block, dict) and "cachePoint" in block and waiting is not None:
            waiting = waiting[0], block
            continue
        if waiting is not None:
            yield waiting
        waiting = path, block
    if waiting is not None:
        yield waiting


def _elements(body: dict[str, Any]) -> Iterator[tuple[str, object]]:
    config = body.get("toolConfig")
    held = config.get("tools") if isinstance(config, dict) else None
    for path, tools in (("tools", body.get("tools")), ("toolConfig.tools", held)):
        yield from ((f"{path}[{number}]", tool) for number, tool in enumerate(tools or ()))
    contents = [("system", body.get("system"))]
    contents += [
        (f"messages[{number}].content", message.get("content"))
        for number, message in enumerate(body.get("messages") or ())
        if isinstance(message, dict)
    ]
    for path, content in contents:
        if isinstance(content, list):
            yield from ((f"{path}[{number}]", block) for number, block in enumerate(content))
        elif content is not None:
            yield path, None


def _ends(request: Request) -> dict[str, float]:
    """Where what stands at the path of a block ends in the rendered prompt, as a share of it."""
    prompt = request.prompt
    whole = max(prompt.starts[-1], 1)
    ends: dict[str, float] = {}
    for number, part in enumerate(prompt.parts):
        found = _BLOCK.match(part.path)
        if found is not None:
            end = prompt.starts[number + 1] / whole
            ends[found[1]] = ends[found[0]] = end  # of the list, and of its block
    return ends


_BLOCK = re.compile(
    r"((?:toolConfig\.)?tools|system|messages\[\d+\]\.content)(?:\[\d+\])?(?![^.\[])"
)
