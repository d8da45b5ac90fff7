"""Messages that were dropped, put in between, summed up or replaced: what became of a history."""

import json
import re
from dataclasses import dataclass

from hitpath.doctor.change import Kind
from hitpath.doctor.prompt import SYSTEM, TOOLS, Prompt
from hitpath.doctor.shapes import words_of
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.words_of_kinds import CLEARED, CONTINUED, SUMMARY

_LEAST_CUT = 20
_LEAST_SHARED = 0.3
_LONGEST_END = 32
_NOTE = re.compile(r"\s*[\[(<*][^\n]{6,200}[\])>*]\s*")
"""A note in brackets that stands for a text, even for one that was shorter."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages [there_start, there_stop) stand where this request has [here_start, here_stop).
    is_tail: both reach to the end."""

    there_start: int
    there_stop: int
    here_start: int
    here_stop: int
    is_tail: bool


def kind_of_gap(gap: Gap, there: Prompt, here: Prompt, same_session: bool) -> Kind:
    """`new_content` where it is no defect: a question that changed, a turn that was added."""
    old = there.messages[gap.there_start : gap.there_stop]
    new = here.messages[gap.here_start : gap.here_stop]
    if gap.is_tail and (not old or not new):
        return "new_content"
    if not same_session and gap.is_tail:
        return "new_content"
    olds, news = [there.text_of(m) for m in old], [here.text_of(m) for m in new]
    if old and new and _is_shift(olds[-1], news[0]):
        return "position_shift"
    if old and new and _is_summary(olds, news, new[0].role, gap.is_tail):
        return "compacted_history"
    if gap.is_tail and _lost_its_beginning(gap, there, here):
        return "truncated_history"
    if gap.is_tail and not _has_history(here, gap.here_start):
        return "new_content"
    if gap.is_tail:
        is_question = len(old) == 1 and old[0].role not in ("assistant", "tool")
        return "new_content" if is_question or len(olds) < len(news) else "edited_message"
    keys, other_keys = [m.key for m in old], [m.key for m in new]
    if any(m.key in keys for m in here.messages) or any(
        m.key in other_keys for m in there.messages
    ):
        return "moved_block"
    if old and not new:
        is_reminder = all(m.role in ("system", "developer") for m in old) or all(
            text.lstrip().startswith("<system-reminder") for text in olds
        )
        return "edited_message" if is_reminder else "truncated_history"
    if old and new and len(news) < len(olds):
        return "compacted_history"
    return "edited_message"


def _has_history(prompt: Prompt, number: int) -> bool:
    """Whether anything but instructions stands before a message."""
    return any(m.segment not in (SYSTEM, TOOLS) for m in prompt.messages[:number])


def _lost_its_beginning(gap: Gap, there: Prompt, here: Prompt) -> bool:
    """Whether a dialogue that a user began begins with a reply or with a tool's result now."""
    if gap.there_start >= gap.there_stop or gap.here_start >= gap.here_stop:
        return False
    if _has_history(here, gap.here_start):
        return False
    first, now = there.messages[gap.there_start], here.messages[gap.here_start]
    return first.role == "user" and now.role in ("assistant", "tool") and not there.is_one_text


def _is_shift(old: str, new: str) -> bool:
    """Whether a message has lost its beginning: a window went on within it."""
    return _LEAST_CUT <= len(new) <= len(old) - 2 * _LEAST_CUT and old.endswith(new)


def _is_summary(olds: list[str], news: list[str], role: str, is_tail: bool) -> bool:
    """Whether a message tells in short what others said at length."""
    if CONTINUED.search(news[0][:400]) and not CONTINUED.search(olds[0][:400]):
        return True
    if sum(map(len, news)) >= sum(map(len, olds)) * 1.2:
        return False
    if SUMMARY.search(news[0][:400]):
        return True
    if len(olds) < 2 or (is_tail and role == "user" and len(news) == 1 and len(news[0]) < 200):
        return False
    said = set().union(*(words_of(text) for text in olds))
    words = [word for word in words_of(news[0]) if len(word) > 4]
    shared = sum(word in said for word in words)
    return len(words) >= 8 and shared >= _LEAST_SHARED * len(words) and len(news) < len(olds)


def _is_json(text: str) -> bool:
    """Whether a text is one JSON object or array, and perhaps the end of a turn: then it lacks a
    member, and was not cut."""
    if text[:1] not in ("{", "["):
        return False
    try:
        stop = json.JSONDecoder().raw_decode(text)[1]
    except (ValueError, RecursionError):
        return False
    return stop >= len(text) - _LONGEST_END


def shortened(old: str, new: str) -> tuple[Kind, int] | None:
    """(kind, first character that differs) where a text was cut short, or a note stands for it."""
    if _NOTE.fullmatch(new) and CLEARED.search(new) and not _NOTE.fullmatch(old):
        return "compacted_history", common_length(old, new)
    if len(new) >= len(old) or len(old) < 2 * _LEAST_CUT or (_is_json(old) and _is_json(new)):
        return None
    first = common_length(old, new)
    rest = new[first:]
    kept = first + common_length(old[::-1], rest[::-1])
    note = new[first : len(new) - (kept - first)]
    lost = len(old) - kept
    if lost < _LEAST_CUT:
        return None
    if not note.strip(" .…\n[]()") or note.strip() in ("...", "…", "[...]", "[…]"):
        if first >= 0.2 * len(new) and kept >= len(new) - 8 and lost >= 40:
            return "truncated_history", first
        if first == 0 and kept == len(new) and len(new) >= _LEAST_CUT:
            return "position_shift", 0
        return None
    if CLEARED.search(note[:400]) and len(note) <= 400:
        return ("truncated_history" if kept >= 0.2 * len(new) else "compacted_history"), first
    if SUMMARY.search(note[:200]) and lost > 2 * len(note):
        return "compacted_history", first
    return None
