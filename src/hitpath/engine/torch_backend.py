"""The measurement in torch: fp32 and bf16, on the processor or on a CUDA GPU.

Matrix products are torch.mm in full precision (no TF32), attention is torch's
scaled_dot_product_attention. The CUDA side has not been run: no GPU was at hand where it was
written, and the page of a run on one says so.
"""

import importlib
import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from hitpath.core import SettingError
from hitpath.cost.device import Dtype, Kind
from hitpath.engine.backend import AttentionCase
from hitpath.engine.machine import last_level_cache_bytes, memory_bytes, num_cores
from hitpath.engine.numpy_backend import USUAL_CACHE_BYTES
from hitpath.engine.timing import Call
from hitpath.engine.triad import MemoryPass, host_passes


def import_torch() -> tuple[Any | None, str]:
    """(torch, "") or (None, why it is not there)."""
    try:
        return importlib.import_module("torch"), ""
    except ModuleNotFoundError:
        return None, "not installed"
    except (ImportError, OSError) as error:
        return None, f"cannot be loaded: {str(error).splitlines()[0] if str(error) else 'no cause'}"


class TorchBackend:
    """fp32 and bf16 on "cpu" or "cuda" (the current device)."""

    dtypes: tuple[Dtype, ...] = ("fp32", "bf16")

    def __init__(self, torch: Any, device: str) -> None:
        if device == "cuda" and not torch.cuda.is_available():
            raise SettingError("--device cuda", "torch sees no CUDA device here")
        self._torch, self._device = torch, device
        self._attend = torch.nn.functional.scaled_dot_product_attention
        self._causal = importlib.import_module("torch.nn.attention.bias").causal_lower_right
        torch.set_float32_matmul_precision("highest")
        torch.manual_seed(0)
        self.versions = {"torch": str(torch.__version__), **_libraries(torch)}
        self.notes: tuple[str, ...] = ()
        self.kind: Kind = "cpu"
        self.accelerator: str | None = None
        self.cache_bytes = last_level_cache_bytes() or USUAL_CACHE_BYTES
        self.memory_bytes = memory_bytes()
        if device == "cuda":
            properties = torch.cuda.get_device_properties(0)
            self.kind, self.accelerator = "gpu", str(properties.name)
            self.cache_bytes = getattr(properties, "L2_cache_size", USUAL_CACHE_BYTES)
            self.memory_bytes = properties.total_memory
            self.notes = (
                "measuring on CUDA has not been tried on a GPU by hitpath's makers",
                "links between GPUs are not measured: the file has no link_bytes_per_s",
            )
            self.versions["cuda"] = str(torch.version.cuda)

    def gemm(self, dtype: Dtype, m: int, n: int, k: int, num_copies: int) -> Call:
        torch = self._torch
        inputs, out = self._normal(dtype, m, k), self._normal(dtype, m, n)
        first = self._normal(dtype, n, k)
        weights = cycle([first, *(first.clone() for _ in range(num_copies - 1))])
        return lambda: torch.mm(inputs, next(weights).t(), out=out)

    def attention(self, dtype: Dtype, case: AttentionCase, num_copies: int) -> Call:
        queries = self._normal(dtype, 1, case.num_heads, case.num_new, case.head_size)
        first = self._normal(dtype, 2, 1, case.num_kv_heads, case.num_tokens, case.head_size)
        kept = cycle([first, *(first.clone() for _ in range(num_copies - 1))])
        options: dict[str, Any] = {"enable_gqa": True}
        if case.num_cached == 0:
            options["is_causal"] = True
        elif case.num_new > 1:
            options["attn_mask"] = self._causal(case.num_new, case.num_tokens)

        def attend() -> object:
            keys, values = next(kept)
            return self._attend(queries, keys, values, **options)

        return attend

    def memory_passes(self, array_bytes: int) -> Iterator[MemoryPass]:
        if self._device == "cpu":
            yield from host_passes(array_bytes, num_cores())
            return
        torch, length = self._torch, array_bytes // 4
        a, b, c = (torch.full((length,), value, device="cuda") for value in (0.0, 1.0, 2.0))
        triad = lambda: torch.add(b, c, alpha=3.0, out=a)  # noqa: E731
        yield MemoryPass("triad", "copy", 3 * array_bytes, triad)
        pinned = torch.empty(length, pin_memory=True)
        copy = lambda: a.copy_(pinned, non_blocking=True)  # noqa: E731
        yield MemoryPass("host to device", "pcie", array_bytes, copy)

    def wait(self) -> None:
        """For the GPU; torch on the processor runs at once."""
        if self._device == "cuda":
            self._torch.cuda.synchronize()

    def _normal(self, dtype: Dtype, *shape: int) -> Any:
        kind = {"fp32": self._torch.float32, "bf16": self._torch.bfloat16}[dtype]
        return self._torch.randn(*shape, dtype=kind, device=self._device)


def _libraries(torch: Any) -> dict[str, str]:
    """MKL and oneDNN, as torch says that it was built with them."""
    built = torch.__config__.show()
    found = {}
    for name, pattern in (
        ("mkl", r"Math Kernel Library Version ([\w.-]+)"),
        ("onednn", r"MKL-DNN v([\w.]+)"),
    ):
        match = re.search(pattern, built)
        if match:
            found[name] = match[1]
    return found
