"""Timing one call: warmed up, repeated, its median and spread, within a budget of seconds.

A call that is over at once is repeated within one sample, so that reading the clock (and waiting
for a GPU) is small against it.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

Call = Callable[[], object]
Clock = Callable[[], float]

WARM_UPS = 1
"""A first call loads kernels and touches memory for the first time. Where it is short it says
nothing of the next ones, and a second is made to see how long a call takes."""

LEAST_REPEATS = 3
_MOST_REPEATS = 15
_SAMPLE_S = 0.002
_LONG_S = 0.1
_MOST_CALLS = 1000


@dataclass(frozen=True, slots=True)
class Timing:
    """`seconds`: median of one call. `spread_frac`: (slowest - fastest) / median."""

    seconds: float
    spread_frac: float
    num_repeats: int


class Budget:
    """Seconds that all measurements together may take, of a clock that can be replaced."""

    def __init__(self, seconds: float, clock: Clock = time.perf_counter) -> None:
        self.clock = clock
        self._end = clock() + seconds

    def left_s(self) -> float:
        """Seconds left, not below 0."""
        return max(self._end - self.clock(), 0.0)

    def allows(self, call_s: float) -> bool:
        """Whether a call that is expected to take so long can be repeated often enough without
        taking more than half of what is left from the others."""
        return (WARM_UPS + LEAST_REPEATS) * call_s <= self.left_s() / 2


def time_call(call: Call, wait: Call, slice_s: float, clock: Clock = time.perf_counter) -> Timing:
    """Repeat `call` for about `slice_s` seconds, at least LEAST_REPEATS times.

    `wait` returns when everything that was called is done (a GPU runs behind the program).
    """
    once = _sample(call, wait, 1, clock)
    if once < _LONG_S:
        once = _sample(call, wait, 1, clock)
    num_calls = min(max(math.ceil(_SAMPLE_S / max(once, 1e-9)), 1), _MOST_CALLS)
    end = clock() + slice_s
    samples: list[float] = []
    while len(samples) < LEAST_REPEATS or (len(samples) < _MOST_REPEATS and clock() < end):
        samples.append(_sample(call, wait, num_calls, clock))
    middle = median(samples)
    return Timing(middle, (max(samples) - min(samples)) / middle, len(samples))


def _sample(call: Call, wait: Call, num_calls: int, clock: Clock) -> float:
    start = clock()
    for _ in range(num_calls):
        call()
    wait()
    return max(clock() - start, 1e-9) / num_calls
