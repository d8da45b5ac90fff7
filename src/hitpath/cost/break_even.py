"""Where one side begins to pay: exact counts of tokens, found by search.

The searches ask for the first (or last) number of tokens x in a range for which a cost is below a
value. Both rise with x, so a range [a, b] is settled at once where cost(b) < value(a) or
cost(a) >= value(b), and halved where it is not: the answer is that of a loop over all x.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from hitpath.cost.formats import STATE_BYTES
from hitpath.cost.kv import kv_bytes
from hitpath.cost.paths import NUMBERS, Replica, hit_path, miss_path
from hitpath.cost.roofline import Work

HORIZON_TOKENS = 1 << 20
"""Prefixes up to here are looked at: no model that people serve takes more."""

Curve = Callable[[int], float]


def first_below(cost: Curve, value: Curve, low: int, high: int) -> int | None:
    """The smallest x of [low, high] with cost(x) < value(x), or None. Neither may ever fall."""
    ranges = [(low, high)]
    while ranges:
        low, high = ranges.pop()
        if low > high or cost(low) >= value(high):
            continue
        if cost(low) < value(low):
            return low
        middle = (low + 1 + high) // 2
        ranges += [(middle + 1, high), (low + 1, middle)]
    return None


def last_not_below(cost: Curve, value: Curve, low: int, high: int) -> int | None:
    """The largest x of [low, high] with cost(x) >= value(x), or None. Neither may ever fall."""
    ranges = [(low, high)]
    while ranges:
        low, high = ranges.pop()
        if low > high or cost(high) < value(low):
            continue
        if cost(high) >= value(high):
            return high
        middle = (low + high - 1) // 2
        ranges += [(low, middle - 1), (middle, high - 1)]
    return None


def compute_bound_from(replica: Replica, batch: int = 1) -> int | None:
    """The fewest new tokens (of each of `batch` sequences) with which a step's linear part is
    bound by computing; None: never, for what flows in and out alone is too much."""
    roofline = replica.roofline

    def is_bound(tokens: int) -> bool:
        work = sum(replica.work.linear_step(batch * tokens, NUMBERS), Work())
        return roofline.bound(work, roofline.matrix_flops_per_s) == "compute"

    low, high = 0, HORIZON_TOKENS
    if not is_bound(high):
        return None
    while high - low > 1:  # the intensity rises with the tokens
        middle = (low + high) // 2
        low, high = (low, middle) if is_bound(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class Crossover:
    """Cached tokens against computing them again. `from_tokens`: the shortest prefix that pays;
    `always_from_tokens`: from here on every longer one does. None: none up to the horizon."""

    from_tokens: int | None
    always_from_tokens: int | None


class PrefixCurves:
    """Seconds to the first token by the length of the prefix, with so many new tokens behind it;
    each place is computed once."""

    def __init__(
        self, replica: Replica, new_tokens: int, batch: int = 1, chunk_tokens: int | None = None
    ) -> None:
        def miss_s(cached: int) -> float:
            prompt = cached + new_tokens
            return miss_path(replica, prompt, batch=batch, chunk_tokens=chunk_tokens).ttft_s

        def hit_s(cached: int) -> float:
            prompt = cached + new_tokens
            path = hit_path(replica, prompt, cached, batch=batch, chunk_tokens=chunk_tokens)
            return path.ttft_s

        self.miss_s, self.hit_s = cache(miss_s), cache(hit_s)


def crossover(
    curves: PrefixCurves, fetch_s: Curve, horizon_tokens: int = HORIZON_TOKENS
) -> Crossover:
    """Prefixes that are had sooner from a cache than computed.

    `fetch_s(tokens)`: seconds to find and load a prefix; it may not fall with the tokens. A
    constant is the cost of a lookup in the GPU's own cache.
    """

    def cost(cached: int) -> float:
        return curves.hit_s(cached) + fetch_s(cached)

    first = first_below(cost, curves.miss_s, 1, horizon_tokens)
    if first is None:
        return Crossover(None, None)
    last = last_not_below(cost, curves.miss_s, first, horizon_tokens)
    if last == horizon_tokens:
        return Crossover(first, None)
    return Crossover(first, first if last is None else last + 1)


@dataclass(frozen=True, slots=True)
class Tier:
    """Where a prefix can be loaded from. `per_gpu`: every GPU loads its own share over a link of
    its own; otherwise one link serves the replica. `latency_s` a prefix."""

    name: str
    bytes_per_s: float
    per_gpu: bool
    latency_s: float = 0.0


def load_s(replica: Replica, tier: Tier, tokens: int, batch: int = 1) -> float:
    """Seconds to load the KV of a prefix, for each of `batch` sequences."""
    num_bytes = batch * prefix_bytes(replica, tokens, on_every_gpu=tier.per_gpu)
    links = replica.num_gpus if tier.per_gpu else 1
    return tier.latency_s + num_bytes / (links * tier.bytes_per_s)


def prefix_bytes(replica: Replica, tokens: int, *, on_every_gpu: bool = False) -> float:
    """Bytes of KV of a prefix; `on_every_gpu`: with the copies that tensor parallelism keeps of
    latents and of KV heads that are fewer than the GPUs."""
    if on_every_gpu:
        return replica.work.held_bytes(tokens)
    return kv_bytes(replica.shape, tokens, replica.formats.kv_bytes, STATE_BYTES)


def rate_needed(
    replica: Replica, tier: Tier, cached_tokens: int, saved_s: float, batch: int = 1
) -> float | None:
    """Bytes a second of the tier's link at which loading the prefix (of each of `batch` sequences)
    takes as long as computing it again, `saved_s`. None: no rate does, for the latency alone is
    as long."""
    left_s = saved_s - tier.latency_s
    if left_s <= 0:
        return None
    num_bytes = batch * prefix_bytes(replica, cached_tokens, on_every_gpu=tier.per_gpu)
    return num_bytes / ((replica.num_gpus if tier.per_gpu else 1) * left_s)


def hit_share_needed(lookup_s: float, saved_s: float, fetch_s: float = 0.0) -> float | None:
    """The share of requests that have to hit for a cache to pay its time: each request pays
    `lookup_s`, each hit saves `saved_s` less `fetch_s`. None: never. Above 1: not even if all hit.
    """
    gained = saved_s - fetch_s
    return lookup_s / gained if gained > 0 else None
