"""The oracle's basics: a request, block ids that are prefixes, one LRU cache, token matches."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

Tokens = tuple[int, ...]
Context = tuple[str, str | None, str | None]  # model, salt, adapter
BlockId = tuple[Context, Tokens]  # the whole prefix up to the end of the block


@dataclass(frozen=True)
class Request:
    """One request of a trace. `tokens` is the prompt."""

    tokens: Tokens
    output: Tokens | None = None
    arrival_s: float = 0.0
    finish_s: float | None = None
    model: str = "m"
    salt: str | None = None
    adapter: str | None = None
    worker: int = 0
    session: str | None = None
    tenant: str | None = None
    reported: int | None = None

    @property
    def context(self) -> Context:
        return (self.model, self.salt, self.adapter)

    @property
    def whole(self) -> Tokens:
        """The prompt, then what was generated."""
        return self.tokens + (self.output or ())


# ---- ids -----------------------------------------------------------------------------------


def whole_ids(context: Context, tokens: Tokens, block_size: int) -> list[BlockId]:
    """The ids of the whole blocks, first block first."""
    num_whole = len(tokens) // block_size
    return [(context, tokens[: (i + 1) * block_size]) for i in range(num_whole)]


def all_ids(context: Context, tokens: Tokens, block_size: int) -> list[BlockId]:
    """The ids of the whole blocks, then the partial last id if there is one."""
    ids = whole_ids(context, tokens, block_size)
    if len(tokens) % block_size != 0:
        ids.append((context, tokens))
    return ids


# ---- one cache -----------------------------------------------------------------------------


class Cache:
    """One worker's LRU cache: block ids in recency order, the oldest first."""

    def __init__(self, capacity_blocks: int | None) -> None:
        self.capacity_blocks = capacity_blocks
        self.ids: OrderedDict[BlockId, None] = OrderedDict()

    def leading(self, ids: list[BlockId]) -> int:
        """How many leading ids are resident. Changes nothing."""
        count = 0
        for block_id in ids:
            if block_id not in self.ids:
                break
            count += 1
        return count

    def insert(self, ids: list[BlockId]) -> None:
        """Insert tail first, so that the first block is the most recent; then drop the oldest."""
        for block_id in reversed(ids):
            self.ids[block_id] = None
            self.ids.move_to_end(block_id)
        if self.capacity_blocks is not None:
            while len(self.ids) > self.capacity_blocks:
                self.ids.popitem(last=False)


# ---- matches -------------------------------------------------------------------------------


def common_prefix(a: Tokens, b: Tokens) -> int:
    """How many leading tokens are the same in both."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


def longest_match(tokens: Tokens, sequences: list[Tokens]) -> int:
    """The longest token-by-token prefix match with any of the sequences."""
    return max([common_prefix(tokens, sequence) for sequence in sequences], default=0)


def countable_blocks(num_tokens: int, block_size: int, last_token: bool) -> int:
    """How many whole blocks of a prompt may count as a hit."""
    if num_tokens == 0:
        return 0
    return (num_tokens - 1) // block_size if last_token else num_tokens // block_size


def cap(match: int, num_tokens: int, block_size: int, last_token: bool) -> int:
    """What an engine grants for a token match, in tokens."""
    if num_tokens == 0:
        return 0
    if last_token:
        return block_size * min(match // block_size, (num_tokens - 1) // block_size)
    return block_size * (match // block_size)
