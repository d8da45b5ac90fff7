"""The five fitted numbers, chosen on the measured rows that are given, and on nothing else.

A random walk that keeps what is better: each figure of each row counts by how many of its own
tolerances (15 %, 1.5x, 1.3x; 15 % for inter-token latency) it is off, squared and bounded, so
that no single row decides. The output rate counts twice, times of rows that single pods decide a
quarter. Same seed, same walk.
"""

import math
from collections.abc import Callable

import msgspec
import numpy as np

from llmd_73.judge import SATURATED_FROM, Pair, pairs_of
from llmd_73.measured import Measured
from llmd_73.report import Medians
from llmd_73.settings import Experiment, Fitted
from llmd_73.simulate import run_all

START = Fitted(
    step_overhead_s=0.009,
    compute_frac=0.5,
    ttft_constant_s=0.1,
    prompt_scale=1.03,
    counted_frac=0.93,
)
"""Where the walk begins: read off the rows by hand (the step at 3/s, the TTFT of one prompt)."""

_SHARES = ("counted_frac", "prompt_scale")
"""Known to a few per cent beforehand: they move in smaller steps."""
_BOUND = 9.0


def loss(medians: dict[str, Medians], measured: dict[tuple[str, float], Measured]) -> float:
    """0: all figures are equal."""
    return sum(_loss_of(pair) for pair in pairs_of(medians, measured))


def _loss_of(pair: Pair) -> float:
    compared = pair.simulated.rate >= SATURATED_FROM[pair.scheduler]
    weight = 1.0 if compared else 0.25
    return (
        2.0 * _off(pair, "output_tokens_per_s", 1.15)
        + weight * _off(pair, "ttft_p90_s", 1.5)
        + weight * _off(pair, "ttft_mean_s", 1.3)
        + 0.3 * _off(pair, "itl_mean_s", 1.15)
    )


def _off(pair: Pair, figure: str, tolerance: float) -> float:
    tolerances = math.log(pair.ratio(figure)) / math.log(tolerance)
    return min(tolerances**2, _BOUND)


def with_fitted(experiment: Experiment, fitted: Fitted) -> Experiment:
    """The experiment with other fitted numbers."""
    return msgspec.structs.replace(experiment, fitted=fitted)


def fit(
    experiment: Experiment,
    measured: dict[tuple[str, float], Measured],
    *,
    num_seeds: int,
    num_steps: int,
    told: Callable[[int, float, Fitted], None],
) -> Fitted:
    """The best of the walk from START; `told` hears of every gain."""

    def loss_of(candidate: Fitted) -> float:
        medians = run_all(with_fitted(experiment, candidate), measured, num_seeds)
        return loss(medians, measured)

    rng = np.random.default_rng(0)
    best = START
    least = loss_of(best)
    told(0, least, best)
    width = 0.06
    for step in range(1, num_steps + 1):
        candidate = _near(best, width, rng)
        found = loss_of(candidate)
        if found < least:
            best, least = candidate, found
            told(step, least, best)
        elif step % 10 == 0:
            width = max(0.01, width * 0.85)
    return best


def _near(fitted: Fitted, width: float, rng: np.random.Generator) -> Fitted:
    values = {}
    for name, value in msgspec.structs.asdict(fitted).items():
        own = width * (0.4 if name in _SHARES else 1.0)
        values[name] = round(value * math.exp(own * rng.normal()), 5)
    for share in ("compute_frac", "counted_frac"):
        values[share] = min(values[share], 1.0)
    return Fitted(**values)
