"""What latency is asked for: "ttft_p90<0.5,tpot_p99<0.05", and whether it was kept.

Two questions, two answers. Was it *met*: does every statistic lie below its bound, where a request
that never got an answer counts as infinitely late. And how many requests were *good*: their own
TTFT, TPOT and E2E each below the loosest bound of that metric; goodput is those per second.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hitpath.core import SettingError
from hitpath.traces.table import Floats

Metric = Literal["ttft", "tpot", "e2e"]
METRICS: tuple[Metric, ...] = ("ttft", "tpot", "e2e")
_BOUND = re.compile(r"(ttft|tpot|e2e)_(mean|p\d{1,2}(?:\.\d+)?)<(\d*\.?\d+(?:e-?\d+)?)(ms|s)?")


@dataclass(frozen=True, slots=True)
class Bound:
    """One statistic below so many seconds. `quantile` None is the mean."""

    metric: Metric
    quantile: float | None
    below_s: float

    @property
    def statistic(self) -> str:
        """As typed: ttft_p90."""
        if self.quantile is None:
            return f"{self.metric}_mean"
        return f"{self.metric}_p{100 * self.quantile:g}"

    def value_s(self, times_s: Floats) -> float | None:
        """The statistic of these times, NaN where a request has none of the kind (TPOT of one
        token), infinity where it got no answer. None where no request has any."""
        known = times_s[~np.isnan(times_s)]
        if not len(known):
            return None
        return float(known.mean()) if self.quantile is None else quantile(known, self.quantile)


@dataclass(frozen=True, slots=True)
class Slo:
    """Bounds that all must hold. `text`: as typed."""

    text: str
    bounds: tuple[Bound, ...]

    def loosest_s(self, metric: Metric) -> float:
        """The bound that each request is held to; infinity where there is none."""
        of_metric = [bound.below_s for bound in self.bounds if bound.metric == metric]
        return max(of_metric, default=math.inf)

    def good(self, times_s: Mapping[Metric, Floats]) -> NDArray[np.bool_]:
        """Which requests are good. times_s: [N] of each metric; NaN is nothing to hold it to."""
        held: NDArray[np.bool_] = np.ones(len(times_s["ttft"]), dtype=np.bool_)
        for metric in METRICS:
            times, bound_s = times_s[metric], self.loosest_s(metric)
            if bound_s < math.inf:
                held &= np.isnan(times) | (times < bound_s)
            else:
                held &= ~np.isposinf(times)
        return held

    def met(self, times_s: Mapping[Metric, Floats]) -> bool:
        """Whether every bound holds over these requests."""
        values = ((bound, bound.value_s(times_s[bound.metric])) for bound in self.bounds)
        return all(value is None or value < bound.below_s for bound, value in values)


def quantile(times_s: Floats, share: float) -> float:
    """Linear between the two nearest of the sorted values, as numpy's default; infinity where
    either of them is."""
    ordered = np.sort(times_s)
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    if math.isinf(high):
        return math.inf if math.ceil(place) > math.floor(place) or math.isinf(low) else float(low)
    return float(low + (high - low) * (place - math.floor(place)))


def parse_slo(text: str) -> Slo:
    """Bounds between commas: METRIC_STATISTIC<SECONDS; metric ttft, tpot or e2e; statistic mean or
    p with a number below 100; seconds, or with "ms". Raises SettingError."""
    bounds = []
    for part in text.replace(" ", "").split(","):
        found = _BOUND.fullmatch(part)
        if found is None:
            cause = f"{part!r} is not like ttft_p90<0.5 (ttft, tpot or e2e; mean or p90; seconds)"
            raise SettingError(f"--slo {text}", cause)
        metric, statistic, number, unit = found.groups()
        below_s = float(number) / (1000 if unit == "ms" else 1)
        if not 0 < below_s < 1e9:
            raise SettingError(f"--slo {text}", f"{part!r}: no bound of a time")
        share = None if statistic == "mean" else float(statistic[1:]) / 100
        bounds.append(Bound(_metric(metric), share, below_s))
    if len({bound.statistic for bound in bounds}) < len(bounds):
        raise SettingError(f"--slo {text}", "names one statistic twice")
    return Slo(text, tuple(bounds))


def _metric(word: str) -> Metric:
    return next(metric for metric in METRICS if metric == word)
