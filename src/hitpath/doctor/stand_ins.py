"""A message that stands for others: it tells again, or counts, what was dropped behind it.

A summary that rolls on, or a note of how much is left out, is written anew when more of the history
goes. The message before it is the same one then by its words, but it was not edited: what it says
changed because of what it stands for.
"""

import re
from dataclasses import replace

from hitpath.doctor.change import Change
from hitpath.doctor.history import (
    are_in,
    counts,
    is_composed,
    is_note,
    kind_of_note,
    quotes,
    words_said,
)
from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Prompt
from hitpath.doctor.shapes import overlap, words_of
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.words_of_histories import CLEARED, LEFT_OUT, SUMMARY, SUMMED_UP

_STABLE = (SYSTEM, TOOLS)
_LONGEST_COUNT, _NEAR = 300, 400
_NEARLY, _MOST = 0.8, 0.8
"""Words in common from which on a message is the same with a word or two changed; words of the
earlier one that one which has grown still has."""
_SUMS_UP = SUMMARY, SUMMED_UP, CLEARED
_FIGURE = re.compile(r"\d{1,6}")


def stands_for_more(there: Prompt, old: int, here: Prompt, new: int, gone: range) -> bool:
    """Whether a message is told anew because messages of these numbers, behind or before it, are
    gone."""
    was, now = there.messages[old], here.messages[new]
    if was.key == now.key:
        return False
    text, other = words_said(there, was), words_said(here, now)
    is_instruction = now.segment in _STABLE
    if not is_instruction and _is_retold(text, other, here.messages[:new]):
        return True
    if not gone or not text or not other:
        return False
    is_behind = gone.start > old
    if counts(text, other):
        return True
    is_composed_now = is_behind and is_composed(other) and not is_composed(text)
    if is_composed_now and not is_instruction and _comes_early(here.messages[:new]):
        return True
    if _FIGURE.sub("0", text) == _FIGURE.sub("0", other):
        return is_behind and _counts_dropped(text, other, len(gone))
    said = [there.text_of(there.messages[number]) for number in gone]
    if are_in([text, *said], other):
        return True
    if is_instruction and new == 0:
        return is_behind and _has_at_its_end(text, other, said)
    is_told = any(words.search(other[:200]) for words in _SUMS_UP)
    if is_instruction and not is_told:
        return False
    one, two = words_of(text), words_of(other)
    if len(other) > len(text) and _contained(one, two) >= _MOST:
        return is_told or quotes(other[common_length(text, other) :], said)
    return overlap(one, two) < _NEARLY


def _is_retold(text: str, other: str, before: tuple[Message, ...]) -> bool:
    """Whether both sum up a conversation, at its beginning."""
    if not _comes_early(before) and not (is_composed(text) and is_composed(other)):
        return False
    return bool(SUMMARY.search(text[:200]) and SUMMARY.search(other[:200]))


def _comes_early(before: tuple[Message, ...]) -> bool:
    return sum(message.segment not in _STABLE for message in before) <= 1


def _counts_dropped(text: str, other: str, num_dropped: int) -> bool:
    """Whether a short text differs in a number that rose, by as much as was dropped, or that is of
    what was left out."""
    pairs = zip(_FIGURE.findall(text), _FIGURE.findall(other), strict=True)
    steps = [int(now) - int(was) for was, now in pairs if was != now]
    if len(steps) != 1 or steps[0] <= 0 or len(other) > _LONGEST_COUNT:
        return False
    is_told = any(words.search(other) for words in (CLEARED, LEFT_OUT, SUMMED_UP, SUMMARY))
    return is_told or steps[0] == num_dropped


def _has_at_its_end(text: str, other: str, gone: list[str]) -> bool:
    """Whether instructions say now at their end what was dropped behind them, or more of it."""
    first = common_length(text, other)
    was, added = text[first:].strip(), other[first:]
    if not was:
        return bool(is_note(added.strip()) or SUMMARY.search(added[:200])) or quotes(added, gone)
    is_middle = 2 * common_length(was[::-1], added.rstrip()[::-1]) > len(was)
    is_told = SUMMARY.search(other[max(0, first - _NEAR) : first])
    return not is_middle and is_told is not None and quotes(added, gone)


def _contained(one: dict[str, int], other: dict[str, int]) -> float:
    """Which share of the words of one stands in the other."""
    shared = sum(min(count, other.get(word, 0)) for word, count in one.items())
    return shared / max(sum(one.values()), 1)


Side = tuple[Prompt, Message]


def as_of_a_summary(found: list[Change], sides: tuple[Side, Side]) -> list[Change]:
    """Changes of instructions, with those in what they tell of the dialogue as of a summary, unless
    all of them are numbers, ids and clocks: nothing was summed up then. sides: this prompt and its
    message, the relative and its."""
    told = [_as_told_again(change, sides) for change in found]
    last = next(
        (n for n, one in enumerate(found) if told[n] is not one and one.kind not in _VALUES), None
    )
    if last is None:
        return found
    return [
        _of_a_summary(one) if _is_of_its_heading(one, found[last], sides[0]) else again
        for one, again in zip(found, told, strict=True)
    ]


def _is_of_its_heading(change: Change, told: Change, side: Side) -> bool:
    """Whether a value stands in the heading of what was told again, or behind it in the paragraph
    of that (`Summary (3 messages): ...`)."""
    prompt, message = side
    begin, end = change.char_offset, told.char_offset
    if change.kind not in _VALUES or change.json_path != told.json_path or begin > end:
        return False
    for part in prompt.parts[message.begin : message.end]:
        first, last = begin - part.base, end - part.base
        if part.path != told.json_path or first < 0 or last > len(part.text):
            continue
        if "\n\n" in part.text[first:last]:
            return False
        line_end = part.text.find("\n", first)
        stop = len(part.text) if line_end < 0 else line_end
        above = part.text[max(0, part.text.rfind("\n\n", 0, first)) : stop]
        return any(map(_is_heading, above[-_MOST_SUMMED:].lstrip().split("\n")))
    return False


def _is_heading(line: str) -> bool:
    """Whether a line says that a conversation is summed up behind it."""
    return bool(SUMMARY.search(line[:_HEADING])) and _IS_HEADING.match(line) is not None


def _of_a_summary(change: Change) -> Change:
    return replace(change, kind="compacted_history", detail=_IN_INSTRUCTIONS)


def _as_told_again(change: Change, sides: tuple[Side, Side]) -> Change:
    if change.kind not in _WORDS:
        return change
    within = change.json_path.removeprefix(sides[0][1].path)
    for (prompt, message), told in zip(sides, (change.here, change.there), strict=True):
        for part in prompt.parts[message.begin : message.end]:
            first = change.char_offset - part.base
            is_there = part.form in ("string", "escaped") and 0 <= first <= len(part.text)
            if not is_there or part.path.removeprefix(message.path) != within:
                continue
            is_cut = len(told) >= _SHOWN
            stop = len(part.text) if is_cut else first + len(told)
            if _is_of_a_summary(part.text, first, stop):
                return _of_a_summary(change)
    return change


def as_standing_in(found: list[Change]) -> list[Change]:
    """Changes of instructions of which the last is of what stands for dropped messages."""
    if not found or any(change.kind == "compacted_history" for change in found):
        return found
    *rest, last = sorted(found, key=lambda change: change.start)
    kind = kind_of_note(last.here) if is_note(last.here.strip()) else "compacted_history"
    return [*rest, replace(last, kind=kind, detail=_IN_INSTRUCTIONS)]


_VALUES = ("?number", "?id", "clock")
_WORDS = ("edited_message", "?words", "?number", "?id", "clock", "random_sample")
_IN_INSTRUCTIONS = "a summary of the conversation in the instructions"
_SHOWN = 200
"""Characters that a change keeps of a text."""


def _is_of_a_summary(text: str, first: int, stop: int) -> bool:
    """Whether characters [first, stop) of instructions are of what was said before, told in short
    at their end: in a paragraph under a heading that says so, or with that heading."""
    if len(text) - stop > _CLOSED_BY:
        return False
    begin = max(text.rfind("\n\n", 0, first) + 2, first - _MOST_SUMMED, 0)
    above = text[begin : max(first, min(stop, first + _HEADING))]
    return any(map(_is_heading, above.lstrip().split("\n")))


_CLOSED_BY, _MOST_SUMMED, _HEADING = 40, 4_000, 80
_IS_HEADING = re.compile(r"\s*(?:[<\[#*]|[^\n]{0,60}?[:\uff1a](?!//))")
"""A tag, a mark of a heading, or words and a colon."""
