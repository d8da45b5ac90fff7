"""Why the rest was no hit: one label for every prompt token, per scheduler and stage.

Rungs 0 to 3 are the simulator's, at the moment of admission. The rungs above need no state: which
of the 750 prompts, and which groups, were admitted anywhere before. The labels are those of
docs/what-counts-as-a-hit.md; nothing here is isolated or diverged.
"""

from typing import NamedTuple

import numpy as np

from llmd_73.simulate import Run
from llmd_73.workload import Ints, Workload


class Ladder(NamedTuple):
    """Shares of the prompt tokens of served requests; they add up to 1."""

    hit: float
    in_flight: float
    elsewhere: float
    evicted: float
    rounding: float
    cold: float


def rungs(run: Run) -> Ints:
    """[6, N] in tokens: hit, and what it would be with each of the labels behind it removed."""
    workload, outcome = run
    granted = outcome.granted
    tokens = workload.experiment.prompt_tokens
    block = workload.experiment.pods.block_tokens
    ever = _ever_computed(workload, outcome.admit_s)
    ever_granted = np.minimum(ever, tokens - 1) // block * block
    best = np.maximum(granted[3], ever_granted)
    return np.stack(
        [
            granted[0],
            granted[2],
            granted[3],
            best,
            np.maximum(best, ever),
            np.full_like(best, tokens),
        ]
    )


def ladder_of(run: Run, stage: int | None = None) -> Ladder:
    """Of one stage, or of all behind the warm-up."""
    workload = run.workload
    chosen = run.outcome.served & (workload.stage > 0 if stage is None else workload.stage == stage)
    steps = rungs(run)[:, chosen]
    labels = np.diff(steps, axis=0, prepend=0)
    assert labels.min() >= 0, "a rung falls"
    return Ladder(*map(float, labels.sum(axis=1) / steps[-1].sum()))


def _ever_computed(workload: Workload, admit_s: np.ndarray) -> Ints:
    """Leading tokens that a request admitted before, on any pod, had too; 0 for none and for
    requests that were never admitted."""
    load = workload.experiment.load
    order = np.argsort(admit_s, kind="stable")
    order = order[~np.isnan(admit_s[order])]
    prompts = workload.prompt[order]
    found = np.zeros(workload.num_requests, dtype=np.int64)
    for labels, tokens in (
        (prompts // load.users_per_group, workload.experiment.prefix_tokens),
        (prompts, workload.experiment.prompt_tokens),
    ):
        _, first = np.unique(labels, return_index=True)
        again = np.ones(len(order), dtype=bool)
        again[first] = False
        found[order[again]] = tokens
    return found
