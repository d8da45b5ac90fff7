"""Prompts of one text that hold what was retrieved for their question: other documents are new
content, as the question is.

Without messages nothing but the trace tells them from instructions: texts as long as documents
stand there anew in many requests of the application, under no heading of examples, and not written
as examples are, whose lines begin as the question's and the answer's do.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hitpath.doctor.change import Change, NewAt
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.relatives import NONE
from hitpath.doctor.words_of_kinds import SAMPLE, USER

_DRAWN = ("random_sample",)
_TEXTS = ("random_sample", "edited_message", "moved_block", "array_order", "truncated_history",
          "compacted_history", "per_user_field")  # fmt: skip
_LEAST_CHARS, _LEAST_WORDS, _LEAST_RUN = 100, 5, 12
"""Of a document; of anything that somebody asked, in words, or characters where no space parts
them."""
_OFTEN, _LEAST, _FEW = 0.3, 3, 10
_ALL = -1
_HEADS = re.compile(r"(?m)^[ \t]{0,8}(?:#{1,3} )?[^\W\d_][^\W\d_ ]{0,19}(?: \d{1,3})?[:：]")
_MESSAGE = "message 0"


def as_new_documents(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, each up to the first of such texts where its application holds them."""
    pairs = _Counts()
    drawn = _Counts()
    labels: dict[int, set[str]] = defaultdict(set)
    for finding in findings:
        changes = finding.comparison.changes
        is_one_text = any(map(_is_of_one_text, changes))
        if finding.relative == NONE or not is_one_text:
            continue
        pairs.add(finding.application)
        if any(map(_is_document, changes)):
            drawn.add(finding.application)
        labels[finding.application].update(
            change.label for change in changes if _is_said(change) and change.label.endswith(":")
        )
    found = list(findings)
    for number, finding in enumerate(findings):
        own = finding.application
        few = pairs.of[own] < _FEW  # their documents made many applications of one
        if any(_is_often(drawn, pairs, one) for one in ((own, _ALL) if few else (own,))):
            found[number] = _cut(finding, labels[own])
    return found


@dataclass(slots=True)
class _Counts:
    """By application, and of all."""

    of: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, application: int) -> None:
        for one in (application, _ALL):
            self.of[one] += 1


def _is_often(drawn: _Counts, pairs: _Counts, application: int) -> bool:
    return drawn.of[application] >= max(_LEAST, _OFTEN * pairs.of[application])


def _cut(finding: Finding, labels: set[str]) -> Finding:
    """Up to the first text, or the first change within what was asked."""
    told = finding.comparison
    begins = tuple(labels)
    first = next(
        (
            change
            for change in told.changes
            if _is_said(change) or (_is_of_one_text(change) and change.label.startswith(begins))
        ),
        None,
    )
    if first is None:
        return finding
    at = first.offset
    return replace(
        finding,
        comparison=replace(
            told,
            changes=tuple(change for change in told.changes if change.offset < at),
            kept=tuple((start, min(stop, at)) for start, stop in told.kept if start < at),
            new_at=NewAt(first.json_path, first.segment, first.char_offset, at),
        ),
    )


def _is_of_one_text(change: Change) -> bool:
    return change.segment == _MESSAGE and "[" not in change.json_path


def _is_document(change: Change) -> bool:
    is_long = max(len(change.there), len(change.here)) >= _LEAST_CHARS
    return change.kind in _DRAWN and is_long and _is_said(change)


def _is_said(change: Change) -> bool:
    """Whether it is prose of a prompt that is one text, and no example."""
    if not _is_of_one_text(change) or change.kind not in _TEXTS:
        return False
    texts = [text for text in (change.there, change.here) if text.strip()]
    if any(len(_HEADS.findall(text)) > 1 for text in texts):
        return False
    heads = [change.label] if change.label.endswith((":", "：")) else []
    heads += _HEADS.findall(change.heading)
    if any(SAMPLE.search(head) or USER.search(head) for head in heads):
        return False
    return any(
        len(text.split()) >= _LEAST_WORDS or (not text.isascii() and len(text) >= _LEAST_RUN)
        for text in texts
    )
