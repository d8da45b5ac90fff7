"""`ray`: PrefixCacheAffinityRouter of Ray Serve LLM.

Formula (queue = requests in flight):
    longest queue - shortest queue > imbalanced: of two drawn at random the shorter queue
    longest match / prompt < rate: of the workers with the smallest tree the shortest queue
    else: of the workers with the longest match the shortest queue
Equals at random. Nothing is evicted from the tree by default (do_eviction False; on: above
400,000 characters in all down to 360,000, every 10 s: `capacity` sets a bound in blocks a worker
instead).

Source: ray-project/ray python/ray/llm/_internal/serve/routing_policies/prefix_aware/
prefix_aware_router.py at 06c16f2 and prefix_tree.py at 19a1eaa: imbalanced_threshold inf,
match_rate_threshold 0.1. The tree is over characters; here over the engine's blocks unless
`block` says otherwise. Among equal queues Ray takes the one whose answer comes first: random here.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds, power_of_two
from hitpath.routing.draws import any_best
from hitpath.routing.longest_prefix import holders
from hitpath.routing.rule import Option, Rule
from hitpath.routing.view import Ask, Floats, IndexSettings, View

RULE = Rule(
    "ray",
    kinds.RAY,
    "match >= 0.1 of the prompt: its holder with the shortest queue; else the smallest tree",
    "ray-project/ray routing_policies/prefix_aware/prefix_aware_router.py at 06c16f2",
    (
        Option("imbalanced", np.inf, "queues apart that are too many", high=np.inf),
        Option("rate", 0.1, "share of the prompt that a match must have", high=1.0),
    ),
    IndexSettings("history"),
)

_power_of_two = power_of_two.pick


@kernel
def pick(params: Floats, ask: Ask, view: View, seed: np.uint64) -> int:
    """Draws 0 and 1."""
    shortest, longest_queue, smallest = -1, 0, -1
    for w in range(len(view.alive)):
        if view.alive[w]:
            queue, tree = view.in_flight[w], view.index_tokens[w]
            shortest = queue if shortest < 0 else min(shortest, queue)
            longest_queue = max(longest_queue, queue)
            smallest = tree if smallest < 0 else min(smallest, tree)
    if longest_queue - shortest > params[0]:
        return _power_of_two(ask, view, seed)
    longest, among = holders(view.match, view.alive)
    if longest / max(1, ask.prompt_tokens) < params[1]:
        for w in range(len(among)):
            among[w] = view.alive[w] and view.index_tokens[w] == smallest
    return any_best(-view.in_flight.astype(np.float64), among, seed, ask.row, 0)
