"""The statistics lines of one vLLM engine between which the time only goes forward."""

from collections import Counter
from dataclasses import dataclass, field

from hitpath.traces.engine_logs.lines import Times
from hitpath.traces.engine_logs.records import MOST_POINTS, Point


@dataclass(slots=True, eq=False)
class Stretch:
    """Lines of one engine with times that go forward. second: V1's external, V0's CPU rate."""

    version: int
    process: str
    engine: str
    engines: int = 1
    times: Times = field(default_factory=Times)
    place: str = ""
    num: int = 0
    num_idle: int = 0
    first: float | None = None
    second: float | None = None
    same: bool = True
    decimals: int = 1
    points: list[Point] = field(default_factory=list)
    second_points: list[Point] = field(default_factory=list)
    throughput: float = 0.0
    usage: bytes | None = None
    waited: bool = False
    preemptions: int = 0

    def add(
        self, at: str | None, at_s: float | None, first: float | None, second: float | None
    ) -> None:
        """One more line's rates; a second rate that is not told leaves the last one standing."""
        self.times.add(at, at_s)
        alike = first == self.first and second in (None, self.second)
        self.same = self.same and (self.num == 0 or alike)
        _append(self.points, at, first)
        if second is not None:
            _append(self.second_points, at, second)
            self.second = second
        self.first = first
        self.num += 1


def _append(points: list[Point], at: str | None, rate: float | None) -> None:
    """Changes only; of very long logs every other one."""
    if not points or points[-1].rate != rate:
        points.append(Point(at, rate))
    if len(points) >= 8 * MOST_POINTS:
        del points[1:-1:2]


def names_of(stretches: list[Stretch]) -> list[str]:
    """What tells each stretch from the others; "" for the only one."""
    if len(stretches) == 1 and stretches[0].engines == 1:
        return [""]
    several_engines = len({stretch.engine for stretch in stretches}) > 1
    several_processes = len({stretch.process for stretch in stretches}) > 1
    alike = Counter(who(stretch) for stretch in stretches)
    seen: Counter[tuple[int, str, str]] = Counter()
    names = []
    for stretch in stretches:
        parts = [stretch.engine if several_engines else ""]
        parts.append(stretch.process if several_processes else "")
        seen[who(stretch)] += 1
        if alike[who(stretch)] > 1:
            begin = stretch.times.begin
            parts.append(f"from {begin}" if begin else f"stretch {seen[who(stretch)]}")
        told = ", ".join(part for part in parts if part)
        names.append(told or stretch.engine or "process not named")
    return names


def who(stretch: Stretch) -> tuple[int, str, str]:
    """Whose lines they are: version (0 or 1), process, engine."""
    return stretch.version, stretch.process, stretch.engine
