"""From findings to a list of defects: what each kind changed, and how many tokens it invalidated.

A token is invalidated where the request has it at or behind rung 6 (nothing earlier gives it), and
its text was there before: its image lies within the canonical match (rung 7), or the relative has
it too. It counts for the last difference before it; so a request's tokens are counted once, and
what healing the first of two defects gives is the first one's.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hitpath.doctor.change import Change, Kind
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.forms import Forms
from hitpath.doctor.prompt import SYSTEM, TOOLS
from hitpath.doctor.resolve import general_path
from hitpath.traces.table import Ints

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens that one difference of one request changed and invalidated."""

    changed: int
    invalidated: int


@dataclass(frozen=True, slots=True)
class Costs:
    """of: the cost of each difference, by (row, number of the difference). lost: invalidated tokens
    of each request; unexplained: those of them that no difference stands before."""

    of: dict[tuple[int, int], Cost]
    lost: Ints
    unexplained: Ints

    def check(self) -> None:
        """Every invalidated token counts once."""
        total = sum(cost.invalidated for cost in self.of.values())
        assert total + int(self.unexplained.sum()) == int(self.lost.sum())
        assert np.all(self.lost >= 0)
        assert np.all(self.unexplained >= 0)


@dataclass(frozen=True, slots=True)
class Defect:
    """One kind at one place of one application. Offsets are of the example, the request that lost
    most by it; counts are of all requests that have it."""

    kind: Kind
    application: int
    json_path: str
    segment: str
    char_offset: int
    token_offset: int
    num_requests: int
    tokens_changed: int
    tokens_invalidated: int
    example: int
    relative: int
    there: str
    here: str
    label: str
    detail: str
    rows: tuple[int, ...] = field(repr=False)


def cost_of(
    findings: Sequence[Finding], since: Ints, forms: Forms | None, match: Ints | None
) -> Costs:
    """The costs of all differences. since: rung 6 of each request; forms, match: for rung 7, None
    where it is not known."""
    of: dict[tuple[int, int], Cost] = {}
    lost = np.zeros(len(findings), dtype=np.int64)
    unexplained = np.zeros(len(findings), dtype=np.int64)
    for finding in findings:
        row, floor = finding.row, int(since[finding.row])
        changes = finding.comparison.changes
        stretches: list[Stretch] = (
            [s for s in finding.comparison.kept if s[1] > floor] if changes else []
        )
        if forms is not None and match is not None:
            stretches += forms.stretches(row, int(match[row]), floor)
        stretches = _union(stretches, floor)
        shares, rest = _share(stretches, changes)
        lost[row], unexplained[row] = sum(b - a for a, b in stretches), rest
        for number, change in enumerate(changes):
            changed = change.stop - change.start
            of[row, number] = Cost(changed, shares[number])
    costs = Costs(of, lost, unexplained)
    costs.check()
    return costs


def _union(stretches: list[Stretch], floor: int) -> list[Stretch]:
    joined: list[Stretch] = []
    for start, stop in sorted((max(a, floor), b) for a, b in stretches):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], stop))
        elif stop > start:
            joined.append((start, stop))
    return joined


def _share(stretches: list[Stretch], changes: Sequence[Change]) -> tuple[list[int], int]:
    """(tokens of each change, those before the first)."""
    starts = [change.start for change in changes]
    shares, rest = [0] * len(changes), 0
    for start, stop in stretches:
        at = start
        while at < stop:
            number = _last_before(starts, at)
            end = min(stop, _next_start(starts, at))
            if number < 0:
                rest += end - at
            else:
                shares[number] += end - at
            at = end
    return shares, rest


def _last_before(starts: Sequence[int], at: int) -> int:
    """The last change that begins at or before a byte; of several at one place the first, which is
    healed first."""
    behind = bisect_right(starts, at)
    return bisect_left(starts, starts[behind - 1]) if behind else -1


def _next_start(starts: Sequence[int], at: int) -> int:
    behind = bisect_right(starts, at)
    return starts[behind] if behind < len(starts) else 1 << 62


def gather(findings: Sequence[Finding], costs: Costs) -> list[Defect]:
    """The defects, most expensive first; new content is none."""
    groups: dict[tuple[int, str, str, str], list[tuple[int, int]]] = defaultdict(list)
    for number, finding in enumerate(findings):
        application = finding.application
        for at, change in enumerate(finding.comparison.changes):
            if change.kind == "new_content":
                continue
            key = (application, change.kind, _place(change), _side(change))
            groups[key].append((number, at))
    made = [_defect(key[0], places, findings, costs) for key, places in groups.items()]
    return sorted(made, key=lambda d: (-d.tokens_invalidated, -d.num_requests, d.kind, d.json_path))


def _place(change: Change) -> str:
    """The place without what varies: the number of a message, of a call in it, of a tool. Which
    tools there are, and how their JSON is written, has one reason for all of them."""
    path = general_path(change.json_path)
    if change.segment == TOOLS:
        return TOOLS if change.kind in _OF_ALL_TOOLS else _NUMBER.sub("[*]", path, count=1)
    if change.segment == SYSTEM or "[*]" not in path:
        return path
    if change.kind in _OF_MESSAGES:
        return path.partition("[*]")[0]
    if path.endswith(_CALL_IDS):
        return f"{path.partition('[*]')[0]} id"
    return _NUMBER.sub("[*]", path)


_NUMBER = re.compile(r"\[\d+\]")
_OF_ALL_TOOLS = ("tool_set", "tool_order", "key_order", "array_order", "number_format")
_OF_MESSAGES = ("truncated_history", "compacted_history", "edited_message", "template_flip")
"""Which messages there are, or what became of one: whatever stands in its place now."""
_CALL_IDS = (".id", "tool_call_id", "tool_use_id", "call_id")


def _side(change: Change) -> str:
    is_message = change.segment.startswith("message")
    if change.kind in _OF_MESSAGES and change.segment not in (SYSTEM, TOOLS):
        is_message = True
    return "message" if is_message else change.segment


def _defect(
    application: int, places: list[tuple[int, int]], findings: Sequence[Finding], costs: Costs
) -> Defect:
    def cost(place: tuple[int, int]) -> Cost:
        return costs.of[findings[place[0]].row, place[1]]

    def change(place: tuple[int, int]) -> Change:
        return findings[place[0]].comparison.changes[place[1]]

    rows = tuple(dict.fromkeys(findings[place[0]].row for place in places))
    paths = Counter(change(place).json_path for place in places)
    path = max(paths, key=lambda p: (paths[p], p))
    lost = Counter[int]()
    for place in places:
        lost[place[0]] += cost(place).invalidated
    at_path = [place for place in places if change(place).json_path == path]
    best = min(at_path, key=lambda place: (-lost[place[0]], place))
    shown, example = change(best), findings[best[0]]
    return Defect(
        kind=shown.kind,
        application=application,
        json_path=path,
        segment=shown.segment,
        char_offset=shown.char_offset,
        token_offset=shown.offset,
        num_requests=len(rows),
        tokens_changed=sum(cost(place).changed for place in places),
        tokens_invalidated=sum(cost(place).invalidated for place in places),
        example=example.row,
        relative=example.relative,
        there=shown.there,
        here=shown.here,
        label=shown.label,
        detail=shown.detail,
        rows=rows,
    )
