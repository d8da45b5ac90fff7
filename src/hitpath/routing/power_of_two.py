"""`power-of-two`: two different workers at random, the one with fewer requests in flight.

Formula: a drawn among the n alive, b = a + 1 + (a draw below n - 1), modulo n; a where
in_flight[a] <= in_flight[b], else b.

The same as `power_of_two` of sglang_router 0.3.2 where the router's own loads are compared
(sgl-model-gateway/src/policies/power_of_two.rs). Newer SMG compares an expected wait of scraped
token queues instead (model_gateway/src/policies/power_of_two.rs at 2463a7c), which is not
modelled.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import below, count_of, nth_of
from hitpath.routing.rule import Rule
from hitpath.routing.view import Ask, View

RULE = Rule(
    "power-of-two",
    kinds.POWER_OF_TWO,
    "of two drawn at random the one with fewer requests in flight",
    "sglang_router 0.3.2, policies/power_of_two.rs (drawing as in SMG at 2463a7c)",
)


@kernel
def pick(ask: Ask, view: View, seed: np.uint64) -> int:
    """Draws 0 and 1."""
    alive = count_of(view.alive)
    first = below(seed, ask.row, 0, alive)
    if alive == 1:
        return nth_of(view.alive, first)
    second = (first + 1 + below(seed, ask.row, 1, alive - 1)) % alive
    a, b = nth_of(view.alive, first), nth_of(view.alive, second)
    return a if view.in_flight[a] <= view.in_flight[b] else b
