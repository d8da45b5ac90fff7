"""`sglang`, `sglang-old`, `smg`, `vllm`: cache_aware of the routers that grew from SGLang's.

A tree of the texts that were routed tells for each request the longest prefix that some worker
was sent, and who was (a worker that has evicted it meanwhile still counts). Load = requests in
flight, over the workers alive.

Formula, `gate=fleet` (sglang_router, vllm-router):
    imbalanced = max - min > abs and max > rel * min
    imbalanced: the least loaded
    match / prompt > threshold: a worker with the longest match
    else: the least loaded (`miss=tree`: the smallest tree, as older texts describe it)
Formula, `gate=spill` (SMG): no test of the whole fleet;
    match / prompt > threshold: of the workers with the longest match the least loaded, but the
        least loaded of all where its load > rel * mean and load > mean + margin
    else: the least loaded
    margin = abs; with `cap` no more than max(4, 2 * sqrt(mean)), nor less than min(4, abs)

Ties. Least loaded: the lowest number (`spill`: then the fewest requests sent). Several workers
with the longest match under `gate=fleet`: the real tree takes whichever its hash map yields first,
arbitrary and always the same for a node; here the first choice of a hash of the prompt's first
256 tokens. Under `gate=spill`: at random.

The tree is over characters (HTTP) or tokens (gRPC); here over tokens, in blocks of the engine
unless `block` says otherwise. Its limit, 2**26 characters (vllm-router 2**25 a worker), holds some
16 million tokens and is left out: `capacity` sets one in blocks. Off by default there and not
modelled: overlap_decay, selection_temperature, KV-usage thresholds, cache_index=hash.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import any_best
from hitpath.routing.hashes import first_choice
from hitpath.routing.longest_prefix import holders
from hitpath.routing.rule import Option, Rule
from hitpath.routing.view import Ask, Floats, IndexSettings, View


def _rule(
    name: str, source: str, threshold: float, abs_: int, rel: float, gate: int, miss: int = 0
) -> Rule:
    line = (
        f"match > {threshold:g} of the prompt: its holder; else, or imbalanced "
        f"(over {abs_} and {rel:g} times): least loaded"
    )
    options = (
        Option("threshold", threshold, "share of the prompt that a match must exceed", high=1.0),
        Option("abs", abs_, "requests in flight", whole=True),
        Option("rel", rel, "times the least (fleet) or the mean (spill)", high=1e6),
        Option("gate", gate, "what counts as overloaded", words=("fleet", "spill"), high=1),
        Option("cap", gate, "limit of the spill margin, 1 for on", words=("off", "on"), high=1),
        Option("miss", miss, "who gets a prompt without a match", words=("load", "tree"), high=1),
    )
    index = IndexSettings("history")
    return Rule(name, kinds.CACHE_AWARE, line, source, options, index, prefix_tokens=256)


RULES = (
    _rule("sglang", "sglang_router 0.3.2, cache_aware (defaults: router_args.py)", 0.3, 64, 1.5, 0),
    _rule("sglang-old", "sglang_router before 0.2: its documents' defaults", 0.5, 32, 1.0001, 0, 1),
    _rule("vllm", "vllm-router 0.1.17, src/policies/cache_aware.rs at 16917f4", 0.3, 64, 1.5, 0),
    _rule("smg", "SMG 1.13.0, policies/cache_aware.rs at 56ad201; cap: its help", 0.3, 64, 1.5, 1),
)

THRESHOLD, ABS, REL, GATE, CAP, MISS = range(6)


@kernel
def least_loaded(view: View, then_sent: bool) -> int:
    """The fewest in flight, then (`then_sent`) the fewest sent, then the lowest number."""
    best = -1
    for w in range(len(view.alive)):
        if view.alive[w]:
            is_less = best < 0 or view.in_flight[w] < view.in_flight[best]
            if not is_less and then_sent and view.in_flight[w] == view.in_flight[best]:
                is_less = view.sent[w] < view.sent[best]
            if is_less:
                best = w
    return best


@kernel
def _smallest_tree(view: View) -> int:
    best = -1
    for w in range(len(view.alive)):
        if view.alive[w] and (best < 0 or view.index_tokens[w] < view.index_tokens[best]):
            best = w
    return best


@kernel
def _is_imbalanced(params: Floats, view: View) -> bool:
    fewest, most = -1, 0
    for w in range(len(view.alive)):
        if view.alive[w]:
            load = view.in_flight[w]
            most = max(most, load)
            fewest = load if fewest < 0 else min(fewest, load)
    return bool(most - fewest > params[ABS] and most > params[REL] * fewest)


@kernel
def _is_over_mean(params: Floats, view: View, worker: int) -> bool:
    total, alive = 0, 0
    for w in range(len(view.alive)):
        if view.alive[w]:
            total += view.in_flight[w]
            alive += 1
    mean = total / alive
    margin = params[ABS]
    if params[CAP] != 0.0:
        margin = min(margin, max(4.0, 2.0 * np.sqrt(mean)))
    load = view.in_flight[worker]
    return bool(load > mean * params[REL] and load > mean + margin)


@kernel
def pick(params: Floats, ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0 breaks ties under `gate=spill`."""
    spill = params[GATE] != 0.0
    if not spill and _is_imbalanced(params, view):
        return least_loaded(view, False)
    longest, among = holders(view.match, view.alive)
    if longest / max(1, ask.prompt_tokens) > params[THRESHOLD]:
        if not spill:
            return first_choice(seed, ask.prefix_hash, among)
        holder = any_best(-view.in_flight.astype(np.float64), among, seed, ask.row, 0)
        return least_loaded(view, True) if _is_over_mean(params, view, holder) else holder
    if params[MISS] != 0.0:
        return _smallest_tree(view)
    return least_loaded(view, spill)
