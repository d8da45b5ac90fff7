"""Which earlier request is compared: that of the chunks (relatives.py), unless what the requests
say shows another.

In a trace without sessions a request goes on from the one whose last message stands in its history.
A window that moved on within tokens leaves few chunks. Two requests that share rules of their house
only are of two applications, even of one session.
"""

from collections import deque
from typing import NamedTuple

from hitpath.doctor._kernels import common_symbols
from hitpath.doctor.applications import is_one_application, shares_words
from hitpath.doctor.relatives import NONE, Families
from hitpath.doctor.requests import Request
from hitpath.doctor.rows_read import Requests
from hitpath.doctor.symbols import shared_symbols
from hitpath.doctor.threads import Threads, is_one_conversation, share_a_message
from hitpath.traces.table import Trace

_LEAST_MOVED = 24
_MOST_BACK = 4
_SURELY_ONE = 1024
"""Leading symbols in common that two applications do not have by chance."""


class Chosen(NamedTuple):
    """row: of the relative, NONE without one; in_session: whether both are of one session, as the
    trace says or as the messages show; is_told: they show that both are of one dialogue."""

    row: int
    in_session: bool
    is_told: bool = False


class Choosing:
    """Asked for the rows of a trace in their order."""

    def __init__(self, trace: Trace, requests: Requests, families: Families) -> None:
        self._trace = trace
        self._requests = requests
        self._families = families
        self._threads = Threads()
        self._last: dict[str, deque[int]] = {}
        self._thread: dict[int, int] = {}

    def of(self, row: int) -> Chosen:
        """The relative of a row."""
        session = self._trace.session.of(row)
        chosen = self._by_words(row) if session is None else None
        if chosen is None:
            chosen = self._by_chunks(row, session)
        if session is not None:
            self._last.setdefault(session, deque(maxlen=_MOST_BACK)).append(row)
        return chosen

    def _by_words(self, row: int) -> Chosen | None:
        """The request of which this one tells the last words."""
        here = self._requests.of(row)
        if here is None:
            return None
        for earlier in self._threads.continued_by(row, here.prompt):
            there = self._requests.of(earlier)
            if there is not None and is_one_conversation(there.prompt, here.prompt):
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

    def _by_chunks(self, row: int, session: str | None) -> Chosen:
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
        return Chosen(NONE, False)

    def _moved_on(self, row: int, session: str) -> int:
        """The latest request of the session of which a run stands here, NONE without one: of a
        window that moved on far no beginning and few chunks are left."""
        here = self._requests.symbols(row)
        for other in reversed(self._last.get(session, ())):
            if shared_symbols(self._requests.symbols(other), here) >= _LEAST_MOVED:
                return other
        return NONE

    def _is_related(self, row: int, other: int, in_session: bool) -> bool:
        """Whether two requests are of one application: by what they have in common, else by their
        instructions and tools (of retrieval most of a prompt is another each time). A session may
        hold two, as those of a helper that an agent calls: nothing said stands in both then."""
        near = self._families.application
        is_near = bool(near[row] == near[other])
        is_nearest = other == self._families.nearest[row]
        is_surely = is_nearest and self._families.common[row] >= _SURELY_ONE
        if is_surely and (is_near or in_session):
            return True
        one, two = self._chat(other), self._chat(row)
        if one is None or two is None:
            return is_near or in_session
        if in_session and share_a_message(one.prompt, two.prompt):
            return True
        if is_one_application(one.prompt, two.prompt):
            return True
        return (is_near or in_session) and shares_words(one.prompt, two.prompt)

    def _chat(self, row: int) -> Request | None:
        """None for what is one text."""
        request = self._requests.of(row)
        return None if request is None or request.prompt.is_flat else request
