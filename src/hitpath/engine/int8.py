"""Keys and values in 8 bits: one scale for each token and head, the largest element at 127.

Symmetric rounding to the nearest, scales in fp32 (a 16-bit one would lose small tokens or clip
large ones): an element is off by half a 127th of its token's largest. Bytes: dim + 4, against 2 dim
in bf16.
"""

import torch

SCALE_BYTES = 4
_LARGEST = 127


def quantise(full: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """[..., dim] -> (int8 [..., dim], fp32 scales [...])."""
    full = full.float()
    scales = full.abs().amax(-1) / _LARGEST
    # A token of zeros has scale 0, and stays zeros.
    steps = full / scales.clamp_min(torch.finfo(torch.float32).tiny).unsqueeze(-1)
    return steps.round_().clamp_(-_LARGEST, _LARGEST).to(torch.int8), scales


def restore(quantised: torch.Tensor, scales: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The reverse, in `dtype`."""
    return quantised.to(dtype).mul_(scales.to(dtype).unsqueeze(-1))
