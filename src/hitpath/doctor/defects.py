"""From findings to a list of defects: what each kind changed, and how many tokens it invalidated.

A token is invalidated where the request has it at or behind rung 6 (nothing earlier gives it), and
its text was there before: its image lies within the canonical match (rung 7), or the relative has
it too. It counts for the last difference before it; so a request's tokens are counted once, and
what healing the first of two defects gives is the first one's.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hitpath.doctor.change import OPEN, Change, Kind
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.forms import Forms
from hitpath.doctor.prompt import SYSTEM, TOOLS
from hitpath.doctor.resolve import general_path
from hitpath.sim.rungs import FIELDS
from hitpath.traces.table import Ints

Stretch = tuple[int, int]
Key = tuple[int, str, str, str]
"""Of a defect: application, kind, place, side."""
Differences = Callable[[int], Sequence[Change]]
"""Of a row from another request than its relative (elsewhere.py)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens that one difference of one request changed and invalidated."""

    changed: int
    invalidated: int


@dataclass(frozen=True, slots=True)
class Costs:
    """of: the cost of each difference, by (row, number of the difference). lost: invalidated tokens
    of each request; diverged: those of them that rung 7 gives, None where it is not known;
    elsewhere: those that only the differences from another request than the relative explain, by
    row and defect; unexplained: those that nothing does."""

    of: dict[tuple[int, int], Cost]
    lost: Ints
    unexplained: Ints
    diverged: Ints | None = None
    elsewhere: dict[tuple[int, "Key"], int] = field(default_factory=dict)

    def check(self) -> None:
        """Every invalidated token counts once."""
        total = sum(cost.invalidated for cost in self.of.values()) + sum(self.elsewhere.values())
        assert total + int(self.unexplained.sum()) == int(self.lost.sum())
        assert np.all(self.lost >= 0)
        assert self.diverged is None or np.all(self.diverged <= self.lost)
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
    findings: Sequence[Finding],
    since: Ints,
    forms: Forms | None,
    match: Ints | None,
    elsewhere: Differences | None = None,
    isolated: Ints | None = None,
) -> Costs:
    """The costs of all differences. since: rung 6 of each request; forms, match: for rung 7, None
    where it is not known; elsewhere: asked where the relative explains no loss; isolated: tokens of
    each request that rung 6 adds to rung 5, which another salt or adapter cost."""
    of: dict[tuple[int, int], Cost] = {}
    lost = np.zeros(len(findings), dtype=np.int64)
    unexplained = np.zeros(len(findings), dtype=np.int64)
    diverged = np.zeros(len(findings), dtype=np.int64)
    known = _keys(findings)
    otherwise: Counter[tuple[int, Key]] = Counter()
    for finding in findings:
        row, floor = finding.row, int(since[finding.row])
        changes = finding.comparison.changes
        stretches: list[Stretch] = (
            [s for s in finding.comparison.kept if s[1] > floor] if changes else []
        )
        if forms is not None and match is not None:
            of_rung = forms.stretches(row, int(match[row]), floor)
            diverged[row] = sum(stop - start for start, stop in of_rung)
            stretches += of_rung
        stretches = _union(stretches, floor)
        shares, rest = _share(stretches, changes)
        lost[row], unexplained[row] = sum(b - a for a, b in stretches), rest
        for number, change in enumerate(changes):
            changed = change.stop - change.start
            of[row, number] = Cost(changed, shares[number])
        apart = next((n for n, change in enumerate(changes) if _sets_apart(change)), None)
        if apart is not None and isolated is not None:
            own, more = of[row, apart], int(isolated[row])
            of[row, apart] = Cost(own.changed, own.invalidated + more)
            lost[row] += more
        if rest and elsewhere is not None and forms is not None and match is not None:
            first = min((_begin(change) for change in changes), default=1 << 62)
            left = [
                (start, min(stop, first))
                for start, stop in forms.stretches(row, int(match[row]), floor)
                if start < first
            ]
            for key, tokens in _explained(left, elsewhere(row), finding.application, known):
                otherwise[row, key] += tokens
                unexplained[row] -= tokens
    known_rung = None if forms is None or match is None else diverged
    costs = Costs(of, lost, unexplained, known_rung, dict(otherwise))
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
    starts = [_begin(change) for change in changes]
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


def _sets_apart(change: Change) -> bool:
    """Whether rung 6 looks past this change of the context: no token of the prompt is another."""
    return change.kind == "context_changed" and change.detail in FIELDS


def _begin(change: Change) -> int:
    """What stands behind the first byte that differs is behind the change: roles differ before
    texts do."""
    return min(change.start, change.offset)


def _keys(findings: Sequence[Finding]) -> dict[tuple[int, str, str], list[Key]]:
    """The defects at each place."""
    found: dict[tuple[int, str, str], dict[Key, None]] = defaultdict(dict)
    for finding in findings:
        for change in finding.comparison.changes:
            if change.kind != "new_content":
                key = _key(finding.application, change)
                found[key[0], key[2], key[3]][key] = None
    return {place: list(keys) for place, keys in found.items()}


def _key(application: int, change: Change) -> Key:
    return application, change.kind, _place(change), _side(change)


def _explained(
    stretches: list[Stretch],
    changes: Sequence[Change],
    application: int,
    known: dict[tuple[int, str, str], list[Key]],
) -> Iterator[tuple[Key, int]]:
    """Tokens of each defect of the list that stands before them. A kind that the pair leaves open
    is that of the only defect there."""
    shares, _ = _share(stretches, changes)
    for change, tokens in zip(changes, shares, strict=True):
        key = _key(application, change)
        there = known.get((key[0], key[2], key[3]), [])
        if tokens and key in there:
            yield key, tokens
        elif tokens and change.kind in OPEN and len(there) == 1:
            yield there[0], tokens


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
    groups: dict[Key, list[tuple[int, int]]] = defaultdict(list)
    for number, finding in enumerate(findings):
        for at, change in enumerate(finding.comparison.changes):
            if change.kind != "new_content":
                groups[_key(finding.application, change)].append((number, at))
    elsewhere: Counter[Key] = Counter()
    for (_, key), tokens in costs.elsewhere.items():
        elsewhere[key] += tokens
    made = [_defect(key, places, findings, costs, elsewhere[key]) for key, places in groups.items()]
    return sorted(made, key=lambda d: (-d.tokens_invalidated, -d.num_requests, d.kind, d.json_path))


def _place(change: Change) -> str:
    """The place without what varies: the number of a message, of a call in it, of a tool. Which
    tools there are, and how their JSON is written, has one reason for all of them."""
    path = general_path(change.json_path)
    if path.startswith("segments["):
        return _NUMBER.sub("[*]", path)
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
    key: Key,
    places: list[tuple[int, int]],
    findings: Sequence[Finding],
    costs: Costs,
    elsewhere: int,
) -> Defect:
    """elsewhere: tokens that count for it in requests whose relative does not show it."""

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
        application=key[0],
        json_path=path,
        segment=shown.segment,
        char_offset=shown.char_offset,
        token_offset=shown.offset,
        num_requests=len(rows),
        tokens_changed=sum(cost(place).changed for place in places),
        tokens_invalidated=sum(cost(place).invalidated for place in places) + elsewhere,
        example=example.row,
        relative=example.relative,
        there=shown.there,
        here=shown.here,
        label=shown.label,
        detail=shown.detail,
        rows=rows,
    )
