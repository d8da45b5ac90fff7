"""The bound that decoding puts on what a prefix cache can gain: it shortens prefill alone."""

from dataclasses import dataclass

import numpy as np

from hitpath.core import ABSENT
from hitpath.cost.decode_rows import step_seconds
from hitpath.cost.path_rows import PricedRows
from hitpath.cost.pricing import Pricing
from hitpath.traces.table import Ints


@dataclass(frozen=True, slots=True)
class DecodeBound:
    """Over the priced requests that tell an output of a token or more. Seconds are their sums.

    miss_prefill_s, served_prefill_s: with nothing cached, with the hits as they were; decode_s:
    all tokens behind the first, each a step shared by `batch` equal requests. A request's time is
    prefill + decode, so no cache makes these requests more than `ceiling` = 1 + miss_prefill_s /
    decode_s times faster (Amdahl; None where nothing is decoded), and these hits made them
    `gained` times faster. More requests a step make each token slower, so batch 1 has the
    highest ceiling.
    """

    num_requests: int
    prompt_tokens: int
    hit_tokens: int
    output_tokens: int
    batch: int
    miss_prefill_s: float
    served_prefill_s: float
    decode_s: float

    @property
    def ceiling(self) -> float | None:
        """Speed-up of whole requests if all prefill were free."""
        return 1 + self.miss_prefill_s / self.decode_s if self.decode_s else None

    @property
    def gained(self) -> float:
        """Speed-up of whole requests by the hits as they were."""
        return (self.miss_prefill_s + self.decode_s) / (self.served_prefill_s + self.decode_s)

    @property
    def prefill_frac(self) -> float:
        """Share of prefill in the requests' time on the miss path."""
        return self.miss_prefill_s / (self.miss_prefill_s + self.decode_s)


def decode_bound(
    pricing: Pricing, prompt: Ints, hit: Ints, output: Ints, miss: PricedRows, served: PricedRows
) -> DecodeBound | None:
    """None where no request with a prompt tells an output of a token or more. Arrays: one entry a
    request."""
    rows = np.flatnonzero((prompt > 0) & (output != ABSENT) & (output > 0))
    if not len(rows):
        return None
    tokens = output[rows]
    batch = pricing.decode_batch
    # The context in the middle of the output stands for all of it, as in paths.tpot_s.
    step_s = step_seconds(pricing.replica, prompt[rows] + tokens // 2, batch)
    return DecodeBound(
        num_requests=len(rows),
        prompt_tokens=int(prompt[rows].sum()),
        hit_tokens=int(hit[rows].sum()),
        output_tokens=int(tokens.sum()),
        batch=batch,
        miss_prefill_s=float(miss.seconds[rows].sum()),
        served_prefill_s=float(served.seconds[rows].sum()),
        decode_s=float(((tokens - 1) * step_s).sum()),
    )
