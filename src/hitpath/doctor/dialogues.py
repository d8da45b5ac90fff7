"""Whether two requests are of two dialogues: a session may hold more than one."""

from itertools import pairwise

from hitpath.doctor.calls import call_ids, without_ids
from hitpath.doctor.history import is_note, words_said
from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Prompt
from hitpath.doctor.said_in_both import beyond_the_beginning, said_in, share
from hitpath.doctor.said_keys import FEW, FEW_WORDS, LEAST_SAID, SHORT_QUESTION, loose_of
from hitpath.doctor.same_words import are_the_same_words
from hitpath.doctor.shapes import overlap, words_of
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.words_of_histories import CONTINUED, SUMMARY

_FIRST = 6
_ALIKE = 0.5


def are_two_dialogues(there: Prompt, here: Prompt) -> bool:
    """Whether nothing that was said stands in both, exactly, nearly or in short: a session may hold
    more than one dialogue."""
    if there.is_flat or here.is_flat:
        return False
    if _begins_anew(there, here):
        return True
    olds, news, _ = beyond_the_beginning(there, here)
    if not olds or not news:
        return False
    if share(there, olds, here, news) or _sums_up(there, olds, here, news):
        return False
    first = next(m for m in here.messages if m.segment not in (SYSTEM, TOOLS))
    if first.role in ("assistant", "tool") or is_note(here.text_of(first)):
        return False  # it began otherwise
    other = here.words_of(news[0])
    for old in olds[:_FIRST]:
        if old.role != news[0].role:
            continue
        text = there.words_of(old)
        if text.endswith(other) or (text in other and len(text) >= LEAST_SAID):
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
    if len(olds) < FEW or not SUMMARY.search(begins):
        return False
    said = words_of("\n".join(there.words_of(m) for m in olds))
    if len(news) > 1 and news[0].role == "user" and news[1].role == "assistant":
        answer = words_said(here, news[1])  # which was asked for
        if len(answer.split()) >= FEW_WORDS and _tells(answer, said):
            return True
    if sum(m.role == "assistant" for m in news) >= FEW:
        return False
    return len(text) > SHORT_QUESTION or news[0].role != "user" or _tells(text, said)


def _tells(text: str, said: dict[str, int]) -> bool:
    """Whether half of the long words of a text were said."""
    words = [word for word in words_of(text) if len(word) >= _LONG_WORD]
    return sum(word in said for word in words) >= _OF_A_SUMMARY * len(words)


_LONG_WORD, _OF_A_SUMMARY = 5, 0.5


def _goes_on_alike(there: Prompt, olds: list[Message], here: Prompt, news: list[Message]) -> bool:
    """Whether something behind the first question was said there too, or nearly, or too little
    was: questions of two dialogues may be alike."""
    if min(len(olds), len(news)) <= FEW:
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
    if begin < _INSTRUCTIONS or min(len(text), len(other)) - begin < LEAST_SAID:
        return text, other
    return text[begin:], other[begin:]


_INSTRUCTIONS = 200


def _begins_anew(there: Prompt, here: Prompt) -> bool:
    """Whether a question stands alone where a dialogue was, and is another one but for numbers."""
    olds, news = said_in(there), said_in(here)
    if len(news) != 1 or len(olds) < FEW or here.messages[-1].role != "user":
        return False
    text = here.text_of(news[0])
    if olds[0].role != "user" or len(text) > SHORT_QUESTION:
        return False
    if share(there, olds, here, news) or _sums_up(there, olds, here, news):
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


def _plain_words(text: str) -> dict[str, int]:
    """Without numbers and ids, which look alike where they are masked."""
    words = words_of(text)
    words.pop("0", None)
    return words
