"""Worlds in which a prompt builder is called: each differs from the first in one thing.

Clocks are in clocks.py, users, hosts and folders in places.py. The locale is another one only where
one is installed.
"""

import datetime
import locale
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from hitpath.pytest_plugin.clocks import shifted
from hitpath.pytest_plugin.places import another_folder, another_host, listed_otherwise

_LOCALES = ("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "ja_JP.UTF-8", "tr_TR.UTF-8")
_WITHOUT_LOCALE = "write dates and numbers without the locale (isoformat(), str(), no `n` format)"
_SORTED_FILES = "sort the files of a folder: sorted(folder.glob(...))"
_ZONE_FIX = "write times in one zone (datetime.now(UTC)), and in the last message"
_OWN = "leave it out, or put it into the last message: it is another one on each host"
_DAY_S = 86_400.0
SHIFTS_S = (93_787.0, 13 * 3_600.0, 3 * _DAY_S, 5 * _DAY_S, 100 * _DAY_S, 366 * _DAY_S)
"""A day, two hours, three minutes, seven seconds: every part changes. Then what is made of a part:
morning or evening, a weekend, a season, a year."""
_ZONE = "HIT-05:30"  # POSIX: five and a half hours east of UTC, no file needed
_SEEDS = range(2, 8)  # a choice of few falls the same way under many a seed


@dataclass(frozen=True, slots=True)
class World:
    """clock_shift_s: seconds added to every clock. seed: of random generators, None for what they
    are. shuffled: dicts and sets of the arguments in another order (arguments.py). host, folder,
    listed: see places.py. fix: where the world itself says what to do. kind: what the one thing
    that is changed makes of a difference whose words alone do not tell; where is_firm, of any.
    may_fail: what the builder raises there only says that it cannot be checked."""

    name: str
    clock_shift_s: float = 0.0
    zone: str | None = None
    locale: str | None = None
    seed: int | None = 1
    shuffled: bool = False
    host: bool = False
    folder: bool = False
    listed: bool = False
    fix: str = ""
    kind: str = "edited_message"
    is_firm: bool = False
    may_fail: bool = False


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


def clock_world(clock_shift_s: float | None) -> World:
    """None: the first of the shifts that are tried where none was asked for."""
    shift_s = SHIFTS_S[0] if clock_shift_s is None else clock_shift_s
    name = f"with the clock shifted by {datetime.timedelta(seconds=shift_s)}"
    return World(name, clock_shift_s=shift_s, kind="clock")


ZONE_WORLD = World("in another time zone", zone=_ZONE, kind="clock", fix=_ZONE_FIX)
HOST_WORLD = World("for another user, on another host, in another process", host=True, fix=_OWN,
                   kind="attribution", is_firm=True, may_fail=True)  # fmt: skip
FOLDER_WORLD = World("in another working, home and temporary folder", folder=True, fix=_OWN,
                     kind="attribution", is_firm=True, may_fail=True)  # fmt: skip


def worlds(clock_shift_s: float | None, found_locale: str | None) -> list[World]:
    """The first is the one to compare with."""
    shifts = SHIFTS_S if clock_shift_s is None else (clock_shift_s,)
    made = [
        World("the first call"),
        World("called once more", kind="random_sample"),
        HOST_WORLD,
        *map(clock_world, shifts),
        ZONE_WORLD,
        *(
            World(f"with random seed {seed} instead of 1", seed=seed, kind="random_sample")
            for seed in _SEEDS
        ),
        World(
            "with the dicts and sets of its arguments in another order",
            shuffled=True,
            kind="array_order",
        ),
        World("with folders listed in another order", listed=True, fix=_SORTED_FILES,
              kind="array_order"),
        FOLDER_WORLD,
    ]  # fmt: skip
    if found_locale is not None:
        name = f"with the locale {found_locale}"
        made.append(World(name, locale=found_locale, fix=_WITHOUT_LOCALE, kind="number_format"))
    return made


@contextmanager
def inside(world: World) -> Iterator[None]:
    """All of it, and back again whatever happens. Raises CannotEnter."""
    with ExitStack() as stack:
        stack.enter_context(_seeded(world.seed))
        stack.enter_context(_zone(world.zone))
        stack.enter_context(_locale(world.locale))
        if world.folder:
            stack.enter_context(another_folder())
        if world.host:
            stack.enter_context(another_host())
        if world.listed:
            stack.enter_context(listed_otherwise())
        if world.clock_shift_s:
            stack.enter_context(shifted(world.clock_shift_s))
        yield


@contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    if seed is None:
        yield
        return
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
