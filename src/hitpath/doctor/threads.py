"""Conversations of a trace that names no sessions: a request goes on where an earlier one's last
words stand in its history."""

import re
from itertools import pairwise

from hitpath.doctor.history import is_composed, is_note, words_said
from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Part, Prompt
from hitpath.doctor.shapes import loose_key, overlap, words_of
from hitpath.doctor.words_of_kinds import CONTINUED, MARKER, SUMMARY, TAG

_LEAST_SAID = 16
"""Characters of a message by which two requests are known to be of one conversation."""
_MOST_BACK, _MOST_CANDIDATES = 12, 4
_FEW, _FIRST = 2, 6
_ALIKE = 0.5
_SHORT_QUESTION = 400
_MOST_KEYS = 1 << 20
_CALL_IDS = ("tool_call_id", "tool_use_id", "call_id")
_CALLS = ("tool_use", "function", "tool_call", "function_call", "server_tool_use", "mcp_tool_use")
Key = tuple[str, int]


class Threads:
    """Which request ended with which words, the latest of each."""

    def __init__(self) -> None:
        self._ended_with: dict[Key, int] = {}

    def continued_by(self, row: int, prompt: Prompt) -> list[int]:
        """The requests that this one may go on from, the likeliest first: those whose last message
        stands here last, to the letter or nearly. The request is remembered."""
        if prompt.is_flat or not prompt.messages:
            return []
        said = [
            m
            for m in reversed(prompt.messages[:-1])
            if m.role not in ("assistant", "system", "developer", "tools")
        ][:_MOST_BACK]
        found: dict[int, None] = {}
        sure = [key for message in said for key in _sure_keys(prompt, message)]
        for key in [*sure, *(key for message in said for key in _keys(prompt, message))]:
            known = self._ended_with.get(key)
            if known is not None and len(found) < _MOST_CANDIDATES:
                found[known] = None
        if len(self._ended_with) < _MOST_KEYS:
            keys = _all_keys(prompt, prompt.messages[-1])
            self._ended_with.update(dict.fromkeys(keys, row))
        return list(found)


def _sure_keys(prompt: Prompt, message: Message) -> list[Key]:
    """By what a message is surely known again: its call's id, else its words, where there are
    enough; a picture among them may be encoded anew. None of a note that stands for more."""
    ids = call_ids(prompt, message)
    if ids:
        return [("id", hash(i)) for i in ids]
    if not _is_telling(prompt.text_of(message)):
        return []
    return [("=", message.key), ("words", hash((message.role, prompt.words_of(message))))]


def _keys(prompt: Prompt, message: Message) -> list[Key]:
    """By what it is likely known again: its words without numbers, of a call all but its id."""
    text, ids = prompt.text_of(message), call_ids(prompt, message)
    if not _is_telling(text, sum(map(len, ids))):
        return []
    return [(message.role, without_ids(prompt, message) if ids else loose_of(prompt, message))]


def _is_telling(text: str, num_id_chars: int = 0) -> bool:
    return len(text) - num_id_chars >= _LEAST_SAID and not is_note(text)


_loose: dict[int, int] = {}
_ids: dict[int, frozenset[str]] = {}


def loose_of(prompt: Prompt, message: Message) -> int:
    """The loose key of a message, which most requests of a session have again."""
    known = _loose.get(message.key)
    if known is None:
        if len(_loose) >= _MOST_KEYS:
            _loose.clear()
        known = _loose[message.key] = loose_key(_untagged(prompt.words_of(message)))
    return known


def _untagged(text: str) -> str:
    """Without what a template puts around a message, for the last one perhaps more."""
    for _ in range(_MOST_TAGS):
        begin, end = _TAG_BEFORE.match(text), _TAG_BEHIND.search(text, max(0, len(text) - 64))
        if begin is None and end is None:
            break
        text = text[begin.end() if begin else 0 : end.start() if end else len(text)]
    return text


_MOST_TAGS = 3
_TAG_BEFORE = re.compile(rf"\s*(?:{TAG.pattern}|{MARKER.pattern})")
_TAG_BEHIND = re.compile(rf"(?:{TAG.pattern}|{MARKER.pattern})\s*\Z")


def call_ids(prompt: Prompt, message: Message) -> frozenset[str]:
    """The ids of the calls of tools that a message makes or answers."""
    known = _ids.get(message.key)
    if known is None:
        if len(_ids) >= _MOST_KEYS:
            _ids.clear()
        parts = prompt.parts[message.begin : message.end]
        known = _ids[message.key] = frozenset(i for part in parts if (i := _call_id(part)))
    return known


def _call_id(part: Part) -> str:
    if part.path.endswith(_CALL_IDS):
        return part.text.strip('"')
    value = part.value
    if isinstance(value, dict) and (value.get("type") in _CALLS or "function" in value):
        told = value.get("id") or value.get("call_id")
        return told if isinstance(told, str) else ""
    return ""


def without_ids(prompt: Prompt, message: Message) -> int:
    """Equal for messages that are the same to the letter but for the ids of their calls."""
    text = prompt.text_of(message)
    for call_id in call_ids(prompt, message):
        text = text.replace(call_id, "")
    return hash((message.role, text))


def is_one_conversation(there: Prompt, here: Prompt) -> bool:
    """Whether the later request tells what the earlier one's last messages said."""
    if there.is_flat or here.is_flat:
        return False
    said = [
        m for m in there.messages if m.segment not in (SYSTEM, TOOLS) and m.role != "assistant"
    ][-2:]
    if _asks_the_same(there, here) or _goes_on_from_a_summary(there, here):
        return True
    made_anew = _ids_made_anew(there, here)
    keys = {key for m in said for key in _all_keys(there, m)} - made_anew
    known = {key for m in there.messages for key in _all_keys(there, m)} - made_anew
    if not any(
        not keys.isdisjoint(_all_keys(here, m)) and _goes_before(here, number, known)
        for number, m in enumerate(here.messages[:-1])
    ):
        return False
    olds, news, lead = _beyond_the_beginning(there, here)
    if not olds:
        return lead > 0
    if _share(there, olds, here, news):
        return True
    if not news or len(olds) > _FEW:
        return False
    loose = {loose_of(here, m) for m in news}
    is_all = all(loose_of(there, m) in loose for m in olds)
    return is_all and loose_of(there, olds[0]) == loose_of(here, news[0])


def _asks_the_same(there: Prompt, here: Prompt) -> bool:
    """Whether the last thing said there is a question that the later request has in its place, but
    for a word or two, and all before it to the letter: with the same numbers, of which there is
    one, or it is long."""
    olds, news = _said(there), _said(here)
    at = len(olds) - 1
    if at < 0 or len(news) <= at or olds[at].role != news[at].role:
        return False
    if any(old.key != new.key for old, new in zip(olds[:at], news, strict=False)):
        return False
    texts = there.words_of(olds[at]), here.words_of(news[at])
    numbers = [_NUMBER.findall(text) for text in texts]
    is_long = at > 0 and len(texts[0]) >= _SHORT_QUESTION
    if numbers[0] != numbers[1] or not (numbers[0] or is_long):
        return False
    one, other = words_of(texts[0]), words_of(texts[1])
    is_longer = len(one) >= _FEW_WORDS and all(other.get(w, 0) >= n for w, n in one.items())
    return is_longer or overlap(one, other) >= _NEARLY


def _goes_on_from_a_summary(there: Prompt, here: Prompt) -> bool:
    """Whether the later request says of itself that it goes on from a conversation that was summed
    up, and the earlier one does not."""
    firsts = [
        next((words_said(p, m) for m in p.messages if m.segment not in (SYSTEM, TOOLS)), "")
        for p in (there, here)
    ]
    begins = [bool(CONTINUED.search(first[:400])) for first in firsts]
    return begins[1] and not begins[0] and len(_said(there)) > 1


_NUMBER = re.compile(r"\d+")
_NEARLY, _FEW_WORDS = 0.75, 8


def _beyond_the_beginning(there: Prompt, here: Prompt) -> tuple[list[Message], list[Message], int]:
    """What was said there and here behind the messages that both begin with, and how many these
    are, where another question follows: examples and greetings stand in all dialogues of an
    application. Where another reply follows, the beginning was said in one dialogue."""
    olds, news = (
        [m for m in prompt.messages if m.segment not in (SYSTEM, TOOLS)] for prompt in (there, here)
    )
    lead = 0
    while lead < min(len(olds), len(news)) and olds[lead].key == news[lead].key:
        lead += 1
    is_another = all(side[lead].role == "user" for side in (olds, news) if lead < len(side))
    if 0 < lead < min(len(olds), len(news)) and not is_another:
        lead = 0
    return _telling(there, olds[lead:]), _telling(here, news[lead:]), lead


def _share(there: Prompt, olds: list[Message], here: Prompt, news: list[Message]) -> bool:
    """Whether one of these messages is one of those: to the letter, or by the id of its call."""
    one = {key for m in olds for key in _sure_keys(there, m)} - _ids_made_anew(there, here)
    return not one.isdisjoint(key for m in news for key in _sure_keys(here, m))


def _ids_made_anew(there: Prompt, here: Prompt) -> set[Key]:
    """Keys of ids by which the two call different tools, or one with other words: they are numbered
    in each dialogue, or given out again."""
    one, other = _calls(there), _calls(here)
    return {
        ("id", hash(call))
        for call in one.keys() & other.keys()
        if one[call][0] != other[call][0]
        or overlap(words_of(one[call][1]), words_of(other[call][1])) < _NEARLY
    }


def _calls(prompt: Prompt) -> dict[str, tuple[str, str]]:
    """The tool, and with what it is called, by the call's id."""
    found: dict[str, tuple[str, str]] = {}
    for part in prompt.parts:
        if isinstance(part.value, dict) and (call := _call_id(part)):
            inner = part.value.get("function")
            told = inner if isinstance(inner, dict) else part.value
            given = told.get("arguments", told.get("input"))
            found[call] = str(told.get("name")), str(given)
    return found


def share_a_message(there: Prompt, here: Prompt) -> bool:
    """Whether something that was said, and is long enough to be known again, stands in both."""
    return not {m.key for m in _said(there)}.isdisjoint(m.key for m in _said(here))


def _all_keys(prompt: Prompt, message: Message) -> list[Key]:
    return [*_sure_keys(prompt, message), *_keys(prompt, message)]


def _goes_before(here: Prompt, number: int, known: set[Key]) -> bool:
    """Whether what stands before a message was said there too, or stands for what was: a question
    may be asked in two conversations."""
    before = here.messages[number - 1] if number else None
    if before is None or before.segment in (SYSTEM, TOOLS):
        return True
    keys = _all_keys(here, before)
    if not keys:
        return True
    text = words_said(here, before)
    return not known.isdisjoint(keys) or is_composed(text) or bool(SUMMARY.search(text[:400]))


def _said(prompt: Prompt) -> list[Message]:
    """The messages that are no instructions and telling."""
    return _telling(prompt, [m for m in prompt.messages if m.segment not in (SYSTEM, TOOLS)])


def _telling(prompt: Prompt, messages: list[Message]) -> list[Message]:
    """Those that are long enough to be known again, and no notes."""
    return [m for m in messages if _is_telling(prompt.text_of(m))]


def are_two_dialogues(there: Prompt, here: Prompt) -> bool:
    """Whether nothing that was said stands in both, exactly, nearly or in short: a session may hold
    more than one dialogue."""
    if there.is_flat or here.is_flat:
        return False
    if _begins_anew(there, here):
        return True
    olds, news, _ = _beyond_the_beginning(there, here)
    if not olds or not news:
        return False
    begins = words_said(here, news[0])[:400]  # of one question there is nothing to sum up
    if CONTINUED.search(begins) or (len(olds) > 1 and SUMMARY.search(begins)):
        return False
    if _share(there, olds, here, news):
        return False
    first = next(m for m in here.messages if m.segment not in (SYSTEM, TOOLS))
    if first.role in ("assistant", "tool") or is_note(here.text_of(first)):
        return False  # it began otherwise
    other = here.text_of(news[0])
    words = _plain_words(other)
    for old in olds[:_FIRST]:
        text = there.text_of(old)
        if old.role != news[0].role:
            continue
        if text.endswith(other):
            return False
        is_one = loose_of(there, old) != loose_of(here, news[0]) or not _are_two_questions(
            text, other
        )
        if is_one and overlap(_plain_words(text), words) >= _ALIKE:
            return False
    return True


def _begins_anew(there: Prompt, here: Prompt) -> bool:
    """Whether a question stands alone where a dialogue was, and is another one but for numbers."""
    olds, news = _said(there), _said(here)
    if len(news) != 1 or len(olds) < _FEW or here.messages[-1].role != "user":
        return False
    text = here.text_of(news[0])
    if olds[0].role != "user" or len(text) > _SHORT_QUESTION or SUMMARY.search(text[:200]):
        return False
    if _share(there, olds, here, news):
        return False
    texts = there.words_of(olds[0]), here.words_of(news[0])
    return loose_of(there, olds[0]) != loose_of(here, news[0]) or _are_two_questions(*texts)


def _are_two_questions(text: str, other: str) -> bool:
    """Whether texts that are the same but for numbers and ids differ in more than one place: one
    may be a stamp, what was asked is another then."""
    words, others = text.split(), other.split()
    if len(words) != len(others):
        return False
    differ = [one != two for one, two in zip(words, others, strict=True)]
    return sum(now and not before for before, now in pairwise([False, *differ])) > 1


def _plain_words(text: str) -> dict[str, int]:
    """Without numbers and ids, which look alike where they are masked."""
    words = words_of(text)
    words.pop("0", None)
    return words
