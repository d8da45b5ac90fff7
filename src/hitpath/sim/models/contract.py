"""What every engine model can do: the contract, and the records that go in and come out.

A model is one worker's cache as its engine manages it, without a clock. Whoever drives it (a
replay, a fleet, a test) decides when a request is admitted, how large its chunks are, and when its
tokens and its end come; the model decides what is hit, what is kept, and what has to go.

The life of a request, in calls:

    lookup*, admit, [processed, extend]*, processed, {generate, extend, processed}*, finish
                                                                          or preempt (then admit)

`new_step` stands before the first call of each engine step. All counts are tokens.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Tier = Literal["device", "host"]
Reason = Literal["capacity", "cleared", "replaced"]
"""Why tokens left a tier: room was needed, the cache was emptied, or other tokens took the same
place (a slot that another prompt was given)."""


@dataclass(frozen=True, slots=True)
class Media:
    """An image or another item: its tokens are those from `offset` on, its content is `key`."""

    key: Hashable
    offset: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt. `number` tells requests apart. `context`: all that must be equal beside the tokens
    for KV to be reused (salt, adapter). `reads_cache` False: the engine must not reuse anything for
    it (prompt logprobs), but keeps what it computes. `priority`: higher is kept longer."""

    number: int
    tokens: Sequence[int]
    context: Hashable = None
    media: tuple[Media, ...] = ()
    reads_cache: bool = True
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """Prompt tokens that are reused, by the tier that holds them; the host's stand behind the
    device's."""

    device_tokens: int = 0
    host_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Those of all tiers."""
        return self.device_tokens + self.host_tokens


@dataclass(frozen=True, slots=True)
class Reach:
    """The lowest rungs of the ladder for a request that would be admitted now, none below the one
    before: the hit; what plain prefix matching would grant of what is resident (None: this engine
    has no other rules); the same with what running requests are computing."""

    hit: int
    resident: int
    in_flight: int


@dataclass(frozen=True, slots=True)
class Eviction:
    """`num_tokens` of reusable KV left `tier`; `moved` if the next tier still has them."""

    tier: Tier
    num_tokens: int
    reason: Reason
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Of one tier, in the engine's own `unit` of room (a block may hold another number of tokens
    in each group of layers): in use by running requests, cached and idle, free."""

    unit: Literal["token", "block", "slot", "prompt"]
    total: int
    used: int
    cached: int
    free: int

    def check(self) -> None:
        """Raises AssertionError unless nothing is lost or counted twice."""
        assert min(self.used, self.cached, self.free) >= 0, f"a negative count: {self}"
        assert self.used + self.cached + self.free == self.total, f"does not add up: {self}"


class EngineModel(Protocol):
    """One worker's cache. Methods raise KeyError for a number that is not running."""

    def new_step(self) -> None:
        """A new engine step begins."""

    def lookup(self, request: Request) -> Hit:
        """What would be reused of the prompt now. Changes nothing that can be seen."""

    def reach(self, request: Request) -> Reach:
        """The hit and the two rungs above it. Changes nothing that can be seen."""

    def admit(self, request: Request, num_new: int | None = None) -> Hit | None:
        """Look up, and take room for the next `num_new` tokens behind the hit (None: for all).

        None, with nothing taken, if there is no room. A request that was preempted is admitted
        with the tokens that it has by now.
        """

    def extend(self, number: int, num_new: int) -> bool:
        """Take room for the next `num_new` tokens, of the prompt or generated; False, with
        nothing taken, if there is none."""

    def processed(self, number: int) -> None:
        """The engine has the result of all that was taken room for so far."""

    def generate(self, number: int, tokens: Sequence[int]) -> None:
        """Tokens were sampled. They have no KV before `extend` takes room for them."""

    def finish(self, number: int) -> None:
        """The request has ended; what it computed stays as far as the engine keeps it."""

    def preempt(self, number: int) -> None:
        """The request has to give up its room, and will be admitted again."""

    def forget(self, number: int) -> None:
        """A preempted request will not be admitted again."""

    def clear(self) -> bool:
        """Empty the cache; False if the engine refuses, because requests run."""

    def take_evictions(self) -> list[Eviction]:
        """What has left a tier since the last call, in order."""

    def occupancy(self, tier: Tier = "device") -> Occupancy:
        """What the tier holds; 0 in all where the model has no such tier."""

    def check(self) -> None:
        """used + cached + free = total in each tier, and the engine's own invariants. Raises
        AssertionError."""
