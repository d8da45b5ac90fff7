"""Hit rates, each under its own name, over a stated window. Nothing without a denominator.

token_weighted             hit tokens / prompt tokens (whole blocks where modelled)
token_weighted_with_partial  the same, a matched partial last block counted by its rest
block_weighted             hit blocks / blocks, a partial last block counting as one
request_mean_*             mean over requests of each one's own share; an empty prompt has none
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class HitCounts:
    """One entry a request. hit: tokens. partial: tokens of a matched partial last block.
    blocks: ids of the prompt. hit_blocks: ids that hit, the partial one included; not
    meaningful where `blocks_known` is False (the hit was reported in tokens)."""

    prompt: Ints
    hit: Ints
    partial: Ints
    blocks: Ints
    hit_blocks: Ints
    blocks_known: bool


@dataclass(frozen=True, slots=True)
class HitRates:
    """Each None where its denominator is zero or unknown."""

    token_weighted: float | None
    token_weighted_with_partial: float | None
    block_weighted: float | None
    request_mean_token: float | None
    request_mean_token_full: float | None
    request_mean_block: float | None


def ratio(part: int | None, whole: int) -> float | None:
    """part / whole, None for a part that is not known and without a denominator."""
    return part / whole if whole and part is not None else None


def _mean_share(part: Ints, whole: Ints) -> float | None:
    some = whole > 0
    return float(np.mean(part[some] / whole[some])) if np.any(some) else None


def hit_rates(counts: HitCounts, rows: Mask) -> HitRates:
    """All rates over the given rows."""
    prompt, hit = counts.prompt[rows], counts.hit[rows]
    with_partial = hit + counts.partial[rows]
    blocks, hit_blocks = counts.blocks[rows], counts.hit_blocks[rows]
    total = int(prompt.sum())
    return HitRates(
        ratio(int(hit.sum()), total),
        ratio(int(with_partial.sum()), total),
        ratio(int(hit_blocks.sum()), int(blocks.sum())) if counts.blocks_known else None,
        _mean_share(with_partial, prompt),
        _mean_share(hit, prompt),
        _mean_share(hit_blocks, blocks) if counts.blocks_known else None,
    )


@dataclass(frozen=True, slots=True)
class Group:
    """Sums over the requests that share a label; `possible_tokens` None where not known."""

    name: str
    num_requests: int
    prompt_tokens: int
    hit_tokens: int
    possible_tokens: int | None

    @property
    def hit_rate(self) -> float | None:
        """Token-weighted."""
        return ratio(self.hit_tokens, self.prompt_tokens)

    @property
    def lost_tokens(self) -> int | None:
        """Computed before and missed; None where not known."""
        return None if self.possible_tokens is None else self.possible_tokens - self.hit_tokens


def group_by(
    codes: Ints, names: list[str], rows: Mask, prompt: Ints, hit: Ints, possible: Ints | None
) -> list[Group]:
    """One Group a code from 0 that occurs in `rows`, most prompt tokens first.

    possible: tokens that any earlier request of the same context had computed; None: not known.
    """
    rows = rows & (codes >= 0)
    picked = codes[rows]

    def sums(column: Ints) -> Ints:
        totals = np.zeros(len(names), dtype=np.int64)
        np.add.at(totals, picked, column[rows])
        return totals

    requests, prompts = sums(np.ones_like(prompt)), sums(prompt)
    hits = sums(hit)
    possibles = None if possible is None else sums(possible)
    order = np.lexsort((np.arange(len(names)), -prompts))
    return [
        Group(
            names[i],
            int(requests[i]),
            int(prompts[i]),
            int(hits[i]),
            None if possibles is None else int(possibles[i]),
        )
        for i in order
        if requests[i]
    ]
