"""`longest-prefix`: always the worker that holds most of the prompt, whatever its load.

Formula: argmax(match), then argmin(requests in flight), then at random. With an index of the
true state it has the highest hit rate that a router can have at the moment of choice, and it
shows what that costs where one worker is hot.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import any_best
from hitpath.routing.rule import Rule
from hitpath.routing.view import Ask, Flags, IndexSettings, Ints, View

RULE = Rule(
    "longest-prefix",
    kinds.LONGEST_PREFIX,
    "argmax(match), then the fewest requests in flight",
    "no project's: the extreme that ignores load",
    index=IndexSettings("resident"),
)


@kernel
def holders(match: Ints, alive: Flags) -> tuple[int, Flags]:
    """(the longest match of a worker alive, who of them has it)."""
    longest = -1
    for w in range(len(match)):
        if alive[w] and match[w] > longest:
            longest = match[w]
    among = np.zeros(len(match), dtype=np.bool_)
    for w in range(len(match)):
        among[w] = alive[w] and match[w] == longest
    return longest, among


@kernel
def pick(ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0 breaks ties."""
    _, among = holders(view.match, view.alive)
    return any_best(-view.in_flight.astype(np.float64), among, seed, ask.row, 0)
