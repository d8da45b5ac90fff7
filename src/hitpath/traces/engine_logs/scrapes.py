"""Readings of /metrics: samples into scrapes, scrapes into servers.

A source may hold several scrapes, one after the other: a new one begins where a series comes
again. Scrapes are of one server if they tell the same start of the process
(process_start_time_seconds, or when a counter was created), or none of them tells it; they stand
in the order of time, which is that of the sources.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

from hitpath.traces.engine_logs.prometheus_text import Sample
from hitpath.traces.engine_logs.records import Findings

START = "process_start_time_seconds"
_CREATED = "_created"
_Key = tuple[str, str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Scrape:
    """One reading. samples: the last value of each series. name, start_s: how it is called, and
    when the process started (Unix seconds), once all scrapes are there."""

    source: str
    place: str
    samples: dict[_Key, Sample] = field(default_factory=dict)
    name: str = ""
    start_s: float | None = None


def _start_of(scrape: Scrape) -> float | None:
    """None where the start is not told, or several are."""
    told = {s.value for s in scrape.samples.values() if s.name == START}
    if not told:
        created = [s.value for s in scrape.samples.values() if s.name.endswith(_CREATED)]
        told = {min(created)} if created else set()
    start = told.pop() if len(told) == 1 else None
    return start if start is not None and math.isfinite(start) else None


class Scrapes:
    """Collects the samples of all sources."""

    def __init__(self, findings: Findings, counters: frozenset[tuple[str, str]]) -> None:
        self._findings = findings
        self._counters = counters
        self.all: list[Scrape] = []

    def feed(self, source: str, sample: Sample) -> None:
        """One sample; of a counter, a whole number of tokens, requests or blocks."""
        name = f"{sample.engine}:{sample.name}" if sample.engine else sample.name
        if (sample.engine, sample.name) in self._counters and not _is_count(sample.value):
            self._findings.reject(sample.place, name, f"{sample.value:g} is no count")
            return
        key = (sample.engine, sample.name, sample.labels)
        if not self.all or self.all[-1].source != source or key in self.all[-1].samples:
            self.all.append(Scrape(source, sample.place))
        self.all[-1].samples[key] = sample

    def servers(self) -> list[list[Scrape]]:
        """The scrapes of each server, each in order."""
        per_source = Counter(scrape.source for scrape in self.all)
        by_start: dict[float | None, list[list[Scrape]]] = {}
        for scrape in self.all:
            scrape.name = scrape.source if per_source[scrape.source] == 1 else scrape.place
            scrape.start_s = _start_of(scrape)
            servers = by_start.setdefault(scrape.start_s, [])
            for known in servers:
                if not known[-1].samples.keys().isdisjoint(scrape.samples.keys()):
                    known.append(scrape)
                    break
            else:
                servers.append([scrape])
        return [server for servers in by_start.values() for server in servers]


def _is_count(value: float) -> bool:
    return math.isfinite(value) and 0 <= value < 2**63 and value == int(value)
