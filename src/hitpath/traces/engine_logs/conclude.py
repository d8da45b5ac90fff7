"""From single figures to an answer: what may be added up, what answers the question, and what
no statistics can tell."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hitpath.traces.engine_logs.quantities import ANSWERS, QUANTITIES
from hitpath.traces.engine_logs.records import (
    Findings,
    Observation,
    WindowKind,
    listed,
    percent,
    share,
)

_WINDOW_RANK: dict[WindowKind, int] = {
    "between_scrapes": 0,
    "lines": 1,
    "since_start": 2,
    "recent_requests": 3,
    "one_batch": 4,
    "not_told": 5,
}
_NOTEWORTHY = 0.001


def shortest_names(observations: Sequence[Observation]) -> list[Observation]:
    """Workers keep their names only where there are several of an engine."""
    names: dict[str, set[str]] = {}
    for one in observations:
        if one.worker:
            names.setdefault(one.engine, set()).add(one.worker)
    return [
        replace(one, worker="")
        if len(names.get(one.engine, ())) == 1 and one.worker_count == 1
        else one
        for one in observations
    ]


def totals(observations: Sequence[Observation], findings: Findings) -> list[Observation]:
    """Of workers that tell counts: their sum, and a warning where the mean is another number."""
    groups: dict[tuple[object, ...], list[Observation]] = {}
    for one in observations:
        if one.hit is not None and one.total is not None and _sound(one):
            key = (one.engine, one.quantity, one.model, one.unit, one.window.kind)
            groups.setdefault(key, []).append(one)
    return [_sum(group, findings) for group in groups.values() if len(group) > 1]


def _sound(one: Observation) -> bool:
    return one.hit is None or one.total is None or 0 <= one.hit <= one.total


def _sum(group: list[Observation], findings: Findings) -> Observation:
    hit = sum(one.hit or 0 for one in group)
    total = sum(one.total or 0 for one in group)
    parts: Counter[str] = Counter()
    for one in group:
        parts.update(dict(one.parts))
    rate = share(hit, total)
    rates = [one.rate for one in group if one.rate is not None]
    title = QUANTITIES[group[0].quantity].title
    if rate is not None and rates and group[0].quantity in ANSWERS:
        mean = sum(rates) / len(rates)
        if abs(mean - rate) >= _NOTEWORTHY:
            findings.trap(
                f"{title}: the mean of the {len(rates)} rates would be {percent(mean)}; all their "
                f"tokens together give {percent(rate)}"
            )
    kind = group[0].window.kind
    windows = {one.window.text for one in group}
    text = windows.pop() if len(windows) == 1 else _several_windows(kind, group)
    complete = sum(parts.values()) == hit
    return replace(
        group[0],
        kind="derived",
        worker=f"all {len(group)} together",
        rate=rate,
        hit=hit,
        total=total,
        window=replace(group[0].window, text=text, begin=None, end=None),
        num_values=sum(one.num_values for one in group),
        parts=tuple(sorted(parts.items())) if complete else (),
        over_time=(),
        worker_count=sum(one.worker_count for one in group),
    )


def _several_windows(kind: WindowKind, group: list[Observation]) -> str:
    if kind == "lines":
        times = sorted(t for one in group for t in (one.window.begin, one.window.end) if t)
        span = f", {times[0]} to {times[-1]}" if times else ""
        return f"{sum(one.num_values for one in group):,} batches{span}"
    if kind == "between_scrapes":
        return "between the first and the last scrape of each"
    return "since each of them started"


def headline(observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """The figures that answer the question: of each engine those of the narrowest window that is
    told, of the quantity that says most, and of all workers together where they can be added."""
    able = [one for one in observations if one.rate is not None and one.quantity in ANSWERS]
    engines = dict.fromkeys(one.engine for one in able)
    return tuple(
        one for engine in engines for one in _best([a for a in able if a.engine == engine])
    )


def _best(able: Sequence[Observation]) -> tuple[Observation, ...]:
    best = min(map(_rank, able))
    chosen = [one for one in able if _rank(one) == best]
    on_cpus = {
        (one.worker, one.model): one
        for one in reversed(able)
        if one.quantity == "v0_cpu" and one.rate
    }
    chosen = [_cpu_instead(one, on_cpus) for one in chosen]
    added = [one for one in chosen if one.kind == "derived"]
    covered = {(one.engine, one.model, one.window.kind) for one in added}
    alone = [
        one
        for one in chosen
        if one.kind != "derived" and (one.engine, one.model, one.window.kind) not in covered
    ]
    return (*added, *alone)


def _rank(one: Observation) -> tuple[int, int]:
    return _WINDOW_RANK[one.window.kind], QUANTITIES[one.quantity].rank


def _cpu_instead(
    gpu: Observation, on_cpus: Mapping[tuple[str, str | None], Observation]
) -> Observation:
    """A V0 server on CPUs hits in the CPU's pool; its GPU's rate is an empty 0."""
    if gpu.quantity != "v0_gpu" or gpu.rate:
        return gpu
    return on_cpus.get((gpu.worker, gpu.model), gpu)


def impossible(observations: Iterable[Observation], findings: Findings) -> None:
    """More hits than tokens asked for: said, not clamped."""
    for one in observations:
        if not _sound(one):
            findings.trap(
                f"{QUANTITIES[one.quantity].title}: {one.hit:,} hits of {one.total:,} cannot be; "
                "the two counters do not belong together, and no rate is given"
            )


def not_known(observations: Sequence[Observation]) -> tuple[str, ...]:
    """What no statistics tell, and what these do not."""
    known = [one for one in observations if one.rate is not None]
    told = [
        "why tokens missed (first seen, evicted, on another worker, rounding, another salt): that "
        "needs the requests",
        "what could have hit, with another cache size, router or block size: that needs the "
        "requests",
        "rates per tenant, session or request, and the mean over requests: statistics add all "
        "requests up, and a token-weighted rate cannot be turned into the other",
    ]
    if known and all(one.hit is None for one in known):
        told.append(
            "how many tokens: only a rate is printed, without its counts; it can be neither added "
            "to another nor taken apart by time"
        )
    if known and not any(one.window.kind in ("between_scrapes", "lines") for one in known):
        told.append(
            "the rate of one run or one hour: read /metrics before and after it, and give hitpath "
            "both files"
        )
    return tuple(told)


def printed_by_several(observations: Sequence[Observation], findings: Findings) -> None:
    """Rates without counts, of several engines or runs."""
    names = {one.worker for one in observations if one.kind == "printed" and one.engine == "vllm"}
    if len(names) > 1:
        findings.trap(
            f"{len(names)} engines or runs print rates of their own: rates must not be added or "
            "averaged. Their counters can be added: vllm:prefix_cache_hits_total / "
            "vllm:prefix_cache_queries_total in /metrics"
        )


def differing_models(observations: Sequence[Observation], findings: Findings) -> None:
    """Models are kept apart; said, because one number is what people look for."""
    models = {one.model for one in observations if one.model is not None}
    if len(models) > 1:
        findings.trap(
            f"{len(models)} models ({listed(sorted(models))}) are kept apart: what one holds "
            "cannot hit for another"
        )
