"""vLLM's scheduler around its cache: which requests get how many tokens in each engine step.

Rules (vllm/v1/core/sched/scheduler.py, one batch in flight, no KV connector, no drafts):

1. Running requests in their order, each with what it has left, within the step's token budget.
   Where one finds no room, the last of the running (policy "priority": the least urgent, of these
   the latest) is preempted: its blocks go back, it goes to the front of the waiting.
2. If none was preempted, waiting requests in their order: looked up when they are tried, so that a
   hit can change while they wait. The first that finds no room ends the step's admissions.
3. State layers cut a prefill chunk where a state can be kept: at a block's edge, at the last one
   that a resend can hit, and at a shared prefix that was seen to be shared.

The counters are those of `vllm:prefix_cache_queries` and `_hits`: tokens of a request, counted at
its admission and not again after a preemption (before 0.28: each time that it is tried).
"""

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from hitpath.core import SettingError
from hitpath.sim.models.contract import Hit, Request
from hitpath.sim.models.vllm import VllmModel
from hitpath.sim.models.vllm_rules import VllmSettings

Policy = Literal["fcfs", "priority"]


@dataclass(frozen=True, slots=True)
class StepSettings:
    """`max_tokens`: `max_num_batched_tokens`; `max_running`: `max_num_seqs`. `long_prefill_tokens`:
    the most of one request in a step while others are there, 0 for no limit."""

    max_tokens: int = 2048
    max_running: int = 256
    policy: Policy = "fcfs"
    long_prefill_tokens: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.max_running < 1 or self.long_prefill_tokens < 0:
            raise SettingError("engine steps", f"{self} cannot run a request")


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step. `scheduled`: tokens of each request, in order. `admitted`: hits of those
    that began (or began again) in it. `preempted`: those that had to give up their room."""

    scheduled: Mapping[int, int]
    admitted: Mapping[int, Hit]
    preempted: Sequence[int]


@dataclass(slots=True, order=True)
class _Job:
    """Ordered by urgency: priority, then arrival."""

    priority: int
    arrival: int
    request: Request = field(compare=False)
    max_output: int = field(compare=False)
    num_tokens: int = field(compare=False)
    computed: int = field(default=0, compare=False)
    num_preemptions: int = field(default=0, compare=False)
    junction: int = field(default=0, compare=False)

    @property
    def number(self) -> int:
        return self.request.number

    @property
    def num_prompt(self) -> int:
        return len(self.request.tokens)


@dataclass(slots=True)
class Counters:
    """Tokens looked up and hit, as the engine counts them."""

    queries: int = 0
    hits: int = 0


class VllmScheduler:
    """A worker: a cache, requests that run and requests that wait."""

    def __init__(self, settings: VllmSettings, steps: StepSettings) -> None:
        if settings.max_in_flight_tokens is None:
            settings = replace(settings, max_in_flight_tokens=steps.max_tokens)
        self.model = VllmModel(settings)
        self.counters = Counters()
        self.running: list[_Job] = []
        self._steps = steps
        self._waiting = _Waiting(steps.policy)
        self._state_block = next(
            (settings.alignment for group in settings.groups if group.kind == "state"), 0
        )
        self._arrivals = 0
        if self._state_block and not self.model.rules.cuts_at_junctions:
            cause = f"the steps of state layers are not modelled for vLLM {settings.version}"
            raise SettingError("layer groups", cause)

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    def submit(self, request: Request, max_output: int, priority: int = 0) -> None:
        """A request arrives. Of equal `priority` (lower is more urgent) the first comes first."""
        job = _Job(priority, self._arrivals, request, max_output, len(request.tokens))
        self._arrivals += 1
        self._waiting.add(job)

    def schedule(self) -> Step:
        """Begin a step: take room for the tokens that it computes."""
        self.model.new_step()
        crowd = len(self.running) + len(self._waiting)
        batch = _Batch(self._steps.max_tokens, self._steps.long_prefill_tokens if crowd > 1 else 0)
        self._schedule_running(batch)
        if not batch.preempted:
            self._admit_waiting(batch)
        for job in self.running:
            job.computed += batch.scheduled.get(job.number, 0)
        return Step(batch.scheduled, batch.admitted, batch.preempted)

    def update(self, step: Step, sampled: Mapping[int, Sequence[int]]) -> list[int]:
        """The step's result: `sampled` has the tokens of each request that has got to its end.
        Returns those that finished: they reached `max_output` tokens."""
        finished = []
        for job in self.running:
            if job.number not in step.scheduled:
                continue
            self.model.processed(job.number)
            tokens = sampled.get(job.number, ())
            if tokens:
                self.model.generate(job.number, tokens)
                job.num_tokens += len(tokens)
            longest = self.model.settings.max_model_tokens
            if tokens and (
                job.num_tokens - job.num_prompt >= job.max_output or job.num_tokens >= longest
            ):
                self.model.finish(job.number)
                finished.append(job.number)
        self.running = [job for job in self.running if job.number not in finished]
        return finished

    def due(self, step: Step) -> list[int]:
        """The requests of the step that get a token: nothing of them is left to compute."""
        return [
            job.number
            for job in self.running
            if job.number in step.scheduled and job.computed == job.num_tokens
        ]

    # ---- within

    def _schedule_running(self, batch: "_Batch") -> None:
        i = 0
        while i < len(self.running) and batch.budget > 0:
            job = self.running[i]
            num_new = batch.chunk(job.num_tokens - job.computed)
            num_new = min(num_new, self.model.settings.max_model_tokens - job.computed - 1)
            num_new = self._cut(job, job.computed, num_new)
            if num_new <= 0:
                i += 1
                continue
            while not (fits := self.model.extend(job.number, num_new)):
                victim = max(self.running) if self._steps.policy == "priority" else self.running[-1]
                at = self.running.index(victim)
                del self.running[at]
                i -= at < i
                self._preempt(victim, batch)
                if victim is job:
                    break
            if not fits:
                break
            batch.add(job, num_new)
            i += 1

    def _preempt(self, victim: _Job, batch: "_Batch") -> None:
        batch.budget += batch.scheduled.pop(victim.number, 0)
        self.model.preempt(victim.number)
        victim.computed = 0
        victim.num_preemptions += 1
        self._waiting.add_first(victim)
        batch.preempted.append(victim.number)

    def _admit_waiting(self, batch: "_Batch") -> None:
        while (
            batch.budget > 0 and len(self._waiting) and len(self.running) < self._steps.max_running
        ):
            job = self._waiting.first()
            hit, job.junction = self.model.tried(job.request)
            if self.model.rules.counts_every_try:
                self._count(job, hit)
            num_new = batch.chunk(job.num_tokens - hit.tokens)
            num_new = self._cut(job, hit.tokens, num_new)
            if num_new <= 0:
                break
            if self.model.admit(job.request, num_new, alone=not self.running) is None:
                break
            if not self.model.rules.counts_every_try:
                self._count(job, hit)
            self._waiting.pop()
            self.running.append(job)
            job.computed = hit.tokens
            batch.admitted[job.number] = hit
            batch.add(job, num_new)

    def _count(self, job: _Job, hit: Hit) -> None:
        if job.request.reads_cache and not job.num_preemptions:
            self.counters.queries += job.num_tokens
            self.counters.hits += hit.tokens

    def _cut(self, job: _Job, start: int, num_new: int) -> int:
        """Where a chunk of a model with state layers has to end."""
        block, end = self._state_block, start + num_new
        prefill_end = max(job.num_prompt, job.num_tokens - 1)
        if not block or start >= prefill_end:
            return num_new
        if end < prefill_end:
            edge = end // block * block
            most = self._steps.max_tokens
            if self._steps.long_prefill_tokens:
                most = min(most, self._steps.long_prefill_tokens)
            if edge > start or block <= most:
                end = edge
        drops = self.model.settings.drops_last_block
        resend = job.num_tokens - (self.model.rules.tail_before_last and not drops)
        last = resend // block * block - drops * block
        stops = [max(last, 0)]
        if start % block:
            stops.append((start // block + 1) * block)
        if start < job.junction < end:
            stops.append(start + (job.junction - start) // block * block)
        end = min((stop for stop in stops if start < stop < end), default=end)
        return max(end - start, 0)


@dataclass(slots=True)
class _Batch:
    """What a step has so far. `budget`: tokens that it can still take."""

    budget: int
    long_prefill_tokens: int
    scheduled: dict[int, int] = field(default_factory=dict)
    admitted: dict[int, Hit] = field(default_factory=dict)
    preempted: list[int] = field(default_factory=list)

    def chunk(self, left: int) -> int:
        """The most of `left` tokens of one request."""
        if 0 < self.long_prefill_tokens < left:
            left = self.long_prefill_tokens
        return min(left, self.budget)

    def add(self, job: _Job, num_new: int) -> None:
        self.scheduled[job.number] = num_new
        self.budget -= num_new


class _Waiting:
    """In order of arrival, preempted ones first; with the policy "priority" by urgency alone."""

    def __init__(self, policy: Policy) -> None:
        self._by_urgency = policy == "priority"
        self._heap: list[_Job] = []
        self._queue: deque[_Job] = deque()

    def __len__(self) -> int:
        return len(self._heap) + len(self._queue)

    def add(self, job: _Job) -> None:
        if self._by_urgency:
            heapq.heappush(self._heap, job)
        else:
            self._queue.append(job)

    def add_first(self, job: _Job) -> None:
        if self._by_urgency:
            heapq.heappush(self._heap, job)
        else:
            self._queue.appendleft(job)

    def first(self) -> _Job:
        return self._heap[0] if self._by_urgency else self._queue[0]

    def pop(self) -> _Job:
        return heapq.heappop(self._heap) if self._by_urgency else self._queue.popleft()
