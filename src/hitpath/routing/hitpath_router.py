"""`hitpath`: the worker with the lowest predicted TTFT, with the load that it adds priced in.

Formula, for each worker (u = uncached tokens, at least 1; h = tokens in a lower tier; queued =
uncached tokens sent whose first token has not come):
        (a prefix that a request active there brings along counts as held, where the caller
        counts active_shared: it is computed first)
    own = u * prefill + u * (held + u / 2) * pair + h * load
    step = step + decoding * sequence + decoding context * context
    steps = ceil((queued + u) / tokens that a step has beside its decodes)
    busy = queued * prefill + own + steps * step
    coming = output * (1 + in flight / 2)
    room = capacity * (1 - KV use); wait = (what is missing of u + queued + coming) / (KV in use)
        * output * step, where the capacity is known: memory comes free as outputs end
    TTFT = busy + wait
    delay = decode_price * own * decoding                     to those decoding there
          + load_price * 2 * output * longer * in flight      of all steps beside it
          + queue_price * own * arrivals a second * busy      to those who will come behind it
          + evict_price * u * prefill, where cached + u + coming fills the capacity: what it
            displaces comes again
    longer = sequence + (prompt + output / 2) * context, by which it lengthens a step
    cost = TTFT + delay; the lowest wins, equals at random
Delays are request-seconds: a prefill of `own` seconds makes each of the requests decoding there
that much later, and likewise each request that arrives while the worker is busy; arrivals a
second are the mean over the workers alive of what was sent so far. decode_price is a half: what
is computed stays, and serves at least one more, who shares the delay. Each step that a request
decodes is longer for all beside it, and longer for it by each of them: twice. Of the outputs in
flight a half is still to come, on average. `decoding` is the caller's own count, else the
engine's `running` as last scraped.

No project's: the sum of latencies that a choice makes, by the terms of `hitpath price`
(`terms.StepTerms`), instead of weights of scores without a unit. The index: the engine's blocks
by KV events; `index=history` works from what was sent.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import any_best, count_of
from hitpath.routing.rule import FROM_TERMS, Option, Rule
from hitpath.routing.view import Ask, Floats, IndexSettings, View

RULE = Rule(
    "hitpath",
    kinds.HITPATH,
    "argmin(predicted TTFT + delay to those decoding and queueing + what is displaced)",
    "hitpath's own",
    (
        Option("prefill_us", FROM_TERMS, "us an uncached token", term="prefill_s"),
        Option("pair_ns", FROM_TERMS, "ns an uncached token x context", term="pair_s"),
        Option("context_ns", FROM_TERMS, "ns a token of decoding context", term="context_s"),
        Option("sequence_us", FROM_TERMS, "us a decoding sequence", term="sequence_s"),
        Option("step_ms", FROM_TERMS, "ms a step", term="step_s"),
        Option("load_us", FROM_TERMS, "us a token from a lower tier", term="load_s"),
        Option("batch", FROM_TERMS, "tokens a step", low=1, term="max_batch_tokens", whole=True),
        Option("memory", FROM_TERMS, "KV tokens", term="capacity_tokens", whole=True),
        Option("decode_price", 0.5, "a second of those decoding", high=1e6),
        Option("load_price", 1.0, "a second of slower steps", high=1e6),
        Option("queue_price", 1.0, "a second of those behind", high=1e6),
        Option("evict_price", 1.0, "a displaced token's prefill", high=1e6),
        Option("active", 1, "count what active requests bring along", high=1, whole=True),
    ),
    IndexSettings("resident"),
    needs=("kv_use if memory", "running if decode_price"),
    counts_blocks=True,
)

(
    PREFILL_US,
    PAIR_NS,
    CONTEXT_NS,
    SEQUENCE_US,
    STEP_MS,
    LOAD_US,
    BATCH,
    MEMORY,
    DECODE_PRICE,
    LOAD_PRICE,
    QUEUE_PRICE,
    EVICT_PRICE,
    ACTIVE,
) = range(13)
NUM_PARAMS = 13


@kernel
def _coming_tokens(ask: Ask, view: View, w: int) -> float:
    """Outputs still to be written there, the request's own and, on average, half of each other."""
    return float(ask.expected_output_tokens * (1.0 + 0.5 * view.in_flight[w]))


@kernel
def _wait_s(params: Floats, ask: Ask, view: View, w: int, uncached: float, step_s: float) -> float:
    """Until there is memory for the request."""
    used = view.kv_use[w] * params[MEMORY]
    wanted = uncached + view.prefill_tokens[w] + _coming_tokens(ask, view, w)
    missing = wanted - (params[MEMORY] - used)
    if missing <= 0.0 or used <= 0.0:
        return 0.0
    return float(missing / used * max(1, ask.expected_output_tokens) * step_s)


@kernel
def _load_s(params: Floats, ask: Ask, view: View, w: int) -> float:
    """Request-seconds of slower steps: those in flight by the request, and it by them."""
    output = ask.expected_output_tokens
    longer = (ask.prompt_tokens + 0.5 * output) * 1e-9 * params[CONTEXT_NS]
    longer += 1e-6 * params[SEQUENCE_US]
    return float(2.0 * output * longer * view.in_flight[w])


@kernel
def ttfts(every: Floats, ask: Ask, view: View, with_delay: bool) -> Floats:
    """Predicted seconds to the first token for each worker, with the priced delay if asked.
    every: the options, of all workers alike or one row behind the other for each."""
    alive = count_of(view.alive)
    sent = 0
    for w in range(len(view.alive)):
        if view.alive[w]:
            sent += view.sent[w]
    arrivals_per_s = sent / alive / ask.time_s if ask.time_s > 0.0 else 0.0
    result = np.empty(len(view.alive), dtype=np.float64)
    for w in range(len(result)):
        own_row = w * NUM_PARAMS if len(every) > NUM_PARAMS else 0
        params = every[own_row : own_row + NUM_PARAMS]
        prefill_s = 1e-6 * params[PREFILL_US]
        decoding = view.decoding[w] if view.decoding[w] >= 0 else view.running[w]
        known = view.match_host[w]
        if params[ACTIVE] != 0.0:
            known = max(known, view.active_shared[w])
        known = min(known, ask.prompt_tokens - 1)
        loaded = max(0, min(view.match_host[w], known) - view.match[w])
        uncached = float(ask.prompt_tokens - known)
        own = uncached * prefill_s
        own += uncached * (known + 0.5 * uncached) * 1e-9 * params[PAIR_NS]
        own += loaded * 1e-6 * params[LOAD_US]
        step = 1e-3 * params[STEP_MS] + decoding * 1e-6 * params[SEQUENCE_US]
        step += view.decoding_context[w] * 1e-9 * params[CONTEXT_NS]
        beside = max(1.0, params[BATCH] - decoding)
        steps = np.ceil((view.prefill_tokens[w] + uncached) / beside)
        busy = view.prefill_tokens[w] * prefill_s + own + steps * step
        cost = busy
        if params[MEMORY] > 0.0:
            cost += _wait_s(params, ask, view, w, uncached, step)
        if with_delay:
            cost += params[DECODE_PRICE] * own * decoding
            cost += params[LOAD_PRICE] * _load_s(params, ask, view, w)
            cost += params[QUEUE_PRICE] * own * arrivals_per_s * busy
            filled = view.index_tokens[w] + uncached + _coming_tokens(ask, view, w)
            if 0.0 < params[MEMORY] < filled:
                cost += params[EVICT_PRICE] * uncached * prefill_s
        result[w] = cost
    return result


@kernel
def pick(params: Floats, ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0 breaks ties."""
    return any_best(-ttfts(params, ask, view, True), view.alive, seed, ask.row, 0)
