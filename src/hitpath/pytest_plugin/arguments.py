"""The same arguments with their dicts and sets built in another order."""

from typing import Any


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
