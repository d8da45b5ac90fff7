"""Losses that have one reason: a constant floor ("every turn reuses exactly 16,276"), and bursts at
the boundary of a clock, when all open sessions lose their prefix together."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from hitpath.core import ABSENT
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import SharedCause
from hitpath.traces.table import Ints, Trace

_LEAST_REQUESTS = 4
_LEAST_SHARE = 0.5
_UNITS_S = {"midnight": 86_400, "the hour": 3_600}
_LEAST_SESSIONS = 3
_SLACK_TOKENS = 64
_NEAR_S = 900


def constant_floors(
    trace: Trace, reused: Ints, lost: Ints, defects: Sequence[Defect]
) -> list[SharedCause]:
    """One count of reused tokens, again and again, while prompts grow. reused: tokens of each
    request that were reused, ABSENT where that is not known; lost: those
    that were there before and were not reused."""
    found: list[SharedCause] = []
    known = np.flatnonzero(reused > 0)
    counts = Counter(reused[known].tolist())
    for tokens, count in counts.most_common(3):
        rows = known[reused[known] == tokens]
        if np.count_nonzero(lost[rows]) < _LEAST_SHARE * count:
            continue  # what is new begins there, and nothing broke
        lengths = trace.prompt_tokens[rows]
        grows = len(np.unique(lengths)) >= min(count, _LEAST_REQUESTS)
        if count < _LEAST_REQUESTS or count < _LEAST_SHARE * len(known) or not grows:
            continue
        number = _cause_at(trace, rows, tokens, defects)
        text = (
            f"{count:,} of {len(known):,} requests reuse exactly {tokens:,}, whatever their length"
        )
        found.append(SharedCause("floor", text, int(count), int(lost[rows].sum()), number))
    return found


def _cause_at(trace: Trace, rows: Ints, floor: int, defects: Sequence[Defect]) -> int | None:
    """The number of the defect that most of these requests have, and that stands at the floor: what
    was reused behind a defect was not ended by it."""
    wanted = set(rows.tolist())
    for number, defect in enumerate(defects):
        is_behind = trace.identity != "text" and defect.token_offset + _SLACK_TOKENS < floor
        if not is_behind and len(wanted & set(defect.rows)) >= _LEAST_SHARE * len(wanted):
            return number
    return None


def clock_bursts(trace: Trace, defects: Sequence[Defect]) -> list[SharedCause]:
    """Changes of a clock in many sessions shortly after one boundary."""
    if not trace.common_clock:
        return []
    found: list[SharedCause] = []
    for number, defect in enumerate(defects):
        if defect.kind != "clock":
            continue
        for name, unit_s in _UNITS_S.items():
            bursts = _bursts(trace, defect, unit_s)
            if bursts:
                num = sum(len(rows) for rows in bursts.values())
                text = (
                    f"{num:,} requests of several sessions lose their prefix together within "
                    f"{_NEAR_S // 60} minutes after {name} ({len(bursts):,} times): one clock"
                )
                tokens = defect.tokens_invalidated * num // max(len(defect.rows), 1)
                found.append(SharedCause("burst", text, num, tokens, number))
                break
    return found


def _bursts(trace: Trace, defect: Defect, unit_s: int) -> dict[int, list[int]]:
    """Requests with this defect by the boundary that they follow; empty unless most follow one."""
    near: dict[int, list[int]] = defaultdict(list)
    for row in defect.rows:
        at = float(trace.arrival_s[row])
        if at % unit_s <= _NEAR_S:
            near[int(at // unit_s)].append(row)
    bursts = {
        boundary: rows
        for boundary, rows in near.items()
        if len({_session(trace, row) for row in rows}) >= _LEAST_SESSIONS
    }
    total = sum(map(len, bursts.values()))
    expected = len(defect.rows) * _NEAR_S / unit_s
    return bursts if total >= 0.7 * len(defect.rows) and total > 2 * expected else {}


def _session(trace: Trace, row: int) -> int:
    code = int(trace.session.codes[row])
    return -1 - row if code == ABSENT else code
