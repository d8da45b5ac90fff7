"""The state of a simulation: records in flat arrays, as the kernels take them.

One record a node, entry, segment, request ("job") or worker, linked by numbers (ABSENT ends a
list). A field is read and written as `jobs[j].goal`, compiled or not; names that numpy's own
scalars have (size, base, item ...) would be theirs in plain Python and are not used.

An *entry* says what one owner holds of one node of the forest. Owners are the workers 0 .. W - 1,
then the host memory of each (W + w), then the store that all share (2 W). As in sim/fleet.py all
sequences that touch a node touch the whole of it, so an entry needs a count of leading blocks, not
a block each:

    0 ........ in_use ........ resident ........ length of the node
      pinned by   idle, in segments: each a run of      not there
      running     blocks released at one moment
      requests

A worker's idle segments form one list by release. A request that pins a block pins all before it,
so blocks are released tail first and what is oldest is always the end of its node: caches are
closed under prefixes at every moment.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT
from hitpath.routing.view import View

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Records = Any
"""A record array: fields as attributes."""

UNLIMITED = 1 << 60
USE_STEPS = 4096
"""How finely the time at each share of a cache in use is told."""
SLOTS = 4096
"""Places of the calendar of steps: what is due later comes round again."""

# states of a job
UNSENT, WAITING, PREFILL, DECODE, MOVING, ENDED = range(6)

# kinds of events, in their order at one moment
CHANGE, STEP_END, MOVED, ARRIVAL = range(4)
FAIL, JOIN, RESTART = range(3)
# when blocks of a prompt become visible
AT_SCHEDULE, AFTER_STEP, AFTER_PROMPT = range(3)
# endings: see records.py
SERVED, REFUSED_FULL, TOO_LARGE, FAILED_WORKER = range(4)


def _record(ints: str, floats: str = "") -> np.dtype[Any]:
    fields = [(name, np.int64) for name in ints.split()]
    return np.dtype(fields + [(name, np.float64) for name in floats.split()])


NODE = _record("parent depth length first")
ENTRY = _record("owner node sibling resident in_use full partial newest flights believed active")
"""sibling: the next entry of the node. full, partial: how many jobs pin all of it, and the first
of those that pin a part. newest: its segment nearest to the head. flights: incomplete prompts that
run through it. believed: resident, as the router's index has it where that is late or lossy.
active: requests that the router counts there and that run through it (see active.py)."""
SEGMENT = _record("entry begin end newer older above below")
"""newer, older: in its owner's list; above, below: of its entry, towards head and tail."""
ALTERATION = _record("worker event", "time")
MOVE = _record("entry epoch stored begin end", "time")
"""A KV event on its way to the router: blocks begin .. end of an entry were stored, or removed."""

JOB = _record(
    "prompt output end_node output_node stage follower next_follower session prefix_hash expected "
    "state worker target next prev run_next run_prev order handed flying "
    "emitted emit_offset goal computed offset chunk held pinned copies late_next late_tokens "
    "part_entry part_extent part_next part_prev start farthest uncached "
    "routed decoder counted hit hit_host hit_remote rung_flight rung_best matched preemptions "
    "recomputed total ending",
    "time think sent admitted first finish",
)
"""next, prev: in the list of its state (waiting, prefilling, moving; decoding: see fills); run_*:
among the running. handed: its KV came from a prefill worker. emitted: tokens so far (decoding:
emit_offset + ticks of the worker). goal: tokens to have computed before the next one can be
emitted. computed: tokens with KV (decoding: offset + ticks). chunk: of them in this step. held:
blocks for them. pinned: leading blocks shared through entries; copies: those of them that it
holds once more for itself. part_*: the entry that it pins a part of. late_next, late_tokens:
computed in the step before, and not visible yet (see late.py). counted: on which worker its
blocks are counted as active, ABSENT for none. start: where its computing began after the last
admission; farthest: tokens it ever had KV for. uncached: prompt tokens the router believes it
will compute."""

WORKER = _record(
    "group hands_over takes_new capacity max_batch max_running chunked watermark reserve "
    "last_token visible twins outputs growing mixed free_copies late_results late_first late_last "
    "alive epoch stepping ready used idle oldest newest resident believed "
    "run_first run_last running waiting left_waiting told_waiting told_running told_used "
    "steps ticks alone decoding context flights budget tokens emits "
    "in_flight prefill_tokens active_tokens active_blocks begun begun_tokens sent longest "
    "computed output evicted peak preemptions history history_newest history_oldest",
    "chunk_s extra_s load_s seen busy waiting_s running_s used_s",
)
"""Also of owners that are no workers: the host memories and the store have a capacity and a list.
steps: steps done; ticks: those in which decodes moved on. alone: the step at hand has prompts
alone. decoding, context: how many decode, and the tokens that they have KV for.
budget, tokens, emits, chunk_s, extra_s, load_s: of the step at hand. seen: when its integrals were
brought up to date. longest: the most that waited for any time. history*: its list in the router's
own index."""

GROUP = _record("first_row last_row num_windows", "link_s overhead_s lookup_s")
HISTORY = _record("owner node sibling resident newer older", "time")
RULES = _record("kind source unit max_blocks capacity num_roots num_entries", "ttl")
ITEM = _record("due next prev")
EVENT = _record("kind row", "time")
CLOCK = _record(
    "block num_workers num_jobs most_entries most_running most_moves all_entries num_entries "
    "free_segments left_segments heap next_open next_change in_flight max_in_flight admissions "
    "ended ahead "
    "moves_first moves_count lagging ready stage drain linked tick seen_tick "
    "sample_count has_host has_remote overlaps counts_active seed checked",
    "now sample_s interval age lag loss host_s host_latency remote_s remote_latency move_s "
    "move_latency",
)


class Caches(NamedTuple):
    """Blocks: who holds what. held [2, owners]: scratch of cache.match_everywhere. queue_time_s
    [jobs + 1]: seconds, over all workers, in which so many waited; use_time_s [USE_STEPS + 1]: in
    which such a share of a cache was in use. `num_roots`: nodes below are roots."""

    nodes: Records
    entries: Records
    segments: Records
    moves: Records
    workers: Records
    jobs: Records
    clock: Records
    held: Ints
    queue_time_s: Floats
    use_time_s: Floats
    num_roots: int


class Engine(NamedTuple):
    """Steps. queues [W, states, 2]: first and last of the waiting, prefilling and moving
    requests of each worker, and of those that ended and still hold their blocks (see late.py).
    phase [W, block size]: decoding requests by the tick (modulo the block size) at which they
    need a block. fills [W, block size, 2]: first and last of those whose reply is visible as it
    grows, by the tick at which a step begins that fills a block. window [W, 2, windows]: sums
    of what windows see, and how many still grow. slots [W, SLOTS], items [(1 + windows) x
    jobs]: the calendar. step_end [W]: infinite when idle. linear, head: a row a group. sizes
    [groups, windows]: of the windows. ended, filled: scratch. stages [2, stages]: when each
    began, and how long it lasts at least; stage_left: its requests that have not ended."""

    caches: Caches
    queues: Ints
    phase: Ints
    fills: Ints
    window: Ints
    slots: Ints
    items: Records
    step_end: Floats
    heap: Records
    groups: Records
    sizes: Ints
    linear: Floats
    head: Floats
    attention: Floats
    ended: Ints
    filled: Ints
    stages: Floats
    stage_left: Ints


class Index(NamedTuple):
    """The router: what it sees and how it picks. nodes, entries: of its own tree, with what it has
    sent (source "history"). path: scratch. scraped [ring, 3, W]: waiting, running, KV use."""

    sees: View
    params: Floats
    ring: NDArray[np.uint64]
    counter: Ints
    seed: np.uint64
    rules: Records
    nodes: Records
    entries: Records
    path: Ints
    scraped: Floats


class State(NamedTuple):
    """Everything. open_rows: rows of the open loop in order of time; starts: when each stage began;
    changes: of workers, in order; sample_s, samples [most, 6, W]: waiting, running, used, idle,
    and waiting and used as told;
    found: scratch."""

    engine: Engine
    router: Index
    open_rows: Ints
    changes: Records
    sample_s: Floats
    samples: Ints
    found: Ints


def zeros(dtype: np.dtype[Any], count: int) -> Records:
    """So many records of zeros."""
    return np.zeros(count, dtype=dtype).view(np.recarray)


def grown(records: Records, count: int) -> Records:
    """The same with room for `count`."""
    more = zeros(records.dtype, count)
    more[: len(records)] = records
    return more


def absent(records: Records, names: str) -> None:
    """Set fields to ABSENT in every record."""
    for name in names.split():
        records[name] = ABSENT
