"""SGLang's scheduler around its cache: which requests get how many tokens in each engine step.

Rules (sglang/srt/managers/scheduler.py and schedule_batch.py, 0.5.23; one rank, no host tier, no
drafts, no mixed batches):

1. The chunk that the last step computed of a long prompt enters the tree, its result known or not.
2. A step is a prefill if one can be made: the next chunk of that prompt, then waiting requests in
   the order of the queue as the budget allows (`sglang_budget.py`). Else it decodes all that run.
3. Where the next tokens find no room, the running request with the fewest output tokens (of these
   the longest prompt) is retracted to the end of the queue, until they do; then the ratio of output
   that is expected is estimated anew. The last one left always fits: its output was cut to that.
4. With overlap the result of a step is processed when the next one has begun. Who will end by its
   length then is left out of it; who ends by a stop token is not: its last token is computed too.
   A retracted request's token that comes late is lost.
5. Every 32nd attempt with a queue that is not sorted by the cache makes recent what the cache has
   of the first 128 that wait, the first of them last.
"""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hitpath.core import SettingError
from hitpath.sim.models.contract import Request
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.sglang_budget import Budget, Job, SglangSteps, Verdict
from hitpath.sim.models.sglang_queue import MOST_MATCHED, order_waiting
from hitpath.sim.models.sglang_rules import SglangSettings, rules_of

REFRESHED_EACH = 32
RETRACT_DECODE_STEPS = 20


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the engine. `scheduled`: tokens of each request, in order. `admitted`: hit tokens
    of those that began (or began again) in it."""

    kind: Literal["prefill", "decode"]
    scheduled: Mapping[int, int]
    admitted: Mapping[int, int]


class SglangScheduler:
    """A worker: a cache, requests that run and requests that wait."""

    def __init__(self, settings: SglangSettings, steps: SglangSteps) -> None:
        if settings.host_tokens:
            raise SettingError("host tier", "steps with a host tier are not modelled")
        if not rules_of(settings.version).counts_once:
            cause = f"the steps of SGLang {settings.version} are not modelled: 0.5.23 is"
            raise SettingError(f"--engine sglang@{settings.version}", cause)
        self.model = SglangModel(settings)
        self.steps = steps
        self.ratio = steps.first_ratio
        self.running: list[Job] = []
        self.waiting: list[Job] = []
        self.retracted: list[int] = []
        self._chunked: Job | None = None
        self._last: _Batch | None = None
        self._results: deque[_Batch] = deque()
        self._is_full = False
        self._attempts = 0

    def submit(self, request: Request, max_output: int, *, ignores_stops: bool = False) -> bool:
        """A request arrives. `ignores_stops`: it will make all of its output, which is cut to what
        an empty worker has room for; False if that is not one token: the request is refused."""
        page, num_prompt = self.model.settings.page_size, len(request.tokens)
        paged = -(-num_prompt // page) * page
        most = min(max_output, self.model.room_when_empty - paged - page - 1)
        if most < 1:
            return False
        self.waiting.append(Job(request, most, ignores_stops, num_prompt))
        return True

    def schedule(self) -> Step | None:
        """Begin the next step; None where there is nothing to do (yet). `retracted` are then those
        that had to give up their room."""
        self.model.new_step()
        self.retracted = []
        self._merge_last()
        batch = self._prefill() or self._decode()
        if batch is not None:
            self._results.append(batch)
        elif not (self.steps.overlap and self._last) and not self.waiting and not self.running:
            self.ratio = self.steps.first_ratio
        self._due = self._result_after(batch)
        self._last = batch
        return None if batch is None else batch.step

    def due(self) -> list[int]:
        """The requests that get a token with the result that `update` processes."""
        batch = self._due
        if batch is None:
            return []
        return [job.number for job in batch.jobs if job is not batch.unfinished and job.listens]

    def update(self, sampled: Mapping[int, int], stopped: Collection[int] = ()) -> list[int]:
        """The result that is there by now: the token of each request that is `due`; those in
        `stopped` end with it. Returns those that finished."""
        batch, finished = self._due, []
        if batch is None:
            return []
        self._results.popleft()
        for job in batch.jobs:
            if job is batch.unfinished or not job.listens:
                continue
            self.model.generate(job.number, [sampled[job.number]])
            job.num_output += 1
            if job.num_output >= job.max_output or job.number in stopped:
                job.finished = True
                self.model.finish(job.number)
                finished.append(job.number)
            elif batch.step.kind == "prefill":
                self.model.processed(job.number)
        return finished

    # ---- a step

    def _result_after(self, batch: "_Batch | None") -> "_Batch | None":
        """With overlap the result of the step before, else that of this one."""
        if not self.steps.overlap:
            return batch
        return self._results[0] if self._last is not None else None

    def _merge_last(self) -> None:
        """Those that the last step prefilled run from now on, those that finished do not."""
        if self._chunked is not None:
            self.model.processed(self._chunked.number)
        last = self._last
        if last is not None and last.step.kind == "prefill":
            kept = [
                job
                for job in last.jobs
                if not job.finished and job is not self._chunked and job is not last.unfinished
            ]
            if len(kept) < len(last.jobs) or (kept and not self.running):
                self._is_full = False
            self.running += kept
        count = len(self.running)
        self.running = [job for job in self.running if not job.finished]
        if len(self.running) < count:
            self._is_full = False

    def _prefill(self) -> "_Batch | None":
        if not self.running:
            self._is_full = False
        if self._chunked is None and (self._is_full or not self.waiting):
            return None
        if self._chunked is None and len(self.running) >= self.steps.max_running:
            self._is_full = True
            return None
        self._order()
        budget = Budget(self.model, self.steps, self.ratio, self.running)
        jobs: list[Job] = []
        scheduled: dict[int, int] = {}
        admitted: dict[int, int] = {}
        if self._chunked is not None:
            job = self._chunked
            new, is_last = budget.add_chunk(job)
            assert self.model.extend(job.number, new), "no room for a chunk of what had room"
            job.done += new
            jobs.append(job)
            scheduled[job.number] = new
            self._chunked = None if is_last else job
        began = self._begin_waiting(budget, jobs, scheduled, admitted)
        if not jobs:
            return None
        self.waiting = [job for job in self.waiting if job.number not in admitted]
        if began is not None:
            self._chunked = began
        self.model.make_room()
        return _Batch(Step("prefill", scheduled, admitted), jobs, self._chunked)

    def _begin_waiting(
        self,
        budget: Budget,
        jobs: list[Job],
        scheduled: dict[int, int],
        admitted: dict[int, int],
    ) -> Job | None:
        """Try those that wait, in order; returns the one of which only a chunk has begun."""
        began = None
        for job in self.waiting:
            if budget.verdict() is Verdict.STOP:
                break
            if len(jobs) >= self.steps.max_running - len(self.running):
                self._is_full = True
            if self._is_full:
                break
            hit, room = self.model.tried(job.request)
            new = budget.chunk_of(job, hit, room, is_first=not jobs)
            verdict = new
            if not isinstance(new, Verdict):
                found = self.model.admit(job.request, new)
                assert found is not None, "the budget has room that the cache has not"
                assert found.tokens == hit
                whole = hit + new == job.num_tokens
                budget.take(new, job.most_output if whole else 0)
                job.begin(hit + new)
                jobs.append(job)
                scheduled[job.number], admitted[job.number] = new, hit
                began = None if whole else job
                verdict = budget.verdict()
            if verdict is not Verdict.GO_ON:
                if verdict is Verdict.NO_ROOM:
                    self._is_full = bool(jobs or self.running)
                break
        return began

    def _order(self) -> None:
        policy = self.steps.queue
        requests = [job.request for job in self.waiting]
        if policy != "fcfs" and len(requests) <= MOST_MATCHED:
            order, _ = order_waiting(requests, self.model, policy)
            jobs = {job.number: job for job in self.waiting}
            self.waiting = [jobs[request.number] for request in order]
            return
        if not requests or self.model.settings.policy != "lru":
            return
        if self._attempts % REFRESHED_EACH == 0:
            for request in reversed(requests[:MOST_MATCHED]):
                self.model.touch(request)
        self._attempts += 1

    def _decode(self) -> "_Batch | None":
        if not self.running:
            return None
        first = len(self.running)
        ending = self._ending_in_flight()
        self.running = [job for job in self.running if job not in ending]
        if not self.running:
            self._is_full = False
            return None
        if self._fits(self.running):
            self.ratio = max(self.ratio - self.steps.decay, self.steps.lowest_ratio)
        elif ending:
            self._is_full = False  # their room is there when their result is
            return None
        else:
            self._retract()
        if len(self.running) < first:
            self._is_full = False
        if not self.running:
            return None
        for job in self.running:
            assert self.model.extend(job.number, 1), "no room for a token that was checked to fit"
            job.done += 1
        self.model.make_room()
        scheduled = {job.number: 1 for job in self.running}
        return _Batch(Step("decode", scheduled, {}), list(self.running), None)

    def _ending_in_flight(self) -> list[Job]:
        """Those that the result under way ends by their length."""
        if not self.steps.overlap or not self._results:
            return []
        batch = self._results[0]
        return [
            job
            for job in self.running
            if job in batch.jobs and job.num_output + 1 >= job.max_output
        ]

    def _fits(self, jobs: Sequence[Job]) -> bool:
        """Whether the next token of each finds room, once what can be evicted for it has gone."""
        page = self.model.settings.page_size
        return self.model.evicts_to(sum(job.done % page == 0 for job in jobs) * page)

    def _retract(self) -> None:
        kept = sorted(self.running, key=lambda job: (-job.num_output, job.num_prompt))
        first = True
        while (first or not self._fits(kept)) and len(kept) > 1:
            first = False
            job = kept.pop()
            self._give_back(job, len(kept))
            self.waiting.append(job)
            self.retracted.append(job.number)
        self.running = kept
        made = sum(job.num_output for job in kept) + RETRACT_DECODE_STEPS * len(kept)
        self.ratio = min(1.0, made / (sum(job.max_output for job in kept) + 1))

    def _give_back(self, job: Job, num_left: int) -> None:
        self.model.preempt(job.number)
        self.model.evicts_to(num_left * RETRACT_DECODE_STEPS)
        job.retracted, job.done = True, 0


@dataclass(frozen=True, slots=True)
class _Batch:
    """A step with its requests in order; `unfinished`: the one of which more chunks are to come."""

    step: Step
    jobs: list[Job]
    unfinished: Job | None
