"""Trace files -> one `Trace`. One module a format; the format is found out by content.

To add a format: a module with NAME, `recognises(first_row)` and `read(...)`, a line in
`_LINE_FORMATS` of detect.py and in `read_trace`, a section in docs/trace-format.md, a case in
tests/unit/test_traces.py.
"""

from itertools import chain

from hitpath.core import InputError, Progress
from hitpath.traces import coding_agent, hitpath_jsonl, mooncake
from hitpath.traces.detect import Input
from hitpath.traces.files import expand
from hitpath.traces.rows import DEFAULT_BLOCK_SIZE, TraceBuilder
from hitpath.traces.sampling import Sampler
from hitpath.traces.table import Context, Labels, Problem, Runs, Trace

__all__ = ["Context", "Labels", "Problem", "Runs", "Trace", "TraceBuilder", "read_trace"]


def read_trace(
    arguments: list[str],
    *,
    block_size: int | None = None,
    skip_bad_rows: bool = False,
    sampler: Sampler | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Read files, folders, globs or `-` into one trace. `block_size`: the user's, if any.
    `sampler`: keep only some blocks of each prompt (`Trace.thinned`).

    Raises InputError (place, field, cause) for what cannot be read; with `skip_bad_rows` bad
    rows are listed in `Trace.skipped` instead.
    """
    builder = TraceBuilder(skip_bad_rows, sampler, block_size or DEFAULT_BLOCK_SIZE)
    inputs = [Input(source, skip_bad_rows, progress) for source in expand(arguments)]
    for unreadable in (i.problem for i in inputs if i.problem is not None):
        builder.reject(unreadable)
    first = next((i for i in inputs if i.format_name is not None), None)
    if first is None:
        cause = "the input is empty" if not builder.skipped else "not one readable row"
        raise InputError(", ".join(arguments), "", f"no requests: {cause}")
    inputs = [i for i in inputs if i.format_name is not None]
    for other in inputs:
        if other.format_name != first.format_name:
            cause = f"format is {other.format_name}, but {first.name} is {first.format_name}"
            raise InputError(other.name, "", cause)
    if first.format_name == coding_agent.NAME:
        trace = coding_agent.read(((i.name, i.document()) for i in inputs), builder)
    elif first.format_name == mooncake.NAME:
        size_bytes = sum(i.size_bytes for i in inputs)
        rows = chain.from_iterable(i.lines() for i in inputs)
        trace = mooncake.read(rows, builder, block_size, size_bytes)
    else:
        trace = hitpath_jsonl.read(chain.from_iterable(i.lines() for i in inputs), builder)
    if not len(trace):
        raise InputError(first.name, "", f"no request left: {len(trace.skipped)} bad rows")
    return trace
