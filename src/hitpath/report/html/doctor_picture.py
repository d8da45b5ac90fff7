"""The picture of a prompt on the doctor's page: its segments and texts by how stable they are."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from hitpath.doctor.advice import TITLES
from hitpath.doctor.change import Comparison
from hitpath.doctor.compare import compare
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.prompt import Prompt
from hitpath.report.doctor_document import Shown, path_shown

_LEAST_WIDTH = 0.15
_COLOURS = {
    "stable": "as its relative had it",
    "changed": "changed",
    "invalidated": "there before, computed again",
    "new": "new",
}
"""Of the picture, with what they mean."""
_OPEN = "other words, ids or numbers"
"""Of a difference whose kind the trace as a whole tells."""


@dataclass(frozen=True, slots=True)
class Box:
    """A part of the icicle, in percent of its width. css: stable, changed, invalidated or new."""

    x: float
    width: float
    css: str
    title: str
    label: str = ""


def icicle(
    found: Diagnosis, requests: Requests, defect: Defect, shown: Shown
) -> tuple[tuple[Box, ...], tuple[Box, ...], tuple[Box, ...]]:
    """The example's prompt: its segments, under them its parts, and over both what changed."""
    request = requests.of(defect.example)
    comparison = _in_bytes(found, requests, defect)
    if request is None or comparison is None:
        return (), (), ()
    first = min((change.start for change in comparison.changes), default=1 << 62)

    def css(start: int, stop: int) -> str:
        changed = sum(max(0, min(c.stop, stop) - max(c.start, start)) for c in comparison.changes)
        if 2 * changed > stop - start:
            return "changed"
        kept = sum(max(0, min(b, stop) - max(a, start)) for a, b in comparison.kept)
        if 2 * kept < stop - start:
            return "new"
        return "stable" if stop <= first else "invalidated"

    def boxes(start: int, stop: int, name: str) -> Iterator[Box]:
        """What stands before the first change and behind it are two; the wider one has the name."""
        places = sorted({start, min(max(first, start), stop), stop})
        widest = max(b - a for a, b in pairwise(places)) if len(places) > 1 else 0
        for a, b in pairwise(places):
            yield _box(total, css(a, b), a, b, name, named=b - a == widest)

    prompt = request.prompt
    total = max(prompt.starts[-1], 1)
    return (
        tuple(box for segment in _segments(prompt) for box in boxes(*segment)),
        tuple(
            box
            for part, a, b in zip(prompt.parts, prompt.starts, prompt.starts[1:], strict=False)
            if part.form != "glue"
            for box in boxes(a, b, path_shown(part.path, shown))
        ),
        tuple(
            _box(total, "changed", c.start, max(c.stop, c.start + 1), TITLES.get(c.kind, _OPEN))
            for c in comparison.changes
            if 2 * (c.stop - c.start) < total
        ),
    )


def _in_bytes(found: Diagnosis, requests: Requests, defect: Defect) -> Comparison | None:
    """The example against its relative in bytes of hitpath's rendering, as the picture has it. None
    where one of them is token ids only."""
    finding = found.findings[defect.example]
    if found.trace.has_text:
        return finding.comparison
    there, here = requests.of(defect.relative), requests.of(defect.example)
    if there is None or here is None:
        return None
    return compare(there.prompt, here.prompt, finding.same_session)


def _segments(prompt: Prompt) -> Iterator[tuple[int, int, str]]:
    """(start, stop, name) of stretches of one segment; glue goes with what stands before it."""
    start, name = 0, ""
    for number, part in enumerate(prompt.parts):
        if part.form == "glue" or part.segment == name:
            continue
        if name:
            yield start, prompt.starts[number], name
            start = prompt.starts[number]
        name = part.segment
    yield start, prompt.starts[-1], name or "prompt"


def _box(total: int, colour: str, start: int, stop: int, name: str, *, named: bool = True) -> Box:
    width = max((stop - start) / total * 100, _LEAST_WIDTH)
    title = f"{name}: {stop - start:,} from {start:,} on, {_COLOURS[colour]}"
    label = name if named and width > len(name) else ""
    return Box(start / total * 100, width, colour, title, label)
