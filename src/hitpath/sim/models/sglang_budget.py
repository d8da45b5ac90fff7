"""How much one prefill step of SGLang may take on: `PrefillAdder` and its memory budget.

Rules (sglang/srt/managers/schedule_policy.py, mem_cache/prefill_budget.py and
scheduler_components/new_token_ratio_tracker.py, 0.5.23):

- Room is what is free or can be evicted, less what the running requests are expected to make yet:
  `ratio` of the output that each may still have (all of it where stops are ignored), 4,096 tokens
  at most. A request is taken on if its prompt, its whole output and one page are less than that.
- A step computes `max_prefill_tokens` at most (the first request may be longer where prompts are
  not cut) and `chunk_tokens`, in whole pages: what is longer is cut at a page's end.
- The ratio begins at 0.7 times the conservativeness, falls a little with each decode step to 14 %
  of that, and begins anew when nothing is left to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from hitpath.core import SettingError
from hitpath.sim.models.contract import Request
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.sglang_queue import QueuePolicy

CLIP_MAX_NEW_TOKENS = 4096
FIRST_RATIO = 0.7
LOWEST_PART = 0.14
DECAY_STEPS = 600


@dataclass(frozen=True, slots=True)
class SglangSteps:
    """`max_running`: `max_running_requests`; `chunk_tokens`: `chunked_prefill_size`, None for
    prompts in one piece; `conservativeness`: `schedule_conservativeness`."""

    max_prefill_tokens: int = 16384
    chunk_tokens: int | None = 8192
    max_running: int = 256
    queue: QueuePolicy = "fcfs"
    overlap: bool = True
    conservativeness: float = 1.0

    def __post_init__(self) -> None:
        chunk = 1 if self.chunk_tokens is None else self.chunk_tokens
        if min(self.max_prefill_tokens, chunk, self.max_running) < 1 or self.conservativeness < 0:
            raise SettingError("engine steps", f"{self} cannot run a request")

    @property
    def first_ratio(self) -> float:
        """Of the output that is allowed, what is expected."""
        return min(FIRST_RATIO * self.conservativeness, 1.0)

    @property
    def lowest_ratio(self) -> float:
        """It does not fall below this."""
        return min(self.first_ratio * LOWEST_PART, 1.0)

    @property
    def decay(self) -> float:
        """By how much it falls with a decode step."""
        return (self.first_ratio - self.lowest_ratio) / DECAY_STEPS


@dataclass(slots=True, eq=False)
class Job:
    """A request in the scheduler. `done`: tokens that it has room for, those hit included."""

    request: Request
    max_output: int
    ignores_stops: bool
    num_prompt: int
    num_output: int = 0
    done: int = 0
    finished: bool = False
    retracted: bool = False

    @property
    def number(self) -> int:
        return self.request.number

    @property
    def num_tokens(self) -> int:
        """The prompt's and those made so far."""
        return self.num_prompt + self.num_output

    @property
    def most_output(self) -> int:
        """What is set aside for its output when it begins."""
        return min(self.max_output, CLIP_MAX_NEW_TOKENS)

    @property
    def listens(self) -> bool:
        """Whether a result that comes now is taken."""
        return not (self.finished or self.retracted)

    def begin(self, num_done: int) -> None:
        """It (or its first chunk) is in a step."""
        self.done, self.retracted = num_done, False


class Verdict(Enum):
    """After a request was tried: the next one may be, or not for want of room, or not any more."""

    GO_ON = auto()
    NO_ROOM = auto()
    STOP = auto()


class Budget:
    """Of one prefill step."""

    def __init__(
        self, model: SglangModel, steps: SglangSteps, ratio: float, running: Sequence[Job]
    ) -> None:
        self._model = model
        self._page = model.settings.page_size
        self._input = steps.max_prefill_tokens
        self._chunk = steps.chunk_tokens
        self._taken: float = sum([self._still_to_come(job, ratio) for job in running])

    def _still_to_come(self, job: Job, ratio: float) -> float:
        left = min(job.max_output - job.num_output, CLIP_MAX_NEW_TOKENS)
        return left * (1.0 if job.ignores_stops else ratio)

    def verdict(self) -> Verdict:
        """Whether another request may be tried."""
        if self._model.room - self._taken <= 0:
            return Verdict.NO_ROOM
        spent = self._input <= 0 or (self._chunk is not None and self._chunk <= 0)
        return Verdict.STOP if spent else Verdict.GO_ON

    def add_chunk(self, job: Job) -> tuple[int, bool]:
        """(tokens of the next chunk, whether it is the last). It has room: the whole prompt had
        when it began, and nobody decodes before it is done."""
        assert self._chunk is not None
        left = job.num_tokens - job.done
        new, is_last = min(left, self._chunk), left <= self._chunk
        self.take(new, job.most_output if is_last else 0)
        return new, is_last

    def chunk_of(self, job: Job, hit: int, room: int, *, is_first: bool) -> int | Verdict:
        """How many tokens behind the hit a waiting request may compute; `room`: what there is
        besides its hit."""
        left = job.num_tokens - hit
        may_make = min(max(job.max_output - job.num_output, 0), CLIP_MAX_NEW_TOKENS)
        if left + may_make + self._page >= room - self._taken:
            return Verdict.NO_ROOM
        if self._chunk is None:
            too_long = not is_first and self._paged(left) >= self._input
            return Verdict.STOP if too_long else left
        if self._paged(left) <= self._chunk:
            return left
        new = (hit + self._chunk // self._page * self._page) // self._page * self._page - hit
        return new if new > 0 else Verdict.STOP

    def take(self, num_new: int, output: int) -> None:
        """A request computes `num_new` tokens; `output` more are set aside for it."""
        paged = self._paged(num_new)
        self._taken += paged + self._page + output
        self._input -= paged
        if self._chunk is not None:
            self._chunk -= paged

    def _paged(self, num_tokens: int) -> int:
        return -(-num_tokens // self._page) * self._page
