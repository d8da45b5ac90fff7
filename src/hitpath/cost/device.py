"""One device as the cost model takes it: dense peaks by type, memory and link rates.

Rates are bytes a second in one direction: `link_bytes_per_s` over all GPU-to-GPU links of one
GPU together (what a ring or an all-to-all can use), `pcie_bytes_per_s` between one GPU and its
host.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

import msgspec

from hitpath.core import SettingError

Dtype = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4", "fp4"]
Kind = Literal["gpu", "apple", "tpu", "cpu"]
DTYPES: tuple[str, ...] = get_args(Dtype)

Positive = Annotated[float, msgspec.Meta(gt=0, le=1e24)]
"""A rate or a size in a file: no zero, nothing that overflows in a product."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """Rates of one device. None: not known; a price that needs it is refused, not guessed.

    `sources` has the origin of each number by its field's name ("peak_flops_per_s.bf16",
    "memory_bytes_per_s" ...). `measured`: the rates are this machine's, not a sheet's peaks.
    """

    name: str
    title: str
    kind: Kind
    source: str
    peak_flops_per_s: Mapping[str, float]
    memory_bytes_per_s: float | None
    memory_bytes: float | None
    link_bytes_per_s: float | None
    pcie_bytes_per_s: float | None
    sources: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    measured: bool = False

    def peak(self, dtype: str) -> float:
        """FLOP a second at most in `dtype`, dense. Raises SettingError where it is not known."""
        found = self.peak_flops_per_s.get(dtype)
        if found is None:
            known = ", ".join(d for d in DTYPES if d in self.peak_flops_per_s) or "none"
            cause = f"its {dtype} peak is not known (known: {known}); measure it: hitpath calibrate"
            raise SettingError(f"--hardware {self.name}", cause)
        return found

    def ridge_point(self, dtype: str) -> float:
        """FLOP a byte above which work is bound by computing: peak / memory rate.

        Raises SettingError where one of the two is not known.
        """
        peak = self.peak(dtype)
        if self.memory_bytes_per_s is None:
            raise SettingError(f"--hardware {self.name}", "its memory rate is not known")
        return peak / self.memory_bytes_per_s
