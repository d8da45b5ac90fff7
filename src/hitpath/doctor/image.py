"""Where each byte of a part stands in its canonical form: what only moved has an image, what was
removed or rewritten has none."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from hitpath.canonical import Change, Kept, canonical_json_text, json_text_kept, kept_stretches


class Image(NamedTuple):
    """Bytes [start, start + length) are [new_start, new_start + length) of the canonical form."""

    start: int
    new_start: int
    length: int


def encoded_size(text: str, is_escaped: bool) -> int:
    """Bytes that characters take, within a JSON string or by themselves."""
    return len(msgspec.json.encode(text)) - 2 if is_escaped else len(text.encode())


def image_of_string(old: str, new: str, is_escaped: bool, changes: Sequence[Change]) -> list[Image]:
    """Of a string by its changes; in JSON within it, members that moved are followed."""
    found: list[Image] = []
    for kept in _kept(old, new, changes):
        stretch = old[kept.start : kept.start + kept.num_chars]
        assert new[kept.new_start : kept.new_start + kept.num_chars] == stretch
        found.append(
            Image(
                encoded_size(old[: kept.start], is_escaped),
                encoded_size(new[: kept.new_start], is_escaped),
                encoded_size(stretch, is_escaped),
            )
        )
    return merged_images(found)


def _kept(old: str, new: str, changes: Sequence[Change]) -> Sequence[Kept]:
    if any(change.kind == "key_order" for change in changes):
        written = canonical_json_text(old, inside=True).value
        if new == written:
            return sorted(json_text_kept(old, inside=True))
    return kept_stretches(len(old), changes)


def image_of_json(old: Any, new: Any) -> list[Image]:
    """Of two JSON values in compact text, the second the first with other orders and with strings
    changed: member by member, punctuation in order."""
    found: list[Image] = []
    todo: list[tuple[Any, Any, int, int]] = [(old, new, 0, 0)]
    while todo:
        one, other, a, b = todo.pop()
        text, new_text = msgspec.json.encode(one), msgspec.json.encode(other)
        if text == new_text:
            found.append(Image(a, b, len(text)))
            continue
        if not isinstance(one, dict | list | str) or type(one) is not type(other):
            continue
        found.append(Image(a, b, 1))
        found.append(Image(a + len(text) - 1, b + len(new_text) - 1, 1))
        if isinstance(one, str) and isinstance(other, str):
            found += _of_json_text(one, other, a, b) or _of_changed_string(text, new_text, a, b)
        elif isinstance(one, dict) and isinstance(other, dict):
            found += _of_members(one, other, a, b, todo)
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            found += _of_elements(one, other, a, b, todo)
    return merged_images(sorted(found))


def _of_json_text(old: str, new: str, a: int, b: int) -> list[Image]:
    """Of JSON in a string, where the new one is its canonical form: members are followed."""
    if not old.lstrip().startswith("{"):
        return []
    written = canonical_json_text(old)
    if written.value != new:
        return []
    images = image_of_string(old, new, True, written.changes)
    return [Image(a + 1 + one.start, b + 1 + one.new_start, one.length) for one in images]


def _of_changed_string(old: bytes, new: bytes, a: int, b: int) -> Iterator[Image]:
    """The beginning and the end that both have, quotes left out."""
    old, new = old[1:-1], new[1:-1]
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    rest = most - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    yield Image(a + 1, b + 1, head)
    yield Image(a + 1 + len(old) - tail, b + 1 + len(new) - tail, tail)


def _of_members(
    one: dict[str, Any],
    other: dict[str, Any],
    a: int,
    b: int,
    todo: list[tuple[Any, Any, int, int]],
) -> Iterator[Image]:
    places, new_places = _object_places(one, a), _object_places(other, b)
    for begin, new_begin in zip(
        list(places.values())[1:], list(new_places.values())[1:], strict=False
    ):
        yield Image(begin - 1, new_begin - 1, 1)  # the comma before it
    for key in other:
        if key in one:
            name = len(msgspec.json.encode(key)) + 1
            yield Image(places[key], new_places[key], name)
            todo.append((one[key], other[key], places[key] + name, new_places[key] + name))


def _of_elements(
    one: list[Any], other: list[Any], a: int, b: int, todo: list[tuple[Any, Any, int, int]]
) -> Iterator[Image]:
    places, new_places = _array_places(one, a), _array_places(other, b)
    for k in range(1, len(one)):
        yield Image(places[k] - 1, new_places[k] - 1, 1)
    for k, source in enumerate(_order_of(one, other)):
        todo.append((one[source], other[k], places[source], new_places[k]))


def _object_places(value: dict[str, Any], at: int) -> dict[str, int]:
    places: dict[str, int] = {}
    at += 1
    for key, member in value.items():
        places[key] = at
        at += len(msgspec.json.encode(key)) + 1 + len(msgspec.json.encode(member)) + 1
    return places


def _array_places(value: list[Any], at: int) -> list[int]:
    places: list[int] = []
    at += 1
    for member in value:
        places.append(at)
        at += len(msgspec.json.encode(member)) + 1
    return places


def _order_of(one: list[Any], other: list[Any]) -> list[int]:
    """The old place of each member, where the new list is the old one in another order."""
    free: dict[bytes, list[int]] = {}
    for at, member in enumerate(one):
        free.setdefault(msgspec.json.encode(member), []).append(at)
    order: list[int] = []
    for member in other:
        places = free.get(msgspec.json.encode(member))
        if not places:
            return list(range(len(one)))
        order.append(places.pop(0))
    return order


def merged_images(found: list[Image]) -> list[Image]:
    """Neighbours joined; of two images of one byte the first counts."""
    merged: list[Image] = []
    for image in found:
        last = merged[-1] if merged else None
        if not image.length or (last is not None and image.start < last.start + last.length):
            continue
        if (
            last is not None
            and last.start + last.length == image.start
            and last.new_start + last.length == image.new_start
        ):
            merged[-1] = Image(last.start, last.new_start, last.length + image.length)
        else:
            merged.append(image)
    return merged


def through(one: Sequence[Image], other: Sequence[Image]) -> tuple[Image, ...]:
    """From a text to another one by the form that both have: `one` leads there from the first,
    `other` from the second."""
    back = sorted(Image(image.new_start, image.start, image.length) for image in other)
    found: list[Image] = []
    at = 0
    for image in sorted(one, key=lambda image: image.new_start):
        begin, end = image.new_start, image.new_start + image.length
        while at < len(back) and back[at].start + back[at].length <= begin:
            at += 1
        number = at
        while number < len(back) and back[number].start < end:
            low = max(begin, back[number].start)
            high = min(end, back[number].start + back[number].length)
            found.append(
                Image(
                    image.start + low - begin,
                    back[number].new_start + low - back[number].start,
                    high - low,
                )
            )
            number += 1
    return tuple(merged_images(sorted(found)))
