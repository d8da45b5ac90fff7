"""What vLLM keeps for one group of layers: its block tables, and how far a prefix is found.

Here: full attention, and what all kinds have in common (vllm_layers.py has the others), as
vllm/v1/core/single_type_kv_cache_manager.py has it. A *group* has
a block size of its own and a table of blocks for each running request; positions that a layer no
longer looks at hold the null block. Prefixes stand in units of `hash_size` tokens; a group whose
blocks are larger reads every k-th.

`drop` is speculative decoding's rule (EAGLE, MTP): match one block more, and give it back.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.sim.models.chains import Prefix
from hitpath.sim.models.vllm_pool import NULL, BlockPool, Name


@dataclass(frozen=True, slots=True)
class Retention:
    """Which blocks of a request are worth a name. `alignment`: hits end at multiples of it.
    `interval` None: all that a hit there may ask for; n > 0: those for hits at multiples of n;
    0: only those for hits at `boundaries`. `state_boundary`: where a state is kept in any case.
    `tail`: where the prompt's last hash ends, which names the block around it; 0 for none.
    `ahead`: blocks behind a boundary that a speculative group matches and gives back."""

    alignment: int
    interval: int | None
    boundaries: tuple[int, ...]
    state_boundary: int
    tail: int
    ahead: int


Row = tuple[int, ...]
"""The blocks of one position, one a group that is looked up."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """What is looked up: `peers` are the numbers of the groups of one kind and size, of which all
    must have a block for it to count. Hits are multiples of `alignment`."""

    prefixes: Sequence[Prefix]
    most_tokens: int
    alignment: int
    peers: Sequence[int]

    @property
    def nothing(self) -> Row:
        """A position that holds no block."""
        return (NULL,) * len(self.peers)


class FullGroup:
    """Full attention: every block is needed to the end."""

    def __init__(self, number: int, block_size: int, hash_size: int, pool: BlockPool) -> None:
        self.number = number
        self.block_size = block_size
        self.hash_size = hash_size
        self.pool = pool
        self.drops = False
        self.tables: dict[int, list[int]] = {}
        self.num_named: dict[int, int] = {}
        self._units = block_size // hash_size

    def find(self, look_up: Lookup, drop: bool) -> tuple[list[Row], int]:
        """(blocks, tokens) of the longest prefix that this group and its peers have."""
        found: list[Row] = []
        for i in range(look_up.most_tokens // self.block_size):
            row = self._row(look_up, i)
            if row is None:
                break
            found.append(row)
        tokens = len(found) * self.block_size
        if drop and tokens:
            tokens -= self.block_size
        tokens -= tokens % look_up.alignment
        return found[: tokens // self.block_size], tokens

    def _row(self, look_up: Lookup, i: int) -> Row | None:
        """The blocks that hold block i of the prefix, one a peer; None if one has none."""
        at = (i + 1) * self._units - 1
        if at >= len(look_up.prefixes):
            return None
        row = []
        for peer in look_up.peers:
            block = self.pool.find(look_up.prefixes[at], peer)
            if block is None:
                return None
            row.append(block)
        return tuple(row)

    def num_skipped(self, computed: int) -> int:
        """Leading tokens that the next token does not look at."""
        return 0

    def most_held(self, num_tokens: int) -> int:
        """Blocks that a request of so many tokens holds at most at one time."""
        return -(-num_tokens // self.block_size)

    def needed(
        self, request: int, num_tokens: int, hit: Sequence[int], computed: int, whole: bool
    ) -> int:
        """Blocks that leave the queue to give the request room for `num_tokens`; idle hit blocks
        count too. `computed`: tokens that need no computing. `whole`: asked for the whole
        prompt at its admission."""
        wanted = self.most_held(num_tokens) if whole else -(-num_tokens // self.block_size)
        have = len(self.tables.get(request, ()))
        if request in self.num_named:
            return max(wanted - have, 0)
        skipped = self.num_skipped(computed) // self.block_size
        new = max(wanted - max(skipped, have + len(hit)), 0)
        return new + sum(map(self.pool.is_idle, hit[max(0, skipped - have) :]))

    def adopt(self, request: int, hit: Sequence[int], computed: int) -> None:
        """Begin the request's table with the blocks of a hit that it still looks at."""
        skipped = self.num_skipped(computed) // self.block_size
        used = hit[skipped:]
        self.pool.touch(used)
        table = [NULL] * skipped + list(used)
        self.tables[request] = table
        self.num_named[request] = len(table)

    def grow(self, request: int, num_tokens: int) -> None:
        """Take blocks until the table has room for `num_tokens`."""
        table = self.tables.setdefault(request, [])
        table += self.pool.take(max(-(-num_tokens // self.block_size) - len(table), 0))

    def drop_skipped(self, request: int, computed: int) -> None:
        """Give back the blocks in front of what the next token looks at, the last one first."""
        table = self.tables.get(request)
        skipped = self.num_skipped(computed)
        if table is None or skipped <= 0:
            return
        gone = []
        for i in range(min(skipped // self.block_size, len(table)) - 1, -1, -1):
            if table[i] == NULL:
                break
            gone.append(table[i])
            table[i] = NULL
        self.pool.give_back(gone)

    def name(
        self, request: int, prefixes: Sequence[Prefix], num_tokens: int, retention: Retention
    ) -> list[Name]:
        """Name the blocks that are full up to `num_tokens` and worth keeping; returns the names."""
        names = self._name_full(request, prefixes, num_tokens, retention)
        if type(self) is FullGroup and 0 < retention.tail <= num_tokens:
            self._name_tail(self.tables[request], prefixes, retention.tail)
        return names

    def _name_tail(self, table: Sequence[int], prefixes: Sequence[Prefix], tail: int) -> None:
        """A block that is larger than a hash gets a name at the prompt's last hash, before it is
        full. No hit of whole blocks finds it, but it is freed as one with a name."""
        i, inside = divmod(tail, self.block_size)
        if inside and i < len(table) and self.pool.name_of(table[i]) is None:
            self.pool.give_name(table[i], prefixes[tail // self.hash_size - 1], ~self.number)

    def _name_full(
        self, request: int, prefixes: Sequence[Prefix], num_tokens: int, retention: Retention
    ) -> list[Name]:
        first, behind = self.num_named.get(request, 0), num_tokens // self.block_size
        if first >= behind:
            return []
        table, names = self.tables[request], []
        keep = self.worth_keeping(first, behind, retention)
        for i in range(first, behind):
            if table[i] == NULL or (keep is not None and i not in keep):
                continue
            names.append(self._name(table[i], prefixes, i))
        self.num_named[request] = behind
        return names

    def _name(self, block: int, prefixes: Sequence[Prefix], i: int) -> Name:
        prefix = prefixes[(i + 1) * self._units - 1]
        self.pool.take_name(block)  # that of its tail
        self.pool.give_name(block, prefix, self.number)
        return prefix, self.number

    def worth_keeping(self, first: int, behind: int, retention: Retention) -> set[int] | None:
        """Which of the blocks [first, behind) a later request may ask for; None: all."""
        return None

    def release(self, request: int) -> list[int]:
        """End the request's table; its blocks, in the order of their positions."""
        self.num_named.pop(request, None)
        return self.tables.pop(request, [])

    def new_step(self) -> None:
        """A new engine step begins."""
