"""A trace as Mooncake JSONL, for replay by load generators.

timestamp (ms, whole), input_length, output_length, hash_ids (chained ids of whole blocks and one
of the partial rest, numbered from 0), session_id. Ids are unique to (context, scope, prefix), so
a replayer that knows no contexts shares nothing that they isolate. A tail without an id of its
own (files with ids of whole blocks only) gets one that no other row has.
"""

from collections.abc import Iterator

import numpy as np

from hitpath.core import ABSENT, SettingError
from hitpath.report.convert.own_rows import JsonRow
from hitpath.sim.rungs import root_codes
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.traces.blocking import Blocks, block_trace
from hitpath.traces.table import Floats, Trace

MOONCAKE_BLOCK_SIZE = 512


def mooncake_rows(
    trace: Trace, block_size: int, every_s: float | None
) -> tuple[Iterator[JsonRow], list[str]]:
    """(rows in serving order, what to know of them). `every_s`: spacing of arrivals for a trace
    that has no times. Raises SettingError where the format cannot hold the trace."""
    if trace.identity == "lengths_only":
        raise SettingError("--to mooncake", f"needs block ids: {NO_IDENTITY}")
    blocks = block_trace(trace, block_size)
    numbers, num_tails = _numbers(trace, blocks)
    seconds, notes = _seconds(trace, every_s)
    if num_tails:
        notes.append(
            f"{num_tails:,} prompts end in tokens without a block id: each got an id of its own, "
            "so that nothing is shared there"
        )
    if trace.has_output.any():
        notes.append("outputs are lengths only in this format: their tokens are left out")
    if len(trace.contexts) > 1:
        notes.append(
            f"{len(trace.contexts):,} contexts (models, salts, adapters) are kept apart by their "
            "ids; the format has no field for them"
        )
    return _rows(trace, blocks, numbers, seconds), notes


def _rows(
    trace: Trace, blocks: Blocks, numbers: list[list[int]], seconds: Floats
) -> Iterator[JsonRow]:
    for i in range(len(trace)):
        row: JsonRow = {
            "timestamp": round(float(seconds[i]) * 1000),
            "input_length": int(trace.prompt_tokens[i]),
        }
        if trace.output_tokens[i] != ABSENT:
            row["output_length"] = int(trace.output_tokens[i])
        row["hash_ids"] = numbers[i]
        session = trace.session.of(i)
        if session is not None:
            row["session_id"] = session
        yield row


def _numbers(trace: Trace, blocks: Blocks) -> tuple[list[list[int]], int]:
    """(ids of each row, rows with a tail of their own). An id is numbered when its prefix first
    appears, so that ids of content become chained ones."""
    runs, roots = blocks.prompts, root_codes(trace, split_models=False)
    numbers: dict[tuple[int, int], int] = {}
    needed = (-(-trace.prompt_tokens // blocks.block_size)).tolist()
    rows: list[list[int]] = []
    next_number = num_tails = 0
    for i in range(len(trace)):
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


def _seconds(trace: Trace, every_s: float | None) -> tuple[Floats, list[str]]:
    """Arrivals from 0, in the order of the rows."""
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
