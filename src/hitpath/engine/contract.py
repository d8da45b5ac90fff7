"""The contract of the engine's prefix index: where the KV of a prefix stands, told from tokens.

One text for both ways, `block_index.BlockIndex` (vLLM's) and `radix_index.RadixIndex` (SGLang's);
one suite holds both to it. An index maps whole blocks of tokens, in the order of a chain, to the
numbers of blocks. It neither owns nor counts blocks (`pool.py`), and computes no keys.

What is stored is a forest: the parent of a prompt's first block is its context, the parent of any
other the block before it. The caller keeps to two rules, so that no block is ever reachable
through a parent that is another prompt's: a block is inserted while its parent is stored, and
removed before its parent is (policies.py says why eviction does so of itself).

Two contexts are the same only if their salts are equal as text, and a block is found only if its
tokens are equal and its parent is the very block that was found before it. Keys only say where to
look: equal keys of different tokens (a collision, chance or attack) are two entries.

Units: blocks and tokens as named. Not threadsafe.
"""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hitpath.engine.pool import Blocks
from hitpath.engine.records import Tokens

Keys = npt.NDArray[np.uint64]


class Chain(NamedTuple):
    """A stored prefix that no stored block continues: `tokens` uint32 [n * B], `blocks` [n]."""

    salt: str | None
    tokens: Tokens
    blocks: Blocks


class PrefixIndex(Protocol):
    """See the module. `keys[i]` is the chained key of `tokens[i * B : (i + 1) * B]`."""

    @property
    def num_stored(self) -> int:
        """How many blocks can be found."""

    def match(self, salt: str | None, tokens: Tokens, keys: Keys, most_blocks: int) -> Blocks:
        """The blocks that hold the longest stored prefix of `tokens`, at most `most_blocks`.

        int32 [0 .. most_blocks], the caller's own. Changes nothing. Time is linear in the match.
        """

    def insert(
        self, salt: str | None, tokens: Tokens, keys: Keys, blocks: Blocks, first: int
    ) -> Blocks:
        """Store `blocks[first:]` as the KV of blocks first, first + 1, ... of `tokens`.

        `blocks[:first]` are stored for the blocks before. Returns the blocks that are stored for
        these positions from now on, int32 [len(blocks) - first]: where an equal block stood
        already, that one, and the caller's copy is not stored.
        """

    def remove(self, blocks: Blocks) -> None:
        """Forget these stored blocks, in this order: none of them has a stored child by then."""

    def rename(self, source: Blocks, target: Blocks) -> None:
        """The KV of each stored source block stands in the target block now."""

    def clear(self) -> None:
        """Forget all."""

    def chains(self) -> list[Chain]:
        """Every longest stored prefix; a block stands in each chain that goes through it."""

    def check(self) -> None:
        """Raise AssertionError if an internal invariant is broken. Time is that of `chains`."""


def entries(index: PrefixIndex, block_size: int) -> dict[tuple[str | None, bytes], int]:
    """Every stored block by its salt and all tokens up to its end. For checks: quadratic."""
    found: dict[tuple[str | None, bytes], int] = {}
    for salt, tokens, blocks in index.chains():
        for i, block in enumerate(blocks.tolist(), start=1):
            assert found.setdefault((salt, tokens[: i * block_size].tobytes()), block) == block
    return found
