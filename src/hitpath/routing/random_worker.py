"""`random`: any worker that is alive, uniformly. No state, no options.

Formula: worker = the k-th that is alive, k drawn from (seed, row).
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import any_of
from hitpath.routing.rule import Rule
from hitpath.routing.view import Ask, View

RULE = Rule("random", kinds.RANDOM, "any worker, uniformly", "no project's: a baseline")


@kernel
def pick(ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0 of the row."""
    return any_of(view.alive, seed, ask.row, 0)
