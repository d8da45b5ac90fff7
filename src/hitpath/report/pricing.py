"""What was typed about prices, as what the analysis takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hitpath.core import SettingError

if TYPE_CHECKING:
    from hitpath.cost.models import ModelKV
    from hitpath.cost.price_list import PriceList
    from hitpath.cost.pricing import Pricing


_PLAIN_KV_DTYPE = "bf16"


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of `hitpath analyze` about the cost of prefill, as typed."""

    model: str | None
    kv_dtype: str
    hardware: str | None
    tp: int = 1
    weights: str = "bf16"
    efficiency: str = "ideal"
    mla: str = "faster"
    chunk: int | None = None
    decode_batch: int = 1
    gpu_hour_usd: float | None = None

    def without_hardware(self) -> list[str]:
        """Options that say nothing where no hardware is named."""
        plain = Asked(self.model, self.kv_dtype, None)
        names = {"gpu_hour_usd": "--gpu-hour", "decode_batch": "--decode-batch"}
        return [
            names.get(name, f"--{name}")
            for name in ("tp", "weights", "efficiency", "mla", "chunk", *names)
            if getattr(self, name) != getattr(plain, name)
        ]


def asked_pricing(asked: Asked) -> "Pricing | None":
    """None where no hardware is named. Raises HitpathError."""
    check_kv_dtype(asked.model, asked.kv_dtype)
    if asked.hardware is None:
        for option in asked.without_hardware():
            raise SettingError(option, "needs --hardware, to know what prefill costs")
        return None
    if asked.model is None:
        raise SettingError("--hardware", "needs --model, to know what prefill computes")
    from hitpath.cost.pricing import load_pricing

    return load_pricing(
        asked.model,
        asked.hardware,
        num_gpus=asked.tp,
        weights=asked.weights,
        kv_dtype=asked.kv_dtype,
        efficiency=asked.efficiency,
        mla=asked.mla,
        chunk_tokens=asked.chunk,
        decode_batch=asked.decode_batch,
        gpu_hour_usd=asked.gpu_hour_usd,
    )


def check_kv_dtype(model: str | None, kv_dtype: str) -> None:
    """Raise SettingError where nothing has the type that is asked for."""
    if model is None and kv_dtype != _PLAIN_KV_DTYPE:
        raise SettingError("--kv-dtype", "needs --model, whose KV it is of")


def asked_prices(references: Sequence[str]) -> "PriceList | None":
    """None where none is named. Raises SettingError."""
    if not references:
        return None
    from hitpath.cost.price_list import load_price_list

    return load_price_list(references)


def kv_of(asked: Asked, needed: bool) -> "ModelKV | None":
    """Bytes of KV a token. None where no model is named, and where they are no constant but only
    the model's cost is asked for. Raises HitpathError."""
    if asked.model is None:
        return None
    from hitpath.cost.kv import has_constant_kv
    from hitpath.cost.model_table import load_shape
    from hitpath.cost.models import load_model

    if asked.hardware is not None and not needed and not has_constant_kv(load_shape(asked.model)):
        return None
    return load_model(asked.model, asked.kv_dtype)


def capacity_of(gib: float | None, tokens: int | None, model: "ModelKV | None") -> int | None:
    """The capacity in tokens, from whichever of the two sizes is given. Raises SettingError."""
    if gib is None:
        return tokens
    if model is None:
        raise SettingError("--capacity-gib", "needs --model, to know the bytes of a token")
    if tokens is not None:
        raise SettingError("--capacity-gib", "and --capacity-tokens are the same; give one")
    return model.tokens(gib)
