"""Constant texts with places to fill: of Python, string.Template, Jinja and LangChain."""

import re
from collections.abc import Callable
from typing import NamedTuple

from hitpath.doctor.lint_value import EMPTY, Value, all_then, constant, heap_of

_PLACES = {
    "format": re.compile(r"\{\{|\}\}|\{([^{}]*)\}"),
    "percent": re.compile(r"%%|%(?:\((\w+)\))?[-+ #0]*(?:\d+|\*)?(?:\.\d+)?[a-zA-Z]"),
    "dollar": re.compile(r"\$\$|\$\{?(\w+)\}?"),
    "jinja": re.compile(r"\{#.{0,500}?#\}|\{\{(.{0,500}?)\}\}|\{%(.{0,500}?)%\}", re.DOTALL),
}
_NAME = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_SPEC = re.compile(r"^[^:!]*")


class Filler(NamedTuple):
    """What fills a place: by name ("" for the next one, digits for its number), and whatever may
    stand anywhere."""

    named: Callable[[str], Value]
    format_of: Callable[[Value, str], Value]


def filled(text: str, style: str, filler: Filler) -> Value:
    """The text with its places filled; marks of what no place names are left out."""
    parts: list[Value] = []
    end = 0
    for found in _PLACES[style].finditer(text):
        parts.append(constant(text[end : found.start()]))
        parts.append(_place(found, style, filler))
        end = found.end()
    parts.append(constant(text[end:]))
    made = all_then(parts)
    return made if len(parts) > 1 else constant(text)


def _place(found: re.Match[str], style: str, filler: Filler) -> Value:
    inner = next((group for group in found.groups() if group is not None), None)
    if style == "jinja":
        if inner is None:
            return EMPTY
        return heap_of(filler.named(name) for name in _NAME.findall(_QUOTED.sub("", inner)))
    if found[0] in ("{{", "}}", "%%", "$$"):
        return EMPTY
    if style == "format":
        name = _SPEC.match(inner or "")
        rest = (inner or "")[len(name[0]) if name else 0 :]
        return filler.format_of(filler.named(name[0] if name else ""), rest.partition(":")[2])
    return filler.named(inner or "")


def names_in(text: str, style: str) -> frozenset[str]:
    """The names of a template's places, up to their first dot or bracket."""
    seen: set[str] = set()

    def note(name: str) -> Value:
        seen.add(re.split(r"[.\[]", name, maxsplit=1)[0])
        return EMPTY

    filled(text, style, Filler(note, lambda value, _: value))
    return frozenset(seen)
