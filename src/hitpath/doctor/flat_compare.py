"""Two prompts of one text each, without messages: what changed, and where what is new begins."""

from typing import TYPE_CHECKING, NamedTuple

from hitpath.doctor.leaf import LeafChange, leaf_changes
from hitpath.doctor.shapes import line_key
from hitpath.doctor.textdiff import common_length, equal_runs

if TYPE_CHECKING:
    from hitpath.doctor.change import Kind

_ANCHOR_CHARS = 40
"""Of equal lines: by less two texts do not show that one goes on where the other did."""
_LEAST_SHIFT = 40


class FlatCut(NamedTuple):
    """Changes up to the character new_at, from which on all is new."""

    changes: list[LeafChange]
    new_at: int


def cut_of_flat(there: str, here: str, same_session: bool) -> FlatCut:
    """The texts are not equal at their beginning alone: one of the two is no prefix of the other,
    or it is and then nothing changed."""
    common = common_length(there, here)
    if common in (len(there), len(here)):
        return FlatCut([], common)
    lines, others = there.splitlines(keepends=True), here.splitlines(keepends=True)
    starts = _starts(lines), _starts(others)
    whole = _whole_lines(common, starts[1])
    runs = [
        (a, b, n)
        for a, b, n in equal_runs(lines, others)
        if starts[1][b + n] - starts[1][b] >= _ANCHOR_CHARS or b + n <= whole
    ]
    shift = _shift(there, here, common)
    if shift is not None:
        return FlatCut([shift], shift.stop + _common_at(there, here, shift))
    last = runs[-1] if runs else (0, 0, 0)
    end_there = starts[0][max(last[0] + last[2], _last_known(lines, others))]
    end_here = starts[1][max(last[1] + last[2], _last_known(others, lines))]
    more = common_length(there[end_there:], here[end_here:])
    end_there, end_here = end_there + more, end_here + more
    if end_here <= common:
        return FlatCut([], common)
    changes = leaf_changes(there[:end_there], here[:end_here], "system")
    dropped = _dropped(changes)
    return FlatCut(dropped, end_here)


def _last_known(lines: list[str], others: list[str]) -> int:
    """Lines up to the last long one that the other text has too, wherever it stands there."""
    known = {line_key(line) for line in others if len(line) >= _ANCHOR_CHARS}
    return max((i + 1 for i, line in enumerate(lines) if line_key(line) in known), default=0)


def _starts(lines: list[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def _whole_lines(common: int, starts: list[int]) -> int:
    return sum(1 for start in starts[1:] if start <= common)


def _shift(there: str, here: str, common: int) -> LeafChange | None:
    """A window that moved on: what follows the common beginning stands further on there."""
    probe = here[common : common + _LEAST_SHIFT]
    if len(probe) < _LEAST_SHIFT:
        return None
    at = there.find(probe, common + 1)
    if at < 0:
        return None
    moved = common_length(there[at:], here[common:])
    is_all = at + moved == len(there) or moved >= 0.5 * (len(here) - common)
    if not is_all:
        return None
    by_lines = there[at - 1] == "\n" and common > 0
    kind: Kind = "truncated_history" if by_lines else "position_shift"
    return LeafChange(kind, common, common, common, there[common:at], "", "")


def _common_at(there: str, here: str, shift: LeafChange) -> int:
    return common_length(there[shift.start + len(shift.there) :], here[shift.start :])


def _dropped(changes: list[LeafChange]) -> list[LeafChange]:
    """A long stretch that is gone is history that was dropped."""
    found: list[LeafChange] = []
    for change in changes:
        kind = change.kind
        if kind in ("edited_message", "?words") and len(change.there) >= 200:
            if not change.here.strip():
                kind = "truncated_history"
            elif len(change.here) * 3 < len(change.there):
                kind = "compacted_history"
        found.append(
            LeafChange(
                kind,
                change.first,
                change.start,
                change.stop,
                change.there,
                change.here,
                change.label,
                change.detail,
                change.heading,
            )
        )
    return found
