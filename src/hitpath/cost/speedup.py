"""How much faster a hit makes a request, and what bounds that.

A hit shortens the time to the first token alone. With D seconds of decoding on both paths,

    speed-up of the request  = (miss TTFT + D) / (hit TTFT + D)
    ceiling                  = (miss TTFT + D) / D = 1 / (1 - p)

(Amdahl, AFIPS 1967), p being the share of prefill in the request on the miss path. The speed-up
of the TTFT itself has a ceiling too: a path that computes the last token only.
"""

import math
from dataclasses import dataclass

from hitpath.cost.paths import Path, Replica, hit_path, miss_path, tpot_s


@dataclass(frozen=True, slots=True)
class Speedup:
    """Ratios of the miss path to the hit path. `request_ceiling` is infinite where nothing is
    decoded behind the first token. `hit_rate`: cached / prompt tokens of this request."""

    ttft: float
    ttft_ceiling: float
    request: float
    request_ceiling: float
    prefill_frac: float
    hit_rate: float
    tpot_s: float
    decode_s: float


def speedup(
    replica: Replica,
    miss: Path,
    hit: Path,
    output_tokens: int,
    chunk_tokens: int | None = None,
) -> Speedup:
    """Of a request with so many output tokens, the first of which the prefill gives."""
    prompt = hit.tokens_cached + hit.tokens_computed
    least = hit_path(
        replica,
        prompt,
        prompt - 1,
        batch=hit.batch,
        chunk_tokens=chunk_tokens,
        lookup_s=hit.lookup_s,
        queue_s=hit.queue_s,
    )
    per_token_s = tpot_s(replica, prompt, output_tokens, hit.batch)
    decode_s = per_token_s * max(output_tokens - 1, 0)
    whole = miss.ttft_s + decode_s
    return Speedup(
        ttft=miss.ttft_s / hit.ttft_s,
        ttft_ceiling=miss.ttft_s / least.ttft_s,
        request=whole / (hit.ttft_s + decode_s),
        request_ceiling=whole / decode_s if decode_s else math.inf,
        prefill_frac=miss.ttft_s / whole,
        hit_rate=hit.tokens_cached / prompt,
        tpot_s=per_token_s,
        decode_s=decode_s,
    )


def saved_s(
    replica: Replica,
    cached_tokens: int,
    new_tokens: int,
    batch: int = 1,
    chunk_tokens: int | None = None,
) -> float:
    """Seconds that a cached prefix saves a request with so many tokens behind it."""
    prompt = cached_tokens + new_tokens
    miss = miss_path(replica, prompt, batch=batch, chunk_tokens=chunk_tokens)
    hit = hit_path(replica, prompt, cached_tokens, batch=batch, chunk_tokens=chunk_tokens)
    return miss.ttft_s - hit.ttft_s


def turn_tokens(turn: int, first: int, question: int, answer: int) -> tuple[int, int]:
    """(prompt, cached) tokens of a conversation's turn, counted from 1, in a cache that keeps
    everything: each prompt is all that was said before and one question more. `first`: tokens of
    system prompt and tools, cached by an earlier conversation."""
    cached = first + (turn - 1) * (question + answer)
    return cached + question, cached
