"""Rotary positions: the cosines and sines of every position, and turning heads by them.

Scalings as in transformers 5.24 (modeling_rope_utils.py): default, linear, llama3, yarn, longrope
(also by its older name, su). `dynamic` is refused, and longrope takes the long factors whenever the
context may outgrow the original one: in both, transformers lets the length of a prompt change the
KV of its beginning, so that no prefix could be shared.
"""

import math

import torch

from hitpath.core import SettingError
from hitpath.engine.model_config import ModelConfig, Rope

Turned = tuple[torch.Tensor, torch.Tensor]
"""Cosines [T, 1, rotary_dim] and sines [T, 1, rotary_dim / 2] of the positions of a step."""


class RopeTable:
    """All positions up to `max_len` for one kind of layer."""

    def __init__(self, rope: Rope, config: ModelConfig, max_len: int, dtype: torch.dtype) -> None:
        inverse, factor = inverse_frequencies(rope, config, max_len)
        angles = torch.outer(torch.arange(max_len, dtype=torch.float32), inverse)
        self._cos = (torch.cat((angles, angles), dim=-1).cos() * factor).to(dtype)
        self._sin = (angles.sin() * factor).to(dtype)

    def at(self, positions: torch.Tensor) -> Turned:
        """For positions int64 [T]."""
        cos, sin = self._cos.index_select(0, positions), self._sin.index_select(0, positions)
        return cos.unsqueeze(1), sin.unsqueeze(1)


def turn(heads: torch.Tensor, turned: Turned) -> torch.Tensor:
    """Heads [T, H, D] by their positions, as a new tensor; what is beyond rotary_dim stays."""
    cos, sin = turned
    half, rotary = sin.shape[-1], cos.shape[-1]
    first, second = heads[..., :half], heads[..., half:rotary]
    out = torch.empty(heads.shape, dtype=heads.dtype)
    torch.mul(heads[..., :rotary], cos, out=out[..., :rotary])
    out[..., :half].addcmul_(second, sin, value=-1)
    out[..., half:rotary].addcmul_(first, sin)
    if rotary < heads.shape[-1]:
        out[..., rotary:] = heads[..., rotary:]
    return out


def inverse_frequencies(
    rope: Rope, config: ModelConfig, max_len: int
) -> tuple[torch.Tensor, float]:
    """(float32 [rotary_dim / 2], factor for cosines and sines). Raises SettingError."""
    kind = rope.get("rope_type", "default")
    steps = torch.arange(0, rope.rotary_dim, 2, dtype=torch.int64).float() / rope.rotary_dim
    plain = 1.0 / (rope.theta**steps)
    if kind == "default":
        return plain, 1.0
    if kind == "linear":
        return plain / rope.get("factor"), 1.0
    if kind == "llama3":
        return _llama3(plain, rope), 1.0
    if kind == "yarn":
        return _yarn(plain, rope, config)
    if kind in ("longrope", "su"):
        return _longrope(rope, config, steps, max_len)
    raise SettingError("rope_scaling", f"{kind!r} is not run here")


def _llama3(plain: torch.Tensor, rope: Rope) -> torch.Tensor:
    factor, low, high = (
        rope.get(name) for name in ("factor", "low_freq_factor", "high_freq_factor")
    )
    original = rope.get("original_max_position_embeddings")
    wavelength = 2 * math.pi / plain
    slowed = torch.where(wavelength > original / low, plain / factor, plain)
    smooth = (original / wavelength - low) / (high - low)
    between = (1 - smooth) * slowed / factor + smooth * slowed
    middle = (wavelength >= original / high) & (wavelength <= original / low)
    return torch.where(middle, between, slowed)


def _yarn(plain: torch.Tensor, rope: Rope, config: ModelConfig) -> tuple[torch.Tensor, float]:
    original = rope.get("original_max_position_embeddings", config.original_positions)
    factor = rope.get("factor") or config.max_positions / original

    def scale(by: float, mscale: float = 1.0) -> float:
        return 1.0 if by <= 1 else 0.1 * mscale * math.log(by) + 1.0

    attention = rope.get("attention_factor")
    if attention is None:
        top, bottom = rope.get("mscale"), rope.get("mscale_all_dim")
        both = top and bottom
        attention = scale(factor, top) / scale(factor, bottom) if both else scale(factor)

    def dimension(rotations: float) -> float:
        turns = math.log(original / (rotations * 2 * math.pi))
        return rope.rotary_dim * turns / (2 * math.log(rope.theta))

    low = dimension(rope.get("beta_fast") or 32)
    high = dimension(rope.get("beta_slow") or 1)
    if rope.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rope.rotary_dim - 1)
    width = 0.001 if low == high else high - low
    ramp = ((torch.arange(len(plain), dtype=torch.float32) - low) / width).clamp(0, 1)
    return plain / factor * ramp + plain * (1 - ramp), float(attention)


def _longrope(
    rope: Rope, config: ModelConfig, steps: torch.Tensor, max_len: int
) -> tuple[torch.Tensor, float]:
    original = rope.get("original_max_position_embeddings", config.original_positions)
    long = max_len > original
    stretch = torch.tensor(rope.get("long_factor" if long else "short_factor"))
    factor = rope.get("factor") or config.max_positions / original
    attention = rope.get("attention_factor")
    if attention is None:
        grown = factor > 1.0
        attention = math.sqrt(1 + math.log(factor) / math.log(original)) if grown else 1.0
    return 1.0 / (stretch.float() * rope.theta**steps), float(attention)
