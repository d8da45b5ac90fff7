"""Buffers and shapes that the own attention shares."""

import torch


class Scratch:
    """Named flat buffers that grow and are used again: a step allocates no scores."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def get(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A contiguous tensor of this shape, of any content, until the name is asked for again."""
        size = 1
        for length in shape:
            size *= length
        buffer = self._buffers.get((name, dtype))
        if buffer is None or buffer.numel() < size:
            buffer = self._buffers[name, dtype] = torch.empty(size + size // 4, dtype=dtype)
        return buffer[:size].view(shape)


def fold(queries: torch.Tensor, num_kv_heads: int) -> torch.Tensor:
    """[T, query head, dim] -> [kv head, T x group, dim]: row = token x group + place in it."""
    num_tokens, num_heads, dim = queries.shape
    by_head = queries.view(num_tokens, num_kv_heads, num_heads // num_kv_heads, dim)
    return by_head.transpose(0, 1).flatten(1, 2)


def unfold_into(folded: torch.Tensor, out: torch.Tensor) -> None:
    """The reverse, into `out` [T, query head, dim]."""
    num_tokens, num_heads, dim = out.shape
    num_kv_heads = folded.shape[0]
    shape = (num_tokens, num_heads // num_kv_heads, dim)
    by_head = folded.view(num_kv_heads, *shape).transpose(0, 1)
    out.view(num_tokens, num_kv_heads, *shape[1:]).copy_(by_head)


def cap_scores(scores: torch.Tensor, cap: float | None) -> None:
    """Gemma 2's soft cap, in place."""
    if cap is not None:
        scores.div_(cap).tanh_().mul_(cap)
