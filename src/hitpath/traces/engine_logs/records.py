"""What an engine's own statistics say: one record a figure, with its window and weighting.

A figure is never more than its source says: printed rates have no counts, a gauge has no
window of its own, counters have no requests. What cannot be told is None.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hitpath.core import InputError
from hitpath.traces.problems import Problem, Skipped, SkippedSoFar

Kind = Literal["counters", "difference", "lines", "printed", "gauge", "derived"]
"""How a figure came about: read off counters, the difference of two readings of them, summed
over lines, printed by the engine as a rate, a gauge, or calculated from other figures."""

WindowKind = Literal[
    "between_scrapes", "since_start", "lines", "recent_requests", "one_batch", "not_told"
]
Unit = Literal["tokens", "blocks"]
MOST_POINTS = 240


@dataclass(frozen=True, slots=True)
class Window:
    """Over what a rate is taken. begin, end: times as the source writes them, or None."""

    kind: WindowKind
    text: str
    begin: str | None = None
    end: str | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a figure over time. at: as the source writes it, or None."""

    at: str | None
    rate: float | None


@dataclass(frozen=True, slots=True)
class Observation:
    """One hit rate that the text tells.

    quantity: a key of quantities.QUANTITIES. worker: whose figure it is ("" where there is only
    one). hit, total: counts in `unit`, None where only a rate is told. rate: 0 to 1, None
    without a denominator. unit: what is counted, hence what the rate is weighted by; None where
    the text does not tell. decimals: of the percentage as it was printed, else None. parts: hits
    by source, adding up to `hit`. place: file and line of the last value. num_values: how many
    lines, batches or scrapes it rests on. worker_count: how many workers it adds up.
    """

    engine: str
    quantity: str
    kind: Kind
    model: str | None
    worker: str
    rate: float | None
    hit: int | None
    total: int | None
    unit: Unit | None
    window: Window
    place: str
    num_values: int = 1
    decimals: int | None = None
    parts: tuple[tuple[str, int], ...] = ()
    over_time: tuple[Point, ...] = ()
    worker_count: int = 1


@dataclass(frozen=True, slots=True)
class Fact:
    """Something beside hit rates that the text tells: a setting, a size, a counter."""

    engine: str
    name: str
    value: str
    place: str


@dataclass(frozen=True, slots=True)
class Observed:
    """All that engine statistics told. headline: the figures that answer the question, one for
    each worker that cannot be added to the others; empty where none can be given. traps: what is
    misread in just these data. not_known: what this kind of text cannot tell. skipped: lines that
    hold a figure that could not be read."""

    inputs: tuple[str, ...]
    num_lines: int
    num_used_lines: int
    engines: tuple[str, ...]
    observations: tuple[Observation, ...]
    headline: tuple[Observation, ...]
    facts: tuple[Fact, ...]
    traps: tuple[str, ...]
    not_known: tuple[str, ...]
    skipped: Skipped


@dataclass(slots=True)
class Findings:
    """Where the readers put what they find. strict: a figure that cannot be read raises."""

    strict: bool = True
    observations: list[Observation] = field(default_factory=list)
    facts: dict[tuple[str, str], Fact] = field(default_factory=dict)
    traps: dict[str, None] = field(default_factory=dict)
    skipped: SkippedSoFar = field(default_factory=SkippedSoFar)

    def trap(self, text: str) -> None:
        """Once, however often it applies."""
        self.traps[text] = None

    def fact(self, engine: str, name: str, value: str, place: str) -> None:
        """The last value of a name stands, at its first place in the list."""
        self.facts[engine, name] = Fact(engine, name, value, place)

    def left_out(self, place: str, name: str, cause: str) -> None:
        """A line of a log that holds a figure, but cut off or out of its range."""
        self.skipped.append(Problem(place, name, cause))

    def reject(self, place: str, name: str, cause: str) -> None:
        """A sample that cannot be right. Raises InputError where the reader is strict."""
        if self.strict:
            raise InputError(place, name, cause)
        self.left_out(place, name, cause)


def share(hit: int, total: int) -> float | None:
    """hit / total; None without a denominator, or where the two cannot belong together."""
    return hit / total if total > 0 and 0 <= hit <= total else None


def percent(rate: float, decimals: int = 2) -> str:
    """As sentences show a rate."""
    return f"{rate * 100:.{decimals}f} %"


def thinned(points: Sequence[Point]) -> tuple[Point, ...]:
    """At most MOST_POINTS of them, evenly chosen, the first and the last among them."""
    if len(points) <= MOST_POINTS:
        return tuple(points)
    step = (len(points) - 1) / (MOST_POINTS - 1)
    return tuple(points[round(i * step)] for i in range(MOST_POINTS))


def listed(names: Iterable[str], most: int = 4) -> str:
    """a, b, c and 5 more."""
    all_of_them = list(names)
    more = len(all_of_them) - most
    return ", ".join(all_of_them[:most]) + (f" and {more:,} more" if more > 0 else "")
