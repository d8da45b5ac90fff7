"""A trace as Mooncake JSONL, for replay by load generators.

timestamp (ms, whole, never falling), input_length, output_length, hash_ids (chained ids of whole
blocks and one of the partial rest, numbered from 0). Ids are unique to (context, scope, prefix),
so a replayer that knows no contexts shares nothing that they isolate. A tail without an id of its
own (files with ids of whole blocks only) gets one that no other row has.

What replayers ask of a row beyond the format (checked on aiperf 0.13.0, guidellm 0.8.1,
ai-dynamo-runtime 1.6.1 and vllm 0.32.0, docs/convert.md): a prompt; an output_length from 1
(aiperf refuses a file with a 0, the three others a row without); rows in order of time (vllm
sends a row no earlier than those above it); no session_id (aiperf adds each row of a session to
the prompts before it, Dynamo holds it back until the row before has ended); one length to an id.
"""

from collections.abc import Iterator

import numpy as np

from hitpath.core import ABSENT, SettingError
from hitpath.report.convert.own_rows import JsonRow
from hitpath.sim.rungs import root_codes
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.traces.blocking import Blocks, block_trace
from hitpath.traces.table import Floats, Ints, Trace

MOONCAKE_BLOCK_SIZE = 512
_LEAST_OUTPUT = 1


def mooncake_rows(
    trace: Trace, block_size: int, every_s: float | None
) -> tuple[Iterator[JsonRow], list[str]]:
    """(rows in order of time, what to know of them). `every_s`: spacing of arrivals for a trace
    that has no times. Raises SettingError where the format cannot hold the trace."""
    if trace.identity == "lengths_only":
        raise SettingError("--to mooncake", f"needs block ids: {NO_IDENTITY}")
    seconds, notes = _seconds(trace, every_s)
    milliseconds = np.rint(seconds * 1000).astype(np.int64)
    by_time = np.argsort(milliseconds, kind="stable")
    order = by_time[trace.prompt_tokens[by_time] > 0]
    if not len(order):
        raise SettingError("--to mooncake", "no request has a prompt token: nothing to replay")
    blocks = block_trace(trace, block_size)
    numbers, num_tails = _numbers(trace, blocks, order)
    if num_tails:
        notes.append(
            f"{num_tails:,} prompts end in tokens without a block id: each got an id of its own, "
            "so that nothing is shared there"
        )
    notes += [*_row_notes(trace, milliseconds, order), *_notes(trace)]
    return _rows(trace, order, numbers, milliseconds), notes


def _rows(
    trace: Trace, order: Ints, numbers: list[list[int]], milliseconds: Ints
) -> Iterator[JsonRow]:
    for i, hash_ids in zip(order.tolist(), numbers, strict=True):
        yield {
            "timestamp": int(milliseconds[i]),
            "input_length": int(trace.prompt_tokens[i]),
            "output_length": max(int(trace.output_tokens[i]), _LEAST_OUTPUT),  # ABSENT is below
            "hash_ids": hash_ids,
        }


def _numbers(trace: Trace, blocks: Blocks, order: Ints) -> tuple[list[list[int]], int]:
    """(ids of each row in `order`, rows with a tail of their own). An id is numbered when its
    prefix first appears, so that ids of content become chained ones."""
    runs, roots = blocks.prompts, root_codes(trace, split_models=False)
    numbers: dict[tuple[int, int], int] = {}
    needed = (-(-trace.prompt_tokens // blocks.block_size)).tolist()
    rows: list[list[int]] = []
    next_number = num_tails = 0
    for i in order.tolist():
        above = -1 - int(roots[i])
        ids = []
        for symbol in runs.flat[runs.offsets[i] : runs.offsets[i + 1]].tolist():
            above, is_new = _numbered(numbers, (above, symbol), next_number)
            next_number += is_new
            ids.append(above)
        missing = needed[i] - len(ids)
        ids.extend(range(next_number, next_number + missing))
        next_number += missing
        num_tails += missing > 0
        rows.append(ids)
    return rows, num_tails


def _numbered(
    numbers: dict[tuple[int, int], int], prefix: tuple[int, int], unused: int
) -> tuple[int, bool]:
    number = numbers.setdefault(prefix, unused)
    return number, number == unused


def _row_notes(trace: Trace, milliseconds: Ints, order: Ints) -> Iterator[str]:
    """How many rows were moved, left out, or ask for another output than they had. An engine is
    always asked for at least one token."""
    least = f"their output_length is {_LEAST_OUTPUT}, the least that can be asked for"
    told = trace.output_tokens[order]
    for count, what in (
        (
            np.count_nonzero(milliseconds < np.maximum.accumulate(milliseconds)),
            "rows stand behind rows of a later time: sorted by time",
        ),
        (len(trace) - len(order), "requests have no prompt token and are left out"),
        (
            np.count_nonzero(told == ABSENT),
            f"requests do not tell the length of the output: {least}",
        ),
        (np.count_nonzero(told == 0), f"requests have an output of no token: {least}"),
    ):
        if count:
            yield f"{count:,} {what}"


def _notes(trace: Trace) -> Iterator[str]:
    """What the format does not hold, or a replayer would do other than was done."""
    if trace.has_output.any():
        yield "outputs are lengths only in this format: their tokens are left out"
    if trace.has_text:
        yield (
            "each byte of text is replayed as a token, several times what a model would count: "
            "give --tokenizer"
        )
    if len(trace.contexts) > 1:
        yield (
            f"{len(trace.contexts):,} contexts (models, salts, adapters) are kept apart by their "
            "ids; the format has no field for them"
        )
    if num_sessions := len(trace.session.names):
        yield (
            f"{num_sessions:,} sessions are not named: each row is a whole prompt with a time of "
            "its own, and replayers that read sessions would add up or hold back their rows"
        )


def _seconds(trace: Trace, every_s: float | None) -> tuple[Floats, list[str]]:
    """Arrivals from 0, one of each row of the trace."""
    if not trace.has_times:
        if every_s is None:
            cause = "this trace has no times, and the format needs them"
            raise SettingError("--to mooncake", f"{cause}: give --every SECONDS")
        note = f"the trace has no times: one request every {every_s:g} s, as asked"
        return np.arange(len(trace), dtype=np.float64) * every_s, [note]
    if every_s is not None:
        raise SettingError("--every", "the trace has times of its own")
    if not trace.own_clocks:
        since_first: Floats = trace.arrival_s - trace.arrival_s.min()
        return since_first, []
    # Clocks one after the other: a row never comes before what stands ahead of it in another.
    seconds = np.zeros(len(trace))
    begin, at = 0.0, 0
    codes = trace.clock.codes
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    for stop in (*changes.tolist(), len(trace)):
        own = trace.arrival_s[at:stop] - trace.arrival_s[at:stop].min()
        seconds[at:stop] = begin + own
        begin += float(own.max())
        at = stop
    note = "sessions have clocks of their own: they are laid one after the other"
    return seconds, [note]
