"""Conversations of a trace that names no sessions: a request goes on where an earlier one's last
words stand in its history."""

from hitpath.doctor.history import is_composed, words_said
from hitpath.doctor.prompt import SYSTEM, TOOLS, Prompt
from hitpath.doctor.said_in_both import beyond_the_beginning, ids_made_anew, said_in, share
from hitpath.doctor.said_keys import (
    FEW,
    FEW_WORDS,
    MOST_KEYS,
    NEARLY,
    SHORT_QUESTION,
    Key,
    all_keys,
    keys_within,
    likely_keys,
    loose_of,
    sure_keys,
)
from hitpath.doctor.same_words import (
    are_stamped_otherwise,
    are_the_same_numbers,
    are_the_same_words,
    is_another_order,
    numbers_in,
)
from hitpath.doctor.shapes import overlap, words_of
from hitpath.doctor.words_of_histories import CONTINUED, SUMMARY

_MOST_BACK, _MOST_CANDIDATES = 12, 4


class Threads:
    """Which request ended with which words, the latest of each."""

    def __init__(self) -> None:
        self._ended_with: dict[Key, int] = {}

    def continued_by(self, prompt: Prompt, since: int = 0) -> list[int]:
        """The requests that this one may go on from, the likeliest first: those whose last message
        stands here last, to the letter or nearly. since: of the first message that is looked at."""
        if prompt.is_flat or not prompt.messages:
            return []
        said = [
            m
            for m in reversed(prompt.messages[since:-1])
            if m.role not in ("assistant", "system", "developer", "tools")
        ][:_MOST_BACK]
        found: dict[int, None] = {}
        sure = [key for message in said for key in sure_keys(prompt, message)]
        for key in [
            *sure,
            *(key for message in said for key in likely_keys(prompt, message)),
        ]:
            known = self._ended_with.get(key)
            if known is not None and len(found) < _MOST_CANDIDATES:
                found[known] = None
        return list(found)

    def remember(self, row: int, prompt: Prompt) -> None:
        """What a request ended with."""
        if not prompt.is_flat and prompt.messages and len(self._ended_with) < MOST_KEYS:
            last = prompt.messages[-1]
            keys = [*all_keys(prompt, last), *keys_within(prompt, last)]
            self._ended_with.update(dict.fromkeys(keys, row))


def is_one_conversation(there: Prompt, here: Prompt) -> bool:
    """Whether the later request tells what the earlier one's last messages said."""
    if there.is_flat or here.is_flat:
        return False
    said = [
        m for m in there.messages if m.segment not in (SYSTEM, TOOLS) and m.role != "assistant"
    ][-2:]
    if _asks_the_same(there, here) or _goes_on_from_a_summary(there, here):
        return True
    made_anew = ids_made_anew(there, here)
    keys = {key for m in said for key in all_keys(there, m)}
    keys = keys.union(keys_within(there, there.messages[-1])) - made_anew
    known = {key for m in there.messages for key in all_keys(there, m)} - made_anew
    if not any(
        not keys.isdisjoint(all_keys(here, m)) and _goes_before(here, number, known)
        for number, m in enumerate(here.messages[:-1])
    ):
        return False
    olds, news, lead = beyond_the_beginning(there, here)
    if not olds:
        return lead > 0
    if share(there, olds, here, news):
        return True
    if not news or len(olds) > FEW:
        return False
    loose = {loose_of(here, m) for m in news}
    is_all = all(loose_of(there, m) in loose for m in olds)
    return is_all and loose_of(there, olds[0]) == loose_of(here, news[0])


def _asks_the_same(there: Prompt, here: Prompt) -> bool:
    """Whether the last thing said there is a question that the later request has in its place, but
    for a word or two or an id that is stamped on it, and all before it to the letter: with the same
    numbers, of which there is one, or it is long."""
    olds, news = said_in(there), said_in(here)
    at = len(olds) - 1
    if at < 0 or len(news) <= at or olds[at].role != news[at].role:
        return False
    if any(old.key != new.key for old, new in zip(olds[:at], news, strict=False)):
        return False
    texts = there.words_of(olds[at]), here.words_of(news[at])
    if _are_alone(there, here) and is_another_order(*texts):
        return False
    if are_the_same_words(*texts) or are_stamped_otherwise(*texts):
        return True
    numbers = [numbers_in(text) for text in texts]
    is_long = at > 0 and len(texts[0]) >= SHORT_QUESTION
    if not are_the_same_numbers(*numbers) or not (numbers[0] or is_long):
        return False
    one, other = words_of(texts[0]), words_of(texts[1])
    is_longer = len(one) >= FEW_WORDS and all(other.get(w, 0) >= n for w, n in one.items())
    return is_longer or overlap(one, other) >= NEARLY


def _are_alone(there: Prompt, here: Prompt) -> bool:
    """Whether both say one thing, and nothing was said before."""
    return all(
        sum(m.segment not in (SYSTEM, TOOLS) for m in p.messages) == 1 for p in (there, here)
    )


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
    return begins[1] and not begins[0] and len(said_in(there)) > 1


def _goes_before(here: Prompt, number: int, known: set[Key]) -> bool:
    """Whether what stands before a message was said there too, or stands for what was: a question
    may be asked in two conversations."""
    before = here.messages[number - 1] if number else None
    if before is None or before.segment in (SYSTEM, TOOLS):
        return True
    keys = all_keys(here, before)
    if not keys:
        return True
    text = words_said(here, before)
    return not known.isdisjoint(keys) or is_composed(text) or bool(SUMMARY.search(text[:400]))
