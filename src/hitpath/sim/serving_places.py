"""Where a field of a fleet was said, so that what is wrong with it names that place: the option
where it was typed, else the file and the field in it.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hitpath.core import HitpathError, InputError, SettingError
from hitpath.sim.serving_file import FleetFile, Load, RouterPart, Worker

_OPTIONS: Mapping[str, str] = {
    "worker.count": "--workers",
    "router.name": "--router",
    "router.index_lag_s": "--index-lag",
    "router.index_loss_frac": "--index-loss",
    "load.rate_per_s": "--rate",
    "gpu_hour_usd": "--gpu-hour",
}
_PLACES: Mapping[str, str] = {
    **{name: name for name in FleetFile.__struct_fields__},
    **{name: f"load.{name}" for name in Load.__struct_fields__},
    **{name: f"router.{name}" for name in RouterPart.__struct_fields__},
    **{name: f"worker.{name}" for name in Worker.__struct_fields__},
    **{option[2:].replace("-", "_"): field for field, option in _OPTIONS.items()},
}
"""What an error calls a field -> where it stands in a file, of a worker the one of all."""
_GROUP = re.compile(r"^workers\[\d+\]")
_QUOTED = ("slo",)
"""Whose errors have the value in their cause already."""
_ALSO: Mapping[str, tuple[str, ...]] = {
    "worker.capacity_tokens": tuple(
        f"worker.{name}"
        for name in ("model", "hardware", "tp", "weights", "kv_dtype", "memory_frac")
    )
}
"""What an error of a field may come from: where one of these was typed, it is of options."""


class FieldError(SettingError):
    """A field of a fleet cannot be honoured. field: its place in a file, as "workers[1].tp"; name:
    the same as an option has it, "worker.tp". The text is of `option`, where one is given."""

    def __init__(self, field: str, cause: str, option: str | None = None) -> None:
        super().__init__(option or field, cause)
        self.field = field
        self.name = _GROUP.sub("worker", field)


def option_of(field: str) -> str:
    """What is typed for a field."""
    return _OPTIONS.get(field, f"--{field.rpartition('.')[2].replace('_', '-')}")


def name_of(option: str) -> str:
    """What a fleet calls that field of a part: "tp" of "--tp 3"."""
    word = option.partition(" ")[0].rstrip(",")
    return word.removeprefix("--").replace("-", "_") if "." not in word else word


@contextmanager
def field_errors(place_of: Callable[[str], str]) -> Iterator[None]:
    """Errors of options, inside, as errors of the field that `place_of` gives for a name."""
    try:
        yield
    except FieldError:
        raise
    except SettingError as error:
        name = name_of(error.option)
        field = place_of(name)
        option = error.option if error.option.startswith("--") else None
        raise FieldError(field, _with_value(name, error), option) from error


def _with_value(name: str, error: SettingError) -> str:
    value = error.option.partition(" ")[2]
    told = value and name not in _QUOTED and not value.startswith("--")
    return f"{value}: {error.cause}" if told else error.cause


@dataclass(frozen=True, slots=True)
class Said:
    """Where a fleet's fields were said. path: of its file, None without one; file: what stands
    there; typed: fields of options that went over it."""

    path: str | None
    file: FleetFile
    typed: Collection[str]

    def place(self, error: SettingError) -> HitpathError:
        """The same error at the place where the field was said."""
        if isinstance(error, FieldError):
            from_options = {error.name, *_ALSO.get(error.name, ())} & set(self.typed)
            if self.path is None or from_options:
                return _as_typed(error)
            return InputError(self.path, error.field, error.cause)
        name = name_of(error.option)
        field = name if "." in name else _PLACES.get(name)
        if self.path is None or field is None:
            return error
        if field in self.typed:
            return error if error.option.startswith("--") else _typed(field, error)
        if "." not in name and not self._says(field):
            return error
        return InputError(self.path, field, _with_value(name, error))

    def _says(self, field: str) -> bool:
        """Whether it stands in the file, and not as it is without one."""
        head, _, name = re.sub(r"\[\d+\]", "", field).partition(".")
        there: Any = getattr(self.file, head, None)
        usual: Any = getattr(FleetFile(), head, None)
        if name:
            there, usual = getattr(there, name, None), getattr(usual, name, None)
        return bool(there != usual)


def _as_typed(error: FieldError) -> SettingError:
    """With the option where it has one; its value stands once."""
    if error.option != error.field:
        value = error.option.partition(" ")[2]
        return SettingError(error.option, error.cause.removeprefix(f"{value}: "))
    return _typed(error.name, error)


def _typed(field: str, error: SettingError) -> SettingError:
    """The same of the option for a field."""
    return SettingError(option_of(field), error.cause)


@contextmanager
def naming(said: Said) -> Iterator[None]:
    """Errors of a fleet's fields, inside, name where they were said."""
    try:
        yield
    except SettingError as error:
        placed = said.place(error)
        if placed is error:
            raise
        raise placed from error
