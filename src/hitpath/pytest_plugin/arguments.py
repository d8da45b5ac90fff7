"""The arguments of a builder: the same in another order, and whether a call changed them."""

from typing import Any

_ATOMS = (str, bytes, int, float, bool, type(None))


def shuffled(value: Any) -> Any:
    """Equal, with the keys of dicts reversed at any depth and sets filled from behind; what is of
    another type than dict, list, tuple, set, frozenset is the same object."""
    kind = type(value)
    if kind is dict:
        return {key: shuffled(inner) for key, inner in reversed(value.items())}
    if kind in (list, tuple):
        return kind(shuffled(inner) for inner in value)
    if kind in (set, frozenset):
        return kind(reversed(list(value)))
    return value


def snapshot(value: Any) -> Any:
    """The containers of a value copied, their members kept."""
    kind = type(value)
    if kind is dict:
        return {key: snapshot(inner) for key, inner in value.items()}
    if kind in (list, tuple):
        return kind(snapshot(inner) for inner in value)
    return set(value) if kind is set else value


def is_changed(before: Any, now: Any) -> bool:
    """Whether containers hold another number of members, or other plain ones, than a snapshot."""
    if type(before) is not type(now):
        return True
    if type(before) is dict:
        return list(before) != list(now) or any(is_changed(before[k], now[k]) for k in before)
    if type(before) in (list, tuple):
        return len(before) != len(now) or any(map(is_changed, before, now))
    return isinstance(before, (*_ATOMS, set)) and bool(before != now)
