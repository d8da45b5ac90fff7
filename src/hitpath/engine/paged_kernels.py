"""FlashInfer's paged kernels behind the engine's interface of attention, for CUDA GPUs.

Checked against flashinfer-python 0.7.4 (flashinfer/prefill.py, flashinfer/decode.py,
include/flashinfer/page.cuh): tables are CSR of int32 pages, a request's last page holds 1 to
page_size tokens; causal is aligned to the end of the context; `window_left` leaves the token itself
out; scores are capped after scaling; pages are read with the strides of the tensor, so the cache
stands as it does for every other attention. What has not been run is the GPU: none was at hand.
Tests hold the arguments, and what is made of them, against a stand-in on the CPU.

A step is planned once for each window of the model's layers: decodes alone through the decode
wrapper, anything else through the prefill wrapper (hits, chunks and decodes in one batch). Steps
that read int8 blocks go through the engine's own attention.
"""

from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import torch

from hitpath.engine.attention import Attention, LayerKind, Plan
from hitpath.engine.batch import Batch, Span
from hitpath.engine.kv_tensors import KVTensors

WORKSPACE_BYTES = 128 << 20
"""What FlashInfer's manual recommends."""

HEAD_DIMS = (64, 128, 256)
DTYPES = (torch.bfloat16, torch.float16)
_LAYOUT = "HND"
_BACKEND = "fa2"  # the one whose reading of strided pages was checked


def is_installed() -> bool:
    """Whether FlashInfer is; it is imported only to be used."""
    return find_spec("flashinfer") is not None


def cannot_read(kv: KVTensors) -> str | None:
    """Why FlashInfer has no kernel for this cache; None where it has."""
    if kv.dtype not in DTYPES:
        return f"has no kernels for {kv.dtype}"
    if kv.head_dim not in HEAD_DIMS:
        return f"has no kernels for heads of {kv.head_dim} elements"
    return None


class PagedKernels:
    """An Attention; `flashinfer` is the module, `otherwise` takes what it cannot read."""

    def __init__(self, kv: KVTensors, flashinfer: ModuleType | Any, otherwise: Attention) -> None:
        self._kv = kv
        self._module = flashinfer
        self._otherwise = otherwise
        self._wrappers: dict[tuple[int | None, bool], Any] = {}
        self._workspace: torch.Tensor | None = None

    def plan(self, batch: Batch) -> Plan:
        spans = batch.spans
        if any(self._kv.is_compact(span.blocks).any() for span in spans):
            return self._otherwise.plan(batch)
        return _PagedPlan(self, self._kv, spans)

    def wrapper(self, window: int | None, decodes: bool) -> Any:
        """FlashInfer's object for layers of this window; they share one workspace, for they run
        one after the other."""
        key = window, decodes
        if key not in self._wrappers:
            if self._workspace is None:
                self._workspace = torch.zeros(
                    WORKSPACE_BYTES, dtype=torch.uint8, device=self._kv.device
                )
            if decodes:  # tensor cores: the only way for every size of head groups
                made = self._module.BatchDecodeWithPagedKVCacheWrapper(
                    self._workspace, _LAYOUT, use_tensor_cores=True, backend=_BACKEND
                )
            else:
                made = self._module.BatchPrefillWithPagedKVCacheWrapper(
                    self._workspace, _LAYOUT, backend=_BACKEND
                )
            self._wrappers[key] = made
        return self._wrappers[key]


class _PagedPlan:
    def __init__(self, owner: PagedKernels, kv: KVTensors, spans: list[Span]) -> None:
        self._owner = owner
        self._kv = kv
        self._decodes = all(span.num_new == 1 for span in spans)
        size = kv.block_size
        pages = [-(-span.num_context // size) for span in spans]
        blocks = [span.blocks[:count] for span, count in zip(spans, pages, strict=True)]
        last = [s.num_context - (n - 1) * size for s, n in zip(spans, pages, strict=True)]
        # FlashInfer plans on the host: what it would copy back stays there.
        self._first_rows = _offsets([span.num_new for span in spans])
        self._first_pages = _offsets(pages)
        self._pages = kv.tensor(np.concatenate(blocks).astype(np.int32))
        self._last = torch.tensor(last, dtype=torch.int32, device="cpu")
        self._planned: dict[int | None, Any] = {}

    def attend(self, kind: LayerKind, queries: torch.Tensor) -> torch.Tensor:
        wrapper = self._planned.get(kind.window)
        if wrapper is None:
            wrapper = self._planned[kind.window] = self._plan(kind, queries)
        found: torch.Tensor = wrapper.run(queries.contiguous(), self._kv.paged(kind.number))
        return found.flatten(1)

    def _plan(self, kind: LayerKind, queries: torch.Tensor) -> Any:
        wrapper = self._owner.wrapper(kind.window, self._decodes)
        only_prefill = {} if self._decodes else {"causal": True}
        wrapper.plan(
            *([] if self._decodes else [self._first_rows]),
            self._first_pages,
            self._pages,
            self._last,
            queries.shape[1],
            self._kv.num_kv_heads,
            self._kv.head_dim,
            self._kv.block_size,
            **only_prefill,
            sm_scale=1.0,  # queries come scaled
            window_left=-1 if kind.window is None else kind.window - 1,
            logits_soft_cap=kind.score_cap,
            q_data_type=queries.dtype,
            kv_data_type=self._kv.dtype,
        )
        return wrapper


def _offsets(counts: list[int]) -> torch.Tensor:
    """int32 [N + 1] on the host: 0, then the running sums."""
    return torch.tensor([0, *np.cumsum(counts).tolist()], dtype=torch.int32, device="cpu")
