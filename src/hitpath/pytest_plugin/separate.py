"""Processes of their own: one as the first, one merely another, others with other hash seeds, some
of these in another world too. Where one differs, each of its changes is tried alone."""

from dataclasses import dataclass, replace
from typing import Any

from hitpath.pytest_plugin.compare import Difference, first_difference
from hitpath.pytest_plugin.naming import Seen
from hitpath.pytest_plugin.processes import (
    ANOTHER_PROCESS,
    BuilderFailed,
    Call,
    NoChild,
    Process,
    Told,
)
from hitpath.pytest_plugin.worlds import HOST_WORLD, ZONE_WORLD, World, clock_world

_AT_IMPORT = (
    "read it when the prompt is built, not at import, as a default argument or before a cache; "
    "then put it into the last message"
)
_IMPORT_SHIFT_S = 101 * 86_400.0 + 13 * 3_600.0 + 187.0
"""Another month, day, weekday, half of the day, minute and second."""
_SEEDS_ALONE = (5, 6, 7)
_ORDERS = frozenset(["array_order", "key_order", "tool_order"])
_HASH_WORLD = World("under another hash seed (PYTHONHASHSEED)", seed=None, kind="hash")
_BASE = Process(1)
_OTHERS = (Process(1, num_objects=7), Process(1, num_objects=23), Process(1, num_objects=101))


class Blamed(Exception):
    """What differs, and in which world."""

    def __init__(self, world: World, found: Difference, first: Seen, second: Seen) -> None:
        super().__init__(world.name)
        self.world, self.found, self.first, self.second = world, found, first, second


def check_processes(
    call: Call, here: Any, clock_shift_s: float | None, free_tail: bool, timeout_s: float
) -> list[str]:
    """What could not be checked. Raises Blamed; NoChild and BuilderFailed of the first process.

    here: what this process built. It may know more than a new one (what a test has set), so only
    the order of its words counts, by its own hash seed.
    """
    mixed = _mixed(clock_shift_s)
    wanted = [_BASE, _OTHERS[0], *(Process(seed) for seed in _SEEDS_ALONE), *mixed]
    base, other, *rest = call.in_processes(wanted, timeout_s)
    if not isinstance(base, Told):
        raise base
    check = _Compared(call, base, free_tail, timeout_s)
    check.blame(ANOTHER_PROCESS, other)
    for told in rest[: len(_SEEDS_ALONE)]:
        if check.differs(told):
            check.raise_what_comes_anyway()
            check.blame(_HASH_WORLD, told)
    not_checked = []
    for process, told in zip(mixed, rest[len(_SEEDS_ALONE) :], strict=True):
        if not isinstance(told, Told):
            last = str(told).strip().splitlines()[-1]
            not_checked.append(f"in another process, {process.world.name}: {last}")
        elif check.differs(told):
            check.raise_what_comes_anyway()
            check.raise_one_of(process)
    found = first_difference(here, base.prompt, free_tail)
    if found is not None and found.kind in _ORDERS:
        raise Blamed(_HASH_WORLD, found, Seen(), Seen())
    return not_checked


def _mixed(clock_shift_s: float | None) -> list[Process]:
    """Another hash seed and another world at once: one process less for each."""
    place = replace(HOST_WORLD, name="on another host, in another folder", folder=True)
    clock = clock_world(_IMPORT_SHIFT_S if clock_shift_s is None else clock_shift_s)
    made = [clock, ZONE_WORLD, place]
    return [
        Process(seed, replace(world, seed=None, fix=_AT_IMPORT, is_firm=True))
        for seed, world in enumerate(made, 2)
    ]


@dataclass(frozen=True, slots=True)
class _Compared:
    """Others against the first process."""

    call: Call
    base: Told
    free_tail: bool
    timeout_s: float

    def differs(self, told: Told | BuilderFailed | NoChild) -> Difference | None:
        """Where; None too for what did not build."""
        if not isinstance(told, Told):
            return None
        return first_difference(self.base.prompt, told.prompt, self.free_tail)

    def blame(self, world: World, told: Told | BuilderFailed | NoChild) -> None:
        """Raises Blamed where it differs."""
        found = self.differs(told)
        if found is not None and isinstance(told, Told):
            raise Blamed(world, found, Seen(ids=self.base.ids), Seen(ids=told.ids))

    def raise_what_comes_anyway(self) -> None:
        """What differs from process to process is of no hash seed and no clock."""
        for told in self.call.in_processes(_OTHERS, self.timeout_s):
            self.blame(ANOTHER_PROCESS, told)

    def raise_one_of(self, process: Process) -> None:
        """Which of its two changes it is, each alone. Raises Blamed."""
        alone = [Process(process.hash_seed), replace(process, hash_seed=_BASE.hash_seed)]
        by_hash, by_world = self.call.in_processes(alone, self.timeout_s)
        name = f"in another process, {process.world.name}"
        self.blame(replace(process.world, name=name), by_world)
        self.blame(_HASH_WORLD, by_hash)
