"""The doctor's terminal page: a ranked list that a busy person can act on."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hitpath.accounting.rates import ratio
from hitpath.doctor.advice import TITLES, advice_of
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.provider import SENTENCES, ProviderView
from hitpath.report.doctor_applications import application_words, applications_of
from hitpath.report.doctor_document import Shown, cause_sentence, path_shown
from hitpath.report.doctor_kinds import KindRow, kinds_of
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
from hitpath.report.pages import titled
from hitpath.report.terminal_parts import problems
from hitpath.report.text_parts import count, label, percent, table

_MOST = 12
_EXCERPT = 40
_NOTICED_FRAC = 0.01


def print_diagnosis(found: Diagnosis, page: Console, content: bool = True) -> None:
    """The whole page."""
    shown = Shown(content)
    page.print(Padding(Group(*_head(found)), (1, 0, 1, 2)))
    kinds = kinds_of(found)
    if len(kinds) < len(found.defects):
        page.print(titled("Defects, by kind", _kinds(kinds)))
    if found.defects:
        page.print(titled("Defects, by what they cost", _list(found, shown)))
    applications = _applications(found, content)
    if applications is not None:
        page.print(titled("By application", applications))
    if found.proofs:
        page.print(titled("Fixes, by what a replay gains", _fixes(found)))
    elif found.why_no_proof:
        page.print(Padding(Text(f"no replay: {found.why_no_proof}", style="dim"), (0, 0, 1, 2)))
    if found.shared_causes:
        lines = [Text(cause_sentence(found, cause, shown)) for cause in found.shared_causes]
        page.print(titled("One cause for many", Group(*lines)))
    if found.worth is not None:
        page.print(titled("What it cost", _worth(found)))
    if found.provider is not None:
        page.print(
            titled(
                "What the provider read, and why not more",
                provider_table(found.provider, content),
            )
        )
    if found.what_ifs:
        page.print(titled("What a choice costs", _choices(found)))
    for section in _remarks(found, content):
        page.print(section)


def _remarks(found: Diagnosis, content: bool) -> Iterator[RenderableType]:
    """Notes, and rows that could not be read or that contradict themselves."""
    notes = found.notes_of(content)
    if notes:
        yield titled("Notes", Group(*map(label, notes)))
    if content:
        yield from problems(found.trace)
        return
    for title, num in (
        ("Skipped", found.trace.skipped.num),
        ("Excluded", len(found.trace.excluded)),
    ):
        if num:
            yield titled(
                f"{title} rows: {num:,}", Text("what stands there is not shown", style="dim")
            )


def _head(found: Diagnosis) -> Iterable[Text]:
    trace = found.trace
    unit = "bytes" if trace.identity == "text" else "tokens"
    prompt = int(trace.prompt_tokens[trace.counted].sum())
    lost = int(found.costs.lost.sum())
    num = len({finding.application for finding in found.findings})
    applications = "1 application" if num == 1 else f"{num:,} applications"
    requests = "1 request" if len(trace) == 1 else f"{len(trace):,} requests"
    yield Text(f"{requests} of {applications}, {prompt:,} prompt {unit}")
    if not found.defects:
        yield Text(
            "no defect: every request goes on where its relative ended, or is new", style="bold"
        )
    else:
        share = percent(ratio(lost, prompt))
        yield Text(
            f"{lost:,} {unit} ({share}) were there before, and invalidated by what follows",
            style="bold",
        )
        rung = found.costs.diverged
        if rung is not None and lost - int(rung.sum()) > _NOTICED_FRAC * lost:
            yield Text(
                f"of them {int(rung.sum()):,} are `diverged` in analyze --canonical; the rest only "
                "their relative had, elsewhere or behind a difference that no canonical form mends",
                style="dim",
            )
    replayed = replay_words(found)
    if replayed is not None:
        yield Text(replayed)


def _list(found: Diagnosis, shown: Shown) -> RenderableType:
    """Each defect beside its number: what is too long for a line goes on below itself."""
    parts = Table.grid(padding=(0, 1))
    parts.add_column(justify="right")
    parts.add_column(overflow="fold")
    for number, defect in enumerate(found.defects[:_MOST], 1):
        parts.add_row(Text(f"{number}.", style="bold"), Group(*_defect(found, defect, shown)))
    rest = len(found.defects) - _MOST
    if rest > 0:
        parts.add_row("", Text(f"… and {rest:,} more (--json)", style="dim"))
    return parts


def _defect(found: Diagnosis, defect: Defect, shown: Shown) -> Iterator[RenderableType]:
    path = path_shown(found.path_of(defect), shown)
    head = Text(TITLES[defect.kind], style="bold")
    head.append(
        f" at {path or defect.segment}, character {defect.char_offset:,}"
        + (f" ({defect.segment})" if defect.segment not in ("", path) else ""),
        style="not bold",
    )
    yield head
    whose = application_words(found, defect, shown.content)
    if whose:
        yield Text(whose, style="dim")
    yield Text(
        f"{requests_words(found, defect)} · {defect.tokens_invalidated:,} invalidated by "
        f"{defect.tokens_changed:,} changed · {gain_words(found, defect)}"
    )
    if shown.content and (defect.there or defect.here):
        excerpt = label(_cut(seen(defect.there, defect.kind)) or "(nothing)")
        excerpt.append(" → ", style="dim")
        excerpt.append_text(label(_cut(seen(defect.here, defect.kind)) or "(nothing)"))
        yield excerpt
    elif not shown.content:
        yield Text(f"{len(defect.there):,} → {len(defect.here):,} characters", style="dim")
    if defect.detail and shown.content:
        yield label(defect.detail)
    yield Text(f"fix: {advice_of(defect.kind, defect.segment)}", style="green")
    why = found.why_no_gain(defect)
    if why is not None:
        yield Text(f"not replayed: {why}", style="dim")


def _kinds(rows: Sequence[KindRow]) -> RenderableType:
    shown = table("kind<", "places", "applications", "requests", "invalidated", "gain of the fix")
    for row in rows:
        gain = "–" if row.gain_tokens is None else f"{row.gain_tokens:+,}"
        shown.add_row(TITLES[row.kind], count(row.num_defects), count(row.num_applications),
                      count(row.num_requests), count(row.tokens_invalidated), gain)  # fmt: skip
    return shown


def _applications(found: Diagnosis, content: bool) -> RenderableType | None:
    """What each application lost; None where there is one."""
    rows = applications_of(found)
    if len(rows) < 2:
        return None
    heads = ("application<", "requests", "prompt", "invalidated", "share")
    shown = table(*heads, "begins with~") if content else table(*heads)
    for row in rows[:_MOST]:
        cells = [str(row.number), count(row.num_requests), count(row.prompt_tokens),
                 count(row.lost), percent(ratio(row.lost, row.prompt_tokens))]  # fmt: skip
        shown.add_row(*cells, *([label(row.name)] if content else []))
    rest = len(rows) - _MOST
    return Group(shown, Text(f"… and {rest:,} more (--json)", style="dim")) if rest > 0 else shown


def _cut(text: str) -> str:
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def _fixes(found: Diagnosis) -> RenderableType:
    shown = table("fix<", "gain", "lost without it", "hit rate", "cures~")
    for proof in found.proofs:
        kinds = cured_words(found, proof)
        rate = percent(ratio(proof.hit_tokens, proof.prompt_tokens))
        shown.add_row(
            proof.name, f"{proof.gain_tokens:+,}", count(proof.loss_without_tokens), rate, kinds
        )
    return Group(shown, Text(FIXES_NOTE, style="dim"))


def _worth(found: Diagnosis) -> RenderableType:
    heads, *rows = worth_table(found, _MOST)
    shown = table(f"{heads[0]}<", *heads[1:])
    for row in rows:
        shown.add_row(*row)
    return shown


def provider_table(view: ProviderView, content: bool = True) -> RenderableType:
    """Requests and tokens by reason. content: whether names of models may be told."""
    shown = table("reason<", "requests", "tokens not read")
    for reason, count_of in sorted(view.requests.items(), key=lambda item: -item[1]):
        shown.add_row(SENTENCES[reason], count(count_of), count(view.tokens.get(reason, 0)))
    if view.not_told:
        shown.add_row("no usage, or a provider that is not known", count(view.not_told), "")
    if view.note is None or not content:
        return shown
    return Group(shown, label(view.note))


def _choices(found: Diagnosis) -> RenderableType:
    shown = table("choice<", "<", "hit rate", "gain")
    for choice in found.what_ifs:
        shown.add_row(
            choice.choice, choice.name, percent(choice.hit_rate), f"{choice.gain_tokens:+,}"
        )
    return Group(shown, *(Text(note, style="dim") for note in notes_of_choices(found)))
