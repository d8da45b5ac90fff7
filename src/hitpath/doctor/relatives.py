"""The nearest earlier relative of every request, and the applications that requests are of.

Prompts are cut into chunks by their content, so that a text gives the same chunks wherever it
stands: an order that changed, a line that was put in front, a tool more hide nothing. A relative
is the request of the same session, else the one with most chunks in common among those that this
prompt's chunks were last seen in. One pass over all symbols and one over all chunks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT
from hitpath.doctor._kernels import common_symbols, fill_chunks, find_nearest, mix
from hitpath.traces.table import Ints, Trace

NONE = -1
_BACKS = 4, 16
_OF_AN_APPLICATION = 0.2
_BITS_OF_BYTES, _BITS_OF_TOKENS, _BITS_OF_BLOCKS = 6, 5, 0


@dataclass(frozen=True, slots=True)
class Families:
    """One entry a request. nearest: the row of its relative, NONE without one; in_session: whether
    that is of the session that the trace names; common: leading symbols that both share; shared:
    chunks in common, of `size`; application: its number, from 0 in order of appearance, by chunks
    alone (`doctor.choosing` looks at instructions and tools too); elsewhere: the nearest of all,
    where that of the session shares less than half, else NONE."""

    nearest: Ints
    in_session: NDArray[np.bool_]
    common: Ints
    shared: Ints
    size: Ints
    application: Ints
    elsewhere: Ints

    def check(self) -> None:
        """A relative is earlier, and of the same application or of none."""
        for others in (self.nearest, self.elsewhere):
            rows = np.flatnonzero(others != NONE)
            assert np.all(others[rows] < rows)
        assert np.all(self.shared <= self.size)
        assert np.all(self.common[self.nearest == NONE] == 0)


def find_families(trace: Trace) -> Families:
    """The relatives of all requests of a trace that has prompts."""
    flat, offsets = trace.prompts.flat, trace.prompts.offsets
    hashes, ends = _chunks(trace)
    ids = np.unique(hashes, return_inverse=True)[1].astype(np.int64)
    num = len(trace)
    nearest, shared = np.full(num, NONE, dtype=np.int64), np.zeros(num, dtype=np.int64)
    in_session = np.zeros(num, dtype=np.bool_)
    elsewhere = np.full(num, NONE, dtype=np.int64)
    session = np.where(trace.session.codes == ABSENT, NONE, trace.session.codes)
    find_nearest(
        ids,
        ends,
        int(ids.max()) + 1 if len(ids) else 0,
        session,
        len(trace.session.names),
        _BACKS,
        nearest,
        in_session,
        shared,
        elsewhere,
    )
    size = np.diff(ends, prepend=0)
    common = np.array(
        [0 if other == NONE else common_symbols(flat, offsets, row, other)
         for row, other in enumerate(nearest.tolist())],
        dtype=np.int64,
    )  # fmt: skip
    families = Families(
        nearest, in_session, common, shared, size, _applications(nearest, shared, size), elsewhere
    )
    families.check()
    return families


def _chunks(trace: Trace) -> tuple[NDArray[np.uint64], Ints]:
    """(hash of each chunk, chunks up to the end of each row)."""
    flat, offsets = trace.prompts.flat, trace.prompts.offsets
    if flat.dtype == np.uint64:  # blocks are chunks already
        return flat.astype(np.uint64), offsets[1:].copy()
    bits = _bits(trace)
    table = np.array([mix(np.uint64(x)) for x in range(256)], dtype=np.uint64)
    ends = np.zeros(len(offsets) - 1, dtype=np.int64)
    room = len(flat) // (1 << bits) * 2 + 2 * len(ends) + 1024
    while True:
        hashes = np.empty(room, dtype=np.uint64)
        count = fill_chunks(flat, offsets, table, bits, hashes, ends)
        if count >= 0:
            return hashes[:count], ends
        room *= 2


def _bits(trace: Trace) -> int:
    """A chunk has 2 to this power symbols on average."""
    if trace.prompts.flat.dtype == np.uint64:
        return _BITS_OF_BLOCKS
    return _BITS_OF_BYTES if trace.prompts.flat.dtype == np.uint8 else _BITS_OF_TOKENS


def _applications(nearest: Ints, shared: Ints, size: Ints) -> Ints:
    """A request is of its relative's application where they have a fifth of the smaller one's
    chunks in common."""
    application = np.zeros(len(nearest), dtype=np.int64)
    num = 0
    for row, other in enumerate(nearest.tolist()):
        least = 0 if other == NONE else _OF_AN_APPLICATION * min(size[row], size[other])
        if other != NONE and shared[row] >= least and shared[row] > 0:
            application[row] = application[other]
        else:
            application[row] = num
            num += 1
    return application
