"""In what formats a replica keeps its numbers, and in which of them it computes.

Matrix products run in the weights' own type where the hardware has a rate for it (fp8, int8, fp4
with activations in the same type), but int4 weights are widened to the activations' type first, as
GPTQ, AWQ and Marlin kernels do. Attention always runs in the activations' type. A type that the
hardware has no rate for is computed in the nearest wider one that it has (bf16 and fp16 stand in
for each other): nothing is guessed.
"""

from dataclasses import dataclass

from hitpath.core import SettingError, one_line
from hitpath.cost.device import Hardware

ELEMENT_BYTES: dict[str, float] = {
    "fp32": 4,
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,
    "int8": 1,
    "int4": 0.5,
    "fp4": 0.5,
}

_RATED_AS = {
    "fp4": ("fp4", "fp8", "bf16", "fp16", "fp32"),
    "fp8": ("fp8", "bf16", "fp16", "fp32"),
    "int8": ("int8", "bf16", "fp16", "fp32"),
    "bf16": ("bf16", "fp16", "fp32"),
    "fp16": ("fp16", "bf16", "fp32"),
    "fp32": ("fp32",),
}
"""The types in which a product of each type can run, the nearest first."""

_WEIGHT_ONLY = ("int4",)
"""Formats of weights alone: the product is computed in the activations' type."""

STATE_BYTES = 2
"""An element of a state layer's state; engines keep it in the activations' type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Formats:
    """Types by name: of stored weights, of cached KV. Raises SettingError for one not known."""

    weights: str = "bf16"
    kv: str = "bf16"

    def __post_init__(self) -> None:
        for option, name in (("--weights", self.weights), ("--kv", self.kv)):
            if name not in ELEMENT_BYTES:
                known = ", ".join(ELEMENT_BYTES)
                raise SettingError(f"{option} {one_line(name)}", f"not one of {known}")

    @property
    def weight_bytes(self) -> float:
        """Bytes of one stored weight; scales of quantised formats are not counted."""
        return ELEMENT_BYTES[self.weights]

    @property
    def kv_bytes(self) -> float:
        """Bytes of one cached element."""
        return ELEMENT_BYTES[self.kv]

    @property
    def activations(self) -> str:
        """The type of what flows between layers."""
        return self.weights if self.weights in ("fp32", "fp16") else "bf16"

    @property
    def activation_bytes(self) -> float:
        """Bytes of one element that flows between layers."""
        return ELEMENT_BYTES[self.activations]

    def matrix_type(self, hardware: Hardware) -> str:
        """The type in which this hardware multiplies with the weights."""
        wanted = self.activations if self.weights in _WEIGHT_ONLY else self.weights
        return _rated(wanted, hardware)

    def attention_type(self, hardware: Hardware) -> str:
        """The type in which this hardware computes attention."""
        return _rated(self.activations, hardware)


def _rated(wanted: str, hardware: Hardware) -> str:
    """The nearest type that the hardware has a rate for; `wanted` itself where it has none, so that
    the error names what was asked for."""
    known = hardware.peak_flops_per_s
    return next((type_ for type_ in _RATED_AS[wanted] if type_ in known), wanted)
