"""The oracle: a slow, obvious model of caches, rungs and causes, to compare the product against.

Nothing here is clever. A block id is the whole prefix itself (its context and its tokens). A
worker's cache is an OrderedDict of such ids, oldest first, most recent last. A token match is
found by comparing with every earlier sequence, token by token. The basics are in blocks.py, the
clairvoyant order in clairvoyant.py. No product code is imported; the rules are those of
design.md ("The words", "The ladder and the causes").
"""

from __future__ import annotations

from dataclasses import dataclass, field

from oracle.blocks import (
    BlockId,
    Cache,
    Context,
    Request,
    Tokens,
    all_ids,
    cap,
    common_prefix,
    countable_blocks,
    longest_match,
    whole_ids,
)
from oracle.clairvoyant import clairvoyant_exhaustive, clairvoyant_greedy, lru_hit_blocks

__all__ = [
    "CAUSES",
    "BlockId",
    "Cache",
    "Context",
    "Request",
    "Row",
    "Tokens",
    "all_ids",
    "cap",
    "clairvoyant_exhaustive",
    "clairvoyant_greedy",
    "common_prefix",
    "countable_blocks",
    "longest_match",
    "lru_hit_blocks",
    "run",
    "whole_ids",
]

CAUSES = (  # the names of rungs 1 to 8
    "ineligible",
    "in_flight",
    "elsewhere",
    "evicted",
    "rounding",
    "isolated",
    "diverged",
    "cold",
)


@dataclass
class Row:
    """What the oracle says about one request. All counts are tokens."""

    rungs: list[int]
    modelled_hit: int
    hit: int
    reported: int | None
    causes: dict[str, int]  # empty on an excluded row
    reasons: dict[str, dict[str, int]]  # of evicted, rounding, isolated; empty on an excluded row
    unexplained: int
    excess: int
    excluded: bool
    partial_hit_tokens: int  # length of the partial last block if it was resident, else 0
    origin: dict[str, int] | None  # None unless the request has a session and a tenant


# ---- the world -----------------------------------------------------------------------------


@dataclass
class World:
    """Everything that has happened so far."""

    block_size: int
    last_token: bool
    outputs: str
    caches: list[Cache]
    computed: list[tuple[Context, Tokens]] = field(default_factory=list)  # ever computed
    stored: list[tuple[Context, Tokens]] = field(default_factory=list)  # ever inserted anywhere

    def insert(self, request: Request, tokens: Tokens, ids: list[BlockId]) -> None:
        self.caches[request.worker].insert(ids)
        self.stored.append((request.context, tokens))

    def arrive(self, request: Request) -> None:
        """The prompt is computed and stored (and, without a finish time, the output too)."""
        context, size = request.context, self.block_size
        self.computed.append((context, request.tokens))
        if self.outputs == "ignore" or request.output is None:
            self.insert(request, request.tokens, all_ids(context, request.tokens, size))
        elif request.finish_s is not None:
            # the partial last block is still being filled: it gets no id before the finish
            self.insert(request, request.tokens, whole_ids(context, request.tokens, size))
        if request.output is not None and request.finish_s is None:
            self.finish(request)

    def finish(self, request: Request) -> None:
        """The output is there: it is computed, and stored if outputs are inserted."""
        self.computed.append((request.context, request.whole))
        if self.outputs == "insert":
            ids = all_ids(request.context, request.whole, self.block_size)
            self.insert(request, request.whole, ids)


def finish_time(request: Request) -> float:
    """When the finish event of a request with an output and a finish time takes place."""
    assert request.finish_s is not None
    return max(request.finish_s, request.arrival_s)  # never before its own arrival


def run(
    requests: list[Request],
    *,
    block_size: int,
    capacity_blocks: int | None = None,
    last_token: bool = False,
    outputs: str = "ignore",
    num_workers: int = 1,
) -> list[Row]:
    """One row for each request. Requests must be in order of arrival."""
    assert outputs in ("insert", "ignore")
    caches = [Cache(capacity_blocks) for _ in range(num_workers)]
    world = World(block_size, last_token, outputs, caches)
    running: list[int] = []  # indices of requests that have arrived and will finish
    rows: list[Row] = []
    for index, request in enumerate(requests):
        assert index == 0 or requests[index - 1].arrival_s <= request.arrival_s
        # first all finishes up to now, by time, then by index
        due = [i for i in running if finish_time(requests[i]) <= request.arrival_s]
        for i in sorted(due, key=lambda i: (finish_time(requests[i]), i)):
            world.finish(requests[i])
            running.remove(i)
        rows.append(explain(request, requests[:index], world))
        world.arrive(request)
        if request.output is not None and request.finish_s is not None:
            running.append(index)
    return rows


# ---- one row -------------------------------------------------------------------------------


def explain(request: Request, earlier: list[Request], world: World) -> Row:
    """The row of a request that arrives in this world. Changes nothing."""
    num_tokens, size = len(request.tokens), world.block_size
    bounds = rung_bounds(request, world)
    rungs = bounds.rungs
    hit = rungs[0] if request.reported is None else request.reported
    excluded = hit > num_tokens
    causes: dict[str, int] = {}
    reasons: dict[str, dict[str, int]] = {}
    if not excluded:
        causes = {CAUSES[i - 1]: between(rungs[i - 1], rungs[i], hit) for i in range(1, 9)}
        reasons = split_reasons(bounds, hit, size)
    ids = all_ids(request.context, request.tokens, size)
    everything_resident = world.caches[request.worker].leading(ids) == len(ids)
    return Row(
        rungs=rungs,
        modelled_hit=rungs[0],
        hit=hit,
        reported=request.reported,
        causes=causes,
        reasons=reasons,
        unexplained=0 if excluded else max(0, rungs[0] - hit),
        excess=0 if excluded else max(0, hit - rungs[0]),
        excluded=excluded,
        partial_hit_tokens=num_tokens % size if everything_resident else 0,
        origin=hit_origin(request, earlier, rungs[0], size),
    )


@dataclass
class Bounds:
    """The rungs, and the bounds inside rungs that the reasons need. All in tokens."""

    rungs: list[int]
    r4_stored: int
    ever_computed: int  # the token match behind r5
    m_salt: int
    m_adapter: int


def rung_bounds(request: Request, world: World) -> Bounds:
    tokens, num_tokens, size = request.tokens, len(request.tokens), world.block_size
    model, salt, adapter = request.context

    def capped(match: int) -> int:
        return cap(match, num_tokens, size, world.last_token)

    ids = whole_ids(request.context, tokens, size)
    resident = [size * cache.leading(ids) for cache in world.caches]
    same = [s for c, s in world.computed if c == request.context]
    same_stored = [s for c, s in world.stored if c == request.context]
    same_model = [s for c, s in world.computed if c[0] == model]
    other_salt = [
        s for c, s in world.computed if c[0] == model and c[1] != salt and c[2] == adapter
    ]
    other_adapter = [
        s for c, s in world.computed if c[0] == model and c[1] == salt and c[2] != adapter
    ]
    ever_computed = longest_match(tokens, same)

    r0 = capped(resident[request.worker])
    r1 = r0
    r2 = r1
    r3 = max(r2, max(capped(x) for x in resident))
    r4 = max(r3, capped(ever_computed))
    r5 = max(r4, ever_computed)
    r6 = max(r5, longest_match(tokens, same_model))
    r7 = r6
    r8 = num_tokens
    return Bounds(
        rungs=[r0, r1, r2, r3, r4, r5, r6, r7, r8],
        r4_stored=max(r3, capped(longest_match(tokens, same_stored))),
        ever_computed=ever_computed,
        m_salt=longest_match(tokens, other_salt),
        m_adapter=longest_match(tokens, other_adapter),
    )


def between(low: int, high: int, hit: int) -> int:
    """The tokens from `low` to `high` that lie above the hit."""
    return max(high, hit) - max(low, hit)


def split_reasons(bounds: Bounds, hit: int, block_size: int) -> dict[str, dict[str, int]]:
    """The causes evicted, rounding and isolated, each split by its reason."""
    r3, r4, r5, r6 = bounds.rungs[3:7]
    whole_end = max(r4, bounds.ever_computed // block_size * block_size)
    salt_end = max(r5, bounds.m_salt)
    adapter_end = max(salt_end, bounds.m_adapter)
    return {
        "evicted": {
            "capacity": between(r3, bounds.r4_stored, hit),
            "not_stored": between(bounds.r4_stored, r4, hit),
        },
        "rounding": {
            "last_token": between(r4, whole_end, hit),
            "block": between(whole_end, r5, hit),
        },
        "isolated": {
            "salt": between(r5, salt_end, hit),
            "adapter": between(salt_end, adapter_end, hit),
            "several": between(adapter_end, r6, hit),
        },
    }


def hit_origin(
    request: Request, earlier: list[Request], modelled_hit: int, block_size: int
) -> dict[str, int] | None:
    """Whose earlier prompt the modelled hit tokens could have come from, the nearest first."""
    if request.session is None or request.tenant is None:
        return None
    same_context = [e for e in earlier if e.context == request.context]
    by_session = [e.tokens for e in same_context if e.session == request.session]
    by_tenant = [e.tokens for e in same_context if e.tenant == request.tenant]
    shared_session = longest_match(request.tokens, by_session) // block_size * block_size
    shared_tenant = longest_match(request.tokens, by_tenant) // block_size * block_size
    same_session = min(modelled_hit, shared_session)
    same_tenant = min(modelled_hit, shared_tenant)
    nearest_two = max(same_session, same_tenant)
    return {
        "same_session": same_session,
        "other_session": nearest_two - same_session,
        "other_tenant": modelled_hit - nearest_two,
    }
