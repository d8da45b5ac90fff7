"""The terminal page of a difference: the answer in one sentence, then where it comes from."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.accounting.diff import HIT, Difference, Effect, GroupEffect, sum_of
from hitpath.accounting.rates import ratio
from hitpath.core import CAUSES, one_line
from hitpath.report.pages import titled
from hitpath.report.text_parts import count, label, percent, table
from hitpath.summary.diff import Comparison, Side
from hitpath.traces.problems import Skipped

_MOST_GROUP_ROWS = 12
_MOST_LISTED = 10
_LONGEST_NAME = 40
_WIDE = 100
"""Columns of a terminal in which a group's shares and main cause have room."""


def print_diff(comparison: Comparison, console: Console) -> None:
    """The whole page."""
    for section in _sections(comparison, wide=console.width >= _WIDE):
        console.print(section)


def _sections(comparison: Comparison, wide: bool) -> Iterable[RenderableType]:
    yield _head(comparison)
    for side in (comparison.a, comparison.b):
        yield from _problems(side)
    yield titled("Causes: what moved the hit rate, in points", _causes(comparison))
    yield titled(f"Groups by {comparison.by}: who moved it, in points", _groups(comparison, wide))
    if comparison.warnings:
        notes = (label(f"• {note}") for note in comparison.warnings)
        yield titled("Before you quote a number", Group(*notes))


def points(change: Fraction) -> str:
    """A change of a rate in points, signed, with two decimals; 0.00 only for no change at all."""
    return f"{float(change * 100):+z.2f}" if change else "0.00"


def answer(found: Difference) -> str:
    """The whole page in one sentence."""
    effect = found.effect
    before, after = percent(float(found.rate_a)), percent(float(found.rate_b))
    parts = f"mix {points(effect.mix)} and behaviour {points(effect.behaviour)}"
    if effect.total:
        verb = "rose" if effect.total > 0 else "fell"
        moved = f"The hit rate {verb} from {before} to {after}: {points(effect.total)} points"
        text = f"{moved}, of which {parts}"
    else:
        text = f"The hit rate did not move: {after} on both sides, {parts}"
    largest = found.largest_cause
    if largest is not None:
        text += f"; the largest cause: {_words(largest)} {points(found.causes[largest].total)}"
    return text


def _head(comparison: Comparison) -> RenderableType:
    found = comparison.difference
    style = "bold green" if found.effect.total >= 0 else "bold red"
    lines = [Text(answer(found), style=style)]
    lines += [_side_line(comparison.a), _side_line(comparison.b)]
    meaning = (
        "mix: more or fewer tokens in groups that hit unlike the rest; behaviour: the same groups "
        "hit otherwise"
    )
    lines.append(Text(meaning, style="dim"))
    return Padding(Group(*lines), (1, 0, 1, 2))


def _side_line(side: Side) -> Text:
    rows = side.rows
    kind = "ledger" if side.is_ledger else f"{side.format} trace"
    unit = side.unit or "tokens"
    hit, prompt = rows.label_tokens()[HIT], int(rows.prompt.sum())
    line = (
        f"{side.letter}  {side.name}: {kind} · {count(len(rows.prompt))} requests"
        f"{' that report' if rows.lengths_only else ''} · {count(hit)} of {count(prompt)} prompt "
        f"{unit} hit · {percent(ratio(hit, prompt))}"
    )
    return label(line)


def _problems(side: Side) -> Iterable[RenderableType]:
    for kind, problems in (("Skipped", side.skipped), ("Excluded", Skipped(side.excluded))):
        if problems:
            lines = [label(f"{p.place}: {p.field}: {p.cause}") for p in problems[:_MOST_LISTED]]
            if problems.num > _MOST_LISTED:
                lines.append(Text(f"… and {problems.num - _MOST_LISTED:,} more (--json)"))
            yield titled(f"{kind} rows of {side.letter}: {problems.num:,}", Group(*lines))


def _causes(comparison: Comparison) -> RenderableType:
    """Shares are of a side's own prompt tokens; an effect is what its share fell by."""
    found = comparison.difference
    sides = (
        (comparison.a.rows.label_tokens(), sum(found.tokens_a.values())),
        (comparison.b.rows.label_tokens(), sum(found.tokens_b.values())),
    )
    shown = table("label<", "share A", "share B", "effect", "mix", "behaviour")
    for name, effect in found.causes.items():
        has_tokens = found.tokens_a[name] or found.tokens_b[name]
        if not has_tokens and name not in CAUSES:
            continue
        shares = (percent(ratio(tokens.get(name), prompt)) for tokens, prompt in sides)
        style = "" if has_tokens else "dim"
        shown.add_row(_words(name), *shares, *_cells(effect), style=style)
    shown.add_section()
    rates = (percent(ratio(tokens[HIT], prompt)) for tokens, prompt in sides)
    shown.add_row("hit rate", *rates, *_cells(found.effect), style="bold")
    notes = ["a share that rose lowers the hit rate; each figure is rounded, the sums are exact"]
    unknown = [_words(cause) for cause in CAUSES if cause not in found.causes]
    if unknown and not comparison.a.rows.lengths_only:
        notes.append(f"not known, so counted in the next label: {', '.join(unknown)}")
    return Group(shown, *(Text(note, style="dim") for note in notes))


def _groups(comparison: Comparison, wide: bool) -> RenderableType:
    found = comparison.difference
    shares, mostly = (("share A", "share B"), ("mostly<",)) if wide else ((), ())
    shown = table("~", *shares, "hit A", "hit B", "effect", "mix", "behaviour", *mostly)
    first, rest = found.groups[:_MOST_GROUP_ROWS], found.groups[_MOST_GROUP_ROWS:]

    def row(name: Text, groups: Sequence[GroupEffect], cause: str = "", style: str = "") -> None:
        prompts = [sum(g.prompt_a for g in groups), sum(g.prompt_b for g in groups)]
        hits = [
            sum(g.tokens_a.get(HIT, 0) for g in groups),
            sum(g.tokens_b.get(HIT, 0) for g in groups),
        ]
        wholes = [sum(found.tokens_a.values()), sum(found.tokens_b.values())]
        cells = [*map(ratio, prompts, wholes)] if wide else []
        cells += map(ratio, hits, prompts)
        effect = sum_of(g.effect for g in groups)
        causes = [cause] if wide else []
        shown.add_row(name, *map(percent, cells), *_cells(effect), *causes, style=style)

    for group in first:
        row(_name(group), [group], _mostly(group))
    if rest:
        num_more = sum(max(group.key.merged, 1) for group in rest)
        row(Text(f"… and {num_more:,} more"), rest)
    shown.add_section()
    row(Text("all"), found.groups, style="bold")
    why = "as asked"
    if not comparison.by_was_asked:
        named = "the first of tenant, model and turn with two groups, one of them on both sides"
        none = "no tenant, model or turn makes two groups, one of them on both sides"
        why = f"{none if comparison.by == 'length' else named}; --by chooses another"
    note = f"by {comparison.by} ({why}); a finer or another label may tell another story"
    return Group(shown, Text(note, style="dim"))


def _name(group: GroupEffect) -> Text:
    if group.key.merged:
        return Text(f"others ({group.key.merged:,} groups)", style="dim")
    if group.key.name is None:
        return Text("(none)", style="dim")
    name = one_line(group.key.name)
    return Text(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…")


def _mostly(group: GroupEffect) -> str:
    """The cause with the largest part of the group's effect."""
    name, effect = max(group.causes.items(), key=lambda item: abs(item[1].total))
    return f"{_words(name)} {points(effect.total)}" if effect.total else ""


def _cells(effect: Effect) -> list[str]:
    return [points(effect.total), points(effect.mix), points(effect.behaviour)]


def _words(name: str) -> str:
    return name.replace("_", " ")
