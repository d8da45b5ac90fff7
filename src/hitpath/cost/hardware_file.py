"""The file that `hitpath calibrate` writes: what one machine was measured to do.

Schema "hitpath.hardware/1", JSON. Rates by type and shape, each with the seconds it was computed
from, so that a reader can check it and a wrong unit is noticed when the file is read:

    gemm       2 m n k FLOP / seconds, an (m x k) by (k x n) product
    attention  4 num_heads head_size (t L + t (t + 1) / 2) FLOP / seconds, t new tokens on L cached
    memory     bytes / seconds, all bytes that were read and written
    copies     bytes / seconds, from host to device ("pcie") or between devices ("link")

`peak_flops_per_s` has one rate a type, the best that any gemm row of it reached.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from hitpath.core import InputError
from hitpath.cost.device import Dtype, Hardware, Kind, Positive
from hitpath.cost.struct_file import read_struct

Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]
CountOrZero = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]

_AGREES_FRAC = 0.01
"""How far a rate may lie from its own shape and seconds, both as written."""


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What was measured on."""

    processor: str
    operating_system: str
    num_threads: Count
    memory_bytes: Count | None = None
    accelerator: str | None = None


class GemmRate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One matrix product."""

    dtype: Dtype
    m: Count
    n: Count
    k: Count
    seconds: Positive
    flops_per_s: Positive

    def flops(self) -> float:
        """FLOP of the product."""
        return 2.0 * self.m * self.n * self.k


class AttentionRate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One causal attention of `num_new_tokens` on `num_cached_tokens`, one layer."""

    dtype: Dtype
    num_heads: Count
    num_kv_heads: Count
    head_size: Count
    num_new_tokens: Count
    num_cached_tokens: CountOrZero
    seconds: Positive
    flops_per_s: Positive

    def flops(self) -> float:
        """FLOP of the score and value products."""
        t, cached = self.num_new_tokens, self.num_cached_tokens
        return 4.0 * self.num_heads * self.head_size * (t * cached + t * (t + 1) / 2)


class MemoryRate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One pass over memory, or one copy."""

    what: Literal["read", "copy", "pcie", "link"]
    bytes: Count
    seconds: Positive
    bytes_per_s: Positive


class HardwareFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole file."""

    schema: Literal["hitpath.hardware/1"] = "hitpath.hardware/1"
    name: str
    kind: Kind
    measured_at: str
    machine: Machine
    versions: dict[str, str]
    peak_flops_per_s: dict[Dtype, Positive]
    memory_bytes_per_s: Positive
    memory_bytes: Positive | None = None
    link_bytes_per_s: Positive | None = None
    pcie_bytes_per_s: Positive | None = None
    gemm: list[GemmRate]
    attention: list[AttentionRate] = []
    memory: list[MemoryRate]


def read_hardware_file(path: Path) -> HardwareFile:
    """The file, checked against its own rows. Raises InputError for the first thing amiss."""
    file = read_struct(path, HardwareFile)
    place = str(path)
    products: list[tuple[str, GemmRate | AttentionRate]] = [
        *((f"gemm[{i}]", row) for i, row in enumerate(file.gemm)),
        *((f"attention[{i}]", row) for i, row in enumerate(file.attention)),
    ]
    for name, row in products:
        _check_rate(place, f"{name}.flops_per_s", row.flops() / row.seconds, row.flops_per_s)
    for i, passed in enumerate(file.memory):
        _check_rate(
            place, f"memory[{i}].bytes_per_s", passed.bytes / passed.seconds, passed.bytes_per_s
        )
    for dtype, peak in file.peak_flops_per_s.items():
        rates = [gemm.flops_per_s for gemm in file.gemm if gemm.dtype == dtype]
        if not rates:
            raise InputError(place, f"peak_flops_per_s.{dtype}", "no gemm row of this type")
        _check_rate(place, f"peak_flops_per_s.{dtype}", max(rates), peak)
    return file


def _check_rate(place: str, field: str, computed: float, written: float) -> None:
    if abs(written - computed) > _AGREES_FRAC * computed:
        raise InputError(place, field, f"{written:g} does not agree with its rows: {computed:g}")


def write_hardware_file(file: HardwareFile) -> bytes:
    """The file's bytes, as `read_hardware_file` takes them."""
    return msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n"


def hardware_of_file(file: HardwareFile) -> Hardware:
    """The measured machine as the cost model takes it."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(file.versions.items()))
    device = file.machine.accelerator or file.machine.processor
    source = f"measured on {device} at {file.measured_at} with {versions or 'no versions named'}"
    rates = ("memory_bytes_per_s", "memory_bytes", "link_bytes_per_s", "pcie_bytes_per_s")
    known = [name for name in rates if getattr(file, name) is not None]
    peaks = [f"peak_flops_per_s.{dtype}" for dtype in file.peak_flops_per_s]
    return Hardware(
        name=file.name,
        title=f"{device}, measured",
        kind=file.kind,
        source=source,
        peak_flops_per_s={str(dtype): peak for dtype, peak in file.peak_flops_per_s.items()},
        memory_bytes_per_s=file.memory_bytes_per_s,
        memory_bytes=file.memory_bytes,
        link_bytes_per_s=file.link_bytes_per_s,
        pcie_bytes_per_s=file.pcie_bytes_per_s,
        sources=dict.fromkeys([*peaks, *known], source),
        measured=True,
    )
