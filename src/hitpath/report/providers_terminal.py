"""The page of `hitpath providers`: one table, a line a provider, then what must be known of it."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.report.pages import titled
from hitpath.report.terminal_worth import usd
from hitpath.report.text_parts import Page, count, label, percent, table
from hitpath.summary.providers import PredictedCache, ProvidersAnalysis, Refused


def print_providers(page: Page, found: ProvidersAnalysis) -> None:
    """All of it."""
    page.print(titled("What providers' caches would do", _head(found)))
    page.print(_table(found))
    page.print(Padding(_notes(found), (1, 0, 0, 0)))


def _head(found: ProvidersAnalysis) -> str:
    tokens = int(found.prompts.prompt_tokens[found.counted].sum())
    return f"{found.trace.format}, {len(found.counted):,} requests, {tokens:,} prompt tokens"


def _table(found: ProvidersAnalysis) -> RenderableType:
    priced = any(isinstance(its, PredictedCache) and its.bill for its in found.predicted)
    reports = len(found.reported.rows) > 0 or found.reported.usd is not None
    columns = ["", "cached", "hit rate", "written"]
    columns += ["cached, of those reporting"] if reports else []
    columns += ["prompts", "without cache", "with output"] if priced else []
    made = table(*columns)
    for its in found.predicted:
        if isinstance(its, Refused):
            made.add_row(label(its.provider), *["–"] * (len(columns) - 1))
            continue
        made.add_row(*_cells(found, its, reports, priced))
    if reports:
        made.add_row(*_reported_cells(found, priced))
    return made


def _cells(
    found: ProvidersAnalysis, its: PredictedCache, reports: bool, priced: bool
) -> list[RenderableType]:
    rows = found.counted
    cells: list[RenderableType] = [
        label(its.provider),
        count(int(its.read[rows].sum())),
        percent(found.hit_rate(its.read, rows)),
        count(int(its.written[rows].sum()) if its.bills_writes else None),
    ]
    if reports:
        reporting = found.reported.rows
        cells.append(count(int(its.read[reporting].sum()) if len(reporting) else None))
    if priced:
        total = None if its.bill is None else its.bill.total_usd
        cells += [usd(its.prompt_usd), usd(its.without_cache_usd), usd(total)]
    return cells


def _reported_cells(found: ProvidersAnalysis, priced: bool) -> list[RenderableType]:
    told = found.reported
    rate = (
        told.read_tokens / told.prompt_tokens if told.prompt_tokens and told.read_tokens else None
    )
    if told.read_tokens == 0 and told.prompt_tokens:
        rate = 0.0
    cells: list[RenderableType] = [
        f"reported ({len(told.rows):,} requests)",
        count(told.read_tokens),
        percent(rate),
        count(told.written_tokens),
        count(told.read_tokens),
    ]
    return [*cells, "–", "–", usd(told.usd)] if priced else cells


def _notes(found: ProvidersAnalysis) -> RenderableType:
    lines = [
        "Predicted by the providers' documented rules on one machine that forgets nothing before "
        "its time: an upper bound. Nothing was measured."
    ]
    of_several: dict[str, list[str]] = {}
    for its in found.predicted:
        if isinstance(its, Refused):
            lines.append(f"{its.provider}: nothing can be said: {its.cause}")
            continue
        lines.append(f"{its.provider}: {its.rule}{_priced(its)}")
        for note in (*its.notes, *(its.bill.reasons if its.bill else ())):
            of_several.setdefault(note, []).append(its.provider)
    lines += [f"{', '.join(names)}: {note}" for note, names in of_several.items()]
    lines += found.notes
    return Group(*(Text(f"· {line}", style="dim") for line in lines))


def _priced(its: PredictedCache) -> str:
    return "" if its.bill is None else f"; at {its.prices}"
