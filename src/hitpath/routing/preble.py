"""`preble`: like Preble's E2, which exploits a long match and explores otherwise.

Formula, by the paper (Srivatsa et al. 2024, arXiv 2407.00023, section 3.2) and its code:
    load L = prefill_s * tokens queued for prefill + decode_s * requests active * output tokens
    exploit, where the longest match > prompt - match: of the workers with it the lowest L
    explore otherwise: the lowest L + M + P
        P = prefill_s * uncached tokens there
        M = evict * prefill_s * uncached tokens: what is displaced is needed again
    rebalance > 0: where the highest L > rebalance * the lowest, a request that would exploit the
        worker with the highest goes to the one with the lowest
Ties: the lowest number, as numpy's argmin.

Source: WukLab/preble multi_node/global_scheduler_with_time.py at 0c962c4. Like, not the same: its L
is a sum over prefixes of the last 3 minutes by their miss rates, its M simulates an eviction and
weighs each victim by its use, and its rebalancing moves and copies prefixes; the view here has
none of these. M is off by default; rebalancing is too, as it is commented out in that file (its
threshold there is 15). Without `terms` of the engine, `prefill_us` and `decode_ms` must be typed.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import first_best
from hitpath.routing.longest_prefix import holders
from hitpath.routing.rule import FROM_TERMS, Option, Rule
from hitpath.routing.view import Ask, Floats, IndexSettings, View

RULE = Rule(
    "preble",
    kinds.PREBLE,
    "match over half of the prompt: its least loaded holder; else argmin(load + prefill)",
    "arXiv 2407.00023; WukLab/preble global_scheduler_with_time.py at 0c962c4 (like it)",
    (
        Option("prefill_us", FROM_TERMS, "us a prompt token", term="prefill_s"),
        Option("decode_ms", FROM_TERMS, "ms a decoded token", term="step_s"),
        Option("evict", 0.0, "times an uncached token's prefill that it displaces", high=1e6),
        Option("rebalance", 0.0, "highest over lowest load that shifts; 0 never", high=1e6),
    ),
    IndexSettings("history"),
)

PREFILL_US, DECODE_MS, EVICT, REBALANCE = range(4)


@kernel
def _loads(params: Floats, ask: Ask, view: View) -> Floats:
    """L in microseconds."""
    a_request = 1000.0 * params[DECODE_MS] * ask.expected_output_tokens
    loads = np.empty(len(view.alive), dtype=np.float64)
    for w in range(len(loads)):
        loads[w] = params[PREFILL_US] * view.prefill_tokens[w] + a_request * view.in_flight[w]
    return loads


@kernel
def pick(params: Floats, ask: Ask, view: View) -> int:
    """No draw: ties go to the lowest number."""
    loads = _loads(params, ask, view)
    longest, among = holders(view.match, view.alive)
    if longest > ask.prompt_tokens - longest:
        chosen = first_best(-loads, among)
        heaviest, lightest = first_best(loads, view.alive), first_best(-loads, view.alive)
        apart = loads[heaviest] > params[REBALANCE] * loads[lightest]
        return lightest if params[REBALANCE] > 0.0 and apart and chosen == heaviest else chosen
    costs = np.empty(len(loads), dtype=np.float64)
    for w in range(len(loads)):
        uncached = ask.prompt_tokens - view.match[w]
        costs[w] = loads[w] + params[PREFILL_US] * (1.0 + params[EVICT]) * uncached
    return first_best(-costs, view.alive)
