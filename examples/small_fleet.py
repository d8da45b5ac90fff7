"""A fleet in a few lines, for hot_worker.py and short_prefixes.py: prompts as named stretches of
tokens, equal workers, one router; served in virtual time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT
from hitpath.cost.pricing import load_pricing
from hitpath.index.forest import Forest, build_forest
from hitpath.routing.registry import make_router
from hitpath.sim.serving.records import (
    Arrivals,
    FleetSettings,
    Requests,
    ServingOutcome,
    WorkerGroup,
    WorkerSettings,
)
from hitpath.sim.serving.simulate import simulate_serving
from hitpath.sim.serving.step_time import step_model
from hitpath.sim.serving_router import step_terms

Prompt = Sequence[tuple[str, int]]
Ints = NDArray[np.int64]

_LONGEST = 1 << 24
"""Tokens of a stretch at most."""


@dataclass(frozen=True, slots=True)
class SmallFleet:
    """Llama-3.1-8B on one H100 a worker, at the efficiencies that published measurements reached
    at best."""

    num_workers: int
    kv_tokens: int
    block_size: int = 16
    lookup_s_per_block: float = 0.0

    def settings(self, router: str, seed: int) -> FleetSettings:
        worker = WorkerSettings(
            block_size=self.block_size, capacity_blocks=self.kv_tokens // self.block_size
        )
        replica = load_pricing("llama-3.1-8b", "h100-sxm", efficiency="achievable").replica
        steps = step_model(
            replica, worker.max_batch_tokens, worker.max_running, self.lookup_s_per_block
        )
        terms = step_terms(steps, self.kv_tokens, 0.0)
        return FleetSettings(
            workers=(WorkerGroup(self.num_workers, worker, steps),),
            router=make_router(router, self.num_workers, seed, terms),
            seed=seed,
        )

    def serve(
        self,
        prompts: Sequence[Prompt],
        arrival_s: Sequence[float],
        output_tokens: int,
        router: str,
        seed: int = 0,
    ) -> ServingOutcome:
        """Every prompt at its time; the replies are not told."""
        forest, tokens = _forest(prompts, self.block_size)
        n = len(prompts)
        none = np.zeros(n, dtype=np.uint64)
        requests = Requests(
            end_node=forest.end,
            prompt_tokens=tokens,
            whole_blocks=tokens // self.block_size,
            output_tokens=np.full(n, output_tokens),
            output_end_node=np.full(n, ABSENT),
            router_end_node=forest.end,
            session=none,
            prefix_hash=none,
            expected_output_tokens=np.full(n, output_tokens),
        )
        arrivals = Arrivals.at(np.asarray(arrival_s))
        return simulate_serving(
            forest.tree, forest.tree, requests, arrivals, self.settings(router, seed)
        )


def _forest(prompts: Sequence[Prompt], block_size: int) -> tuple[Forest, Ints]:
    """(whole blocks of all prompts, tokens of each). A block within a stretch is named by the
    stretch and its place there, one across stretches by all of them and its place in the first."""
    names: dict[str, int] = {}
    across: dict[tuple[object, ...], int] = {}
    rows, tokens = [], []
    for prompt in prompts:
        ends = np.cumsum([length for _, length in prompt])
        begins = np.arange(0, ends[-1] - block_size + 1, block_size)
        first = np.searchsorted(ends, begins, side="right")
        last = np.searchsorted(ends, begins + block_size - 1, side="right")
        place = begins - (ends - [length for _, length in prompt])[first]
        numbers = [names.setdefault(name, len(names)) for name, _ in prompt]
        row = np.array(numbers)[first] * _LONGEST + place
        for at in np.flatnonzero(first != last):
            key = (int(place[at]), *numbers[first[at] : last[at] + 1])
            row[at] = -1 - across.setdefault(key, len(across))
        rows.append(row)
        tokens.append(ends[-1])
    lengths = np.array([len(row) for row in rows])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    symbols = np.concatenate(rows).astype(np.uint64)
    roots = np.zeros(len(rows), dtype=np.int64)
    return build_forest(symbols, starts, lengths, roots), np.array(tokens)


def hit_rate(outcome: ServingOutcome, prompts: Sequence[Prompt]) -> float:
    """Hit tokens over prompt tokens."""
    total = sum(length for prompt in prompts for _, length in prompt)
    return float(outcome.hit_tokens.sum() / total)
