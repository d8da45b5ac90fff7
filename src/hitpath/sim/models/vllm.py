"""vLLM's KV cache manager (V1 engine), to the block: what is hit, taken, kept and dropped.

Rules (vllm/v1/core/kv_cache_manager.py, wheels named in docs/exactness.md):

- A prompt of L tokens is looked up to L - 1: its last token is always computed. A preempted
  request is looked up with all the tokens that it has by then.
- Room is taken chunk by chunk, as the scheduler asks; blocks that become full get their name at
  once, before they are computed. A request of the same step finds them.
- An admission fails as a whole if the prompt (from 0.19 on all of it, not only its first chunk)
  does not fit beside `watermark` blocks.
- Blocks filled by generated tokens get names too, all but the one of the last token.
- Two requests that compute one block at a time keep a copy each.
- At the end (or a preemption) blocks go back tail first; what they hold stays until it is taken.

Fit for one worker and one in-flight batch: no KV connector, no pipeline parallelism.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hitpath.sim.models.chains import Chains, Prefix
from hitpath.sim.models.contract import Eviction, Hit, Occupancy, Reach, Request, Tier
from hitpath.sim.models.vllm_groups import FullGroup, Retention
from hitpath.sim.models.vllm_hits import Found, find_hit
from hitpath.sim.models.vllm_layers import StateGroup, WindowGroup
from hitpath.sim.models.vllm_pool import BlockPool
from hitpath.sim.models.vllm_rules import LayerGroup, VllmSettings, rules_of


@dataclass(slots=True)
class _Sequence:
    """A request with what it has by now. `computed`: tokens that have room, those hit included."""

    request: Request
    tokens: list[int]
    prefixes: list[Prefix] = field(default_factory=list)
    computed: int = 0
    junction: int = 0
    running: bool = False


class VllmModel:
    """See `contract.EngineModel`."""

    def __init__(self, settings: VllmSettings) -> None:
        self.settings = settings
        self.rules = rules_of(settings.version)
        self.pool = BlockPool(settings.num_blocks, unnamed_first=self.rules.unnamed_first)
        self.groups = [self._group(i, group) for i, group in enumerate(settings.groups)]
        self._chains = Chains(settings.hash_size)
        self._sequences: dict[int, _Sequence] = {}
        self._in_flight: Counter[Prefix] = Counter()
        self._evictions: list[Eviction] = []

    def _group(self, number: int, group: LayerGroup) -> FullGroup:
        size, hash_size = group.block_size, self.settings.hash_size
        if group.kind == "window":
            most = self.settings.max_in_flight_tokens or self.settings.max_model_tokens
            made: FullGroup = WindowGroup(number, size, hash_size, self.pool, group.window, most)
        elif group.kind == "state":
            made = StateGroup(number, size, hash_size, self.pool)
        else:
            made = FullGroup(number, size, hash_size, self.pool)
        made.drops = self.settings.drops_last_block
        return made

    # ---- the contract

    def new_step(self) -> None:
        for group in self.groups:
            group.new_step()

    def lookup(self, request: Request) -> Hit:
        return Hit(self._find(self._sequence(request)).tokens)

    def reach(self, request: Request) -> Reach:
        sequence = self._sequence(request)
        hit = self._find(sequence).tokens
        first = next((g for g in self.groups if type(g) is FullGroup), self.groups[0])
        units, resident = first.block_size // self.settings.hash_size, 0
        prefixes = sequence.prefixes[units - 1 :: units]
        while resident < len(prefixes) and self.pool.find(prefixes[resident], first.number):
            resident += 1
        coming = resident
        while coming < len(prefixes) and (
            self._in_flight[prefixes[coming]] or self.pool.find(prefixes[coming], first.number)
        ):
            coming += 1
        rungs = (self._cap(n * first.block_size, sequence) for n in (resident, coming))
        resident_tokens, in_flight = rungs
        resident_tokens = max(hit, resident_tokens)
        return Reach(hit, resident_tokens, max(resident_tokens, in_flight))

    def admit(
        self, request: Request, num_new: int | None = None, *, alone: bool = True
    ) -> Hit | None:
        """As the contract says; `alone`: no other request runs (no watermark then)."""
        sequence = self._sequence(request)
        assert not sequence.running, f"request {request.number} is running"
        found = self._find(sequence)
        sequence.junction = found.junction
        new = len(sequence.tokens) - found.tokens if num_new is None else num_new
        if not self._allocate(sequence, new, found, alone):
            return None
        self._sequences[request.number] = sequence
        sequence.running = True
        self._in_flight.update(sequence.prefixes)
        return Hit(found.tokens)

    def extend(self, number: int, num_new: int) -> bool:
        return self._allocate(self._running(number), num_new, None, True)

    def processed(self, number: int) -> None:
        self._running(number)  # names are given before: nothing more to do

    def generate(self, number: int, tokens: Sequence[int]) -> None:
        sequence = self._running(number)
        sequence.tokens += tokens
        request = sequence.request
        known = len(sequence.prefixes)
        self._chains.extend(sequence.prefixes, sequence.tokens, request.context, request.media)
        self._in_flight.update(sequence.prefixes[known:])

    def finish(self, number: int) -> None:
        self._release(self._running(number))
        del self._sequences[number]

    def preempt(self, number: int) -> None:
        sequence = self._running(number)
        self._release(sequence)
        sequence.running, sequence.computed = False, 0

    def forget(self, number: int) -> None:
        assert not self._sequences[number].running, f"request {number} is running"
        del self._sequences[number]

    def clear(self) -> bool:
        names = self.pool.num_named_free
        cleared = self.pool.forget_all()
        if cleared and names:
            self._collect()
            tokens = names * self.groups[0].block_size
            self._evictions.append(Eviction("device", tokens, "cleared"))
        return cleared

    def take_evictions(self) -> list[Eviction]:
        self._collect()
        evictions, self._evictions = self._evictions, []
        return evictions

    def occupancy(self, tier: Tier = "device") -> Occupancy:
        if tier != "device":
            return Occupancy("block", 0, 0, 0, 0)
        pool, total = self.pool, self.pool.num_blocks - 1
        free = pool.num_free - pool.num_named_free
        return Occupancy("block", total, total - pool.num_free, pool.num_named_free, free)

    def check(self) -> None:
        self.pool.check(table for group in self.groups for table in group.tables.values())
        running = {n for n, sequence in self._sequences.items() if sequence.running}
        for group in self.groups:
            assert set(group.tables) <= running, "a table of a request that does not run"
        self.occupancy().check()

    def tried(self, request: Request) -> tuple[Hit, int]:
        """The hit, and the junction: the end of a prefix that was seen to be shared but that some
        group of layers has not kept (0: none). An admission in this step keeps it."""
        found = self._find(self._sequence(request))
        return Hit(found.tokens), found.junction

    # ---- within

    def _sequence(self, request: Request) -> _Sequence:
        """Of a request that was admitted before, else a new one that nobody knows yet."""
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

    def _find(self, sequence: _Sequence) -> Found:
        if not sequence.request.reads_cache:
            return Found(tuple([] for _ in self.groups), 0, 0)
        most = len(sequence.tokens) - 1
        ahead = len(sequence.prefixes) * self.settings.hash_size if self.rules.looks_ahead else most
        return find_hit(self.groups, sequence.prefixes, most, ahead, self.settings.alignment)

    def _cap(self, match: int, sequence: _Sequence) -> int:
        most = min(match, len(sequence.tokens) - 1)
        return most // self.settings.alignment * self.settings.alignment

    def _allocate(
        self, sequence: _Sequence, num_new: int, found: Found | None, alone: bool
    ) -> bool:
        """Room for `num_new` tokens behind what has some. `found`: at an admission, its hit."""
        number, settings = sequence.request.number, self.settings
        computed = sequence.computed + (found.tokens if found else 0)
        hits: tuple[Sequence[int], ...] = found.blocks if found else tuple([] for _ in self.groups)
        watermark = 0
        if found and not alone:
            watermark = int(settings.watermark_frac * settings.num_blocks)
        if found and settings.reserves_whole_prompt:
            whole = min(len(sequence.tokens), settings.max_model_tokens)
            if (
                self._needed(number, whole, whole, hits, computed, True) + watermark
                > self.pool.num_free
            ):
                return False
        behind = computed + num_new
        slots = min(behind + settings.num_lookahead, settings.max_model_tokens)
        for group in self.groups:
            group.drop_skipped(number, computed)
        if (
            self._needed(number, slots, behind, hits, computed, False) + watermark
            > self.pool.num_free
        ):
            return False
        if any(hits):
            for group, hit in zip(self.groups, hits, strict=True):
                group.adopt(number, hit, computed)
        for group in self.groups:
            group.grow(number, behind if isinstance(group, StateGroup) else slots)
        sequence.computed = behind
        self._name(sequence)
        return True

    def _needed(
        self,
        number: int,
        slots: int,
        behind: int,
        hits: Sequence[Sequence[int]],
        computed: int,
        whole: bool,
    ) -> int:
        needed = 0
        for group, hit in zip(self.groups, hits, strict=True):
            room = behind if isinstance(group, StateGroup) else slots
            needed += group.needed(number, room, hit, computed, whole)
        return needed

    def _name(self, sequence: _Sequence) -> None:
        """Give names up to what is computed; behind several groups only up to where a hit can
        end, and for a speculative group one block more, which it gives back."""
        number = sequence.request.number
        certain = min(sequence.computed, len(sequence.tokens))
        retention = self._retention(sequence)
        for group in self.groups:
            most = certain
            if len(self.groups) > 1:
                most -= most % self.settings.alignment
                if group.drops and self.rules.keeps_dropped and most:
                    most = min(certain, most + group.block_size)
            group.name(number, sequence.prefixes, most, retention)

    def _retention(self, sequence: _Sequence) -> Retention:
        """What a resend of the prompt, or one that goes on from it, can ask for, and the shared
        prefix that was seen at the admission."""
        prompt, step = len(sequence.request.tokens), self.settings.alignment
        if self.settings.drops_last_block:
            ends = ((prompt - 1) // step * step, prompt // step * step)
            boundaries = {max(end - step, 0) for end in ends}
            state = max(prompt // self.settings.hash_size - 1, 0) * self.settings.hash_size
        else:
            boundaries = {prompt - 1}
            state = (prompt - 1) // self.settings.hash_size * self.settings.hash_size
        if sequence.junction:
            boundaries.add(sequence.junction)
        if not self.rules.renames_state:
            state = 0
        tail = 0
        if self.rules.names_tails:
            whole = self.settings.drops_last_block or not self.rules.tail_before_last
            tail = prompt if whole else prompt - 1
            tail -= tail % self.settings.hash_size
        ahead = int(self.settings.drops_last_block and self.rules.keeps_dropped)
        return Retention(step, self.settings.interval, tuple(boundaries), state, tail, ahead)

    def _release(self, sequence: _Sequence) -> None:
        for group in self.groups:
            self.pool.give_back(reversed(group.release(sequence.request.number)))
        for prefix in sequence.prefixes:
            self._in_flight[prefix] -= 1
            if not self._in_flight[prefix]:
                del self._in_flight[prefix]

    def _collect(self) -> None:
        """Names that blocks lost since the last time, as evictions."""
        sizes = [group.block_size for group in self.groups]
        for _, group in self.pool.evicted:
            if group >= 0:  # else a tail, which nobody could have hit
                self._evictions.append(Eviction("device", sizes[group], "capacity"))
        self.pool.evicted.clear()
