"""`llmd-load`, `llmd-approx`, `llmd-precise` and their newer forms: llm-d's weighted scorers.

Formula: score = queue * Q + kv * K + prefix * P, the highest score wins.
    Q, queue-scorer: (most - waiting) / (most - fewest) over the pods; all equal: 1
    K, kv-cache-utilization-scorer: 1 - use
    P, prefix scorer, by `normalise`:
       ratio    length * min(1, matched tokens / 8192)**2 + (1 - length) * matched / total blocks;
                total = whole blocks of the prompt, at most what the index looks at
       minmax   (match - least) / (most - least) over the pods that hold at least one block, 1
                where these are equal, 0 for a pod that holds none
waiting and use are the engine's, as last scraped. Ties (`ties`): random, as the picker did when
it shuffled before sorting; rotate, as it does now: a counter turns among the pods with the
highest score.

The index. Approximate: what this router has sent, an LRU of 31,250 blocks a pod. Precise: the
engine's blocks by KV events. A precise score counts a block by its tier (gpu 1.0, cpu 0.8): `host`.

Sources. The forms without a year: the configurations that the public benchmark ran in 2025
(llm-d/llm-d-kv-cache benchmarking/73-capacity): hash blocks of 64 bytes of text, some 16 tokens, at
most 256 of them; precise with weights 3, 2, 2 and min-max (llm-d-inference-scheduler
pkg/plugins/scorer/utils.go: indexedScoresToNormalizedScoredPods). The forms of 2026: llm-d-router,
pkg/epp/framework/plugins/scheduling: scorer/queuedepth/queue.go and kvcacheutilization at 2342697,
scorer/prefix/plugin.go at 068b68d, preciseprefixcache/utils.go at 83a9aea (ratio), picker/maxscore
at 0fa77a0 and picker/common.go at 5155e4c (rotate); producer of 64-token blocks, 131,072 tokens.
Its weights are those of sample configurations. Not modelled: a partial last block is hashed there
too; speculative entries (off by default); prefix-cache-affinity-filter; pods without metrics.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import any_best, nth_of
from hitpath.routing.rule import Option, Rule
from hitpath.routing.view import Ask, Floats, IndexSettings, Ints, View

WEIGHT = 1e6


def _rule(
    name: str,
    line: str,
    source: str,
    weights: tuple[float, float, float],
    index: IndexSettings,
    minmax: bool = False,
    rotate: bool = False,
) -> Rule:
    prefix, queue, kv = weights
    options = (
        Option("prefix", prefix, "weight of the prefix scorer", high=WEIGHT),
        Option("queue", queue, "weight of the queue scorer", high=WEIGHT),
        Option("kv", kv, "weight of the KV utilisation scorer", high=WEIGHT),
        Option("normalise", float(minmax), "prefix score", words=("ratio", "minmax"), high=1),
        Option("host", 0.8, "credit of a block in a lower tier", high=1.0),
        Option("length", 0.0, "share of the score by length (ratio)", high=1.0),
        Option("length_tokens", 8192, "match that counts as long", low=1, whole=True),
        Option("ties", float(rotate), "among equals", words=("random", "rotate"), high=1),
    )
    needs = ("waiting if queue", "kv_use if kv")
    return Rule(name, kinds.LLMD, line, source, options, index, needs)


_2025 = "llm-d/llm-d-kv-cache benchmarking/73-capacity; llm-d-inference-scheduler 2025"
_2026 = "llm-d/llm-d-router, scheduling/scorer and picker at 2342697, 068b68d, 5155e4c (2026)"

RULES = (
    _rule(
        "llmd-load",
        "1 * min-max(waiting) + 1 * (1 - KV use), highest",
        _2025,
        (0, 1, 1),
        IndexSettings(),
    ),
    _rule(
        "llmd-approx",
        "1 * (match / prompt, by history) + 1 * min-max(waiting) + 1 * (1 - KV use), highest",
        _2025,
        (1, 1, 1),
        IndexSettings("history", block_tokens=16, max_blocks=256, capacity_blocks=31_250),
    ),
    _rule(
        "llmd-precise",
        "3 * min-max(match, by KV events) + 2 * min-max(waiting) + 2 * (1 - KV use), highest",
        _2025,
        (3, 2, 2),
        IndexSettings("resident"),
        minmax=True,
    ),
    _rule(
        "llmd-approx-2026",
        "llmd-approx with blocks of 64 tokens, 2,048 of them; equals in turn",
        _2026,
        (1, 1, 1),
        IndexSettings("history", block_tokens=64, max_blocks=2048, capacity_blocks=31_250),
        rotate=True,
    ),
    _rule(
        "llmd-precise-2026",
        "2 * match / prompt + 1 * min-max(waiting) + 1 * (1 - KV use), highest; equals in turn",
        _2026,
        (2, 1, 1),
        IndexSettings("resident"),
        rotate=True,
    ),
)

PREFIX, QUEUE, KV, NORMALISE, HOST, LENGTH, LENGTH_TOKENS, TIES, BLOCK, MAX_BLOCKS = range(10)
"""Places in params; the last two are filled in from the index settings."""


@kernel
def queue_scores(waiting: Ints, view: View) -> Floats:
    """Min-max over the pods alive, 1 for the shortest queue."""
    fewest, most = -1, -1
    for w in range(len(waiting)):
        if view.alive[w]:
            fewest = waiting[w] if fewest < 0 else min(fewest, waiting[w])
            most = max(most, waiting[w])
    scores = np.ones(len(waiting), dtype=np.float64)
    if most > fewest:
        for w in range(len(waiting)):
            scores[w] = (most - waiting[w]) / (most - fewest)
    return scores


@kernel
def _minmax_prefix(held: Floats, view: View) -> Floats:
    scores = np.zeros(len(held), dtype=np.float64)
    least, most = np.inf, -np.inf
    for w in range(len(held)):
        if view.alive[w] and held[w] > 0.0:
            least = min(least, held[w])
            most = max(most, held[w])
    for w in range(len(held)):
        if held[w] > 0.0:
            scores[w] = (held[w] - least) / (most - least) if most > least else 1.0
    return scores


@kernel
def _ratio_prefix(params: Floats, held: Floats, prompt_tokens: int) -> Floats:
    total = float(prompt_tokens)
    if params[BLOCK] > 0.0:
        blocks = np.floor(prompt_tokens / params[BLOCK])
        if params[MAX_BLOCKS] > 0.0:
            blocks = min(blocks, params[MAX_BLOCKS])
        total = blocks * params[BLOCK]
    scores = np.zeros(len(held), dtype=np.float64)
    if total > 0.0:
        for w in range(len(held)):
            long = min(1.0, held[w] / params[LENGTH_TOKENS])
            share = min(1.0, held[w] / total)
            scores[w] = params[LENGTH] * long * long + (1.0 - params[LENGTH]) * share
    return scores


@kernel
def scores(params: Floats, ask: Ask, view: View) -> Floats:
    """The weighted sum for each worker; without a meaning for those not alive."""
    held = np.empty(len(view.alive), dtype=np.float64)
    for w in range(len(held)):
        held[w] = view.match[w] + params[HOST] * (view.match_host[w] - view.match[w])
    if params[NORMALISE] != 0.0:
        prefix = _minmax_prefix(held, view)
    else:
        prefix = _ratio_prefix(params, held, ask.prompt_tokens)
    queue = queue_scores(view.waiting, view)
    total = np.zeros(len(held), dtype=np.float64)
    for w in range(len(held)):
        if params[PREFIX] != 0.0:
            total[w] += params[PREFIX] * prefix[w]
        if params[KV] != 0.0:
            total[w] += params[KV] * (1.0 - view.kv_use[w])
        if params[QUEUE] != 0.0:
            total[w] += params[QUEUE] * queue[w]
    return total


@kernel
def pick(params: Floats, ask: Ask, view: View, counter: Ints, seed: np.uint64) -> int:
    """Draw 0 breaks ties, or counter[0] does."""
    total = scores(params, ask, view)
    if params[TIES] == 0.0:
        return any_best(total, view.alive, seed, ask.row, 0)
    highest, count = -np.inf, 0
    best = np.zeros(len(total), dtype=np.bool_)
    for w in range(len(total)):
        if view.alive[w] and total[w] > highest:
            highest = total[w]
    for w in range(len(total)):
        if view.alive[w] and total[w] == highest:
            best[w] = True
            count += 1
    if count <= 1:
        return nth_of(best, 0)
    turn = counter[0] % count
    counter[0] = 0 if counter[0] + 1 >= count else counter[0] + 1
    return nth_of(best, turn)
