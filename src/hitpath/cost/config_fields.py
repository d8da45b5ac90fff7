"""Fields of a config.json, read strictly: what is absent or no count is an error by name."""

from collections.abc import Mapping
from typing import Any

from hitpath.core import InputError

MOST = 1 << 40
MOST_LAYERS = 10_000
"""More layers than any model has; a list of one entry a layer is built, so it is bounded."""


class Fields:
    """The fields of one config. `place` names the file in errors."""

    def __init__(self, values: Mapping[str, Any], place: str) -> None:
        self.values = values
        self.place = place

    def error(self, field: str, cause: str) -> InputError:
        return InputError(self.place, field, cause)

    def count(self, field: str, default: int | None = None, most: int = MOST) -> int:
        """A positive whole number. `default` is what Hugging Face takes for an absent field."""
        value = self.values.get(field)
        if value is None and default is not None:
            return default
        if type(value) is not int or not 1 <= value <= most:
            raise self.error(field, "missing" if value is None else f"{value!r} is no count")
        return value

    def optional(self, field: str) -> int | None:
        """A positive whole number, or None where the field is absent, null or 0."""
        return self.count(field) if self.values.get(field) else None

    def nullable(self, field: str) -> int | None:
        """A positive whole number, or None where the field is null; absent is an error, for
        Hugging Face would take a number of its own."""
        if field not in self.values:
            raise self.error(field, "missing")
        return None if self.values[field] is None else self.count(field)

    def at(self, field: str) -> int:
        """A position: a whole number from 0. Absent is an error."""
        value = self.values.get(field)
        if type(value) is not int or not 0 <= value <= MOST:
            raise self.error(field, "missing" if value is None else f"{value!r} is no position")
        return value

    def flag(self, field: str, default: bool) -> bool:
        value = self.values.get(field)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(field, f"{value!r} is neither true nor false")
        return value

    def num_layers(self) -> int:
        return self.count("num_hidden_layers", most=MOST_LAYERS)

    def names(self, field: str) -> list[str] | None:
        """A list of one name a layer, None where absent."""
        value = self.values.get(field)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise self.error(field, "is no list of names")
        if not 1 <= len(value) <= MOST_LAYERS:
            raise self.error(field, f"{len(value)} names")
        if "num_hidden_layers" in self.values and len(value) != self.num_layers():
            raise self.error(field, f"{len(value)} names for {self.num_layers()} layers")
        return value

    def layer_numbers(self, field: str) -> frozenset[int]:
        """A list of layer numbers, empty where absent."""
        value = self.values.get(field) or []
        if not isinstance(value, list) or not all(type(number) is int for number in value):
            raise self.error(field, "is no list of layer numbers")
        return frozenset(value)
