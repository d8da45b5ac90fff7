"""vLLM's metrics (vllm/v1/metrics/loggers.py, 0.7 to 0.32; V0: vllm/engine/metrics.py).

prefix_cache_queries / prefix_cache_hits are counters of tokens since the start, recorded when a
request is admitted. Their forerunners gpu_prefix_cache_* count blocks up to 0.8 and tokens in 0.9
and 0.10, as their HELP text says. external_prefix_cache_* are a KV connector's: its queries are
the tokens that the own cache lacks. prompt_tokens_cached (0.16) is counted at the first token.
"""

import math
from collections.abc import Sequence

from hitpath.traces.engine_logs.counters import Count
from hitpath.traces.engine_logs.prometheus_text import Help
from hitpath.traces.engine_logs.records import Findings, Observation, Unit, Window, percent
from hitpath.traces.engine_logs.startup import prefix_caching
from hitpath.traces.engine_logs.workers import Worker, names_in_use

COUNTERS = frozenset(
    (
        "prefix_cache_queries",
        "prefix_cache_hits",
        "gpu_prefix_cache_queries",
        "gpu_prefix_cache_hits",
        "external_prefix_cache_queries",
        "external_prefix_cache_hits",
        "prompt_tokens",
        "prompt_tokens_cached",
        "prompt_tokens_by_source",
        "prompt_tokens_cached_by_source",
        "request_prefill_kv_computed_tokens_sum",
        "request_prefill_kv_computed_tokens_count",
        "request_prompt_tokens_sum",
        "request_prompt_tokens_count",
        "num_preemptions",
    )
)
OTHERS = frozenset(
    (
        "gpu_prefix_cache_hit_rate",
        "cpu_prefix_cache_hit_rate",
        "kv_cache_usage_perc",
        "gpu_cache_usage_perc",
        "cache_config_info",
        "prefix_cache_queries_created",
        "prompt_tokens_created",
    )
)
_V0_GAUGES = {"gpu_prefix_cache_hit_rate": "v0_gpu", "cpu_prefix_cache_hit_rate": "v0_cpu"}
_CONNECTOR_SOURCES = {"local_cache_hit", "external_kv_transfer"}


class VllmCounting:
    """What the counters of one worker tell. The unit of the old counters is in their HELP."""

    def __init__(self, helps: list[Help]) -> None:
        text = " ".join(h.text for h in helps if h.name.startswith("gpu_prefix_cache_"))
        self._old_unit: Unit | None = None
        if "blocks" in text:
            self._old_unit = "blocks"
        elif "tokens" in text:
            self._old_unit = "tokens"

    def __call__(self, worker: Worker) -> dict[str, Count]:
        made = {
            "prefix_cache": self._own(worker),
            "external_prefix_cache": _pair(worker, "external_prefix_cache", "tokens"),
            "prompt_tokens": _prompt_tokens(worker),
            "finished_prefill": _finished(worker),
        }
        own, external = made["prefix_cache"], made["external_prefix_cache"]
        if own and external and external.total:
            made["prefix_cache_and_connector"] = Count(
                own.hit + external.hit,
                own.total,
                own.unit,
                own.place,
                (("own cache", own.hit), ("connector", external.hit)),
            )
        return {quantity: count for quantity, count in made.items() if count is not None}

    def _own(self, worker: Worker) -> Count | None:
        """The counters of now, else those of before 0.9."""
        return _pair(worker, "prefix_cache", "tokens") or _pair(
            worker, "gpu_prefix_cache", self._old_unit
        )


def _pair(worker: Worker, name: str, unit: Unit | None) -> Count | None:
    hit, total = worker.value(f"{name}_hits"), worker.value(f"{name}_queries")
    if hit is None or total is None:
        return None
    return Count(hit, total, unit, worker.place(f"{name}_hits"))


def _prompt_tokens(worker: Worker) -> Count | None:
    hit, total = worker.value("prompt_tokens_cached"), worker.value("prompt_tokens")
    if hit is None or total is None:
        return None
    tiers = worker.by_label("prompt_tokens_cached_by_source", "source")
    if sum(tiers.values()) != hit:
        by_source = worker.by_label("prompt_tokens_by_source", "source")
        tiers = {name: n for name, n in by_source.items() if name in _CONNECTOR_SOURCES}
    parts = tuple(tiers.items()) if sum(tiers.values()) == hit else ()
    return Count(hit, total, "tokens", worker.place("prompt_tokens_cached"), parts)


def _finished(worker: Worker) -> Count | None:
    """Of the two histograms' sums, where both have seen the same requests."""
    computed = worker.value("request_prefill_kv_computed_tokens_sum")
    total = worker.value("request_prompt_tokens_sum")
    if computed is None or total is None:
        return None
    seen = worker.value("request_prefill_kv_computed_tokens_count")
    if seen != worker.value("request_prompt_tokens_count"):
        return None
    place = worker.place("request_prefill_kv_computed_tokens_sum")
    return Count(total - computed, total, "tokens", place)


def gauges(found: Sequence[Worker], findings: Findings) -> list[Observation]:
    """V0's two rates."""
    made = []
    for worker in found:
        for name, quantity in _V0_GAUGES.items():
            for sample in worker.samples.get(name, []):
                is_share = 0 <= sample.value <= 1
                if sample.value == -1:
                    findings.trap(f"vllm:{name} is -1: prefix caching is off in this pool")
                elif not is_share and not math.isnan(sample.value):
                    findings.reject(sample.place, f"vllm:{name}", f"{sample.value:g} is no share")
                    continue
                made.append(
                    _gauge(worker, quantity, sample.value if is_share else None, sample.place)
                )
    return made


def _gauge(worker: Worker, quantity: str, rate: float | None, place: str) -> Observation:
    return Observation(
        engine="vllm",
        quantity=quantity,
        kind="gauge",
        model=worker.model,
        worker=worker.name,
        rate=rate,
        hit=None,
        total=None,
        unit="blocks",
        window=Window("since_start", "since the engine started"),
        place=place,
    )


def facts(found: Sequence[Worker], findings: Findings) -> None:
    """The cache's size and setting, and what warns of the counters."""
    names = names_in_use(found)
    for worker in found:
        of = f" ({worker.name})" if worker.name in names else ""
        for sample in worker.samples.get("cache_config_info", []):
            _config(dict(sample.labels), of, sample.place, findings)
        preempted = worker.value("num_preemptions")
        if preempted:
            place = worker.place("num_preemptions")
            findings.fact("vllm", f"preemptions since the start{of}", f"{preempted:,}", place)
            findings.trap(
                f"{preempted:,} preemptions{of}: in 0.11 and before, a preempted request finds its "
                "own blocks again, and that counts as a hit; from 0.13 it is left out"
            )
        for usage in ("kv_cache_usage_perc", "gpu_cache_usage_perc"):
            if usage in worker.samples:
                value = worker.samples[usage][-1].value
                findings.trap(
                    f"vllm:{usage} ({percent(value, 1)}) counts the blocks of running requests: "
                    "cached blocks that nobody uses just now count as free, and low usage is no "
                    "empty cache"
                )
                break


def _config(labels: dict[str, str], of: str, place: str, findings: Findings) -> None:
    size, blocks = _whole(labels.get("block_size")), _whole(labels.get("num_gpu_blocks"))
    tokens = _whole(labels.get("kv_cache_size_tokens"))
    caching = labels.get("enable_prefix_caching")
    if caching in ("True", "False"):
        prefix_caching(findings, "vllm", caching == "True", place)
    if size:
        findings.fact("vllm", f"block size{of}", f"{size:,} tokens", place)
    if tokens:
        findings.fact("vllm", f"KV cache{of}", f"{tokens:,} tokens", place)
    elif size and blocks:
        told = f"{size * blocks:,} tokens ({blocks:,} blocks of {size:,}; one is never used)"
        findings.fact("vllm", f"KV cache{of}", told, place)
        findings.trap(
            "Blocks x block size is the size of the cache for models of full attention only: for "
            "hybrid and MLA ones vLLM's own line at the start (GPU KV cache size) is right"
        )


def _whole(text: str | None) -> int | None:
    """A label's number; vLLM writes "None" for what is not set."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None
