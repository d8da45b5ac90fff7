"""The cache of hitpath's own engine; its two indexes (block keys, radix tree) find the same.

Rules (docs of the engine; no code is shared with it):

- Blocks of `block_size` tokens, each prefix once. A prompt of L tokens of which m are stored hits
  `B * min(m // B, (L - 1) // B)`; a request for its prompt's logprobs nothing.
- An admission takes room for the whole prompt; a generated token room for itself.
- Whole blocks are stored when the step that filled them is over, prompt and output alike. Who
  computed a block that is there by then gives its own back and goes on with the stored one.
- A block that nobody uses any more is kept, tail first, under the next number. The one that goes is
  the lowest of (number), (hits, number) or (priority, number): policies lru, lfu, priority. A hit
  counts one for each block found; a block has the highest priority of those that used it.
"""

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hitpath.core import SettingError
from hitpath.sim.models.chains import Chains, Prefix
from hitpath.sim.models.contract import Eviction, Hit, Occupancy, Reach, Request, Tier

OwnPolicy = Literal["lru", "lfu", "priority"]


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """`EngineSettings` of the engine, as far as they matter to what is hit."""

    num_blocks: int
    block_size: int = 16
    eviction: OwnPolicy = "lru"

    def __post_init__(self) -> None:
        if self.num_blocks < 1 or self.block_size < 1:
            raise SettingError("--capacity-tokens", "holds not one block")


@dataclass(slots=True)
class _Block:
    """A stored block. `rank`: its place among the idle ones, None while it is in use."""

    users: int = 1
    hits: int = 0
    priority: int = 0
    rank: tuple[int, int] | None = None


@dataclass(slots=True)
class _Sequence:
    """`stored`: leading blocks that the index holds; `blocks`: all that it has room in."""

    request: Request
    tokens: list[int]
    prefixes: list[Prefix] = field(default_factory=list)
    computed: int = 0
    stored: int = 0
    blocks: int = 0
    running: bool = False


class OwnModel:
    """See `contract.EngineModel`."""

    def __init__(self, settings: OwnSettings) -> None:
        self.settings = settings
        self.num_free = settings.num_blocks
        self._chains = Chains(settings.block_size)
        self._stored: dict[Prefix, _Block] = {}
        self._num_idle = 0
        self._idle: list[tuple[tuple[int, int], Prefix]] = []
        self._sequences: dict[int, _Sequence] = {}
        self._in_flight: Counter[Prefix] = Counter()
        self._evictions: list[Eviction] = []
        self._serial = 0

    # ---- the contract

    def new_step(self) -> None:
        """Nothing depends on it."""

    def lookup(self, request: Request) -> Hit:
        return Hit(self._found(self._sequence(request)) * self.settings.block_size)

    def reach(self, request: Request) -> Reach:
        sequence, size = self._sequence(request), self.settings.block_size
        hit = self._found(sequence)
        resident = self._leading(sequence, with_flights=False)
        coming = self._leading(sequence, with_flights=True)
        return Reach(hit * size, resident * size, coming * size)

    def admit(self, request: Request, num_new: int | None = None) -> Hit | None:
        sequence = self._sequence(request)
        assert not sequence.running, f"request {request.number} is running"
        found = self._found(sequence)
        blocks = -(-len(sequence.tokens) // self.settings.block_size)
        idle = sum(self._stored[p].rank is not None for p in sequence.prefixes[:found])
        if not self._has_room(blocks - found, idle):
            return None
        for prefix in sequence.prefixes[:found]:
            self._use(self._stored[prefix], request.priority, hits=1)
        self._take(blocks - found)
        sequence.stored, sequence.blocks, sequence.running = found, blocks, True
        hit = found * self.settings.block_size
        left = len(sequence.tokens) - hit
        sequence.computed = hit + (left if num_new is None else min(num_new, left))
        self._sequences[request.number] = sequence
        self._in_flight.update(sequence.prefixes)
        return Hit(hit)

    def extend(self, number: int, num_new: int) -> bool:
        sequence = self._running(number)
        behind = sequence.computed + num_new
        missing = max(-(-behind // self.settings.block_size) - sequence.blocks, 0)
        if not self._has_room(missing, 0):
            return False
        self._take(missing)
        sequence.blocks += missing
        sequence.computed = behind
        return True

    def processed(self, number: int) -> None:
        sequence = self._running(number)
        whole = sequence.computed // self.settings.block_size
        for prefix in sequence.prefixes[sequence.stored : whole]:
            block = self._stored.get(prefix)
            if block is None:
                self._stored[prefix] = _Block(priority=sequence.request.priority)
            else:
                self._use(block, sequence.request.priority, hits=0)
                self.num_free += 1
        sequence.stored = max(whole, sequence.stored)

    def generate(self, number: int, tokens: Sequence[int]) -> None:
        sequence = self._running(number)
        sequence.tokens += tokens
        known, request = len(sequence.prefixes), sequence.request
        self._chains.extend(sequence.prefixes, sequence.tokens, request.context, request.media)
        self._in_flight.update(sequence.prefixes[known:])

    def finish(self, number: int) -> None:
        self._release(self._running(number))
        del self._sequences[number]

    def preempt(self, number: int) -> None:
        self._release(self._running(number))

    def forget(self, number: int) -> None:
        assert not self._sequences[number].running, f"request {number} is running"
        del self._sequences[number]

    def clear(self) -> bool:
        """The engine clears while requests run; this model waits for them."""
        if any(sequence.running for sequence in self._sequences.values()):
            return False
        if self._stored:
            tokens = len(self._stored) * self.settings.block_size
            self._evictions.append(Eviction("device", tokens, "cleared"))
        self.num_free += len(self._stored)
        self._stored.clear()
        self._idle.clear()
        self._num_idle = 0
        return True

    def take_evictions(self) -> list[Eviction]:
        evictions, self._evictions = self._evictions, []
        return evictions

    def occupancy(self, tier: Tier = "device") -> Occupancy:
        if tier == "host":
            return Occupancy("block", 0, 0, 0, 0)
        total = self.settings.num_blocks
        used = total - self._num_idle - self.num_free
        return Occupancy("block", total, used, self._num_idle, self.num_free)

    def check(self) -> None:
        self.occupancy().check()
        users: Counter[Prefix] = Counter()
        own = 0
        for sequence in self._sequences.values():
            if sequence.running:
                users.update(sequence.prefixes[: sequence.stored])
                own += sequence.blocks - sequence.stored
        assert {p: b.users for p, b in self._stored.items() if b.users} == dict(users)
        idle = sum(block.rank is not None for block in self._stored.values())
        assert idle == self._num_idle, "idle blocks"
        assert self.num_free + len(self._stored) + own == self.settings.num_blocks, "blocks lost"

    # ---- within

    def _sequence(self, request: Request) -> _Sequence:
        known = self._sequences.get(request.number)
        if known is None:
            known = _Sequence(request, list(request.tokens))
            self._chains.extend(known.prefixes, known.tokens, request.context, request.media)
        return known

    def _running(self, number: int) -> _Sequence:
        sequence = self._sequences[number]
        if not sequence.running:
            raise KeyError(number)
        return sequence

    def _found(self, sequence: _Sequence) -> int:
        return self._leading(sequence, False) if sequence.request.reads_cache else 0

    def _leading(self, sequence: _Sequence, with_flights: bool) -> int:
        """Leading blocks that are stored (or that running requests compute)."""
        most = (len(sequence.tokens) - 1) // self.settings.block_size
        count = 0
        for prefix in sequence.prefixes[:most]:
            if prefix not in self._stored and not (with_flights and self._in_flight[prefix]):
                break
            count += 1
        return count

    def _has_room(self, num_blocks: int, lost: int) -> bool:
        return num_blocks <= self.num_free or num_blocks <= self.num_free + self._num_idle - lost

    def _use(self, block: _Block, priority: int, hits: int) -> None:
        self._num_idle -= block.rank is not None
        block.rank = None
        block.users += 1
        block.hits += hits
        block.priority = max(block.priority, priority)

    def _take(self, num_blocks: int) -> None:
        while self.num_free < num_blocks:
            rank, prefix = heapq.heappop(self._idle)
            block = self._stored.get(prefix)
            if block is None or block.rank != rank:
                continue  # in use again, or ranked anew, since it was put there
            del self._stored[prefix]
            self._num_idle -= 1
            self.num_free += 1
            self._evictions.append(Eviction("device", self.settings.block_size, "capacity"))
        self.num_free -= num_blocks

    def _release(self, sequence: _Sequence) -> None:
        self.num_free += sequence.blocks - sequence.stored
        for prefix in reversed(sequence.prefixes[: sequence.stored]):
            block = self._stored[prefix]
            block.users -= 1
            if not block.users:
                first = {"lru": 0, "lfu": block.hits, "priority": block.priority}
                block.rank = (first[self.settings.eviction], self._serial)
                self._serial += 1
                self._num_idle += 1
                heapq.heappush(self._idle, (block.rank, prefix))
        for prefix in sequence.prefixes:
            self._in_flight[prefix] -= 1
            if not self._in_flight[prefix]:
                del self._in_flight[prefix]
        sequence.computed = sequence.stored = sequence.blocks = 0
        sequence.running = False
