"""JSON that stands in a text, written canonically: keys in order, no white space, one number form.

As json_value.py, but from text to text, so that each character's place is known and nothing that a
parser would forget is lost: keys that repeat stay in their order, integers of any length stay,
decimals stay exact (`1.10e2` is `110.0`; `1.0` is not `1`). Text that is not JSON, or nested deeper
than json_value.MAX_DEPTH, stays as it is. Linear in the length of the text.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]

from hitpath.canonical.change import CanonicalText, Change, Kept
from hitpath.canonical.json_value import MAX_DEPTH, written_string

_BEGIN = re.compile(r"[ \t\n\r]*(?=[{\[])")
_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(
    r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)", re.A
)
_OPENING = re.compile(r"[{\[]")
_CLOSING = {"{": "}", "[": "]"}


@dataclass(slots=True)
class _Node:
    """A value of the text: characters [start, stop). commas: where they stand; colons: of members
    of an object, whose keys are (start, stop, the key)."""

    start: int
    stop: int = -1
    is_object: bool = False
    is_scalar: bool = False
    keys: list[tuple[int, int, str]] = field(default_factory=list)
    members: list["_Node"] = field(default_factory=list)
    commas: list[int] = field(default_factory=list)
    colons: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Characters of the canonical text that stand for [start, stop) of the original."""

    text: str
    start: int
    stop: int


def canonical_json_text(text: str, *, inside: bool = False, path: str = "") -> CanonicalText:
    """The text with its JSON in canonical form: where it is one object or array as a whole, or
    (inside) each of the largest ones within it. `apply_changes` of the changes gives the same."""
    changes: list[Change] = []
    out: list[str] = []
    at = 0
    for node in _nodes(text, inside):
        pieces, moved = _written(text, node)
        changes += _changes(text, pieces, moved, path)
        out += (text[at : node.start], *(piece.text for piece in pieces))
        at = node.stop
    if not changes:
        return CanonicalText(text, ())
    return CanonicalText("".join([*out, text[at:]]), tuple(changes))


def json_text_kept(text: str, *, inside: bool = False) -> tuple[Kept, ...]:
    """Where each character of the text stands in its canonical form, moved members too; in the
    order of the canonical text."""
    kept: list[Kept] = []
    at = new_at = 0
    for node in _nodes(text, inside):
        if node.start > at:
            kept.append(Kept(at, new_at, node.start - at))
        new_at += node.start - at
        for piece in _written(text, node)[0]:
            if text.startswith(piece.text, piece.start):
                kept.append(Kept(piece.start, new_at, len(piece.text)))
            new_at += len(piece.text)
        at = node.stop
    if len(text) > at:
        kept.append(Kept(at, new_at, len(text) - at))
    return tuple(kept)


def number_form(written: str) -> str:
    """A number of JSON in its one form: an integer as it is, a decimal with the fewest digits of
    exactly its value, written as Python writes floats."""
    if not set(written) & set(".eE"):
        return written
    sign, unsigned = ("-", written[1:]) if written[0] == "-" else ("", written)
    mantissa, _, power = unsigned.replace("E", "e").partition("e")
    whole, _, fraction = mantissa.partition(".")
    if len(power) > 6:
        return written
    exponent = int(power or 0) - len(fraction)
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return f"{sign}0.0"
    point = len(digits) + exponent  # the value is 0.digits times ten to this
    if point > 16 or point < -3:
        tail = f".{kept[1:]}" if kept[1:] else ""
        return f"{sign}{kept[0]}{tail}e{'-' if point < 1 else '+'}{abs(point - 1):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{kept}"
    return f"{sign}{kept[:point].ljust(point, '0')}.{kept[point:] or '0'}"


def _nodes(text: str, inside: bool) -> Iterator[_Node]:
    if not inside:
        begin = _BEGIN.match(text)
        if begin is not None:
            node, stop = _parsed(text, begin.end())
            if node is not None and _SPACE.fullmatch(text, stop):
                yield node
        return
    at = 0
    while begin := _OPENING.search(text, at):
        node, at = _parsed(text, begin.start())
        if node is not None:
            yield node
        # Else reading failed at `at`, and would again from any bracket still open there.
        at = max(at, begin.start() + 1)


def _parsed(text: str, at: int) -> tuple[_Node | None, int]:
    """(the object or array that begins there, its end), or (None, where reading failed)."""
    open_nodes: list[_Node] = []
    done: _Node | None = None
    while True:
        if done is None:  # a value begins
            opening = text[at : at + 1]
            if opening and opening in "{[":
                if len(open_nodes) == MAX_DEPTH:
                    return None, at
                node = _Node(at, is_object=opening == "{")
                open_nodes.append(node)
                at = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]
                if text[at : at + 1] == _CLOSING[opening]:
                    node.stop = at = at + 1
                    done = open_nodes.pop()
                elif node.is_object:
                    at, key = _key(text, at, node)
                    if not key:
                        return None, at
                    continue
                else:
                    continue
            else:
                stop = _scalar_stop(text, at)
                if stop < 0:
                    return None, at
                done = _Node(at, stop, is_scalar=True)
                at = stop
        if not open_nodes:
            return done, at
        parent = open_nodes[-1]
        parent.members.append(done)
        done = None
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        mark = text[at : at + 1]
        if mark == ",":
            parent.commas.append(at)
            at = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]
            if parent.is_object:
                at, key = _key(text, at, parent)
                if not key:
                    return None, at
        elif mark == ("}" if parent.is_object else "]"):
            parent.stop = at = at + 1
            done = open_nodes.pop()
        else:
            return None, at


def _key(text: str, at: int, node: _Node) -> tuple[int, bool]:
    """Reads a key and its colon: (where the value begins or reading failed, whether it went)."""
    if text[at : at + 1] != '"':
        return at, False
    try:
        key, stop = scanstring(text, at + 1, True)
    except ValueError:
        return at, False
    colon = _SPACE.match(text, stop).end()  # type: ignore[union-attr]
    if text[colon : colon + 1] != ":":
        return colon, False
    node.keys.append((at, stop, key))
    node.colons.append(colon)
    return _SPACE.match(text, colon + 1).end(), True  # type: ignore[union-attr]


def _scalar_stop(text: str, at: int) -> int:
    """Where a string, number or literal ends; -1 for none."""
    if text[at : at + 1] == '"':
        try:
            return int(scanstring(text, at + 1, True)[1])
        except ValueError:
            return -1
    found = _SCALAR.match(text, at)
    return -1 if found is None else found.end()


def _written(text: str, root: _Node) -> tuple[list[_Piece], list[tuple[int, int, int, int]]]:
    """(pieces in their new order, (start, stop, first piece, behind the last) of each outermost
    object whose keys moved)."""
    pieces: list[_Piece] = []
    moved: list[tuple[int, int, int, int]] = []
    within = 0  # how many objects whose keys moved are open
    todo: list[_Node | _Piece | tuple[_Node, int]] = [root]
    while todo:
        task = todo.pop()
        if isinstance(task, _Piece):
            pieces.append(task)
        elif isinstance(task, tuple):
            node, first = task
            within -= 1
            if not within:
                moved.append((node.start, node.stop, first, len(pieces)))
        elif task.is_scalar:
            pieces.append(_scalar_piece(text, task))
        else:
            order = _order(task)
            if order != list(range(len(order))):
                within += 1
                todo.append((task, len(pieces)))
            todo += reversed(_tasks(text, task, order))
    return pieces, moved


def _order(node: _Node) -> list[int]:
    order = list(range(len(node.members)))
    if node.is_object:
        order.sort(key=lambda at: node.keys[at][2])
    return order


def _tasks(text: str, node: _Node, order: list[int]) -> list["_Node | _Piece | tuple[_Node, int]"]:
    tasks: list[_Node | _Piece | tuple[_Node, int]] = []
    tasks.append(_Piece(text[node.start], node.start, node.start + 1))
    for new, old in enumerate(order):
        if new:
            comma = node.commas[new - 1]
            tasks.append(_Piece(",", comma, comma + 1))
        if node.is_object:
            start, stop, key = node.keys[old]
            tasks.append(_Piece(written_string(key), start, stop))
            tasks.append(_Piece(":", node.colons[old], node.colons[old] + 1))
        tasks.append(node.members[old])
    tasks.append(_Piece(text[node.stop - 1], node.stop - 1, node.stop))
    return tasks


def _scalar_piece(text: str, node: _Node) -> _Piece:
    written = text[node.start : node.stop]
    if written[0] == '"':
        written = written_string(json.loads(written))
    elif written[0] not in "tfn":
        written = number_form(written)
    return _Piece(written, node.start, node.stop)


def _changes(
    text: str, pieces: list[_Piece], moved: list[tuple[int, int, int, int]], path: str
) -> Iterator[Change]:
    at = pieces[0].start
    number = 0
    regions = iter(moved)
    region = next(regions, None)
    while number < len(pieces):
        start, stop = pieces[number].start, pieces[number].stop
        if region is not None and number == region[2]:
            start, stop, _, behind = region
            new, kind = "".join(piece.text for piece in pieces[number:behind]), "key_order"
            number, region = behind, next(regions, None)
        else:
            new = pieces[number].text
            kind = "unicode_form" if text[start] == '"' else "number_format"
            number += 1
        if start > at:
            yield Change("white_space", path, at, start - at, "")
        if text[start:stop] != new:
            yield Change(kind, path, start, stop - start, new)
        at = stop
