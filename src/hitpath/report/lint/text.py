"""The terminal page of `hitpath lint`: a line a finding as compilers write it, then what to do."""

from rich.text import Text

from hitpath.core import one_line
from hitpath.doctor.lint import Linted
from hitpath.doctor.lint_record import Finding, LookedAt
from hitpath.report.text_parts import Page, count, label


def print_lint(linted: Linted, baseline_written: str | None, page: Page) -> None:
    """New findings; the others only as a number."""
    for one in linted.new:
        for line in _lines(one):
            page.print(line, soft_wrap=True)
    page.print(_summary(linted))
    for told in not_looked_at(linted.looked_at):
        page.print(Text(told, style="yellow"), soft_wrap=True)
    if baseline_written is not None:
        told = f"{len(linted.findings):,} findings written to {baseline_written}: known from now on"
        page.print(label(told))


def _lines(one: Finding) -> list[Text]:
    style = "dim" if one.level == "note" else "bold red"
    head = Text(one_line(one.place), style="bold")
    head.append(f" {one.rule.id} {one.rule.kind}", style=style)
    head.append(f" {one_line(one.message)}")
    lines = [head]
    where = []
    if one.json_path is not None:
        where.append(f"{one.json_path}, character {count(one.char_offset)}")
    if one.num_requests is not None and one.of_requests is not None:
        where.append(f"changed in {one.num_requests:,} of {one.of_requests:,} requests")
    elif one.num_requests is not None:
        where.append(f"in {_counted(one.num_requests, 'request')}")
    if one.chars_behind is not None:
        where.append(f"{count(one.chars_behind)} characters of instructions behind it")
    if where:
        lines.append(label(f"    {'; '.join(where)}"))
    if one.excerpt:
        lines.append(label(f"    {one.excerpt}"))
    lines.append(Text(f"    {one.rule.fix}", style="dim"))
    return lines


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def not_looked_at(looked_at: LookedAt) -> list[str]:
    """What passed without a look, for silence would look like a pass."""
    told = []
    all_of = f"of {_counted(looked_at.num_requests or 0, 'request')}"
    if looked_at.num_requests == 0:
        told.append("no request in the input: nothing was looked at")
    if looked_at.num_one_text:
        told.append(
            f"not looked at: {looked_at.num_one_text:,} {all_of}, one text as `prompt`, of which "
            "nothing says what is instructions; hitpath doctor compares such prompts"
        )
    if looked_at.num_without_instructions:
        told.append(
            f"not looked at: {looked_at.num_without_instructions:,} {all_of}, without instructions "
            "or tools; hitpath doctor compares what users said too"
        )
    return told


def _summary(linted: Linted) -> Text:
    num_notes = len(linted.new) - linted.num_failures
    num_known = len(linted.findings) - len(linted.new)
    parts = [_counted(linted.num_failures, "new finding" if num_known else "finding")]
    if num_notes:
        parts.append(_counted(num_notes, "note"))
    if num_known:
        parts.append(f"{num_known:,} known from the baseline")
    looked = [
        _counted(number, name)
        for number, name in (
            (linted.looked_at.num_source_files, "Python file"),
            (linted.looked_at.num_requests, "request"),
        )
        if number is not None
    ]
    where = f" in {' and '.join(looked)}" if looked else ""
    return Text(", ".join(parts) + where, style="bold red" if linted.num_failures else "bold green")
