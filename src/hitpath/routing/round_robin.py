"""`round-robin`: the workers in turn, in the order in which requests are asked. No options.

Formula: the first that is alive from the worker behind the one chosen last. `counter[0]` is
the worker whose turn it is.
"""

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.rule import Rule
from hitpath.routing.view import Ints, View

RULE = Rule("round-robin", kinds.ROUND_ROBIN, "the workers in turn", "no project's: a baseline")


@kernel
def pick(view: View, counter: Ints) -> int:
    """The next one alive; moves the turn behind it."""
    count = len(view.alive)
    for step in range(count):
        worker = int((counter[0] + step) % count)
        if view.alive[worker]:
            counter[0] = (worker + 1) % count
            return worker
    return -1
