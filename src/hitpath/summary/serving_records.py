"""The figures of a simulated fleet, as frozen records. None: there is none, never 0."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Of the values that are there; None where there are none."""

    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Latency:
    """In seconds, as a client sees them. tpot: of requests with more than one output token."""

    ttft_s: Quantiles
    tpot_s: Quantiles
    e2e_s: Quantiles


@dataclass(frozen=True, slots=True)
class Throughput:
    """Of served requests, from the first sent to the last end; None where that is no time."""

    output_tokens_per_s: float | None
    requests_per_s: float | None


@dataclass(frozen=True, slots=True)
class Spread:
    """Over time and workers."""

    mean: float | None
    p90: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class Held:
    """One bound of an SLO. value_s: the statistic, infinite where too many got no answer, None
    where no request has it."""

    statistic: str
    below_s: float
    value_s: float | None
    met: bool


@dataclass(frozen=True, slots=True)
class Goodput:
    """`met`: all bounds hold. num_good: requests that keep them themselves; per_s: a second."""

    slo: str
    met: bool
    bounds: tuple[Held, ...]
    num_good: int
    per_s: float | None


@dataclass(frozen=True, slots=True)
class Part:
    """The requests of one worker or stage, or of all. Tokens: of admitted requests."""

    num_sent: int
    endings: Mapping[str, int]
    prompt_tokens: int
    hit_tokens: int
    latency: Latency
    throughput: Throughput
    queue: Spread
    kv_use: Spread

    @property
    def hit_rate(self) -> float | None:
        """Token-weighted."""
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else None


@dataclass(frozen=True, slots=True)
class WorkerPart:
    """One worker. busy_frac: share of the run in which a step ran."""

    name: str
    role: str
    part: Part
    busy_frac: float | None
    num_steps: int
    computed_tokens: int
    output_tokens: int
    evicted_tokens: int
    num_preemptions: int
    peak_kv_use: float | None


@dataclass(frozen=True, slots=True)
class StagePart:
    """One stage of the load, from begin_s to the end of its last request."""

    stage: int
    begin_s: float
    end_s: float
    part: Part


@dataclass(frozen=True, slots=True)
class ServingWindow:
    """[begin_s, end_s) of virtual time. num_ended: served to their end in it, and their tokens;
    hits by when they were admitted; waiting, running and KV use: means of samples."""

    begin_s: float
    end_s: float
    num_sent: int
    num_ended: int
    output_tokens_per_s: float
    ttft_p90_s: float | None
    hit_rate: float | None
    waiting: float | None
    running: float | None
    kv_use: float | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """Prompt tokens of admitted requests. ever: computed anywhere before; best: on the best worker
    (there or in flight); chosen: on the chosen one; delivered: hits. believed: what the router
    thought the chosen worker had, beside the sum."""

    prompt: int
    ever: int
    best: int
    chosen: int
    delivered: int
    believed: int

    def check(self) -> None:
        """It only narrows."""
        assert self.prompt >= self.ever >= self.best >= self.chosen >= self.delivered >= 0


@dataclass(frozen=True, slots=True)
class Serving:
    """All figures of one run. waited_s: from sent to admitted."""

    whole: Part
    num_admitted: int
    num_preemptions: int
    recomputed_tokens: int
    hit_tokens_by_tier: Mapping[str, int]
    begin_s: float
    end_s: float
    waited_s: Quantiles
    goodput: Goodput | None
    funnel: Funnel
    per_worker: tuple[WorkerPart, ...]
    per_stage: tuple[StagePart, ...]
    windows: tuple[ServingWindow, ...]

    def check(self) -> None:
        """Parts add up to the whole: requests, prompt and hit tokens, over workers and stages."""
        self.funnel.check()
        whole = self.whole
        assert sum(whole.endings.values()) == whole.num_sent
        assert sum(self.hit_tokens_by_tier.values()) == whole.hit_tokens
        for parts in ([w.part for w in self.per_worker], [s.part for s in self.per_stage]):
            if parts:
                assert sum(p.prompt_tokens for p in parts) == whole.prompt_tokens
                assert sum(p.hit_tokens for p in parts) == whole.hit_tokens
        assert sum(window.num_sent for window in self.windows) in (0, whole.num_sent)
