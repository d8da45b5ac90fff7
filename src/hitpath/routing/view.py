"""What a router is told: the request (`Ask`) and the fleet (`View`), as numbers.

Both are plain tuples of numbers and arrays, so that the same rule runs inside a compiled
simulation and for one request of a live gateway. Whoever calls fills them in: the router owns no
index. A figure that the caller has not is never passed as 0: a router says in `Router.needs`
which figures of the engines it reads, and the caller refuses the router where it has none.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ring = NDArray[np.uint64]

IndexSource = Literal["none", "resident", "history"]


class Ask(NamedTuple):
    """One request. `row` is its place in the order of arrival and feeds every random draw.
    `session` and `prefix_hash` are 64-bit hashes (0: the request has no session). `time_s` is
    since the start. `ask_of` makes one."""

    row: int
    prompt_tokens: int
    session: np.uint64
    prefix_hash: np.uint64
    expected_output_tokens: int
    time_s: float


class View(NamedTuple):
    """The fleet as the router sees it; one entry a worker. Never changed by a router.

    match: leading tokens of the prompt that the router's index believes on the worker's device.
    match_host: the same with its lower tiers (at least match). waiting, running, kv_use (0 to
    1): the engine's own figures when last scraped.

    The rest the router counts itself, over requests that it has sent and that have not ended.
    in_flight: how many. prefill_tokens: believed uncached tokens of those whose first token has
    not come. active_tokens: prompt and output so far. decoding: how many have had their first
    token, decoding_context: their tokens. active_unique: tokens of their distinct prompt blocks
    (a block that several share counts once), active_shared: leading tokens of this prompt that
    are among them. decoding, active_unique and active_shared are ABSENT where the caller does
    not count them; the routers that read them say what they take instead.

    sent: requests ever sent. index_tokens: tokens that its index holds for the worker. alive:
    may be chosen; at least one is.
    """

    match: Ints
    match_host: Ints
    waiting: Ints
    running: Ints
    kv_use: Floats
    in_flight: Ints
    prefill_tokens: Ints
    active_tokens: Ints
    sent: Ints
    index_tokens: Ints
    decoding: Ints
    decoding_context: Ints
    active_unique: Ints
    active_shared: Ints
    alive: Flags


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The index that fills `View.match`.

    source: "none"; "resident", the engine's true state as its events tell it (the caller adds
    lag and loss); "history", an LRU of what this router has sent, whether or not it is still
    there. block_tokens: the router's own block, 0 the engine's. max_blocks: leading blocks that
    it looks at, 0 all. capacity_blocks: a worker, 0 unlimited. ttl_s: 0 none.
    """

    source: IndexSource = "none"
    block_tokens: int = 0
    max_blocks: int = 0
    capacity_blocks: int = 0
    ttl_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """`worker` from 0; `reason` is one line with the numbers that decided."""

    worker: int
    reason: str


def ask_of(
    row: int,
    prompt_tokens: int,
    *,
    session: int = 0,
    prefix_hash: int = 0,
    expected_output_tokens: int = 0,
    time_s: float = 0.0,
) -> Ask:
    """An Ask with the types that the kernels are compiled for."""
    return Ask(
        int(row),
        int(prompt_tokens),
        np.uint64(session),
        np.uint64(prefix_hash),
        int(expected_output_tokens),
        float(time_s),
    )


def empty_view(num_workers: int) -> View:
    """An idle fleet of which all workers are alive and hold nothing; what a caller need not count
    is ABSENT."""

    def of(figure: int) -> Ints:
        return np.full(num_workers, figure, dtype=np.int64)

    return View(
        match=of(0),
        match_host=of(0),
        waiting=of(0),
        running=of(0),
        kv_use=np.zeros(num_workers, dtype=np.float64),
        in_flight=of(0),
        prefill_tokens=of(0),
        active_tokens=of(0),
        sent=of(0),
        index_tokens=of(0),
        decoding=of(ABSENT),
        decoding_context=of(0),
        active_unique=of(ABSENT),
        active_shared=of(ABSENT),
        alive=np.ones(num_workers, dtype=np.bool_),
    )
