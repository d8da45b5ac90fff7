"""A trace in memory: flat columns, one row a request, in the order in which they are served.

A prompt is a run of *symbols*: token ids (uint32), bytes of text (uint8) or block ids (uint64;
`identity` chained or content), concatenated over all requests. Times are seconds, lengths
tokens. Where a file does not say, an integer column holds ABSENT and a time column NaN.
The table knows nothing of files or of caches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT
from hitpath.traces.problems import Problem, Skipped
from hitpath.traces.segments import Stretches

Symbols = NDArray[np.uint8] | NDArray[np.uint32] | NDArray[np.uint64]
"""Bytes of text, token ids, or block ids."""
Identity = Literal["chained", "content", "tokens", "text", "lengths_only"]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Labels:
    """A column of names, dictionary-encoded: `codes[i]` indexes `names`, or is ABSENT."""

    codes: Ints
    names: tuple[str, ...]

    @property
    def known(self) -> bool:
        """Whether the trace gives this label for any request."""
        return bool(self.names)

    def of(self, row: int) -> str | None:
        """The name in one row, None where absent."""
        code = int(self.codes[row])
        return None if code == ABSENT else self.names[code]


@dataclass(frozen=True, slots=True)
class Context:
    """All that must be equal for KV to be reusable. `others`: further fields, sorted by name."""

    model: str | None = None
    salt: str | None = None
    adapter: str | None = None
    media_salt: str | None = None
    others: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=4096)
def model_context(model: str | None) -> Context:
    """The context of which only the model is told; one object a model, quick to compare."""
    return Context(model=model)


@dataclass(frozen=True, slots=True)
class Runs:
    """Ragged rows in one flat array: row i is `flat[offsets[i]:offsets[i + 1]]`."""

    flat: Symbols
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        """Symbols in each row."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class Names:
    """What a file calls that which the table has numbers for. Numbers are dealt out trace by
    trace; under these names it can be written so that it shares with others what it shared.

    keys: of block ids, by number; None where the file has numbers itself. stretches: of token
    ids; None where the file has ids itself. scopes: by number; None is the one without a name.
    sessions: by the codes of `Trace.session`, whose names differ where two tenants have one name.
    """

    keys: tuple[str, ...] | None = None
    stretches: Stretches | None = None
    scopes: tuple[str | None, ...] = (None,)
    sessions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Thinned:
    """A trace that was sampled while it was read: `prompts` holds the ids that were kept.

    one_in: one block in so many is kept, the first HEAD_BLOCKS of a prompt always. num_ids:
    ids that each prompt had. last_kept: whether its last id was kept.
    """

    one_in: int
    num_ids: Ints
    last_kept: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole trace. Shapes: every column has one entry a request (N).

    With identity "lengths_only" the file does not say what the prompts are: `prompts` rows are
    empty and nothing can be modelled. `reported_written`: tokens of the prompt that a provider
    says it wrote into its cache, in its own tokens, `reported_written_1h` of them for an hour;
    `reported_output`: its count of the output's tokens, where it is another than `output_tokens`;
    `reported_usd`: what each request is said to have cost. `ttft_s`: time to the first token.
    `apart_hit`, `apart_prompt`: what was reported in tokens where prompts here are bytes: hit and
    whole prompt, never compared with the prompts.
    `id_may_repeat`: requests to which the file gives no id, so that theirs is made of their number
    there, or none that stands once: two such files have the same.
    `scope`: block ids mean the same only within one scope (a file with local ids).
    `outputs` rows are empty where `has_output` is False. `excluded` maps a row to the input
    invariant that it breaks: it leaves all sums but still enters the cache state.
    `own_clocks`: rows stand in the order of the file, and arrival times with different `clock`
    names cannot be compared. `has_times` False: the
    file has none, and `arrival_s` is the number of the row. `places`: where each row stands
    (`file:line`), empty unless asked for.
    """

    format: str
    identity: Identity
    block_size: int | None
    ids: tuple[str, ...]
    id_may_repeat: NDArray[np.bool_]
    arrival_s: Floats
    finish_s: Floats
    prompt_tokens: Ints
    output_tokens: Ints
    prompts: Runs
    outputs: Runs
    has_output: NDArray[np.bool_]
    contexts: tuple[Context, ...]
    context: Ints
    scope: Ints
    session: Labels
    tenant: Labels
    model: Labels
    worker: Labels
    turn: Ints
    clock: Labels
    reported_hit: Ints
    reported_tiers: dict[str, Ints]
    reported_written: Ints
    reported_written_1h: Ints
    reported_output: Ints
    reported_usd: Floats
    apart_hit: Ints
    apart_prompt: Ints
    ttft_s: Floats
    excluded: dict[int, Problem]
    skipped: Skipped
    notes: tuple[str, ...]
    own_clocks: bool = False
    has_times: bool = True
    model_is_label: bool = False
    thinned: Thinned | None = None
    names: Names = Names()
    places: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_text(self) -> bool:
        """Whether the symbols are the bytes of text themselves; where they only stand for bytes
        (stretches, keyed hashes) there is no text."""
        return self.identity == "text" and self.prompts.flat.dtype == np.uint8

    @property
    def common_clock(self) -> bool:
        """Whether arrival times are times, and of one clock."""
        return self.has_times and not self.own_clocks

    def isolating_contexts(self, split_models: bool) -> tuple[Context, ...]:
        """`contexts` as they isolate: without their models where those are mere labels."""
        if not self.model_is_label or split_models:
            return self.contexts
        return tuple(replace(c, model=None) for c in self.contexts)

    @property
    def gaps_known(self) -> bool:
        """Whether time between two uses of a block can be told: both are on one clock. Rows with
        clocks of their own are so where no scope of ids reaches over two clocks."""
        pairs = np.stack([self.scope, self.clock.codes])
        num_scopes, num_pairs = len(np.unique(self.scope)), np.unique(pairs, axis=1).shape[1]
        return self.has_times and (not self.own_clocks or num_pairs == num_scopes)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which rows enter the sums."""
        mask = np.ones(len(self), dtype=np.bool_)
        mask[list(self.excluded)] = False
        return mask


def encode_labels(values: Sequence[str | None]) -> Labels:
    """Dictionary-encode a column of optional names in order of first appearance."""
    if values.count(None) == len(values):
        return Labels(np.full(len(values), ABSENT, dtype=np.int64), ())
    names = dict.fromkeys(values)
    names.pop(None, None)
    codes: dict[str | None, int] = {name: code for code, name in enumerate(names)}
    codes[None] = ABSENT
    column = np.fromiter(map(codes.__getitem__, values), dtype=np.int64, count=len(values))
    return Labels(column, tuple(name for name in names if name is not None))


def runs_of(rows: Sequence[Symbols], dtype: type, in_sequence: bool = False) -> Runs:
    """Ragged rows as one flat array of `dtype`, which holds all of their values.

    in_sequence: rows that are views of one buffer are each behind the one before, so that they
    need not be copied where nothing lies between them.
    """
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    if in_sequence:
        joined = _one_behind_the_other(rows, offsets)
        if joined is not None and joined.dtype == dtype:
            return Runs(joined, offsets)
    flat: Symbols = np.empty(int(offsets[-1]), dtype=dtype)
    if len(rows) and (
        len(flat) < _SHORT * len(rows) or all(row.itemsize == flat.itemsize for row in rows)
    ):
        np.concatenate(rows, out=flat, casting="same_kind")
        return Runs(flat, offsets)
    # Where long rows must be converted, concatenate does so in small steps: three times as slow.
    for row, begin, end in zip(rows, offsets.tolist(), offsets[1:].tolist(), strict=False):
        flat[begin:end] = row
    return Runs(flat, offsets)


_SHORT = 256
"""Symbols of a row: below it the loop costs more than the conversion."""


def _one_behind_the_other(rows: Sequence[Symbols], offsets: Ints) -> Symbols | None:
    """The stretch of one buffer that all rows are, if they leave nothing out and are views of it,
    each behind the one before."""
    buffer = rows[0].base if rows else None
    if not isinstance(buffer, np.ndarray) or buffer.ndim != 1 or not len(buffer):
        return None
    if any(row.base is not buffer for row in rows):
        return None
    begin, last = rows[0].ctypes.data, rows[-1].ctypes.data
    if last - begin != int(offsets[-2]) * buffer.itemsize:
        return None
    first = (begin - buffer.ctypes.data) // buffer.itemsize
    return buffer[first : first + int(offsets[-1])]
