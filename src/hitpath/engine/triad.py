"""Memory bandwidth of the host: the triad a = b + s c over arrays that no cache holds.

Bytes are counted as STREAM counts them (McCalpin, 1995): two arrays read, one written. A processor
that reads a line before it writes it moves a third more, which is not counted.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.engine.timing import Call

Floats = NDArray[np.float32]

_SCALE = np.float32(3.0)


@kernel
def _triad(a: Floats, b: Floats, c: Floats, scale: np.float32) -> None:
    for i in range(a.shape[0]):
        a[i] = b[i] + scale * c[i]


class Triad:
    """Three arrays of `num_elements` fp32 each, and passes over them on some threads."""

    def __init__(self, num_elements: int) -> None:
        a, b, c = (np.full(num_elements, value, np.float32) for value in (0, 1, 2))
        self.result = a  # 1 + 3 x 2 = 7 everywhere after a pass
        self._read = (b, c)
        self.num_bytes = 3 * a.nbytes
        _triad(a[:1], b[:1], c[:1], _SCALE)  # compiled here, not in a timed pass

    @contextmanager
    def on(self, num_threads: int) -> Iterator[Call]:
        """A call that makes one pass, each thread over its own part."""
        a, (b, c) = self.result, self._read
        length = len(a)
        edges = [length * i // num_threads for i in range(num_threads + 1)]
        parts = [(a[begin:end], b[begin:end], c[begin:end]) for begin, end in pairwise(edges)]

        def over(part: tuple[Floats, Floats, Floats]) -> None:
            a, b, c = part
            _triad(a, b, c, _SCALE)

        with ThreadPoolExecutor(num_threads) as threads:
            yield lambda: list(threads.map(over, parts))


@dataclass(frozen=True, slots=True)
class MemoryPass:
    """One way over memory. `what` as in a hardware file: "copy" reads and writes one memory."""

    name: str
    what: Literal["read", "copy", "pcie", "link"]
    num_bytes: int
    call: Call


def host_passes(array_bytes: int, num_cores: int) -> Iterator[MemoryPass]:
    """The triad on all cores, then on one. Its arrays go when the iterator does."""
    triad = Triad(max(array_bytes // 4, 1))
    for num_threads in sorted({num_cores, 1}, reverse=True):
        with triad.on(num_threads) as call:
            cores = "1 core" if num_threads == 1 else f"{num_threads} cores"
            yield MemoryPass(f"triad, {cores}", "copy", triad.num_bytes, call)
