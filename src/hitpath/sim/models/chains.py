"""Prefix identities of a request's blocks, without hashing: equal number, equal whole prefix.

vLLM (kv_cache_utils.py, `hash_block_tokens`) chains H(parent, tokens, extra keys) where the extra
keys are the adapter (every block), each media item that overlaps the block with its offset inside
it, and the salt (first block, from which it reaches all others). Here every different (parent,
tokens, extra keys) gets the next number, so that two prefixes are never taken for one.
"""

from collections.abc import Hashable, Sequence

from hitpath.sim.models.contract import Media

Prefix = int
"""The number of a prefix of whole blocks in its context."""


class Chains:
    """All prefixes seen so far, in blocks of `block_size` tokens."""

    def __init__(self, block_size: int) -> None:
        self.block_size = block_size
        self._numbers: dict[Hashable, Prefix] = {}

    def extend(
        self,
        prefixes: list[Prefix],
        tokens: Sequence[int],
        context: Hashable,
        media: Sequence[Media] = (),
    ) -> None:
        """Append the prefixes of the whole blocks of `tokens` that `prefixes` does not have yet."""
        size = self.block_size
        for i in range(len(prefixes), len(tokens) // size):
            parent: Hashable = prefixes[-1] if i else ("root", context)
            first, behind = i * size, (i + 1) * size
            inside = tuple(
                (item.key, item.offset - first)
                for item in media
                if item.offset < behind and item.offset + item.num_tokens > first
            )
            name = (parent, tuple(tokens[first:behind]), inside)
            prefixes.append(self._numbers.setdefault(name, len(self._numbers)))
