"""What each hit rate that engines tell is called here, and what it counts.

From the source of vLLM (v1/metrics/loggers.py, v1/metrics/stats.py, engine/metrics.py of V0;
0.7 to 0.32) and SGLang (observability/metrics_collector.py, managers/schedule_policy.py; 0.4 to
0.5.23). Version numbers are those of the first release that was checked to behave so.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantity:
    """title: in tables. hits: what the numerator is, for a sentence "… of prompt tokens …".
    covers: what it counts and what it leaves out. rank: of two figures of one window, the
    lower answers the question."""

    title: str
    hits: str
    covers: tuple[str, ...]
    rank: int


_WHOLE_BLOCKS = (
    "whole blocks only: a last, unfilled block never hits, and at least one token of a prompt is "
    "always computed, so that 100 % cannot be reached"
)
_LOOKUPS = (
    "requests that skip the lookup (prompt_logprobs, some pooling) are in neither count",
    "preempted requests that are looked up once more: in both counts in 0.11, in neither from 0.13",
    "a waiting request that does not fit yet: counted at every try before 0.28, once from 0.28",
)
QUANTITIES: dict[str, Quantity] = {
    "prefix_cache": Quantity(
        "prefix cache",
        "hit in the engine's own cache",
        (
            "hit tokens / tokens of all prompts looked up",
            _WHOLE_BLOCKS,
            *_LOOKUPS,
            "the device's own blocks only: what a KV connector brings is counted apart "
            "(external prefix cache)",
        ),
        0,
    ),
    "prefix_cache_and_connector": Quantity(
        "prefix cache + connector",
        "hit in the engine's cache or came through the connector",
        (
            "(own hits + connector hits) / tokens of all prompts looked up",
            "on a decode worker of a disaggregated pair the connector's part is the transfer of "
            "the prefill worker's KV: no reuse",
        ),
        2,
    ),
    "external_prefix_cache": Quantity(
        "KV connector",
        "of what the engine's own cache lacked came through the connector",
        (
            "connector hits / tokens that the engine's own cache did not have: another denominator "
            "than the prefix cache's, the two rates must not be added or averaged",
        ),
        9,
    ),
    "prompt_tokens": Quantity(
        "prompts at their first token",
        "came from a cache, own or connector",
        (
            "cached / prompt tokens of requests that gave their first token",
            "as of the first prefill: what preempted requests computed again is not in it",
        ),
        3,
    ),
    "finished_prefill": Quantity(
        "finished requests",
        "were not computed at prefill",
        ("1 - computed / prompt tokens of requests that have finished",),
        4,
    ),
    "v0_gpu": Quantity(
        "V0 prefix cache, GPU",
        "hit in the GPU's pool",
        (
            "blocks found / whole blocks allocated: weighted by blocks, and by allocations: a "
            "block that is allocated anew after preemption counts again",
        ),
        0,
    ),
    "v0_cpu": Quantity(
        "V0 prefix cache, CPU",
        "hit in the CPU's pool",
        (
            "blocks found / whole blocks allocated in the CPU's pool, weighted by blocks: the swap "
            "space of a server on GPUs, the whole KV cache of a server on CPUs",
        ),
        1,
    ),
    "finished_requests": Quantity(
        "finished requests",
        "came from the cache",
        (
            "cached / prompt tokens, both counted when a request finishes: long ones arrive late, "
            "aborted ones may be missing",
            "as of the first prefill: what retracted requests computed again is not in it",
            "all tiers (device, host, storage) together",
        ),
        0,
    ),
    "effective_prefill": Quantity(
        "prefill, first time",
        "came from the cache",
        (
            "hits of all tiers / (hits + computed), at prefill, without requests that were "
            "retracted and prefilled again",
            "computed tokens are rounded up to whole pages",
        ),
        1,
    ),
    "realtime_prefill": Quantity(
        "prefill, all",
        "came from the cache",
        (
            "cached / (cached + computed) at prefill, prefills after a retraction counted again",
            "computed tokens are rounded up to whole pages",
        ),
        2,
    ),
    "prefill_batches": Quantity(
        "prefill batches",
        "came from the cache",
        (
            "#cached-token / (#cached-token + #new-token), added up over the batches shown",
            "the later chunks of a chunked prefill add to #new-token, and 0 to #cached-token (from "
            "0.4.1; before, a prompt's own chunks counted as cached)",
            "#new-token is rounded up to whole pages: with a page size above 1 the rate is a "
            "little low",
            "a request that was retracted and prefilled again counts again",
        ),
        0,
    ),
    "printed_hit_rate": Quantity(
        "printed with each batch",
        "came from the cache",
        (
            "cached / (cached + computed) since the server started (the wording of 0.4.3 and "
            "before); 0 with another cache than the radix cache",
        ),
        3,
    ),
    "cache_hit_rate": Quantity(
        "gauge cache_hit_rate",
        "came from the cache",
        ("cached / (cached + computed) at prefill",),
        5,
    ),
}

ANSWERS = frozenset(QUANTITIES) - {"external_prefix_cache", "prefix_cache_and_connector"}
"""Those that answer "what is the hit rate of this engine"; the others say what is beside it."""
