"""vLLM's pool of KV blocks: one queue of free blocks, and an index of those with a name.

Rules (vllm/v1/core/block_pool.py, kv_cache_utils.py `FreeKVCacheBlockQueue`):

- Block 0 is the null block: a place holder that is never free and never counted.
- A free block may still have its name, and is found by it: a cached block is a free block.
- Blocks are taken from the head of the queue; one that has a name loses it then, and only then.
- Blocks are given back in the order given; those whose last user left go to the tail, and from
  0.24 on those without a name to the head, in that order before all that are there.
- Two blocks may have one name; the one that was named first is found.

Everything is O(1) a block: the queue is a doubly linked list with block 0 as its two ends.
"""

from collections.abc import Iterable, Sequence

from hitpath.sim.models.chains import Prefix

NULL = 0
Name = tuple[Prefix, int]
"""A prefix, and the KV cache group whose layers the block holds."""


class BlockPool:
    """`num_blocks` includes the null block."""

    def __init__(self, num_blocks: int, *, unnamed_first: bool) -> None:
        self.num_blocks = num_blocks
        self.num_free = num_blocks - 1
        self.num_named_free = 0
        self.evicted: list[Name] = []
        self._unnamed_first = unnamed_first
        self._after = [*range(1, num_blocks), NULL]
        self._before = [num_blocks - 1, *range(num_blocks - 1)]
        self._users = [0] * num_blocks
        self._name: list[Name | None] = [None] * num_blocks
        self._named: dict[Name, dict[int, None]] = {}

    def find(self, prefix: Prefix, group: int) -> int | None:
        """The block that was named first of those that have this name."""
        copies = self._named.get((prefix, group))
        return next(iter(copies)) if copies else None

    def name_of(self, block: int) -> Name | None:
        """Its name; None for a block that cannot be found."""
        return self._name[block]

    def is_idle(self, block: int) -> bool:
        """Whether a (cached) block is in the queue, so that a hit takes room."""
        return block != NULL and not self._users[block]

    def give_name(self, block: int, prefix: Prefix, group: int) -> None:
        """From now on the block is found by this name. It has none yet."""
        assert self._name[block] is None, "a block with two names"
        name = (prefix, group)
        self._name[block] = name
        self._named.setdefault(name, {})[block] = None

    def take_name(self, block: int) -> None:
        """The block is found no more. Nothing happens if it has no name."""
        name = self._name[block]
        if name is None:
            return
        copies = self._named[name]
        del copies[block]
        if not copies:
            del self._named[name]
        self._name[block] = None

    def take(self, count: int) -> list[int]:
        """`count` blocks from the head of the queue, without names, of one user each."""
        assert count <= self.num_free, "more blocks than there are"
        taken = []
        for _ in range(count):
            block = self._after[NULL]
            self._unlink(block)
            self._evict(block)
            self._users[block] = 1
            taken.append(block)
        return taken

    def touch(self, blocks: Iterable[int]) -> None:
        """One more user for each; idle ones leave the queue."""
        for block in blocks:
            if block == NULL:
                continue
            if not self._users[block]:
                self._unlink(block)
                self.num_named_free -= self._name[block] is not None
            self._users[block] += 1

    def give_back(self, blocks: Iterable[int]) -> None:
        """One user less for each, in this order."""
        named: list[int] = []
        unnamed: list[int] = []
        for block in blocks:
            if block == NULL:
                continue
            self._users[block] -= 1
            if not self._users[block]:
                to_head = self._unnamed_first and self._name[block] is None
                (unnamed if to_head else named).append(block)
        for block in reversed(unnamed):
            self._link(block, NULL)
        for block in named:
            self._link(block, self._before[NULL])
            self.num_named_free += self._name[block] is not None

    def forget_all(self) -> bool:
        """Take all names away; False if any block is in use."""
        if self.num_free != self.num_blocks - 1:
            return False
        self._named.clear()
        self._name = [None] * self.num_blocks
        self.num_named_free = 0
        return True

    def queue(self) -> list[int]:
        """The free blocks, the next to be taken first."""
        blocks, block = [], self._after[NULL]
        while block != NULL:
            blocks.append(block)
            block = self._after[block]
        return blocks

    def check(self, tables: Iterable[Sequence[int]]) -> None:
        """`tables`: the blocks of each running request and group. Raises AssertionError."""
        users = [0] * self.num_blocks
        for table in tables:
            for block in table:
                users[block] += block != NULL
        assert users == self._users, "blocks in use and blocks in tables differ"
        queue = self.queue()
        idle = {block for block in range(1, self.num_blocks) if not users[block]}
        assert len(queue) == self.num_free, "the queue's length"
        assert set(queue) == idle, "free, used and total differ"
        assert self.num_named_free == sum(self._name[b] is not None for b in queue)
        named = {block: name for name, copies in self._named.items() for block in copies}
        assert named == {b: n for b, n in enumerate(self._name) if n is not None}

    def _evict(self, block: int) -> None:
        name = self._name[block]
        if name is not None:
            self.evicted.append(name)
            self.num_named_free -= 1
            self.take_name(block)

    def _unlink(self, block: int) -> None:
        before, after = self._before[block], self._after[block]
        self._after[before], self._before[after] = after, before
        self.num_free -= 1

    def _link(self, block: int, before: int) -> None:
        after = self._after[before]
        self._before[block], self._after[block] = before, after
        self._after[before] = self._before[after] = block
        self.num_free += 1
