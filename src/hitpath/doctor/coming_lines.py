"""Lines of the instructions that come and go: some requests have them, others do not.

Where a value in such a line gave way to a word for it, that word would come and go as the line
did. So what was seen to do so moves to the end as a whole.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from hitpath.doctor.change import Change
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.prompt import SYSTEM
from hitpath.doctor.resolve import general_path

Heads = frozenset[tuple[str, str]]
"""(kind, what the line begins with)."""

_HEAD = re.compile(r"(?:[^\s\d:=：]{1,40}(?=[\s:=：]|$)[ \t]{0,4}){0,8}[:=：]?")
_SHORTEST = 3
_MOST = 64


def head_of(line: str) -> str:
    """What a line begins with, up to its first word with a figure or the mark behind its name;
    empty where that is too little to know it by."""
    found = _HEAD.match(line)
    head = "" if found is None else found[0].strip()
    return head if len(head) >= _SHORTEST else ""


def coming_lines(
    findings: Sequence[Finding], requests: Requests, kinds: Sequence[str]
) -> Mapping[str, Heads]:
    """By the general path of a text of the instructions. kinds: those that move."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for finding in findings:
        for change in finding.comparison.changes:
            if change.kind not in kinds or change.segment != SYSTEM:
                continue
            heads = found[general_path(change.json_path)]
            if (change.there == "") != (change.here == "") and len(heads) < _MOST:
                row = finding.row if change.here else finding.relative
                head = head_of(_line_of(change, row, requests))
                if head:
                    heads.add((change.kind, head))
    return {path: frozenset(heads) for path, heads in found.items() if heads}


def _line_of(change: Change, row: int, requests: Requests) -> str:
    """The first line of what came or went, where a line begins with it."""
    text = change.here or change.there
    request = requests.of(row)
    first = text.lstrip("\n").partition("\n")[0]
    if request is None or not first:
        return ""
    begins_line = re.compile(rf"(?m)^{re.escape(first)}")
    for part in request.prompt.parts:
        if part.segment == SYSTEM and part.form != "glue" and begins_line.search(part.text):
            return first
    return ""
