"""`dynamo`: the KV router of NVIDIA Dynamo; the lowest cost in blocks.

Formula, for each worker:
    credit = overlap * decay' * device blocks + host * blocks in lower tiers beyond those
    decay' = 1 / (1 + decay * (active prefill tokens - fewest of a worker) / block / prompt blocks)
    prefill = max(0, (active prefill tokens + prompt tokens) / block - credit)
    decode = distinct prompt blocks of the requests active there + the prompt's own beside those
    cost = prefill_scale * prefill + decode + requests * requests active there
Temperature 0: the lowest cost, equals at random. Above: a draw by exp(-cost / (range *
temperature)), see `softmax.py`. Requests are active from being sent until they end; their prefill
tokens count until the first token. Up to 0.9 the cost was overlap_score_weight * prefill blocks +
decode blocks: that weight is prefill_scale here.

Whole blocks of the prompt count in `decode`, a block that several requests share counts once
(router_assume_kv_reuse), outputs do not (router_track_output_blocks is off). Where the caller
counts no distinct blocks, and with `unique=0`, it is the plain count of prompt and output tokens.

The index: KV events; `index=history,ttl=120` is --no-router-kv-events.

Source: ai-dynamo/dynamo lib/kv-router/src/scheduling/selector/default.rs at 07a6c9c (cost, draw),
overlap.rs at 13a4eea (tiers), sequences/prompt_registry.rs (decode blocks), scheduling/config.rs
(defaults; 1.6.1 has the same by the rule sheet). Not modelled: disk and shared tiers (their
weights, 0.25 and off), taints, router queue (off by default).
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.rule import Option, Rule
from hitpath.routing.softmax import cheapest
from hitpath.routing.view import Ask, Floats, IndexSettings, View

RULE = Rule(
    "dynamo",
    kinds.DYNAMO,
    "argmin(prefill blocks queued and uncached + distinct blocks active), softmax if temperature",
    "ai-dynamo/dynamo lib/kv-router/src/scheduling/selector/default.rs at 07a6c9c (1.6.1)",
    (
        Option("overlap", 1.0, "credit of a device block", high=1e6),
        Option("decay", 0.0, "how fast a backlog takes the credit", high=1e6),
        Option("prefill_scale", 1.0, "weight of prefill beside decode", high=1e6),
        Option("host", 0.75, "credit of a block in a lower tier", high=1e6),
        Option("requests", 0.0, "blocks that an active request costs", high=1e6),
        Option("temperature", 0.0, "0 takes the lowest cost", high=1e6),
        Option("unique", 1, "distinct blocks (1) or plain tokens (0)", high=1, whole=True),
        Option("cost_block", 16, "tokens a block in the cost", low=1, whole=True),
    ),
    IndexSettings("resident"),
    counts_blocks=True,
)

OVERLAP, DECAY, PREFILL_SCALE, HOST, REQUESTS, TEMPERATURE, UNIQUE, BLOCK = range(8)


@kernel
def costs(params: Floats, ask: Ask, view: View) -> Floats:
    """The cost in blocks for each worker; without a meaning for those not alive."""
    block = params[BLOCK]
    fewest = -1
    for w in range(len(view.alive)):
        if view.alive[w]:
            queued = view.prefill_tokens[w]
            fewest = queued if fewest < 0 else min(fewest, queued)
    prompt_blocks = np.floor(ask.prompt_tokens / block)
    request_blocks = max(1.0, np.ceil(ask.prompt_tokens / block))
    result = np.empty(len(view.alive), dtype=np.float64)
    for w in range(len(result)):
        queued = view.prefill_tokens[w]
        behind = (queued - fewest) / block / request_blocks
        kept = params[OVERLAP] / (1.0 + params[DECAY] * behind)
        credit = kept * (view.match[w] / block)
        credit += params[HOST] * ((view.match_host[w] - view.match[w]) / block)
        prefill = max(0.0, (queued + ask.prompt_tokens) / block - credit)
        if params[UNIQUE] != 0.0 and view.active_unique[w] >= 0 and view.active_shared[w] >= 0:
            shared = view.active_shared[w] / block
            decode = view.active_unique[w] / block + max(0.0, prompt_blocks - shared)
        else:
            decode = view.active_tokens[w] / block + prompt_blocks
        result[w] = params[PREFILL_SCALE] * prefill + decode
        result[w] += params[REQUESTS] * view.in_flight[w]
    return result


@kernel
def pick(params: Floats, ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0 breaks ties, or draws by temperature."""
    return cheapest(costs(params, ask, view), view.alive, params[TEMPERATURE], seed, ask.row, 0)
