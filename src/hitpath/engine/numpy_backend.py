"""The measurement in numpy, where torch is not installed: fp32, on the processor.

Matrix products are those of numpy's BLAS. Attention is three numpy steps a KV head (scores,
softmax, values), on one core but for the products: less than an engine's kernel reaches.
"""

from collections.abc import Iterator
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from hitpath.cost.device import Dtype, Kind
from hitpath.engine.backend import AttentionCase
from hitpath.engine.machine import (
    last_level_cache_bytes,
    memory_bytes,
    num_cores,
    numpy_blas,
)
from hitpath.engine.timing import Call
from hitpath.engine.triad import MemoryPass, host_passes

Floats = NDArray[np.float32]

USUAL_CACHE_BYTES = 64 << 20
"""Taken for the last-level cache where the system does not tell it."""


class NumpyBackend:
    """fp32 on the processor."""

    dtypes: tuple[Dtype, ...] = ("fp32",)

    def __init__(self, torch_is: str) -> None:
        """`torch_is`: why torch does not measure instead, for the file and the page."""
        self.kind: Kind = "cpu"
        self.accelerator: str | None = None
        self.cache_bytes = last_level_cache_bytes() or USUAL_CACHE_BYTES
        self.memory_bytes = memory_bytes()
        self.versions = {"numpy": np.__version__, "blas": numpy_blas(), "torch": torch_is}
        self.notes: tuple[str, ...] = (f"torch is {torch_is}: measured with numpy, in fp32 only",)
        self._random = np.random.default_rng(0)

    def gemm(self, dtype: Dtype, m: int, n: int, k: int, num_copies: int) -> Call:
        inputs, out = self._normal(m, k), np.empty((m, n), np.float32)
        first = self._normal(n, k)
        weights = cycle([first, *(first.copy() for _ in range(num_copies - 1))])
        return lambda: np.matmul(inputs, next(weights).T, out=out)

    def attention(self, dtype: Dtype, case: AttentionCase, num_copies: int) -> Call:
        shared = case.num_heads // case.num_kv_heads
        queries = self._normal(case.num_kv_heads, shared * case.num_new, case.head_size)
        first = self._normal(2, case.num_kv_heads, case.num_tokens, case.head_size)
        kept = cycle([first, *(first.copy() for _ in range(num_copies - 1))])
        unseen = np.triu(np.full((case.num_new, case.num_new), -np.inf, np.float32), 1)
        return lambda: causal_attention(queries, next(kept), unseen)

    def memory_passes(self, array_bytes: int) -> Iterator[MemoryPass]:
        return host_passes(array_bytes, num_cores())

    def wait(self) -> None:
        """Nothing runs behind numpy."""

    def _normal(self, *shape: int) -> Floats:
        return self._random.standard_normal(shape, np.float32)


def causal_attention(queries: Floats, kept: Floats, unseen: Floats) -> Floats:
    """(KV heads, heads of each x new, head size) queries on (keys and values, KV heads, tokens,
    head size). `unseen` (new x new): what a new token may not see of the new ones, -inf."""
    num_new, scale = len(unseen), np.float32(queries.shape[-1] ** -0.5)
    out = np.empty_like(queries)
    for head, (query, keys, values) in enumerate(zip(queries, *kept, strict=True)):
        scores = (query * scale) @ keys.T
        by_head = scores.reshape(-1, num_new, keys.shape[0])
        by_head[:, :, keys.shape[0] - num_new :] += unseen
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        total = scores.sum(axis=1, keepdims=True)
        np.divide(scores @ values, total, out=out[head])
    return out
