"""`least-loaded`: the worker with the least load; equals at random.

Formula: argmin of the load. `load=requests` is the router's own count of requests sent and not
ended, `load=tokens` their prompt and output tokens, `load=scraped` what the engine reports,
waiting + running.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import any_best
from hitpath.routing.rule import Option, Rule
from hitpath.routing.view import Ask, Floats, View

RULE = Rule(
    "least-loaded",
    kinds.LEAST_LOADED,
    "argmin(load), equals at random",
    "no project's: a baseline (AIBrix calls it least-request, Dynamo least-loaded)",
    (Option("load", 0, "what is compared", words=("requests", "tokens", "scraped"), high=2),),
    needs=("waiting if load=scraped", "running if load=scraped"),
)


@kernel
def pick(params: Floats, ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0 breaks ties."""
    if params[0] == 0.0:
        load = view.in_flight
    elif params[0] == 1.0:
        load = view.active_tokens
    else:
        load = view.waiting + view.running
    return any_best(-load.astype(np.float64), view.alive, seed, ask.row, 0)
