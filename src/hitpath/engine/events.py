"""What the engine tells whoever observes it: cache events, evictions, steps, finished requests.

Plain frozen records, without a wire format, a metric name or a socket: those are `serve`'s. They
come in the order in which things happened, on the thread that runs the engine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hitpath.engine.records import FinishReason, Timings, Usage

EvictionReason = Literal["capacity", "cleared", "compact_full"]


@dataclass(frozen=True, slots=True)
class BlocksStored:
    """Blocks that can be hit from now on: a run of one chain, starting at block `first_block`.

    `keys` are hitpath's chained 64-bit keys in the context of `cache_salt`; `parent_key` is None
    for the first block of a prompt. `tokens` are those of all blocks, in order.
    """

    keys: tuple[int, ...]
    parent_key: int | None
    tokens: tuple[int, ...]
    block_size: int
    cache_salt: str | None
    first_block: int


@dataclass(frozen=True, slots=True)
class BlocksRemoved:
    """Blocks that cannot be hit any more. One block has one key, and there is one copy."""

    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CacheCleared:
    """Nothing can be hit any more, not even what running requests still hold."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """Idle blocks given up, with the reason: the first ones went first.

    `capacity`: `for_request` needed room (None: blocks that moved to the compact tier did).
    `cleared`: somebody asked. `compact_full`: they fell idle, and the compact tier was full of
    blocks worth more. `idle_s` since its last use, `resident_s` since it was
    stored, `hits` by which requests it was found: one figure a block.
    """

    reason: EvictionReason
    policy: str
    block_size: int
    for_request: str | None
    idle_s: tuple[float, ...]
    resident_s: tuple[float, ...]
    hits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Admitted:
    """A choice got its blocks. `resumed`: after a preemption, so no part of a hit rate."""

    request_id: str
    choice: int
    prompt_tokens: int
    cached_tokens: int
    queue_s: float
    lookup_s: float
    resumed: bool


@dataclass(frozen=True, slots=True)
class Preempted:
    """A running choice gave its blocks back; what it had computed is recomputed or hit again."""

    request_id: str
    choice: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class StepDone:
    """One forward pass. The blocks are counted after it; their sum is the pool."""

    seconds: float
    num_decodes: int
    num_prefill_tokens: int
    num_running: int
    num_waiting: int
    free_blocks: int
    cached_blocks: int
    used_blocks: int


@dataclass(frozen=True, slots=True)
class RequestDone:
    """One choice ended."""

    request_id: str
    choice: int
    reason: FinishReason
    usage: Usage
    timings: Timings


Record = (
    BlocksStored
    | BlocksRemoved
    | CacheCleared
    | Evicted
    | Admitted
    | Preempted
    | StepDone
    | RequestDone
)
Observe = Callable[[Record], None]


def unobserved(record: Record) -> None:
    """The observer that nobody asked for."""
