"""SGLang's lines, one a prefill batch.

"[2025-05-07 09:50:01 DP0 TP0] Prefill batch[.,] [10], #new-seq: 1, #new-token: 1, #cached-token:
21, …" (managers/scheduler_metrics_mixin.py, later observability/). #cached-token is the match of
the requests admitted; the later chunks of a chunked prefill add 0 to it (schedule_policy.py,
PrefillAdder.add_chunked_req; before PR 2555, 0.4.1, they added the request's own chunks). Until
0.4.3 "cache hit rate: x%" follows: the same sums since the server started.

Ranks that repeat each other are counted once (sglang_ranks.py).
"""

import re
from functools import lru_cache

from hitpath.traces.engine_logs.lines import (
    DAY_S,
    container_of,
    decimals_of,
    number,
    seconds_of,
    time_in,
)
from hitpath.traces.engine_logs.records import (
    Findings,
    Observation,
    Point,
    Window,
    listed,
    share,
)
from hitpath.traces.engine_logs.sglang_ranks import Cache, Rank, name_of, rank_name

_PREFILL = b"Prefill batch"
_DECODE = b"Decode batch"
_BATCH = re.compile(
    rb"Prefill batch[^\n]{0,64}?#new-seq: (\d{1,9}), #new-token: (\d{1,12}), "
    rb"#cached-token: (\d{1,12})(?:, cache hit rate: (\d{1,9}(?:\.\d{1,9})?)%)?"
)
_RANKS = re.compile(rb"\b([A-Z_]+?)(\d+)(?= |\])")
_HEAD_BYTES = 160
_RANK_BYTES = 80


@lru_cache(maxsize=4096)
def _ranks_in(head: bytes) -> tuple[tuple[str, int], ...]:
    """The names of ranks at the end of "[2025-05-07 09:50:01 DP0 TP0", sorted."""
    return tuple(sorted((name.decode(), int(n[:9])) for name, n in _RANKS.findall(head)))


class SGLangLog:
    """Collects one source's lines."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._caches: dict[tuple[object, ...], Cache] = {}
        self._num_decode = 0
        self.page_size: int | None = None

    def feed(self, place: str, line: bytes) -> bool:
        """Whether the line told something."""
        if _PREFILL not in line:
            is_decode = _DECODE in line
            self._num_decode += is_decode
            return is_decode
        found = list(_BATCH.finditer(line))
        if not found:
            self._findings.left_out(
                place, "Prefill batch", "no readable counts: the line is cut off"
            )
        begin = 0
        for match in found:
            self._batch(place, line, begin, match)
            begin = match.end()
        return True

    def _batch(self, place: str, line: bytes, begin: int, match: re.Match[bytes]) -> None:
        head = line[max(begin, match.start() - _HEAD_BYTES) : match.start()]
        head = head[head.rfind(b"[") + 1 :]
        at = time_in(head)
        told = _ranks_in(head[-_RANK_BYTES:])
        cache = self._cache(container_of(line), told)
        ranks = tuple(pair for pair in told if pair[0] != "DP")
        rank = cache.ranks.setdefault(ranks, Rank(ranks))
        sequences, new, cached = (int(text) for text in match.groups()[:3])
        at_s = seconds_of(at)
        cache.note_repeats(rank, at_s, (sequences, new, cached))
        rank.times.add(at, at_s)
        rank.add(at, sequences, new, cached)
        rank.place = place
        if match[4] is not None:
            rank.printed = round(number(match[4]) / 100, 12)
            rank.printed_decimals = decimals_of(match[4])
            rank.contradicts = rank.contradicts or (cached > 0 and rank.printed == 0)

    def _cache(self, container: str, told: tuple[tuple[str, int], ...]) -> Cache:
        """A server with ranks and one without are two servers."""
        key = (container, *(pair if pair[0] == "DP" else pair[:1] for pair in told))
        if key not in self._caches:
            dp_ranks = [f"DP{n}" for name, n in told if name == "DP"]
            name = " ".join(filter(None, (container, *dp_ranks)))
            self._caches[key] = Cache(name)
        return self._caches[key]

    def finish(self) -> None:
        """Put what was collected into the findings."""
        caches = list(self._caches.values())
        if not caches and self._num_decode:
            self._findings.trap(
                f"{self._num_decode:,} lines of decode batches, none of a prefill batch: only "
                "those tell of the cache"
            )
        counted = [(cache, cache.counted()) for cache in caches]
        is_only = len(caches) == 1 and len(counted[0][1]) == 1
        for cache, ranks in counted:
            for rank in ranks:
                self._observe(rank, "" if is_only else name_of(cache, rank))
            self._repeats(cache, ranks)
        self._warn([rank for _, ranks in counted for rank in ranks])

    def _observe(self, rank: Rank, name: str) -> None:
        begin, end = rank.times.begin, rank.times.end
        lines = f"{rank.num:,} batch" + ("es" if rank.num > 1 else "")
        when = "" if begin is None else f" at {end}" if begin == end else f", {begin} to {end}"
        total = rank.cached + rank.new
        observation = Observation(
            engine="sglang",
            quantity="prefill_batches",
            kind="lines",
            model=None,
            worker=name,
            rate=share(rank.cached, total),
            hit=rank.cached,
            total=total,
            unit="tokens",
            window=Window("lines", lines + when, begin, end),
            place=rank.place,
            num_values=rank.num,
            over_time=tuple(Point(at, share(hit, of)) for at, hit, of in rank.bins),
        )
        self._findings.observations.append(observation)
        if rank.printed is not None:
            self._findings.observations.append(_printed(observation, rank))

    def _repeats(self, cache: Cache, kept: list[Rank]) -> None:
        left = [rank for rank in cache.ranks.values() if not rank.is_counted]
        if left:
            names = listed(rank_name(rank.ranks) for rank in left)
            num = sum(rank.num for rank in left)
            self._findings.trap(
                f"{num:,} lines of {names} repeat the batches of {rank_name(kept[0].ranks)} (one "
                "cache, printed by each rank) and are counted once"
            )

    def _warn(self, ranks: list[Rank]) -> None:
        findings = self._findings
        if not ranks:
            return
        longest = max((rank.times for rank in ranks), key=lambda t: t.longest_gap_s)
        if longest.longest_gap_s > DAY_S:
            findings.trap(
                f"Between {longest.gap[0]} and {longest.gap[1]} are "
                f"{longest.longest_gap_s / DAY_S:,.1f} days without a prefill batch: the lines may "
                "be of different runs, and are added up as they stand"
            )
        if any(rank.times.went_back for rank in ranks):
            findings.trap(
                "The times go back: the lines are of several runs or servers, and are added up as "
                "they stand"
            )
        if any(rank.contradicts for rank in ranks):
            findings.trap(
                "Cached tokens beside a cache hit rate of 0.00 %: no radix cache "
                "(--disable-radix-cache); #cached-token are a prompt's own earlier chunks, which "
                "count as cached before 0.4.1"
            )
        if len({bool(rank.ranks) for rank in ranks}) > 1:
            findings.trap(
                "Lines with and without the names of ranks are of two servers, and are added up "
                "as they stand"
            )
        probes = sum(rank.num_probes for rank in ranks)
        batches = sum(rank.num for rank in ranks)
        if probes:
            findings.trap(
                f"{probes:,} of {batches:,} batches are one sequence of 1 new and 0 cached tokens: "
                "that is what /health_generate sends; such batches are counted, and weigh a token "
                "each"
            )
        if batches:
            findings.trap(
                "The rate is that of the batches in this text only: a batch that was cut away is "
                "in neither count"
            )
        if self.page_size is not None and self.page_size > 1:
            findings.trap(
                f"page_size={self.page_size}: #new-token is rounded up to whole pages, so that the "
                "true rate is a little higher"
            )


def _printed(observation: Observation, rank: Rank) -> Observation:
    end = rank.times.end
    until = f" until {end}" if end else ""
    return Observation(
        engine="sglang",
        quantity="printed_hit_rate",
        kind="printed",
        model=None,
        worker=observation.worker,
        rate=rank.printed,
        hit=None,
        total=None,
        unit="tokens",
        window=Window("since_start", f"since the server started{until}", None, end),
        place=rank.place,
        num_values=rank.num,
        decimals=rank.printed_decimals,
    )
