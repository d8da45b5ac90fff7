"""What an engine reported in its own tokens, where the prompts of a trace are bytes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.rates import ratio
from hitpath.core import ABSENT
from hitpath.traces.table import Trace


@dataclass(frozen=True, slots=True)
class ReportedApart:
    """Over the counted requests that tell both their hit and their whole prompt."""

    num_requests: int
    prompt_tokens: int
    hit_tokens: int

    @property
    def hit_rate(self) -> float | None:
        """Token-weighted."""
        return ratio(self.hit_tokens, self.prompt_tokens)


def reported_apart(trace: Trace, counted: NDArray[np.bool_]) -> ReportedApart | None:
    """None where no request tells both. A hit above its prompt is told by nobody's rate."""
    hit, prompt = trace.apart_hit, trace.apart_prompt
    told = counted & (hit != ABSENT) & (prompt != ABSENT) & (hit <= prompt)
    if not np.any(told):
        return None
    return ReportedApart(int(np.count_nonzero(told)), int(prompt[told].sum()), int(hit[told].sum()))
