"""Two prompts of one text each, without messages: what changed, and where what is new begins."""

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from hitpath.doctor.completion_cut import cut_of_completion
from hitpath.doctor.completion_marks import completion_of
from hitpath.doctor.flat_question import alike_lines, question_of
from hitpath.doctor.history import is_note, kind_of_note
from hitpath.doctor.leaf import LeafChange, leaf_changes
from hitpath.doctor.shapes import line_key
from hitpath.doctor.textdiff import common_length, equal_runs
from hitpath.doctor.words_of_kinds import MARKER

if TYPE_CHECKING:
    from hitpath.doctor.change import Kind

_ANCHOR_CHARS = 40
"""Of equal lines: by less two texts do not show that one goes on where the other did."""
_LEAST_SHIFT, _LONGEST_MARK, _PROBE, _LEAST_GONE = 40, 2000, 200, 12


class FlatCut(NamedTuple):
    """Changes up to the character new_at, from which on all is new. is_completion: of two prompts
    of code completion, whose changes are defects, all of them."""

    changes: list[LeafChange]
    new_at: int
    is_completion: bool = False


def cut_of_flat(there: str, here: str, same_session: bool, is_whole: bool = False) -> FlatCut:
    """The texts are not equal at their beginning alone: one of the two is no prefix of the other,
    or it is and then nothing changed. is_whole: each is a whole prompt, whose question stands at
    its end."""
    common = common_length(there, here)
    if common in (len(there), len(here)):
        return FlatCut([], common)
    completion = cut_of_completion(there, here)
    if completion is not None:
        return FlatCut(*completion, is_completion=True)
    shift = shift_of(there, here, common)
    if shift is not None:
        return FlatCut([shift], shift.stop + _common_at(there, here, shift))
    end_there, end_here = _ends_of_known(there, here, common, is_whole)
    more = common_length(there[end_there:], here[end_here:])
    end_there, end_here = end_there + more, end_here + more
    if end_here <= common:
        forms = _in_another_form(there, here) or (_last_stamp(there, here) if same_session else [])
        return FlatCut(forms, len(here)) if forms else FlatCut([], common)
    changes = leaf_changes(there[:end_there], here[:end_here], "system")
    dropped = _dropped(changes)
    return FlatCut(dropped, end_here)


def _ends_of_known(there: str, here: str, common: int, is_whole: bool) -> tuple[int, int]:
    """Where the last thing ends that both texts have, in each of them."""
    lines, others = there.splitlines(keepends=True), here.splitlines(keepends=True)
    starts = _starts(lines), _starts(others)
    whole = _whole_lines(common, starts[1])
    runs = [
        (a, b, n)
        for a, b, n in equal_runs(lines, others)
        if starts[1][b + n] - starts[1][b] >= _ANCHOR_CHARS or b + n <= whole
    ]
    last = runs[-1] if runs else (0, 0, 0)
    asked = (question_of(lines), question_of(others)) if is_whole else (len(lines), len(others))
    alike = alike_lines(lines[: asked[0]], others[: asked[1]]) if is_whole else 0
    return (
        starts[0][max(last[0] + last[2], _last_known(lines[: asked[0]], others), alike)],
        starts[1][max(last[1] + last[2], _last_known(others[: asked[1]], lines), alike)],
    )


def _in_another_form(there: str, here: str) -> list[LeafChange]:
    """What differs between two texts that say the same in other white space, characters or forms of
    numbers; nothing where they do not."""
    if max(len(there), len(here)) > _LONGEST_SAID or _letters(there) != _letters(here):
        return []
    changes = leaf_changes(there, here, "user")
    return changes if all(change.kind in _FORMS for change in changes) else []


def _last_stamp(there: str, here: str) -> list[LeafChange]:
    """What differs in the last line, where that is a line of fields behind the same words: a client
    that counts its turns there."""
    lines = [text.rstrip().rpartition("\n") for text in (there, here)]
    is_same = lines[0][0] == lines[1][0] and line_key(lines[0][2]) == line_key(lines[1][2])
    if not is_same or not lines[0][0].strip() or lines[1][2].lstrip()[:1] not in tuple("{[<("):
        return []
    return leaf_changes(there, here, "user")


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text))


_FORMS = ("white_space", "hidden_characters", "unicode_form", "number_format")
_NO_LETTERS = re.compile(r"[\W\d_]+")
_LONGEST_SAID = 20_000


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


def shift_of(there: str, here: str, common: int) -> LeafChange | None:
    """A window that moved on: what follows the common beginning stands further on there."""
    probe = here[common : common + _LEAST_SHIFT]
    if len(probe) < _LEAST_SHIFT:
        return None
    at = there.find(probe, common + 1)
    if at < 0 or completion_of(here) is not None:
        return None
    if at - common <= _LONGEST_MARK and MARKER.search(there[common - 1 : at]):
        return None  # a template's words went, no history
    gone = there[common:at].strip().partition("\n")[0][:_PROBE]
    if len(gone) >= _LEAST_GONE and here.find(gone, common) >= 0:
        return None  # it stands further on: blocks in another order
    moved = common_length(there[at:], here[common:])
    is_all = at + moved == len(there) or moved >= 0.5 * (len(here) - common)
    if not is_all:
        return None
    back = common_length(there[:common][::-1], there[:at][::-1])
    by_lines = common > 0 and "\n" in there[at - back - 1 : at]  # or a little before
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
            elif is_note(change.here):
                kind = kind_of_note(change.here)
            elif len(change.here) * 3 < len(change.there):
                kind = "compacted_history"
        found.append(replace(change, kind=kind))
    return found
