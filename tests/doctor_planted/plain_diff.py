"""The oracle: where two request bodies first differ, by walking both in the order in which they
are rendered (docs: tools, then system text or instructions, then each message's role, content and
other fields), and comparing characters.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

_ORDER = ("tools", "functions", "system", "instructions", "messages", "input", "prompt",
          "tokens")  # fmt: skip
SAID = ("messages", "input")
"""Where a body has its messages."""
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_NOT_THERE = object()


@dataclass(frozen=True, slots=True)
class Place:
    """The deepest value that holds the first difference, and the characters before it there.
    ends: one body is the beginning of the other, so nothing that stood there was changed."""

    path: str
    offset: int
    ends: bool = False


def compact(value: Any) -> str:
    """A value as it stands in the prompt: text as it is, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def common(a: Any, b: Any) -> int:
    """Equal leading characters (or list elements)."""
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


def first_difference(a: dict[str, Any], b: dict[str, Any]) -> Place | None:
    """None for bodies whose prompts are equal."""
    for name in _ORDER:
        x, y = a.get(name), b.get(name)
        if compact(x) == compact(y):
            continue
        if name in SAID:
            place = _messages(name, x or [], y or [])
        elif name in ("prompt", "tokens") and (x is not None or y is not None):
            place = _flat(name, x or "", y or "")
        else:
            place = _values(name, x, y)
        if place is not None:
            return place
    return None


def rendered(body: dict[str, Any]) -> str:
    """The prompt without a tokenizer, by the documented rendering: each part under its head."""
    if "prompt" in body:
        return str(body["prompt"])
    parts = []
    tools = [*body.get("tools", ()), *body.get("functions", ())]
    if tools:
        parts.append(f"<|tools|>\n{compact([_without_marks(t) for t in tools])}<|end|>\n")
    messages = [{"role": "system", "content": body[name]}
                for name in ("system", "instructions") if name in body]  # fmt: skip
    for message in [*messages, *said(body)]:
        content = _plain(message.get("content"))
        text = content if isinstance(content, str) else ""
        rest = {**message, "content": content}
        if content is None or isinstance(content, str):
            del rest["content"]
        del rest["role"]
        parts.append(f"<|{message['role']}|>\n{text}{compact(rest) if rest else ''}<|end|>\n")
    return "".join([*parts, "<|assistant|>\n"])


def value_at(body: Any, path: str) -> Any:
    """The value that a JSON path names, or None where there is none."""
    value = body
    for index, name in _STEP.findall(path):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def steps(path: str) -> list[str]:
    """`messages[1].content` as its steps."""
    return [index or name for index, name in _STEP.findall(path)]


def holds(outer: str, inner: str) -> bool:
    """Whether the value at one path holds, or is, the one at the other."""
    return steps(inner)[: len(steps(outer))] == steps(outer)


def _flat(name: str, x: Any, y: Any) -> Place | None:
    if x == y:
        return None
    offset = common(x, y)
    return Place(name, offset, ends=offset in (len(x), len(y)))


def _values(path: str, x: Any, y: Any) -> Place | None:
    if type(x) is not type(y):
        return Place(path, common(compact(x), compact(y)))
    if isinstance(x, dict):
        for (key_x, part_x), (key_y, part_y) in zip(x.items(), y.items(), strict=False):
            if key_x != key_y:
                return Place(path, common(compact(x), compact(y)))
            place = _values(f"{path}.{key_x}", part_x, part_y)
            if place is not None:
                return place
    elif isinstance(x, list):
        for i, (part_x, part_y) in enumerate(zip(x, y, strict=False)):
            place = _values(f"{path}[{i}]", part_x, part_y)
            if place is not None:
                return place
    text_x, text_y = compact(x), compact(y)
    return None if text_x == text_y else Place(path, common(text_x, text_y))


def said(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a body, or none where its prompt is one text."""
    found: list[dict[str, Any]] = next((body[name] for name in SAID if name in body), [])
    return found


def _messages(name: str, xs: list[dict[str, Any]], ys: list[dict[str, Any]]) -> Place | None:
    for i, (x, y) in enumerate(zip(xs, ys, strict=False)):
        place = _message(f"{name}[{i}]", x, y)
        if place is not None:
            return place
    if len(xs) == len(ys):
        return None
    return Place(f"{name}[{min(len(xs), len(ys))}]", 0, ends=True)


def _message(path: str, x: dict[str, Any], y: dict[str, Any]) -> Place | None:
    if compact(x) == compact(y):
        return None
    if x.get("role") != y.get("role"):
        return Place(f"{path}.role", common(str(x.get("role")), str(y.get("role"))))
    content_x, content_y = _plain(x.get("content")), _plain(y.get("content"))
    if isinstance(content_x, str | None) and isinstance(content_y, str | None):
        content_x, content_y = content_x or "", content_y or ""
        if content_x != content_y:
            return Place(f"{path}.content", common(content_x, content_y))
    else:
        place = _values(f"{path}.content", content_x, content_y)
        if place is not None:
            return place
    rest_x = {k: v for k, v in x.items() if k not in ("role", "content")}
    rest_y = {k: v for k, v in y.items() if k not in ("role", "content")}
    if rest_x.keys() != rest_y.keys():
        longer, shorter = (rest_x, rest_y) if len(rest_x) > len(rest_y) else (rest_y, rest_x)
        extra = next(name for name in longer if name not in shorter)
        return Place(f"{path}.{extra}", 0)
    return _values(path, rest_x, rest_y)


def _plain(content: Any) -> Any:
    """Content of one block of text is that text (docs: the short form of the same prompt)."""
    if isinstance(content, list):
        content = [_without_marks(block) for block in content]
        if len(content) == 1 and content[0].get("type") == "text":
            return content[0]["text"]
    return content


def _without_marks(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}
