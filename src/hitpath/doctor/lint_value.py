"""What an expression holds, as far as the source linter follows it; see lint_taint.py.

A value is the set of marks that went into it, with what is known of its make: constant text, the
members of a dict or an instance, the items of a list, and what it can be called as. A mark is an
origin, or a symbol: whatever a parameter will hold, of which a call puts the argument's own marks.
Values are never changed.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from hitpath.doctor import lint_sources as known
from hitpath.doctor.lint_flow import Origin, is_wordy


class Symbol(NamedTuple):
    """What the parameter `name` of a function holds; path: members read from it (".now" an
    attribute, "now" a key, "()" a call); done: what was done to it, one letter each (`DONE`)."""

    unit: int
    name: str
    path: tuple[str, ...] = ()
    done: str = ""


Mark = Origin | Symbol
Marks = frozenset[Mark]
NOTHING: Marks = frozenset()

WALK, COARSEN, ORDER, AS_SET, SORT_KEYS, ONLY_ORDER, LOOSEN = "wcoskru"
"""What is done to marks: written or walked over; made coarser; put in one order; made a set;
keys sorted; kept only as far as its order goes; gone through an unknown call."""

_LONGEST_PATH = 3
_LONGEST_DONE = 6
_MOST_PARTS = 300
"""A value with more members than this, at any depth, is one heap without members."""
_MOST_ITEMS = 64
_DEEPEST = 12
_MOST_ROLES = 4
_MOST_SYMBOLS = 24
_LONGEST_TEXT = 20_000


class Value(NamedTuple):
    """marks: of the whole; ahead: those of them with constant words behind them; has_words:
    whether it holds constant words; text: the constant text that it is; is_literal: whether its
    keys stand in the source in their order; members: by constant key; rest: marks of members that
    are not known; items: of a sequence, in order; roles: what it is beside (functions, instances;
    lint_summary.py); size, depth: of its members."""

    marks: Marks = NOTHING
    ahead: Marks = NOTHING
    has_words: bool = False
    text: str | None = None
    is_literal: bool = False
    members: Mapping[str, "Value"] | None = None
    rest: Marks = NOTHING
    items: tuple["Value", ...] | None = None
    roles: tuple[object, ...] = ()
    size: int = 1
    depth: int = 0


EMPTY = Value()
LITERAL = Value(is_literal=True)


def constant(content: object) -> Value:
    if isinstance(content, str):
        text = content if len(content) <= _LONGEST_TEXT else None
        return Value(has_words=is_wordy(content), text=text, is_literal=True)
    return LITERAL


def of(marks: Iterable[Mark]) -> Value:
    return Value(frozenset(marks))


def joined(one: Value, other: Value) -> Value:
    """Either of them."""
    if one is other or other is EMPTY:
        return one if one.text is None and not one.is_literal else unwritten(one)
    if one is EMPTY:
        return unwritten(other)
    members, rest = _either_members(one, other)
    marks = fewer(one.marks | other.marks)
    made = Value(
        marks,
        (one.ahead | other.ahead) & marks,
        one.has_words or other.has_words,
        one.text if one.text == other.text else None,
        one.is_literal and other.is_literal,
        members,
        rest,
        _either_items(one, other),
        _roles(one.roles, other.roles),
    )
    return sized(made)


def unwritten(value: Value) -> Value:
    """A value that may be another one too."""
    return value._replace(text=None, is_literal=False)


def _either_members(one: Value, other: Value) -> tuple[Mapping[str, Value] | None, Marks]:
    if one.members is None and other.members is None:
        return None, NOTHING
    if one.members is None or other.members is None:
        known_one, heap = (other, one) if one.members is None else (one, other)
        return known_one.members, known_one.rest | heap.marks
    members = dict(one.members)
    for key, value in other.members.items():
        members[key] = joined(members[key], value) if key in members else value
    return members, one.rest | other.rest


def _either_items(one: Value, other: Value) -> tuple[Value, ...] | None:
    if one.items is None or other.items is None:
        held, heap = (other, one) if one.items is None else (one, other)
        return None if heap.marks else held.items
    shorter, longer = sorted((one.items, other.items), key=len)
    both = map(joined, shorter, longer)
    return (*both, *longer[len(shorter) :])


def _roles(one: tuple[object, ...], other: tuple[object, ...]) -> tuple[object, ...]:
    if not other or one == other:
        return one
    return (*one, *(role for role in other if role not in one))[:_MOST_ROLES]


def sized(value: Value) -> Value:
    """With its size; a heap where that is too much."""
    if value.members is None and value.items is None:
        return value if value.size == 1 else value._replace(size=1, depth=0)
    parts = [*(value.members or {}).values(), *(value.items or ())]
    size = 1 + sum(part.size for part in parts)
    depth = 1 + max((part.depth for part in parts), default=0)
    if size > _MOST_PARTS or len(value.items or ()) > _MOST_ITEMS or depth > _DEEPEST:
        return value._replace(members=None, items=None, rest=NOTHING, size=1, depth=0)
    return value._replace(size=size, depth=depth)


def heap_of(values: Iterable[Value]) -> Value:
    """What comes out of something that these went into, in whatever order."""
    marks, has = NOTHING, False
    for value in values:
        marks |= value.marks
        has = has or value.has_words
    return Value(fewer(marks), NOTHING, has) if marks or has else EMPTY


def fewer(marks: Marks) -> Marks:
    """Without symbols where more than a few dozens were mixed: that is no text that a function
    makes of its arguments, and what stays is bounded."""
    if len(marks) <= _MOST_SYMBOLS:
        return marks
    if sum(isinstance(mark, Symbol) for mark in marks) <= _MOST_SYMBOLS:
        return marks
    kept = frozenset(m for m in marks if not (isinstance(m, Symbol) and (m.path or m.done)))
    if sum(isinstance(mark, Symbol) for mark in kept) <= _MOST_SYMBOLS:
        return kept
    return _origins(kept)


def list_of(items: Iterable[Value]) -> Value:
    held = tuple(items)
    heap = heap_of(held)
    is_literal = all(item.is_literal for item in held)
    return sized(Value(heap.marks, NOTHING, heap.has_words, None, is_literal, items=held))


def dict_of(members: Mapping[str, Value], rest: Value = EMPTY) -> Value:
    heap = heap_of([*members.values(), rest])
    is_literal = rest is EMPTY and all(value.is_literal for value in members.values())
    made = Value(heap.marks, NOTHING, heap.has_words, None, is_literal, members, rest.marks)
    return sized(made)


def then(one: Value, other: Value) -> Value:
    """A text, and another one behind it."""
    if one is EMPTY and not other.marks:
        return other._replace(text=None)
    text = None
    if one.text is not None and other.text is not None:
        text = one.text + other.text if len(one.text) < _LONGEST_TEXT else None
    ahead = one.ahead | other.ahead
    if other.has_words:
        ahead |= one.marks
    has = one.has_words or other.has_words
    return Value(one.marks | other.marks, ahead, has, text, one.is_literal and other.is_literal)


def all_then(values: Iterable[Value]) -> Value:
    made = constant("")
    for value in values:
        made = then(made, value)
    return made


def member(value: Value, key: str) -> Value:
    """value[key], or value.key where the key begins with a dot."""
    if value.members is None:
        if not value.marks:
            return EMPTY
        return Value(_all_at(value.marks, key))
    held = value.members.get(key, EMPTY)
    if not value.rest:
        return held
    return joined(held, Value(_all_at(value.rest, key)))


def item(value: Value, at: int) -> Value:
    if value.items is not None and -len(value.items) <= at < len(value.items):
        return value.items[at]
    return value if value.items is None and value.members is None else of(value.marks)


def with_member(value: Value, key: str, held: Value) -> Value:
    members = {**(value.members or {}), key: held}
    rest = value.rest if value.members is not None else value.marks
    heap = heap_of(members.values())
    made = value._replace(
        marks=heap.marks | rest,
        has_words=heap.has_words,
        text=None,
        is_literal=value.is_literal and held.is_literal,
        members=members,
        rest=rest,
    )
    return sized(made)


@lru_cache(maxsize=1 << 16)
def _all_at(marks: Marks, key: str) -> Marks:
    return frozenset(_at(mark, key) for mark in marks)


def _at(mark: Mark, key: str) -> Mark:
    if isinstance(mark, Symbol) and len(mark.path) < _LONGEST_PATH:
        return Symbol(mark.unit, mark.name, (*mark.path, key), mark.done)
    return mark


def done(value: Value, letter: str) -> Value:
    """A value after something was done to the whole of it."""
    if not value.marks:
        return value
    parts = value._replace(marks=marked(value.marks, letter), ahead=marked(value.ahead, letter))
    if value.members is not None:
        members = {key: done(held, letter) for key, held in value.members.items()}
        parts = parts._replace(members=members, rest=marked(value.rest, letter))
    if value.items is not None:
        parts = parts._replace(items=tuple(done(held, letter) for held in value.items))
    return parts


@lru_cache(maxsize=1 << 16)
def marked(marks: Marks, letter: str) -> Marks:
    """Marks after something was done to them. The same sets come again and again."""
    return frozenset(one for mark in marks if (one := _marked(mark, letter)) is not None)


def _marked(mark: Mark, letter: str) -> Mark | None:
    if isinstance(mark, Symbol):
        if mark.done.endswith(letter) or len(mark.done) >= _LONGEST_DONE:
            return mark
        return Symbol(mark.unit, mark.name, mark.path, mark.done + letter)
    kind = mark.kind
    if letter in (WALK, ONLY_ORDER) and kind == known.A_SET:
        return mark._replace(kind="array_order")
    if letter == LOOSEN:
        return mark if mark.is_loose else mark._replace(is_loose=True)
    if letter == COARSEN and kind == known.CLOCK:
        return mark._replace(kind=known.COARSE_CLOCK)
    gone = {
        ORDER: known.ORDER_KINDS,
        AS_SET: ("array_order", "key_order"),
        SORT_KEYS: ("key_order",),
    }.get(letter, ())
    if kind in gone or (letter == ONLY_ORDER and kind != "array_order"):
        return None
    return mark


def without_symbols(value: Value) -> Value:
    """What is left where no call is looked at."""
    if not any(isinstance(mark, Symbol) for mark in value.marks) and value.size == 1:
        return value
    members = value.members
    return value._replace(
        marks=_origins(value.marks),
        ahead=_origins(value.ahead),
        rest=_origins(value.rest),
        members=members and {key: without_symbols(held) for key, held in members.items()},
        items=value.items and tuple(map(without_symbols, value.items)),
    )


def _origins(marks: Marks) -> Marks:
    return frozenset(mark for mark in marks if isinstance(mark, Origin))
