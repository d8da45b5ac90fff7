"""Whether a request would find its prefix in the cache if it waited for one that is running."""

from typing import Any

import numpy.typing as npt

from hitpath.engine.cache import PrefixCache
from hitpath.engine.sequence import Sequence


def num_common(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> int:
    """How many equal elements (tokens, blocks) both begin with."""
    length = min(len(one), len(other))
    different = one[:length] != other[:length]
    at = int(different.argmax()) if length else 0
    return at if length and different[at] else length


def will_be_stored(sequence: Sequence, running: Sequence, cache: PrefixCache) -> bool:
    """Whether `running` computes blocks that `sequence` could hit, and could not hit now."""
    if sequence.request.cache_salt != running.request.cache_salt:
        return False
    if sequence.request.params.prompt_logprobs is not None:
        return False
    if running.epoch != cache.epoch or sequence.tokens[0] != running.tokens[0]:
        return False
    size = cache.block_size
    common = min(num_common(sequence.tokens, running.tokens), sequence.num_tokens - 1)
    return common // size > len(cache.lookup(sequence))
