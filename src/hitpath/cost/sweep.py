"""The two paths along one axis: cached tokens, prompt length, batch, or hit rate."""

from dataclasses import dataclass
from typing import Literal, get_args

from hitpath.cost.paths import Replica, hit_path, miss_path
from hitpath.cost.quote import Question

Axis = Literal["cached", "prompt", "batch", "hit-rate"]
AXES: tuple[str, ...] = get_args(Axis)

_STEPS = 16
_PROMPTS = tuple(1 << e for e in range(9, 18))
_BATCHES = tuple(1 << e for e in range(9))


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One place of the axis. `gpu_s_per_mtok`: GPU-seconds that a million prompt tokens take if
    all requests are like this one."""

    prompt_tokens: int
    cached_tokens: int
    batch: int
    miss_ttft_s: float
    hit_ttft_s: float
    hit_flops: float
    gpu_s_per_mtok: float

    @property
    def speedup(self) -> float:
        """Miss TTFT / hit TTFT."""
        return self.miss_ttft_s / self.hit_ttft_s

    @property
    def hit_rate(self) -> float:
        """Cached / prompt tokens."""
        return self.cached_tokens / self.prompt_tokens


def sweep(replica: Replica, question: Question, axis: Axis) -> list[SweepPoint]:
    """The question at several places of the axis. `cached` and `hit-rate` leave the prompt as it
    is, `prompt` the new tokens behind the cached ones, `batch` both."""
    q = question
    cached = min(q.cached_tokens, q.prompt_tokens - 1)
    places = {
        "cached": lambda: [(q.prompt_tokens, c, q.batch) for c in _even(q.prompt_tokens - 1)],
        "hit-rate": lambda: [
            (q.prompt_tokens, min(round(q.prompt_tokens * i / 20), q.prompt_tokens - 1), q.batch)
            for i in range(21)
        ],
        "prompt": lambda: [
            (prompt, prompt - (q.prompt_tokens - cached), q.batch)
            for prompt in sorted({*_PROMPTS, q.prompt_tokens})
            if prompt >= q.prompt_tokens - cached
        ],
        "batch": lambda: [
            (q.prompt_tokens, cached, batch) for batch in sorted({*_BATCHES, q.batch})
        ],
    }
    return [_point(replica, q, *place) for place in places[axis]()]


def _even(most: int) -> list[int]:
    """Some whole numbers from 0 to `most`, both among them."""
    return sorted({round(most * i / _STEPS) for i in range(_STEPS + 1)})


def _point(
    replica: Replica, question: Question, prompt: int, cached: int, batch: int
) -> SweepPoint:
    q = question
    miss = miss_path(replica, prompt, batch=batch, chunk_tokens=q.chunk_tokens, queue_s=q.queue_s)
    hit = hit_path(
        replica,
        prompt,
        cached,
        batch=batch,
        chunk_tokens=q.chunk_tokens,
        lookup_s=q.lookup_s,
        queue_s=q.queue_s,
    )
    busy_s = hit.compute_s + hit.overhead_s
    return SweepPoint(
        prompt_tokens=prompt,
        cached_tokens=cached,
        batch=batch,
        miss_ttft_s=miss.ttft_s,
        hit_ttft_s=hit.ttft_s,
        hit_flops=hit.flops,
        gpu_s_per_mtok=1e6 * busy_s * replica.num_gpus / (batch * prompt),
    )
