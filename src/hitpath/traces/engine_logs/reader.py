"""Sources of engines' statistics -> `Observed`: every line goes to the reader it belongs to."""

from collections.abc import Sequence
from dataclasses import replace

from hitpath.core import InputError
from hitpath.traces.engine_logs import conclude, sglang_metrics, vllm_metrics
from hitpath.traces.engine_logs.counters import observe_server
from hitpath.traces.engine_logs.prometheus_text import Help, help_of, name_of, parse
from hitpath.traces.engine_logs.records import Findings, Observed
from hitpath.traces.engine_logs.scrapes import START, Scrapes
from hitpath.traces.engine_logs.sglang_stats import SGLangLog
from hitpath.traces.engine_logs.startup import StartUp
from hitpath.traces.engine_logs.vllm_stats import VllmLog
from hitpath.traces.engine_logs.workers import workers
from hitpath.traces.sources import Input

_COUNTERS = frozenset(
    [("vllm", name) for name in vllm_metrics.COUNTERS]
    + [("sglang", name) for name in sglang_metrics.COUNTERS]
)
_READ = _COUNTERS | frozenset(
    [("vllm", name) for name in vllm_metrics.OTHERS]
    + [("sglang", name) for name in sglang_metrics.OTHERS]
    + [("", START)]
)


def observe(inputs: Sequence[Input], *, skip_bad_rows: bool = False) -> Observed:
    """Everything that the sources tell about hit rates.

    Raises InputError for a sample of metrics that cannot be right; with `skip_bad_rows` it is
    listed in `Observed.skipped`, as lines of logs that are cut off always are.
    """
    findings = Findings(strict=not skip_bad_rows)
    reading = _Reading(findings)
    for source, name in zip(inputs, _short_names(inputs), strict=True):
        reading.read(source, name)
        if source.note:
            findings.trap(source.note)
    return reading.conclude(tuple(source.name for source in inputs))


def _short_names(inputs: Sequence[Input]) -> list[str]:
    """Without their folders where that is enough to tell them apart."""
    if len(inputs) == 1:
        return [""]
    short = [source.name if source.path is None else source.path.name for source in inputs]
    return short if len(set(short)) == len(short) else [source.name for source in inputs]


class _Reading:
    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._scrapes = Scrapes(findings, _COUNTERS)
        self._helps: list[Help] = []
        self._num_lines = 0
        self._num_used = 0

    def read(self, source: Input, name: str) -> None:
        """All lines. name: what goes before its workers' names, "" for the only source."""
        vllm, sglang = VllmLog(self._findings), SGLangLog(self._findings)
        start_up = StartUp(self._findings)
        for place, line in source.lines():
            self._num_lines += 1
            self._num_used += (
                self._metric(source.name, place, line)
                or vllm.feed(place, line)
                or sglang.feed(place, line)
                or start_up.feed(place, line)
            )
        vllm.version, sglang.page_size = start_up.version, start_up.page_size
        before = len(self._findings.observations)
        vllm.finish()
        sglang.finish()
        self._findings.observations[before:] = [
            replace(one, worker=": ".join(filter(None, (name, one.worker))))
            for one in self._findings.observations[before:]
        ]

    def _metric(self, source: str, place: str, line: bytes) -> bool:
        if line[:2] == b"# ":
            told = help_of(line)
            if told is not None and (told.engine, told.name) in _READ:
                self._helps.append(told)
            return False
        if name_of(line) not in _READ:
            return False
        try:
            self._scrapes.feed(source, parse(line, place))
        except InputError as error:
            self._findings.reject(error.place, error.field, error.cause)
        return True

    def conclude(self, names: tuple[str, ...]) -> Observed:
        findings = self._findings
        self._servers()
        found = conclude.shortest_names(findings.observations)
        conclude.impossible(found, findings)
        found = [*conclude.totals(found, findings), *found]
        conclude.differing_models(found, findings)
        conclude.printed_by_several(found, findings)
        return Observed(
            inputs=names,
            num_lines=self._num_lines,
            num_used_lines=self._num_used,
            engines=tuple(sorted({one.engine for one in found})),
            observations=tuple(found),
            headline=conclude.headline(found),
            facts=tuple(findings.facts.values()),
            traps=tuple(findings.traps),
            not_known=conclude.not_known(found),
            skipped=findings.skipped.found(),
        )

    def _servers(self) -> None:
        findings = self._findings
        servers = self._scrapes.servers()
        vllm_counting = vllm_metrics.VllmCounting(self._helps)
        for server in servers:
            read = [(scrape, workers(scrape, findings)) for scrape in server]
            vllm = [(scrape, found.get("vllm", [])) for scrape, found in read]
            findings.observations += observe_server(vllm, "vllm", vllm_counting, findings)
            findings.observations += vllm_metrics.gauges(vllm[-1][1], findings)
            vllm_metrics.facts(vllm[-1][1], findings)
            sglang = [(scrape, found.get("sglang", [])) for scrape, found in read]
            counting = sglang_metrics.counting
            findings.observations += observe_server(sglang, "sglang", counting, findings)
            findings.observations += sglang_metrics.gauges(sglang[-1][1], findings)
            sglang_metrics.facts(sglang[-1][1], findings)
        if any(len(server) > 1 and server[0].start_s is None for server in servers):
            findings.trap(
                "The text does not tell when the server started: its scrapes are taken as those of "
                "one server, in the order in which they are given"
            )
        if len(servers) > 1:
            findings.trap(
                f"The scrapes are of {len(servers)} servers, or of one that was restarted: they "
                "tell different starts or different series. No difference is taken between them"
            )
