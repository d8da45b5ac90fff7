"""A model with its KV cache, ready to run: sizes settled, weights fused, tensors allocated."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module

import torch

from hitpath.core import SettingError
from hitpath.engine.attention import Attention, OneByOne
from hitpath.engine.batch import Batch
from hitpath.engine.cache import CacheShape
from hitpath.engine.capture import CheckedCapture, CudaCapture
from hitpath.engine.decoder import Decoder
from hitpath.engine.folded import Folded
from hitpath.engine.graphs import CapturedSteps
from hitpath.engine.int8 import SCALE_BYTES
from hitpath.engine.kv_tensors import KVShape, KVTensors
from hitpath.engine.memory import allocating
from hitpath.engine.model_config import ModelConfig
from hitpath.engine.output import Ends
from hitpath.engine.paged_kernels import PagedKernels, cannot_read, is_installed
from hitpath.engine.settings import EngineSettings
from hitpath.engine.weights import fuse

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

MOST_BLOCKS = 1 << 28
"""Tables hold numbers of 32 bits, and of int8 blocks there may be four times as many."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a model folder, or the tiny model, holds."""

    name: str
    config: ModelConfig
    tensors: dict[str, torch.Tensor]
    ends: Ends


@dataclass(frozen=True, slots=True)
class Model:
    """What an engine runs."""

    name: str
    decoder: Decoder
    kv: KVTensors
    scope: AbstractContextManager[object]
    captured: CapturedSteps | None
    cache_shape: CacheShape
    ends: Ends
    vocab_size: int
    max_len: int

    def forward(self, batch: Batch) -> torch.Tensor:
        """Hidden states [T, hidden]; the KV of all rows is written."""
        hidden = None if self.captured is None else self.captured.run(batch)
        return self.decoder.forward(batch) if hidden is None else hidden


def build_model(checkpoint: Checkpoint, settings: EngineSettings) -> Model:
    """Raises SettingError where the settings and the model do not go together."""
    if settings.num_threads is not None:
        torch.set_num_threads(settings.num_threads)
    config, size = checkpoint.config, settings.block_size
    device, scope = _device(settings)
    dtype = _dtype(checkpoint, settings)
    per_token = 2 * len(config.layers) * config.num_kv_heads * config.head_dim * dtype.itemsize
    num_blocks, num_compact = _num_blocks(config, settings, per_token)
    max_len = _max_len(config, settings, num_blocks * size)
    kv_shape = KVShape(
        num_layers=len(config.layers),
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        num_blocks=num_blocks,
        block_size=size,
        num_compact=num_compact,
    )
    num_tokens = (num_blocks + num_compact) * size
    with scope:
        with allocating(_kv_option(settings), f"{checkpoint.name}: KV of {num_tokens:,} tokens"):
            kv = KVTensors(kv_shape, dtype, device)
        with allocating(checkpoint.name, f"weights as {dtype}"):
            weights = fuse(
                config, checkpoint.name, checkpoint.tensors, dtype, device, settings.prepack
            )
        decoder = Decoder(config, weights, kv, _attention(config, settings, kv), max_len)
    return Model(
        name=checkpoint.name,
        decoder=decoder,
        kv=kv,
        scope=scope,
        captured=_captured(settings, decoder, kv),
        cache_shape=CacheShape(
            num_blocks=num_blocks,
            block_size=size,
            index=settings.index,
            policy=settings.eviction,
            enabled=settings.prefix_cache,
            num_compact=num_compact,
        ),
        ends=checkpoint.ends,
        vocab_size=config.vocab_size,
        max_len=max_len,
    )


def _device(settings: EngineSettings) -> tuple[torch.device, AbstractContextManager[object]]:
    """The device, and within what everything runs: there, new tensors are made on it."""
    if settings.device == "cpu":
        return torch.device("cpu"), nullcontext()
    if not torch.cuda.is_available():
        raise SettingError("device cuda", "torch sees no CUDA device")
    return torch.device("cuda"), torch.device("cuda")


def _captured(settings: EngineSettings, decoder: Decoder, kv: KVTensors) -> CapturedSteps | None:
    if settings.graphs == "off":
        return None
    capture = CudaCapture() if settings.graphs == "cuda" else CheckedCapture()
    return CapturedSteps(decoder, kv, capture)


def _num_blocks(
    config: ModelConfig, settings: EngineSettings, bytes_per_token: int
) -> tuple[int, int]:
    """(full, compact): with int8, `compact_share` of all bytes is for compact ones."""
    size = settings.block_size
    total = settings.num_blocks or settings.kv_cache_bytes // (bytes_per_token * size)
    if total < 1:
        cause = f"holds no block of {size} tokens of {bytes_per_token:,} bytes"
        raise SettingError("kv_cache_bytes", cause)
    if total > MOST_BLOCKS:
        raise SettingError(_kv_option(settings), f"{total:,} blocks are more than {MOST_BLOCKS:,}")
    if not settings.int8_shared:
        return total, 0
    per_head = config.head_dim + SCALE_BYTES
    compact_bytes = 2 * len(config.layers) * config.num_kv_heads * per_head
    num_compact = int(total * settings.compact_share * bytes_per_token / compact_bytes)
    num_full = total - int(total * settings.compact_share)
    if not num_compact or not num_full:
        raise SettingError("compact_share", f"leaves one part of {total} blocks empty")
    return num_full, num_compact


def _kv_option(settings: EngineSettings) -> str:
    """The switch that the size of the KV cache follows from."""
    return "kv_cache_bytes" if settings.num_blocks is None else "num_blocks"


def _dtype(checkpoint: Checkpoint, settings: EngineSettings) -> torch.dtype:
    name = settings.dtype or checkpoint.config.dtype or "float32"
    if name not in DTYPES:
        cause = f"the checkpoint is {name}; choose one of {', '.join(DTYPES)}"
        raise SettingError("dtype", cause)
    return DTYPES[name]


def _max_len(config: ModelConfig, settings: EngineSettings, capacity_tokens: int) -> int:
    wanted = settings.max_model_len
    if wanted is None:
        return min(config.max_positions, capacity_tokens)
    if wanted > config.max_positions:
        raise SettingError("max_model_len", f"the model has {config.max_positions:,} positions")
    if wanted > capacity_tokens:
        raise SettingError("max_model_len", f"the KV cache holds {capacity_tokens:,} tokens")
    return wanted


def _attention(config: ModelConfig, settings: EngineSettings, kv: KVTensors) -> Attention:
    """Raises SettingError where FlashInfer is asked for and cannot be had."""
    if settings.attention in ("sdpa", "plain"):
        return OneByOne(kv, fused=settings.attention == "sdpa")
    windows = frozenset(layer.window for layer in config.layers if layer.window is not None)
    folded = Folded(kv, windows)
    if settings.device != "cuda" or settings.attention == "folded":
        return folded
    why_not = cannot_read(kv) if is_installed() else "is not installed"
    if why_not is None:
        return PagedKernels(kv, import_module("flashinfer"), folded)
    if settings.attention == "flashinfer":
        raise SettingError("attention flashinfer", why_not)
    return folded
