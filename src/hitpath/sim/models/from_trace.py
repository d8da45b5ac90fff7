"""The requests of a trace as engine models take them."""

from collections.abc import Iterator, Sequence

import numpy as np

from hitpath.core import SettingError
from hitpath.sim.models.contract import Request
from hitpath.sim.models.replay import Arrival
from hitpath.traces.table import Ints, Symbols, Trace

MOST_TOKENS = 1 << 27
"""Tokens of all prompts: a model looks at each one, at about a million a second."""


def arrivals_of(
    trace: Trace, roots: Ints, workers: Ints, keep_outputs: bool, number_of_row: Sequence[int]
) -> list[Arrival]:
    """The requests in the order `number_of_row`, with the context that `roots` gives each and the
    worker that `workers` gives it. Ids of blocks become as many tokens as they stand for: equal
    ids, equal tokens. Raises SettingError for more tokens than a model can look at."""
    total = int(trace.prompt_tokens.sum())
    if total > MOST_TOKENS:
        cause = f"{total:,} tokens are more than {MOST_TOKENS:,}: take a part of the trace"
        raise SettingError("--engine", cause)
    return [_arrival(trace, roots, workers, keep_outputs, row) for row in number_of_row]


def _arrival(trace: Trace, roots: Ints, workers: Ints, keep_outputs: bool, row: int) -> Arrival:
    prompt = _tokens(trace, trace.prompts.flat, trace.prompts.offsets, row)
    prompt = _filled(prompt, int(trace.prompt_tokens[row]), row)
    output: list[int] = []
    if keep_outputs and trace.has_output[row]:
        output = _tokens(trace, trace.outputs.flat, trace.outputs.offsets, row)
    arrives, ends = float(trace.arrival_s[row]), float(trace.finish_s[row])
    if not trace.common_clock:
        arrives, ends = float(row), float("nan")
    return Arrival(
        Request(row, prompt, int(roots[row])),
        int(workers[row]),
        arrives,
        None if np.isnan(ends) else max(ends, arrives),
        output,
    )


def _tokens(trace: Trace, flat: Symbols, offsets: Ints, row: int) -> list[int]:
    ids: list[int] = flat[offsets[row] : offsets[row + 1]].tolist()
    size = trace.block_size
    return ids if size is None else list(_expanded(ids, size))


def _expanded(ids: Sequence[int], block_size: int) -> Iterator[int]:
    for number in ids:
        yield from range(number * block_size, (number + 1) * block_size)


def _filled(tokens: list[int], length: int, row: int) -> list[int]:
    """As many as the prompt has: a partial last block is cut, a tail without an id (nobody else's,
    for all that the file says) is made up."""
    missing = length - len(tokens)
    return tokens[:length] + [-1 - row] * max(missing, 0)
