"""Step times of an engine in linear terms: what a router needs to predict seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepTerms:
    """One step with n uncached prompt tokens, s sequences that decode and a sum of their contexts
    c takes about

        step_s + n * prefill_s + (n x context of each) * pair_s + s * sequence_s + c * context_s

    All in seconds, none negative. load_s: to bring a token's KV back from a lower tier.
    max_batch_tokens: tokens a step. capacity_tokens: the KV cache of a worker; 0 is not known,
    and neither a wait for memory nor what is displaced is then predicted.
    """

    prefill_s: float
    pair_s: float = 0.0
    context_s: float = 0.0
    sequence_s: float = 0.0
    step_s: float = 0.0
    load_s: float = 0.0
    max_batch_tokens: int = 8192
    capacity_tokens: int = 0
