"""Messages that were dropped, put in between, summed up or replaced: what became of a history."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.canonical.tail import HEADER
from hitpath.doctor.calls import is_call, is_call_role, is_result
from hitpath.doctor.change import Kind
from hitpath.doctor.prompt import ASSISTANT, SYSTEM, TOOLS, Message, Prompt
from hitpath.doctor.shapes import overlap, words_of
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.thoughts import is_thought
from hitpath.doctor.words_of_histories import (
    CLEARED,
    CONTINUED,
    LEFT_OUT,
    OF_HISTORY,
    SUMMARY,
    SUMMED_UP,
)
from hitpath.doctor.words_of_kinds import MARKER, THINK, THOUGHT

_LEAST_CUT = 20
_LEAST_SHARED, _LONG = 0.3, 120
_LONGEST_END = 32
_LONGEST_NOTE, _LONGEST_LINE, _LONGEST_SENTENCE = 300, 200, 120
_NOTE = re.compile(
    r"\s*(?:[\[(<*\uff08\u3010\u3014\u300c{][^\n]{2,200}[\])>*\uff09\u3011\u3015\u300d}]"
    r"|(?:\.\.\.|\u2026|--|[\u2014\u2015\u2550]|\*\*\*?|#)[^\n]{2,200}"
    r"|(?i:(?:note|n\.?b\.?|notice|warning|info|system|hinweis|nota|remarque|attention|opmerking|"
    r"uwaga|注意|提示|注|참고)\s?[:\uff1a][^\n]{6,200}|\[(?:note|notice|system|info)\][^\n]{6,200})"
    r"|(?i:(?:some|all|the)?\s?(?:\d+ )?(?:earlier|older|previous|prior|past|old|omitted|truncated)"
    r" [^\n]{6,200}))\s*"
)
"""A note that stands for a text, even for one that was shorter: in brackets, by its name, or about
what is older than itself."""
_ASKED = re.compile(r"[?\uff1f]|(?i:(?<![a-z])(?:i|you|we|my|your|our|me|please)(?![a-z]))")
_CUT = re.compile(
    r"\s*(?:\.\.\.|\u2026|[\[(<]|---|\*\*\*)[^\n]{0,160}(?:\.\.\.|\u2026|[\])>]|---|\*\*\*)\s*"
)
"""A note behind the beginning of a text that was cut, whatever it says."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages [there_start, there_stop) stand where this request has [here_start, here_stop).
    is_tail: both reach to the end. is_retold: the first of these stands for those that it has
    taken the place of (stand_ins.py)."""

    there_start: int
    there_stop: int
    here_start: int
    here_stop: int
    is_tail: bool
    is_retold: bool = False


def is_note(text: str) -> bool:
    """Whether a text says no more than that another one was left out."""
    text = text.removeprefix(_TYPE_OF_BLOCK)
    if len(text) > _LONGEST_NOTE or CLEARED.search(text) is None:
        return False
    return _NOTE.fullmatch(text) is not None or _tells_of_history(text)


def _tells_of_history(text: str) -> bool:
    """Whether a sentence, that nobody says to somebody, is about the dialogue that it is in."""
    is_short = len(text) <= _LONGEST_SENTENCE and not _OTHER_LINE.search(text.strip())
    return is_short and OF_HISTORY.search(text) is not None and _ASKED.search(text) is None


_OTHER_LINE = re.compile(r"\n(?![a-z])")
"""Another line, and not the same sentence gone on."""
_TYPE_OF_BLOCK = '"text"\n'


def is_composed(text: str) -> bool:
    """Whether a text begins as one that a program has put together: with a tag, a heading."""
    return _COMPOSED.match(text) is not None


_COMPOSED = re.compile(r"\s*(?:<[A-Za-z][\w:-]{1,40}>|\[[^\]\n]{3,80}\]|#{1,4} )")


def words_said(prompt: Prompt, message: Message) -> str:
    """The words of a message that may sum up others, "" for a tool's result; of calls, which a tool
    for summaries may take, nothing."""
    parts = prompt.parts[message.begin : message.end]
    if is_call_role(message.role) or is_result(prompt, message):
        return ""
    return "\n".join(
        part.text.partition(HEADER)[0]
        for part in parts
        if part.form in ("string", "escaped") and _CALL.search(part.path) is None
    )


_CALL = re.compile(r"tool_calls|function_call|\.(?:arguments|input)\b")


def counts(text: str, other: str) -> bool:
    """Whether a text is another one gone on, and counts what was left out: more than before."""
    one, two = _FIGURE.findall(text), _FIGURE.findall(other)
    more = bool(one and two) and int(two[-1]) > int(one[-1])
    begins = common_length(text, other) >= _LEAST_CUT
    return more and begins and len(other) > len(text) and LEFT_OUT.search(other) is not None


_FIGURE = re.compile(r"(?<![\d.])\d{1,6}(?![\d.])")


def kind_of_note(text: str) -> Kind:
    """What was left out was dropped, unless its note says that it was summed up."""
    return "compacted_history" if SUMMED_UP.search(text) else "truncated_history"


def _kind_of_stand_in(text: str, olds: list[str]) -> Kind:
    """What one message is that stands for several: a note, or what sums them up."""
    if is_note(text):
        return kind_of_note(text)
    is_short = len(text) <= _LONGEST_SENTENCE and SUMMED_UP.search(text) is None
    return "truncated_history" if is_short and not quotes(text, olds) else "compacted_history"


def quotes(text: str, olds: Sequence[str]) -> bool:
    """Whether a text has some words in one run that stand in one of those; of long ones their
    beginnings are looked at."""
    own = _runs(text)
    return any(not own.isdisjoint(_runs(old)) for old in olds[:_MOST_QUOTED])


def _runs(text: str) -> set[str]:
    """All stretches of a few characters, however white space is written."""
    plain = _BLANK.sub(" ", text[:_MOST_READ])
    return {plain[at : at + _QUOTED] for at in range(max(1, len(plain) - _QUOTED + 1))} - {"", " "}


_MOST_QUOTED, _MOST_READ = 64, 4_000
_BLANK, _QUOTED = re.compile(r"\s+"), 10


def kind_of_gap(gap: Gap, there: Prompt, here: Prompt, same_session: bool) -> Kind:
    """`new_content` where it is no defect: a question that changed, a turn that was added, another
    end of the dialogue, behind which nothing was sent again."""
    old = there.messages[gap.there_start : gap.there_stop]
    new = here.messages[gap.here_start : gap.here_stop]
    olds, news = [there.text_of(m) for m in old], [here.text_of(m) for m in new]
    is_last = gap.here_start == len(here.messages) - 1
    if same_session and news and not is_last and is_note(news[0]) and not any(map(is_note, olds)):
        return kind_of_note(news[0])
    if gap.is_retold and are_in(olds, news[0]):
        return "edited_message"  # several in a row are one now
    if gap.is_retold:
        return _kind_of_stand_in(news[0].strip(), olds)
    if gap.is_tail and (not same_session or not old or not new):
        return "new_content"
    if _calls_left_out(gap, there, here):
        return "truncated_history"
    if old and new and _is_shift(olds[-1], news[0]):
        return "position_shift"
    is_question = gap.is_tail and len(new) == 1 and new[0].role not in ("assistant", "system")
    said = words_said(there, old[0]) if old else "", words_said(here, new[0]) if new else ""
    is_another = len(old) == 1 and not CONTINUED.search(said[1][:400])
    is_question = is_question and (is_another or _has_history(here, gap.here_start))
    shown = news[:1] if gap.is_tail else news
    if old and new and not is_question and _is_summary(olds, shown, said):
        return "compacted_history"
    may_sum_up = len(new) > 1 or not _has_history(here, gap.here_start)
    is_composed_now = is_composed(said[1]) and not is_composed(said[0])
    if gap.is_tail and len(old) > 1 and may_sum_up and is_composed_now:
        return "compacted_history"
    if gap.is_tail:
        lost = _lost_its_beginning(gap, there, here)
        return "truncated_history" if lost else "new_content"
    if not old and _stays_last(gap, there, here):
        return "moved_block"
    if not (old and new) and (_are_thoughts(there, old) or _are_thoughts(here, new)):
        return "template_flip"
    is_moved = _stand_elsewhere(there, old, here) or _stand_elsewhere(here, new, there)
    if is_moved or (not new and here.is_one_text and _stands_in(olds, here)):
        return "moved_block"
    if old and not new:
        is_reminder = all(m.role in ("system", "developer") for m in old) or all(
            text.lstrip().startswith("<system-reminder") for text in olds
        )
        return "edited_message" if is_reminder else "truncated_history"
    if old and new and (len(news) < len(olds) or _is_somebody_else(old, new, olds, news)):
        return _kind_of_stand_in(news[0], olds)
    return "edited_message"


def _is_somebody_else(
    old: Sequence[Message], new: Sequence[Message], olds: list[str], news: list[str]
) -> bool:
    """Whether another role says something short in the place of one message, with hardly a word of
    it: who edits a message does not give it to somebody else."""
    is_one = len(old) == len(new) == 1 and old[0].role != new[0].role
    if not is_one or len(news[0]) > _LONGEST_NOTE:
        return False
    return overlap(words_of(olds[0]), words_of(news[0])) < _FEW_WORDS


def _calls_left_out(gap: Gap, there: Prompt, here: Prompt) -> bool:
    """Whether a reply, and what was said after it, stand where calls of tools stood, with none of
    them: what tools told was taken out once it had been answered."""
    old = there.messages[gap.there_start : gap.there_stop]
    new = here.messages[gap.here_start : gap.here_stop]
    if len(old) < 2 or len(new) < 2 or new[0].segment != ASSISTANT:
        return False
    if not is_call(there, old[0]) or is_call(here, new[0]):
        return False
    said = words_said(there, old[0]).strip()
    is_bare = len(said) >= _LEAST_CUT and said == words_said(here, new[0]).strip()
    return is_bare or not any(is_call(here, message) for message in new)


def _are_thoughts(prompt: Prompt, messages: Sequence[Message]) -> bool:
    """Whether all of these are reasoning alone: items of the responses API, messages of a channel
    in one text."""
    for message in messages:
        text = "".join(part.text for part in prompt.parts[message.begin : message.end])
        rest = MARKER.sub(" ", THOUGHT.sub(" ", text)) if THINK.search(text) else text
        is_bare = prompt.is_one_text and rest.strip() in ("", message.role)
        is_bare = is_bare or is_thought(words_said(prompt, message))
        if message.role != "reasoning" and not (message.segment == ASSISTANT and is_bare):
            return False
    return bool(messages)


def are_in(texts: Sequence[str], whole: str) -> bool:
    """Whether several texts stand in one, to the letter and in their order."""
    at = 0
    for text in texts:
        at = whole.find(text.strip(), at)
        if at < 0:
            return False
        at += len(text.strip())
    return len(texts) > 1


def _stays_last(gap: Gap, there: Prompt, here: Prompt) -> bool:
    """Whether a turn stands now where the last message stood, which is the last one again: a
    reminder that every request has at its end."""
    is_before_last = gap.there_stop == len(there.messages) - 1
    is_before_last = is_before_last and gap.here_stop == len(here.messages) - 1
    return is_before_last and here.messages[gap.here_start].role == "assistant"


def _stand_elsewhere(own: Prompt, messages: Sequence[Message], other: Prompt) -> bool:
    """Whether most of these messages stand in another prompt too. One short question alone may be
    asked again; one reminder is put where it is wanted."""
    is_one = len(messages) == 1 and messages[0].role in ("user", "assistant", "tool")
    if is_one and len(own.text_of(messages[0])) < _LONG:
        return False
    keys = {message.key for message in other.messages}
    known = sum(message.key in keys for message in messages)
    return known > 0 and 2 * known > len(messages)


def _stands_in(texts: Sequence[str], prompt: Prompt) -> bool:
    """Whether all of what was said stands in one text yet, within another message perhaps."""
    if len(texts) > _MOST_QUOTED:
        return False
    whole = "".join(part.text for part in prompt.parts)
    return all(len(text) >= 2 * _LEAST_CUT and text.strip() in whole for text in texts)


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
    """Whether a message has lost its beginning: a window went on within it, and within a line;
    reasoning that is left out stood in a block of its own."""
    if not (_LEAST_CUT <= len(new) <= len(old) - _LEAST_CUT and old.endswith(new)):
        return False
    lost = old[: len(old) - len(new)]
    return not lost.endswith("\n") and not THINK.search(lost)


def goes_on_in(text: str, longer: str) -> bool:
    """Whether a text stands at the beginning or the end of a longer one, or has lines of its own in
    it."""
    if not _LEAST_CUT <= len(text) < len(longer):
        return False
    if longer.startswith(text) or longer.endswith(text):
        return True
    return f"\n{text}\n" in longer


def _is_summary(olds: list[str], news: list[str], said: tuple[str, str]) -> bool:
    """Whether a message tells in short what others said at length. said: the words of the first of
    both sides."""
    if CONTINUED.search(said[1][:400]) and not CONTINUED.search(said[0][:400]):
        return True
    if SUMMARY.search(said[0][:200]) and SUMMARY.search(said[1][:200]):
        return True  # told again
    if sum(map(len, news)) >= sum(map(len, olds)) * 1.2:
        return False
    if SUMMARY.search(said[1][:400]):
        return True
    if len(olds) < 2:
        return False
    known = set().union(*(words_of(text) for text in olds))
    words = [word for word in words_of(news[0]) if len(word) > 4]
    shared = sum(word in known for word in words)
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


def _is_cut(old: str, new: str) -> bool:
    """Whether only the beginning of a text is left, and a note in marks behind it."""
    first = common_length(old, new)
    gone, note = old[first:], new[first:]
    if first < _LEAST_CUT or len(gone) < _LEAST_CUT or not _CUT.fullmatch(note):
        return False
    if 2 * common_length(gone[::-1], note[::-1]) >= len(note):
        return False  # it stood there before
    return not _CUT.fullmatch(gone) and (len(gone) >= len(note) or any(map(str.isdigit, note)))


def _is_a_line(text: str, first: int, lost: int) -> bool:
    """Whether what is gone is one whole line of the text, as a stamp has it."""
    gone = text[first : first + lost]
    begins = gone.startswith("\n") or text[:first].endswith("\n")
    return begins and len(gone) <= _LONGEST_LINE and "\n" not in gone.strip("\n")


def shortened(old: str, new: str) -> tuple[Kind, int] | None:
    """(kind, first character that differs) where a text was cut short, or a note stands for it."""
    if is_note(new) and not is_note(old):
        return kind_of_note(new), common_length(old, new)
    if _is_cut(old, new):
        return "truncated_history", common_length(old, new)
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
        if first >= 0.2 * len(new) and kept >= len(new) - 8 and lost >= 2 * _LEAST_CUT:
            return None if _is_a_line(old, first, lost) else ("truncated_history", first)
        return ("position_shift", 0) if first == 0 and _is_shift(old, new) else None
    if CLEARED.search(note[:400]) and len(note) <= 400:
        return ("truncated_history" if kept >= 0.2 * len(new) else "compacted_history"), first
    if SUMMARY.search(note[:200]) and lost > 2 * len(note):
        return "compacted_history", first
    return None


def result_shortened(old: str, new: str) -> tuple[Kind, int] | None:
    """As `shortened`, of what a tool gave back, which nobody writes anew: a short text that has
    hardly a word of it stands in its place, or behind its beginning, in whatever words."""
    first = common_length(old, new)
    if not new.strip():
        return ("truncated_history", 0) if old.strip() else None
    found = shortened(old, new)
    if found is None and (is_cleared(old, new) or _is_an_end(old, new)):
        return "truncated_history", first
    if found is not None:
        is_told = SUMMED_UP.search(new) or SUMMARY.search(new)
        return ("compacted_history" if is_told else "truncated_history"), found[1]
    if first == len(new):  # what stood behind it was a stamp, or a line
        return None
    gone, note = len(old) - first, new[first:].strip()
    if first >= _LEAST_CUT and len(note) <= _LONGEST_MARK and note not in old:
        is_cut = gone >= max(2 * _LEAST_CUT, 1.5 * len(note)) and not _is_json(new)
        return ("truncated_history", first) if is_cut else None
    is_short = len(new) <= _LONGEST_MARK or 2 * len(new) <= len(old)
    if len(old) < 2 * _LEAST_CUT or not is_short or len(new) > _LONGEST_NOTE:
        return None
    is_other = overlap(words_of(old), words_of(new)) < _FEW_WORDS
    return (kind_of_note(new), first) if is_other else None


_LONGEST_MARK, _FEW_WORDS = 80, 0.2


def _is_an_end(old: str, new: str) -> bool:
    """Whether only the end of a text is left, however its white space is written."""
    was, now = (_BLANK.sub("", text) for text in (old, new))
    return len(now) >= _LEAST_CUT and len(was) - len(now) >= 2 * _LEAST_CUT and was.endswith(now)


def is_cleared(old: str, new: str) -> bool:
    """Whether nothing, or no more than a note, is left of what was there, whatever the note names
    besides."""
    if not new.strip():
        return bool(old.strip())
    is_short = len(new) <= _LONGEST_NOTE and 2 * len(new) <= len(old)
    return is_short and CLEARED.search(new) is not None and CLEARED.search(old) is None
