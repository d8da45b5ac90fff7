"""The doctor's page: every defect with both texts side by side, what changed marked, and a picture
of the prompt whose parts are coloured by how stable they are. Opens offline; no script."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from hitpath import __version__
from hitpath.accounting.rates import ratio
from hitpath.doctor.advice import TITLES, advice_of
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.provider import SENTENCES
from hitpath.doctor.resolve import general_path
from hitpath.doctor.textdiff import hunks_of
from hitpath.report.doctor_applications import application_words, applications_of
from hitpath.report.doctor_document import Shown, cause_sentence, path_shown
from hitpath.report.doctor_kinds import kinds_of
from hitpath.report.doctor_words import (
    FIXES_NOTE,
    cured_words,
    gain_words,
    notes_of_choices,
    replay_words,
    requests_words,
    seen,
    worth_table,
)
from hitpath.report.html.doctor_picture import Box, icicle
from hitpath.report.text_parts import count, percent

_MOST_DEFECTS = 40
_AROUND = 160
_MOST_COMPARED = 200_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of an excerpt; marked where it differs."""

    text: str
    marked: bool


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
    marks: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class DoctorPage:
    """All that the template needs."""

    headline: str
    facts: tuple[str, ...]
    cases: tuple[Case, ...]
    more: str
    fixes: tuple[tuple[str, ...], ...]
    fixes_note: str
    why_no_proof: str
    causes: tuple[str, ...]
    worth: tuple[tuple[str, ...], ...]
    provider: tuple[tuple[str, ...], ...]
    provider_note: str
    choices: tuple[tuple[str, ...], ...]
    choices_notes: tuple[str, ...]
    kinds: tuple[tuple[str, ...], ...]
    applications: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    command: str
    version: str
    holds_text: bool


def doctor_page(found: Diagnosis, requests: Requests, command: str, content: bool) -> bytes:
    """The page. content: whether text of prompts may stand in it."""
    from jinja2 import Environment, StrictUndefined  # only where a page is asked for

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_visible,
    )  # fmt: skip
    source = files(__package__ or "").joinpath("doctor.html.j2").read_text(encoding="utf-8")
    page = _page(found, requests, command, Shown(content))
    return environment.from_string(source).render(page=page).encode("utf-8", "replace")


_KEPT = "\n\t\u200d"
"""Line ends, and what joins the parts of an emoji."""


def _visible(value: Any) -> Any:
    """Text with controls and marks of direction by their code points: raw ones would turn the text
    around them."""
    if not isinstance(value, str) or (value.isprintable() and value.isascii()):
        return value
    return "".join(
        c if c in _KEPT or unicodedata.category(c) not in ("Cc", "Cf") else
        c.encode("unicode_escape").decode()
        for c in value
    )  # fmt: skip


def _page(found: Diagnosis, requests: Requests, command: str, shown: Shown) -> DoctorPage:
    trace = found.trace
    unit = "bytes" if trace.identity == "text" else "tokens"
    prompt = int(trace.prompt_tokens[trace.counted].sum())
    lost = int(found.costs.lost.sum())
    facts = [f"{len(trace):,} requests, {prompt:,} prompt {unit}"]
    if (replayed := replay_words(found)) is not None:
        facts.append(replayed)
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
            (p.name, f"{p.gain_tokens:+,}", count(p.loss_without_tokens),
             percent(ratio(p.hit_tokens, p.prompt_tokens)),
             cured_words(found, p))
            for p in found.proofs
        ),
        fixes_note=FIXES_NOTE,
        why_no_proof=found.why_no_proof,
        causes=tuple(cause_sentence(found, cause, shown) for cause in found.shared_causes),
        choices=tuple(
            (c.choice, c.name, percent(c.hit_rate), f"{c.gain_tokens:+,}") for c in found.what_ifs
        ),
        choices_notes=tuple(notes_of_choices(found)),
        worth=tuple(worth_table(found, _MOST_DEFECTS)),
        kinds=tuple(_kinds(found)),
        applications=tuple(_applications(found, shown)),
        provider=tuple(_provider(found)),
        provider_note=(found.provider.note or "") if found.provider and shown.content else "",
        notes=found.notes_of(shown.content),
        command=command if shown.content else "",
        version=__version__,
        holds_text=shown.content,
    )  # fmt: skip


def _kinds(found: Diagnosis) -> Iterator[tuple[str, ...]]:
    """Cells of each kind, none where the list is as short."""
    rows = kinds_of(found)
    for row in rows if len(rows) < len(found.defects) else ():
        gain = "–" if row.gain_tokens is None else f"{row.gain_tokens:+,}"
        yield (TITLES[row.kind], count(row.num_defects), count(row.num_applications),
               count(row.num_requests), count(row.tokens_invalidated), gain)  # fmt: skip


def _applications(found: Diagnosis, shown: Shown) -> Iterator[tuple[str, ...]]:
    """Cells of each application, none where there is one."""
    rows = applications_of(found)
    for row in rows if len(rows) > 1 else ():
        name = row.name if shown.content else ""
        yield (str(row.number), count(row.num_requests), count(row.prompt_tokens), count(row.lost),
               percent(ratio(row.lost, row.prompt_tokens)), name)  # fmt: skip


def _provider(found: Diagnosis) -> Iterator[tuple[str, ...]]:
    """(reason, requests, tokens not read) each."""
    view = found.provider
    if view is None:
        return
    for reason, num in sorted(view.requests.items(), key=lambda item: -item[1]):
        yield SENTENCES[reason], count(num), count(view.tokens.get(reason, 0))
    if view.not_told:
        yield "no usage, or a provider that is not known", count(view.not_told), "–"


def _case(found: Diagnosis, requests: Requests, number: int, defect: Defect, shown: Shown) -> Case:
    numbers = (
        f"{requests_words(found, defect)}, "
        f"{defect.tokens_invalidated:,} invalidated by {defect.tokens_changed:,} changed; "
        f"{gain_words(found, defect)}"
    )
    why = found.why_no_gain(defect)
    numbers += "" if why is None else f" ({why})"
    whose = application_words(found, defect, shown.content)
    there, here = _sides(requests, defect, shown)
    segments, parts, marks = icicle(found, requests, defect, shown)
    ids = found.trace.ids
    return Case(
        number=number,
        title=TITLES[defect.kind],
        place=path_shown(found.path_of(defect), shown) or defect.segment,
        segment=", ".join(
            filter(None, (defect.segment, f"character {defect.char_offset:,}", whose))
        ),
        numbers=numbers,
        advice=advice_of(defect.kind, defect.segment),
        detail=defect.detail if shown.content else "",
        there=there,
        here=here,
        there_name=shown.name(ids[defect.relative]),
        here_name=shown.name(ids[defect.example]),
        segments=segments,
        parts=parts,
        marks=marks,
    )


def _sides(
    requests: Requests, defect: Defect, shown: Shown
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both texts around the first difference, what differs marked."""
    if not shown.content:
        told = [
            f"{len(text):,} characters, {shown.name(text)}" for text in (defect.there, defect.here)
        ]
        return (Piece(told[0], False),), (Piece(told[1], False),)
    one = _text_at(requests, defect.relative, defect)
    other = _text_at(requests, defect.example, defect)
    if one is None or other is None or max(len(one), len(other)) > _MOST_COMPARED:
        texts = (seen(defect.there, defect.kind), seen(defect.here, defect.kind))
        return (Piece(texts[0], True),), (Piece(texts[1], True),)
    hunks = hunks_of(one, other)
    sides = (
        _marked(one, [(h.there_start, h.there_stop) for h in hunks]),
        _marked(other, [(h.start, h.stop) for h in hunks]),
    )
    there, here = (
        tuple(Piece(seen(p.text, defect.kind), True) if p.marked else p for p in side)
        for side in sides
    )
    return there, here


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
