"""Tools of a request against those of its relative: which there are, in which order, what changed
inside them. Tools are matched by name, so that an order that changed hides nothing."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from hitpath.canonical.tools import tool_name
from hitpath.doctor.change import Change, Kind
from hitpath.doctor.jsondiff import JsonDifference, OffsetsWithin, json_differences, path_of
from hitpath.doctor.leaf import leaf_changes
from hitpath.doctor.prompt import TOOLS, Part, Prompt
from hitpath.doctor.textdiff import common_length

Stretch = tuple[int, int]
_MOST_SHOWN = 12


def compare_tools(there: Prompt, here: Prompt) -> tuple[list[Change], list[Stretch]]:
    """(changes, stretches of this prompt that the relative has too)."""
    old, new = _tools(there), _tools(here)
    starts = here.starts
    begins = {number: starts[number] for number in here.tools}
    if [part.text for part in old] == [part.text for part in new]:
        return [], [(starts[n], starts[n + 1]) for n in here.tools]
    names, other_names = _names(old), _names(new)
    changes = list(_of_the_set(there, here, names, other_names))
    by_name = dict(zip(names, old, strict=True))
    kept: list[Stretch] = []
    for name, part, number in zip(other_names, new, here.tools, strict=True):
        if name in by_name:
            found = [
                replace(change, heading=change.heading or name)
                for change in _inside(by_name[name], part, begins[number])
            ]
            changes += found
            kept += _rest(starts[number], starts[number + 1], found)
    return changes, kept


def _tools(prompt: Prompt) -> list[Part]:
    return [prompt.parts[number] for number in prompt.tools]


def _names(tools: Sequence[Part]) -> list[str]:
    """The names, a number behind those that stand there again."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for part in tools:
        name = tool_name(part.value)
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return names


def _of_the_set(
    there: Prompt, here: Prompt, names: list[str], other_names: list[str]
) -> Iterator[Change]:
    """Tools that came or went, and those of both in another order."""
    path = _holder(here) or _holder(there) or TOOLS
    there_path = _holder(there) or path
    texts = ["[" + ",".join(part.text for part in _tools(p)) + "]" for p in (there, here)]
    first = common_length(*texts)
    starts = here.starts
    begin = starts[here.tools[0]] - 1 if here.tools else 0
    at = begin + len(texts[1][:first].encode())
    was, now = set(names), set(other_names)
    gone = [name for name in names if name not in now]
    came = {name: None for name in other_names if name not in was}
    if gone or came:
        told = [f"+{name}" for name in came] + [f"-{name}" for name in gone]
        new = [n for n, name in zip(here.tools, other_names, strict=True) if name in came]
        stop = at + sum(starts[n + 1] - starts[n] for n in new)
        yield Change("tool_set", path, TOOLS, first, at, stop, *_shown(texts, first),
                     detail=" ".join(told[:_MOST_SHOWN]), there_path=there_path)  # fmt: skip
    common = [name for name in names if name in now]
    others = [name for name in other_names if name in was]
    if common != others:
        moved = {b for a, b in zip(common, others, strict=True) if a != b}
        size = sum(
            starts[n + 1] - starts[n]
            for n, name in zip(here.tools, other_names, strict=True)
            if name in moved
        )
        yield Change("tool_order", path, TOOLS, first, at, at + size, *_shown(texts, first),
                     detail=f"{len(moved):,} of {len(others):,} tools moved",
                     there_path=there_path)  # fmt: skip


def _holder(prompt: Prompt) -> str:
    """`tools`, or `functions`, or where else the tools stand."""
    return prompt.parts[prompt.tools[0]].path.rpartition("[")[0] if prompt.tools else ""


def _shown(texts: list[str], first: int) -> tuple[str, str]:
    return texts[0][first : first + 200], texts[1][first : first + 200]


def _inside(old: Part, new: Part, begin: int) -> Iterator[Change]:
    """What differs within one tool."""
    if old.text != new.text:
        yield from json_changes(old.value, new.value, Place(new.path, old.path, TOOLS, ""), begin)


@dataclass(frozen=True, slots=True)
class Place:
    """Where two JSON values stand: the paths in both requests, the segment, who said it."""

    path: str
    there_path: str
    segment: str
    role: str


def json_changes(there: Any, here: Any, where: Place, begin: int) -> Iterator[Change]:
    """Differences of two JSON values as changes. begin: where this one begins in the prompt."""
    segment, offsets = where.segment, OffsetsWithin(here)
    for found in json_differences(there, here):
        place = path_of(where.path, found.steps)
        start = begin + offsets.of(found.steps)
        if found.kind == "string":
            yield from _of_strings(found, place, where, start + 1)
            continue
        old, new = _text(found.there), _text(found.here)
        first = common_length(old, new)
        kind = _kind_of_value(found, segment)
        at = start + len(new[:first].encode())
        rest = len(new) - common_length(old[first:][::-1], new[first:][::-1])
        stop = max(at, start + len(new[:rest].encode()))
        yield Change(kind, place, segment, first, at, stop,
                     old[first : first + 200], new[first : first + 200],
                     there_path=path_of(where.there_path, found.steps))  # fmt: skip


def _kind_of_value(found: JsonDifference, segment: str) -> Kind:
    if found.kind in ("key_order", "array_order", "number_format"):
        return found.kind
    if segment == TOOLS:
        return "tool_set"
    image = all("image" in _text(v)[:400] or "base64" in _text(v)[:400]
                for v in (found.there, found.here))  # fmt: skip
    return "image_encoding" if image else "edited_message"


def _of_strings(found: JsonDifference, place: str, where: Place, start: int) -> Iterator[Change]:
    """start: where the string's text begins in the prompt."""
    if _are_one_image(found.there, found.here):
        first = common_length(found.there, found.here)
        at, stop = (start + _escaped(found.here[:char]) for char in (first, len(found.here)))
        yield Change("image_encoding", place, where.segment, first, at, stop,
                     found.there[first : first + 200], found.here[first : first + 200])  # fmt: skip
        return
    for change in leaf_changes(found.there, found.here, where.role):
        yield Change(
            change.kind, place, where.segment, change.first,
            start + _escaped(found.here[: change.start]),
            start + _escaped(found.here[: change.stop]),
            change.there[:200], change.here[:200], change.label, change.detail, change.heading,
            start + _escaped(found.here[: change.first]), behind=change.behind,
        )  # fmt: skip


def _are_one_image(there: str, here: str) -> bool:
    """Whether two addresses are those of a picture, one of them with its data."""
    is_data = there.startswith("data:image/") or here.startswith("data:image/")
    return is_data and all(map(_ADDRESS.match, (there, here)))


_ADDRESS = re.compile(r"(?:data|https?|file|gs|s3|blob):\S")


def _escaped(text: str) -> int:
    return len(msgspec.json.encode(text)) - 2


def _text(value: Any) -> str:
    return "" if value is None else msgspec.json.encode(value).decode()


def _rest(start: int, stop: int, changes: Sequence[Change]) -> list[Stretch]:
    """A stretch without what changed in it."""
    kept: list[Stretch] = []
    for change in sorted(changes, key=lambda change: change.start):
        if change.start > start:
            kept.append((start, change.start))
        start = max(start, change.stop)
    if stop > start:
        kept.append((start, stop))
    return kept
