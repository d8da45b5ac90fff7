"""The terminal page of one request explained."""

from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.core import one_line
from hitpath.report.first_difference import Side
from hitpath.report.terminal_parts import problems
from hitpath.report.text_parts import count, label, seconds, table
from hitpath.traces.table import Trace

if TYPE_CHECKING:
    from hitpath.report.explain import Explanation, RelativeRequest


def print_explanation(found: "Explanation", trace: Trace, page: Console) -> None:
    """The whole page, with the rows of the trace that are in no sum."""
    page.print(Padding(Group(*_head(found)), (1, 0, 1, 2)))
    if not found.excluded:
        page.print(Padding(_labels(found), (0, 0, 1, 2)))
    page.print(Padding(Group(*_story(found)), (0, 0, 1, 2)))
    for section in problems(trace):
        page.print(section)


def _head(found: "Explanation") -> list[Text]:
    names = (("session", found.session), ("tenant", found.tenant))
    who = "".join(f" · {name} {value}" for name, value in names if value is not None)
    lines = [label(f"request {found.id} on {found.worker}{who}")]
    prompt = f"{count(found.prompt_tokens)} prompt {found.unit}"
    if found.excluded:
        lines.append(Text(prompt))
        lines.append(
            label(f"this row contradicts itself and is in no sum: {found.excluded_because}")
        )
        return lines
    kind = "modelled"
    if found.reported_hit_tokens is not None:
        kind = f"reported; modelled {count(found.modelled_hit_tokens)}"
    lines.append(Text(f"{count(found.hit_tokens)} of {prompt} hit ({kind})"))
    return lines


def _labels(found: "Explanation") -> RenderableType:
    shown = table("label<", found.unit, "reasons<")
    shown.add_row("hit", count(found.hit_tokens), "")
    for cause, tokens in found.causes.items():
        if tokens:
            reasons = found.reasons.get(cause, {})
            told = ", ".join(f"{_words(name)} {n:,}" for name, n in reasons.items() if n)
            shown.add_row(_words(cause), count(tokens), told)
    for name, tokens in (("unexplained", found.unexplained), ("excess", found.excess)):
        if tokens:
            shown.add_row(name, count(tokens), "")
    unknown = ", ".join(map(_words, found.not_known))
    return Group(shown, Text(f"not known, so counted in the next label: {unknown}", style="dim"))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _story(found: "Explanation") -> list[RenderableType]:
    lines: list[RenderableType] = []
    if found.best_worker is not None:
        held = f"{found.best_worker} held {count(found.best_worker_tokens)} {found.unit}"
        lines.append(label(f"best worker: {held}, first computed by {found.first_computed_by}"))
    if found.relative is not None:
        how = f"the first {_shared(found, found.relative)} are the same"
        lines += [_who("nearest relative", found.relative, how), *_sides(found, found.relative)]
    elif found.num_earlier_requests:
        earlier = f"none of the {found.num_earlier_requests:,} in its context"
        lines.append(Text(f"nearest relative: no earlier request begins alike ({earlier})"))
    else:
        lines.append(Text("nearest relative: none, this is the first of its context"))
    other = found.other_context
    if other is not None:
        fields = " and ".join(map(_words, other.differs_in))
        how = f"shares {_shared(found, other)}"
        lines += [_who(f"under another {fields}", other, how), *_sides(found, other)]
    return lines


def _who(title: str, relative: "RelativeRequest", how: str) -> Text:
    before = relative.seconds_before
    ago = "" if before is None else f", {seconds(before)} before"
    return label(f"{title}: {relative.id} on {relative.worker}{ago}: {how}")


def _shared(found: "Explanation", relative: "RelativeRequest") -> str:
    text = f"{count(relative.shared_tokens)} {found.unit}"
    if relative.output_tokens:
        text += f" ({count(relative.output_tokens)} of them its output)"
    return text


def _sides(found: "Explanation", relative: "RelativeRequest") -> list[RenderableType]:
    where = relative.first_difference
    if where.here.kind == where.there.kind == "end":
        its = "prompt and output are" if relative.output_tokens else "prompt is"
        return [Text(f"  its {its} this prompt")]
    rows = [] if where.after is None else [("after", _quoted(where.after))]
    rows += [("here", _words_of(where.here)), ("there", _words_of(where.there))]
    return [Text(f"  {name:<6} {text}") for name, text in rows]


def _words_of(side: Side) -> str:
    plain = {
        "end": "the end",
        "unnamed": "tokens without an id",
        "partial_block": "a partial block",
    }
    name = plain.get(side.kind, "" if side.kind == "text" else f"{side.kind} {side.id}")
    return f"{name} {_quoted(side.text)}".strip() if side.text is not None else name


def _quoted(text: str) -> str:
    return f"“{one_line(text)}”"
