"""Hit rates over time: equal steps from the first arrival to the last."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.rates import HitCounts, HitRates, hit_rates
from hitpath.traces.table import Trace

NUM_WINDOWS = 24


@dataclass(frozen=True, slots=True)
class Window:
    """[begin, end) in seconds of the trace's clock, or in request numbers where sessions have
    clocks of their own; the last window includes its end."""

    begin: float
    end: float
    num_requests: int
    prompt_tokens: int
    hit_tokens: int
    rates: HitRates


def over_time(trace: Trace, counts: HitCounts, counted: NDArray[np.bool_]) -> tuple[Window, ...]:
    """NUM_WINDOWS windows; none where all requests arrive at one moment."""
    place = trace.arrival_s if trace.common_clock else np.arange(len(trace), dtype=np.float64)
    low, high = float(place.min()), float(place.max())
    if high <= low:
        return ()
    edges = np.linspace(low, high, NUM_WINDOWS + 1)
    step = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, NUM_WINDOWS - 1)
    return tuple(
        _window(counts, counted & (step == i), edges[i : i + 2]) for i in range(NUM_WINDOWS)
    )


def _window(counts: HitCounts, rows: NDArray[np.bool_], edges: NDArray[np.float64]) -> Window:
    return Window(
        float(edges[0]),
        float(edges[1]),
        int(np.count_nonzero(rows)),
        int(counts.prompt[rows].sum()),
        int(counts.hit[rows].sum()),
        hit_rates(counts, rows),
    )
