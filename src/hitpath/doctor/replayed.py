"""What a replay computes, by request, so that a gain can be told of a part of the trace."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hitpath.traces.table import Ints, Trace


@dataclass(frozen=True, slots=True)
class Replayed:
    """hit, prompt: tokens of each request by the setting's model; 0 where a request is not
    counted."""

    hit: Ints
    prompt: Ints

    @property
    def hit_tokens(self) -> int:
        """Of all requests."""
        return int(self.hit.sum())

    @property
    def prompt_tokens(self) -> int:
        """Of all requests."""
        return int(self.prompt.sum())

    @property
    def hit_rate(self) -> float | None:
        """None where there is no prompt."""
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else None

    def gain(self, before: "Replayed") -> Ints:
        """Computed tokens (prompt less hit) of each request before, less those of this one."""
        gain: Ints = (before.prompt - before.hit) - (self.prompt - self.hit)
        return gain


Replay = Callable[[Trace], Replayed]
"""What the setting's model gives a trace."""


def by_application(tokens: Ints, application: Ints) -> Mapping[int, int]:
    """The sums over the requests of each application."""
    numbers, inverse = np.unique(application, return_inverse=True)
    sums = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(sums, inverse, tokens)
    return dict(zip(numbers.tolist(), sums.tolist(), strict=True))
