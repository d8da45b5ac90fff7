"""Marks around planted text: a planter wraps what it varies, the marks are taken out of the body
and become spans (path, first and last character, kind).

A mark is U+E000 kind `|` text U+E001; both are private-use characters that no base text holds.
"""

from dataclasses import dataclass
from typing import Any

OPEN, CLOSE = "\ue000", "\ue001"


@dataclass(frozen=True, slots=True)
class Span:
    """Planted text in the string at `path`: characters start to end. kinds: the true name first,
    behind it names that are as right for this surface form."""

    path: str
    start: int
    end: int
    kinds: tuple[str, ...]


def mark(kinds: str, text: str) -> str:
    """Text that a planter varies. kinds: `clock`, or `white_space/hidden_characters`."""
    return f"{OPEN}{kinds}|{text}{CLOSE}"


def unmarked(text: str) -> str:
    """The text without its marks."""
    return _split(text, "")[0]


def strip(value: Any, path: str = "") -> tuple[Any, list[Span]]:
    """(the JSON value without marks, the spans of all its strings)."""
    if isinstance(value, str):
        return _split(value, path)
    spans: list[Span] = []
    if isinstance(value, dict):
        fields = {}
        for key, part in value.items():
            clean_key, _ = _split(key, "")
            fields[clean_key], found = strip(part, f"{path}.{clean_key}" if path else clean_key)
            spans += found
        return fields, spans
    if isinstance(value, list):
        parts = []
        for i, part in enumerate(value):
            clean, found = strip(part, f"{path}[{i}]")
            parts.append(clean)
            spans += found
        return parts, spans
    return value, spans


def _split(text: str, path: str) -> tuple[str, list[Span]]:
    """Marks may not stand inside each other."""
    if OPEN not in text:
        return text, []
    pieces, spans, length = [], [], 0
    rest = text
    while OPEN in rest:
        before, rest = rest.split(OPEN, 1)
        inside, rest = rest.split(CLOSE, 1)
        kinds, planted = inside.split("|", 1)
        assert OPEN not in planted, "marks inside each other"
        pieces += [before, planted]
        start = length + len(before)
        length = start + len(planted)
        spans.append(Span(path, start, length, tuple(kinds.split("/"))))
    return "".join([*pieces, rest]), spans
