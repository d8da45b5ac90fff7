"""SGLang's radix tree of KV: what it finds, how it grows, and what leaves it.

Two releases of the rule, both in sglang/srt/mem_cache: `radix_cache.py` (RadixCache, the default
for plain models up to 0.5.18) and `unified_cache/unified_tree_core.py` (UnifiedRadixCache, the
default from 0.5.20 on). They differ in one thing only, which node counts as the more recent:

    RadixCache    a walk gives all nodes of its path one time; a split gives its upper part a later
    unified       a match gives the deepest node the latest time, and each parent an earlier one;
                  an insert gives each node of its path a later one; a split its lower part the last

- An edge holds a run of whole pages. A match or an insert that ends inside it splits it.
- Locking a node locks its path to the root. Only nodes that are not locked and have no child on
  the device can be evicted, whole, in the order of the policy; then their parent may be next.
- A node with a copy on the host stays, without its place on the device. The host's leaves are
  evicted in the same order.
- Each insert counts a hit for every node of its path that the request had not inserted before.
"""

import heapq
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

RadixPolicy = Literal["lru", "lfu", "slru", "priority"]
Page = tuple[Hashable, tuple[int, ...]]
"""How a child is found: the context, and the tokens of its first page."""

PROTECTED_HITS = 2
"""Policy slru: hits from which a node is in the protected segment."""
LOWEST = -(1 << 63)


class Node:
    """A run of pages and what follows it. `tokens` are those of the run; the root has none."""

    __slots__ = (
        "children",
        "hits",
        "host_locks",
        "locks",
        "on_device",
        "on_host",
        "parent",
        "priority",
        "stamp",
        "tokens",
    )

    def __init__(self, parent: "Node | None", tokens: tuple[int, ...], priority: int) -> None:
        self.parent = parent
        self.tokens = tokens
        self.priority = priority
        self.children: dict[Page, Node] = {}
        self.on_device = True
        self.on_host = False
        self.locks = 0
        self.host_locks = 0
        self.hits = 0
        self.stamp = 0.0

    def __lt__(self, other: "Node") -> bool:
        return self.stamp < other.stamp


@dataclass(frozen=True, slots=True)
class Match:
    """`node` ends the match, `device_node` the part of it that is on the device."""

    node: Node
    device_node: Node
    device_tokens: int
    host_tokens: int


class RadixTree:
    """Tokens in whole pages of `page_size`. `backs_up` is called with a node that has been hit
    often enough for a copy on the host; without a host nobody is."""

    def __init__(
        self,
        page_size: int,
        policy: RadixPolicy,
        *,
        unified: bool,
        write_through_hits: int = 0,
        backs_up: Callable[[Node], None] | None = None,
    ) -> None:
        self.page_size = page_size
        self.unified = unified
        self.root = Node(None, (), LOWEST)
        self.root.locks = 1
        self.evictable = 0
        self.protected = 0
        self.host_cached = 0
        self.rank = _RANKS[policy]
        self._clock = 0.0
        self._leaves: set[Node] = set()
        self._host_leaves: set[Node] = set()
        self._write_through_hits = write_through_hits
        self._backs_up = backs_up

    # ---- finding

    def peek(self, tokens: Sequence[int], context: Hashable) -> tuple[int, int]:
        """(tokens on the device, tokens behind them on the host) that a match would find now."""
        node, at, device, host = self.root, 0, 0, 0
        end = self._whole(len(tokens))
        while at < end:
            child = node.children.get(self._page(tokens, at, context))
            if child is None or not (child.on_device or child.on_host):
                break
            same = self._same(child, tokens, at, end)
            device, host = (device + same, host) if child.on_device else (device, host + same)
            at += same
            if same < len(child.tokens):
                break
            node = child
        return device, host

    def match(self, tokens: Sequence[int], context: Hashable) -> Match:
        """The longest prefix of whole pages. Splits and touches nodes."""
        end = self._whole(len(tokens))
        if not end:
            return Match(self.root, self.root, 0, 0)
        now = self._now() if not self.unified else 0.0
        node, at, device, host = self.root, 0, 0, 0
        device_node = node
        node.stamp = now if not self.unified else node.stamp
        while at < end:
            child = node.children.get(self._page(tokens, at, context))
            if child is None or not (child.on_device or child.on_host):
                break
            if not self.unified:
                child.stamp = now
            same = self._same(child, tokens, at, end)
            part = same < len(child.tokens)
            node = self._split(child, same, context) if part else child
            at += same
            if node.on_device:
                device, device_node = device + same, node
            else:
                host += same
            if part:
                break
        if self.unified:
            self._touch_path(node)
        return Match(node, device_node, device, host)

    # ---- growing

    def insert(
        self, tokens: Sequence[int], context: Hashable, priority: int, inserted: int
    ) -> tuple[int, Node]:
        """Put the whole pages of `tokens` on the device; (tokens that were there already, last
        node). `inserted`: tokens that this request inserted before, which count no hit."""
        end, at, node = self._whole(len(tokens)), 0, self.root
        now = self._now()
        node.stamp = now
        node.priority = max(node.priority, priority)
        there = 0
        while at < end:
            child = node.children.get(self._page(tokens, at, context))
            if child is None:
                break
            child.stamp = self._now() if self.unified else now
            same = self._same(child, tokens, at, end)
            node = self._split(child, same, context) if same < len(child.tokens) else child
            node.priority = max(node.priority, priority)
            at += same
            if node.on_device:
                there = at
            else:
                self._return_to_device(node)
            if at > inserted:
                self._count_hit(node)
        if at < end:
            node = self._append(node, tuple(tokens[at:end]), context, priority)
            if end > inserted:
                self._count_hit(node)
        return there, node

    def _append(
        self, parent: Node, tokens: tuple[int, ...], context: Hashable, priority: int
    ) -> Node:
        leaf = Node(parent, tokens, priority)
        leaf.stamp = self._now()
        parent.children[self._page(tokens, 0, context)] = leaf
        self.evictable += len(tokens)
        self.sort(leaf)
        self.sort(parent)
        return leaf

    def _return_to_device(self, node: Node) -> None:
        node.on_device = True
        self._count(node, 1)
        self.sort(node)
        if node.parent is not None:
            self.sort(node.parent)

    def _count_hit(self, node: Node) -> None:
        node.hits += 1
        if self._backs_up and not node.on_host and node.hits >= self._write_through_hits:
            self._backs_up(node)

    def _split(self, child: Node, length: int, context: Hashable) -> Node:
        """The first `length` tokens of a run as a node of their own, above it."""
        parent = child.parent
        assert parent is not None
        upper = Node(parent, child.tokens[:length], child.priority)
        upper.stamp = self._now()
        upper.hits, upper.locks = child.hits, child.locks
        upper.host_locks = child.host_locks
        upper.on_device, upper.on_host = child.on_device, child.on_host
        parent.children[self._page(child.tokens, 0, context)] = upper
        child.parent, child.tokens = upper, child.tokens[length:]
        upper.children[self._page(child.tokens, 0, context)] = child
        if self.unified:
            child.stamp = self._now()
        self.sort(upper)
        self.sort(child)
        return upper

    def load(self, node: Node) -> None:
        """The node and its parents that are on the host alone are on the device too."""
        while node.parent is not None and not node.on_device:
            node.on_device = True
            self._count(node, 1)
            self.sort(node)
            node = node.parent
        self.sort(node)

    # ---- keeping

    def lock(self, node: Node) -> int:
        """Nothing from the node to the root may leave the device; returns the tokens that could
        have left it before."""
        newly = 0
        while node.parent is not None:
            if not node.locks and node.on_device:
                newly += len(node.tokens)
                self._count(node, -1)
                self.protected += len(node.tokens)
            node.locks += 1
            self.sort(node)
            node = node.parent
        return newly

    def unlock(self, node: Node) -> None:
        while node.parent is not None:
            node.locks -= 1
            if not node.locks and node.on_device:
                self.protected -= len(node.tokens)
                self._count(node, 1)
            self.sort(node)
            node = node.parent

    def _count(self, node: Node, sign: int) -> None:
        """Tokens that have come to (or left) the device and can be evicted (or not)."""
        if node.locks:
            self.protected += sign * len(node.tokens)
        else:
            self.evictable += sign * len(node.tokens)

    # ---- leaving

    def evict(self, num_tokens: int) -> list[tuple[int, bool]]:
        """Make room for at least `num_tokens` on the device, if that many can leave it; (tokens,
        whether the host still has them) of each run that left."""
        gone: list[tuple[int, bool]] = []
        heap = [(self.rank(node), node) for node in self._leaves]
        heapq.heapify(heap)
        freed = 0
        while freed < num_tokens and heap:
            _, node = heapq.heappop(heap)
            parent = node.parent
            assert parent is not None
            self._count(node, -1)
            node.on_device = False
            freed += len(node.tokens)
            gone.append((len(node.tokens), node.on_host))
            if node.on_host:
                self.sort(node)
            else:
                self._remove(node)
            self.sort(parent)
            if parent in self._leaves:
                heapq.heappush(heap, (self.rank(parent), parent))
        return gone

    def evict_host(self, num_tokens: int) -> list[int]:
        """The same for the host; tokens of each run that left."""
        gone: list[int] = []
        heap = [(self.rank(node), node) for node in self._host_leaves]
        heapq.heapify(heap)
        while sum(gone) < num_tokens and heap:
            _, node = heapq.heappop(heap)
            parent = node.parent
            assert parent is not None
            gone.append(len(node.tokens))
            self.host_cached -= len(node.tokens)
            self._remove(node)
            self.sort(parent)
            if parent in self._host_leaves:
                heapq.heappush(heap, (self.rank(parent), parent))
        return gone

    def _remove(self, node: Node) -> None:
        parent = node.parent
        assert parent is not None
        key = next(key for key, child in parent.children.items() if child is node)
        del parent.children[key]
        self._leaves.discard(node)
        self._host_leaves.discard(node)

    def sort(self, node: Node) -> None:
        """Into the leaves that can be evicted, of each tier, or out of them."""
        free = node.parent is not None and not node.locks
        on_device = any(child.on_device for child in node.children.values())
        _put(self._leaves, node, free and node.on_device and not on_device)
        only_host = free and node.on_host and not node.on_device and not node.host_locks
        _put(self._host_leaves, node, only_host and not node.children)

    def leaves(self) -> set[Node]:
        """The nodes of which one would be the next to leave the device."""
        return set(self._leaves)

    def host_leaves(self) -> set[Node]:
        """The same for the host."""
        return set(self._host_leaves)

    # ---- within

    def _whole(self, num_tokens: int) -> int:
        return num_tokens - num_tokens % self.page_size

    def _page(self, tokens: Sequence[int], at: int, context: Hashable) -> Page:
        return context, tuple(tokens[at : at + self.page_size])

    def _same(self, node: Node, tokens: Sequence[int], at: int, end: int) -> int:
        """Tokens, in whole pages, that the run and the rest of `tokens` begin with."""
        run, size = node.tokens, self.page_size
        length = min(len(run), end - at)
        if tuple(tokens[at : at + length]) == run[:length]:
            return length
        same = next(i for i in range(length) if run[i] != tokens[at + i])
        return same - same % size

    def _now(self) -> float:
        self._clock += 1
        return self._clock

    def _touch_path(self, node: Node) -> None:
        """The deepest node is the most recent; parents, a little less so, still before all else."""
        stamp = self._now()
        above: Node | None = node
        while above is not None:
            above.stamp = stamp
            stamp -= 0.00001
            above = above.parent

    def check(self) -> None:
        """Raises AssertionError."""
        evictable = protected = host = 0
        waiting = list(self.root.children.values())
        leaves, host_leaves = set(), set()
        while waiting:
            node = waiting.pop()
            waiting += node.children.values()
            assert len(node.tokens) % self.page_size == 0, "a run with part of a page"
            assert node.tokens, "an empty run"
            assert node.on_device or node.on_host, "a run that nobody has"
            assert node.parent is not None
            assert node.parent is self.root or node.parent.on_device or not node.on_device, "a gap"
            assert node.parent is self.root or node.parent.locks >= node.locks, "an unlocked parent"
            if node.on_device and node.locks:
                protected += len(node.tokens)
            elif node.on_device:
                evictable += len(node.tokens)
            host += len(node.tokens) * node.on_host
            on_device = any(child.on_device for child in node.children.values())
            if node.on_device and not node.locks and not on_device:
                leaves.add(node)
            if not (node.on_device or node.locks or node.host_locks or node.children):
                host_leaves.add(node)
        assert (evictable, protected, host) == (self.evictable, self.protected, self.host_cached)
        assert (leaves, host_leaves) == (self._leaves, self._host_leaves)


def _put(where: set[Node], node: Node, belongs: bool) -> None:
    if belongs:
        where.add(node)
    else:
        where.discard(node)


_RANKS: dict[RadixPolicy, Callable[[Node], tuple[float, ...]]] = {
    "lru": lambda node: (node.stamp,),
    "lfu": lambda node: (node.hits, node.stamp),
    "slru": lambda node: (node.hits >= PROTECTED_HITS, node.stamp),
    "priority": lambda node: (node.priority, node.stamp),
}
