"""Which message of a request is which of its relative's: by what they say, in order.

Messages that are equal to the letter are anchors. Between two anchors a message is the same one
where it says the same but for what is stamped, or most of the same; calls of tools and their
results are known by the call's id. What is paired with nothing was dropped, put in or summed up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hitpath.doctor.calls import call_ids, is_result, without_ids
from hitpath.doctor.completion_marks import completion_of
from hitpath.doctor.history import goes_on_in, is_note, shortened, words_said
from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Prompt
from hitpath.doctor.said_keys import loose_of
from hitpath.doctor.shapes import overlap, words_of
from hitpath.doctor.stand_ins import stands_for_more
from hitpath.doctor.textdiff import Run, equal_runs
from hitpath.doctor.thoughts import spoken
from hitpath.doctor.words_of_histories import CONTINUED, SUMMARY

_ALIKE = 0.5
"""Words in common from which on two messages are one that was edited."""
_FEW_SHOT_CHARS = 400
_TELLING_CHARS = 16
_MOST_AHEAD = 40
_SHORT_ANSWER = 120
_STABLE = (SYSTEM, TOOLS)
"""Segments that all sessions of an application should share."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Numbers of messages there and here that are the same one, perhaps not to the letter."""

    there: int
    here: int


class Alignment(NamedTuple):
    """pairs: messages that are the same one, in order; retold: those that stand in one place and
    for others, which were dropped. Of these the instructions are among the pairs."""

    pairs: list[Pair]
    retold: set[Pair]


def aligned(there: Prompt, here: Prompt, same: int, same_session: bool) -> Alignment:
    """From message number `same` on, the first that differs."""
    aligning = _Aligning(there, here, same)
    return Alignment(aligning.pairs(same_session), aligning.retold)


class _Aligning:
    """One alignment."""

    def __init__(self, there: Prompt, here: Prompt, same: int) -> None:
        self._there = there
        self._here = here
        self._same = same
        self.retold: set[Pair] = set()
        self._last = Pair(len(there.messages) - 1, len(here.messages) - 1)

    def pairs(self, same_session: bool) -> list[Pair]:
        same = self._same
        old, new = self._there.messages[same:], self._here.messages[same:]
        one = [_exact(self._there, n, -1 - n) for n in range(same, same + len(old))]
        other = [_exact(self._here, n, n) for n in range(same, same + len(new))]
        found: list[Pair] = []
        last_a = last_b = 0
        runs = [*equal_runs(one, other), (len(old), len(new), 0)]
        for a, b, n in _grown(runs, [m.key for m in old], [m.key for m in new]):
            found += self._nearly(same + last_a, same + a, same + last_b, same + b)
            found += [Pair(same + a + k, same + b + k) for k in range(n)]
            last_a, last_b = a + n, b + n
        if not same_session:
            return self._with_completion(self._instructions_only(found))
        if self._is_continued():
            found = [p for p in found if self._is_kept(p)]
        return self._with_completion(self._without_questions(self._without_retold(found)))

    def _with_completion(self, pairs: list[Pair]) -> list[Pair]:
        """With what was said, where it is one message on both sides and a code completion: one
        document, however little of it is left in the window."""
        if self._last in pairs:
            return pairs
        for prompt in (self._there, self._here):
            said = [m for m in prompt.messages if m.segment not in _STABLE]
            if len(said) != 1 or completion_of(prompt.text_of(said[0])) is None:
                return pairs
        return [*pairs, self._last]

    def _without_retold(self, pairs: list[Pair]) -> list[Pair]:
        """Without messages that sum up what others said: again, or others that are gone now."""
        kept: list[Pair] = []
        before = Pair(self._same - 1, self._same - 1)
        for number, pair in enumerate(pairs):
            after = pairs[number + 1] if number + 1 < len(pairs) else None
            gone = range(pair.there + 1, pair.there + 1 + self._dropped_behind(pair, after))
            if not gone and pair.here == before.here + 1:
                gone = range(before.there + 1, pair.there)
            is_last = pair == self._last
            if not is_last and stands_for_more(
                self._there, pair.there, self._here, pair.here, gone
            ):
                self.retold.add(pair)
                if self._here.messages[pair.here].segment in _STABLE and not pair.here:
                    kept.append(pair)  # the instructions, with more at their end
            else:
                kept.append(pair)
            before = pair
        return kept

    def _dropped_behind(self, pair: Pair, after: Pair | None) -> int:
        """Messages right behind this one that are gone, with nothing in their place or one short
        answer ("Ok."); at the end several that gave way to what is new."""
        if after is None:
            num = len(self._there.messages) - 1 - pair.there
            return num if num > 1 and pair.here < len(self._here.messages) - 1 else 0
        num, came = after.there - pair.there - 1, after.here - pair.here - 1
        if came > 1 or num <= came:
            return 0
        answer = self._here.text_of(self._here.messages[pair.here + 1]) if came else ""
        return num if len(answer) <= _SHORT_ANSWER else 0

    def _is_continued(self) -> bool:
        """Whether the dialogue begins with a summary now and did not: what follows is new or is
        what was kept to the letter."""
        firsts = [
            next((words_said(p, m) for m in p.messages if m.segment not in _STABLE), "")
            for p in (self._there, self._here)
        ]
        return bool(CONTINUED.search(firsts[1][:400])) and not CONTINUED.search(firsts[0][:400])

    def _is_kept(self, pair: Pair) -> bool:
        old, new = self._there.messages[pair.there], self._here.messages[pair.here]
        return new.segment in _STABLE or old.key == new.key

    def _without_questions(self, pairs: list[Pair]) -> list[Pair]:
        """Without the last messages of both: another question is no edit of the one before, unless
        it is one long template with something stamped into it."""
        new = self._here.messages
        last = [p for p in pairs if p == self._last]
        if not last or new[-1].role not in ("user", "tool", "") or new[-1].segment in _STABLE:
            return pairs
        return pairs if self._shares_most_of(last) else pairs[:-1]

    def _instructions_only(self, pairs: list[Pair]) -> list[Pair]:
        """Between sessions: the instructions, and turns that all sessions share (examples); two
        people's questions may be alike by chance."""
        new = self._here.messages
        kept = [p for p in pairs if new[p.here].segment in _STABLE]
        rest = [p for p in pairs if new[p.here].segment not in _STABLE]
        size = sum(len(self._here.text_of(new[p.here])) for p in rest)
        equal = [p for p in rest if self._there.messages[p.there].key == new[p.here].key]
        equal_size = sum(len(self._here.text_of(new[p.here])) for p in equal)
        is_shown = size >= _FEW_SHOT_CHARS and 2 * equal_size >= size and self._are_most(equal)
        if is_shown:  # what stands behind the last example is what was asked
            return kept + [p for p in rest if p.here <= equal[-1].here]
        others = [p for p in rest if p not in equal]
        is_template = size >= _FEW_SHOT_CHARS and self._shares_most_of(others)
        return kept + rest if is_template else kept

    def _are_most(self, equal: Sequence[Pair]) -> bool:
        """Whether half of what was said, up to the last of these, are these: what two people were
        told may be the same by chance."""
        last = equal[-1]
        sides = self._there.messages[: last.there + 1], self._here.messages[: last.here + 1]
        return all(
            2 * len(equal) >= sum(m.segment not in _STABLE for m in side[self._same :])
            for side in sides
        )

    def _shares_most_of(self, pairs: Sequence[Pair]) -> bool:
        """Whether messages are one template with something stamped into it."""
        for pair in pairs:
            old = self._there.text_of(self._there.messages[pair.there])
            new = self._here.text_of(self._here.messages[pair.here])
            if (
                min(len(old), len(new)) >= _FEW_SHOT_CHARS
                and overlap(words_of(old), words_of(new)) >= 0.97
            ):
                return True
        return False

    def _nearly(self, a0: int, a1: int, b0: int, b1: int) -> Iterator[Pair]:
        """Within a gap: messages that say the same to the letter but for reasoning and notes, then
        those that do but for numbers and ids, then those alike."""
        if a0 == a1 or b0 == b1:
            return
        last_a, last_b = a0, b0
        for pair in [*self._surely(a0, a1, b0, b1), Pair(a1, b1)]:
            yield from self._loosely(last_a, pair.there, last_b, pair.here)
            if pair.there < a1:
                yield pair
            last_a, last_b = pair.there + 1, pair.here + 1

    def _surely(self, a0: int, a1: int, b0: int, b1: int) -> list[Pair]:
        """Replies that differ in their reasoning alone, and the last question there, where it had
        a note that was taken off: before numbers are left out of account."""
        one = [_said(self._there, n, -1 - n) for n in range(a0, a1)]
        other = [_said(self._here, n, n) for n in range(b0, b1)]
        found = [Pair(a0 + a + k, b0 + b + k) for a, b, n in equal_runs(one, other)
                 for k in range(n)]  # fmt: skip
        last = found[-1] if found else Pair(a0 - 1, b0 - 1)
        olds, news = self._there.messages, self._here.messages
        if a1 < len(olds) or last.there == a1 - 1 or olds[-1].role != "user":
            return found
        text = self._there.words_of(olds[-1])
        for b in range(last.here + 1, min(b1, len(news) - 1)):
            if news[b].role == "user" and goes_on_in(self._here.words_of(news[b]), text):
                return [*found, Pair(a1 - 1, b)]
        return found

    def _loosely(self, a0: int, a1: int, b0: int, b1: int) -> Iterator[Pair]:
        if a0 == a1 or b0 == b1:
            return
        stop_a, stop_b = self._other_turns(a0, a1, b0, b1)
        old, new = self._there.messages[a0:stop_a], self._here.messages[b0:stop_b]
        ids = set[str]().union(*(call_ids(self._there, m) for m in old))
        shared = ids & set[str]().union(*(call_ids(self._here, m) for m in new))
        one = [_loose(self._there, n, shared) for n in range(a0, stop_a)]
        other = [_loose(self._here, n, shared) for n in range(b0, stop_b)]
        last_a = last_b = 0
        for a, b, n in [*equal_runs(one, other), (len(old), len(new), 0)]:
            yield from self._alike(a0 + last_a, a0 + a, b0 + last_b, b0 + b)
            for k in range(n):
                yield Pair(a0 + a + k, b0 + b + k)
            last_a, last_b = a + n, b + n

    def _other_turns(self, a0: int, a1: int, b0: int, b1: int) -> tuple[int, int]:
        """Where two stretches of turns stop being the same ones: both call tools and share no
        call, by its id or, where ids are made anew, by all else."""
        olds, news = self._there.messages[a0:a1], self._here.messages[b0:b1]
        one = [n for n, m in enumerate(olds) if call_ids(self._there, m)]
        other = [n for n, m in enumerate(news) if call_ids(self._here, m)]
        if not one or not other:
            return a1, b1
        known = {i for n in one for i in call_ids(self._there, olds[n])}
        if any(i in known for n in other for i in call_ids(self._here, news[n])):
            return a1, b1
        bare = {_bare(self._there, a0 + n) for n in one}
        if any(_bare(self._here, b0 + n) in bare for n in other):
            return a1, b1
        return a0 + one[0], b0 + other[0]

    def _alike(self, a0: int, a1: int, b0: int, b1: int) -> Iterator[Pair]:
        """Within a gap: messages of one role, in order, that have most words in common."""
        b = b0
        for a in range(a0, a1):
            for candidate in range(b, min(b1, b + _MOST_AHEAD)):
                if self._are_one(a, candidate):
                    yield Pair(a, candidate)
                    b = candidate + 1
                    break

    def _answer_one_call(self, a: int, b: int) -> bool:
        """Whether ids were made anew for calls that are the same else, and these are the calls or
        what they gave back, to the letter or not."""
        sides = (self._there, a), (self._here, b)
        calls = [_call_before(*side) for side in sides]
        behind = [number - call for (_, number), call in zip(sides, calls, strict=True)]
        bare = [without_ids(p, p.messages[c]) for (p, _), c in zip(sides, calls, strict=True)]
        return behind[0] == behind[1] and bare[0] == bare[1]

    def _says_the_same(self, old: Message, new: Message) -> bool:
        """Whether two replies differ in their reasoning alone."""
        said = spoken(self._there.parts[old.begin : old.end], old.role)
        return bool(said) and said == spoken(self._here.parts[new.begin : new.end], new.role)

    def _are_one(self, a: int, b: int) -> bool:
        old, new = self._there.messages[a], self._here.messages[b]
        if old.role != new.role:
            return False
        if new.segment == old.segment in _STABLE:
            return True
        text, other = self._there.words_of(old), self._here.words_of(new)
        said = words_said(self._there, old), words_said(self._here, new)
        if SUMMARY.search(said[1][:200]) and not SUMMARY.search(said[0][:200]):
            return False
        ids = call_ids(self._there, old), call_ids(self._here, new)
        if any(ids):  # a call and its result keep their id, unless ids are made anew
            return bool(ids[0] & ids[1]) or self._answer_one_call(a, b)
        if is_note(other) and not is_note(text):
            return False  # it may stand for more than one
        if new.role == "assistant" and self._says_the_same(old, new):
            return True
        if overlap(words_of(text), words_of(other)) >= _ALIKE:
            return True
        return goes_on_in(text, other) or goes_on_in(other, text) or bool(shortened(text, other))


def _call_before(prompt: Prompt, number: int) -> int:
    """The message with the calls that a result answers; of others their own number."""
    at = number
    while at and is_result(prompt, prompt.messages[at]):
        at -= 1
    return at


def _grown(runs: list[Run], one: Sequence[int], other: Sequence[int]) -> list[Run]:
    """Runs with what is the same right before them, however short it is."""
    grown: list[Run] = []
    end_a = end_b = 0
    for begin_a, begin_b, n in runs:
        a, b = begin_a, begin_b
        while a > end_a and b > end_b and one[a - 1] == other[b - 1]:
            a, b = a - 1, b - 1
        end_a, end_b = begin_a + n, begin_b + n
        grown.append((a, b, end_a - a))
    return grown


def _exact(prompt: Prompt, number: int, other: int) -> tuple[int, int]:
    """Equal for messages that are the same and long enough to tell, short ones with the one before
    them; `other` for all else: `done` is said often."""
    message = prompt.messages[number]
    size = len(prompt.text_of(message))
    if size >= _TELLING_CHARS:
        return message.key, 0
    before = prompt.messages[number - 1] if number else message
    if size + len(prompt.text_of(before)) < _TELLING_CHARS or before.segment in _STABLE:
        return other, 1
    return hash((before.key, message.key)), 2


def _said(prompt: Prompt, number: int, other: int) -> tuple[str, int]:
    """Equal for replies that say the same besides their reasoning; `other` for all else."""
    message = prompt.messages[number]
    if message.role == "assistant":
        said = spoken(prompt.parts[message.begin : message.end], message.role)
        if len(said) >= _TELLING_CHARS:
            return said, 0
    return "", other


def _loose(prompt: Prompt, number: int, shared: set[str]) -> tuple[str, int, bool]:
    """A call of a tool is known by its id, where that is on both sides; else by all but its id."""
    message = prompt.messages[number]
    ids = call_ids(prompt, message)
    if ids & shared:
        return message.role, hash(ids & shared), True
    return message.role, _bare(prompt, number) if ids else loose_of(prompt, message), False


def _bare(prompt: Prompt, number: int) -> int:
    """Equal for calls that are the same but for their ids; for results, if their calls are too:
    many tools say `done`."""
    message = prompt.messages[number]
    before = prompt.messages[number - 1] if number and message.role != "assistant" else message
    return hash((without_ids(prompt, message), without_ids(prompt, before)))
