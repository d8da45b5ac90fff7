"""What runs in the next step: a budget of tokens, decodes first, then prompts in chunks.

Running sequences are kept in their order of admission, waiting ones in their order of arrival (a
preempted one keeps its number, so it stands before those that came later). A step takes one token
of every decoding sequence, then chunks of prompts under way, then admits. A sequence that finds no
room to grow preempts the one admitted last, which gives back its blocks and starts over: most of
what it had computed is then found in the cache.
"""

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass

from hitpath.engine.cache import PrefixCache
from hitpath.engine.events import Admitted, Observe, Preempted
from hitpath.engine.sequence import Phase, Sequence
from hitpath.engine.settings import EngineSettings
from hitpath.engine.twins import will_be_stored

MOST_LOOKED_AT = 128
"""So many waiting requests are considered in a step, whatever the length of the queue."""


@dataclass(frozen=True, slots=True)
class Work:
    """A sequence computes its next `num_new` tokens in this step."""

    sequence: Sequence
    num_new: int


@dataclass(slots=True)
class Admissions:
    """Sums over first admissions, so that a preemption counts no prompt twice."""

    requests: int = 0
    prompt_tokens: int = 0
    hit_tokens: int = 0


class Scheduler:
    """Waiting and running sequences. Not threadsafe; every method is short of a forward pass."""

    def __init__(
        self,
        settings: EngineSettings,
        cache: PrefixCache,
        clock: Callable[[], float],
        observe: Observe,
    ) -> None:
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self.num_preemptions = 0
        self.admissions = Admissions()
        self._settings = settings
        self._cache = cache
        self._clock = clock
        self._observe = observe

    def add(self, sequence: Sequence) -> None:
        """A sequence in WAITING joins the queue."""
        insort(self.waiting, sequence, key=lambda waiting: waiting.order)

    def drop(self, sequence: Sequence) -> None:
        """It ends, wherever it stands; its blocks are free at once."""
        if sequence.phase is Phase.WAITING:
            self.waiting.remove(sequence)
        else:
            self.running.remove(sequence)
            self._cache.release(sequence)
        sequence.phase = Phase.FINISHED

    def plan(self) -> list[Work]:
        """The next step; empty only if nothing runs or waits. Blocks for it are in the tables."""
        work = self._decodes()
        budget = self._settings.max_batch_tokens - len(work)
        for sequence in self.running:
            if sequence.phase is Phase.PREFILL:
                num_new = self._chunk(sequence, budget, work)
                if num_new:
                    work.append(Work(sequence, num_new))
                    budget -= num_new
        self._admit_waiting(work, budget)
        return work

    # ---- decodes

    def _decodes(self) -> list[Work]:
        work = []
        for sequence in list(self.running):
            if sequence.phase is Phase.DECODE and self._make_room(sequence):
                work.append(Work(sequence, 1))
        return work

    def _make_room(self, sequence: Sequence) -> bool:
        """False where it was the last one running, and so preempted itself."""
        while not self._cache.grow(sequence):
            last = self.running[-1]
            self._preempt(last)
            if last is sequence:
                return False
        return True

    def _preempt(self, sequence: Sequence) -> None:
        self.running.remove(sequence)
        self._observe(Preempted(*sequence.name, sequence.num_computed))
        self._cache.release(sequence)
        sequence.phase = Phase.WAITING
        self.num_preemptions += 1
        self.add(sequence)

    # ---- prompts

    def _chunk(self, sequence: Sequence, budget: int, work: list[Work]) -> int:
        """How many tokens of a prompt go into this step; 0: none."""
        if self._settings.chunked_prefill:
            return max(0, min(sequence.num_left, budget))
        alone = all(item.sequence.phase is Phase.DECODE for item in work)
        return sequence.num_left if alone or sequence.num_left <= budget else 0

    def _admit_waiting(self, work: list[Work], budget: int) -> None:
        now = self._clock()
        for sequence in self._in_order(now):
            if len(self.running) >= self._settings.max_running:
                return
            if self._computed_by_another(sequence, now):
                continue
            if not self._admit(sequence, work, budget):
                return
            budget -= work[-1].num_new

    def _in_order(self, now: float) -> list[Sequence]:
        first = self.waiting[:MOST_LOOKED_AT]
        if self._settings.admission == "fcfs":
            return first

        def rank(sequence: Sequence) -> tuple[bool, float, int]:
            if self._is_old(sequence, now):
                return False, 0.0, sequence.order
            found = len(self._cache.lookup(sequence)) * self._cache.block_size
            return True, -found / sequence.num_tokens, sequence.order

        return sorted(first, key=rank)

    def _is_old(self, sequence: Sequence, now: float) -> bool:
        return now - sequence.clocks.arrival_s >= self._settings.max_wait_s

    def _computed_by_another(self, sequence: Sequence, now: float) -> bool:
        """Whether waiting a few steps turns computing into a hit. Choices of one request always
        wait for the first of them, others with `wait_for_twin`; nobody waits for long."""
        if not self._settings.prefix_cache or self._is_old(sequence, now):
            return False
        return any(
            will_be_stored(sequence, other, self._cache)
            for other in self.running
            if other.phase is Phase.PREFILL
            and (self._settings.wait_for_twin or other.request is sequence.request)
        )

    def _admit(self, sequence: Sequence, work: list[Work], budget: int) -> bool:
        """Give it blocks and its first chunk; False, and nothing changed, where it does not fit."""
        started = self._clock()
        found = self._cache.lookup(sequence)
        cached = len(found) * self._cache.block_size
        sequence.num_computed = cached
        num_new = self._chunk(sequence, budget, work)
        sequence.num_computed = 0
        if not num_new or not self._cache.admit(sequence, found):
            return False
        self.waiting.remove(sequence)
        self.running.append(sequence)
        sequence.phase = Phase.PREFILL
        self._note_admission(sequence, cached, started)
        work.append(Work(sequence, num_new))
        return True

    def _note_admission(self, sequence: Sequence, cached: int, started: float) -> None:
        now, clocks = self._clock(), sequence.clocks
        resumed = clocks.admitted_s is not None
        if not resumed:
            sequence.cached_tokens = cached
            self.admissions.requests += 1
            self.admissions.prompt_tokens += sequence.num_prompt
            self.admissions.hit_tokens += cached
            clocks.lookup_s, clocks.admitted_s = now - started, now
        self._observe(
            Admitted(
                *sequence.name,
                prompt_tokens=sequence.num_prompt,
                cached_tokens=cached,
                queue_s=started - clocks.arrival_s,
                lookup_s=now - started,
                resumed=resumed,
            )
        )
