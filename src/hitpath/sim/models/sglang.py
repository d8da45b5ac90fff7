"""SGLang's cache of one worker, to the token: what is hit, taken, kept and dropped.

Rules (sglang/srt/mem_cache/common.py, allocation.py, radix_cache.py, unified_radix_cache.py and
managers/schedule_batch.py):

- A prompt of L tokens is matched to L - 1, in whole pages, when the scheduler tries it; a request
  for its prompt's logprobs to nothing. What it matched is locked until it ends.
- All requests of a batch are matched before room is made for any: evictions happen once a batch,
  for what it lacks. With pages larger than a token a prefill asks for a page a request more than
  it needs, and a decode for a page a request, whether it needs one or not.
- Nothing is visible to others before its result is processed: a prefill (or a chunk of one)
  enters the tree then, output tokens when the request ends, all but the last one.
- What was in the tree by then is freed at once; the request goes on with the tree's copy.
- A preempted ("retracted") request gives back all that the tree does not hold.
- With a host tier each run that has been hit often enough is copied there at once, its parents
  first. A run that leaves the device stays on the host, and is loaded back when it is hit, if it
  is no less than `load_back_tokens` and there is room; else it is computed anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.sim.models.contract import Eviction, Hit, Occupancy, Reach, Request, Tier
from hitpath.sim.models.radix import Match, Node, RadixTree
from hitpath.sim.models.sglang_rules import SglangSettings, rules_of


@dataclass(slots=True)
class _Row:
    """A request with what it has by now. `computed`: tokens with room, those hit included;
    `published`: those that the tree was shown, `in_tree`: those that it holds, under `lock`;
    `inserted`: those ever inserted; `prefill`: tokens that it had when it was admitted."""

    request: Request
    tokens: list[int]
    lock: Node | None = None
    computed: int = 0
    published: int = 0
    in_tree: int = 0
    inserted: int = 0
    prefill: int = 0


class SglangModel:
    """See `contract.EngineModel`."""

    def __init__(self, settings: SglangSettings) -> None:
        self.settings = settings
        self.rules = rules_of(settings.version)
        self.free_tokens = settings.capacity_tokens // settings.page_size * settings.page_size
        self._capacity = self.free_tokens
        self._rows: dict[int, _Row] = {}
        self._evictions: list[Eviction] = []
        self._owed = 0
        self._wanted = 0
        self._copying: list[Node] = []
        self._loading: list[tuple[Node, int]] = []
        self.tree = self._empty_tree()

    def _empty_tree(self) -> RadixTree:
        settings = self.settings
        return RadixTree(
            settings.page_size,
            settings.policy,
            unified=self.rules.unified and not settings.as_radix_cache,
            write_through_hits=settings.write_through_hits,
            backs_up=self._back_up if settings.host_tokens else None,
        )

    # ---- the contract

    def new_step(self) -> None:
        self.make_room()
        for node in self._copying:
            self.tree.unlock(node)
        for node, length in self._loading:
            self.tree.unlock(node)
            self._unlock_host(node, length)
        self._copying, self._loading = [], []

    def lookup(self, request: Request) -> Hit:
        row = self._row(request)
        device, host = self.tree.peek(row.tokens[: self._most(row)], request.context)
        return Hit(device, host if host >= self.settings.load_back_tokens else 0)

    def reach(self, request: Request) -> Reach:
        row = self._row(request)
        device, host = self.tree.peek(row.tokens[: len(row.tokens) - 1], request.context)
        hit = self.lookup(request).tokens
        resident = max(hit, device + host)
        flying = max((self._shared(row, other) for other in self._rows.values()), default=0)
        return Reach(hit, resident, max(resident, flying))

    def admit(self, request: Request, num_new: int | None = None) -> Hit | None:
        row = self._row(request)
        assert row.lock is None, f"request {request.number} is running"
        match = self.tree.match(row.tokens[: self._most(row)], request.context)
        host, node = self._load_back(match)
        hit = Hit(match.device_tokens, host)
        new = len(row.tokens) - hit.tokens if num_new is None else num_new
        self.tree.lock(node)
        if not self._reserve(hit.tokens, new):
            self.tree.unlock(node)
            return None
        row.lock, row.in_tree, row.inserted = node, hit.tokens, 0
        row.published = hit.tokens
        row.computed, row.prefill = hit.tokens + new, len(row.tokens)
        self._rows[request.number] = row
        return hit

    def extend(self, number: int, num_new: int) -> bool:
        row = self._running(number)
        if not self._reserve(row.computed, num_new, decodes=row.computed >= row.prefill):
            return False
        row.computed += num_new
        return True

    def processed(self, number: int) -> None:
        self.make_room()
        row = self._running(number)
        # The next step may have begun before this one's result is there.
        end = min(row.computed, row.prefill)
        if end > row.published:
            self._insert(row, end, chunk=end < row.prefill, last=False)

    def generate(self, number: int, tokens: Sequence[int]) -> None:
        self._running(number).tokens += tokens

    def finish(self, number: int) -> None:
        self.make_room()
        row = self._running(number)
        self._insert(row, row.computed, chunk=False, last=True)
        self._release(row)
        del self._rows[number]

    def preempt(self, number: int) -> None:
        self.make_room()
        self._release(self._running(number))

    def forget(self, number: int) -> None:
        assert self._rows[number].lock is None, f"request {number} is running"
        del self._rows[number]

    def clear(self) -> bool:
        """SGLang empties its cache only while nothing runs (`flush_cache`)."""
        self.make_room()
        if any(row.lock is not None for row in self._rows.values()):
            return False
        self.new_step()
        device, host = self.tree.evictable, self.tree.host_cached
        self._evictions += [Eviction("device", device, "cleared")] if device else []
        self._evictions += [Eviction("host", host, "cleared")] if host else []
        self.free_tokens += device
        self.tree = self._empty_tree()
        return True

    def take_evictions(self) -> list[Eviction]:
        self.make_room()
        evictions, self._evictions = self._evictions, []
        return evictions

    def occupancy(self, tier: Tier = "device") -> Occupancy:
        if tier == "host":
            total, cached = self.settings.host_tokens, self.tree.host_cached
            return Occupancy("token", total, 0, cached, total - cached)
        # What the batch has reserved is used, also where it is still to be evicted for.
        free = max(self.free_tokens - self._owed, 0)
        cached = self.tree.evictable - max(self._owed - self.free_tokens, 0)
        return Occupancy("token", self._capacity, self._capacity - free - cached, cached, free)

    def check(self) -> None:
        self.tree.check()
        self.occupancy().check()
        self.occupancy("host").check()
        held = sum(
            self._paged(row.computed) - row.in_tree
            for row in self._rows.values()
            if row.lock is not None
        )
        in_use = self.free_tokens - self._owed + self.tree.evictable + self.tree.protected + held
        assert in_use == self._capacity, "tokens lost or counted twice"

    def tokens_of(self, request: Request) -> list[int]:
        """Its prompt, and what it has generated if it was preempted."""
        return self._row(request).tokens

    # ---- within

    def _row(self, request: Request) -> _Row:
        row = self._rows.get(request.number)
        return row if row is not None else _Row(request, list(request.tokens))

    def _running(self, number: int) -> _Row:
        row = self._rows[number]
        if row.lock is None:
            raise KeyError(number)
        return row

    def _most(self, row: _Row) -> int:
        """Tokens of it that may be matched."""
        return len(row.tokens) - 1 if row.request.reads_cache else 0

    def _shared(self, row: _Row, other: _Row) -> int:
        """What another, running request computes of this one's prompt."""
        if other.lock is None or other.request.context != row.request.context or other is row:
            return 0
        most = min(len(row.tokens) - 1, len(other.tokens))
        same = next((i for i in range(most) if row.tokens[i] != other.tokens[i]), most)
        return same - same % self.settings.page_size

    def _paged(self, num_tokens: int) -> int:
        return -(-num_tokens // self.settings.page_size) * self.settings.page_size

    def _reserve(self, computed: int, num_new: int, *, decodes: bool = False) -> bool:
        """Room for `num_new` tokens behind `computed`, evicted for when the batch begins."""
        needed = self._paged(computed + num_new) - self._paged(computed)
        if needed > self.free_tokens - self._owed + self.tree.evictable:
            return False
        self._owed += needed
        page = self.settings.page_size
        asked = 0 if decodes and page > 1 else num_new
        self._wanted += asked + page if page > 1 else asked
        return True

    def make_room(self) -> None:
        """The batch begins: evict for what it has reserved."""
        if not self._wanted:
            return
        self._evict(self._wanted - self.free_tokens)
        self.free_tokens -= self._owed
        self._owed = self._wanted = 0

    def _evict(self, num_tokens: int) -> None:
        if num_tokens <= 0:
            return
        for tokens, on_host in self.tree.evict(num_tokens):
            self.free_tokens += tokens
            self._evictions.append(Eviction("device", tokens, "capacity", moved=on_host))

    def _insert(self, row: _Row, end: int, *, chunk: bool, last: bool) -> None:
        request, tokens = row.request, row.tokens[:end]
        row.published = end
        counted_from = row.inserted if self.rules.counts_once else 0
        if chunk and not self.rules.counts_once:
            counted_from = len(tokens)
        context = request.context
        there, node = self.tree.insert(tokens, context, request.priority, counted_from)
        whole = len(tokens) - len(tokens) % self.settings.page_size
        row.inserted = max(row.inserted, whole)
        prompt = len(request.tokens) - len(request.tokens) % self.settings.page_size
        if self.rules.splits_prompts and (last or self.rules.counts_once) and 0 < prompt < whole:
            self.tree.insert(tokens[:prompt], context, request.priority + 1, prompt)
        self.free_tokens += max(there - row.in_tree, 0)
        if not self.tree.unified and (self.rules.counts_once or not last):
            node = self.tree.match(tokens, context).node
        assert row.lock is not None
        self.tree.lock(node)
        self.tree.unlock(row.lock)
        row.lock, row.in_tree = node, whole

    def _release(self, row: _Row) -> None:
        """Give back all that the tree does not hold, and the lock."""
        assert row.lock is not None
        self.free_tokens += self._paged(row.computed) - row.in_tree
        self.tree.unlock(row.lock)
        row.lock, row.computed, row.in_tree = None, 0, 0

    # ---- what its scheduler asks of it

    @property
    def room(self) -> int:
        """Tokens that are free or can be evicted, before what the batch has reserved."""
        return self.free_tokens + self.tree.evictable

    @property
    def room_when_empty(self) -> int:
        """Tokens of the worker, in whole pages."""
        return self._capacity

    def tried(self, request: Request) -> tuple[int, int]:
        """(what is hit, the room there is besides) when the scheduler tries the request, which
        makes what it finds recent."""
        row = self._row(request)
        match = self.tree.match(row.tokens[: self._most(row)], request.context)
        self.tree.lock(match.device_node)
        room = self.room
        self.tree.unlock(match.device_node)
        return match.device_tokens, room

    def touch(self, request: Request) -> None:
        """Make what the cache has of a waiting request recent."""
        self.tree.match(self._row(request).tokens, request.context)

    def evicts_to(self, num_tokens: int) -> bool:
        """Evict until so many tokens are free; whether they are."""
        self._evict(num_tokens - self.free_tokens)
        return self.free_tokens >= num_tokens

    # ---- the host

    def _back_up(self, node: Node) -> None:
        """Copy a node and its parents that have no copy yet, parents first, as far as there is
        room; they cannot leave the device before the copies are made."""
        chain = [node]
        while (above := chain[-1].parent) is not None and above.parent and not above.on_host:
            chain.append(above)
        for part in reversed(chain):
            missing = len(part.tokens) + self.tree.host_cached - self.settings.host_tokens
            if missing > 0 and sum(self._evict_host(missing)) < missing:
                return
            part.on_host = True
            self.tree.host_cached += len(part.tokens)
            self.tree.lock(part)
            self._copying.append(part)

    def _evict_host(self, num_tokens: int) -> list[int]:
        gone = self.tree.evict_host(num_tokens)
        self._evictions += [Eviction("host", tokens, "capacity") for tokens in gone]
        return gone

    def _load_back(self, match: Match) -> tuple[int, Node]:
        """(tokens loaded from the host, node that ends what is on the device then)."""
        tokens, node = match.host_tokens, match.node
        if tokens < max(1, self.settings.load_back_tokens):
            return 0, match.device_node
        length = len(node.tokens)
        node.host_locks += 1
        self.tree.lock(node)
        if tokens > self.free_tokens - self._owed:
            self._evict(tokens - (self.free_tokens - self._owed))
        fits = tokens <= self.free_tokens - self._owed
        self.tree.unlock(node)
        if not fits:
            self._unlock_host(node, length)
            return 0, match.device_node
        self.free_tokens -= tokens
        self.tree.load(node)
        self.tree.lock(node)
        self._loading.append((node, length))
        return tokens, node

    def _unlock_host(self, node: Node, length: int) -> None:
        """The lock was on a run of `length` tokens, which may have been split since."""
        while length:
            length -= len(node.tokens)
            node.host_locks -= 1
            self.tree.sort(node)
            assert node.parent is not None
            node = node.parent
