"""Worlds in which a prompt builder is called: each differs from the first in one thing.

The clock is shifted by replacing `datetime.datetime`, `datetime.date` and the functions of `time`
where they are defined and wherever a loaded module holds them under any name. Not seen: clocks of C
extensions, values that were read before (at import, as a default argument), `time.monotonic` and
`time.perf_counter` (event loops live by them). The locale is another one only where one is
installed.
"""

import datetime
import locale
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

_LOCALES = ("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "ja_JP.UTF-8", "tr_TR.UTF-8")
_WITHOUT_LOCALE = "write dates and numbers without the locale (isoformat(), str(), no `n` format)"
_ZONE = "HIT-05:30"  # POSIX: five and a half hours east of UTC, no file needed
_NOT_OURS = frozenset(["pytest", "_pytest", "pluggy", "hypothesis", "xdist", "hitpath"])
_SEEDS = range(2, 8)  # a choice of few falls the same way under many a seed
_SECOND_LATER = ("gmtime", "localtime", "ctime")


@dataclass(frozen=True, slots=True)
class World:
    """clock_shift_s: seconds added to every clock. shuffled: dicts and sets of the arguments in
    another order (arguments.py). fix: where the world itself says what to do. kind: what the one
    thing that is changed makes of a difference whose words alone do not tell."""

    name: str
    clock_shift_s: float = 0.0
    zone: str | None = None
    locale: str | None = None
    seed: int = 1
    shuffled: bool = False
    fix: str = ""
    kind: str = "edited_message"


def other_locale() -> str | None:
    """An installed locale that writes dates or numbers otherwise than the one in force, None for
    none."""
    before, plain = locale.setlocale(locale.LC_ALL), _written_in_it()
    known = (name.partition(".")[0] + ".UTF-8" for name in locale.locale_alias.values())
    try:
        for name in dict.fromkeys((*_LOCALES, *sorted(known))):
            try:
                locale.setlocale(locale.LC_ALL, name)
            except locale.Error:
                continue
            if _written_in_it() != plain:
                return name
        return None
    finally:
        locale.setlocale(locale.LC_ALL, before)


def _written_in_it() -> tuple[str, str]:
    """A date and a number as the locale writes them."""
    return datetime.date(2026, 5, 3).strftime("%A %d %B %x"), f"{1234567.5:n}"


def worlds(clock_shift_s: float, found_locale: str | None) -> list[World]:
    """The first is the one to compare with."""
    shift = datetime.timedelta(seconds=clock_shift_s)
    made = [
        World("the first call"),
        World("called once more", kind="random_sample"),
        World(f"with the clock shifted by {shift}", clock_shift_s=clock_shift_s, kind="clock"),
        World("in another time zone", zone=_ZONE, kind="clock"),
        *(
            World(f"with random seed {seed} instead of 1", seed=seed, kind="random_sample")
            for seed in _SEEDS
        ),
        World(
            "with the dicts and sets of its arguments in another order",
            shuffled=True,
            kind="array_order",
        ),
    ]
    if found_locale is not None:
        name = f"with the locale {found_locale}"
        made.append(World(name, locale=found_locale, fix=_WITHOUT_LOCALE, kind="number_format"))
    return made


@contextmanager
def inside(world: World) -> Iterator[None]:
    """All of it, and back again whatever happens."""
    with _seeded(world.seed), _zone(world.zone), _locale(world.locale):
        if world.clock_shift_s:
            with _shifted(world.clock_shift_s):
                yield
        else:
            yield


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    state = random.getstate()
    numpy: Any = sys.modules.get("numpy")
    numpy_state = None if numpy is None else numpy.random.get_state()
    random.seed(seed)
    if numpy is not None:
        numpy.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)
        if numpy is not None:
            numpy.random.set_state(numpy_state)


@contextmanager
def _zone(zone: str | None) -> Iterator[None]:
    if zone is None or not hasattr(time, "tzset"):
        yield
        return
    before = os.environ.get("TZ")
    os.environ["TZ"] = zone
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


@contextmanager
def _locale(name: str | None) -> Iterator[None]:
    if name is None:
        yield
        return
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, name)
    try:
        yield
    finally:
        locale.setlocale(locale.LC_ALL, before)


@contextmanager
def _shifted(shift_s: float) -> Iterator[None]:
    """Every holder of a clock gets the shifted one, and its own back."""
    clocks = _clocks(shift_s)
    changed: list[tuple[Any, str, Any]] = []
    try:
        for module in list(sys.modules.values()):
            for name, real in _held_clocks(module, clocks):
                changed.append((module, name, real))
                setattr(module, name, clocks[id(real)])
        yield
    finally:
        for module, name, real in changed:
            setattr(module, name, real)


def _held_clocks(module: Any, clocks: dict[int, Any]) -> list[tuple[str, Any]]:
    """(name, clock) of those that a module holds; of the standard library only the two modules
    that they are defined in."""
    if not isinstance(module, ModuleType):
        return []
    top = module.__name__.partition(".")[0]
    if top in _NOT_OURS or (top in sys.stdlib_module_names and top not in ("time", "datetime")):
        return []
    return [(name, held) for name, held in list(vars(module).items()) if id(held) in clocks]


def _clocks(shift_s: float) -> dict[int, Any]:
    """Shifted stand-ins by the id of the real thing, which is kept alive by its module."""
    real_time, real_ns = time.time, time.time_ns
    shift_ns = round(shift_s * 1e9)

    def now() -> float:
        return real_time() + shift_s

    def now_ns() -> int:
        return real_ns() + shift_ns

    stand_ins: dict[int, Any] = {id(real_time): now, id(real_ns): now_ns}
    for name in _SECOND_LATER:
        real = getattr(time, name)
        stand_ins[id(real)] = _of_seconds(real, now)
    for name, place in (("strftime", 1), ("asctime", 0)):
        real = getattr(time, name)
        stand_ins[id(real)] = _of_struct(real, place, time.localtime, now)
    stand_ins[id(datetime.datetime)] = _datetime(datetime.datetime, shift_s)
    stand_ins[id(datetime.date)] = _date(datetime.date, shift_s)
    return stand_ins


def _of_seconds(real: Any, now: Any) -> Any:
    def shifted(seconds: float | None = None) -> Any:
        return real(now() if seconds is None else seconds)

    return shifted


def _of_struct(real: Any, place: int, localtime: Any, now: Any) -> Any:
    def shifted(*args: Any) -> Any:
        return real(*args, localtime(now())) if len(args) == place else real(*args)

    return shifted


class _SameInstances(type):
    """A class whose instances are those of the real one, its first base."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__mro__[1])


def _datetime(real: Any, shift_s: float) -> Any:
    shift = datetime.timedelta(seconds=shift_s)

    class Shifted(real, metaclass=_SameInstances):  # type: ignore[misc]
        """Gives real datetimes, later ones."""

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return real(*args, **kwargs)

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real.now(tz) + shift

        @classmethod
        def utcnow(cls) -> Any:
            return real.now(datetime.UTC).replace(tzinfo=None) + shift

        @classmethod
        def today(cls) -> Any:
            return real.now() + shift

    return _as_named(Shifted, real)


def _date(real: Any, shift_s: float) -> Any:
    later = datetime.datetime
    shift = datetime.timedelta(seconds=shift_s)

    class Shifted(real, metaclass=_SameInstances):  # type: ignore[misc]
        """Gives real dates, later ones."""

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return real(*args, **kwargs)

        @classmethod
        def today(cls) -> Any:
            return (later.now() + shift).date()

    return _as_named(Shifted, real)


def _as_named(made: Any, real: Any) -> Any:
    made.__name__, made.__qualname__, made.__module__ = (
        real.__name__,
        real.__qualname__,
        real.__module__,
    )
    return made
