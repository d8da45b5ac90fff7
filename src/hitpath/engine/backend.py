"""What a measurement needs of the library that computes: numpy or torch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hitpath.cost.device import Dtype, Kind
from hitpath.engine.timing import Call
from hitpath.engine.triad import MemoryPass


@dataclass(frozen=True, slots=True)
class AttentionCase:
    """Causal attention of one layer: `num_new` tokens behind `num_cached` ones."""

    num_heads: int
    num_kv_heads: int
    head_size: int
    num_new: int
    num_cached: int

    @property
    def num_tokens(self) -> int:
        """Tokens that the last new one sees."""
        return self.num_cached + self.num_new

    @property
    def kv_elements(self) -> int:
        """Of keys and values of all tokens."""
        return 2 * self.num_kv_heads * self.head_size * self.num_tokens


class Backend(Protocol):
    """Calls to be timed, on one device. Each call of a made one takes the next of `num_copies`
    equal sets of weights or KV, so that they come from memory and not from a cache."""

    kind: Kind
    dtypes: tuple[Dtype, ...]
    cache_bytes: int
    memory_bytes: int | None
    accelerator: str | None
    versions: dict[str, str]
    notes: tuple[str, ...]

    def gemm(self, dtype: Dtype, m: int, n: int, k: int, num_copies: int) -> Call:
        """(m x k) by (k x n), weights stored (n x k) as a model's linear layers are."""
        ...

    def attention(self, dtype: Dtype, case: AttentionCase, num_copies: int) -> Call:
        """Scores, softmax and values of all heads."""
        ...

    def memory_passes(self, array_bytes: int) -> Iterator[MemoryPass]:
        """Ways over this device's memory, arrays of so many bytes each."""
        ...

    def wait(self) -> None:
        """Return when all that was called is done."""
        ...
