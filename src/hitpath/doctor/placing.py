"""A comparison in bytes of hitpath's own rendering, placed in the tokens of an engine's.

Texts and JSON are placed to the token that holds the character (rendered.py); the border of two
messages by the first special token of the second one's head. The difference at which the ids part
is that of the ids themselves: they may part a little before the characters do, where letters join
otherwise. Where they part far from any difference of the requests, the template did it.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hitpath.core import HitpathError
from hitpath.doctor.change import Change, Comparison
from hitpath.doctor.prompt import ASSISTANT, GLUE, Prompt
from hitpath.doctor.rendered import Point, Rendered, Span
from hitpath.doctor.requests import Request
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.token_ends import TokenEnds
from hitpath.text.tokenizer import TextTokenizer
from hitpath.traces.table import Ints, Symbols

Place = Callable[[Request, Symbols, Comparison, int], Comparison | None]
"""(request, its tokens, a comparison in bytes, leading tokens that both have) -> the comparison in
tokens; None where the tokens are not those of the request's text."""
Stretch = tuple[int, int]
BY_TEMPLATE = "the chat template writes otherwise what was sent before, as the history grows"
_SHOWN, _LONGEST_HEAD = 200, 48
_MARKS = re.compile("[\ufdd0\ufdd1]")
"""By which control tokens are told from text (text/mistral.py)."""
_SPACE = re.compile(r"\s")


class Placing:
    """Places comparisons of one trace, in the order of its rows. num_not_placed: of how many
    requests it could not, for their tokens are not those of their text."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._ends = TokenEnds(tokenizer)
        self.num_not_placed = 0

    def __call__(
        self, request: Request, symbols: Symbols, found: Comparison, common: int
    ) -> Comparison | None:
        """See Place."""
        placed = self._placed(request, symbols, found, common)
        self.num_not_placed += placed is None
        return placed

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person must know of the places."""
        num = self.num_not_placed
        if not num:
            return ()
        return (
            f"differences of {num:,} {'request' if num == 1 else 'requests'} are placed in "
            "proportion behind the first: their tokens are not those of their text by this "
            "tokenizer",
        )

    def _placed(
        self, request: Request, symbols: Symbols, found: Comparison, common: int
    ) -> Comparison | None:
        try:
            rendered = Rendered(request, self._tokenizer)
            tokens, ends = self._ends.of(rendered.text)
        except (HitpathError, OverflowError, RecursionError, TypeError, ValueError):
            return None
        frame = (0, 0)
        if rendered.is_one_text and request.is_framed:
            head, tail = self._tokenizer.prompt_frame
            frame = (len(head), len(tail))
        own = symbols[frame[0] : len(symbols) - frame[1]]
        if not np.array_equal(own, tokens):
            return None
        return _Placed(rendered, ends, frame[0]).comparison(found, common)


class _Placed:
    """One request's places."""

    def __init__(self, rendered: Rendered, ends: Ints, head: int) -> None:
        self._rendered = rendered
        self._prompt: Prompt = rendered.prompt
        self._ends = ends
        starts = np.concatenate([np.zeros(1, dtype=np.int64), ends])[:-1]
        self._starts = np.minimum(starts, ends - 1)  # a character may be of several tokens
        self._head = head

    def comparison(self, found: Comparison, common: int) -> Comparison:
        """All of it."""
        self._rendered.look_up(self._points(found))
        self._rendered.look_up(self._edges_of_parts())
        new_at = found.new_at
        if new_at is not None:
            new_at = replace(new_at, start=self._holding(self._char(new_at.start)))
        kept = tuple(_joined([*self._kept(found.kept), (0, common)]))
        return Comparison(tuple(self._changes(found.changes, common)), kept, new_at)

    def _changes(self, changes: Sequence[Change], common: int) -> list[Change]:
        """In the order of the rendered prompt. Among them is the one at which the ids part; where
        none stands near, it is the template's own."""
        placed = [self._change(change) for change in changes]
        first = common - self._head
        parted = int(self._starts[first]) if 0 <= first < len(self._starts) else 0
        near = [
            (abs(char - parted), number)
            for number, char in enumerate(self._char(change.offset) for change in changes)
            if self._is_near(parted, char) or self._is_left_out(changes[number].offset, parted)
        ]
        if near:
            number = min(near)[1]
            one = placed[number]
            start = common if one.offset == one.start else min(one.start, common)
            placed[number] = replace(one, start=start, stop=max(one.stop, start), at=common)
        elif changes and all(self._is_known(change.offset) for change in changes):
            text = _MARKS.sub("", self._rendered.text[parted : parted + _SHOWN])
            placed.append(Change("template_flip", "", GLUE, 0, common, common, "", text,
                                 detail=BY_TEMPLATE))  # fmt: skip
        return sorted(placed, key=lambda change: change.start)

    def _is_near(self, parted: int, char: int) -> bool:
        """Whether ids that part at one character can do so for a difference at another: within a
        word, or within the head of a message."""
        if char < parted:
            return parted - char <= _LONGEST_HEAD
        between = self._rendered.text[parted:char].lstrip()
        return not _SPACE.search(between) or char - parted <= _LONGEST_HEAD // 4

    def _is_known(self, offset: int) -> bool:
        """Whether the place of a byte is its own, and not that of the last text before it."""
        number = self._number(offset)
        if self._prompt.parts[number].form == "glue" or self._rendered.is_one_text:
            return True
        return self._rendered.place(number, self._char_within(number, offset)) is not None

    def _is_left_out(self, offset: int, parted: int) -> bool:
        """Whether a byte is of JSON that a template leaves out, as the id of a call, and the ids
        part within what it writes of it."""
        number = self._number(offset)
        if self._prompt.parts[number].form != "json" or self._rendered.is_one_text:
            return False
        json, span = self._rendered.json_of(number), self._rendered.span(number)
        is_written = json.holds(self._char_within(number, offset))
        return not is_written and span is not None and span.start <= parted <= span.end

    def _points(self, found: Comparison) -> Iterator[Point]:
        """Every character of a part whose place is asked for below."""
        offsets = {offset for c in found.changes for offset in (c.start, c.stop, c.offset)}
        if found.new_at is not None:
            offsets.add(found.new_at.start)
        for offset in offsets:
            number = self._number(offset)
            if self._prompt.parts[number].form != "glue":
                yield number, self._char_within(number, offset)
                continue
            for other in self._beside(number):
                if other is not None:
                    yield from ((other, 0), (other, len(self._prompt.parts[other].text)))
        for start, stop in found.kept:
            for number, begin, end in self._edges(start, stop):
                yield from ((number, begin), (number, end))

    def _edges_of_parts(self) -> Iterator[Point]:
        """Where every text begins and ends: all at once, for each by itself is a rendering."""
        for number, part in enumerate(self._prompt.parts):
            if part.form != "glue" and part.text:
                yield from ((number, 0), (number, len(part.text)))

    def _change(self, change: Change) -> Change:
        start, stop = self._char(change.start), self._char(change.stop)
        first = self._holding(start)
        last = first
        if stop > start:  # behind all tokens of its last character
            whole = self._head + int(np.searchsorted(self._ends, stop, side="right"))
            last = max(self._holding(stop - 1) + 1, whole)
        at = self._holding(self._char(change.offset))
        return replace(change, start=first, stop=max(first, last), at=at)

    def _holding(self, char: int) -> int:
        """The token that holds a character; their number at the end."""
        return self._head + int(np.searchsorted(self._ends, char, side="right"))

    def _kept(self, kept: Sequence[Stretch]) -> Iterator[Stretch]:
        """Whole tokens of what the relative has too. What a template writes between two texts that
        were kept, and that stand side by side there, was kept with them."""
        spans: list[tuple[Span, bool, bool]] = []
        for start, stop in kept:
            if (ahead := self._ahead(start)) is not None:
                spans.append((ahead, False, True))
            for number, begin, end in self._edges(start, stop):
                one, other = self._rendered.place(number, begin), self._rendered.place(number, end)
                if one is not None and other is not None and other >= one:
                    is_whole = end == len(self._prompt.parts[number].text)
                    spans.append((Span(one, other), begin == 0, is_whole))
            if (behind := self._behind(stop)) is not None:
                spans.append((behind, True, False))
        spans.sort(key=lambda one: one[0].start)
        others = self._others(spans)
        start, end, is_whole = 0, 0, False
        for span, from_start, to_end in spans:
            between = bisect_right(others, end - 1)
            is_beside = between >= len(others) or others[between] >= span.start
            if not (is_whole and from_start and is_beside and span.start >= end):
                yield self._whole(start, end)
                start = span.start
            end, is_whole = max(end, span.end), to_end
        yield self._whole(start, end)

    def _ahead(self, start: int) -> Span | None:
        """Where a stretch begins with a message, the beginning of its head."""
        number = self._number(start)
        parts = self._prompt.parts
        if not number or parts[number].form != "glue" or start != self._prompt.starts[number]:
            return None
        if parts[number].message == parts[number - 1].message:
            return None
        begin = self._border(number)
        return Span(begin, begin)

    def _behind(self, stop: int) -> Span | None:
        """Where a stretch ends with a message, what the template writes to its end; and the head of
        a reply that follows, for the request before ended with it."""
        number = self._number(stop)
        parts = self._prompt.parts
        if not stop or parts[number].form != "glue" or stop == self._prompt.starts[-1]:
            return None
        while number and self._are_one_glue(number):
            number -= 1
        if not number or parts[number].message == parts[number - 1].message:
            return None
        begin = self._border(number)
        if not self._is_reply(parts[number].message):
            return Span(begin, begin)
        last = self._prompt.starts[len(parts) - 1]
        head = self._rendered.text[self._char(last) :]
        return Span(begin, begin + common_length(head, self._rendered.text[begin:]))

    def _are_one_glue(self, number: int) -> bool:
        """Whether glue goes on from the part before it, in one message."""
        before, part = self._prompt.parts[number - 1 : number + 1]
        return before.form == part.form and before.message == part.message

    def _is_reply(self, message: int) -> bool:
        """Whether the assistant wrote a message."""
        messages = self._prompt.messages
        return message < len(messages) and messages[message].segment == ASSISTANT

    def _others(self, spans: Sequence[tuple[Span, bool, bool]]) -> list[int]:
        """Where parts begin that nothing of was kept."""
        starts = {span.start for span, _, _ in spans}
        found: list[int] = []
        for number, part in enumerate(self._prompt.parts):
            if part.form != "glue" and part.text:
                at = self._rendered.place(number, 0)
                if at is not None and at not in starts:
                    found.append(at)
        return sorted(found)

    def _whole(self, start: int, stop: int) -> Stretch:
        """The tokens that lie within characters [start, stop)."""
        first = self._head + int(np.searchsorted(self._starts, start, side="left"))
        last = self._head + int(np.searchsorted(self._ends, stop, side="right"))
        return first, max(first, last)

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """(part, first character, last) of each part but glue that bytes [start, stop) touch."""
        starts = self._prompt.starts
        number = self._number(start)
        while number < len(self._prompt.parts) and starts[number] < stop:
            part = self._prompt.parts[number]
            if part.form != "glue" and starts[number + 1] > starts[number]:
                begin = self._char_within(number, max(start, starts[number]))
                is_all = stop >= starts[number + 1]
                end = len(part.text) if is_all else self._char_within(number, stop)
                yield number, begin, end
            number += 1

    def _edges(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """The pieces; and where the stretch begins or ends with glue, the end of the text before it
        or the beginning of the one behind it."""
        parts, starts = self._prompt.parts, self._prompt.starts
        first, last = self._number(start), self._number(max(start, stop - 1))
        if parts[first].form == "glue" and start == starts[first] and first:
            before = self._beside(first)[0]
            if before == first - 1:
                yield before, len(parts[before].text), len(parts[before].text)
        yield from self._pieces(start, stop)
        if parts[last].form == "glue" and stop == starts[last + 1]:
            behind = self._beside(last)[1]
            if behind == last + 1:
                yield behind, 0, 0

    def _number(self, offset: int) -> int:
        """The part that holds a byte; the last at the end."""
        starts = self._prompt.starts
        return min(bisect_right(starts, offset) - 1, len(self._prompt.parts) - 1)

    def _char_within(self, number: int, offset: int) -> int:
        """The character of a part's text that holds a byte of the prompt."""
        part, byte = self._prompt.parts[number], offset - self._prompt.starts[number]
        if part.form != "escaped":
            return len(part.rendered[:byte].decode("utf-8", "ignore"))
        return bisect_right(range(len(part.text) + 1), byte, key=part.offset_of) - 1

    def _char(self, offset: int) -> int:
        """The character of the rendered text where a byte of hitpath's own rendering stands."""
        number = self._number(offset)
        part = self._prompt.parts[number]
        if self._rendered.is_one_text:
            place = self._rendered.place(number, self._char_within(number, offset))
            assert place is not None
            return place
        if part.form != "glue":
            place = self._rendered.place(number, self._char_within(number, offset))
            return self._end_before(number) if place is None else place
        if offset >= self._prompt.starts[-1]:
            return len(self._rendered.text)
        return self._border(number)

    def _border(self, number: int) -> int:
        """Where glue stands: within a message at the next text, at its end behind the last one, at
        the head of the next one at its first special token."""
        before, behind = self._beside(number)
        message = self._prompt.parts[number].message
        begin = self._end_before(number)
        is_inside = behind is not None and self._prompt.parts[behind].message == message
        is_head = before is None or self._prompt.parts[before].message != message
        if is_inside and not is_head:
            assert behind is not None
            span = self._rendered.span(behind)
            return begin if span is None else span.start
        if not is_head:
            return begin
        span = None if behind is None else self._rendered.span(behind)
        end = len(self._rendered.text) if span is None else span.start
        return begin if end < begin or before is None else self._rendered.head(begin, end)

    def _beside(self, number: int) -> tuple[int | None, int | None]:
        """The parts before and behind glue that are none and not empty."""
        parts = self._prompt.parts
        wanted = [n for n, part in enumerate(parts) if part.form != "glue" and part.text]
        at = bisect_right(wanted, number)
        return (wanted[at - 1] if at else None, wanted[at] if at < len(wanted) else None)

    def _end_before(self, number: int) -> int:
        """Where the last text before a part ends that stands in the rendering."""
        before, _ = self._beside(number - 1) if number else (None, None)
        while before is not None:
            span = self._rendered.span(before)
            if span is not None:
                return span.end
            before = self._beside(before - 1)[0] if before else None
        return 0


def _joined(stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    """In order, those that touch as one."""
    last: Stretch | None = None
    for start, stop in sorted(s for s in stretches if s[1] > s[0]):
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], stop))
            continue
        if last is not None:
            yield last
        last = (start, stop)
    if last is not None:
        yield last
