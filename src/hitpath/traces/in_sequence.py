"""Prompts in bytes one behind the other in one buffer, which the rows are views of.

A row's own object would be copied once more when the table is made: that costs as much time as
reading the file, and twice the memory.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hitpath.traces.rows import TraceBuilder
from hitpath.traces.sources import Input

S = TypeVar("S", bound=np.generic)
_CHUNK_BYTES = 1 << 24


class InSequence:
    """Room for bytes. The first chunk has `reserved_bytes`: memory that is never written costs
    nothing. What does not fit goes into further chunks, and is joined when the table is made."""

    def __init__(self, reserved_bytes: int) -> None:
        self._chunk = reserved(reserved_bytes, np.uint8)
        self._room = memoryview(self._chunk)  # type: ignore[arg-type]
        self._used = 0

    def add(self, text: bytes) -> NDArray[np.uint8]:
        """The text, a symbol a byte."""
        begin, end = self._used, self._used + len(text)
        if end > len(self._chunk):
            self._chunk = np.empty(max(_CHUNK_BYTES, len(text)), dtype=np.uint8)
            self._room = memoryview(self._chunk)  # type: ignore[arg-type]
            begin, end = 0, len(text)
        self._room[begin:end] = text
        self._used = end
        return self._chunk[begin:end]


def reserved(count: int, dtype: type[S]) -> NDArray[S]:
    """An array that nobody has written to; empty where the system promises no such memory."""
    try:
        return np.empty(count, dtype=dtype)
    except MemoryError:
        return np.empty(0, dtype=dtype)


def sequence_for(
    builder: TraceBuilder, inputs: Sequence[Input], most_times: int = 1
) -> InSequence | None:
    """Room for the prompts of these inputs, which are seldom larger than `most_times` the files;
    None where a sampled trace keeps none."""
    if builder.thins:
        return None
    builder.prompts_in_sequence = True
    return InSequence(most_times * sum(source.size_bytes for source in inputs))
