"""What providers' caches would have read and written for a trace of requests: records and contract.

Their caches cannot be looked into: these are models of what their documentation says (each rule
names its page), on one machine that forgets nothing before its time. A provider that routes a
request elsewhere, or runs out of room, hits less. Nothing here was measured.

All positions and counts are tokens. Requests are served in the order of their arrival; what one
stores can be read by others from `visible_s` on (its first token, where the trace has it).
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hitpath.core import SettingError

MINUTE_S = 60.0
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """The prefix of `end` tokens is to be cached for `lifetime_s` after its last use."""

    end: int
    lifetime_s: float = 5 * MINUTE_S


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a provider. `block_ends`: where its content blocks end (tools, system, messages,
    in this order), the last one with the prompt. `context`: whatever splits the cache (account,
    model, cache key). `output`: its reply's tokens, where they are known."""

    arrival_s: float
    tokens: Sequence[int]
    block_ends: tuple[int, ...] = ()
    breakpoints: tuple[Breakpoint, ...] = ()
    context: Hashable = None
    visible_s: float | None = None
    output: Sequence[int] = ()

    def __post_init__(self) -> None:
        ends = [*self.block_ends]
        if ends != sorted(set(ends)) or (ends and not 0 < ends[0] <= ends[-1] <= len(self.tokens)):
            raise SettingError("block_ends", f"{self.block_ends} do not rise within the prompt")
        marks = [mark.end for mark in self.breakpoints]
        if marks != sorted(set(marks)) or not set(marks) <= {*ends, len(self.tokens)}:
            raise SettingError("breakpoints", "do not rise, or do not end a block")


@dataclass(frozen=True, slots=True)
class Predicted:
    """Prompt tokens read from the cache, and written to it, the latter by lifetime in seconds
    (empty where the provider writes for nothing). The rest is fresh."""

    read: int
    written: dict[float, int]

    @property
    def num_written(self) -> int:
        return sum(self.written.values())


class Provider(Protocol):
    """A provider's cache rule."""

    def serve(self, prompt: Prompt) -> Predicted:
        """The next request; arrivals never fall."""


def predict(provider: Provider, prompts: Iterable[Prompt]) -> list[Predicted]:
    """Serve all of them. Raises SettingError where one arrives before the one before it."""
    predicted, last = [], float("-inf")
    for prompt in prompts:
        if prompt.arrival_s < last:
            raise SettingError("arrival_s", f"{prompt.arrival_s} comes after {last}")
        last = prompt.arrival_s
        predicted.append(provider.serve(prompt))
    return predicted


@dataclass(slots=True)
class Entry:
    """A stored prefix. It can be read from `visible_s` to `expires_s`, ends included."""

    visible_s: float
    expires_s: float

    def readable(self, now_s: float) -> bool:
        return self.visible_s <= now_s <= self.expires_s


def visible_from(prompt: Prompt) -> float:
    """When others can read what it stores."""
    return prompt.arrival_s if prompt.visible_s is None else prompt.visible_s
