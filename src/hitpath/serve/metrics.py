"""Prometheus metrics of one server, in a registry of their own (docs/serve.md has the table).

The engine's records go in through `observe`, on the engine's thread. Hit rate over any window:
rate(hitpath_hit_tokens_total) / rate(hitpath_prompt_tokens_total). Times of requests are told
apart by `path`: "hit" where any prompt token came from the cache, else "miss".
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import choose_encoder

from hitpath.engine.events import (
    Admitted,
    Evicted,
    EvictionReason,
    Preempted,
    Record,
    RequestDone,
    StepDone,
)
from hitpath.engine.records import FinishReason

if TYPE_CHECKING:
    from hitpath.engine.stats import EngineStats

_SHORT_S = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1)
_TIMES_S = (1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
_AGES_S = (0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
_PATHS = ("hit", "miss")


class Metrics:
    """All of them. `observe` only counts: it never raises and never waits."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._token_counters()
        self._cache_metrics()
        self._time_histograms()
        self._state_gauges()

    def _token_counters(self) -> None:
        self._prompt = self._counter("prompt_tokens", "Prompt tokens of admitted choices.")
        self._hit = self._counter("hit_tokens", "Of prompt tokens, those found in the cache.")
        self._computed = self._counter(
            "computed_tokens", "Prompt tokens run, again after a preemption too."
        )
        self._avoided = self._counter(
            "avoided_prefill_tokens", "Tokens that were not run because they were cached."
        )
        self._output = self._counter("output_tokens", "Tokens generated.")

    def _cache_metrics(self) -> None:
        self._evicted = self._counter("evicted_blocks", "Blocks evicted.", ["reason"])
        for reason in get_args(EvictionReason):
            self._evicted.labels(reason)
        self._resident_s = self._histogram(
            "block_residency_seconds", "From stored to evicted, a block.", _AGES_S
        )
        self._idle_s = self._histogram(
            "block_idle_before_eviction_seconds", "From last use to evicted, a block.", _AGES_S
        )
        self._block_hits = self._histogram(
            "block_hits_before_eviction", "Requests that found a block.", (0, 1, 2, 5, 10, 100)
        )

    def _time_histograms(self) -> None:
        self._queue_s = self._histogram("queue_seconds", "Waiting for admission.", _TIMES_S)
        self._tokenise_s = self._histogram("tokenise_seconds", "Text to tokens.", _SHORT_S)
        self._lookup_s = self._histogram(
            "lookup_seconds", "Keys, match and block mapping.", _SHORT_S
        )
        self._prefill_s = self._by_path("prefill_seconds", "From admission to first token.")
        self._ttft_s = self._by_path(
            "time_to_first_token_seconds", "Tokenise, queue, lookup and prefill."
        )
        self._decode_s = self._histogram("decode_seconds", "First to last token.", _TIMES_S)
        self._step_s = self._histogram("step_seconds", "One forward pass.", _TIMES_S)

    def _state_gauges(self) -> None:
        self._running = self._gauge("running", "Choices that run.")
        self._waiting = self._gauge("waiting", "Choices that wait for admission.")
        self._blocks = self._gauge("kv_blocks", "Blocks of the KV cache.", ["state"])
        self._done = self._counter("finished", "Choices that ended.", ["reason"])
        for finish in get_args(FinishReason):
            self._done.labels(finish)
        self._preempted = self._counter("preemptions", "Choices sent back to wait.")
        self._responses = self._counter(
            "http_responses", "Answers by path and status.", ["path", "status"]
        )
        self._info = Info("hitpath_engine", "What runs.", registry=self.registry)

    def describe(self, facts: Mapping[str, str]) -> None:
        """Labels of hitpath_engine_info."""
        self._info.info(dict(facts))

    def refresh(self, stats: "EngineStats") -> None:
        """Gauges as they stand: the records say it only after a step."""
        self._running.set(stats.num_running)
        self._waiting.set(stats.num_waiting)
        self._set_blocks(stats.free_blocks, stats.cached_blocks, stats.used_blocks)

    def responded(self, path: str, status: int) -> None:
        """One answer; `path` is the route, not what was typed."""
        self._responses.labels(path, str(status)).inc()

    def observe(self, record: Record) -> None:
        """Takes a record of the engine."""
        match record:
            case StepDone():
                self._step_done(record)
            case Admitted():
                self._admitted(record)
            case RequestDone():
                self._request_done(record)
            case Evicted():
                self._evicted.labels(record.reason).inc(len(record.idle_s))
                for histogram, values in (
                    (self._resident_s, record.resident_s),
                    (self._idle_s, record.idle_s),
                    (self._block_hits, record.hits),
                ):
                    for value in values:
                        histogram.observe(value)
            case Preempted():
                self._preempted.inc()

    def _step_done(self, step: StepDone) -> None:
        self._step_s.observe(step.seconds)
        self._computed.inc(step.num_prefill_tokens)
        self._running.set(step.num_running)
        self._waiting.set(step.num_waiting)
        self._set_blocks(step.free_blocks, step.cached_blocks, step.used_blocks)

    def _set_blocks(self, free: int, cached: int, used: int) -> None:
        for state, count in (("free", free), ("cached", cached), ("used", used)):
            self._blocks.labels(state).set(count)

    def _admitted(self, admitted: Admitted) -> None:
        self._avoided.inc(admitted.cached_tokens)
        if admitted.resumed:
            return  # its prompt was counted when it was admitted first
        self._prompt.inc(admitted.prompt_tokens)
        self._hit.inc(admitted.cached_tokens)
        self._queue_s.observe(admitted.queue_s)
        self._lookup_s.observe(admitted.lookup_s)

    def _request_done(self, done: RequestDone) -> None:
        self._done.labels(done.reason).inc()
        self._output.inc(done.usage.output_tokens)
        if not done.usage.output_tokens:
            return  # aborted before its first token: it has no time to it
        timings = done.timings
        path = _PATHS[0] if done.usage.cached_tokens else _PATHS[1]
        self._tokenise_s.observe(timings.tokenise_s)
        self._prefill_s.labels(path).observe(timings.prefill_s)
        self._ttft_s.labels(path).observe(timings.ttft_s)
        self._decode_s.observe(timings.decode_s)

    def page(self, accept: str) -> tuple[bytes, str]:
        """The text that Prometheus scrapes, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def _counter(self, name: str, text: str, labels: list[str] | None = None) -> Counter:
        return Counter(f"hitpath_{name}", text, labels or [], registry=self.registry)

    def _gauge(self, name: str, text: str, labels: list[str] | None = None) -> Gauge:
        return Gauge(f"hitpath_{name}", text, labels or [], registry=self.registry)

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], labels: tuple[str, ...] = ()
    ) -> Histogram:
        return Histogram(f"hitpath_{name}", text, labels, buckets=buckets, registry=self.registry)

    def _by_path(self, name: str, text: str) -> Histogram:
        histogram = self._histogram(name, text, _TIMES_S, ("path",))
        for path in _PATHS:
            histogram.labels(path)
        return histogram
