"""How a trace's prefill is priced: a model on hardware, and what the user says besides."""

from dataclasses import dataclass

from hitpath.core import MAX_TOKENS, SettingError
from hitpath.cost.attention import LatentForm
from hitpath.cost.formats import Formats
from hitpath.cost.hardware import load_hardware
from hitpath.cost.model_table import load_shape
from hitpath.cost.paths import Replica, replica_of

LATENT_FORMS: dict[str, LatentForm | None] = {
    "faster": None,
    "absorbed": "absorbed",
    "unabsorbed": "unabsorbed",
}
"""The words of `--mla`."""


@dataclass(frozen=True, slots=True)
class Pricing:
    """`gpu_hour_usd`: None where the user names no price. `chunk_tokens`: new tokens of a request
    a step, None for all at once. `decode_batch`: requests that share a step of decoding."""

    replica: Replica
    gpu_hour_usd: float | None = None
    chunk_tokens: int | None = None
    decode_batch: int = 1

    def __post_init__(self) -> None:
        usd, chunk = self.gpu_hour_usd, self.chunk_tokens
        if usd is not None and not 0 < usd < 1e6:
            raise SettingError(f"--gpu-hour {usd:g}", "is no price of a GPU-hour")
        if chunk is not None and not 1 <= chunk <= MAX_TOKENS:
            raise SettingError(f"--chunk {chunk}", f"is not from 1 to {MAX_TOKENS:,}")
        if not 1 <= self.decode_batch <= 1 << 20:
            raise SettingError(f"--decode-batch {self.decode_batch}", "is not from 1 to 1,048,576")


def load_pricing(
    model: str,
    hardware: str,
    *,
    num_gpus: int = 1,
    weights: str = "bf16",
    kv_dtype: str = "bf16",
    efficiency: str = "ideal",
    mla: str = "faster",
    chunk_tokens: int | None = None,
    decode_batch: int = 1,
    gpu_hour_usd: float | None = None,
) -> Pricing:
    """From names: `model` built in or a config.json, `hardware` built in or a measured file, as
    for `hitpath price`. Raises HitpathError."""
    if mla not in LATENT_FORMS:
        raise SettingError(f"--mla {mla}", f"not one of {', '.join(LATENT_FORMS)}")
    replica = replica_of(
        load_shape(model),
        load_hardware(hardware),
        num_gpus,
        Formats(weights=weights, kv=kv_dtype),
        efficiency,
        LATENT_FORMS[mla],
    )
    return Pricing(replica, gpu_hour_usd, chunk_tokens, decode_batch)
