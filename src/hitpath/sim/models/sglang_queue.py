"""The order in which SGLang tries its waiting requests, and who is put off for a twin's sake.

Rules (sglang/srt/managers/schedule_policy.py):

- `fcfs` (the default): in order of arrival; nobody is put off.
- `lpm`: the longest cached prefix first, equal ones in order of arrival; with more than 128 waiting
  as `fcfs`. Each request is matched in the cache, which makes what it finds recent.
- Put off (lpm only): whoever finds no more than 32 tokens in the cache, and 32 or more in those
  that wait before it and are not put off themselves: they go to the back, so that one of them
  computes the prefix for all.
"""

from collections.abc import Sequence
from typing import Literal

from hitpath.sim.models.contract import Request
from hitpath.sim.models.radix import RadixTree
from hitpath.sim.models.sglang import SglangModel

QueuePolicy = Literal["fcfs", "lpm"]

MOST_MATCHED = 128
CACHED_AT_MOST = 32
SHARED_AT_LEAST = 32


def order_waiting(
    waiting: Sequence[Request], model: SglangModel, policy: QueuePolicy
) -> tuple[list[Request], set[int]]:
    """(the requests in the order in which they are tried, numbers of those put off)."""
    if policy == "fcfs" or len(waiting) > MOST_MATCHED:
        return list(waiting), set()
    put_off: set[int] = set()
    found: dict[int, int] = {}
    queue = RadixTree(1, "lru", unified=False)
    for request in waiting:
        tokens = model.tokens_of(request)
        match = model.tree.match(tokens, request.context)
        most = len(tokens) - 1 if request.reads_cache else 0
        found[request.number] = min(match.device_tokens + match.host_tokens, most)
        if match.device_tokens > CACHED_AT_MOST:
            continue
        if queue.match(tokens, request.context).device_tokens >= SHARED_AT_LEAST:
            put_off.add(request.number)
        else:
            queue.insert(tokens, request.context, 0, 0)

    def key(request: Request) -> float:
        return float("inf") if request.number in put_off else -found[request.number]

    return sorted(waiting, key=key), put_off
