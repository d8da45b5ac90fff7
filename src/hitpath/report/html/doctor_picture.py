"""The picture of a prompt on the doctor's page: its segments and texts by how stable they are."""

from collections.abc import Iterator
from dataclasses import dataclass

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
    if request is None:
        return (), (), ()
    comparison = _in_bytes(found, requests, defect)
    first = min((change.start for change in comparison.changes), default=1 << 62)

    def css(start: int, stop: int) -> str:
        changed = sum(max(0, min(c.stop, stop) - max(c.start, start)) for c in comparison.changes)
        if 2 * changed > stop - start:
            return "changed"
        kept = sum(max(0, min(b, stop) - max(a, start)) for a, b in comparison.kept)
        if 2 * kept < stop - start:
            return "new"
        return "stable" if stop <= first or start <= first < (start + stop) / 2 else "invalidated"

    prompt = request.prompt
    total = max(prompt.starts[-1], 1)
    return (
        tuple(_box(total, css(a, b), a, b, name) for a, b, name in _segments(prompt)),
        tuple(
            _box(total, css(a, b), a, b, path_shown(part.path, shown))
            for part, a, b in zip(prompt.parts, prompt.starts, prompt.starts[1:], strict=False)
            if part.form != "glue"
        ),
        tuple(
            _box(total, "changed", c.start, max(c.stop, c.start + 1), TITLES[c.kind])
            for c in comparison.changes
            if 2 * (c.stop - c.start) < total and c.kind in TITLES
        ),
    )


def _in_bytes(found: Diagnosis, requests: Requests, defect: Defect) -> Comparison:
    """The example against its relative in bytes of hitpath's rendering, as the picture has it."""
    finding = found.findings[defect.example]
    there, here = requests.of(defect.relative), requests.of(defect.example)
    if found.trace.has_text or there is None or here is None:
        return finding.comparison
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


def _box(total: int, colour: str, start: int, stop: int, name: str) -> Box:
    width = max((stop - start) / total * 100, _LEAST_WIDTH)
    title = f"{name}: {stop - start:,} from {start:,} on, {_COLOURS[colour]}"
    return Box(start / total * 100, width, colour, title, name if width > len(name) else "")
