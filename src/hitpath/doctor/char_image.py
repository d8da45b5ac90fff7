"""Where each character of a request, as a chat template writes it, stands in its canonical form as
the same template writes that.

Texts and JSON are followed part by part (steps.py tells what became of each); what a template puts
between two parts is what it puts between the two that stand there in the canonical form.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from hitpath.doctor.build_prompt import Said
from hitpath.doctor.chats import with_values
from hitpath.doctor.prompt import Part, Prompt
from hitpath.doctor.rendered import Point, Rendered, Span
from hitpath.doctor.requests import Request, built_of
from hitpath.doctor.resolve import general_path
from hitpath.doctor.steps import NewText, Steps
from hitpath.doctor.textdiff import common_length
from hitpath.traces.table import Ints

NO_IMAGE = -1


@dataclass(frozen=True, slots=True)
class Canonical:
    """A request in canonical form. pairs: (part, part there, what became of it) of what has another
    form; of tools all, where one has or their order is another. The rest stands between them."""

    request: Request
    pairs: tuple[tuple[int, int, NewText], ...]


def canonical_of(request: Request, steps: Steps) -> Canonical | None:
    """None where nothing changes, or where the form has other parts than the request."""
    prompt = request.prompt
    pairs: list[tuple[int, int, NewText]] = []
    tools: list[tuple[str, Any]] = list(request.tools)
    if prompt.tools:
        order, made = steps.tools([prompt.parts[number] for number in prompt.tools])
        numbers = prompt.tools
        pairs += [(numbers[old], numbers[k], made[k]) for k, old in enumerate(order)]
        tools = [
            (request.tools[old][0], msgspec.json.decode(made[k].rendered))
            for k, old in enumerate(order)
        ]
    for number, part in enumerate(prompt.parts):
        if part.form != "glue" and number not in prompt.tools:
            pairs.append((number, number, steps.part(part, general_path(part.path))))
    if not any(new.kinds for _, _, new in pairs):
        return None
    form = _built(request, pairs, tools)
    parts = prompt.parts, form.prompt.parts
    if [part.form for part in parts[0]] != [part.form for part in parts[1]]:
        return None
    are_tools = any(new.kinds or old != there for old, there, new in pairs if old in prompt.tools)
    return Canonical(
        form,
        tuple(
            (old, there, new)
            for old, there, new in pairs
            if new.kinds or (are_tools and old in prompt.tools)
        ),
    )


def _built(
    request: Request, pairs: Sequence[tuple[int, int, NewText]], tools: list[tuple[str, Any]]
) -> Request:
    prompt = request.prompt
    changed = [
        (prompt.parts[old], _value_of(prompt.parts[old], new))
        for old, _, new in pairs
        if old not in prompt.tools and new.rendered != prompt.parts[old].rendered
    ]
    if request.said:
        messages = with_values(request, changed)
        said = [
            Said(message, one.path, one.content_path)
            for message, one in zip(messages, request.said, strict=True)
        ]
        return built_of(said, tools)
    texts = {id(part): text for part, text in changed}
    parts = [replace(part, text=texts.get(id(part), part.text)) for part in prompt.parts]
    return replace(request, prompt=replace(prompt, parts=_with_bases(parts)))


def _with_bases(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Pieces of one string, each with the characters before it."""
    found: list[Part] = []
    base = 0
    for part in parts:
        found.append(replace(part, base=base))
        base += len(part.text)
    return tuple(found)


def _value_of(part: Part, new: NewText) -> Any:
    if part.form == "json":
        return msgspec.json.decode(new.rendered)
    if part.form == "escaped":
        return msgspec.json.decode(b'"' + new.rendered + b'"')
    return new.rendered.decode()


@dataclass(frozen=True, slots=True)
class _Piece:
    """Characters [start, end) that are [at, ...) of the canonical text, to the letter."""

    start: int
    end: int
    at: int


def char_image(own: Rendered, form: Rendered, canonical: Canonical) -> Ints:
    """For each character of the rendered request that of its form, NO_IMAGE without one."""
    own.look_up(_points(own.prompt, [(old, new.images, 0) for old, _, new in canonical.pairs]))
    form.look_up(
        _points(form.prompt, [(there, new.images, 1) for _, there, new in canonical.pairs])
    )
    image = np.full(len(own.text), NO_IMAGE, dtype=np.int64)
    for piece in (*_between(own, form, canonical), *_within(own, form, canonical)):
        length = max(0, piece.end - piece.start)
        image[piece.start : piece.start + length] = np.arange(piece.at, piece.at + length)
    return image


def _points(prompt: Prompt, images: Sequence[tuple[int, Any, int]]) -> Iterator[Point]:
    for number, stretches, side in images:
        part = prompt.parts[number]
        yield from ((number, 0), (number, len(part.text)))
        if part.form != "json":
            for one in stretches:
                begin = one[side]
                yield number, _char(part, begin)
                yield number, _char(part, begin + one.length)


def _char(part: Part, offset: int) -> int:
    """The character of a part's text at a byte of it."""
    if part.form != "escaped":
        return len(part.rendered[:offset].decode("utf-8", "ignore"))
    return bisect_right(range(len(part.text) + 1), offset, key=part.offset_of) - 1


def _within(own: Rendered, form: Rendered, canonical: Canonical) -> Iterator[_Piece]:
    """Stretches of parts."""
    tools = [
        (own.span(old), form.span(there))
        for old, there, _ in canonical.pairs
        if old in own.prompt.tools
    ]
    for old, there, new in canonical.pairs:
        parts = own.prompt.parts[old], form.prompt.parts[there]
        stretches = [
            (
                _char(parts[0], one.start),
                _char(parts[0], one.start + one.length),
                _char(parts[1], one.new_start),
            )
            for one in new.images
        ]
        if parts[0].form == "json":
            found = _lexemes(own, form, (old, there), stretches)
            if old in own.prompt.tools:
                yield from found
            else:
                yield from (one for one in found if not _is_within(one, tools))
            continue
        for begin, end, at in stretches:
            places = own.place(old, begin), own.place(old, end), form.place(there, at)
            if places[0] is not None and places[1] is not None and places[2] is not None:
                yield from _same(own, form, _Piece(places[0], places[1], places[2]))


def _is_within(piece: _Piece, tools: Sequence[tuple[Span | None, Span | None]]) -> bool:
    """Whether words of a call were looked for and found in a tool, on one of the sides."""
    return any(
        (one is not None and one.start <= piece.start < one.end)
        or (other is not None and other.start <= piece.at < other.end)
        for one, other in tools
    )


def _same(own: Rendered, form: Rendered, piece: _Piece) -> Iterator[_Piece]:
    """As much of it as is equal to the letter."""
    text = own.text[piece.start : piece.end]
    length = common_length(text, form.text[piece.at : piece.at + len(text)])
    if length:
        yield _Piece(piece.start, piece.start + length, piece.at)


def _lexemes(
    own: Rendered,
    form: Rendered,
    parts: tuple[int, int],
    stretches: Sequence[tuple[int, int, int]],
) -> Iterator[_Piece]:
    """Of JSON, as the template writes it: lexeme by lexeme, and what it puts behind each, where it
    does so on both sides."""
    ones, others = own.json_of(parts[0]).found, form.json_of(parts[1]).found
    there = {other.start: n for n, other in enumerate(others)}
    at = 0
    for number, one in enumerate(ones):
        while at < len(stretches) and stretches[at][1] <= one.start:
            at += 1
        if at == len(stretches):
            break
        begin, end, new = stretches[at]
        place = there.get(one.start - begin + new)
        if one.start < begin or one.stop > end or place is None:
            continue
        other = others[place]
        yield from _same(own, form, _Piece(one.at, one.end, other.at))
        if number + 1 < len(ones) and place + 1 < len(others):
            behind = own.text[one.end : ones[number + 1].at]
            if behind and behind == form.text[other.end : others[place + 1].at]:
                yield _Piece(one.end, ones[number + 1].at, other.end)


def _between(own: Rendered, form: Rendered, canonical: Canonical) -> Iterator[_Piece]:
    """What stands before, between and behind texts and tools, in their order on both sides: what
    both begin and end with. Calls of tools stand in it, as many ways as templates write them."""
    spans = [
        (one, other)
        for old, there, _ in canonical.pairs
        if own.prompt.parts[old].form != "json" or old in own.prompt.tools
        if (one := own.span(old)) is not None and (other := form.span(there)) is not None
    ]
    gaps = [
        _gaps(sorted((one.start, one.end) for one, _ in spans), len(own.text)),
        _gaps(sorted((other.start, other.end) for _, other in spans), len(form.text)),
    ]
    for (start, end), (at, stop) in zip(*gaps, strict=True):
        texts = own.text[start:end], form.text[at:stop]
        head = common_length(*texts)
        tail = common_length(texts[0][head:][::-1], texts[1][head:][::-1])
        yield _Piece(start, start + head, at)
        yield _Piece(end - tail, end, stop - tail)


def _gaps(spans: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), length]
    return list(zip(ends, starts, strict=True))
