"""Weights of a model folder (safetensors) as the fused products of a decoder.

Query, key and value are one product, gate and up another. The scale of the attention scores is
multiplied into the query weights (or into the query norm, which would undo it), a norm's weights
into the product that follows it, Gemma's `1 +` into its norms. A tensor that the model needs and
the files lack, or have in another shape, is refused; so is one that nothing would read.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import torch

from hitpath.core import SettingError
from hitpath.engine.layers import Linear, Norm
from hitpath.engine.model_config import ModelConfig


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Of one decoder layer; norms that a family does not have are None."""

    before_attention: Norm
    after_attention: Norm | None
    before_mlp: Norm
    after_mlp: Norm | None
    query_norm: Norm | None
    key_norm: Norm | None
    qkv: Linear
    out: Linear
    gate_up: Linear
    down: Linear


@dataclass(frozen=True, slots=True)
class Weights:
    """Of a whole decoder. `embedding` is [vocabulary, hidden]."""

    embedding: torch.Tensor
    layers: tuple[LayerWeights, ...]
    norm: Norm
    head: Linear


class Tensors:
    """Named tensors of one type; those asked for by name and shape."""

    def __init__(
        self,
        place: str,
        tensors: dict[str, torch.Tensor],
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._place = place
        self._tensors = tensors
        self.dtype = dtype
        self._device = device
        self._left = set(tensors)

    def get(self, name: str, *shape: int) -> torch.Tensor:
        """Raises SettingError where there is none of this shape."""
        tensor = self.optional(name, *shape)
        if tensor is None:
            raise SettingError(self._place, f"has no tensor {name}")
        return tensor

    def optional(self, name: str, *shape: int) -> torch.Tensor | None:
        tensor = self._tensors.get(name)
        if tensor is None:
            return None
        self._left.discard(name)
        if tuple(tensor.shape) != shape:
            raise SettingError(self._place, f"{name} is {list(tensor.shape)}, not {list(shape)}")
        return tensor.to(self._device, self.dtype)

    def check_all_used(self) -> None:
        """A tensor that nothing reads is arithmetic that would be left out: SettingError. Tables
        of positions, which older files have, and the head's copy of a tied embedding may stand."""
        left = sorted(n for n in self._left if not n.endswith(("inv_freq", "lm_head.weight")))
        if left:
            raise SettingError(self._place, f"{left[0]} is not known in this family of models")

    def fused(self, names: list[str], heights: list[int], width: int) -> torch.Tensor:
        """Weights under each other: [sum of heights, width]."""
        parts = [self.get(name, high, width) for name, high in zip(names, heights, strict=True)]
        return torch.cat(parts)

    def fused_bias(self, names: list[str], heights: list[int]) -> torch.Tensor | None:
        """Biases behind each other, zeros for those that are absent; None without any."""
        parts = [self.optional(name, high) for name, high in zip(names, heights, strict=True)]
        if all(part is None for part in parts):
            return None
        return torch.cat(
            [
                torch.zeros(high, dtype=self.dtype) if part is None else part
                for part, high in zip(parts, heights, strict=True)
            ]
        )


def read_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """All tensors of model.safetensors, or of the files that its index lists."""
    try:
        from safetensors.torch import load_file
    except ImportError as error:
        raise SettingError(str(folder), "needs safetensors: install hitpath[engine]") from error
    index = folder / "model.safetensors.index.json"
    try:
        names = ["model.safetensors"]
        if index.exists():
            listed = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
            names = sorted(set(listed.values()))
        found: dict[str, torch.Tensor] = {}
        for name in names:
            found.update(load_file(folder / name))
    except Exception as error:  # safetensors raises an error type of its own, and of others
        raise SettingError(str(folder), " ".join(str(error).split())) from error
    return found


def fuse(
    config: ModelConfig,
    place: str,
    tensors: dict[str, torch.Tensor],
    dtype: torch.dtype,
    device: torch.device,
    pack: bool,
) -> Weights:
    """The decoder's products from a checkpoint's tensors. Raises SettingError."""
    source = Tensors(place, tensors, dtype, device)
    embedding = source.get("model.embed_tokens.weight", config.vocab_size, config.hidden_size)
    head = embedding
    if not config.tied and (config.tied is False or "lm_head.weight" in tensors):
        head = source.get("lm_head.weight", config.vocab_size, config.hidden_size)
    fuser = _Fuser(config, source, pack)
    weights = Weights(
        embedding=embedding,
        layers=tuple(fuser.layer(f"model.layers.{i}.") for i in range(len(config.layers))),
        norm=fuser.bare,
        head=Linear(head * fuser.norm_weight("model.norm", config.hidden_size), None, pack),
    )
    source.check_all_used()
    return weights


class _Fuser:
    """One layer after another. Norms that a product follows are bare: their weights stand in it."""

    def __init__(self, config: ModelConfig, source: Tensors, pack: bool) -> None:
        self._config = config
        self._source = source
        self._pack = pack
        self.bare = Norm(None, config.norm_eps)

    def norm_weight(self, name: str, size: int) -> torch.Tensor:
        weight = self._source.get(f"{name}.weight", size).float()
        weight = weight + 1.0 if self._config.norm_plus_one else weight
        return weight.to(self._source.dtype)

    def layer(self, at: str) -> LayerWeights:
        config, sandwich = self._config, self._config.sandwich_norms
        before_mlp = "pre_feedforward_layernorm" if sandwich else "post_attention_layernorm"
        scale = config.query_scale
        return LayerWeights(
            before_attention=self.bare,
            after_attention=self._norm(f"{at}post_attention_layernorm") if sandwich else None,
            before_mlp=self.bare,
            after_mlp=self._norm(f"{at}post_feedforward_layernorm") if sandwich else None,
            query_norm=self._head_norm(f"{at}self_attn.q_norm", scale) if config.qk_norm else None,
            key_norm=self._head_norm(f"{at}self_attn.k_norm", 1.0) if config.qk_norm else None,
            qkv=self._qkv(f"{at}self_attn.", f"{at}input_layernorm"),
            out=self._linear(f"{at}self_attn.o_proj", config.num_heads * config.head_dim),
            gate_up=self._gate_up(f"{at}mlp.", f"{at}{before_mlp}"),
            down=self._linear(f"{at}mlp.down_proj", config.intermediate_size),
        )

    def _norm(self, name: str) -> Norm:
        weight = self.norm_weight(name, self._config.hidden_size)
        return Norm(weight, self._config.norm_eps)

    def _head_norm(self, name: str, scale: float) -> Norm:
        weight = self.norm_weight(name, self._config.head_dim)
        return Norm(weight * scale, self._config.norm_eps)

    def _linear(self, name: str, width: int) -> Linear:
        high = self._config.hidden_size
        weight = self._source.get(f"{name}.weight", high, width)
        return Linear(weight, self._source.optional(f"{name}.bias", high), self._pack)

    def _qkv(self, at: str, norm: str) -> Linear:
        config = self._config
        of_queries, of_keys = (n * config.head_dim for n in (config.num_heads, config.num_kv_heads))
        heights, names = [of_queries, of_keys, of_keys], ["q_proj", "k_proj", "v_proj"]
        if config.family == "phi3":
            heights, names = [sum(heights)], ["qkv_proj"]
        weight, bias = self._fused([at + name for name in names], heights, norm)
        if not config.qk_norm:
            for tensor in (weight, bias):
                if tensor is not None:
                    tensor[:of_queries] *= config.query_scale
        return Linear(weight, bias, self._pack)

    def _gate_up(self, at: str, norm: str) -> Linear:
        heights, names = [self._config.intermediate_size] * 2, ["gate_proj", "up_proj"]
        if self._config.family == "phi3":
            heights, names = [sum(heights)], ["gate_up_proj"]
        return Linear(*self._fused([at + name for name in names], heights, norm), self._pack)

    def _fused(
        self, names: list[str], heights: list[int], norm: str
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        width = self._config.hidden_size
        weight = self._source.fused([f"{name}.weight" for name in names], heights, width)
        bias = self._source.fused_bias([f"{name}.bias" for name in names], heights)
        return weight.mul_(self.norm_weight(norm, width)), bias
