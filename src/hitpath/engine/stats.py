"""What the engine counts: sums since its start, and a frozen picture of them."""

from collections import deque
from dataclasses import dataclass, field

from hitpath.engine.events import EvictionReason
from hitpath.engine.kv_tensors import BytesMoved, KVTensors
from hitpath.engine.pool import BlockState
from hitpath.engine.scheduler import Admissions


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Tokens and blocks, as named. hit rate = hit_tokens / prompt_tokens, over all choices that
    were admitted; `computed_tokens` is what really ran, reruns after preemption included, decodes
    not. `kv_written_bytes` grows with computed tokens only, never with a hit."""

    prompt_tokens: int
    hit_tokens: int
    computed_tokens: int
    output_tokens: int
    admitted: int
    num_running: int
    num_waiting: int
    free_blocks: int
    cached_blocks: int
    used_blocks: int
    pinned_blocks: int
    block_size: int
    evictions: dict[EvictionReason, int]
    preemptions: int
    steps: int
    kv_bytes_per_token: int
    kv_written_bytes: int
    kv_read_bytes: int
    kv_gathered_bytes: int
    kv_quantised_bytes: int

    @property
    def total_blocks(self) -> int:
        return self.free_blocks + self.cached_blocks + self.used_blocks


_RECENT = 32
_LEAST_WAIT_S, _MOST_WAIT_S = 1.0, 60.0


@dataclass(slots=True)
class Counters:
    """The running sums."""

    computed_tokens: int = 0
    output_tokens: int = 0
    steps: int = 0
    _done_s: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def note_done(self, now: float) -> None:
        """A request ended."""
        self._done_s.append(now)

    def expected_wait_s(self, num_waiting: int) -> float:
        """How long that many requests take at the recent pace, from 1 to 60 s."""
        if len(self._done_s) < 2:
            return _LEAST_WAIT_S
        pace = (self._done_s[-1] - self._done_s[0]) / (len(self._done_s) - 1)
        return min(_MOST_WAIT_S, max(_LEAST_WAIT_S, pace * num_waiting))

    def snapshot(
        self,
        num_running: int,
        num_waiting: int,
        preemptions: int,
        admissions: Admissions,
        blocks: dict[BlockState, int],
        pinned_blocks: int,
        block_size: int,
        evictions: dict[EvictionReason, int],
        kv: KVTensors,
    ) -> EngineStats:
        """The sums with what the other parts know."""
        moved: BytesMoved = kv.moved
        return EngineStats(
            prompt_tokens=admissions.prompt_tokens,
            hit_tokens=admissions.hit_tokens,
            computed_tokens=self.computed_tokens,
            output_tokens=self.output_tokens,
            admitted=admissions.requests,
            num_running=num_running,
            num_waiting=num_waiting,
            free_blocks=blocks[BlockState.FREE],
            cached_blocks=blocks[BlockState.CACHED],
            used_blocks=blocks[BlockState.USED],
            pinned_blocks=pinned_blocks,
            block_size=block_size,
            evictions=evictions,
            preemptions=preemptions,
            steps=self.steps,
            kv_bytes_per_token=kv.bytes_per_token,
            kv_written_bytes=moved.written,
            kv_read_bytes=moved.read,
            kv_gathered_bytes=moved.gathered,
            kv_quantised_bytes=moved.quantised,
        )
