"""Engine models: what an engine grants for a match, and what its caches keep.

The seam for more engines: `cap` is the engine's rule from a match to a hit (monotone, never
more than the match), `capacity_blocks` its cache. Here: `unlimited` and `lru`, which grant
whole blocks; with `last_token` at least the prompt's last token is computed. Real engines have
models of their own (sim/models), and what stands here for them is what prefix matching allows.
"""

from dataclasses import dataclass

import numpy as np

from hitpath.core import Setting, SettingError
from hitpath.traces.table import Ints


@dataclass(frozen=True, slots=True)
class Engine:
    """`capacity_blocks` is per worker, None = unlimited."""

    name: str
    block_size: int
    last_token: bool
    capacity_blocks: int | None

    def limit(self, prompt_tokens: Ints) -> Ints:
        """The most whole blocks that can count as a hit of each prompt."""
        countable = prompt_tokens - 1 if self.last_token else prompt_tokens
        return np.maximum(countable, 0) // self.block_size

    def cap(self, match_tokens: Ints, prompt_tokens: Ints) -> Ints:
        """Tokens granted for a token match of each prompt."""
        whole = match_tokens // self.block_size
        return np.minimum(whole, self.limit(prompt_tokens)) * self.block_size


def make_engine(setting: Setting, block_size: int) -> Engine:
    """The engine that the setting names. Raises SettingError if not one block fits."""
    capacity_blocks = None
    if setting.capacity_tokens is not None:
        capacity_blocks = setting.capacity_tokens // block_size
        if capacity_blocks < 1:
            raise SettingError(
                f"--capacity-tokens {setting.capacity_tokens}",
                f"holds not one block of {block_size} tokens",
            )
    return Engine(setting.engine, block_size, setting.last_token, capacity_blocks)
