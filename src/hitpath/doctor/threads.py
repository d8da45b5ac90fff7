"""Conversations of a trace that names no sessions: a request goes on where an earlier one's last
words stand in its history."""

import html
import re
import unicodedata
from collections import Counter
from itertools import pairwise

import msgspec

from hitpath.doctor.calls import call_ids, calls_of, is_call, is_result, without_ids
from hitpath.doctor.history import is_composed, is_note, words_said
from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Prompt
from hitpath.doctor.shapes import HIDDEN, loose_key, overlap, words_of
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.words_of_histories import CONTINUED, SUMMARY
from hitpath.doctor.words_of_kinds import MARKER, TAG

_LEAST_SAID = 16
"""Characters of a message by which two requests are known to be of one conversation."""
_MOST_BACK, _MOST_CANDIDATES = 12, 4
_FEW, _FIRST = 2, 6
_ALIKE = 0.5
_SHORT_QUESTION = 400
_MOST_KEYS = 1 << 20
Key = tuple[str, int]


class Threads:
    """Which request ended with which words, the latest of each."""

    def __init__(self) -> None:
        self._ended_with: dict[Key, int] = {}

    def continued_by(self, prompt: Prompt) -> list[int]:
        """The requests that this one may go on from, the likeliest first: those whose last message
        stands here last, to the letter or nearly."""
        if prompt.is_flat or not prompt.messages:
            return []
        said = [
            m
            for m in reversed(prompt.messages[:-1])
            if m.role not in ("assistant", "system", "developer", "tools")
        ][:_MOST_BACK]
        found: dict[int, None] = {}
        sure = [key for message in said for key in _sure_keys(prompt, message)]
        for key in [
            *sure,
            *(key for message in said for key in _keys(prompt, message)),
        ]:
            known = self._ended_with.get(key)
            if known is not None and len(found) < _MOST_CANDIDATES:
                found[known] = None
        return list(found)

    def remember(self, row: int, prompt: Prompt) -> None:
        """What a request ended with."""
        if not prompt.is_flat and prompt.messages and len(self._ended_with) < _MOST_KEYS:
            last = prompt.messages[-1]
            keys = [*_all_keys(prompt, last), *_keys_within(prompt, last)]
            self._ended_with.update(dict.fromkeys(keys, row))


def _sure_keys(prompt: Prompt, message: Message) -> list[Key]:
    """By what a message is surely known again: its call's id, else its words, where there are
    enough; a picture among them may be encoded anew. None of a note that stands for more."""
    ids = call_ids(prompt, message)
    if ids:
        return [("id", hash(i)) for i in ids]
    if not _is_telling(prompt.text_of(message)):
        return []
    return [("=", message.key), _key_of(message, prompt.words_of(message))]


def _key_of(message: Message, words: str) -> Key:
    return "words", hash((message.role, words.strip()))


def _keys_within(prompt: Prompt, message: Message) -> list[Key]:
    """By what the last message of a request is known again where something stood around it for
    that one call: a stamp, notes, documents. What is left begins or ends with a paragraph."""
    if message.role == "assistant" or call_ids(prompt, message):
        return []
    text = prompt.words_of(message).strip()
    ends = [found.span() for found in _PARAGRAPH.finditer(text)]
    within = [text[:begin] for begin, _ in ends[-_MOST_AROUND:]]
    within += [text[end:] for _, end in ends[-_MOST_AROUND:]]
    return [_key_of(message, words) for words in within if _is_telling(words)]


_PARAGRAPH = re.compile(r"\n\s*\n")
_MOST_AROUND = 4


def _keys(prompt: Prompt, message: Message) -> list[Key]:
    """By what it is likely known again: its words without numbers, of a call all but its id."""
    text, ids = prompt.text_of(message), call_ids(prompt, message)
    if not _is_telling(text, sum(map(len, ids))):
        return []
    return [
        (
            message.role,
            without_ids(prompt, message) if ids else loose_of(prompt, message),
        )
    ]


def _is_telling(text: str, num_id_chars: int = 0) -> bool:
    return len(text) - num_id_chars >= _LEAST_SAID and not is_note(text)


_loose: dict[int, int] = {}


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
        begin, end = (
            _TAG_BEFORE.match(text),
            _TAG_BEHIND.search(text, max(0, len(text) - 64)),
        )
        if begin is None and end is None:
            break
        text = text[begin.end() if begin else 0 : end.start() if end else len(text)]
    return text


_MOST_TAGS = 3
_TAG_BEFORE = re.compile(rf"\s*(?:{TAG.pattern}|{MARKER.pattern})")
_TAG_BEHIND = re.compile(rf"(?:{TAG.pattern}|{MARKER.pattern})\s*\Z")


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
    keys = {key for m in said for key in _all_keys(there, m)}
    keys = keys.union(_keys_within(there, there.messages[-1])) - made_anew
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
    if are_the_same_words(*texts):
        return True
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
        next(
            (words_said(p, m) for m in p.messages if m.segment not in (SYSTEM, TOOLS)),
            "",
        )
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
    if olds and olds[-1] is there.messages[-1]:
        one.update(_keys_within(there, olds[-1]))
    if not one.isdisjoint(key for m in news for key in _sure_keys(here, m)):
        return True
    return not _answered(there, olds).isdisjoint(_answered(here, news))


def _answered(prompt: Prompt, messages: list[Message]) -> set[tuple[int, int]]:
    """Calls with what they gave back, but for their ids, which a client may make anew: both are
    the same in two dialogues hardly ever, where the result says something."""
    return {
        (without_ids(prompt, call), without_ids(prompt, result))
        for call, result in pairwise(messages)
        if is_call(prompt, call)
        and is_result(prompt, result)
        and len(prompt.text_of(result)) >= _LEAST_RESULT
    }


_LEAST_RESULT = 120


def _ids_made_anew(there: Prompt, here: Prompt) -> set[Key]:
    """Keys of ids by which the two call different tools, or one with other words: they are numbered
    in each dialogue, or given out again."""
    one, other = calls_of(there), calls_of(here)
    return {
        ("id", hash(call))
        for call in one.keys() & other.keys()
        if one[call][0] != other[call][0] or not _is_given_alike(one[call][1], other[call][1])
    }


def _is_given_alike(one: str, other: str) -> bool:
    """Whether two calls were given nearly the same: of arguments the values tell, not their names,
    nor how the JSON is written."""
    values = [_values_of(text) for text in (one, other)]
    if all(values):
        return overlap(values[0], values[1]) >= _NEARLY
    return overlap(words_of(one), words_of(other)) >= _NEARLY


def _values_of(text: str) -> dict[str, int]:
    """How often each value, a word of a string, stands in JSON; nothing for what is none."""
    try:
        waiting = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        return {}
    found: Counter[str] = Counter()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        else:
            found.update(str(value).split())
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
    if _share(there, olds, here, news) or _sums_up(there, olds, here, news):
        return False
    first = next(m for m in here.messages if m.segment not in (SYSTEM, TOOLS))
    if first.role in ("assistant", "tool") or is_note(here.text_of(first)):
        return False  # it began otherwise
    other = here.text_of(news[0])
    for old in olds[:_FIRST]:
        if old.role != news[0].role:
            continue
        text = there.text_of(old)
        if text.endswith(other) or (text in other and len(text) >= _LEAST_SAID):
            return False  # it lost its beginning, or something was put before or behind it
        was, now = _behind_instructions(text, other)
        is_one = loose_of(there, old) != loose_of(here, news[0]) or not _are_two_questions(was, now)
        if is_one and overlap(_plain_words(was), _plain_words(now)) >= _ALIKE:
            return not _goes_on_alike(there, olds, here, news)
    return True


def _sums_up(there: Prompt, olds: list[Message], here: Prompt, news: list[Message]) -> bool:
    """Whether the first message stands for those there. A question may have the word too; it is
    asked in other words than what was said, and what follows a summary is not a whole dialogue
    that nobody has seen. Of one question there is nothing to sum up."""
    text = words_said(here, news[0])
    begins = text[:400]
    if CONTINUED.search(begins):
        return True
    if len(olds) < _FEW or not SUMMARY.search(begins):
        return False
    said = words_of("\n".join(there.words_of(m) for m in olds))
    if len(news) > 1 and news[0].role == "user" and news[1].role == "assistant":
        answer = words_said(here, news[1])  # which was asked for
        if len(answer.split()) >= _FEW_WORDS and _tells(answer, said):
            return True
    if sum(m.role == "assistant" for m in news) >= _FEW:
        return False
    return len(text) > _SHORT_QUESTION or news[0].role != "user" or _tells(text, said)


def _tells(text: str, said: dict[str, int]) -> bool:
    """Whether half of the long words of a text were said."""
    words = [word for word in words_of(text) if len(word) >= _LONG_WORD]
    return sum(word in said for word in words) >= _OF_A_SUMMARY * len(words)


_LONG_WORD, _OF_A_SUMMARY = 5, 0.5


def _goes_on_alike(there: Prompt, olds: list[Message], here: Prompt, news: list[Message]) -> bool:
    """Whether something behind the first question was said there too, or nearly, or too little
    was: questions of two dialogues may be alike."""
    if min(len(olds), len(news)) <= _FEW:
        return True
    known = [_said_like(there, m) for m in olds[1:_FIRST]]
    for message in news[1:_FIRST]:
        key, words = _said_like(here, message)
        if any(key == other or (words and overlap(words, said) >= _ALIKE) for other, said in known):
            return True
    return False


def _said_like(prompt: Prompt, message: Message) -> tuple[int, dict[str, int]]:
    """A key and the words of a message: of calls, whose JSON is much alike, the key alone tells."""
    if call_ids(prompt, message):
        return without_ids(prompt, message), {}
    return loose_of(prompt, message), _plain_words(prompt.text_of(message))


def _behind_instructions(text: str, other: str) -> tuple[str, str]:
    """What two messages say behind the lines that both begin with, where these are many: of a
    template without a role for them, instructions stand in the first message."""
    common = common_length(text, other)
    begin = text.rfind("\n", 0, common) + 1
    if begin < _INSTRUCTIONS or min(len(text), len(other)) - begin < _LEAST_SAID:
        return text, other
    return text[begin:], other[begin:]


_INSTRUCTIONS = 200


def _begins_anew(there: Prompt, here: Prompt) -> bool:
    """Whether a question stands alone where a dialogue was, and is another one but for numbers."""
    olds, news = _said(there), _said(here)
    if len(news) != 1 or len(olds) < _FEW or here.messages[-1].role != "user":
        return False
    text = here.text_of(news[0])
    if olds[0].role != "user" or len(text) > _SHORT_QUESTION:
        return False
    if _share(there, olds, here, news) or _sums_up(there, olds, here, news):
        return False
    texts = there.words_of(olds[0]), here.words_of(news[0])
    return loose_of(there, olds[0]) != loose_of(here, news[0]) or _are_two_questions(*texts)


def _are_two_questions(text: str, other: str) -> bool:
    """Whether texts that are the same but for numbers and ids differ in more than one place: one
    may be a stamp, what was asked is another then. The same words in another order are one."""
    if are_the_same_words(text, other) or _share_a_line(text, other):
        return False
    words, others = text.split(), other.split()
    if len(words) != len(others):
        return False
    differ = [one != two for one, two in zip(words, others, strict=True)]
    return sum(now and not before for before, now in pairwise([False, *differ])) > 1


def _share_a_line(text: str, other: str) -> bool:
    """Whether both begin or end with the same words, a line and more: a block of stamps behind or
    before it is another each time."""
    first, last = common_length(text, other), common_length(text[::-1], other[::-1])
    begins, ends = text[:first].rpartition("\n")[0], text[len(text) - last :].partition("\n")[2]
    return max(len(begins), len(ends)) >= _LINE


_LINE = 40


def are_the_same_words(text: str, other: str) -> bool:
    """Whether texts differ in their form alone: in marks, in the order of members or lines, in how
    characters are written."""
    if len(text) < _LEAST_SAID:
        return False
    one, two = (
        _WORD.findall(unicodedata.normalize("NFKC", html.unescape(HIDDEN.sub("", side))))
        for side in (text, other)
    )
    return len(one) >= _FEW and sorted(one) == sorted(two)


_WORD = re.compile(r"\w+")


def _plain_words(text: str) -> dict[str, int]:
    """Without numbers and ids, which look alike where they are masked."""
    words = words_of(text)
    words.pop("0", None)
    return words
