"""What is measured: products and attention of a typical layer, and how each becomes a row."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from hitpath.cost.device import Dtype
from hitpath.cost.hardware_file import AttentionRate, GemmRate
from hitpath.engine.backend import AttentionCase, Backend
from hitpath.engine.timing import Call

ELEMENT_BYTES = {"fp32": 4, "bf16": 2}
_MOST_COPIES = 64
_GEMM_PROBE = 256
_ATTENTION_PROBE = 128
_MOST_ARRAY_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Plan:
    """Shapes to measure. `layer`: k and n of the product; `heads`: of queries, of KV, their size;
    `array_bytes`: each of the triad's three arrays, None for `default_array_bytes`."""

    layer: tuple[int, int] = (4096, 4096)
    rows: tuple[int, ...] = (1, 8, 64, 512, 4096)
    heads: tuple[int, int, int] = (32, 8, 128)
    new_and_cached: tuple[tuple[int, int], ...] = (
        (1, 4096),
        (8, 4096),
        (64, 4096),
        (512, 4096),
        (2048, 0),
    )
    array_bytes: int | None = None


PLANS = {"cpu": Plan(), "gpu": Plan(layer=(4096, 14336))}
"""Of an 8B model (Llama 3 8B): its hidden size, and on a GPU its feed-forward width."""


@dataclass(frozen=True, slots=True)
class GemmTask:
    """(m x k) by (k x n), with `num_copies` sets of weights in turn."""

    dtype: Dtype
    m: int
    k: int
    n: int
    num_copies: int
    kind: Literal["gemm"] = "gemm"

    @property
    def name(self) -> str:
        return f"{self.m} x {self.k} x {self.n}"

    def call(self, backend: Backend) -> Call:
        """The product, operands made."""
        return backend.gemm(self.dtype, self.m, self.n, self.k, self.num_copies)

    def probe(self) -> "GemmTask":
        """A small one that arithmetic bounds."""
        return GemmTask(
            self.dtype, _GEMM_PROBE, min(self.k, _GEMM_PROBE), min(self.n, _GEMM_PROBE), 1
        )

    def row(self, seconds: float) -> GemmRate:
        """As the hardware file has it."""
        row = GemmRate(
            dtype=self.dtype, m=self.m, n=self.n, k=self.k, seconds=seconds, flops_per_s=1.0
        )
        return msgspec.structs.replace(row, flops_per_s=row.flops() / seconds)


@dataclass(frozen=True, slots=True)
class AttentionTask:
    """One layer's attention, with `num_copies` sets of KV in turn."""

    dtype: Dtype
    case: AttentionCase
    num_copies: int
    kind: Literal["attention"] = "attention"

    @property
    def name(self) -> str:
        return f"{self.case.num_new} new, {self.case.num_cached} cached"

    def call(self, backend: Backend) -> Call:
        """The attention, operands made."""
        return backend.attention(self.dtype, self.case, self.num_copies)

    def probe(self) -> "AttentionTask":
        """A small one that arithmetic bounds."""
        num_new = min(self.case.num_tokens, _ATTENTION_PROBE)
        return AttentionTask(self.dtype, replace(self.case, num_new=num_new, num_cached=0), 1)

    def row(self, seconds: float) -> AttentionRate:
        """As the hardware file has it."""
        row = AttentionRate(
            dtype=self.dtype,
            num_heads=self.case.num_heads,
            num_kv_heads=self.case.num_kv_heads,
            head_size=self.case.head_size,
            num_new_tokens=self.case.num_new,
            num_cached_tokens=self.case.num_cached,
            seconds=seconds,
            flops_per_s=1.0,
        )
        return msgspec.structs.replace(row, flops_per_s=row.flops() / seconds)


Task = GemmTask | AttentionTask


def tasks_of(plan: Plan, dtypes: tuple[Dtype, ...], cache_bytes: int) -> Iterator[Task]:
    """Small shapes first, each in every type: where time runs out, every type has had its part."""
    k, n = plan.layer
    for m in plan.rows:
        for dtype in dtypes:
            yield GemmTask(dtype, m, k, n, _num_copies(ELEMENT_BYTES[dtype] * k * n, cache_bytes))
    for num_new, num_cached in plan.new_and_cached:
        case = AttentionCase(*plan.heads, num_new, num_cached)
        for dtype in dtypes:
            copies = _num_copies(ELEMENT_BYTES[dtype] * case.kv_elements, cache_bytes)
            yield AttentionTask(dtype, case, copies)


def default_array_bytes(cache_bytes: int, memory_bytes: int | None) -> int:
    """Four times the last-level cache, as STREAM asks for (https://www.cs.virginia.edu/stream),
    within 1 GiB and a sixteenth of the memory."""
    most = _MOST_ARRAY_BYTES
    if memory_bytes is not None:
        most = min(most, memory_bytes // 16)
    return min(4 * cache_bytes, most)


def _num_copies(operand_bytes: int, cache_bytes: int) -> int:
    """So many that when one is used again, the cache has seen twice its size since."""
    return min(1 + math.ceil(2 * cache_bytes / operand_bytes), _MOST_COPIES)
