"""Graph capture: a function over buffers that stay where they are, recorded once, replayed often.

Two kinds behind one interface. `CudaCapture` is torch's CUDA graph; it has not been run by
hitpath's makers, for want of a GPU. `CheckedCapture` runs on any device what a graph would run, and
holds it to a graph's rules: on every replay the buffers must be the same memory, and the operators,
in order, with their shapes, those of the capture. What breaks a rule would be wrong on a GPU, and
nobody would be told.
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode

Buffers = dict[str, torch.Tensor]
Body = Callable[[], torch.Tensor]


class Captured(Protocol):
    """A recorded function."""

    def replay(self) -> torch.Tensor:
        """Run it on what stands in its buffers now; the result, valid until the next replay."""


class Capture(Protocol):
    """A way to record."""

    def capture(self, body: Body, buffers: Buffers) -> Captured:
        """`body` reads its inputs from `buffers` alone, and has the same shapes every time."""


class CaptureError(Exception):
    """A replay that a graph could not have done: a fault of the engine, not of its user."""


class CudaCapture:
    """torch.cuda.CUDAGraph, after warm-up runs on a side stream, as torch's manual has it."""

    def capture(self, body: Body, buffers: Buffers) -> Captured:
        cuda: Any = torch.cuda
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            for _ in range(2):
                body()
        cuda.current_stream().wait_stream(side)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            out = body()
        return _CudaCaptured(graph, out)


class _CudaCaptured:
    def __init__(self, graph: Any, out: torch.Tensor) -> None:
        self._graph = graph
        self._out = out

    def replay(self) -> torch.Tensor:
        self._graph.replay()
        return self._out


class CheckedCapture:
    """See the module."""

    def capture(self, body: Body, buffers: Buffers) -> Captured:
        operators: list[object] = []
        with _operators(operators):
            body()
        return _CheckedCaptured(body, buffers, _places(buffers), operators)


class _CheckedCaptured:
    def __init__(
        self, body: Body, buffers: Buffers, places: dict[str, object], operators: list[object]
    ) -> None:
        self._body = body
        self._buffers = buffers
        self._places = places
        self._operators = operators

    def replay(self) -> torch.Tensor:
        if _places(self._buffers) != self._places:
            raise CaptureError("a buffer is not where it was captured")
        now: list[object] = []
        with _operators(now):
            out = self._body()
        if now != self._operators:
            pairs = enumerate(zip(now, self._operators, strict=False))
            shorter = min(len(now), len(self._operators))
            at = next((i for i, (one, other) in pairs if one != other), shorter)
            raise CaptureError(f"operator {at} is not the one that was captured")
        return out


def _places(buffers: Buffers) -> dict[str, object]:
    return {
        name: (buffer.data_ptr(), tuple(buffer.shape), buffer.dtype)
        for name, buffer in buffers.items()
    }


def _operators(seen: list[object]) -> Any:
    """A context in which every operator, with the shapes of its results, is put down in `seen`."""

    def dispatch(
        self: Any, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:
            raise CaptureError("a value was read out of a tensor: a graph cannot wait for it")
        out = func(*args, **(kwargs or {}))
        results = out if isinstance(out, tuple | list) else (out,)
        shapes = tuple(tuple(r.shape) for r in results if isinstance(r, torch.Tensor))
        seen.append((str(func), shapes))
        return out

    return type("Operators", (TorchDispatchMode,), {"__torch_dispatch__": dispatch})()
