"""`vllm-kv`: kv_aware of vllm-router: the engines' own blocks, by KV events.

Formula: score = match + host * (match_host - match); the highest score, of equals the one with
the highest number; no worker with any block: the fewest requests in flight, of equals the lowest
number.

The rule of equals is Rust's max_by_key, which keeps the last. Read from
vllm-project/router src/policies/kv_aware.rs at 71af994, which knows one tier only; the credits
of tiers (host 0.8, external 0.6, disk 0.3) and the temperature come from the options of
vllm-router 0.1.17, whose source was not seen: that a credit multiplies the blocks beyond the
device, and that the temperature draws by -score as Dynamo's does, is not verified. The router's
guess of what its own requests will store (speculative entries, 2 s) is not modelled.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.cache_aware import least_loaded
from hitpath.routing.rule import Option, Rule
from hitpath.routing.softmax import cheapest
from hitpath.routing.view import Ask, Floats, IndexSettings, View

RULE = Rule(
    "vllm-kv",
    kinds.KV_AWARE,
    "argmax(match + 0.8 * host match); nothing held anywhere: least loaded",
    "vllm-router 0.1.17 (options) and policies/kv_aware.rs at 71af994 (rule)",
    (
        Option("host", 0.8, "credit of a block in a lower tier", high=1.0),
        Option("temperature", 0.0, "0 takes the best", high=1e6),
    ),
    IndexSettings("resident"),
)


@kernel
def pick(params: Floats, ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0, with a temperature."""
    count = len(view.alive)
    scores = np.empty(count, dtype=np.float64)
    best = -1
    for w in range(count):
        scores[w] = view.match[w] + params[0] * (view.match_host[w] - view.match[w])
        if view.alive[w] and (best < 0 or scores[w] >= scores[best]):
            best = w
    if best < 0 or scores[best] == 0.0:
        return least_loaded(view, False)
    if params[1] > 0.0:
        return cheapest(-scores, view.alive, params[1], seed, ask.row, 0)
    return best
