"""What the ranks of SGLang print, and which of them repeat each other.

The ranks of one cache (TP, PP, attention CP) may all print the same batch
(--enable-metrics-for-all-schedulers, and pipeline ranks always): a rank whose lines are mostly
those of a lower one, within two seconds, is left out. DP ranks have caches of their own.
"""

from collections import deque
from dataclasses import dataclass, field

from hitpath.traces.engine_logs.lines import Times
from hitpath.traces.engine_logs.records import MOST_POINTS

_LOOK_BACK = 256
_SAME_BATCH_S = 2.0


@dataclass(slots=True, eq=False)
class Rank:
    """What one rank has printed. bins: (time, cached, all tokens) of stretches of batches."""

    ranks: tuple[tuple[str, int], ...]
    num: int = 0
    num_sequences: int = 0
    new: int = 0
    cached: int = 0
    num_repeats: int = 0
    num_probes: int = 0
    times: Times = field(default_factory=Times)
    place: str = ""
    printed: float | None = None
    printed_decimals: int = 2
    contradicts: bool = False
    bins: list[tuple[str | None, int, int]] = field(default_factory=list)
    bin_size: int = 1

    @property
    def is_counted(self) -> bool:
        """Whether it is no repetition of a lower one."""
        return 2 * self.num_repeats <= self.num

    def add(self, at: str | None, sequences: int, new: int, cached: int) -> None:
        if self.num % self.bin_size == 0:
            self.bins.append((at, 0, 0))
        when, hit, total = self.bins[-1]
        self.bins[-1] = (when, hit + cached, total + cached + new)
        if len(self.bins) > 2 * MOST_POINTS:
            pairs = zip(self.bins[::2], self.bins[1::2], strict=False)
            odd = self.bins[-1:] if len(self.bins) % 2 else []
            self.bins = [(a[0], a[1] + b[1], a[2] + b[2]) for a, b in pairs] + odd
            self.bin_size *= 2
        self.num += 1
        self.num_sequences += sequences
        self.new += new
        self.cached += cached
        self.num_probes += sequences == new == 1 and cached == 0


@dataclass(slots=True, eq=False)
class Seen:
    """A batch as one rank has just printed it."""

    rank: Rank
    at_s: float | None
    batch: tuple[int, int, int]
    repeats: bool


@dataclass(slots=True, eq=False)
class Cache:
    """One cache: a DP rank of one container, or a server without DP. recent: the last batches in
    their order; alike: the same by their counts."""

    name: str
    ranks: dict[tuple[tuple[str, int], ...], Rank] = field(default_factory=dict)
    recent: deque[Seen] = field(default_factory=deque)
    alike: dict[tuple[int, int, int], list[Seen]] = field(default_factory=dict)

    def note_repeats(self, rank: Rank, at_s: float | None, batch: tuple[int, int, int]) -> None:
        """Mark the batch as a repeat where a lower rank printed it within two seconds, or a
        higher rank's batch as one of this."""
        seen = Seen(rank, at_s, batch, False)
        for other in self.alike.get(batch, ()) if len(self.ranks) > 1 else ():
            if other.rank is not rank and _near(other, seen):
                later = seen if rank.ranks > other.rank.ranks else other
                if not later.repeats:
                    later.repeats = True
                    later.rank.num_repeats += 1
        self.recent.append(seen)
        self.alike.setdefault(batch, []).append(seen)
        if len(self.recent) > _LOOK_BACK:
            oldest = self.recent.popleft()
            same = self.alike[oldest.batch]
            del same[0]
            if not same:
                del self.alike[oldest.batch]

    def counted(self) -> list[Rank]:
        """The ranks that are no repetition of a lower one."""
        return [rank for rank in self.ranks.values() if rank.is_counted]


def _near(one: Seen, other: Seen) -> bool:
    if one.at_s is None or other.at_s is None:
        return True
    return abs(one.at_s - other.at_s) <= _SAME_BATCH_S


def rank_name(ranks: tuple[tuple[str, int], ...]) -> str:
    return " ".join(f"{name}{n}" for name, n in ranks) or "lines without a rank"


def name_of(cache: Cache, rank: Rank) -> str:
    """What tells this cache from the others."""
    parts = [cache.name] if cache.name else []
    if rank.ranks or not parts:
        parts.append(rank_name(rank.ranks))
    return " ".join(parts)
