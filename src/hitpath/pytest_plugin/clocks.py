"""Clocks that are shifted while a builder runs.

`datetime.datetime`, `datetime.date` and the functions of `time` are replaced where they are defined
and wherever a loaded module holds them under any name; classes of the application that inherit from
the two get a `now` of their own. Not seen: clocks of C extensions, values that were read before (at
import, as a default argument), `time.monotonic` and `time.perf_counter` (event loops live by them).
"""

import copyreg
import datetime
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, ModuleType
from typing import Any

_NOT_OURS = frozenset(["pytest", "_pytest", "pluggy", "hypothesis", "xdist", "hitpath"])
_SECOND_LATER = ("gmtime", "localtime", "ctime")
_NAMES = ("now", "utcnow")
"""`today` asks `time.time`, which is shifted already."""
_HEAP_TYPE = 1 << 9  # of Python's own classes, written in Python


def _built_in(cls: type) -> type:
    """The class of the standard library, where a test has put another in its place (freezegun)."""
    return next((one for one in cls.__mro__ if not one.__flags__ & _HEAP_TYPE), cls)


_REAL = (_built_in(datetime.datetime), _built_in(datetime.date))


@contextmanager
def shifted(shift_s: float) -> Iterator[None]:
    """Every holder of a clock gets the shifted one, and its own back."""
    with replaced(_clocks(shift_s), ("time", "datetime")), _subclasses(shift_s), _pickled():
        yield


@contextmanager
def replaced(stand_ins: dict[int, Any], homes: tuple[str, ...]) -> Iterator[None]:
    """Each module that holds one of these things (by id) under any name has its stand-in for a
    while. homes: the modules of the standard library that count; others of it keep theirs."""
    changed: list[tuple[Any, str, Any]] = []
    try:
        for module in list(sys.modules.values()):
            for name, real, stand_in in _held(module, stand_ins, homes):
                changed.append((module, name, real))
                setattr(module, name, stand_in)
        yield
    finally:
        for module, name, real in changed:
            setattr(module, name, real)


def _held(
    module: Any, stand_ins: dict[int, Any], homes: tuple[str, ...]
) -> list[tuple[str, Any, Any]]:
    """(name, what it holds, its stand-in)."""
    if not isinstance(module, ModuleType):
        return []
    top = module.__name__.partition(".")[0]
    if top in _NOT_OURS or (top in sys.stdlib_module_names and module.__name__ not in homes):
        return []
    found = []
    for name, held in list(vars(module).items()):
        stand_in = stand_ins.get(id(held))
        if stand_in is None and type(held) is BuiltinFunctionType:  # asks nothing of a stranger
            owner = stand_ins.get(id(held.__self__))  # `now = datetime.now`
            stand_in = None if owner is None else getattr(owner, held.__name__, None)
        if stand_in is not None:
            found.append((name, held, stand_in))
    return found


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
    for name, shift in (("clock_gettime", shift_s), ("clock_gettime_ns", shift_ns)):
        real = getattr(time, name, None)
        if real is not None:
            stand_ins[id(real)] = _of_clock(real, shift)
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


def _of_clock(real: Any, shift: float) -> Any:
    def shifted(clock: int) -> Any:
        return real(clock) + (shift if clock == time.CLOCK_REALTIME else 0)

    return shifted


class _SameInstances(type):
    """A stand-in has the instances and subclasses of the real class; classes that were made of a
    stand-in have their own."""

    def __instancecheck__(cls, instance: Any) -> bool:
        real = vars(cls).get("stands_for")
        return super().__instancecheck__(instance) if real is None else isinstance(instance, real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        real = vars(cls).get("stands_for")
        return super().__subclasscheck__(subclass) if real is None else issubclass(subclass, real)


def _metaclass(real: Any) -> Any:
    """Of a stand-in: also that of the class itself, where it has one of its own (freezegun's)."""
    own = type(real)
    return _SameInstances if own is type else type("_SameInstances", (_SameInstances, own), {})


def _datetime(real: Any, shift_s: float) -> Any:
    shift = datetime.timedelta(seconds=shift_s)

    class Shifted(real, metaclass=_metaclass(real)):  # type: ignore[misc, metaclass]
        """Gives real datetimes, later ones."""

        stands_for = real

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return _new(Shifted, real, cls, args, kwargs)

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + shift

        @classmethod
        def utcnow(cls) -> Any:
            return super().now(datetime.UTC).replace(tzinfo=None) + shift

        @classmethod
        def today(cls) -> Any:
            return super().now() + shift

    return _as_named(Shifted, real)


def _date(real: Any, shift_s: float) -> Any:
    later = datetime.datetime
    shift = datetime.timedelta(seconds=shift_s)

    class Shifted(real, metaclass=_metaclass(real)):  # type: ignore[misc, metaclass]
        """Gives real dates, later ones."""

        stands_for = real

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return _new(Shifted, real, cls, args, kwargs)

        @classmethod
        def today(cls) -> Any:
            day = (later.now() + shift).date()
            return cls(day.year, day.month, day.day)

    return _as_named(Shifted, real)


def _new(stand_in: Any, real: Any, cls: Any, args: Any, kwargs: Any) -> Any:
    return real(*args, **kwargs) if cls is stand_in else real.__new__(cls, *args, **kwargs)


def _as_named(made: Any, real: Any) -> Any:
    made.__name__, made.__qualname__, made.__module__ = (
        real.__name__,
        real.__qualname__,
        real.__module__,
    )
    return made


@contextmanager
def _subclasses(shift_s: float) -> Iterator[None]:
    """Classes of others that inherit `now`, `utcnow` or `today` from the real ones give later
    ones too."""
    changed: list[tuple[type, str]] = []
    try:
        for cls, name in list(_inheriting()):
            later = _later(getattr(cls, name), shift_s)
            try:
                setattr(cls, name, later)
            except TypeError:  # a class of a C extension
                continue
            changed.append((cls, name))
        yield
    finally:
        for cls, name in changed:
            delattr(cls, name)


def _inheriting() -> Iterator[tuple[type, str]]:
    """(class, name) where it has that of `datetime` or `date` itself."""
    seen: set[type] = set(_REAL)
    waiting: list[Any] = [*_REAL[0].__subclasses__(), *_REAL[1].__subclasses__()]
    while waiting:
        cls = waiting.pop()
        if cls in seen or issubclass(type(cls), _SameInstances):
            continue
        seen.add(cls)
        waiting += type.__subclasses__(cls)
        for name in _NAMES:
            owner = next((one for one in cls.__mro__ if name in vars(one)), None)
            if owner in _REAL:
                yield cls, name


def _later(real: Any, shift_s: float) -> Any:
    """A static method, for `real` is bound to its class already."""
    shift = datetime.timedelta(seconds=shift_s)

    def later(*args: Any, **kwargs: Any) -> Any:
        return real(*args, **kwargs) + shift

    return staticmethod(later)


@contextmanager
def _pickled() -> Iterator[None]:
    """Real datetimes can be pickled while their name stands for another class."""
    before = {real: copyreg.dispatch_table.get(real) for real in _REAL}
    try:
        for real in _REAL:
            copyreg.pickle(real, _reduced)
        yield
    finally:
        for real, reduce in before.items():
            del copyreg.dispatch_table[real]
            if reduce is not None:
                copyreg.dispatch_table[real] = reduce


def _reduced(moment: Any) -> tuple[Any, ...]:
    return _made, (type(moment) is _REAL[1], *moment.__reduce__()[1])


def _made(is_date: bool, *args: Any) -> Any:
    return _REAL[is_date](*args)
