"""Some rows of a trace, in another order: those that are sent, and those that were admitted."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from hitpath.core import ABSENT
from hitpath.traces.table import Floats, Ints, Labels, Runs, Trace


def take_rows(trace: Trace, rows: Ints) -> Trace:
    """The trace with these rows alone, in this order."""
    if len(rows) == len(trace) and np.array_equal(rows, np.arange(len(trace))):
        return trace
    picked = rows.tolist()
    changed: dict[str, Any] = {}
    for field in fields(trace):
        value = getattr(trace, field.name)
        match value:
            case Labels():
                changed[field.name] = Labels(value.codes[rows], value.names)
            case Runs():
                changed[field.name] = _runs(value, rows)
            case np.ndarray():
                changed[field.name] = value[rows]
    changed["ids"] = tuple(trace.ids[i] for i in picked)
    changed["places"] = tuple(trace.places[i] for i in picked) if trace.places else ()
    changed["reported_tiers"] = {n: column[rows] for n, column in trace.reported_tiers.items()}
    changed["excluded"] = {
        place: trace.excluded[row] for place, row in enumerate(picked) if row in trace.excluded
    }
    return replace(trace, **changed)


def _runs(runs: Runs, rows: Ints) -> Runs:
    lengths = runs.lengths[rows]
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    flat = np.empty(int(offsets[-1]), dtype=runs.flat.dtype)
    starts = runs.offsets[:-1][rows].tolist()
    for start, begin, end in zip(starts, offsets.tolist(), offsets[1:].tolist(), strict=False):
        flat[begin:end] = runs.flat[start : start + end - begin]
    return Runs(flat, offsets)


def retimed(trace: Trace, arrival_s: Floats, finish_s: Floats) -> Trace:
    """The trace as if it had been served so: what an engine reported of it is gone, its workers
    and clocks too. A request that never finished leaves no output."""
    num = len(trace)
    nobody = Labels(np.full(num, ABSENT, dtype=np.int64), ())
    absent = np.full(num, ABSENT, dtype=np.int64)
    nan = np.full(num, np.nan)
    return replace(
        trace,
        arrival_s=arrival_s,
        finish_s=finish_s,
        worker=nobody,
        clock=nobody,
        own_clocks=False,
        has_times=True,
        has_output=trace.has_output & ~np.isnan(finish_s),
        reported_tiers={},
        reported_hit=absent,
        reported_written=absent,
        reported_written_1h=absent,
        reported_output=absent,
        apart_hit=absent,
        apart_prompt=absent,
        reported_usd=nan,
        ttft_s=nan,
    )
