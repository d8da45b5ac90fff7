"""Thinning a trace while it is read, for traces whose ids do not fit in memory.

A block is kept or dropped by the hash of its id, so that all its uses are kept or dropped
together and reuse among kept blocks is the true one (spatial sampling; Waldspurger et al.,
SHARDS, FAST'15). The first HEAD_BLOCKS blocks of every prompt are always kept: what very many
requests share stands there, and dropping it by chance would make the error unknowable.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.keys import block_keys, context_root, spread
from hitpath.traces.table import Symbols

HEAD_BLOCKS = 16
Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Sampler:
    """Keeps one block in `one_in`, chosen by `seed`."""

    one_in: int
    seed: int

    @classmethod
    def from_share(cls, share: float, seed: int) -> "Sampler":
        """The sampler nearest to a share of at most one half."""
        return cls(round(1 / share), seed)

    def keep(self, ids: Keys) -> NDArray[np.bool_]:
        """Which of one prompt's ids are kept, the head always."""
        root = np.uint64(context_root({"sample": self.seed}))
        kept: NDArray[np.bool_] = spread(ids ^ root) % np.uint64(self.one_in) == 0
        kept[:HEAD_BLOCKS] = True
        return kept

    def ids_of(self, symbols: Symbols, block_size: int) -> Keys:
        """Ids as they are, or keys of the whole blocks of a prompt given in tokens or bytes."""
        if symbols.dtype == np.uint64:
            return symbols.astype(np.uint64, copy=False)
        return block_keys(symbols.astype(np.uint32, copy=False), block_size, 0)
