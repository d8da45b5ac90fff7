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
    fit: str | None = None,
) -> Pricing:
    """From names: `model` built in or a config.json, `hardware` built in or a measured file, as
    for `hitpath price`. fit: a file of measured rows (fit_rows.py) that tells the parts of the
    efficiency that are not given. Raises HitpathError."""
    if mla not in LATENT_FORMS:
        raise SettingError(f"--mla {mla}", f"not one of {', '.join(LATENT_FORMS)}")
    shape, device = load_shape(model), load_hardware(hardware)
    formats, form = Formats(weights=weights, kv=kv_dtype), LATENT_FORMS[mla]
    if fit is not None:
        from hitpath.cost.fit import fitted_efficiency  # loads numpy

        efficiency = fitted_efficiency(
            fit,
            efficiency,
            shape,
            device,
            num_gpus=num_gpus,
            formats=formats,
            latent_form=form,
            chunk_tokens=chunk_tokens,
        )
    replica = replica_of(shape, device, num_gpus, formats, efficiency, form)
    return Pricing(replica, gpu_hour_usd, chunk_tokens, decode_batch)
