"""Drawing a worker by its cost: the lower, the likelier, by a temperature without a unit."""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing.draws import any_best, uniform
from hitpath.routing.view import Flags, Floats


@kernel
def cheapest(
    costs: Floats, among: Flags, temperature: float, seed: np.uint64, row: int, number: int
) -> int:
    """Temperature 0: the lowest cost, equals at random. Above: worker w with a probability
    proportional to exp(-(cost - lowest) / (range of costs * temperature)), the inverse of the
    cumulative sum in the order of the workers; all alike where the range is 0. Rule of Dynamo
    (lib/kv-router/src/scheduling/selector/default.rs). Costs are finite; one is set at least."""
    if temperature == 0.0:
        return any_best(-costs, among, seed, row, number)
    lowest, highest = np.inf, -np.inf
    for w in range(len(costs)):
        if among[w]:
            lowest = min(lowest, costs[w])
            highest = max(highest, costs[w])
    if lowest == highest:
        return any_best(-costs, among, seed, row, number)
    total = 0.0
    for w in range(len(costs)):
        if among[w]:
            total += np.exp((lowest - costs[w]) / ((highest - lowest) * temperature))
    target = uniform(seed, row, number) * total
    so_far = 0.0
    last = -1
    for w in range(len(costs)):
        if among[w]:
            so_far += np.exp((lowest - costs[w]) / ((highest - lowest) * temperature))
            last = w
            if target <= so_far:
                return w
    return last
