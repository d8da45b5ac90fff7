"""Losses that have one reason: a constant floor ("every turn reuses exactly 16,276"), and bursts at
the boundary of a clock, when all open sessions lose their prefix together."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hitpath.core import ABSENT
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.diagnosis import SharedCause
from hitpath.doctor.relatives import NONE
from hitpath.traces.table import Floats, Ints, Trace

_LEAST_REQUESTS = 4
_LEAST_SHARE = 0.5
_MOST_OF = 0.7
_DAY_S, _HOUR_S = 86_400, 3_600
_LEAST_EPOCH_S = 1e8
"""Smaller arrival times count from the beginning of the trace: they tell no time of the day."""
_LEAST_SESSIONS = 3
_SLACK_TOKENS = 64
_NEAR_S = 900
"""A quarter of an hour, by which time zones differ too."""


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


def clock_bursts(
    trace: Trace, findings: Sequence[Finding], lost: Ints, defects: Sequence[Defect]
) -> list[SharedCause]:
    """Changes of a clock in many sessions shortly after one boundary of the day or the hour: only
    where the times are times of the day. lost: as above."""
    if not trace.common_clock or not len(trace) or float(trace.arrival_s.min()) < _LEAST_EPOCH_S:
        return []
    found: list[SharedCause] = []
    pairs = _pairs_by_application(trace, findings)
    for number, defect in enumerate(defects):
        if defect.kind != "clock":
            continue
        for boundary in _boundaries(trace, defect):
            bursts = _bursts(trace, defect, pairs[defect.application], boundary)
            if bursts:
                rows = [row for rows in bursts.values() for row in rows]
                times = "once" if len(bursts) == 1 else f"{len(bursts):,} times"
                text = (
                    f"{len(rows):,} requests of several sessions lose their prefix together within "
                    f"{_NEAR_S // 60} minutes after {boundary.name} ({times}): one clock"
                )
                tokens = int(lost[rows].sum())
                found.append(SharedCause("burst", text, len(rows), tokens, number))
                break
    return found


class Boundary(NamedTuple):
    """Moments at which a clock in a prompt changes: shift_s after each full unit of UTC."""

    name: str
    unit_s: int
    shift_s: int = 0

    def last_before(self, at_s: Floats) -> Ints:
        """The number of the latest such moment that is not later."""
        return ((at_s - self.shift_s) // self.unit_s).astype(np.int64)


def _boundaries(trace: Trace, defect: Defect) -> list[Boundary]:
    """Those that may explain a defect, the plain ones first. Midnight of another time zone is
    where most of its requests arrive."""
    quarters = trace.arrival_s[list(defect.rows)] % _DAY_S // _NEAR_S
    shift_s = int(Counter(quarters.tolist()).most_common(1)[0][0]) * _NEAR_S
    behind_s = shift_s if shift_s <= _DAY_S // 2 else shift_s - _DAY_S
    hours, minutes = divmod(abs(behind_s) // 60, 60)
    zone = f"UTC{'-' if behind_s > 0 else '+'}{hours:02}:{minutes:02}"
    return [
        Boundary("midnight", _DAY_S),
        Boundary("the hour", _HOUR_S),
        Boundary("the half hour", _HOUR_S, _HOUR_S // 2),
        Boundary(f"midnight of {zone}", _DAY_S, shift_s),
    ]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Requests of an application that have a relative, and when both arrived."""

    rows: Ints
    before_s: Floats
    at_s: Floats


def _pairs_by_application(trace: Trace, findings: Sequence[Finding]) -> dict[int, Pairs]:
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for finding in findings:
        if finding.relative != NONE:
            pairs[finding.application].append((finding.row, finding.relative))
    columns = {number: np.array(both, dtype=np.int64).T for number, both in pairs.items()}
    return {
        number: Pairs(rows, trace.arrival_s[others], trace.arrival_s[rows])
        for number, (rows, others) in columns.items()
    }


def _bursts(trace: Trace, defect: Defect, pairs: Pairs, boundary: Boundary) -> dict[int, list[int]]:
    """Requests with this defect by the boundary that lies between them and their relative, shortly
    before them. Empty unless it is the boundary that matters: most requests with the defect are
    such, at least half of such have it, and they stand out from the rest of the application. A
    clock of seconds changes everywhere; who is asked at full hours only is asked then anyway."""
    last = boundary.last_before(pairs.at_s)
    is_near = pairs.at_s - boundary.shift_s - last * boundary.unit_s <= _NEAR_S
    is_near &= boundary.last_before(pairs.before_s) < last
    broken = is_near & np.isin(pairs.rows, defect.rows)
    near: dict[int, list[int]] = defaultdict(list)
    for row, number in zip(pairs.rows[broken].tolist(), last[broken].tolist(), strict=True):
        near[number].append(row)
    bursts = {
        number: rows
        for number, rows in near.items()
        if len({_session(trace, row) for row in rows}) >= _LEAST_SESSIONS
    }
    total, num_near = sum(map(len, bursts.values())), np.count_nonzero(is_near)
    expected = len(defect.rows) * num_near / len(pairs.rows)
    is_cause = total >= max(_MOST_OF * len(defect.rows), _LEAST_SHARE * num_near)
    return bursts if is_cause and total > 2 * expected else {}


def _session(trace: Trace, row: int) -> int:
    code = int(trace.session.codes[row])
    return -1 - row if code == ABSENT else code
