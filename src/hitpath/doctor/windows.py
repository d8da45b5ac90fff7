"""A window of tokens that went on in one text, whatever stands in it."""

from bisect import bisect_right
from itertools import accumulate

from hitpath.doctor.change import Change, Comparison, NewAt
from hitpath.doctor.flat_compare import shift_of
from hitpath.doctor.prompt import SYSTEM, TOOLS, Prompt
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.words_of_kinds import THINK

_LEAST_LOST = 200
"""Characters that a window loses at least: what is shorter was taken out."""


def window_moved_on(there: Prompt, here: Prompt) -> Comparison | None:
    """The only change where a text parts in the middle of a message, and goes on in the middle of
    one; None where no window did that."""
    if not (there.is_one_text and here.is_one_text):
        return None
    old, new = ("".join(part.text for part in p.parts) for p in (there, here))
    common = common_length(old, new)
    shift = shift_of(old, new, common)
    if shift is None or len(shift.there) < _LEAST_LOST or THINK.search(shift.there):
        return None
    at = common + len(shift.there)
    back = common_length(old[:common][::-1], old[:at][::-1])
    if _begins_a_message(there, old, at - back, at) or _is_instruction(there, at):
        return None
    end = common + common_length(old[common + len(shift.there) :], new[common:])
    starts = [0, *accumulate(len(part.text) for part in here.parts)]
    number = min(bisect_right(starts, common) - 1, len(here.parts) - 1)
    part, path = here.parts[number], here.messages[0].path
    at, stop = (len(new[:char].encode()) for char in (common, end))
    change = Change("position_shift", path, part.segment, common, at, at, shift.there[:200], "")
    is_new = end < len(new)
    new_at = NewAt(path, here.messages[-1].segment, end, stop) if is_new else None
    return Comparison((change,), ((0, at), (at, stop)), new_at)


def _is_instruction(there: Prompt, char: int) -> bool:
    """Whether a character of the relative's text is of its instructions: a window takes what was
    said."""
    starts = list(accumulate((len(part.text) for part in there.parts), initial=0))
    number = min(bisect_right(starts, char) - 1, len(there.parts) - 1)
    return there.parts[number].segment in (SYSTEM, TOOLS)


def _begins_a_message(there: Prompt, text: str, first: int, last: int) -> bool:
    """Whether a message or a line of the relative begins at one of these characters: what stands
    before both ends of a gap may be alike, so that the gap may lie a little before."""
    starts = accumulate((len(part.text) for part in there.parts), initial=0)
    begins = zip(starts, there.parts, strict=False)
    if any(part.form == "glue" and first <= start <= last for start, part in begins):
        return True
    return "\n" in text[first:last]
