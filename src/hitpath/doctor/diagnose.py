"""Every request against its relative: the doctor's pass over a trace.

A prompt that goes on where its relative ends needs no look at its structure: that is most of a
healthy trace. Else both rows are read again, by their place, and compared part by part. At most
64 requests with structure are in memory (rows_read.py).
"""

from dataclasses import dataclass, replace

import numpy as np

from hitpath.core import Progress
from hitpath.doctor._kernels import common_symbols
from hitpath.doctor._shared_runs import shared_runs
from hitpath.doctor.change import Change, Comparison, NewAt
from hitpath.doctor.choosing import Choosing, Chosen
from hitpath.doctor.compare import compare
from hitpath.doctor.context_changes import with_context
from hitpath.doctor.dialogues import are_two_dialogues
from hitpath.doctor.id_texts import compare_texts
from hitpath.doctor.kept import KeptRows
from hitpath.doctor.named_stretches import with_names
from hitpath.doctor.placing import Place
from hitpath.doctor.raw_places import in_the_file
from hitpath.doctor.relatives import NONE, Families
from hitpath.doctor.replies import (
    ONE_PLACE,
    Decode,
    Ids,
    id_change,
    in_text,
    reply_changes,
    same_text_change,
)
from hitpath.doctor.requests import Request
from hitpath.doctor.rows_read import Requests as Requests
from hitpath.doctor.symbols import common_of, compare_symbols, in_symbols
from hitpath.doctor.threads import is_one_conversation
from hitpath.traces.table import Trace

_HEAD = b"<|assistant|>\n"


@dataclass(frozen=True, slots=True)
class Finding:
    """A request against its relative (NONE: it has none). same_session: as the trace says or as the
    messages show. common: symbols that both share from the beginning. application: its number, that
    of its relative."""

    row: int
    relative: int
    same_session: bool
    common: int
    comparison: Comparison
    application: int = 0

    @property
    def first(self) -> Change | None:
        """The first difference that is a defect."""
        return self.comparison.changes[0] if self.comparison.changes else None


def diagnose(
    trace: Trace,
    kept: KeptRows,
    families: Families,
    progress: Progress | None = None,
    decode: Decode | None = None,
    place: Place | None = None,
) -> list[Finding]:
    """One finding a request, in the order of the trace. decode: of the tokenizer that made the
    trace's ids, if one did; place: puts comparisons in tokens."""
    requests = Requests(trace, kept)
    choosing = Choosing(trace, requests, families)
    diagnosing = _Diagnosing(trace, requests, families, decode, place)
    num = 0
    found: list[Finding] = []
    for row in range(len(trace)):
        if progress is not None and row % 256 == 0:
            progress("comparing requests", row, len(trace))
        chosen = choosing.of(row)
        finding = diagnosing.finding(row, chosen)
        application = num if chosen.row == NONE else found[chosen.row].application
        num += chosen.row == NONE
        found.append(replace(finding, application=application))
    return found


@dataclass(frozen=True, slots=True)
class _Diagnosing:
    """What all comparisons of a trace need."""

    trace: Trace
    requests: Requests
    families: Families
    decode: Decode | None
    place: Place | None

    def finding(self, row: int, chosen: Chosen) -> Finding:
        """A request against its relative."""
        trace, other = self.trace, chosen.row
        if other == NONE:
            start = NewAt("", "", 0, 0)
            return Finding(row, NONE, False, 0, Comparison((), (), start))
        runs, common = trace.prompts, int(self.families.common[row])
        if other != self.families.nearest[row]:
            common = int(common_symbols(runs.flat, runs.offsets, row, other))
        if self._goes_on(other, common):
            comparison = self._going_on(row, other, common)
            same = True
        else:
            same, comparison, is_placed = self._compared(row, chosen, common)
            new_at = comparison.new_at
            is_new = is_placed and new_at is not None and new_at.start <= common
            if trace.identity == "tokens" and same and (comparison.changes or not is_new):
                comparison = self._ids_looked_at(row, other, comparison)
        comparison = self._named(row, other, comparison)
        return Finding(row, other, same, common, with_context(trace, row, other, same, comparison))

    def _named(self, row: int, other: int, comparison: Comparison) -> Comparison:
        """With the names of stretches, where the trace has them."""
        stretches = self.trace.names.stretches
        if stretches is None or not len(self.requests.symbols(row)):
            return comparison
        there, here = (
            stretches.of(self.requests.symbols(r).astype(np.uint32)) for r in (other, row)
        )
        return with_names(comparison, there, here)

    def _goes_on(self, other: int, common: int) -> bool:
        """Whether a prompt begins with all of its relative's, but for the head of the reply."""
        runs = self.trace.prompts
        length = int(runs.offsets[other + 1] - runs.offsets[other])
        if common >= length:
            return True
        if not self.trace.has_text or common < length - len(_HEAD):
            return False
        return self.requests.symbols(other)[-len(_HEAD) :].tobytes() == _HEAD

    def _going_on(self, row: int, other: int, common: int) -> Comparison:
        """A prompt that begins with all of its relative's: is the reply there as it was given?"""
        trace, requests = self.trace, self.requests
        plain = Comparison((), ((0, common),), NewAt("", "", 0, common))
        if not trace.has_output[other]:
            return plain
        expected = requests.with_output(other)
        own = requests.symbols(row)
        same = common_of(expected, own)
        if same >= min(len(expected), len(own)):
            return plain
        one, two = requests.of(other), requests.of(row)
        changes: tuple[Change, ...] = ()
        if one is not None and two is not None:
            changes = tuple(reply_changes(one, two.prompt))
            if changes and not trace.has_text:
                changes = tuple(replace(change, start=same, stop=same) for change in changes)
        if not changes and trace.identity == "tokens":
            return self._ids_looked_at(row, other, plain)
        return Comparison(changes, plain.kept, plain.new_at)

    def _continued(self, two: Request, row: int, size: int, common: int) -> Comparison:
        """A request that goes on from its relative, of whose rendering all bytes are there: what a
        template wrote otherwise may stand at another place."""
        plain = Comparison((), ((0, common),), NewAt("", "", 0, common))
        if self.place is None:
            return plain
        begins = Comparison((), ((0, size - len(_HEAD)),), None)
        placed = self.place(two, self.requests.symbols(row), begins, common)
        return plain if placed is None else replace(plain, kept=placed.kept)

    def _ids_looked_at(self, row: int, other: int, comparison: Comparison) -> Comparison:
        """With ids that differ where the request does not. Where only ids are known, what their
        runs show at the very place is the same difference; where the texts part too, it is new
        text."""
        requests, decode = self.requests, self.decode
        expected = requests.with_output(other)
        own = requests.symbols(row)
        ids = Ids(expected, own, len(requests.symbols(other)), common_of(expected, own))
        has_structure = requests.of(row) is not None and requests.of(other) is not None
        change = None
        if decode is not None and (comparison.changes or not has_structure):
            if ids.common < len(expected):
                change = same_text_change(ids, decode)
        elif not comparison.changes:
            change = id_change(ids, decode)
        if change is None:
            return comparison
        if change.kind == "template_flip" and has_structure:  # of no string of the request
            change = replace(change, json_path="", char_offset=0)
        rest = comparison.changes
        if not has_structure:
            rest = tuple(c for c in rest if c.start > ids.common + ONE_PLACE)
        kept = comparison.kept
        if change.kind in ("retokenised", "seam_merge"):  # the rest of the reply was there too
            runs = shared_runs(expected, own, ids.common)
            kept = (*kept, *((b, b + n) for _, b, n in runs))
            request = requests.of(row)
            if request is not None and decode is not None:
                change = in_text(change, own, request.prompt, decode)
        return Comparison((change, *rest), kept, comparison.new_at)

    def _compared(self, row: int, chosen: Chosen, common: int) -> tuple[bool, Comparison, bool]:
        """(whether both are of one session, the comparison in the trace's own symbols, whether its
        places are exact)."""
        trace, requests = self.trace, self.requests
        other, in_session, is_told = chosen
        one, two = requests.of(other), requests.of(row)
        if one is None or two is None:
            symbols = requests.symbols(other), requests.symbols(row)
            found = compare_symbols(*symbols, in_session, self.decode)
            told = None
            if self.decode is not None:
                told = compare_texts(*symbols, in_session, found, self.decode)
            return in_session, told or found, False
        if not trace.has_text and two.prompt.rendered.startswith(one.prompt.rendered):
            return True, self._continued(two, row, len(one.prompt.rendered), common), False
        unnamed = trace.session.of(row) is None
        same = in_session or (unnamed and is_one_conversation(one.prompt, two.prompt))
        same = is_told or (same and not are_two_dialogues(one.prompt, two.prompt))
        found = compare(one.prompt, two.prompt, same)
        found = replace(found, changes=in_the_file(one, two, found.changes))
        if not trace.has_text:
            own = requests.symbols(row)
            placed = None if self.place is None else self.place(two, own, found, common)
            found = placed or in_symbols(found, two.prompt, common, len(own))
            return same, found, placed is not None
        return same, found, True
