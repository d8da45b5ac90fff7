"""`aibrix`: prefix-cache of the AIBrix gateway.

Formula (count = requests in flight):
    candidates = all alive; overloaded: only those with the fewest requests
        gate=absolute: overloaded where most - fewest > gap
        gate=relative: where most > factor * (mean + 1) and most - fewest >= gap
    of the candidates that hold a block: those with count <= mean + deviations * standard
        deviation, of them the highest whole per cent of match, then the fewest requests, then at
        random
    none: the fewest requests of all, equals at random
The standard deviation is the sample's (n - 1), mean and deviation are over all alive.

Source: vllm-project/aibrix pkg/plugins/gateway/algorithms/prefix_cache.go: gate=relative at 01de8a5
(factor 2.0, gap 8), gate=absolute before it (gap 8, v0.7.0 by its documents); least_request.go,
util.go (standardDeviation); pkg/utils/prefixcacheindexer/hash.go: blocks of 4 bytes of the
character tokenizer, some 1 token, 200,000 of them in all, dropped after 20 minutes. The index here
has the engine's blocks unless `block` says otherwise, and no bound in blocks, for theirs is over
all pods; `ttl` 1200 s.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import any_of
from hitpath.routing.rule import Option, Rule
from hitpath.routing.view import Ask, Flags, Floats, IndexSettings, View

RULE = Rule(
    "aibrix",
    kinds.AIBRIX,
    "longest match with requests <= mean + 1 deviation; over 8 apart: the least loaded only",
    "vllm-project/aibrix gateway/algorithms/prefix_cache.go at 01de8a5 and before (v0.7.0)",
    (
        Option("gap", 8, "requests between most and fewest", whole=True),
        Option("factor", 2.0, "times mean + 1 (gate=relative)", high=1e6),
        Option("deviations", 1.0, "standard deviations over the mean", high=1e6),
        Option("gate", 0, "when overloaded", words=("absolute", "relative"), high=1),
    ),
    IndexSettings("history", ttl_s=1200.0),
)

GAP, FACTOR, DEVIATIONS, GATE = range(4)


@kernel
def _candidates(params: Floats, view: View, fewest: int, most: int, mean: float) -> Flags:
    if params[GATE] == 0.0:
        overloaded = most - fewest > params[GAP]
    else:
        overloaded = most > params[FACTOR] * (mean + 1.0) and most - fewest >= params[GAP]
    among = np.zeros(len(view.alive), dtype=np.bool_)
    for w in range(len(among)):
        among[w] = view.alive[w] and (not overloaded or view.in_flight[w] == fewest)
    return among


@kernel
def pick(params: Floats, ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0 breaks ties."""
    count = len(view.alive)
    alive, total, fewest, most = 0, 0, -1, 0
    for w in range(count):
        if view.alive[w]:
            load = view.in_flight[w]
            alive += 1
            total += load
            fewest = load if fewest < 0 else min(fewest, load)
            most = max(most, load)
    mean = total / alive
    squares = 0.0
    for w in range(count):
        if view.alive[w]:
            squares += (view.in_flight[w] - mean) ** 2
    limit = mean
    if alive > 1:
        limit += params[DEVIATIONS] * np.sqrt(squares / (alive - 1))
    among = _candidates(params, view, fewest, most, mean)
    best_percent, best_load = -1, 0
    for w in range(count):
        among[w] = among[w] and view.match[w] > 0 and view.in_flight[w] <= limit
        if among[w]:
            percent = 100 * view.match[w] // max(1, ask.prompt_tokens)
            load = view.in_flight[w]
            if percent > best_percent or (percent == best_percent and load < best_load):
                best_percent, best_load = percent, load
    for w in range(count):
        if best_percent < 0:
            among[w] = view.alive[w] and view.in_flight[w] == fewest
        elif among[w]:
            percent = 100 * view.match[w] // max(1, ask.prompt_tokens)
            among[w] = percent == best_percent and view.in_flight[w] == best_load
    return any_of(among, seed, ask.row, 0)
