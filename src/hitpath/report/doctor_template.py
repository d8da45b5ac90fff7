"""`hitpath doctor --template`: whether a chat template is append-only, as a page and as JSON.

The JSON document has schema "hitpath.template/1": fields are added, never renamed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.core import printable
from hitpath.doctor.template_breaks import SENTENCES, TemplateBreak
from hitpath.doctor.templates import TemplateReport, template_report
from hitpath.report.bounded import bounded
from hitpath.report.output import check_writable, is_stdout
from hitpath.report.pages import print_page, titled, write_json
from hitpath.report.text_parts import Page, count, label, percent

_BEFORE, _BEHIND = 32, 40
SCHEMA = "hitpath.template/1"


def run_template(path: str, json_file: str | None = None) -> bool:
    """Check the templates of a file or a model's folder, write JSON, print the page unless
    standard output is taken: whether all are known to be append-only. A template runs in a process
    of its own, with bounds. Raises HitpathError."""
    if json_file is not None and not is_stdout(json_file):
        check_writable(json_file)
    reports = bounded(f"--template {path}", template_report, path)
    if json_file is not None:
        write_json(json_file, template_document(reports))
    if json_file is None or not is_stdout(json_file):
        print_page(lambda page: print_templates(reports, page))
    return all(report.is_append_only is True for report in reports)


def template_document(reports: Sequence[TemplateReport]) -> dict[str, Any]:
    """What the JSON file holds."""
    templates = [
        {
            "path": report.path,
            "name": report.name,
            "append_only": report.is_append_only,
            "has_two_bos": report.has_two_bos,
            "tokens_compared": report.has_tokens,
            "notes": list(report.notes),
            "modes": [
                {
                    "mode": mode.mode,
                    "refused": mode.refused,
                    "num_pairs": mode.num_pairs,
                    "breaks": [
                        {**asdict(one), "sentence": SENTENCES[one.shape]} for one in mode.breaks
                    ],
                }
                for mode in report.modes
            ],
        }
        for report in reports
    ]
    return {"schema": SCHEMA, "templates": templates}


def print_templates(reports: Sequence[TemplateReport], page: Page) -> None:
    """The whole page."""
    for report in reports:
        for section in _sections(report):
            page.print(section)


def _sections(report: TemplateReport) -> Iterable[RenderableType]:
    yield Padding(Group(*_head(report)), (1, 0, 1, 2))
    groups = grouped(report.breaks)
    for number, group in enumerate(groups, 1):
        yield titled(f"{number}. {SENTENCES[group[0].shape]}", Group(*_group(group)))
    refused = [mode for mode in report.modes if mode.refused is not None]
    if refused:
        lines = [label(f"{mode.mode}: {mode.refused}") for mode in refused]
        yield titled("Refused by the template, so not known", Group(*lines))


def _head(report: TemplateReport) -> list[Text]:
    rendered = [mode for mode in report.modes if mode.refused is None]
    broken = [mode for mode in rendered if any(one.part == "prompt" for one in mode.breaks)]
    lines = [label(f"chat template {report.name} of {report.path}")]
    if not rendered:
        told = "it renders none of the dialogues, so nothing is known of it"
        lines.append(Text(told, style="bold red"))
    elif broken:
        told = f"not append-only in {len(broken)} of {len(rendered)} modes"
        lines.append(Text(f"{told}: a turn is not the beginning of the next one", style="bold red"))
    else:
        told = f"append-only in all {len(rendered)} modes that it renders"
        lines.append(Text(told, style="bold green"))
    if not broken and report.breaks:
        lines.append(Text("prompts are kept; what the model wrote is written otherwise, see below"))
    if report.has_two_bos:
        lines.append(Text("its text begins with two begin tokens", style="bold red"))
    unit = "tokens and characters" if report.has_tokens else "characters (no tokenizer beside it)"
    lines.append(Text(f"compared by {unit}", style="dim"))
    lines += [label(note) for note in report.notes]
    return lines


def grouped(breaks: Sequence[TemplateBreak]) -> list[list[TemplateBreak]]:
    """Breaks of one shape, part and line together: those of prompts first, of them those that
    lose most."""
    groups: dict[tuple[str, str, int], list[TemplateBreak]] = {}
    for one in breaks:
        groups.setdefault((one.shape, one.part, one.line), []).append(one)
    return sorted(
        groups.values(),
        key=lambda group: (group[0].part, -max(one.chars_lost / one.num_chars for one in group)),
    )


def _group(group: Sequence[TemplateBreak]) -> Iterable[Text]:
    worst = max(group, key=lambda one: one.chars_lost / one.num_chars)
    modes = list(dict.fromkeys(one.mode for one in group))
    what = "of a turn's prompt" if worst.part == "prompt" else "of a turn and its reply"
    share = percent(worst.chars_lost / worst.num_chars)
    lost = f"{count(worst.chars_lost)} of {count(worst.num_chars)} characters ({share}) {what}"
    if worst.tokens_lost is not None:
        lost += f", {count(worst.tokens_lost)} tokens from token {count(worst.token_offset)}"
    yield label(f"in {'; '.join(modes)}")
    yield Text(f"at worst lost: {lost}, turn {worst.turn} of “{worst.mode}”")
    yield label(f"line {worst.line}: {worst.line_text}")
    if worst.next_line != worst.line:
        yield label(f"next turn, line {worst.next_line}: {worst.next_line_text}")
    for name, rest in (("this turn", worst.here), ("the next", worst.next_here)):
        yield _excerpt(name, worst.before[-_BEFORE:], rest[:_BEHIND])


def _excerpt(name: str, before: str, rest: str) -> Text:
    """The text around a break, its first character marked."""
    text = Text(f"{name:>9}  …{printable(before)}", style="dim")
    text.append(printable(rest[:1]) or "(end)", style="bold reverse")
    text.append(printable(rest[1:]))
    return text
