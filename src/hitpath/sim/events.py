"""Arrivals and finishes in the order of time, and the sequences that they bring.

At its arrival a prompt is looked up and its blocks are inserted. A request whose output the
trace has finishes at `finish_s` (at once where the file does not say); then the blocks of
prompt + output have been computed, and are inserted too if outputs are kept. A finish at the
moment of another request's arrival comes first. Where requests have clocks of their own the
order is that of the file, and a finish stands among the rows of its own clock.

When outputs are kept, the prompt's partial last block is completed by the output, so it is no
block of its own: that request inserts its whole blocks at arrival.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.core import ABSENT
from hitpath.index.forest import Forest, build_forest, symbols_are_prefixes
from hitpath.traces.blocking import Blocks
from hitpath.traces.table import Floats, Ints, Runs, Symbols, Trace

ARRIVAL, STORED_PROMPT, FINISH = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Events:
    """Shapes: one entry an event, in order; node numbers of `forest`, ABSENT for "nothing".

    request: row of the trace. kind: ARRIVAL, STORED_PROMPT or FINISH. lookup_end: end node of
    the prompt looked up. insert_end: end node of what is inserted. `arrival_of[row]` is the
    event at which a request arrives.
    """

    forest: Forest
    request: Ints
    kind: Ints
    lookup_end: Ints
    insert_end: Ints
    arrival_of: Ints

    def ever_computed(self) -> Ints:
        """Leading ids of each prompt that anything earlier has; one entry a request."""
        return self.forest.match[self.arrival_of]


def _order(trace: Trace, stored_apart: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """(request, kind) of every event in order."""
    num = np.arange(len(trace))
    outs = np.flatnonzero(trace.has_output)
    apart = np.flatnonzero(stored_apart)
    if trace.common_clock:
        arrival = trace.arrival_s
        ends = np.fmax(trace.finish_s, arrival)[outs]  # not told: at once
    else:
        arrival = num.astype(np.float64)
        ends = _ends_by_row(trace.arrival_s, trace.finish_s, trace.clock.codes)[outs]
    request = np.concatenate([num, apart, outs])
    kind = np.repeat([ARRIVAL, STORED_PROMPT, FINISH], [len(num), len(apart), len(outs)])
    time = np.concatenate([arrival, arrival[apart], ends])
    # At one moment by request: whoever finishes then arrived before those who arrive then.
    order = np.lexsort((kind, request, time))
    return request[order], kind[order]


@kernel
def _ends_by_row(arrival_s: Floats, finish_s: Floats, clock: Ints) -> Floats:
    """When each request finishes, in numbers of rows, where each clock has its own zero: at the
    first later row of its clock that arrives no earlier, else behind the last row of its clock;
    at once where the finish is not told."""
    num = len(arrival_s)
    ends = np.arange(num).astype(np.float64)
    for i in range(num):
        if np.isnan(finish_s[i]) or finish_s[i] <= arrival_s[i]:
            continue
        last = i
        for j in range(i + 1, num):
            if clock[j] == clock[i]:
                last = j
                if arrival_s[j] >= finish_s[i]:
                    break
        behind = arrival_s[last] < finish_s[i] or last == i
        ends[i] = last + 0.5 if behind else last
    return ends


def order_events(trace: Trace, blocks: Blocks, roots: Ints, keep_outputs: bool) -> Events:
    """Put the trace's sequences in order and build the forest of their blocks."""
    stored_apart = keep_outputs & trace.has_output & (blocks.partial_tokens > 0)
    request, kind = _order(trace, stored_apart)
    flat, starts, lengths = _sequences(blocks.prompts, blocks.sequences, request, kind)
    apart = kind == STORED_PROMPT
    lengths = np.where(apart, blocks.whole[request], lengths)
    forest = build_forest(flat, starts, lengths, roots[request])
    is_arrival = kind == ARRIVAL
    inserts = np.where(is_arrival, ~stored_apart[request], apart | keep_outputs)
    arrival_of = np.zeros(len(trace), dtype=np.int64)
    arrival_of[request[is_arrival]] = np.flatnonzero(is_arrival)
    return Events(
        forest,
        request,
        kind,
        np.where(is_arrival, forest.end, ABSENT),
        np.where(inserts, forest.end, ABSENT),
        arrival_of,
    )


def _sequences(
    prompts: Runs, sequences: Runs, request: Ints, kind: Ints
) -> tuple[Symbols, Ints, Ints]:
    """(flat symbols, start, length) of each event's sequence; no copy without outputs."""
    finishes = kind == FINISH
    if not np.any(finishes):
        return prompts.flat, prompts.offsets[request], prompts.lengths[request]
    flat = np.concatenate([prompts.flat, sequences.flat])
    moved = len(prompts.flat) + sequences.offsets[request]
    starts = np.where(finishes, moved, prompts.offsets[request])
    lengths = np.where(finishes, sequences.lengths[request], prompts.lengths[request])
    return flat, starts, lengths


def forest_of_prompts(trace: Trace, roots: Ints) -> Forest:
    """The prompts alone, with the symbols that the file has."""
    starts, lengths = trace.prompts.offsets[:-1], trace.prompts.lengths
    return build_forest(trace.prompts.flat, starts, lengths, roots)


def ids_are_prefixes(trace: Trace, roots: Ints) -> bool:
    """Whether equal block ids do mean equal prefixes, as chained ids must."""
    return symbols_are_prefixes(trace.prompts.flat, forest_of_prompts(trace, roots))


def symbols_ever_computed(trace: Trace, sequences: Runs, roots: Ints) -> Ints:
    """Leading symbols (tokens, or ids as the file has them) of each prompt that anything
    earlier under the same root has; one entry a request."""
    request, kind = _order(trace, np.zeros(len(trace), dtype=np.bool_))
    flat, starts, lengths = _sequences(trace.prompts, sequences, request, kind)
    match = np.zeros(len(trace), dtype=np.int64)
    is_arrival = kind == ARRIVAL
    forest = build_forest(flat, starts, lengths, roots[request])
    match[request[is_arrival]] = forest.match[is_arrival]
    return match
