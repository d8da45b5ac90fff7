"""Blocks of lines that are drawn anew for each request: examples, tips, passages in instructions.

What stands in nearly all requests of an application is its own text; lines between two of these
that differ from request to request are the block. It goes to the end as a whole, for a part of an
example is none.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.prompt import SYSTEM, Part
from hitpath.doctor.resolve import general_path

_LEAST_TEXTS, _MOST_TEXTS = 4, 64
_STABLE, _KNOWN = 0.9, 0.8
_LEAST_STABLE = 2
KIND = "random_sample"


@dataclass(frozen=True, slots=True)
class SampleLines:
    """Of one text of one application. stable: lines that nearly all its requests have; anchors: the
    stable lines behind which drawn ones stand, "" for the beginning."""

    stable: frozenset[str]
    anchors: frozenset[str]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Characters [start, stop) of each block; none in a text of another application."""
        lines = text.split("\n")
        if len(self.stable.intersection(lines)) < _KNOWN * len(self.stable):
            return
        for anchor, start, stop in runs_of(lines, self.stable):
            if anchor in self.anchors:
                yield start, stop


def runs_of(lines: Sequence[str], stable: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """(the stable line before it, first character, last) of each run of lines that are not stable;
    blank lines at its edges are not of it."""
    anchor, at = "", 0
    first = last = -1
    for line in lines:
        if line in stable:
            if first >= 0:
                yield anchor, first, last
            anchor, first = line, -1
        elif line.strip():
            first, last = (at if first < 0 else first), at + len(line)
        at += len(line) + 1
    if first >= 0:
        yield anchor, first, last


def sample_lines_of(
    findings: Sequence[Finding], requests: Requests
) -> dict[str, tuple[SampleLines, ...]]:
    """By general path, one an application that draws several lines there."""
    seen: dict[tuple[str, int], list[tuple[int, str, int]]] = defaultdict(list)
    lines: set[tuple[str, int]] = set()
    for finding in findings:
        for change in finding.comparison.changes:
            if change.kind == KIND and change.segment == SYSTEM:
                key = general_path(change.json_path), finding.application
                if len(seen[key]) < _MOST_TEXTS:
                    seen[key].append((finding.row, change.json_path, change.char_offset))
                if "\n" in change.there.strip() or "\n" in change.here.strip():
                    lines.add(key)
    found: dict[str, list[SampleLines]] = defaultdict(list)
    for key in sorted(lines):
        made = _made(seen[key], requests)
        if made is not None:
            found[key[0]].append(made)
    return {path: tuple(blocks) for path, blocks in found.items()}


def _made(seen: Sequence[tuple[int, str, int]], requests: Requests) -> SampleLines | None:
    """None where too little is known, or nothing stays."""
    texts: dict[int, str] = {}
    for row, path, _ in seen:
        part = _part(requests, row, path)
        if part is not None and not part.base:
            texts[row] = part.text
    counts: Counter[str] = Counter()
    for text in texts.values():
        counts.update({line for line in text.split("\n") if line.strip()})
    stable = frozenset(line for line, num in counts.items() if num >= _STABLE * len(texts))
    if len(texts) < _LEAST_TEXTS or len(stable) < _LEAST_STABLE:
        return None
    anchors: set[str] = set()
    for row, _, offset in seen:
        if row in texts:
            runs = runs_of(texts[row].split("\n"), stable)
            anchors.update(anchor for anchor, start, stop in runs if start <= offset <= stop)
    return SampleLines(stable, frozenset(anchors)) if anchors else None


def _part(requests: Requests, row: int, path: str) -> Part | None:
    request = requests.of(row)
    if request is None:
        return None
    parts = (part for part in request.prompt.parts if part.path == path and part.form != "glue")
    return next(parts, None)
