"""The check itself: one call a world, compared with the first, in this process and in others, then
turn by turn."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitpath.core import printable
from hitpath.pytest_plugin.arguments import is_changed, shuffled, snapshot
from hitpath.pytest_plugin.calling import result_of
from hitpath.pytest_plugin.compare import Difference, first_difference
from hitpath.pytest_plugin.naming import CHANGED_ARGUMENTS as _CHANGES
from hitpath.pytest_plugin.naming import Seen, named
from hitpath.pytest_plugin.places import CannotEnter
from hitpath.pytest_plugin.processes import BuilderFailed, Call, NoChild
from hitpath.pytest_plugin.results import prompt_of
from hitpath.pytest_plugin.separate import Blamed, check_processes
from hitpath.pytest_plugin.worlds import World, inside, other_locale, worlds

_CALLED_AGAIN = 6
_CLOCKS = (time.monotonic, time.perf_counter, time.time, time.process_time, time.thread_time)
_OWN_CLOCKS = frozenset(["numpy", "pandas", "polars", "pyarrow", "whenever"])
_SECOND_S = 1.05
_PROCESSES = (
    "the order of sets under another hash seed, what is read at import or kept in a cache, "
    "process numbers and addresses"
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What was checked, and what could not be, each with its reason."""

    worlds: tuple[str, ...]
    not_checked: tuple[str, ...]


class PrefixBroken(AssertionError):
    """A built prompt is not the beginning of the other one. world: in what they were built."""

    def __init__(self, world: str, found: Difference, fix: str = "") -> None:
        place = found.json_path or "the prompt"
        lines = [
            f"the prefix breaks {world}",
            f"  kind     {found.kind}",
            f"  at       {place}, character {found.char_offset:,}",
            f"  first    {printable(found.first)}",
            f"  then     {printable(found.second)}",
        ]
        if fix:
            lines.append(f"  fix      {fix}")
        super().__init__("\n".join(lines))
        self.world = world
        self.difference = found


def check(
    build_prompt: Callable[..., Any],
    *args: Any,
    grows: Sequence[Any] | None = None,
    kwargs: dict[str, Any] | None = None,
    clock_shift_s: float | None = None,
    shuffle: bool = True,
    free_tail: bool = True,
    hash_seeds: bool | None = None,
    timeout_s: float = 60.0,
) -> Checked:
    """Raise PrefixBroken where a prompt built in another world does not begin as the first one.

    build_prompt(*args, **kwargs): gives text, token ids, a list of messages or a request body; may
    be async, a generator or a context manager (NoPrompt, a TypeError, for anything else, and for a
    prompt without text). grows: arguments of later turns (a tuple each, or the only argument):
    each turn's prompt must begin with the one before. clock_shift_s: the only shift that is tried
    instead of several (worlds.SHIFTS_S); 3,599 lets a clock by the day pass on most days. shuffle:
    also build dicts and sets of the arguments in another order. free_tail: the last message, behind
    others, may differ. hash_seeds: build in new processes too, whose sets have other orders; None
    where that is possible, True or else NoChild or BuilderFailed.
    """
    __tracebackhide__ = True
    calls = _Calls(build_prompt, args, kwargs or {}, free_tail)
    found_locale = other_locale()
    if found_locale is None:
        calls.not_checked.append("another locale, for none is installed here")
    tried = [w for w in worlds(clock_shift_s, found_locale) if shuffle or not w.shuffled]
    for world in tried[1:]:
        calls.compare(world)
    if hash_seeds is not False:
        calls.compare_processes(clock_shift_s, timeout_s, bool(hash_seeds))
    calls.compare_a_second_later()
    calls.compare_turns(grows or ())
    return Checked(tuple(calls.names), tuple(dict.fromkeys(calls.not_checked)))


class _Calls:
    """The first call, and those that are compared with it."""

    def __init__(
        self,
        build: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        free_tail: bool,
    ) -> None:
        __tracebackhide__ = True
        self._build, self._args, self._kwargs = build, args, kwargs
        self._free_tail = free_tail
        self._plain = World("the first call")
        self._given = snapshot((args, kwargs))
        self.names: list[str] = []
        self.not_checked: list[str] = []
        self._began_s = time.monotonic()
        self._first, self._seen = self._built(self._plain)

    def compare(self, world: World) -> None:
        """Build in a world. Raises PrefixBroken."""
        __tracebackhide__ = True
        try:
            built, seen = self._built(world)
        except CannotEnter as error:
            self.not_checked.append(f"{world.name}: {error}")
            return
        except Exception as error:
            if not world.may_fail:
                raise
            told = f"{type(error).__name__}: {error}".splitlines()[0]
            self.not_checked.append(f"{world.name}: the builder raises {told}")
            return
        found = first_difference(self._first, built, self._free_tail)
        if found is not None:
            self._raise_what_comes_anyway(world)
            self._raise(world, found, seen)
        self.names.append(world.name)

    def _raise_what_comes_anyway(self, world: World) -> None:
        """What differs from call to call is not of the world in which it was seen first."""
        __tracebackhide__ = True
        again = World("called once more", kind="random_sample")
        if world.name == again.name:
            return
        for _ in range(_CALLED_AGAIN):
            built, seen = self._built(again)
            found = first_difference(self._first, built, self._free_tail)
            if found is not None:
                self._raise(again, found, seen)

    def _raise(self, world: World, found: Difference, seen: Seen) -> None:
        __tracebackhide__ = True
        first = self._seen
        if is_changed(self._given, (self._args, self._kwargs)):
            one, first = self._built(self._plain, snapshot(self._given))
            two, seen = self._built(world, snapshot(self._given))
            anyway = first_difference(one, two, self._free_tail)
            if anyway is None:
                raise PrefixBroken(world.name, replace(found, kind="edited_message"), _CHANGES)
            found = anyway
        found, fix = named(world, found, first, seen)
        raise PrefixBroken(world.name, found, fix)

    def _built(self, world: World, given: Any = None) -> tuple[Any, Seen]:
        """What a world gives; what the builder raises passes, with a note of where."""
        __tracebackhide__ = True
        args, kwargs = (self._args, self._kwargs) if given is None else given
        if world.shuffled:
            args, kwargs = shuffled(args), shuffled(kwargs)
        begin = [clock() for clock in _CLOCKS]
        with inside(world):
            try:
                made = result_of(self._build, args, kwargs)
            except Exception as error:
                error.add_note(f"raised by the prompt builder itself, {world.name}")
                raise
        end = [clock() for clock in _CLOCKS]
        return prompt_of(made), Seen(tuple(zip(begin, end, strict=True)))

    def compare_processes(self, clock_shift_s: float | None, timeout_s: float, must: bool) -> None:
        """Build in processes of their own. Raises PrefixBroken; NoChild or BuilderFailed where
        that is wanted in any case."""
        __tracebackhide__ = True
        try:
            call = Call(self._build, self._args, self._kwargs)
            told = check_processes(call, self._first, clock_shift_s, self._free_tail, timeout_s)
        except Blamed as blamed:
            found, fix = named(blamed.world, blamed.found, blamed.first, blamed.second)
            raise PrefixBroken(blamed.world.name, found, fix) from None
        except (NoChild, BuilderFailed) as error:
            if must:
                raise
            last = str(error).strip().splitlines()[-1]
            raised = (
                "in a process of its own it raises " if isinstance(error, BuilderFailed) else ""
            )
            self.not_checked.append(f"{_PROCESSES}: {raised}{last}")
        else:
            self.names += ["in another process", "with other hash seeds"]
            self.not_checked += told

    def compare_a_second_later(self) -> None:
        """Clocks that cannot be shifted show by themselves, where a library has one."""
        __tracebackhide__ = True
        if _OWN_CLOCKS & sys.modules.keys():
            time.sleep(max(0.0, self._began_s + _SECOND_S - time.monotonic()))
            self.compare(World("called a second later", kind="clock"))

    def compare_turns(self, grows: Sequence[Any]) -> None:
        """Each turn with the one before. Raises PrefixBroken."""
        __tracebackhide__ = True
        before = self._first
        for number, later in enumerate(grows, 2):
            args = later if isinstance(later, tuple) else (later,)
            turn, _ = self._built(self._plain, (args, self._kwargs))
            found = first_difference(before, turn, self._free_tail)
            if found is not None:
                world = World(f"from turn {number - 1} to turn {number}")
                found, fix = named(world, found, Seen(), Seen())
                raise PrefixBroken(world.name, found, fix)
            before = turn
