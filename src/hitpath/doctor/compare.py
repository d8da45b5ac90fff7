"""A request against its relative, part by part: every difference, its place and its kind.

A message that changed is paired with itself (align.py); what was dropped, put in between or summed
up shows as such. In one session whatever was sent before should be sent again; between sessions of
an application only the instructions and tools should.
"""

from bisect import bisect_right
from dataclasses import replace

import numpy as np

from hitpath.canonical.tail import HEADER
from hitpath.doctor.align import Pair, aligned
from hitpath.doctor.borders import without_borders
from hitpath.doctor.calls import is_result
from hitpath.doctor.change import Change, Comparison, NewAt
from hitpath.doctor.compare_message import first_difference, first_path, message_changes
from hitpath.doctor.compare_thoughts import first_part
from hitpath.doctor.compare_tools import Place, compare_tools, json_changes
from hitpath.doctor.flat import as_one_text
from hitpath.doctor.flat_compare import cut_of_flat
from hitpath.doctor.heads import are_prefilled, as_head
from hitpath.doctor.history import Gap, goes_on_in, is_note, kind_of_gap, kind_of_note
from hitpath.doctor.prompt import NO_MESSAGE, SYSTEM, TOOLS, Message, Prompt
from hitpath.doctor.same_words import is_another_order
from hitpath.doctor.stand_ins import as_of_a_summary, as_standing_in
from hitpath.doctor.symbols import common_of
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.windows import window_moved_on
from hitpath.doctor.words_of_kinds import MARKER, TAG, THINK

Stretch = tuple[int, int]
_LEAST_KNOWN = 40
"""Characters by which the end of a text is known."""
_MOST_CHANGES = 1_000
"""Of one request: it has little in common with its relative then."""
_NO_EDITS = ("clock", "request_id", "counter", "attribution", "white_space", "hidden_characters",
             "unicode_form", "number_format", "moved_block", "array_order", "key_order", "?id",
             "?number", "tool_order", "tool_set")  # fmt: skip
_LEAST_MOVED = 12
_DROPPED = ("truncated_history", "compacted_history")
_ONE_GAVE_WAY = "1 messages gave way to 1"
_NO_HEAD = "the head of the reply is not in the history"
_STAMPS = ("clock", "request_id", "counter", "attribution", "?id", "?number")


def compare(there: Prompt, here: Prompt, same_session: bool) -> Comparison:
    """Every difference of `here` against the earlier `there`."""
    is_prefilled, words = are_prefilled(there, here), ""
    if is_prefilled:
        is_last = there.messages[-1].key == here.messages[-1].key
        words = there.text_of(there.messages[-1])
        there, here = as_head(there), as_head(here) if is_last else here
    if there.is_flat != here.is_flat:  # the first turn of a dialogue may not look like one
        there, here = as_one_text(there), as_one_text(here)
    return _Comparing(there, here, same_session, is_prefilled, words).run()


class _Comparing:
    """One comparison; gathers changes and what is kept. words: of the reply to come, where the
    relative has some at its end."""

    def __init__(
        self, there: Prompt, here: Prompt, same_session: bool, is_prefilled: bool, words: str
    ) -> None:
        self._there = there
        self._here = here
        self._same_session = same_session
        self._is_prefilled = is_prefilled
        self._words = words
        self._starts = here.starts
        self._changes: list[Change] = []
        self._kept: list[Stretch] = []
        self._new_at: NewAt | None = None
        self._last: Message | None = None

    def run(self) -> Comparison:
        tools, kept = compare_tools(self._there, self._here)
        self._changes += tools
        self._kept += kept
        if self._there.is_flat and self._here.is_flat:
            self._flat()
        elif self._same_session and (moved := window_moved_on(self._there, self._here)):
            self._changes += moved.changes
            self._kept += moved.kept
            self._new_at = moved.new_at
        else:
            self._messages()
        told = without_borders(self._changes, self._there, self._here)
        self._kept += [(c.start, c.stop) for c in self._changes if c not in told]
        self._changes = told
        self._moved_elsewhere()
        self._windows()
        changes = sorted(self._changes, key=lambda change: (change.start, change.stop))
        if changes:
            changes[0] = self._from_the_first_byte(changes[0])
        return Comparison(tuple(changes[:_MOST_CHANGES]), tuple(_merged(self._kept)), self._new_at)

    def _from_the_first_byte(self, first: Change) -> Change:
        """The first change with the first byte that differs, where that stands before the change,
        in its message: another role, what a message without text begins with."""
        sides = (self._there.rendered, self._here.rendered)
        common = common_of(*(np.frombuffer(side, dtype=np.uint8) for side in sides))
        if common >= first.offset:
            return self._behind_what_both_have(first, common)
        starts = self._starts
        part = min(bisect_right(starts, first.start) - 1, len(self._here.parts) - 1)
        message = self._here.parts[part].message
        if message == NO_MESSAGE or starts[self._here.messages[message].begin] > common:
            return first
        if not self._here.is_one_text:
            return replace(first, at=common)
        char = len(self._here.rendered[:common].decode("utf-8", "ignore"))
        stop = common if first.start == first.stop else first.stop
        return replace(first, at=common, char_offset=char, start=common, stop=stop)

    def _behind_what_both_have(self, first: Change, common: int) -> Change:
        """The first change of one text, where what is gone and what stands there now begin with the
        same characters."""
        if common == first.offset or not self._here.is_one_text or first.start != first.stop:
            return first
        char = len(self._here.rendered[:common].decode("utf-8", "ignore"))
        return replace(first, char_offset=char, at=common)

    def _messages(self) -> None:
        old, new = self._there.messages, self._here.messages
        same = 0
        while same < min(len(old), len(new)) and _equal(old[same], new[same]):
            self._keep(new[same])
            same += 1
        if same == len(new):
            return
        if same == len(old):
            self._head(same)
            self._new(same)
            self._keep_beginning(same, same)
            return
        last_a = last_b = same
        pairs, retold = aligned(self._there, self._here, same, self._same_session)
        for pair in [*pairs, Pair(len(old), len(new))]:
            if pair.there > last_a or pair.here > last_b:
                is_tail = pair.there == len(old) and pair.here == len(new)
                is_retold = Pair(last_a, last_b) in retold
                gap = Gap(last_a, pair.there, last_b, pair.here, is_tail, is_retold)
                is_told = Pair(last_a - 1, last_b - 1) in retold and not is_retold
                if not is_told or pair.here > last_b:  # what the instructions say of it is told
                    self._gap(gap)
            if pair.there < len(old):
                self._pair(old[pair.there], new[pair.here], pair in retold)
            last_a, last_b = pair.there + 1, pair.here + 1
        self._tail(pairs[-1] if pairs else Pair(same - 1, same - 1))
        last = pairs[-1] if pairs and self._same_session else None
        if last and last.there == len(old) - 1 and last.here < len(new) - 1:
            self._head(last.here + 1)

    def _head(self, number: int) -> None:
        """The head of the earlier prompt's reply, with which the reply should begin now that it is
        history: an empty block of reasoning, a channel."""
        if not self._here.is_one_text:
            self._words_of_head(number)
            return
        end = self._there.messages[-1].end if self._there.messages else 0
        glue = "".join(part.text for part in self._there.parts[end:])
        start = self._starts[self._here.messages[number].begin]
        rest = self._here.rendered[start:].decode("utf-8", "replace")
        common = common_length(glue, rest)
        if not glue or common == len(glue):
            return
        rest_of_head = glue[common:]
        is_marked = any(mark.search(rest_of_head) for mark in (MARKER, TAG)) or THINK.search(glue)
        if not is_marked and not self._is_prefilled:
            return
        message = self._here.messages[number]
        at = start + len(rest[:common].encode())
        place = self._here.parts[message.begin]
        self._changes.append(
            Change("template_flip", first_path(self._here, message), message.segment,
                   place.base + common, at, at, glue[common:], "", "",
                   _NO_HEAD)
        )  # fmt: skip

    def _words_of_head(self, number: int) -> None:
        """The same of a chat: the words that the reply was to begin with."""
        message = self._here.messages[number]
        part = first_part(self._here, message)
        place = self._here.parts[part]
        common = common_length(self._words, place.text)
        if common < len(self._words):
            at = self._starts[part] + place.offset_of(common)
            self._changes.append(
                Change("template_flip", place.path or message.path, message.segment,
                       place.base + common, at, at, self._words[common:], "", "", _NO_HEAD)
            )  # fmt: skip

    def _flat(self) -> None:
        """Two texts without structure: what follows the last thing that both have is new."""
        old, part = self._there.parts[0], self._here.parts[0]
        cut = cut_of_flat(old.text, part.text, self._same_session, is_whole=True)
        changes = [
            Change(c.kind, part.path, part.segment, c.first, part.offset_of(c.start),
                   part.offset_of(c.stop), c.there[:200], c.here[:200], c.label, c.detail,
                   c.heading, part.offset_of(c.first), behind=c.behind)
            for c in cut.changes
        ]  # fmt: skip
        self._changes += changes
        at = 0
        for change in changes:
            self._kept.append((at, max(at, change.start)))
            at = max(at, change.stop)
        end = part.offset_of(cut.new_at)
        self._kept.append((at, max(at, end)))
        if cut.new_at < len(part.text):
            self._new_at = NewAt(part.path, part.segment, cut.new_at, end)

    def _keep(self, message: Message) -> None:
        self._kept.append((self._starts[message.begin], self._starts[message.end]))

    def _tail(self, last: Pair) -> None:
        """What stands behind the last message that both have, where it is no defect."""
        begin = self._starts[self._begin_of(self._here, last.here + 1)]
        is_new = self._new_at is None or self._new_at.start >= begin
        if is_new and all(change.start < begin for change in self._changes):
            self._keep_beginning(last.there + 1, last.here + 1)

    def _keep_beginning(self, old: int, new: int) -> None:
        """What new text begins with and the relative has there too: the head of a message, words
        of a template, the head of the reply at its end."""
        there = self._there.starts[self._begin_of(self._there, old)]
        here = self._starts[self._begin_of(self._here, new)]
        rests = (
            np.frombuffer(self._there.rendered[there:], dtype=np.uint8),
            np.frombuffer(self._here.rendered[here:], dtype=np.uint8),
        )
        self._kept.append((here, here + common_of(*rests)))

    @staticmethod
    def _begin_of(prompt: Prompt, number: int) -> int:
        """The first part of a message, or what stands behind the last one."""
        if number < len(prompt.messages):
            return prompt.messages[number].begin
        return prompt.messages[-1].end if prompt.messages else 0

    def _new(self, number: int) -> None:
        """From this message on all is new."""
        message = self._here.messages[number]
        if self._new_at is None:
            part = first_part(self._here, message)
            place = self._here.parts[part]
            self._new_at = NewAt(
                place.path or message.path, message.segment, place.base, self._starts[part]
            )

    def _gap(self, gap: Gap) -> None:
        """Messages that are on one side only, or on both and not the same."""
        kind = kind_of_gap(gap, self._there, self._here, self._same_session)
        if kind == "new_content":
            if gap.here_stop > gap.here_start:
                self._new_with_offset(gap)
            return
        new = self._here.messages[min(gap.here_start, len(self._here.messages) - 1)]
        olds = self._there.messages[gap.there_start : gap.there_stop]
        news = self._here.messages[gap.here_start : gap.here_stop]
        part, first = first_part(self._here, new), 0
        is_put_in = bool(olds) and gap.here_start < len(self._here.messages)
        if is_put_in:
            part, first = first_difference(self._there, olds[0], self._here, new)
        path = self._here.parts[part].path or new.path
        start = self._starts[first_part(self._here, new)]
        stop = self._starts[news[-1].end] if news else start
        at = -1
        if kind == "moved_block" and not olds:  # what stood there stands at the end again
            stop, path = start, new.path
        if is_put_in:  # roles may differ before texts do
            begin, at = self._starts[new.begin], self._first_byte(olds[0], new)
            if at > start:  # what both begin with is no part of it
                self._kept.append((begin, at))
                start, stop = at, max(at, stop)
        was, now = (
            "\n".join(prompt.text_of(m) for m in messages)[:200]
            for prompt, messages in ((self._there, olds), (self._here, news))
        )
        detail = f"{len(olds):,} messages gave way to {len(news):,}"
        first += self._here.parts[part].base
        if at >= 0 and self._here.is_one_text:  # within the head of the message, perhaps
            first = len(self._here.rendered[:at].decode("utf-8", "ignore"))
        self._changes.append(
            Change(kind, path, new.segment, first, start, stop, was, now, "", detail, at=at)
        )

    def _first_byte(self, old: Message, new: Message) -> int:
        """The first byte of a message that the other one has not."""
        shown = [
            prompt.rendered[prompt.starts[message.begin] : prompt.starts[message.end]].decode()
            for prompt, message in ((self._there, old), (self._here, new))
        ]
        same = shown[0][: common_length(*shown)]
        return self._starts[new.begin] + len(same.encode())

    def _new_with_offset(self, gap: Gap) -> None:
        """Another question in the place of one."""
        self._new(gap.here_start)
        if gap.there_stop == gap.there_start or self._new_at is None:
            return
        old, new = self._there.messages[gap.there_start], self._here.messages[gap.here_start]
        number, first = first_difference(self._there, old, self._here, new)
        part = self._here.parts[number]
        path, offset = part.path or self._new_at.json_path, part.base + first
        within = part.path.removeprefix(new.path)
        match = next(
            (
                other
                for other in self._there.parts[old.begin : old.end]
                if other.path.removeprefix(old.path) == within
            ),
            None,
        )
        if match is not None and "json" == part.form == match.form:
            where = Place(part.path, match.path, part.segment, new.role)
            for change in json_changes(match.value, part.value, where, 0):
                path, offset = change.json_path, change.char_offset
                break
        self._new_at = replace(self._new_at, json_path=path, char_offset=offset)

    def _pair(self, old: Message, new: Message, is_retold: bool = False) -> None:
        """One message as it was and as it is. is_retold: instructions with what stands for dropped
        messages at their end."""
        if _equal(old, new):
            self._keep(new)
            return
        are_last = old is self._there.messages[-1] and new is self._here.messages[-1]
        if are_last or not (self._same_session or new.segment in (SYSTEM, TOOLS)):
            self._template(old, new)
            return
        found = list(message_changes(self._there, old, self._here, new))
        if new.segment == SYSTEM:
            sides = (self._here, new), (self._there, old)
            found = as_of_a_summary(found, sides)
            found = as_standing_in(found) if is_retold else found
        told = self._here.text_of(new)
        if is_note(told) and is_note(self._there.text_of(old)):  # it counts what was left out
            found = [replace(change, kind=kind_of_note(told)) for change in found]
        if old is self._there.messages[-1]:
            self._last = new
            found = [c for c in found if not self._is_spent(c, new)]
            if self._stood_around_it(old, new):
                found = [replace(c, kind="edited_message") if c.kind == "truncated_history" else c
                         for c in found]  # fmt: skip
            if self._here.is_one_text and found and self._goes_on(old, found[-1]):
                grown = found.pop()
                if self._new_at is None:
                    self._new_at = NewAt(
                        grown.json_path, grown.segment, grown.char_offset, grown.start
                    )
        self._changes += found
        at = self._starts[new.begin]
        for change in sorted(found, key=lambda change: change.start):
            if change.start > at:
                self._kept.append((at, change.start))
            at = max(at, change.stop)
        if self._starts[new.end] > at:
            self._kept.append((at, self._starts[new.end]))

    def _template(self, old: Message, new: Message) -> None:
        """The last messages of both, or messages of two sessions, of one long template: what is
        stamped into it is a defect, the question in it is new."""
        olds = [p for p in self._there.parts[old.begin : old.end] if p.form != "glue"]
        for number in range(new.begin, new.end):
            part, start = self._here.parts[number], self._starts[number]
            match = next((p for p in olds if p.path == part.path and p.form == part.form), None)
            if part.form not in ("string", "escaped") or match is None:
                continue
            cut = cut_of_flat(match.text, part.text, self._same_session)
            is_asked = not self._same_session and is_another_order(match.text, part.text)
            at = start
            for c in cut.changes:
                is_figure = c.kind == "?number" and not (  # of what was asked
                    self._same_session or cut.is_completion
                )
                is_stamped = c.kind in _NO_EDITS and not (is_figure or is_asked)
                begin, end = start + part.offset_of(c.start), start + part.offset_of(c.stop)
                self._kept.append((at, max(at, begin)))
                at = max(at, end)
                if is_stamped or (cut.is_completion and not is_figure):
                    self._changes.append(
                        Change(c.kind, part.path, part.segment, part.base + c.first, begin, end,
                               c.there[:200], c.here[:200], c.label, c.detail, c.heading,
                               start + part.offset_of(c.first), behind=c.behind)
                    )  # fmt: skip
                elif self._new_at is None:
                    self._new_at = NewAt(part.path, part.segment, part.base + c.first, begin)
            stop = start + part.offset_of(cut.new_at)
            self._kept.append((at, max(at, stop)))
            if cut.new_at < len(part.text):
                if self._new_at is None:
                    place = part.base + cut.new_at
                    self._new_at = NewAt(part.path, part.segment, place, stop)
                return

    def _goes_on(self, old: Message, last: Change) -> bool:
        """Whether a text goes on behind the end of the relative's last message: of one text not all
        turns are known as such."""
        begin = max(0, last.start - _LEAST_KNOWN)
        before = self._here.rendered[begin : last.start].rstrip()
        end = self._there.rendered[: self._there.starts[old.end]].rstrip()
        return not last.there.strip() and bool(before) and end.endswith(before)

    def _stood_around_it(self, old: Message, new: Message) -> bool:
        """Whether more was said to the model beside a question, for one call, than is kept of it:
        documents behind it."""
        if new.role != "user" or is_result(self._here, new):
            return False
        return goes_on_in(self._here.words_of(new), self._there.words_of(old))

    def _is_spent(self, change: Change, message: Message) -> bool:
        """Whether a stamp at the end of what was the last message is gone now that it is history:
        so it should be, for nothing stood behind it."""
        if change.here.strip() or not (change.kind in _STAMPS or HEADER in change.there):
            return False
        for number in range(message.begin, message.end):
            if self._here.parts[number].path == change.json_path:
                end = self._starts[number + 1]
                return not self._here.rendered[change.stop : end].strip()
        return False

    def _moved_elsewhere(self) -> None:
        """What was taken out of one message and stands in another one now is a moved block: not
        what stood around a question for one call, with more that is gone for good."""
        gone = [n for n, c in enumerate(self._changes) if _is_gone(c)]
        moved = [n for n in gone if self._stands_after(self._changes[n])]
        is_left = any(self._was_last(self._changes[n].stop) for n in gone if n not in moved)
        for number in moved:
            change = self._changes[number]
            if not (is_left and self._was_last(change.stop)):
                self._changes[number] = replace(change, kind="moved_block")

    def _windows(self) -> None:
        """A window that cut into a message dropped those before it too: one change. Of a chat where
        none was dropped, other words stood before that message for one call."""
        shifts = [c.start for c in self._changes if c.kind == "position_shift"]
        if not shifts:
            return
        dropped = [c for c in self._changes if c.kind in _DROPPED and c.start <= min(shifts)]
        if not (self._here.is_one_text or dropped):
            self._changes = [
                replace(c, kind="edited_message") if _is_of_one_message(c) else c
                for c in self._changes
            ]
        self._changes = [c for c in self._changes if c not in dropped]

    def _was_last(self, at: int) -> bool:
        """Whether a byte is of what was the last message there."""
        last = self._last
        return last is not None and self._starts[last.begin] <= at <= self._starts[last.end]

    def _stands_after(self, change: Change) -> bool:
        """Whether what is gone, or what was kept of it, stands further on: not where it stood there
        twice, as pictures of one page do."""
        known = change.there.strip().encode()
        if self._here.rendered.find(known, change.stop) < 0:
            return False
        return self._here.rendered.count(known) >= self._there.rendered.count(known)


def _is_gone(change: Change) -> bool:
    """Whether something was taken out of a message, and nothing put in its place."""
    is_cut = change.kind == "truncated_history" and not change.detail
    is_taken = is_cut or change.kind in ("edited_message", "?words")
    return is_taken and len(change.there.strip()) >= _LEAST_MOVED and not change.here.strip()


def _is_of_one_message(change: Change) -> bool:
    return change.kind == "position_shift" and change.detail in ("", _ONE_GAVE_WAY)


def _equal(old: Message, new: Message) -> bool:
    return old.key == new.key


def _merged(stretches: list[Stretch]) -> list[Stretch]:
    merged: list[Stretch] = []
    for start, stop in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        elif stop > start:
            merged.append((start, stop))
    return merged
