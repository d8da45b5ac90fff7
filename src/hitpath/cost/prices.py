"""What a provider asks for a token, by bucket: each prompt token is in exactly one of four.

    fresh       computed, neither read from the cache nor written to it
    read        found in the cache
    written_5m  computed and written, kept for 5 minutes (or the provider's only lifetime)
    written_1h  computed and written, kept for an hour
    output      generated; not a part of the prompt

None is "the price is not known". It is never the full price, and it is not 0: what would need it
is not known either. Providers that write for nothing do not report written tokens, so a bucket
without tokens costs nothing whether its price is known or not.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

BucketName = Literal["fresh", "read", "written_5m", "written_1h", "output"]
BUCKETS: tuple[BucketName, ...] = ("fresh", "read", "written_5m", "written_1h", "output")
PROMPT_BUCKETS = BUCKETS[:4]

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """USD a million tokens; `tiers` = (above so many prompt tokens, USD a million), ascending.

    A tier holds for all tokens of a request whose prompt, cached tokens included, is longer than
    its bound: a cliff, not a slope, as the providers bill.
    """

    usd_per_mtok: float
    tiers: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        bounds = [above for above, _ in self.tiers]
        if bounds != sorted(set(bounds)):
            raise ValueError(f"tiers do not ascend: {bounds}")
        for usd in (self.usd_per_mtok, *(usd for _, usd in self.tiers)):
            if not 0 <= usd < 1e9:
                raise ValueError(f"{usd} USD a million tokens is no price")

    def usd(
        self, tokens: npt.NDArray[np.int64], prompt_tokens: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """What the tokens of each request cost, by the length of its prompt."""
        if not self.tiers:
            return np.multiply(tokens, self.usd_per_mtok / MILLION, dtype=np.float64)
        bounds = np.array([above for above, _ in self.tiers], dtype=np.int64)
        of_tier = np.array([self.usd_per_mtok, *(usd for _, usd in self.tiers)]) / MILLION
        return tokens * of_tier[np.searchsorted(bounds, prompt_tokens, side="left")]

    def for_prompt(self, prompt_tokens: int) -> float:
        """USD a million tokens for one request."""
        dearer = [usd for above, usd in self.tiers if prompt_tokens > above]
        return dearer[-1] if dearer else self.usd_per_mtok


@dataclass(frozen=True, slots=True)
class Rates:
    """What the four acts on a token cost at one prompt length and one lifetime, USD a million."""

    fresh: float | None
    read: float | None
    written: float | None
    output: float | None


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one model. `unpriced`: what the provider bills besides, by its own name;
    `notes`: how the model was found and why a price is missing, a sentence each."""

    name: str
    source: str
    fresh: Price | None = None
    read: Price | None = None
    written_5m: Price | None = None
    written_1h: Price | None = None
    output: Price | None = None
    unpriced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, bucket: BucketName) -> Price | None:
        """The price of a bucket."""
        price: Price | None = getattr(self, bucket)
        return price

    def rates(self, prompt_tokens: int, lifetime: Literal["5m", "1h"] = "5m") -> Rates:
        """The rates of requests with so long a prompt."""

        def usd(price: Price | None) -> float | None:
            return None if price is None else price.for_prompt(prompt_tokens)

        written = self.written_5m if lifetime == "5m" else self.written_1h
        return Rates(usd(self.fresh), usd(self.read), usd(written), usd(self.output))
