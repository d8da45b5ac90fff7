"""Products, norms and activations of a decoder, in plain torch."""

import torch
import torch.nn.functional as F

_ROWS_TO_PACK_FOR = 64


class Linear:
    """x [T, in] -> [T, out]. `packed`: in oneDNN's own layout, made once.

    Packing pays for few rows (a third of the time at 16) and costs nothing for many. It calls
    private operators of torch; where these are absent, or the type has no packed form, F.linear.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None, packed: bool) -> None:
        self.num_elements = weight.numel()
        self._weight = weight
        self._bias = bias
        self._packed = packed and _can_pack(weight)
        if self._packed:
            self._weight = torch.ops.mkldnn._reorder_linear_weight(weight, _ROWS_TO_PACK_FOR)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self._packed:
            out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
                x, self._weight, self._bias, "none", [], ""
            )
            return out
        return F.linear(x, self._weight, self._bias)


def _can_pack(weight: torch.Tensor) -> bool:
    if weight.dtype is not torch.bfloat16 or weight.device.type != "cpu":
        return False
    names = ("_reorder_linear_weight", "_linear_pointwise")
    available = bool(torch._C._has_mkldnn)
    return available and all(hasattr(torch.ops.mkldnn, name) for name in names)


class Norm:
    """Root-mean-square norm over the last dimension; `weight` None: in the product that follows.

    Not F.rms_norm, which on a CPU makes five passes over a bf16 input: half the time at 2,000 rows.
    """

    def __init__(self, weight: torch.Tensor | None, eps: float) -> None:
        self._weight = weight
        self._eps = torch.tensor([eps], dtype=torch.float32)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        length = torch.linalg.vector_norm(x, 2, -1, keepdim=True, dtype=torch.float32)
        scale = torch.addcmul(self._eps, length, length, value=1 / x.shape[-1]).rsqrt_()
        x = x * scale.to(x.dtype)
        return x if self._weight is None else x.mul_(self._weight)


def silu(x: torch.Tensor) -> torch.Tensor:
    return F.silu(x)


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x, approximate="tanh")


ACTIVATIONS = {"silu": silu, "gelu_tanh": gelu_tanh}
