"""The doctor's page: every defect with both texts side by side, what changed marked, and a picture
of the prompt whose parts are coloured by how stable they are. Opens offline; no script."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from hitpath import __version__
from hitpath.accounting.rates import ratio
from hitpath.doctor.advice import ADVICE, TITLES
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.prompt import Prompt
from hitpath.doctor.resolve import general_path
from hitpath.doctor.textdiff import hunks_of
from hitpath.report.doctor_document import Shown, cause_sentence, path_shown
from hitpath.report.text_parts import count, percent

_MOST_DEFECTS = 40
_AROUND = 160
_MOST_COMPARED = 200_000
_WIDTH = 1000.0
_LEAST_WIDTH = 0.8


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of an excerpt; marked where it differs."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Box:
    """A part of the icicle, in units of a picture _WIDTH wide. css: stable, changed, invalidated or
    new."""

    x: float
    width: float
    css: str
    title: str
    label: str


@dataclass(frozen=True, slots=True)
class Case:
    """A defect as the page shows it."""

    number: int
    title: str
    place: str
    segment: str
    numbers: str
    advice: str
    detail: str
    there: tuple[Piece, ...]
    here: tuple[Piece, ...]
    there_name: str
    here_name: str
    segments: tuple[Box, ...]
    parts: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class DoctorPage:
    """All that the template needs."""

    headline: str
    facts: tuple[str, ...]
    cases: tuple[Case, ...]
    more: str
    fixes: tuple[tuple[str, str, str, str], ...]
    why_no_proof: str
    causes: tuple[str, ...]
    choices: tuple[tuple[str, str, str, str], ...]
    notes: tuple[str, ...]
    command: str
    version: str
    holds_text: bool


def doctor_page(found: Diagnosis, requests: Requests, command: str, content: bool) -> bytes:
    """The page. content: whether text of prompts may stand in it."""
    from jinja2 import Environment, StrictUndefined  # only where a page is asked for

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = files(__package__ or "").joinpath("doctor.html.j2").read_text(encoding="utf-8")
    page = _page(found, requests, command, Shown(content))
    return environment.from_string(source).render(page=page).encode("utf-8", "replace")


def _page(found: Diagnosis, requests: Requests, command: str, shown: Shown) -> DoctorPage:
    trace = found.trace
    unit = "bytes" if trace.identity == "text" else "tokens"
    prompt = int(trace.prompt_tokens[trace.counted].sum())
    lost = int(found.costs.lost.sum())
    facts = [f"{len(trace):,} requests, {prompt:,} prompt {unit}"]
    if found.before is not None and found.after is not None:
        facts.append(
            f"hit rate {percent(found.before)} as it is, {percent(found.after)} with all fixes"
        )
    headline = (
        f"{percent(ratio(lost, prompt))} of the prompt {unit} were there before and were lost"
    )
    cases = [
        _case(found, requests, number, defect, shown)
        for number, defect in enumerate(found.defects[:_MOST_DEFECTS], 1)
    ]
    rest = len(found.defects) - len(cases)
    return DoctorPage(
        headline=headline if found.defects else "No defect was found",
        facts=tuple(facts),
        cases=tuple(cases),
        more=f"{rest:,} more defects are in the JSON document." if rest > 0 else "",
        fixes=tuple(
            (p.name, f"{p.gain_tokens:+,}", percent(ratio(p.hit_tokens, p.prompt_tokens)),
             ", ".join(kind.replace("_", " ") for kind in p.kinds))
            for p in found.proofs
        ),
        why_no_proof=found.why_no_proof,
        causes=tuple(cause_sentence(found, cause, shown) for cause in found.shared_causes),
        choices=tuple(
            (c.choice, c.name, percent(c.hit_rate), f"{c.gain_tokens:+,}") for c in found.what_ifs
        ),
        notes=found.notes if shown.content else (),
        command=command if shown.content else "",
        version=__version__,
        holds_text=shown.content,
    )  # fmt: skip


def _case(found: Diagnosis, requests: Requests, number: int, defect: Defect, shown: Shown) -> Case:
    gain = found.gain_of(defect)
    numbers = (
        f"{count(defect.num_requests)} requests "
        f"({percent(ratio(defect.num_requests, len(found.trace)))}), "
        f"{defect.tokens_invalidated:,} invalidated by {defect.tokens_changed:,} changed"
    )
    if gain is not None:
        numbers += f"; replayed without it: {gain:+,}"
    there, here = _sides(requests, defect, shown)
    segments, parts = _icicle(found, requests, defect, shown)
    ids = found.trace.ids
    return Case(
        number=number,
        title=TITLES[defect.kind],
        place=path_shown(defect.json_path, shown) or defect.segment,
        segment=f"{defect.segment}, character {defect.char_offset:,}",
        numbers=numbers,
        advice=ADVICE[defect.kind],
        detail=defect.detail if shown.content else "",
        there=there,
        here=here,
        there_name=shown.name(ids[defect.relative]),
        here_name=shown.name(ids[defect.example]),
        segments=segments,
        parts=parts,
    )


def _sides(
    requests: Requests, defect: Defect, shown: Shown
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both texts around the first difference, what differs marked."""
    if not shown.content:
        sides = [
            f"{len(text):,} characters, {shown.name(text)}" for text in (defect.there, defect.here)
        ]
        return (Piece(sides[0], False),), (Piece(sides[1], False),)
    one = _text_at(requests, defect.relative, defect)
    other = _text_at(requests, defect.example, defect)
    if one is None or other is None or max(len(one), len(other)) > _MOST_COMPARED:
        return (Piece(defect.there, True),), (Piece(defect.here, True),)
    hunks = hunks_of(one, other)
    return (
        tuple(_marked(one, [(h.there_start, h.there_stop) for h in hunks])),
        tuple(_marked(other, [(h.start, h.stop) for h in hunks])),
    )


def _text_at(requests: Requests, row: int, defect: Defect) -> str | None:
    """The part of a request where a defect stands; a tool for something within it."""
    request = requests.of(row)
    if request is None:
        return None
    prompt = request.prompt
    if defect.json_path in ("tools", "functions"):
        return "\n".join(prompt.parts[number].text for number in prompt.tools)
    wanted = general_path(defect.json_path)
    exact = [p for p in prompt.parts if p.path and defect.json_path.startswith(p.path)]
    alike = exact or [p for p in prompt.parts if p.path and general_path(p.path) == wanted]
    return max(alike, key=lambda part: len(part.path)).text if alike else None


def _marked(text: str, marks: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """An excerpt from a little before the first mark on."""
    if not marks:
        yield Piece(text[: 2 * _AROUND], False)
        return
    begin = max(0, marks[0][0] - _AROUND)
    end = min(len(text), begin + 6 * _AROUND)
    if begin:
        yield Piece("…", False)
    at = begin
    for start, stop in marks:
        if start >= end:
            break
        if start > at:
            yield Piece(text[at:start], False)
        yield Piece(text[start : min(stop, end)] or "\u2038", True)
        at = max(at, min(stop, end))
    if at < end:
        yield Piece(text[at:end], False)
    if end < len(text):
        yield Piece("…", False)


def _icicle(
    found: Diagnosis, requests: Requests, defect: Defect, shown: Shown
) -> tuple[tuple[Box, ...], tuple[Box, ...]]:
    """The example's prompt: its segments, and under them its parts."""
    request = requests.of(defect.example)
    if request is None:
        return (), ()
    finding = found.findings[defect.example]
    comparison = finding.comparison
    first = min((change.start for change in comparison.changes), default=1 << 62)

    def css(start: int, stop: int) -> str:
        if any(c.start < stop and start < max(c.stop, c.start + 1) for c in comparison.changes):
            return "changed"
        kept = sum(max(0, min(b, stop) - max(a, start)) for a, b in comparison.kept)
        if 2 * kept < stop - start:
            return "new"
        return "stable" if start < first else "invalidated"

    prompt = request.prompt
    total = max(prompt.starts[-1], 1)
    segments = list(_segments(prompt))
    return (
        tuple(_box(total, css(a, b), a, b, name) for a, b, name in segments),
        tuple(
            _box(total, css(a, b), a, b, path_shown(part.path, shown))
            for part, a, b in zip(prompt.parts, prompt.starts, prompt.starts[1:], strict=False)
            if part.form != "glue"
        ),
    )


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
    width = max((stop - start) / total * _WIDTH, _LEAST_WIDTH)
    title = f"{name}: {stop - start:,} from {start:,} on, {colour}"
    return Box(start / total * _WIDTH, width, colour, title, name if width > 8 * len(name) else "")
