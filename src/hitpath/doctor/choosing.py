"""Which earlier request is compared: that of the chunks (relatives.py), unless what the requests
say shows another.

In a trace without sessions a request goes on from the one with which it begins to the letter,
unless another one's last words stand further on in it; else from the one whose last message stands
in its history; in a session that holds several dialogues, or whose prompts are new for the most
part, too. An id that each request has for itself names no session. A window that moved on within
tokens leaves few chunks. Two requests that share rules of their house only are of two applications,
even of one session; so are two agents that work at one history.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hitpath.core import ABSENT
from hitpath.doctor._kernels import common_symbols
from hitpath.doctor.applications import (
    are_told_otherwise,
    are_two_agents,
    is_one_application,
    key_of_instructions,
    shares_words,
)
from hitpath.doctor.beginnings import Beginnings
from hitpath.doctor.dialogues import are_two_dialogues
from hitpath.doctor.prompt import SYSTEM, Prompt
from hitpath.doctor.relatives import NONE, Families
from hitpath.doctor.requests import Request
from hitpath.doctor.rows_read import Requests
from hitpath.doctor.said_in_both import share_a_message
from hitpath.doctor.symbols import shared_symbols
from hitpath.doctor.threads import Threads, is_one_conversation
from hitpath.traces.table import Trace

_LEAST_MOVED = 24
_MOST_BACK = 4
_MOST_UNREAD = 64
_FEW, _ARE_ALONE = 8, 0.9
_HEAD_OF_A_REPLY = 16
"""Symbols of a head that a prompt ends with, at most."""
_SURELY_ONE = 1024
"""Leading symbols in common that two applications do not have by chance."""


class Chosen(NamedTuple):
    """row: of the relative, NONE without one; in_session: whether both are of one session, as the
    trace says or as the messages show; is_told: they show that both are of one dialogue."""

    row: int
    in_session: bool
    is_told: bool = False


@dataclass(slots=True)
class Told:
    """What requests have said: their last words, and all of it."""

    threads: Threads = field(default_factory=Threads)
    beginnings: Beginnings = field(default_factory=Beginnings)

    def remember(self, row: int, request: Request) -> None:
        """What a request said."""
        self.threads.remember(row, request.prompt)
        self.beginnings.remember(row, request)

    def before(self, here: Prompt) -> Iterator[tuple[int, bool]]:
        """The requests that one may go on from, the likeliest first, and whether it begins with
        all of that one: before the longest such only those whose last words stand behind it."""
        begun = self.beginnings.longest(here)
        if begun is not None:
            later = self.threads.continued_by(here, begun.num_messages)
            yield from ((row, False) for row in later)
            yield begun.row, True
        yield from ((row, False) for row in self.threads.continued_by(here))


@dataclass(slots=True)
class Session:
    """What is known of a session that the trace names. last: its latest requests; unread: those
    whose last words nobody has asked for yet."""

    last: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_BACK))
    unread: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_UNREAD))
    told: Told = field(default_factory=Told)


class Choosing:
    """Asked for the rows of a trace in their order."""

    def __init__(self, trace: Trace, requests: Requests, families: Families) -> None:
        self._trace = trace
        self._requests = requests
        self._families = families
        self._told = Told()
        self._sessions: dict[str, Session] = {}
        self._thread: dict[int, int] = {}
        self._told_alike: dict[int, int] = {}
        self._names_sessions = _names_sessions(trace)

    def of(self, row: int) -> Chosen:
        """The relative of a row."""
        name = self._trace.session.of(row) if self._names_sessions else None
        if name is None:
            return self._unnamed(row)
        session = self._sessions.setdefault(name, Session())
        chosen = self._by_chunks(row, session)
        if session.last:
            chosen = self._of_its_dialogue(row, session, chosen)
        session.last.append(row)
        session.unread.append(row)
        return chosen

    def _unnamed(self, row: int) -> Chosen:
        """The request of which this one tells the last words, else by chunks."""
        here = self._requests.of(row)
        if here is not None:
            found = self._first_told(row, here, self._told)
            self._told.remember(row, here)
            if found is not None:
                return found
        return self._by_chunks(row, None)

    def _first_told(self, row: int, here: Request, told: Told) -> Chosen | None:
        """The first of those before that this one goes on from."""
        for earlier, is_whole in told.before(here.prompt):
            there = self._requests.of(earlier)
            if there is not None and (is_whole or _goes_on_from(there.prompt, here.prompt)):
                self._thread[row] = self._thread.setdefault(earlier, earlier)
                return Chosen(self._nearer(row, earlier), True, True)
        return None

    def _nearer(self, row: int, earlier: int) -> int:
        """A later request of the same conversation that shares more: it was sent again, or with
        another last question."""
        other, runs = int(self._families.nearest[row]), self._trace.prompts
        if other <= earlier or self._thread.get(other) != self._thread[row]:
            return earlier
        common = int(common_symbols(runs.flat, runs.offsets, row, earlier))
        return other if self._families.common[row] > common else earlier

    def _of_its_dialogue(self, row: int, session: Session, chosen: Chosen) -> Chosen:
        """Another request of the session, where the chosen one is of another dialogue (one id for
        all traffic, an agent that calls others) or of another session, since most of the prompt is
        new (a page that a browser shows)."""
        if chosen.in_session and self._goes_on(row, chosen.row):
            return chosen
        here = self._chat(row)
        if here is None:
            return chosen
        there = self._chat(chosen.row) if chosen.in_session else None
        before = self._told_in(session)
        if there is not None and _are_surely_one(there.prompt, here.prompt):
            begun = before.beginnings.longest(here.prompt)
            if begun is None or _begin_alike(there.prompt, here.prompt, begun.num_messages):
                return chosen
        told = self._first_told(row, here, before)
        if told is not None or chosen.in_session:
            return told or chosen
        for earlier in reversed(session.last):
            there = self._chat(earlier)
            if there is None or are_two_dialogues(there.prompt, here.prompt):
                continue
            if self._is_related(row, earlier, True):
                return Chosen(earlier, True)
        return chosen

    def _told_in(self, session: Session) -> Told:
        """What the requests of a session have said."""
        for earlier in session.unread:
            there = self._requests.of(earlier)
            if there is not None:
                session.told.remember(earlier, there)
        session.unread.clear()
        return session.told

    def _goes_on(self, row: int, other: int) -> bool:
        """Whether a prompt begins with nearly all of its relative's."""
        offsets = self._trace.prompts.offsets
        length = int(offsets[other + 1] - offsets[other])
        is_nearest = other == self._families.nearest[row]
        least = max(length - _HEAD_OF_A_REPLY, length // 2)
        return is_nearest and int(self._families.common[row]) >= least

    def _by_chunks(self, row: int, session: Session | None) -> Chosen:
        other, in_session = int(self._families.nearest[row]), bool(self._families.in_session[row])
        if self._trace.identity == "tokens" and not in_session and session is not None:
            shifted = self._moved_on(row, session)
            if shifted != NONE:
                return Chosen(shifted, True)
        if other != NONE and self._is_related(row, other, in_session):
            return Chosen(other, in_session)
        other = int(self._families.elsewhere[row])
        if other != NONE and self._is_related(row, other, False):
            return Chosen(other, False)
        return Chosen(self._told_alike_before(row), False)

    def _told_alike_before(self, row: int) -> int:
        """The latest request with the very instructions of one that has no relative by chunks: most
        of what an agent and its helper send may be the tools that both have."""
        here = self._chat(row)
        key = None if here is None else key_of_instructions(here.prompt)
        if key is None:
            return NONE
        other = self._told_alike.get(key, NONE)
        self._told_alike[key] = row
        return other

    def _moved_on(self, row: int, session: Session) -> int:
        """The latest request of the session of which a run stands here, NONE without one: of a
        window that moved on far no beginning and few chunks are left."""
        here = self._requests.symbols(row)
        for other in reversed(session.last):
            if shared_symbols(self._requests.symbols(other), here) >= _LEAST_MOVED:
                return other
        return NONE

    def _is_related(self, row: int, other: int, in_session: bool) -> bool:
        """Whether two requests are of one application: by what they have in common, else by their
        instructions and tools (of retrieval most of a prompt is another each time). A session may
        hold two, as those of a helper that an agent calls: nothing said stands in both then."""
        near = self._families.application
        is_near = bool(near[row] == near[other])
        if self._goes_on(row, other) and (is_near or in_session):
            return True
        one, two = self._chat(other), self._chat(row)
        if one is None or two is None:
            return is_near or in_session
        if are_two_agents(one.prompt, two.prompt):
            return False
        if in_session and share_a_message(one.prompt, two.prompt):
            return True
        if are_told_otherwise(one.prompt, two.prompt):
            return False
        is_nearest = other == self._families.nearest[row]
        is_surely = is_nearest and self._families.common[row] >= _SURELY_ONE
        if is_surely and (is_near or in_session):
            return True
        if is_one_application(one.prompt, two.prompt, is_near or in_session):
            return True
        return (is_near or in_session) and shares_words(one.prompt, two.prompt)

    def _chat(self, row: int) -> Request | None:
        """None for what is one text."""
        request = self._requests.of(row)
        return None if request is None or request.prompt.is_flat else request


def _goes_on_from(there: Prompt, here: Prompt) -> bool:
    """Whether the later request tells what the earlier one said, and is one of the same agent."""
    return is_one_conversation(there, here) and not are_two_agents(there, here)


def _begin_alike(there: Prompt, here: Prompt, num_messages: int) -> bool:
    """Whether what was said in the first messages here was said there first, whatever the
    instructions are."""
    said = [m.key for m in here.messages[:num_messages] if m.segment != SYSTEM]
    return [m.key for m in there.messages if m.segment != SYSTEM][: len(said)] == said


def _are_surely_one(there: Prompt, here: Prompt) -> bool:
    """Whether something that was said stands in both, and not as in two dialogues that begin with
    the same examples, nor in those of two agents."""
    if are_two_agents(there, here):
        return False
    return share_a_message(there, here) and not are_two_dialogues(there, here)


def _names_sessions(trace: Trace) -> bool:
    """Whether the session ids of a trace tell which requests belong together: not where as good as
    each request has one of its own."""
    codes = trace.session.codes[trace.session.codes != ABSENT]
    if len(codes) < _FEW:
        return True
    counts = np.bincount(codes)
    return bool(np.count_nonzero(counts == 1) < _ARE_ALONE * len(codes))
