"""How much of its peaks a machine reaches: named settings, each with its origin.

"ideal" is the roofline itself, a bound that no server reaches. "achievable" is what published
measurements reached at best on that very hardware; where none was seen it is refused rather than
carried over from other hardware. What a server reaches lies lower still: `hitpath price --fit`
takes it from measured rows.

Origins of "achievable":
  compute  the best bf16 or fp8 matrix product over a search of shapes, divided by the dense peak
           (Stas Bekman, Machine Learning Engineering, accelerators, "Maximum Achievable Matmul
           FLOPS comparison table", commit b9e2972: torch 2.5 to 2.7)
  memory   0.8: the correction that NVIDIA's own estimator applies to the memory rate of every GPU
           in its table (aiconfigurator-core 0.12.0, mem_bw_empirical_scaling_factor, which it
           calls non-official)
  link     370 of 450 GB/s: what NCCL's protocol leaves of NVLink's line rate, by its maintainer
           (NVIDIA/nccl-tests issue 212)
The overhead of a step was seen for no current engine in a form that fits other machines (vLLM's
issue 6854 reports about 4 ms a step for its engine of July 2024), so it is 0 until it is fitted.
"""

from dataclasses import dataclass

from hitpath.core import SettingError
from hitpath.cost.device import Hardware

EFFICIENCIES = ("ideal", "achievable")

# (hardware, type): FLOP a second of the best product found
_BEST_GEMM_FLOPS_PER_S = {
    ("a100-sxm-40gb", "bf16"): 271.2e12,
    ("a100-sxm-80gb", "bf16"): 271.2e12,
    ("a100-pcie-40gb", "bf16"): 252.9e12,
    ("a100-pcie-80gb", "bf16"): 252.9e12,
    ("h100-sxm", "bf16"): 794.5e12,
    ("h100-sxm", "fp8"): 1402.6e12,
}
_MEMORY_FRAC = 0.8
_LINK_FRAC = 370 / 450

_PARTS = ("compute", "memory", "link", "overhead_s")
LEAST_FRAC = 1e-6
"""A share of a peak below which no kernel runs: a slip of the pen."""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Shares of the peaks, from LEAST_FRAC to 1, and seconds that each step costs besides."""

    name: str
    compute_frac: float
    memory_frac: float
    link_frac: float
    step_overhead_s: float
    origin: str

    def __post_init__(self) -> None:
        for part in ("compute_frac", "memory_frac", "link_frac"):
            if not LEAST_FRAC <= getattr(self, part) <= 1:
                cause = f"{part} is {getattr(self, part):g}, not from {LEAST_FRAC:g} to 1"
                raise SettingError(f"--efficiency {self.name}", cause)
        if not 0 <= self.step_overhead_s < 3600:
            cause = f"{self.step_overhead_s:g} s a step is no overhead"
            raise SettingError(f"--efficiency {self.name}", cause)


IDEAL = Efficiency("ideal", 1.0, 1.0, 1.0, 0.0, "the roofline: every peak reached, no overhead")


def load_efficiency(setting: str, hardware: Hardware, dtype: str) -> Efficiency:
    """A setting by name, or given: "compute=0.6,memory=0.8,link=0.8,overhead_s=0.002".

    Parts left out of a given one are ideal. Raises SettingError for what is neither, and for
    "achievable" on hardware that no measurement was seen of.
    """
    if setting == "ideal":
        return IDEAL
    if setting == "achievable":
        return _achievable(hardware, dtype)
    given = given_parts(setting)
    return Efficiency(
        name=",".join(f"{name}={value:.4g}" for name, value in given.items()),
        compute_frac=given.get("compute", 1.0),
        memory_frac=given.get("memory", 1.0),
        link_frac=given.get("link", 1.0),
        step_overhead_s=given.get("overhead_s", 0.0),
        origin="given",
    )


def given_parts(setting: str) -> dict[str, float]:
    """The parts of a given setting, by name. Raises SettingError for what is none."""
    option = f"--efficiency {setting}"
    given: dict[str, float] = {}
    for part in setting.split(","):
        name, _, text = part.partition("=")
        if name not in _PARTS or name in given:
            names = ", ".join(EFFICIENCIES)
            raise SettingError(option, f"neither {names} nor parts of {', '.join(_PARTS)}")
        try:
            given[name] = float(text)
        except ValueError:
            raise SettingError(option, f"{name}: {text!r} is no number") from None
    return given


def _achievable(hardware: Hardware, dtype: str) -> Efficiency:
    if hardware.measured:
        cause = f"{hardware.name} was measured: its rates are what it achieves; use ideal"
        raise SettingError("--efficiency achievable", cause)
    best = _BEST_GEMM_FLOPS_PER_S.get((hardware.name, dtype))
    if best is None:
        known = ", ".join(sorted({name for name, _ in _BEST_GEMM_FLOPS_PER_S}))
        cause = f"no measurement of {hardware.name} in {dtype} (there is one of {known})"
        raise SettingError("--efficiency achievable", cause)
    return Efficiency(
        name="achievable",
        compute_frac=best / hardware.peak(dtype),
        memory_frac=_MEMORY_FRAC,
        link_frac=_LINK_FRAC,
        step_overhead_s=0.0,
        origin=(
            f"best {dtype} matrix product measured on {hardware.name} ({best / 1e12:g} TFLOPS, "
            "ml-engineering), NVIDIA aiconfigurator's memory correction, NCCL's protocol overhead"
        ),
    )
