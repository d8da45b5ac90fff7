"""Counters into hit rates: since the start, and between the first and the last scrape."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise

from hitpath.traces.engine_logs.quantities import ANSWERS
from hitpath.traces.engine_logs.records import (
    Findings,
    Observation,
    Point,
    Unit,
    Window,
    share,
    thinned,
)
from hitpath.traces.engine_logs.scrapes import Scrape
from hitpath.traces.engine_logs.workers import Worker


@dataclass(frozen=True, slots=True)
class Count:
    """hit and total of one quantity at one reading, in `unit`. parts add up to hit."""

    hit: int
    total: int
    unit: Unit | None
    place: str
    parts: tuple[tuple[str, int], ...] = ()

    def since(self, before: "Count") -> "Count":
        """What has come since an earlier reading."""
        old = dict(before.parts)
        parts = tuple((name, n - old.get(name, 0)) for name, n in self.parts)
        return Count(self.hit - before.hit, self.total - before.total, self.unit, self.place, parts)


Counting = Callable[[Worker], dict[str, Count]]
"""One worker's samples -> the quantities that they tell."""


def observe_server(
    scrapes: Sequence[tuple[Scrape, Sequence[Worker]]],
    engine: str,
    counting: Counting,
    findings: Findings,
) -> list[Observation]:
    """What the counters of one engine tell in one server's scrapes: the last one since its start,
    and the difference between the first and the last."""
    series: dict[tuple[str, str | None, str], list[tuple[Scrape, Count]]] = {}
    for scrape, found in scrapes:
        for worker in found:
            for quantity, count in counting(worker).items():
                whose = (quantity, worker.model, worker.name)
                series.setdefault(whose, []).append((scrape, count))
    observations = []
    for (quantity, model, name), readings in series.items():
        made = _observe(engine, quantity, name, readings, findings)
        observations += [replace(one, model=model, worker=name) for one in made]
    return observations


def _observe(
    engine: str,
    quantity: str,
    name: str,
    readings: list[tuple[Scrape, Count]],
    findings: Findings,
) -> list[Observation]:
    scrape, last = readings[-1]
    start = scrape.start_s
    since = "since the engine started" + (f" ({_iso(start)})" if start is not None else "")
    window = Window("since_start", since, None if start is None else _iso(start), None)
    made = [_counted(engine, quantity, last, window, 1, ())]
    readings = _after_reset(quantity, readings, findings)
    if len(readings) > 1:
        first = readings[0]
        steps = [
            Point(after[0].name, share(step.hit, step.total))
            for before, after in pairwise(readings)
            for step in [after[1].since(before[1])]
        ]
        window = Window(
            "between_scrapes",
            f"between the scrapes {first[0].name} and {scrape.name}",
            first[0].name,
            scrape.name,
        )
        over_time = thinned(steps) if len(steps) > 1 else ()
        difference = last.since(first[1])
        if not difference.total and not difference.hit and quantity in ANSWERS:
            whose = f"{name}: no" if name else "No"
            findings.trap(f"{whose} prompt came {window.text}: there is no rate of that time")
        made.append(_counted(engine, quantity, difference, window, len(readings), over_time))
    return made


def _counted(
    engine: str,
    quantity: str,
    count: Count,
    window: Window,
    num_values: int,
    over_time: tuple[Point, ...],
) -> Observation:
    return Observation(
        engine=engine,
        quantity=quantity,
        kind="difference" if window.kind == "between_scrapes" else "counters",
        model=None,
        worker="",
        rate=share(count.hit, count.total),
        hit=count.hit,
        total=count.total,
        unit=count.unit,
        window=window,
        place=count.place,
        num_values=num_values,
        parts=count.parts,
        over_time=over_time,
    )


def _after_reset(
    quantity: str, readings: list[tuple[Scrape, Count]], findings: Findings
) -> list[tuple[Scrape, Count]]:
    """The readings since a counter fell for the last time."""
    begin = 0
    for i in range(1, len(readings)):
        step = readings[i][1].since(readings[i - 1][1])
        if step.hit < 0 or step.total < 0:
            begin = i
            before, after = readings[i - 1], readings[i]
            findings.trap(
                f"Counters fell between {before[0].name} ({before[1].total:,} {quantity} "
                f"{before[1].unit or 'units'}) and {after[0].name} ({after[1].total:,}): the "
                "engine was restarted, the scrapes are not in the order of time, or they are of "
                "two servers. Differences begin after it"
            )
    return readings[begin:]


def _iso(unix_s: float) -> str:
    try:
        return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{unix_s:g} s"
