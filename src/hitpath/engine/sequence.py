"""One choice of one request on its way through the engine: tokens, block table, phase, times.

The only mutable record of the engine. The scheduler moves it from phase to phase; `cache.py`
alone changes its blocks.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from hitpath.engine.contract import Keys
from hitpath.engine.pool import NO_BLOCKS, Blocks
from hitpath.engine.records import GenerationRequest, Timings, Tokens, Usage
from hitpath.keys import block_keys


class Phase(Enum):
    """WAITING has no blocks; PREFILL has tokens to compute; DECODE lacks only its newest one's."""

    WAITING = auto()
    PREFILL = auto()
    DECODE = auto()
    FINISHED = auto()


@dataclass(slots=True)
class Clocks:
    """Moments in seconds; None: not reached yet."""

    arrival_s: float
    admitted_s: float | None = None
    first_token_s: float | None = None
    last_token_s: float | None = None
    lookup_s: float = 0.0


@dataclass(slots=True, eq=False)
class Sequence:
    """Tokens are the prompt and what was generated; KV of the first `num_computed` stands in
    `blocks`, of which the first `num_stored` are in the index (as of `epoch` of the cache)."""

    request: GenerationRequest
    choice: int
    order: int
    most_tokens: int
    clocks: Clocks
    root: int
    phase: Phase = Phase.WAITING
    num_tokens: int = 0
    num_computed: int = 0
    num_stored: int = 0
    epoch: int = 0
    cached_tokens: int | None = None
    blocks: Blocks = field(default_factory=lambda: NO_BLOCKS)
    keys: Keys = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    _buffer: Tokens = field(default_factory=lambda: np.empty(0, dtype=np.uint32))

    def __post_init__(self) -> None:
        prompt = self.request.tokens
        self.num_tokens = len(prompt)
        self._buffer = np.empty(min(self.most_tokens, len(prompt) + 64), dtype=np.uint32)
        self._buffer[: len(prompt)] = prompt

    @property
    def name(self) -> tuple[str, int]:
        """(request id, choice): different for all sequences at any moment."""
        return self.request.request_id, self.choice

    @property
    def tokens(self) -> Tokens:
        """Prompt and output, uint32 [num_tokens]; a view."""
        return self._buffer[: self.num_tokens]

    @property
    def num_prompt(self) -> int:
        return len(self.request.tokens)

    @property
    def num_output(self) -> int:
        return self.num_tokens - self.num_prompt

    @property
    def num_left(self) -> int:
        """Tokens whose KV is to be computed yet: 1 in DECODE."""
        return self.num_tokens - self.num_computed

    def append(self, token: int) -> None:
        """A generated token; its KV is not computed yet."""
        if self.num_tokens == len(self._buffer):
            size = min(self.most_tokens, 2 * self.num_tokens)
            self._buffer = np.resize(self._buffer, size)
        self._buffer[self.num_tokens] = token
        self.num_tokens += 1

    def extend_keys(self, block_size: int) -> None:
        """Keys of all whole blocks of the tokens so far."""
        done = len(self.keys)
        if self.num_tokens // block_size == done:
            return
        root = int(self.keys[-1]) if done else self.root
        more = block_keys(self.tokens[done * block_size :], block_size, root)
        self.keys = np.concatenate([self.keys, more]) if done else more

    def usage(self) -> Usage:
        return Usage(self.num_prompt, self.cached_tokens or 0, self.num_output)

    def timings(self, now_s: float) -> Timings:
        """Where the time went up to now; phases not reached yet took none."""
        at = self.clocks
        admitted = now_s if at.admitted_s is None else at.admitted_s
        first = now_s if at.first_token_s is None else at.first_token_s
        last = first if at.last_token_s is None else at.last_token_s
        lookup = at.lookup_s
        return Timings(
            queue_s=max(0.0, admitted - at.arrival_s - lookup),
            tokenise_s=self.request.tokenise_s,
            lookup_s=lookup,
            prefill_s=max(0.0, first - admitted),
            decode_s=last - first,
        )
