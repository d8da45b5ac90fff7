"""The roofline: the time of some work is the longer of its arithmetic and its traffic.

    seconds = max(FLOPs / (peak x efficiency), bytes / (memory rate x efficiency))

(Williams, Waterman, Patterson, CACM 52(4), 2009.) The ridge point is the intensity at which the
two are equal. Work on several GPUs is divided evenly between them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hitpath.core import SettingError
from hitpath.cost.device import Hardware
from hitpath.cost.efficiency import load_efficiency
from hitpath.cost.formats import Formats

Amount = Any
"""A number, or a numpy array of them: the formulas of the paths hold for both (see Ops)."""

Bound = Literal["compute", "memory", "link", "none"]


@dataclass(frozen=True, slots=True)
class Ops:
    """The three functions that numbers and arrays do not share."""

    least: Callable[[Amount, Amount], Amount]
    most: Callable[[Amount, Amount], Amount]
    expm1: Callable[[Amount], Amount]


@dataclass(frozen=True, slots=True)
class Work:
    """What some products do and move, over all GPUs together. `kv_bytes`: cached KV (and states)
    read and written; `other_bytes`: what flows in and out besides."""

    flops: Amount = 0
    weight_bytes: Amount = 0
    kv_bytes: Amount = 0
    other_bytes: Amount = 0

    @property
    def num_bytes(self) -> Amount:
        """All bytes together."""
        return self.weight_bytes + self.kv_bytes + self.other_bytes

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.flops + other.flops,
            self.weight_bytes + other.weight_bytes,
            self.kv_bytes + other.kv_bytes,
            self.other_bytes + other.other_bytes,
        )

    def times(self, count: int) -> "Work":
        """Of so many equal layers."""
        return Work(
            count * self.flops,
            count * self.weight_bytes,
            count * self.kv_bytes,
            count * self.other_bytes,
        )


def matrix_product(
    rows: int, inputs: int, outputs: int, weight_bytes: float = 2, activation_bytes: float = 2
) -> Work:
    """(rows x inputs) by (inputs x outputs): weights read once, inputs read, outputs written."""
    return Work(
        flops=2 * rows * inputs * outputs,
        weight_bytes=weight_bytes * inputs * outputs,
        other_bytes=activation_bytes * rows * (inputs + outputs),
    )


def intensity(flops: float, num_bytes: float) -> float | None:
    """FLOP a byte; None where nothing is moved."""
    return flops / num_bytes if num_bytes else None


@dataclass(frozen=True, slots=True)
class Roofline:
    """Rates that one GPU reaches, efficiencies applied. `link_bytes_per_s` None: not known.

    `matrix_type`, `attention_type`: the types computed in; `efficiency`, `origin`: the setting's
    name and where its shares come from.
    """

    num_gpus: int
    matrix_type: str
    attention_type: str
    matrix_flops_per_s: float
    attention_flops_per_s: float
    memory_bytes_per_s: float
    link_bytes_per_s: float | None
    step_overhead_s: float
    efficiency: str
    origin: str

    def matrix_seconds(self, work: Work, ops: Ops) -> Amount:
        """Of a matrix product."""
        arithmetic_s = work.flops / (self.num_gpus * self.matrix_flops_per_s)
        return ops.most(arithmetic_s, self.traffic_s(work))

    def attention_seconds(self, work: Work, ops: Ops) -> Amount:
        """Of attention or a state layer."""
        return ops.most(self.attention_arithmetic_s(work), self.traffic_s(work))

    def attention_arithmetic_s(self, work: Work) -> Amount:
        """Seconds of the FLOPs alone."""
        return work.flops / (self.num_gpus * self.attention_flops_per_s)

    def traffic_s(self, work: Work) -> Amount:
        """Seconds of the bytes alone."""
        return work.num_bytes / (self.num_gpus * self.memory_bytes_per_s)

    @property
    def matrix_ridge(self) -> float:
        """FLOP a byte above which matrix products are bound by computing."""
        return self.matrix_flops_per_s / self.memory_bytes_per_s

    @property
    def attention_ridge(self) -> float:
        """The same for attention."""
        return self.attention_flops_per_s / self.memory_bytes_per_s

    def bound(self, work: Work, flops_per_s: float) -> Bound:
        """Which of the two takes longer for all of the work; a tie is compute's."""
        arithmetic, traffic = work.flops / flops_per_s, work.num_bytes / self.memory_bytes_per_s
        return "compute" if arithmetic >= traffic else "memory"


def load_roofline(
    hardware: Hardware, formats: Formats, num_gpus: int, efficiency: str = "ideal"
) -> Roofline:
    """The roofline of so many GPUs. Raises SettingError for a rate that is not known."""
    matrix_type = formats.matrix_type(hardware)
    attention_type = formats.attention_type(hardware)
    products = load_efficiency(efficiency, hardware, matrix_type)
    attention = load_efficiency(efficiency, hardware, attention_type)
    if hardware.memory_bytes_per_s is None:
        raise SettingError(f"--hardware {hardware.name}", "its memory rate is not known")
    link = hardware.link_bytes_per_s
    if num_gpus > 1 and link is None:
        cause = "its link rate is not known, so no all-reduce can be timed; use --tp 1"
        raise SettingError(f"--hardware {hardware.name}", cause)
    return Roofline(
        num_gpus=num_gpus,
        matrix_type=matrix_type,
        attention_type=attention_type,
        matrix_flops_per_s=hardware.peak(matrix_type) * products.compute_frac,
        attention_flops_per_s=hardware.peak(attention_type) * attention.compute_frac,
        memory_bytes_per_s=hardware.memory_bytes_per_s * products.memory_frac,
        link_bytes_per_s=None if link is None else link * products.link_frac,
        step_overhead_s=products.step_overhead_s,
        efficiency=products.name,
        origin=products.origin,
    )
