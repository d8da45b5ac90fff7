"""vLLM's statistics lines.

V1 (vllm/v1/metrics/loggers.py, 0.7 to 0.32) prints one line every 10 s (5 s in early versions)
unless idle: "Engine 000: Avg prompt throughput: …, Prefix cache hit rate: 98.6%[, External prefix
cache hit rate: …]", or "2 Engines Aggregated: …". The rate is that of the last 1,000 requests
(CachingMetrics.max_recent_requests), token-weighted since 0.9 (PR 18003), block-weighted before.
V0 (vllm/engine/metrics.py, CacheMetricData) prints "Prefix cache hit rate: GPU: x%, CPU: y%" in a
line of its own: blocks found of blocks allocated since the start, -1.00% where it is off.
"""

import re
from dataclasses import replace as changed

from hitpath.traces.engine_logs.lines import decimals_of, number, process_of, seconds_of, time_in
from hitpath.traces.engine_logs.records import (
    Findings,
    Kind,
    Observation,
    Unit,
    Window,
    thinned,
)
from hitpath.traces.engine_logs.stretches import Stretch, names_of
from hitpath.traces.engine_logs.vllm_traps import warn

_V1 = re.compile(rb"(?<!External )Prefix cache hit rate: (-?\d{1,9}(?:\.\d{1,9})?)%")
_V0 = re.compile(
    rb"Prefix cache hit rate: GPU: (-?\d{1,9}(?:\.\d{1,9})?)%, CPU: (-?\d{1,9}(?:\.\d{1,9})?)%"
)
_MENTION = b"Prefix cache hit rate:"
_THROUGHPUT = re.compile(rb"Avg prompt throughput: (\d{1,12}(?:\.\d{1,9})?) tokens/s")
_ENGINE = re.compile(rb"(?:Engine (\d{1,9})|(\d{1,9}) Engines Aggregated): Avg prompt")
_USAGE = re.compile(rb"(?:GPU|NPU|XPU) KV cache usage: (\d{1,9}(?:\.\d{1,9})?)%")
_WAITING = re.compile(rb"Waiting: (\d{1,9}) reqs")
_PREEMPTIONS = re.compile(rb"Preemptions: (\d{1,9})")
_EXTERNAL = re.compile(rb"External prefix cache hit rate[^:\n]{0,4}: (\d{1,9}(?:\.\d{1,9})?)%")
_PLACE_IN_LINE = 600
MOST_STRETCHES = 100
"""Of one engine. A log whose times go back more often is of servers that are told apart by
nothing; then the last stretch takes all."""


class VllmLog:
    """Collects one source's lines."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._stretches: dict[tuple[int, str, str], list[Stretch]] = {}
        self._throughput: dict[str, float] = {}
        self._usage: dict[str, bytes] = {}
        self.version: tuple[int, int] | None = None
        self.num_plain = 0

    def feed(self, place: str, line: bytes) -> bool:
        """Whether the line told something."""
        if _MENTION not in line:
            return self._plain(line)
        found = [*_V1.finditer(line), *_V0.finditer(line)]
        begin = 0
        for match in sorted(found, key=re.Match.start):
            self._statistic(place, line, begin, match)
            begin = match.end()
        if not found:
            self._findings.left_out(place, "Prefix cache hit rate", "no rate: the line is cut off")
        return True

    def _plain(self, line: bytes) -> bool:
        """A line of V0 that comes before the hit rate, or of an engine that tells none."""
        throughput = _THROUGHPUT.search(line)
        if throughput is None:
            return False
        head = max(0, throughput.start() - _PLACE_IN_LINE)
        process = process_of(line, head, throughput.start())
        self._throughput[process] = number(throughput[1])
        usage = _USAGE.search(line)
        if usage:
            self._usage[process] = usage[1]
        self.num_plain += 1
        return True

    def _statistic(self, place: str, line: bytes, begin: int, match: re.Match[bytes]) -> None:
        begin = max(begin, match.start() - _PLACE_IN_LINE)
        before = line[begin : match.start()]
        version = 0 if match.re is _V0 else 1
        rates = [number(text) for text in match.groups()]
        if any(rate > 100 or (rate < 0 and rate != -1) for rate in rates):
            name = "Prefix cache hit rate"
            self._findings.left_out(place, name, f"{max(rates, key=abs):g} % is no share")
            return
        first, *rest = [None if rate < 0 else _share(rate) for rate in rates]
        second = rest[0] if rest else _external(line, match.end())
        engine = _last(_ENGINE, before)
        many = engine is not None and engine[2] is not None
        process = process_of(line, begin, match.start())
        name = "" if engine is None else f"engine {int(engine[1] or engine[2])}"
        if engine is not None and many:
            name = f"{int(engine[2])} engines together"
        at = time_in(before)
        at_s = seconds_of(at)
        stretch = self._stretch((version, process, name), at, at_s)
        stretch.engines = int(engine[2]) if engine is not None and many else 1
        stretch.add(at, at_s, first, second)
        stretch.place, stretch.decimals = place, decimals_of(match[1])
        self._beside(stretch, before, process)

    def _beside(self, stretch: Stretch, before: bytes, process: str) -> None:
        told = _last(_THROUGHPUT, before)
        throughput = number(told[1]) if told else self._throughput.get(process)
        stretch.num_idle += throughput == 0.0
        stretch.throughput = max(stretch.throughput, throughput or 0.0)
        usage = _last(_USAGE, before)
        stretch.usage = usage[1] if usage else self._usage.get(process, stretch.usage)
        waiting, preempted = _last(_WAITING, before), _last(_PREEMPTIONS, before)
        stretch.waited = stretch.waited or (waiting is not None and int(waiting[1]) > 0)
        stretch.preemptions += int(preempted[1]) if preempted else 0

    def _stretch(self, whose: tuple[int, str, str], at: str | None, at_s: float | None) -> Stretch:
        known = self._stretches.setdefault(whose, [])
        if not known or (known[-1].times.goes_back(at, at_s) and len(known) < MOST_STRETCHES):
            known.append(Stretch(*whose))
        return known[-1]

    def stretches(self) -> list[Stretch]:
        """All of them, in the order of their first lines."""
        return [stretch for known in self._stretches.values() for stretch in known]

    def finish(self) -> None:
        """Put what was collected into the findings."""
        stretches = self.stretches()
        if not stretches and self.num_plain:
            self._findings.trap(
                f"{self.num_plain:,} statistics lines tell no hit rate: vLLM V0 prints none where "
                "prefix caching is off"
            )
        for stretch, name in zip(stretches, names_of(stretches), strict=True):
            made = self._v0(stretch, name) if stretch.version == 0 else self._v1(stretch, name)
            self._findings.observations += made
        warn(self._findings, stretches, self.version)

    def _v1(self, stretch: Stretch, name: str) -> list[Observation]:
        before = f" before {stretch.times.end}" if stretch.times.end else ""
        text = f"the last 1,000 requests{before}"
        window = Window("recent_requests", text, None, stretch.times.end)
        own = _observation("prefix_cache", stretch, name, window, self._unit())
        if stretch.second is None:
            return [own]
        external = changed(
            own,
            quantity="external_prefix_cache",
            rate=stretch.second,
            over_time=thinned(stretch.second_points),
        )
        kind: Kind = "derived"
        together = changed(
            own,
            quantity="prefix_cache_and_connector",
            kind=kind,
            rate=None if stretch.first is None else 1 - (1 - stretch.first) * (1 - stretch.second),
            over_time=(),
        )
        return [own, external, together]

    def _unit(self) -> Unit | None:
        """Since 0.9 tokens; a log without its beginning does not tell the version."""
        if self.version is None:
            return None
        return "tokens" if self.version >= (0, 9) else "blocks"

    def _v0(self, stretch: Stretch, name: str) -> list[Observation]:
        until = f" until {stretch.times.end}" if stretch.times.end else ""
        window = Window("since_start", f"since the engine started{until}", None, stretch.times.end)
        gpu = _observation("v0_gpu", stretch, name, window, "blocks")
        cpu = changed(
            gpu, quantity="v0_cpu", rate=stretch.second, over_time=thinned(stretch.second_points)
        )
        return [gpu, cpu]


def _observation(
    quantity: str, stretch: Stretch, name: str, window: Window, unit: Unit | None
) -> Observation:
    return Observation(
        engine="vllm",
        quantity=quantity,
        kind="printed",
        model=None,
        worker=name,
        rate=stretch.first,
        hit=None,
        total=None,
        unit=unit,
        window=window,
        place=stretch.place,
        num_values=stretch.num,
        decimals=stretch.decimals,
        over_time=thinned(stretch.points),
        worker_count=stretch.engines,
    )


def _last(pattern: re.Pattern[bytes], text: bytes) -> re.Match[bytes] | None:
    found = list(pattern.finditer(text))
    return found[-1] if found else None


def _external(line: bytes, begin: int) -> float | None:
    """The connector's rate that belongs to the statistic before `begin`."""
    end = line.find(_MENTION, begin)
    match = _EXTERNAL.search(line, begin, end if end >= 0 else len(line))
    if match is None or number(match[1]) > 100:
        return None
    return _share(number(match[1]))


def _share(per_cent: float) -> float:
    """Without the tail that dividing by 100 leaves in binary."""
    return round(per_cent / 100, 12)
