"""GPU time as money: a million prompt tokens as a function of the hit rate.

    usd_per_mtok = 1e6 x ((1 - h) s_computed + h s_cached) x num_gpus x gpu_hour_usd / 3600

h: hit rate, hit tokens / prompt tokens. s_computed: GPU-seconds that a computed prompt token
takes; s_cached: that a cached one still takes (attention over it, and its load from a slower
tier); both per replica of `num_gpus`, from the cost model or measured. The price of a GPU-hour is
the user's. Rates and shares may be numpy arrays: the functions are the arithmetic and no more.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hitpath.core import SettingError
from hitpath.cost.prices import MILLION

HOUR_S = 3600.0

Numbers = TypeVar("Numbers", float, npt.NDArray[np.float64])


def gpu_usd(seconds: Numbers, gpu_hour_usd: float, num_gpus: int = 1) -> Numbers:
    """USD = seconds x num_gpus x gpu_hour_usd / 3600. Raises SettingError for no price."""
    _check_price(gpu_hour_usd)
    return seconds * (num_gpus * gpu_hour_usd / HOUR_S)


def usd_per_mtok_prompt(
    hit_rate: Numbers,
    computed_s_per_token: float,
    gpu_hour_usd: float,
    num_gpus: int = 1,
    cached_s_per_token: float = 0.0,
) -> Numbers:
    """The formula of this module. It never rises with the hit rate, unless a cached token takes
    longer than a computed one: a tier slower than computing again makes each hit a loss."""
    _check_price(gpu_hour_usd)
    seconds = computed_s_per_token + hit_rate * (cached_s_per_token - computed_s_per_token)
    return seconds * (MILLION * num_gpus * gpu_hour_usd / HOUR_S)


def tier_break_even_hit_rate(
    tier_usd_per_hour: float,
    prompt_tokens_per_s: float,
    computed_s_per_token: float,
    load_s_per_token: float,
    gpu_hour_usd: float,
    num_gpus: int = 1,
) -> float | None:
    """The hit rate that a cache tier must add to pay for itself.

    A token of the added hits saves (computed_s - load_s) GPU-seconds, so
    added = tier_usd_per_hour / (tokens_per_hour x (computed_s - load_s) x num_gpus x usd_per_s).
    None: never, for a load is no faster than computing. Above 1: not at this traffic.
    """
    _check_price(gpu_hour_usd)
    saved_s = computed_s_per_token - load_s_per_token
    if saved_s <= 0 or prompt_tokens_per_s <= 0 or gpu_hour_usd == 0:
        return None
    saved_usd_per_hour = prompt_tokens_per_s * HOUR_S * gpu_usd(saved_s, gpu_hour_usd, num_gpus)
    return tier_usd_per_hour / saved_usd_per_hour


def _check_price(gpu_hour_usd: float) -> None:
    if not 0 <= gpu_hour_usd < 1e6:
        raise SettingError("--gpu-hour", f"{gpu_hour_usd:g} USD an hour is no price")
