"""TensorRT-LLM's KV cache manager (V1), by its source as read: nothing of it was measured.

Rules (NVIDIA/TensorRT-LLM, cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp, evictionPolicy.cpp,
capacityScheduler.cpp, 2026 snapshots), for one attention window and beam width 1:

- Blocks of `tokens_per_block`. A prompt of L tokens is looked up to L - 1, whole blocks first; then
  the block that begins with the longest part of what is left is reused in part. So a hit may have
  any length. A partly reused block that is idle and has no children is taken over, and so leaves
  the tree; else it is copied. Without `partial_reuse`, or behind media, only whole blocks count.
- A context's blocks can be found when all its chunks are computed; generated tokens at the end of
  the request, with the partial last block, all but the last token. What is there already is kept.
- A follower whose first missing block is being computed by an earlier one waits (`waits`).
- The block taken next is the least recently released one of the lowest priority, of those that
  nobody uses and that have no children in the tree. A request's blocks are released last one first.

Not known from the source as read, and assumed: a block that loses its last child stands where it
was released itself; empty blocks go before all that hold anything.
"""

import heapq
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from hitpath.core import SettingError
from hitpath.sim.models.contract import Eviction, Hit, Occupancy, Reach, Request, Tier

DEFAULT_PRIORITY = 35


@dataclass(frozen=True, slots=True)
class TrtSettings:
    """`KvCacheConfig` as far as it matters to what is hit."""

    num_blocks: int
    tokens_per_block: int = 32
    partial_reuse: bool = True

    def __post_init__(self) -> None:
        if self.num_blocks < 1 or self.tokens_per_block < 1:
            raise SettingError("--capacity-tokens", "holds not one block")


@dataclass(slots=True, eq=False)
class _Block:
    """A block of the tree; `tokens` fewer than a whole block's only without children."""

    parent: "_Block | None"
    tokens: tuple[int, ...] = ()
    children: "dict[tuple[int, ...], _Block]" = field(default_factory=dict)
    users: int = 0
    priority: int = DEFAULT_PRIORITY
    released: int = 0


@dataclass(slots=True)
class _Sequence:
    """`path`: blocks of the tree in use; `own`: blocks that are not in the tree."""

    request: Request
    tokens: list[int]
    computed: int = 0
    context: int = 0
    path: list[_Block] = field(default_factory=list)
    own: int = 0
    stored: bool = False
    running: bool = False


class TrtModel:
    """See `contract.EngineModel`. `Request.priority`: retention priority, 0 for the default."""

    def __init__(self, settings: TrtSettings) -> None:
        self.settings = settings
        self.num_free = settings.num_blocks
        self._roots: dict[Hashable, _Block] = {}
        self._blocks: set[_Block] = set()
        self._sequences: dict[int, _Sequence] = {}
        self._evictions: list[Eviction] = []
        self._clock = 0
        self._serial = 0
        self._num_idle = 0
        self._candidates: list[tuple[int, int, int, _Block]] = []

    # ---- the contract

    def new_step(self) -> None:
        """Nothing depends on it."""

    def lookup(self, request: Request) -> Hit:
        sequence = self._sequence(request)
        path, part = self._match(sequence, len(sequence.tokens) - 1)
        return Hit(self._hit(path, part)) if request.reads_cache else Hit()

    def reach(self, request: Request) -> Reach:
        sequence = self._sequence(request)
        path, part = self._match(sequence, len(sequence.tokens) - 1)
        resident = self._hit(path, part)
        hit = resident if request.reads_cache else 0
        flying = max((self._shared(sequence, o) for o in self._sequences.values()), default=0)
        return Reach(hit, resident, max(resident, flying))

    def waits(self, request: Request) -> bool:
        """Whether its first missing block is being computed by a running request."""
        sequence, size = self._sequence(request), self.settings.tokens_per_block
        whole = len(self._match(sequence, len(sequence.tokens) - 1)[0]) * size
        return any(
            not other.stored and self._shared(sequence, other) >= whole + size
            for other in self._sequences.values()
        )

    def admit(self, request: Request, num_new: int | None = None) -> Hit | None:
        sequence = self._sequence(request)
        assert not sequence.running, f"request {request.number} is running"
        path, part = (
            ([], None)
            if not request.reads_cache
            else self._match(sequence, len(sequence.tokens) - 1)
        )
        hit, total = self._hit(path, part), len(sequence.tokens)
        behind = total if num_new is None else hit + num_new
        needed = self._num_blocks(behind) - len(path)
        for block in path:
            self._use(block)
        taken = part is not None and part[0].users == 0 and not part[0].children
        if part is not None and taken:
            self._remove(part[0])  # taken over: it is one of those needed
            self.num_free += 1
        if needed > self.num_free + self._num_idle:
            for block in path:
                self._leave(block)
            if part is not None and taken:
                self._insert_block(part[0])
            return None
        self._take(needed)
        sequence.path, sequence.own = list(path), needed
        sequence.computed, sequence.context = behind, total
        sequence.stored, sequence.running = False, True
        self._sequences[request.number] = sequence
        return Hit(hit)

    def extend(self, number: int, num_new: int) -> bool:
        sequence = self._running(number)
        behind = sequence.computed + num_new
        needed = self._num_blocks(behind) - self._num_blocks(sequence.computed)
        if needed > self.num_free + self._num_idle:
            return False
        self._take(needed)
        sequence.own += needed
        sequence.computed = behind
        return True

    def processed(self, number: int) -> None:
        sequence = self._running(number)
        if not sequence.stored and sequence.computed >= sequence.context:
            self._store(sequence, (sequence.context - 1) // self.settings.tokens_per_block)
            sequence.stored = True

    def generate(self, number: int, tokens: Sequence[int]) -> None:
        self._running(number).tokens += tokens

    def finish(self, number: int) -> None:
        sequence = self._running(number)
        self._store(sequence, -(-sequence.computed // self.settings.tokens_per_block))
        self._release(sequence)
        del self._sequences[number]

    def preempt(self, number: int) -> None:
        self._release(self._running(number))

    def forget(self, number: int) -> None:
        assert not self._sequences[number].running, f"request {number} is running"
        del self._sequences[number]

    def clear(self) -> bool:
        if any(sequence.running for sequence in self._sequences.values()):
            return False
        tokens = sum(len(block.tokens) for block in self._blocks)
        self._evictions += [Eviction("device", tokens, "cleared")] if tokens else []
        self.num_free += len(self._blocks)
        self._blocks.clear()
        self._roots.clear()
        self._candidates.clear()
        self._num_idle = 0
        return True

    def take_evictions(self) -> list[Eviction]:
        evictions, self._evictions = self._evictions, []
        return evictions

    def occupancy(self, tier: Tier = "device") -> Occupancy:
        if tier == "host":
            return Occupancy("block", 0, 0, 0, 0)
        total, cached = self.settings.num_blocks, self._num_idle
        return Occupancy("block", total, total - cached - self.num_free, cached, self.num_free)

    def check(self) -> None:
        self.occupancy().check()
        users: dict[_Block, int] = dict.fromkeys(self._blocks, 0)
        own = 0
        for sequence in self._sequences.values():
            if sequence.running:
                own += sequence.own
                for block in sequence.path:
                    users[block] += 1
        assert self._num_idle == sum(not block.users for block in self._blocks), "idle blocks"
        assert all(block.users == count for block, count in users.items()), "users"
        assert self.num_free + len(self._blocks) + own == self.settings.num_blocks, "blocks lost"
        for block in self._blocks:
            assert block.parent is not None
            assert block.parent.children[block.tokens] is block, "not its parent's child"
            whole = len(block.tokens) == self.settings.tokens_per_block
            assert whole or not block.children, "a partial block with children"

    # ---- within

    def _sequence(self, request: Request) -> _Sequence:
        known = self._sequences.get(request.number)
        return known if known is not None else _Sequence(request, list(request.tokens))

    def _running(self, number: int) -> _Sequence:
        sequence = self._sequences[number]
        if not sequence.running:
            raise KeyError(number)
        return sequence

    def _num_blocks(self, num_tokens: int) -> int:
        return -(-num_tokens // self.settings.tokens_per_block)

    def _context(self, request: Request) -> Hashable:
        """Media keys enter with the whole request here: coarser than the engine, never wrong."""
        return request.context, request.media

    def _match(
        self, sequence: _Sequence, most: int
    ) -> tuple[list[_Block], tuple[_Block, int] | None]:
        """(whole blocks found, block found in part and how many of its tokens)."""
        size, path = self.settings.tokens_per_block, list[_Block]()
        at = self._roots.get(self._context(sequence.request))
        while at is not None:
            first = len(path) * size
            wanted = tuple(sequence.tokens[first : min(first + size, most)])
            child = at.children.get(wanted)
            if child is not None and len(wanted) == size:
                path.append(child)
                at = child
                continue
            if not self.settings.partial_reuse or sequence.request.media or not wanted:
                break
            best = max(at.children.values(), key=lambda b: _same(b.tokens, wanted), default=None)
            if best is not None and _same(best.tokens, wanted):
                return path, (best, _same(best.tokens, wanted))
            break
        return path, None

    def _hit(self, path: list[_Block], part: tuple[_Block, int] | None) -> int:
        return len(path) * self.settings.tokens_per_block + (part[1] if part else 0)

    def _shared(self, sequence: _Sequence, other: _Sequence) -> int:
        """Tokens, in whole blocks, of this prompt that a running request computes."""
        if not other.running or other is sequence:
            return 0
        if self._context(other.request) != self._context(sequence.request):
            return 0
        most = min(len(sequence.tokens) - 1, other.context)
        same = _same(tuple(sequence.tokens[:most]), tuple(other.tokens[:most]))
        return same - same % self.settings.tokens_per_block

    def _use(self, block: _Block) -> None:
        self._num_idle -= not block.users
        block.users += 1

    def _leave(self, block: _Block) -> None:
        """Blocks that nobody uses can all go, one after the other: nobody is below them either."""
        block.users -= 1
        self._num_idle += not block.users
        self._consider(block)

    def _consider(self, block: _Block) -> None:
        if not block.users and not block.children and block.parent is not None:
            self._serial += 1
            entry = (block.priority, block.released, self._serial, block)
            heapq.heappush(self._candidates, entry)

    def _take(self, num_blocks: int) -> None:
        while self.num_free < num_blocks:
            _, released, _, block = heapq.heappop(self._candidates)
            stale = block not in self._blocks or block.users or block.children
            if stale or released != block.released:
                continue
            self._remove(block)
            self.num_free += 1
            self._evictions.append(Eviction("device", len(block.tokens), "capacity"))
        self.num_free -= num_blocks

    def _remove(self, block: _Block) -> None:
        assert block.parent is not None
        del block.parent.children[block.tokens]
        self._blocks.discard(block)
        self._num_idle -= 1
        self._consider(block.parent)

    def _insert_block(self, block: _Block) -> None:
        assert block.parent is not None
        block.parent.children[block.tokens] = block
        self._blocks.add(block)
        self.num_free -= 1
        self._num_idle += 1
        self._consider(block)

    def _store(self, sequence: _Sequence, num_blocks: int) -> None:
        """Put the first blocks of what is computed into the tree, own ones where none is there."""
        size, context = self.settings.tokens_per_block, self._context(sequence.request)
        at = sequence.path[-1] if sequence.path else self._roots.setdefault(context, _Block(None))
        for i in range(len(sequence.path), num_blocks):
            tokens = tuple(sequence.tokens[i * size : min((i + 1) * size, sequence.computed)])
            child = at.children.get(tokens)
            if child is None:
                child = at.children[tokens] = _Block(at, tokens)
                child.priority = sequence.request.priority or DEFAULT_PRIORITY
                self._blocks.add(child)
                self._num_idle += 1
                sequence.own -= 1
            else:
                sequence.own -= 1  # its own copy is free at once
                self.num_free += 1
            self._use(child)
            sequence.path.append(child)
            at = child

    def _release(self, sequence: _Sequence) -> None:
        for block in reversed(sequence.path):
            block.released = self._clock
            self._clock += 1
            self._leave(block)
        self.num_free += sequence.own
        sequence.path, sequence.own, sequence.computed = [], 0, 0
        sequence.running = False


def _same(a: Sequence[int], b: Sequence[int]) -> int:
    length = min(len(a), len(b))
    return next((i for i in range(length) if a[i] != b[i]), length)
