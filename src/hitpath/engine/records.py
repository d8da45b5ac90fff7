"""Requests and answers of the engine: frozen, plain, no torch.

Counts are tokens, times are seconds on the engine's clock. A request with n > 1 has n choices;
`prompt_tokens` and `cached_tokens` are the request's own (its first choice's lookup), not sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from hitpath.engine.errors import RequestError

Tokens = npt.NDArray[np.uint32]
FinishReason = Literal["stop", "length", "abort"]

MOST_LOGPROBS = 20
MOST_CHOICES = 128


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is chosen and when to stop. Raises RequestError for what makes no sense.

    `temperature` 0 is greedy: the highest logit, the lowest id of equal ones. `top_k` None and
    `top_p` 1 cut nothing. `max_tokens` None: as many as the context holds. `logprobs` k: each
    token's own log-probability and the k highest, of the model's distribution before temperature.
    `prompt_logprobs` does the same for the prompt, which is then computed in full. Choice i of a
    seeded request draws from seed + i.
    """

    max_tokens: int | None = 16
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int | None = None
    seed: int | None = None
    n: int = 1
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    logprobs: int | None = None
    prompt_logprobs: int | None = None

    def __post_init__(self) -> None:
        _need(self.max_tokens is None or self.max_tokens >= 1, "max_tokens", "at least 1")
        _need(0.0 <= self.temperature <= 100.0, "temperature", "from 0 to 100")
        _need(0.0 < self.top_p <= 1.0, "top_p", "above 0 and up to 1")
        _need(self.top_k is None or self.top_k >= 1, "top_k", "at least 1; leave it out for all")
        _need(self.seed is None or 0 <= self.seed < 2**63, "seed", "from 0 to 2**63 - 1")
        _need(1 <= self.n <= MOST_CHOICES, "n", f"from 1 to {MOST_CHOICES}")
        _need(all(self.stop), "stop", "text; an empty one stops nothing")
        for name in ("logprobs", "prompt_logprobs"):
            value = getattr(self, name)
            allowed = value is None or 0 <= value <= MOST_LOGPROBS
            _need(allowed, name, f"from 0 to {MOST_LOGPROBS}")


def _need(holds: bool, name: str, what: str) -> None:
    if not holds:
        raise RequestError(name, f"must be {what}")


@dataclass(frozen=True, slots=True, eq=False)
class GenerationRequest:
    """One prompt, tokenised already (`tokenise_s` says how long that took).

    Requests share KV only within one `cache_salt` (None is one of its own). Higher `priority`
    is kept longer by the eviction policy of that name; it changes no order of service.
    """

    request_id: str
    tokens: Tokens
    params: SamplingParams = field(default_factory=SamplingParams)
    cache_salt: str | None = None
    priority: int = 0
    tokenise_s: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", token_array(self.tokens))
        _need(len(self.tokens) > 0, "prompt", "at least 1 token")
        _need(-(2**15) <= self.priority < 2**15, "priority", "from -32,768 to 32,767")


def token_array(tokens: Sequence[int] | npt.NDArray[np.generic]) -> Tokens:
    """Token ids as uint32 [T]. Raises RequestError for what are no token ids."""
    array = np.asarray(tokens)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, dtype=np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise RequestError("prompt", "must be a list of token ids")
    if array.min() < 0 or array.max() >= 2**32:
        raise RequestError("prompt", "has a token id that is not from 0 to 2**32 - 1")
    return array.astype(np.uint32)


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """A token, its log-probability and rank (1 is the highest), and the highest of all."""

    token: int
    logprob: float
    rank: int
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a prompt, those served from the cache, and those generated."""

    prompt_tokens: int
    cached_tokens: int
    output_tokens: int

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that the engine had to compute."""
        return self.prompt_tokens - self.cached_tokens


@dataclass(frozen=True, slots=True)
class Timings:
    """Where the time of one choice went.

    `queue_s`: from its arrival to its first admission, lookup apart; `lookup_s`: keys, match and
    block mapping; `prefill_s`: from then to its first token; `decode_s`: from there to its last.
    """

    queue_s: float
    tokenise_s: float
    lookup_s: float
    prefill_s: float
    decode_s: float

    @property
    def ttft_s(self) -> float:
        """Time to the first token, tokenising included."""
        return self.queue_s + self.tokenise_s + self.lookup_s + self.prefill_s


@dataclass(frozen=True, slots=True)
class Finish:
    """Why a choice ended; `stop` is the stop string or token that was met, None for others."""

    reason: FinishReason
    stop: str | int | None
    usage: Usage
    timings: Timings


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one step adds to one choice.

    `text` has whole characters only, and nothing that may turn out to be a stop string: it may
    lag behind `token_ids`, and catches up in the chunk with `finish`, the last one of its choice.
    """

    request_id: str
    choice: int
    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprobs, ...] | None = None
    prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One whole answer."""

    index: int
    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprobs, ...] | None
    finish: Finish


@dataclass(frozen=True, slots=True)
class Completion:
    """All choices of one request; `usage.output_tokens` is their sum."""

    request_id: str
    choices: tuple[Choice, ...]
    usage: Usage
    timings: Timings
    prompt_logprobs: tuple[TokenLogprobs | None, ...] | None
