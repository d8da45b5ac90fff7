"""SGLang's metrics (srt/metrics/collector.py, later srt/observability/metrics_collector.py; 0.4 to
0.5.23).

prompt_tokens and cached_tokens{cache_source} are counted when a request finishes; a series of
cached_tokens exists only once a token has come from there. realtime_tokens (0.5.9) and
prefill_effective_tokens (0.5.18) are the schedulers', counted at prefill. The gauge
cache_hit_rate is set at each report of a prefill batch to that batch's rate; until 0.4.3 to the
rate since the start; some 0.5 versions set it to 0 at each report of a decode batch.
"""

import math
from collections.abc import Sequence

from hitpath.traces.engine_logs.counters import Count
from hitpath.traces.engine_logs.prometheus_text import Sample
from hitpath.traces.engine_logs.records import Findings, Observation, Window
from hitpath.traces.engine_logs.workers import Worker, names_in_use

COUNTERS = frozenset(
    (
        "prompt_tokens",
        "cached_tokens",
        "realtime_tokens",
        "prefill_effective_tokens",
        "evicted_tokens",
        "num_retracted_requests",
    )
)
OTHERS = frozenset(
    (
        "cache_hit_rate",
        "token_usage",
        "max_total_num_tokens",
        "cache_config_info",
        "prompt_tokens_created",
    )
)
_HITS = ("device_hit", "host_hit", "storage_hit")


def counting(worker: Worker) -> dict[str, Count]:
    """What the counters of one worker tell."""
    made = {
        "finished_requests": _finished(worker),
        "effective_prefill": _by_mode(worker, "prefill_effective_tokens", _HITS, "input"),
        "realtime_prefill": _by_mode(
            worker, "realtime_tokens", ("prefill_cache",), "prefill_compute"
        ),
    }
    return {quantity: count for quantity, count in made.items() if count is not None}


def _finished(worker: Worker) -> Count | None:
    hit, total = worker.value("cached_tokens"), worker.value("prompt_tokens")
    if hit is None or total is None:
        return None
    sources = worker.by_label("cached_tokens", "cache_source")
    parts = () if set(sources) <= {"", "total"} else tuple(sources.items())
    return Count(hit, total, "tokens", worker.place("cached_tokens"), parts)


def _by_mode(
    worker: Worker, name: str, hit_modes: tuple[str, ...], computed_mode: str
) -> Count | None:
    """Without a series of computed tokens there is no denominator."""
    modes = worker.by_label(name, "mode")
    if computed_mode not in modes:
        return None
    parts = tuple((mode, modes[mode]) for mode in hit_modes if mode in modes)
    hit = sum(n for _, n in parts)
    several = parts if len(parts) > 1 else ()
    return Count(hit, hit + modes[computed_mode], "tokens", worker.place(name), several)


def gauges(found: Sequence[Worker], findings: Findings) -> list[Observation]:
    """The gauge of each scheduler."""
    made = []
    for worker in found:
        for sample in worker.samples.get("cache_hit_rate", []):
            if math.isnan(sample.value):
                continue
            rate = _share(sample, findings)
            if rate is not None:
                made.append(_gauge(worker, sample, rate))
                _warn_gauge(rate, findings)
    return made


def _share(sample: Sample, findings: Findings) -> float | None:
    """The first versions, which label the model `name`, wrote it in per cent."""
    is_percent = any(name == "name" for name, _ in sample.labels)
    rate = sample.value / 100 if is_percent else sample.value
    if is_percent:
        findings.trap(
            "sglang:cache_hit_rate is in per cent in the versions that label the model `name`"
        )
    if 0 <= rate <= 1:
        return rate
    findings.reject(sample.place, "sglang:cache_hit_rate", f"{sample.value:g} is no share")
    return None


def _gauge(worker: Worker, sample: Sample, rate: float) -> Observation:
    by_scheduler = any(name in ("tp_rank", "engine_type") for name, _ in sample.labels)
    window = (
        Window("one_batch", "the last prefill batch that was reported")
        if by_scheduler
        else Window(
            "not_told", "the last prefill batch reported; in 0.4.3 and before, since the start"
        )
    )
    return Observation(
        engine="sglang",
        quantity="cache_hit_rate",
        kind="gauge",
        model=worker.model,
        worker=worker.name,
        rate=rate,
        hit=None,
        total=None,
        unit="tokens",
        window=window,
        place=sample.place,
    )


def _warn_gauge(rate: float, findings: Findings) -> None:
    findings.trap(
        "sglang:cache_hit_rate is one batch's rate and stands still without prefill: an average "
        "of its readings is no hit rate. sglang:cached_tokens_total / sglang:prompt_tokens_total "
        "is one, over any two scrapes"
    )
    if rate == 0:
        findings.trap(
            "sglang:cache_hit_rate 0 may be of no prefill batch at all: some 0.5 versions set it "
            "to 0 at every report of a decode batch"
        )


def facts(found: Sequence[Worker], findings: Findings) -> None:
    """The cache's size, what was evicted, and counters that lack their other half."""
    names = names_in_use(found)
    for worker in found:
        of = f" ({worker.name})" if worker.name in names else ""
        _size(worker, of, findings)
        evicted, retracted = worker.value("evicted_tokens"), worker.value("num_retracted_requests")
        if evicted is not None:
            place = worker.place("evicted_tokens")
            findings.fact("sglang", f"evicted since the start{of}", f"{evicted:,} tokens", place)
        if retracted:
            place = worker.place("num_retracted_requests")
            findings.fact("sglang", f"retracted since the start{of}", f"{retracted:,}", place)
        for usage in worker.samples.get("token_usage", []):
            findings.trap(
                f"sglang:token_usage ({usage.value:.2f}) leaves out what could be evicted: cached "
                "tokens that nobody uses just now count as free, and low usage is no empty cache"
            )
        prompt, cached = worker.value("prompt_tokens"), worker.value("cached_tokens")
        if prompt is not None and cached is None:
            findings.trap(
                f"sglang:prompt_tokens_total ({prompt:,}) stands without "
                "sglang:cached_tokens_total: SGLang writes that series only once a token came from "
                "the cache, and old versions have none. Absent is not 0: no rate since the start"
            )
        if "decode worker" in worker.name:
            findings.trap(
                "A decode worker of a disaggregated pair counts the KV that it is sent as cached"
            )


def _size(worker: Worker, of: str, findings: Findings) -> None:
    for sample in worker.samples.get("max_total_num_tokens", []):
        if math.isfinite(sample.value):
            told = f"{sample.value:,.0f} tokens"
            findings.fact("sglang", f"KV cache{of}", told, sample.place)
    for sample in worker.samples.get("cache_config_info", []):
        labels = dict(sample.labels)
        page = labels.get("page_size", "")
        if page.isascii() and page.isdigit():
            findings.fact("sglang", f"page size{of}", f"{page[:9]} tokens", sample.place)
