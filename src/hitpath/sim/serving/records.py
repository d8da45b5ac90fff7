"""What the serving simulator is given, and what it answers.

Rows are requests; every array has one entry a row unless its shape is told. Times are seconds of
virtual time, NaN where something never happened; numbers of rows and workers are ABSENT where
there is none.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT, SettingError
from hitpath.routing.router import Router
from hitpath.sim.serving.layout import FAILED_WORKER, REFUSED_FULL, SERVED, TOO_LARGE
from hitpath.sim.serving.step_time import StepModel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Hashes = NDArray[np.uint64]

Visible = Literal["schedule", "processed", "prompt"]
Replies = Literal["growing", "ended"]
Role = Literal["both", "prefill", "decode"]
Event = Literal["fail", "join", "restart"]

VISIBLE: tuple[str, ...] = get_args(Visible)
REPLIES: tuple[str, ...] = get_args(Replies)

ENDINGS = {
    SERVED: "served",
    REFUSED_FULL: "refused_full",
    TOO_LARGE: "too_large",
    FAILED_WORKER: "failed_worker",
}
"""How a request ends: with its last token; at once, for `max_in_flight` others were there; at
once, for its worker could never hold it; with its worker (or at once, for want of any)."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """One engine. `block_size` in tokens; `capacity_blocks` None: unlimited.

    max_batch_tokens, max_running: tokens a step and requests at once (vLLM: max_num_batched_tokens,
    max_num_seqs). chunked_prefill: a prompt may be cut where a step is full. watermark_frac: share
    of the blocks that an admission leaves free while others run. reserve_full_prompt: an admission
    needs room for the whole prompt, not for its first chunk only. last_token: at least the last
    token is computed. visible: others find the blocks of a chunk when it is scheduled (vLLM), after
    its step (SGLang), or after the step that ends the prompt (TensorRT-LLM). wait_for_twins: no
    admission while a running request is about to compute the next block (TensorRT-LLM).
    cache_outputs: replies that the trace has stay cached. replies: their blocks are visible as they
    fill (vLLM), or when the request ends. mixed: prompts and decodes share steps; False: a step of
    prompts alone goes first (SGLang). free_copies: who made a block visible that is there already
    shares that one and gives its own back (SGLang). late_results: what a step computed becomes
    visible, and who ended gives back its blocks, when the next step has been put together (SGLang's
    overlap schedule).
    """

    block_size: int = 16
    capacity_blocks: int | None = None
    max_batch_tokens: int = 8192
    max_running: int = 256
    chunked_prefill: bool = True
    watermark_frac: float = 0.0
    reserve_full_prompt: bool = True
    last_token: bool = True
    visible: Visible = "schedule"
    wait_for_twins: bool = False
    cache_outputs: bool = True
    replies: Replies = "growing"
    mixed: bool = True
    free_copies: bool = False
    late_results: bool = False

    def __post_init__(self) -> None:
        _at_least("block_size", self.block_size, 1)
        _at_least("max_batch_tokens", self.max_batch_tokens, 1)
        _at_least("max_running", self.max_running, 1)
        if self.capacity_blocks is not None:
            _at_least("capacity_blocks", self.capacity_blocks, 1)
        if self.max_running > self.max_batch_tokens:
            cause = f"{self.max_running:,} is more than max_batch_tokens {self.max_batch_tokens:,}"
            raise SettingError("max_running", f"{cause}: a step could not decode them all")
        if not 0 <= self.watermark_frac < 1:
            raise SettingError("watermark_frac", f"{self.watermark_frac:g} is not from 0 to 1")
        if self.visible not in VISIBLE:
            raise SettingError("visible", f"{self.visible!r} is not one of {', '.join(VISIBLE)}")
        if self.replies not in REPLIES:
            raise SettingError("replies", f"{self.replies!r} is not one of {', '.join(REPLIES)}")


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """So many equal workers. role: "prefill" hands a request over to a "decode" worker when its
    prompt is computed; "both" does all of it."""

    count: int
    settings: WorkerSettings
    steps: StepModel
    role: Role = "both"

    def __post_init__(self) -> None:
        _at_least("count", self.count, 1)
        if self.role not in ("both", "prefill", "decode"):
            raise SettingError("role", f"{self.role!r} is not both, prefill or decode")


@dataclass(frozen=True, slots=True)
class Link:
    """Moving KV takes latency_s + tokens x bytes_per_token / bytes_per_s."""

    bytes_per_token: float
    bytes_per_s: float
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        if not (self.bytes_per_s > 0 and np.isfinite(self.bytes_per_token)):
            raise SettingError("bytes_per_s", f"{self} moves nothing")
        if not (self.bytes_per_token >= 0 and 0 <= self.latency_s < np.inf):
            raise SettingError("link", f"{self} takes no time that could be told")

    @property
    def s_per_token(self) -> float:
        return self.bytes_per_token / self.bytes_per_s


@dataclass(frozen=True, slots=True)
class Tier:
    """A larger, slower cache (host memory of each worker, or one store that all share). All that a
    request leaves on the device is written there too, most recent first; None: unlimited."""

    capacity_blocks: int | None
    link: Link

    def __post_init__(self) -> None:
        if self.capacity_blocks is not None:
            _at_least("capacity_blocks of a tier", self.capacity_blocks, 1)


@dataclass(frozen=True, slots=True)
class Change:
    """At `time_s` a worker fails (its requests end, its cache is lost), joins cold (a worker whose
    first change is to join is not there before), or restarts: fails and joins at once."""

    time_s: float
    worker: int
    event: Event


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """The fleet and its router. Workers are numbered through the groups in their order.

    scrape_interval_s: the router knows waiting, running and KV use as the engine told them at the
    end of its last step before the last multiple of it that is at least scrape_age_s old; 0: as
    they are at the moment. index_lag_s, index_loss_frac: KV events
    reach a "resident" index so late; the events of a worker's step are lost together, so often.
    max_in_flight: requests beyond fail at once (None: no limit). transfer: from prefill to decode
    workers. host, remote: lower tiers. load_overlaps: loading from a tier takes the longer of
    itself and the step instead of both. ttft_constant_s: client, network, tokeniser; in TTFT and
    E2E, not in the engines' time. sample_s, max_samples: the state is sampled every sample_s;
    when there are too many, every second one goes and the interval doubles. checked: the books
    are checked after every event (slow). seed: of lost events.
    """

    workers: tuple[WorkerGroup, ...]
    router: Router
    scrape_interval_s: float = 0.0
    scrape_age_s: float = 0.0
    index_lag_s: float = 0.0
    index_loss_frac: float = 0.0
    max_in_flight: int | None = None
    transfer: Link | None = None
    host: Tier | None = None
    remote: Tier | None = None
    load_overlaps: bool = False
    changes: tuple[Change, ...] = ()
    ttft_constant_s: float = 0.0
    sample_s: float = 1.0
    max_samples: int = 2048
    checked: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.workers:
            raise SettingError("workers", "there are none")
        for name in ("scrape_interval_s", "scrape_age_s", "index_lag_s", "ttft_constant_s"):
            if not 0 <= getattr(self, name) < np.inf:
                raise SettingError(name, f"{getattr(self, name):g} is no time")
        if self.scrape_age_s and not self.scrape_interval_s:
            raise SettingError("scrape_age_s", "needs a scrape_interval_s")
        if self.scrape_interval_s and self.scrape_age_s > 1000 * self.scrape_interval_s:
            raise SettingError("scrape_age_s", "is more than 1,000 intervals")
        if not 0 <= self.index_loss_frac <= 1:
            raise SettingError("index_loss_frac", f"{self.index_loss_frac:g} is not from 0 to 1")
        if self.max_in_flight is not None:
            _at_least("max_in_flight", self.max_in_flight, 1)
        if not 0 < self.sample_s < np.inf:
            raise SettingError("sample_s", f"{self.sample_s:g} is no interval")
        _at_least("max_samples", self.max_samples, 2)
        if len({group.settings.block_size for group in self.workers}) > 1:
            raise SettingError("block_size", "the workers of a fleet have one block size")
        roles = {group.role for group in self.workers}
        if ("prefill" in roles) != ("decode" in roles):
            raise SettingError("role", "prefill and decode workers need each other")
        if "prefill" in roles and self.transfer is None:
            raise SettingError("transfer", "prefill workers need one to hand requests over")
        if roles == {"decode"}:
            raise SettingError("role", "no worker takes new requests")
        for change in self.changes:
            self._check_change(change)

    def _check_change(self, change: Change) -> None:
        place = f"change of worker {change.worker} at {change.time_s:g} s"
        if not 0 <= change.worker < self.num_workers:
            raise SettingError(place, f"there are {self.num_workers} workers")
        if change.event not in ("fail", "join", "restart"):
            raise SettingError(place, f"{change.event!r} is not fail, join or restart")
        if not 0 <= change.time_s < np.inf:
            raise SettingError(place, "is at no time")

    @property
    def num_workers(self) -> int:
        return sum(group.count for group in self.workers)

    @property
    def block_size(self) -> int:
        """Of all workers."""
        return self.workers[0].settings.block_size

    def of_workers(self) -> list[WorkerGroup]:
        """The group of each worker."""
        return [group for group in self.workers for _ in range(group.count)]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When requests are sent.

    time_s: finite in an open loop, NaN for a request that follows another. follows: the earlier
    row whose end (of any kind) triggers it, think_s later; ABSENT in an open loop. stage: ABSENT
    or the stage's number from 0, for all rows or for none. drain: the next stage starts when all
    requests of the one before have ended, and not before it has lasted stage_length_s; time_s is
    then since the start of the row's own stage.
    """

    time_s: Floats
    follows: Ints
    think_s: Floats
    stage: Ints
    drain: bool = False
    stage_length_s: Floats | None = None

    @staticmethod
    def at(time_s: Floats) -> "Arrivals":
        """An open loop."""
        absent = np.full(len(time_s), ABSENT, dtype=np.int64)
        return Arrivals(
            np.asarray(time_s, dtype=np.float64), absent, np.zeros(len(time_s)), absent.copy()
        )


@dataclass(frozen=True, slots=True)
class Requests:
    """What is asked for. Nodes are of a forest over *whole* blocks: a prompt's path has exactly
    `whole_blocks` = prompt_tokens // block_size symbols.

    end_node: of the prompt in the engines' tree (a root, for a prompt of no whole block).
    output_tokens: at least 1. output_end_node: of prompt + output in whole blocks, with or without
    the last token; ABSENT where the reply's tokens are not told. router_end_node: of the prompt in
    the router's own tree, in blocks of the router's size (a partial last one counts if it has a
    symbol there); read only by an index of history. session, prefix_hash, expected_output_tokens:
    told to the router (0: none).
    """

    end_node: Ints
    prompt_tokens: Ints
    whole_blocks: Ints
    output_tokens: Ints
    output_end_node: Ints
    router_end_node: Ints
    session: Hashes
    prefix_hash: Hashes
    expected_output_tokens: Ints

    def __len__(self) -> int:
        return len(self.prompt_tokens)


@dataclass(frozen=True, slots=True)
class Samples:
    """The fleet over time, [num_samples] and [num_samples, num_workers], as it was just before
    each moment. interval_s: sample_s, doubled as often as there were too many. used_blocks: in
    use by running requests; cached_blocks: kept though nobody uses them. told_*: what the engines
    told at the end of their last steps, which is what a scrape of their gauges would read."""

    interval_s: float
    time_s: Floats
    waiting: Ints
    running: Ints
    used_blocks: Ints
    cached_blocks: Ints
    told_waiting: Ints
    told_used_blocks: Ints


@dataclass(frozen=True, slots=True)
class WorkerTotals:
    """One entry a worker. computed_tokens: prefilled and decoded, recomputed ones included.
    peak_blocks: most in use; longest_queue: most that waited for any time. The three integrals are
    over time, up to end_s, in requests x s and blocks x s: divided by end_s they are means.
    capacity_blocks: ABSENT where unlimited."""

    capacity_blocks: Ints
    busy_s: Floats
    num_steps: Ints
    computed_tokens: Ints
    output_tokens: Ints
    evicted_blocks: Ints
    peak_blocks: Ints
    longest_queue: Ints
    num_preemptions: Ints
    waiting_integral: Floats
    running_integral: Floats
    used_integral: Floats


@dataclass(frozen=True, slots=True)
class ServingOutcome:
    """What happened to each request, and the fleet's figures.

    sent_s: NaN for none: each is sent once. admit_s: first admission on its worker; first_token_s,
    finish_s: in the engines' time (see ttft_s, e2e_s). worker: the router's choice, ABSENT where
    refused; decode_worker: to which it was handed over. hit_tokens: reused at the first admission,
    of which hit_host_tokens and hit_remote_tokens came from lower tiers. granted: rungs 0 to 3
    [4, N] at the first admission. believed_match: tokens that the router believed on its choice.
    computed_tokens: in all its steps; recomputed_tokens: of those computed once before, too, lost
    with a preemption. ending: one of SERVED ... FAILED_WORKER. queue_time_s [longest queue + 1]:
    seconds, over all workers, in which so many waited on one; use_time_s [USE_STEPS + 1]: in
    which a cache was in use to such a share (place / USE_STEPS, rounded down), unlimited ones
    at 0. stage_start_s: [num_stages]. end_s: of the last event.
    """

    sent_s: Floats
    admit_s: Floats
    first_token_s: Floats
    finish_s: Floats
    worker: Ints
    decode_worker: Ints
    hit_tokens: Ints
    hit_host_tokens: Ints
    hit_remote_tokens: Ints
    granted: Ints
    believed_match: Ints
    num_preemptions: Ints
    computed_tokens: Ints
    recomputed_tokens: Ints
    ending: Ints
    per_worker: WorkerTotals
    samples: Samples
    queue_time_s: Floats
    use_time_s: Floats
    stage_start_s: Floats
    end_s: float
    ttft_constant_s: float

    def check(self, requests: Requests) -> None:
        """What must hold of every outcome; the books of blocks are checked in `checked` runs."""
        assert np.all(self.ending >= 0), "a request has not ended"
        sent, served = ~np.isnan(self.sent_s), self.served
        assert np.all(sent), "a request was never sent"
        order = (self.sent_s, self.admit_s, self.first_token_s, self.finish_s)
        for earlier, later in pairwise(order):
            assert np.all(earlier[served] <= later[served]), "time runs backwards"
        assert np.all(np.isnan(self.finish_s) == ~served)
        rungs = np.vstack([self.hit_tokens, self.granted, requests.prompt_tokens])
        assert np.all(np.diff(rungs, axis=0) >= 0), "rungs are out of order"
        assert np.all(self.hit_host_tokens + self.hit_remote_tokens <= self.hit_tokens)
        plain = served & (self.num_preemptions == 0)
        hit = np.minimum(self.hit_tokens, requests.prompt_tokens - 1)
        expected = requests.prompt_tokens - hit + requests.output_tokens - 1
        expected += self.decode_worker >= 0  # it computes the last token of the prompt again
        assert np.array_equal(self.computed_tokens[plain], expected[plain])
        assert np.all(self.computed_tokens[served] >= self.recomputed_tokens[served])
        assert self.computed_tokens.sum() <= self.per_worker.computed_tokens.sum()

    @property
    def served(self) -> NDArray[np.bool_]:
        served: NDArray[np.bool_] = self.ending == SERVED
        return served

    @property
    def ttft_s(self) -> Floats:
        """As the client sees it; NaN where no first token came."""
        return self.first_token_s - self.sent_s + self.ttft_constant_s

    @property
    def e2e_s(self) -> Floats:
        """As the client sees it; NaN where it never finished."""
        return self.finish_s - self.sent_s + self.ttft_constant_s

    def tpot_s(self, output_tokens: Ints) -> Floats:
        """Seconds of each token behind the first; NaN for one token or none."""
        rest = np.where(output_tokens > 1, output_tokens - 1, 1)
        tpot = (self.finish_s - self.first_token_s) / rest
        return np.where(output_tokens > 1, tpot, np.nan)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise SettingError(name, f"{value:,} is not at least {least}")
