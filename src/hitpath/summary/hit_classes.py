"""TTFT by hit class: how long prefill takes requests that missed, hit in part, or hit in full."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from hitpath.traces.table import Floats, Ints

if TYPE_CHECKING:
    from numpy.typing import NDArray

HitClassName = Literal["full_miss", "partial", "full_hit"]


@dataclass(frozen=True, slots=True)
class Times:
    """Of so many requests: the smallest value that at least the share of them does not exceed."""

    num_requests: int
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True)
class HitClass:
    """`modelled`: from the cost model, without queueing. `measured`: of those requests of the
    class whose time to the first token the trace has, None where none has."""

    name: HitClassName
    prompt_tokens: int
    hit_tokens: int
    modelled: Times
    measured: Times | None


def hit_classes(
    prompt: Ints, hit: Ints, seconds: Floats, measured_s: Floats, full_within: int | None
) -> tuple[HitClass, ...]:
    """The classes that have requests, empty prompts left out. All arrays: one entry a request.

    full_miss: no token hit. full_hit: at most `full_within` tokens, one block, are left to
    compute (None: block unknown, at most one token). partial: the rest.
    """
    real = prompt > 0
    missed = real & (hit == 0)
    full = real & ~missed & (prompt - hit <= (1 if full_within is None else full_within))
    found = []
    masks: tuple[tuple[HitClassName, NDArray[np.bool_]], ...] = (
        ("full_miss", missed),
        ("partial", real & ~missed & ~full),
        ("full_hit", full),
    )
    for name, mask in masks:
        modelled = _times(seconds[mask])
        if modelled is None:
            continue
        told = measured_s[mask]
        found.append(
            HitClass(
                name=name,
                prompt_tokens=int(prompt[mask].sum()),
                hit_tokens=int(hit[mask].sum()),
                modelled=modelled,
                measured=_times(told[~np.isnan(told)]),
            )
        )
    return tuple(found)


def _times(seconds: Floats) -> Times | None:
    if not len(seconds):
        return None
    ranks = [-(-len(seconds) * share // 100) - 1 for share in (50, 95, 99, 100)]
    p50, p95, p99, longest = np.partition(seconds, sorted(set(ranks)))[ranks].tolist()
    return Times(len(seconds), p50, p95, p99, longest)
