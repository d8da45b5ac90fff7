"""Two prompts of code completion: what of their differences is a defect, and where what is new
begins.

The document is its user's, on both sides of the cursor: what was typed, what went from behind the
cursor before it, and an edit anywhere in it were said by nobody before, so they are new content, as
another question is. So is another file of the repository. What nobody typed is a defect: marks that
come and go, files in another order, values stamped into the comment above the document, another
encoding of all its lines, a window that moved on.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

from hitpath.doctor.completion_lines import Cut, cut_of_lines
from hitpath.doctor.completion_marks import FILE, Completion, Stretch, completion_of
from hitpath.doctor.leaf import LeafChange
from hitpath.doctor.shapes import HIDDEN
from hitpath.doctor.textdiff import common_length

_MOVED = "the window of the document moved"
_PROBE, _LEAST_SHIFT = 40, 2
"""Characters by which a window is known again; by which its length may vary."""


def cut_of_completion(there: str, here: str) -> tuple[list[LeafChange], int] | None:
    """The changes that are defects, up to the character from which on all is new. None where the
    two are no prompts of code completion."""
    one = completion_of(there) or completion_of(there, may_lack=True)
    other = completion_of(here) or completion_of(here, may_lack=True)
    if one is None or other is None:
        return None
    earlier, one, changes = _as_marked(there, one, here, other)
    new_at = len(here)
    for old, new in zip(one.stretches, other.stretches, strict=True):
        cut = _cut_of_stretch(earlier[old.start : old.stop], here[new.start : new.stop], new)
        changes += [_moved(change, new.start) for change in cut.changes]
        if cut.new_at is not None:
            new_at = new.start + cut.new_at
            break
    changes = sorted((c for c in changes if c.start <= new_at), key=lambda c: (c.start, c.stop))
    return changes, (new_at if changes else common_length(there, here))


def _moved(change: LeafChange, by: int) -> LeafChange:
    return replace(change, first=change.first + by, start=change.start + by, stop=change.stop + by)


def _as_marked(
    there: str, one: Completion, here: str, other: Completion
) -> tuple[str, Completion, list[LeafChange]]:
    """The earlier prompt with the marks of this one, in their order; and the change that this
    is, if it is one."""
    texts = {s.mark: there[s.start : s.stop] for s in one.stretches}
    is_turned = {one.is_suffix_first(there), other.is_suffix_first(here)} == {True, False}
    if one.marks == other.marks and one.family == other.family and not is_turned:
        return there, one, []
    flips: list[LeafChange] = []
    for before, gone in pairwise(one.stretches):
        if gone.mark not in other.marks:  # what stood behind it goes on from what stood before it
            place = next(s for s in reversed(other.stretches) if s.mark in (before.mark, ""))
            at = place.start + common_length(texts[place.mark], here[place.start : place.stop])
            shown = there[gone.at : gone.start]
            flips.append(LeafChange("template_flip", at, at, at, shown, "", ""))
            texts[place.mark] += texts.pop(gone.mark)
    for last, new in pairwise(other.stretches):
        if new.mark not in texts:
            own = texts[last.mark]
            size = common_length(own, here[last.start : last.stop])
            texts[last.mark], texts[new.mark] = own[:size], own[size:]
            shown = here[new.at : new.start]
            flips.append(LeafChange("template_flip", new.at, new.at, new.start, "", shown, ""))
    flips = flips or [_exchanged(there, one, here, other)]
    if is_turned and one.marks == other.marks:
        texts["prefix"], texts["middle"] = texts["middle"], texts["prefix"]
    pieces: list[str] = []
    stretches: list[Stretch] = []
    at = 0
    for new in other.stretches:
        shown = here[new.at : new.start]
        start = at + len(shown)
        stretches.append(Stretch(new.mark, at, start, start + len(texts[new.mark])))
        pieces += (shown, texts[new.mark])
        at = stretches[-1].stop
    return "".join(pieces), Completion(tuple(stretches), other.family), flips[:1]


def _exchanged(there: str, one: Completion, here: str, other: Completion) -> LeafChange:
    """Other marks, or the same in another order."""
    pairs = zip(one.stretches, other.stretches, strict=True)
    differ = ((a, b) for a, b in pairs if there[a.at : a.start] != here[b.at : b.start])
    old, new = next(differ, (None, None))
    if old is None or new is None:  # what stands before the cursor is behind another mark
        at = common_length(there, here)
        return LeafChange("template_flip", at, at, at, there[at : at + _PROBE], "", "")
    marks = there[old.at : old.start], here[new.at : new.start]
    first = new.at + common_length(*marks)
    return LeafChange("template_flip", first, new.at, new.start, *marks, "")


def _cut_of_stretch(old: str, new: str, stretch: Stretch) -> Cut:
    """One stretch of text. Of a document's the last line is the cursor's."""
    if old == new:
        return Cut([], None)
    has_cursor = stretch.mark in ("prefix", "middle")
    if has_cursor and (shift := _shift(old, new)) is not None:
        return shift
    earlier, moved = _with_files_in_order(old, new)
    cut = cut_of_lines(earlier, new, has_cursor)
    if moved is None:
        return cut
    return Cut([moved, *(c for c in cut.changes if c.start >= moved.stop)], cut.new_at)


def _shift(old: str, new: str) -> Cut | None:
    """A window of the document that moved on, or back: its text begins elsewhere in the other one,
    and is as long. The path of the file may stand before it, as an editor's comment."""
    common = common_length(old, new)
    for size in dict.fromkeys((0, _size_of_paths(old), len(old) - len(old.lstrip(" ")))):
        if old[:size] != new[:size]:
            return None
        for one, other in ((old, new), (new, old)):  # on, back
            probe = other[size : size + _PROBE]
            at = one.find(probe, size + 1) if len(probe) == _PROBE else -1
            gone = one[size:at] if at > 0 else ""
            known = common_length(one[at:], other[size:])
            if not _is_moved_on(gone, old, new) or known * 2 < len(other) - size:
                continue
            shown = one[common:at]
            if one is old:
                change = LeafChange("position_shift", common, common, common, shown, "", "", _MOVED)
                return Cut([change], size + known)
            change = LeafChange(
                "position_shift", common, common, max(at, common), "", shown, "", _MOVED
            )
            return Cut([change], at + known)
    return None


def _is_moved_on(gone: str, old: str, new: str) -> bool:
    """Whether a window lost this much at one end and took in as much at the other: in characters,
    in tokens (about), or in lines."""
    if not HIDDEN.sub("", gone).strip():
        return False
    change = abs(len(old) - len(new))
    is_by_lines = gone.endswith("\n") and old.count("\n") == new.count("\n")
    return change <= _LEAST_SHIFT or change * 8 <= len(gone) or is_by_lines


def _with_files_in_order(old: str, new: str) -> tuple[str, LeafChange | None]:
    """The earlier text with its files in this one's order, where both hold them in another."""
    olds, news = _files(old), _files(new)
    counts = Counter(olds), Counter(news)
    known = {text for text, num in counts[0].items() if num == counts[1][text] == 1}
    order = [text for text in news if text in known]
    was = [text for text in olds if text in known]
    if order == was:
        return old, None
    rest = iter(order)
    healed = "".join(next(rest) if text in known else text for text in olds)
    first = next(k for k, text in enumerate(order) if text != was[k])
    last = max(k for k, text in enumerate(order) if text != was[k])
    start = new.find(order[first])
    stop = new.find(order[last]) + len(order[last])
    at = start + common_length(was[first], order[first])
    there = "".join(was[first : last + 1])
    return healed, LeafChange("moved_block", at, start, stop, there, new[start:stop], "")


def _files(text: str) -> list[str]:
    starts = [0, *(found.start() for found in FILE.finditer(text) if found.start())]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def _size_of_paths(text: str) -> int:
    """Characters of the lines at the beginning that name a file."""
    size = 0
    for line in text.splitlines(keepends=True):
        if not FILE.match(line):
            break
        size += len(line)
    return size
