"""vLLM's groups of layers that look at part of a prefix: sliding windows, and recurrent states.

Rules: vllm/v1/core/single_type_kv_cache_manager.py, `SlidingWindowManager` and `MambaManager`.
"""

from collections.abc import Sequence

from hitpath.sim.models.chains import Prefix
from hitpath.sim.models.vllm_groups import FullGroup, Lookup, Retention, Row
from hitpath.sim.models.vllm_pool import NULL, BlockPool, Name


class WindowGroup(FullGroup):
    """Sliding window: a token looks at `window` tokens, itself among them.

    A hit needs the blocks that the next token looks at, side by side and ending at the hit; what
    stands before them may be missing. A run from the first block on is one however short.
    """

    def __init__(
        self,
        number: int,
        block_size: int,
        hash_size: int,
        pool: BlockPool,
        window: int,
        most_in_flight: int,
    ) -> None:
        super().__init__(number, block_size, hash_size, pool)
        self.window = window
        self._most_in_flight = most_in_flight

    def num_skipped(self, computed: int) -> int:
        return max(0, computed - self.window + 1)

    def most_held(self, num_tokens: int) -> int:
        held = -(-(self.window - 1 + self._most_in_flight) // self.block_size) + 1
        return min(super().most_held(num_tokens), held)

    def find(self, look_up: Lookup, drop: bool) -> tuple[list[Row], int]:
        size, alignment = self.block_size, look_up.alignment
        need = -(-(self.window - 1) // size) + drop
        found = [look_up.nothing] * (look_up.most_tokens // size)
        run, end = 0, 0
        for i in range(len(found) - 1, -1, -1):
            row = self._row(look_up, i)
            if row is None:
                run = 0
                continue
            if not run and (i + (not drop)) * size % alignment:
                continue
            found[i] = row
            run += 1
            if run >= need:
                end = i + run
                break
        else:
            end = self._aligned(run, alignment)
        if drop and end:
            end = self._aligned(end - 1, alignment)
        return found[:end], end * size

    def _aligned(self, num_blocks: int, alignment: int) -> int:
        return num_blocks * self.block_size // alignment * alignment // self.block_size

    def worth_keeping(self, first: int, behind: int, retention: Retention) -> set[int] | None:
        """The run that a hit at each boundary needs."""
        alignment, interval = retention.alignment, retention.interval
        size, shift = self.block_size, retention.ahead
        need = -(-(self.window - 1) // size) + shift
        keep: set[int] = set()
        if interval != 0:
            segment = (alignment if interval is None else interval) // size
            if need >= segment:
                return None
            tails = (i for i in range(first, behind) if i >= shift)
            keep.update(i for i in tails if (i - shift) % segment >= segment - need)
        if interval is not None:
            for boundary in retention.boundaries:
                end = boundary // alignment * alignment // size + shift
                keep.update(range(max(first, end - need), min(behind, end)))
        return keep


class StateGroup(FullGroup):
    """Mamba and other recurrent layers, `mamba_cache_mode` "align": one state at the end of a
    step that ends on a block's edge; a hit needs that one and nothing before it.

    A request holds its running state, and that of the step before, from which the next one is
    copied. States named in this step hold nothing yet, so whoever hits one has to wait.
    """

    def __init__(self, number: int, block_size: int, hash_size: int, pool: BlockPool) -> None:
        super().__init__(number, block_size, hash_size, pool)
        self._started: set[int] = set()
        self._last_state: dict[int, int] = {}
        self._retired: dict[int, int] = {}
        self._named_in_step: set[Name] = set()

    def num_skipped(self, computed: int) -> int:
        return computed - 1

    def find(self, look_up: Lookup, drop: bool) -> tuple[list[Row], int]:
        size = self.block_size
        for i in range(look_up.most_tokens // size - 1, -1, -1):
            if (i + 1) * size % look_up.alignment:
                continue
            row = self._row(look_up, i)
            if row is not None:
                return [look_up.nothing] * i + [row], (i + 1) * size
        return [], 0

    def needed(
        self, request: int, num_tokens: int, hit: Sequence[int], computed: int, whole: bool
    ) -> int:
        if hit and self.pool.name_of(hit[-1]) in self._named_in_step:
            return self.pool.num_blocks + 1
        have = len(self.tables.get(request, ()))
        new = -(-num_tokens // self.block_size) - len(hit) - have
        return min(max(new, 0), 1) + sum(map(self.pool.is_idle, hit))

    def grow(self, request: int, num_tokens: int) -> None:
        table = self.tables.setdefault(request, [])
        wanted = -(-num_tokens // self.block_size)
        started = request in self._started
        self._started.add(request)
        if wanted <= len(table):
            return
        if started or table:
            self._last_state[request] = len(table) - 1
        table += [NULL] * (wanted - 1 - len(table))
        table += self.pool.take(1)

    def drop_skipped(self, request: int, computed: int) -> None:
        table = self.tables.get(request)
        if table is None:
            return
        behind = min(self.num_skipped(computed) // self.block_size, len(table))
        first = self._retired.get(request, 0)
        if self.num_skipped(computed) > 0 and first < behind:
            gone = [i for i in range(behind - 1, first - 1, -1) if table[i] != NULL]
            self.pool.give_back([table[i] for i in gone])
            for i in gone:
                table[i] = NULL
            self._retired[request] = behind
        last = self._last_state.get(request)
        if last is not None and last < -(-computed // self.block_size) - 1 and table[last] != NULL:
            self.pool.give_back([table[last]])
            table[last] = NULL

    def worth_keeping(self, first: int, behind: int, retention: Retention) -> set[int] | None:
        alignment, interval = retention.alignment, retention.interval
        if interval is None:
            return None
        segment = interval // self.block_size
        if segment == 1:
            return None
        ends = [b // alignment * alignment // self.block_size - 1 for b in retention.boundaries]
        keep = {i for i in ends if first <= i < behind}
        if segment:
            keep.update(range((first + segment) // segment * segment - 1, behind, segment))
        return keep

    def name(
        self, request: int, prefixes: Sequence[Prefix], num_tokens: int, retention: Retention
    ) -> list[Name]:
        names = super().name(request, prefixes, num_tokens, retention)
        table, last = self.tables[request], num_tokens // self.block_size - 1
        if num_tokens == retention.state_boundary and 0 <= last < len(table) and table[last]:
            name = self.pool.name_of(table[last])
            # Named in this step even if it was named in an earlier one: whoever hits it waits
            # until the request that holds it has passed the boundary.
            names.append(name or self._name(table[last], prefixes, last))
        self._named_in_step.update(names)
        return names

    def release(self, request: int) -> list[int]:
        self._started.discard(request)
        self._last_state.pop(request, None)
        self._retired.pop(request, None)
        return super().release(request)

    def new_step(self) -> None:
        self._named_in_step.clear()
