"""The samples of one scrape by worker: which labels name a worker, which ones only split a count,
and which are ranks of one cache."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from hitpath.traces.engine_logs.prometheus_text import Sample
from hitpath.traces.engine_logs.records import Findings
from hitpath.traces.engine_logs.scrapes import Scrape

_MODEL_LABELS = ("model_name", "name", "model")
_SUMMED_LABELS = ("is_streaming", "priority", "source", "cache_source", "mode", "le")


@dataclass(slots=True)
class Worker:
    """All samples of one worker in one scrape. name: what tells it from others; ranks: the
    ranks of one cache whose samples these are (the lowest's only)."""

    engine: str
    model: str | None
    name: str
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    ranks: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def value(self, name: str, **labels: str) -> int | None:
        """The sum of a counter's series with these labels; None if there is none."""
        found = [s for s in self.samples.get(name, []) if labels.items() <= dict(s.labels).items()]
        return sum(int(s.value) for s in found) if found else None

    def by_label(self, name: str, label: str) -> dict[str, int]:
        """The sums of a counter's series by the values of one label."""
        sums: dict[str, int] = {}
        for sample in self.samples.get(name, []):
            value = dict(sample.labels).get(label, "")
            sums[value] = sums.get(value, 0) + int(sample.value)
        return dict(sorted(sums.items()))

    def place(self, name: str) -> str:
        return self.samples[name][-1].place


def workers(scrape: Scrape, findings: Findings) -> dict[str, list[Worker]]:
    """The workers of one scrape by engine. Ranks that share a cache are one, read off the lowest
    rank."""
    found: dict[tuple[str, str | None, str], Worker] = {}
    for sample in scrape.samples.values():
        if sample.engine:
            model, name, rank = _identity(sample.labels, sample.name == "cache_config_info")
            whose = (sample.engine, model, name)
            worker = found.get(whose)
            if worker is None:
                worker = found[whose] = Worker(*whose)
            _add(worker, sample, rank, findings)
    by_engine: dict[str, list[Worker]] = {}
    for worker in found.values():
        by_engine.setdefault(worker.engine, []).append(worker)
    return by_engine


@lru_cache(maxsize=1 << 14)
def _identity(
    labels: tuple[tuple[str, str], ...], is_config: bool
) -> tuple[str | None, str, tuple[str, ...]]:
    """(model, name of the worker, its rank) that the labels of a series tell."""
    told = dict(labels)
    model = next((told[name] for name in _MODEL_LABELS if name in told), None)
    rank = tuple(f"{name[:-5]} {value}" for name, value in labels if _is_rank(name))
    return model, _worker_name(labels, is_config), rank


def _add(worker: Worker, sample: Sample, rank: tuple[str, ...], findings: Findings) -> None:
    """Samples of the lowest rank stand for all ranks of a cache."""
    if rank:
        lowest = worker.ranks.setdefault(sample.name, rank)
        if rank != lowest:
            findings.trap(
                "Some series are told by several ranks of one cache: the lowest rank's is taken, "
                "for the others repeat it"
            )
            if _order(rank) > _order(lowest):
                return
            worker.ranks[sample.name] = rank
            worker.samples[sample.name] = []
    worker.samples.setdefault(sample.name, []).append(sample)


def _order(rank: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """By number, then by name: "tp 10" comes after "tp 9"."""
    return tuple((len(text), text) for text in rank)


def _is_rank(label: str) -> bool:
    return label.endswith("_rank") and label != "dp_rank"


def _worker_name(labels: tuple[tuple[str, str], ...], is_config: bool) -> str:
    parts = []
    for name, value in labels:
        if name in _MODEL_LABELS or name in _SUMMED_LABELS or _is_rank(name):
            continue
        if is_config and name != "engine":
            continue
        if name == "engine":
            parts.append(f"engine {value}")
        elif name == "dp_rank":
            parts.append(f"DP{value}")
        elif name == "engine_type":
            parts += [] if value == "unified" else [f"{value} worker"]
        elif value:
            parts.append(f"{name} {value}")
    return ", ".join(parts)


def names_in_use(found: Iterable[Worker]) -> frozenset[str]:
    """The names of workers, none where there is only one."""
    names = frozenset(worker.name for worker in found if worker.name)
    return names if len(names) > 1 else frozenset()
