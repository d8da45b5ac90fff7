"""llama.cpp's server: slots that hold one sequence each, and prompts parked in host memory.

Rules (tools/server/server-context.cpp and server-task.cpp, release 11434), for models with plain
attention and without `--cache-reuse`:

- A request goes to the idle slot whose tokens share the largest part of its prompt, if that is more
  than `similarity` of the prompt; else to the idle slot that was used least recently (among equals
  the last). No idle slot: it waits.
- In the second case, or if the slot would lose more than half of its tokens, its tokens are saved
  to the host, and the saved prompt is taken that beats the slot in both its shared part of the
  prompt and of itself (if that is a quarter or more). What is taken leaves the host.
- The hit is the common prefix with the slot's tokens; of a prompt that is all there the last token
  is computed again. A request that does not read the cache computes all.
- Saving: not if a saved prompt begins with these tokens; saved prompts that these begin with go;
  then the oldest, until there is room. A prompt larger than all the room is not saved. Without a
  limit (`--cache-ram -1`) the oldest go once more tokens are saved than the context has.
- With one cache for all slots (`--kv-unified`) and a host, each request that starts has the idle
  slots saved and cleared.
- A request's tokens stay in its slot, generated ones too, all but the last.

Shares are compared as the server does, in single precision. Saved prompts are measured in tokens;
the server counts bytes, among them a few that belong to no token.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hitpath.core import SettingError
from hitpath.sim.models.contract import Eviction, Hit, Occupancy, Reach, Reason, Request, Tier

LEAST_KEPT = np.float32(0.25)
SAVED_BELOW = np.float32(0.5)


@dataclass(frozen=True, slots=True)
class LlamaSettings:
    """`context_tokens` is the whole cache (`-c`), `host_tokens` what `--cache-ram` can hold (0:
    none, None: no limit is set), `unified` and `clears_idle` as the server's log says."""

    num_slots: int
    context_tokens: int
    host_tokens: int | None = 0
    similarity: float = 0.1
    unified: bool = False
    clears_idle: bool = True

    def __post_init__(self) -> None:
        if self.num_slots < 1 or self.context_tokens < self.num_slots:
            raise SettingError("--capacity-tokens", "no token for each slot")

    @property
    def has_host(self) -> bool:
        return self.host_tokens is None or self.host_tokens > 0


@dataclass(slots=True)
class _Slot:
    """`used`: when it was last released, -1 never."""

    tokens: list[int] = field(default_factory=list)
    context: Hashable = None
    used: int = -1
    request: int | None = None


@dataclass(slots=True)
class _Job:
    request: Request
    tokens: list[int]
    slot: int | None = None
    computed: int = 0


class LlamaModel:
    """See `contract.EngineModel`. A slot is a worker of its own; this is all of them."""

    def __init__(self, settings: LlamaSettings) -> None:
        self.settings = settings
        self.slots = [_Slot() for _ in range(settings.num_slots)]
        self.saved: list[list[int]] = []
        self._jobs: dict[int, _Job] = {}
        self._evictions: list[Eviction] = []
        self._clock = 0

    # ---- the contract

    def new_step(self) -> None:
        """Slots know no steps."""

    def lookup(self, request: Request) -> Hit:
        job = self._job(request)
        choice = self._choose(job.tokens)
        if choice is None:
            return Hit()
        slot, update = choice
        found = self._best_saved(self.slots[slot].tokens, job.tokens) if update else None
        tokens = self.slots[slot].tokens if found is None else found
        reused = self._reused(job, tokens, self.slots[slot].context)
        return Hit(reused) if found is None else Hit(0, reused)

    def reach(self, request: Request) -> Reach:
        """The rungs on the slot that the request would go to."""
        hit = self.lookup(request).tokens
        job = self._job(request)
        choice = self._choose(job.tokens)
        if choice is None:
            return Reach(hit, hit, hit)
        slot = self.slots[choice[0]]
        most = max(len(job.tokens) - 1, 0)
        there = min(_common(slot.tokens, job.tokens), most) if self._reads(job, slot) else 0
        return Reach(hit, max(hit, there), max(hit, there))

    def admit(self, request: Request, num_new: int | None = None) -> Hit | None:
        job = self._job(request)
        assert job.slot is None, f"request {request.number} is running"
        choice = self._choose(job.tokens)
        if choice is None or len(job.tokens) > self._most_tokens:
            return None
        number, update = choice
        slot, loaded = self.slots[number], False
        if update:
            self._save(slot.tokens)
            best = self._best_saved(slot.tokens, job.tokens)
            if best is not None:
                self._dropped(slot.tokens, "replaced")
                self.saved.remove(best)
                slot.tokens, loaded = best, True
            self._trim(0)
        hit = self._reused(job, slot.tokens, slot.context)
        new = len(job.tokens) - hit if num_new is None else num_new
        if len(slot.tokens) > hit:
            self._lost(slot.tokens, len(slot.tokens) - hit)
        slot.tokens, slot.context = slot.tokens[:hit], request.context
        slot.request, job.slot, job.computed = request.number, number, hit
        self._jobs[request.number] = job
        if self.settings.clears_idle and self.settings.has_host:
            self._park_idle()
        if not self.extend(request.number, new):
            slot.request, job.slot, job.computed = None, None, 0
            if job.tokens == list(request.tokens):
                del self._jobs[request.number]
            return None
        return Hit(0, hit) if loaded else Hit(hit)

    def extend(self, number: int, num_new: int) -> bool:
        job = self._running(number)
        slot = self._slot(job)
        behind = job.computed + num_new
        if behind > self._most_tokens:
            return False
        while self.settings.unified and self._in_slots() + num_new > self.settings.context_tokens:
            idle = next((s for s in self.slots if s.request is None and s.tokens), None)
            if idle is None:
                return False
            self._clear(idle, "capacity")
        slot.tokens += job.tokens[job.computed : behind]
        job.computed = behind
        return True

    def processed(self, number: int) -> None:
        self._running(number)

    def generate(self, number: int, tokens: Sequence[int]) -> None:
        self._running(number).tokens += tokens

    def finish(self, number: int) -> None:
        self._release(self._running(number))
        del self._jobs[number]

    def preempt(self, number: int) -> None:
        """The server preempts nobody; a request that is cancelled leaves its tokens likewise."""
        self._release(self._running(number))

    def forget(self, number: int) -> None:
        assert self._jobs[number].slot is None, f"request {number} is running"
        del self._jobs[number]

    def clear(self) -> bool:
        if any(slot.request is not None for slot in self.slots):
            return False
        for slot in self.slots:
            self._clear(slot, "cleared")
        for tokens in self.saved:
            self._evictions.append(Eviction("host", len(tokens), "cleared"))
        self.saved.clear()
        return True

    def take_evictions(self) -> list[Eviction]:
        evictions, self._evictions = self._evictions, []
        return evictions

    def occupancy(self, tier: Tier = "device") -> Occupancy:
        if tier == "host":
            cached = sum(map(len, self.saved))
            total = max(cached, self._most_saved)
            return Occupancy("token", total, 0, cached, total - cached)
        total = self.settings.context_tokens
        used = sum(len(slot.tokens) for slot in self.slots if slot.request is not None)
        cached = self._in_slots() - used
        return Occupancy("token", total, used, cached, total - used - cached)

    def check(self) -> None:
        self.occupancy().check()
        self.occupancy("host").check()
        assert all(len(slot.tokens) <= self._most_tokens for slot in self.slots), "a slot too full"
        for number, job in self._jobs.items():
            if job.slot is not None:
                slot = self._slot(job)
                assert slot.request == number, "a slot of two requests"
                assert slot.tokens == job.tokens[: job.computed], "not the request's tokens"

    def slot_of(self, number: int) -> int:
        """The slot of a running request."""
        slot = self._running(number).slot
        assert slot is not None
        return slot

    # ---- within

    @property
    def _most_tokens(self) -> int:
        """The most of one slot."""
        shared = self.settings.unified
        return self.settings.context_tokens // (1 if shared else self.settings.num_slots)

    @property
    def _most_saved(self) -> int:
        """Tokens that the host keeps, once all that a request changes in it is done."""
        limit = self.settings.host_tokens
        return self.settings.context_tokens if limit is None else limit

    def _in_slots(self) -> int:
        return sum(len(slot.tokens) for slot in self.slots)

    def _job(self, request: Request) -> _Job:
        job = self._jobs.get(request.number)
        return job if job is not None else _Job(request, list(request.tokens))

    def _running(self, number: int) -> _Job:
        job = self._jobs[number]
        if job.slot is None:
            raise KeyError(number)
        return job

    def _slot(self, job: _Job) -> _Slot:
        assert job.slot is not None
        return self.slots[job.slot]

    def _reads(self, job: _Job, slot: _Slot) -> bool:
        return slot.context == job.request.context

    def _reused(self, job: _Job, tokens: list[int], context: Hashable) -> int:
        """What a slot of these tokens saves: nothing under another adapter."""
        if not job.request.reads_cache or context != job.request.context:
            return 0
        return min(_common(tokens, job.tokens), len(job.tokens) - 1)

    def _choose(self, tokens: list[int]) -> tuple[int, bool] | None:
        """(slot, whether its tokens are saved and better ones looked for); None: all are busy."""
        idle = [i for i, slot in enumerate(self.slots) if slot.request is None]
        best, chosen = np.float32(0), None
        for i in idle:
            share = _share(_common(self.slots[i].tokens, tokens), len(tokens))
            if share > best and share > np.float32(self.settings.similarity):
                best, chosen = share, i
        if chosen is not None and self.settings.similarity:
            kept = best * np.float32(len(tokens)) / np.float32(len(self.slots[chosen].tokens))
            return chosen, self.settings.has_host and bool(kept < SAVED_BELOW)
        if not idle:
            return None
        oldest = min(idle, key=lambda i: (self.slots[i].used, -i))
        return oldest, self.settings.has_host

    def _best_saved(self, held: list[int], tokens: list[int]) -> list[int] | None:
        """The saved prompt that beats what a slot holds."""
        same = _common(held, tokens)
        kept = _share(same, len(held)) if held else np.float32(-1)
        part, best = _share(same, len(tokens)), None
        for saved in self.saved:
            same = _common(saved, tokens)
            keeps, shares = _share(same, len(saved)), _share(same, len(tokens))
            if keeps >= LEAST_KEPT and kept < keeps and part < shares:
                kept, part, best = keeps, shares, saved
        return best

    def _save(self, tokens: list[int]) -> None:
        limit = self.settings.host_tokens
        if not tokens or any(_common(saved, tokens) == len(tokens) for saved in self.saved):
            return
        if limit is not None and len(tokens) > limit:
            return
        self.saved = [saved for saved in self.saved if _common(saved, tokens) < len(saved)]
        if limit is not None:
            self._trim(len(tokens))
        self.saved.append(list(tokens))

    def _trim(self, coming: int) -> None:
        while self.saved and sum(map(len, self.saved)) + coming > self._most_saved:
            self._evictions.append(Eviction("host", len(self.saved.pop(0)), "capacity"))

    def _park_idle(self) -> None:
        for slot in self.slots:
            if slot.request is None:
                self._save(slot.tokens)
                self._trim(0)
                if self.settings.unified:
                    self._clear(slot, "replaced")

    def _clear(self, slot: _Slot, reason: Reason) -> None:
        self._dropped(slot.tokens, reason)
        slot.tokens = []

    def _dropped(self, tokens: list[int], reason: Reason) -> None:
        if tokens:
            moved = any(_common(saved, tokens) == len(tokens) for saved in self.saved)
            self._evictions.append(Eviction("device", len(tokens), reason, moved))

    def _lost(self, tokens: list[int], num_tokens: int) -> None:
        moved = any(_common(saved, tokens) == len(tokens) for saved in self.saved)
        self._evictions.append(Eviction("device", num_tokens, "replaced", moved))

    def _release(self, job: _Job) -> None:
        slot = self._slot(job)
        slot.request, job.slot, job.computed = None, None, 0
        self._clock += 1
        slot.used = self._clock


def _common(a: list[int], b: list[int]) -> int:
    length = min(len(a), len(b))
    if a[:length] == b[:length]:
        return length
    return next(i for i in range(length) if a[i] != b[i])


def _share(part: int, whole: int) -> np.float32:
    return np.float32(part) / np.float32(whole)
