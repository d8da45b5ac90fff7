"""The smallest fleet that keeps an SLO: JSON and a page for a terminal."""

import math
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from hitpath.report.pages import titled
from hitpath.report.simulate_document import fleet_part, goodput_part
from hitpath.report.simulate_words import fleet_line, miss_line, workload_of
from hitpath.report.terminal_worth import usd
from hitpath.report.text_parts import count, label, percent, table
from hitpath.report.units import number, short_time
from hitpath.serving_spine.size import Found, Sizing, Tried

SCHEMA = "hitpath.size/1"


def size_document(sizing: Sizing) -> dict[str, Any]:
    """The answer, each router's smallest fleet, and all that was tried, in the order of trying."""
    best = sizing.best
    return {
        "schema": SCHEMA,
        "slo": sizing.slo,
        "best": None if best is None else _found(sizing, best),
        "routers": [_found(sizing, found) for found in sizing.found],
        "max_workers": sizing.most_workers,
        "gpus_per_worker": sizing.gpus_per_worker,
        "gpu_hour_usd": sizing.gpu_hour_usd,
        "fleet": fleet_part(sizing.prepared.plan)["groups"][0],
        "workload": workload_of(sizing.prepared),
        "tried": [_tried(sizing, tried) for tried in sizing.tried],
        "warnings": [*sizing.prepared.sending.notes, *sizing.prepared.plan.notes],
    }


def _found(sizing: Sizing, found: Found) -> dict[str, Any]:
    if found.workers is None or found.cell is None:
        return {"router": found.router, "workers": None, "num_gpus": None, "usd_per_hour": None}
    gpus = sizing.gpus_per_worker
    return {
        "router": found.router,
        "workers": found.workers,
        "num_gpus": None if gpus is None else gpus * found.workers,
        "usd_per_hour": sizing.usd_per_hour(found.workers),
        "one_more_breaks_it": found.not_monotone,
        "hit_rate": found.cell.hit_rate,
        "goodput": goodput_part(found.cell.goodput),
    }


def _tried(sizing: Sizing, tried: Tried) -> dict[str, Any]:
    return {
        "router": tried.router,
        "workers": tried.workers,
        "met": tried.met,
        "hit_rate": tried.cell.hit_rate,
        "goodput": goodput_part(tried.cell.goodput),
        "usd_per_hour": sizing.usd_per_hour(tried.workers),
    }


def print_size(sizing: Sizing, console: Console) -> None:
    """The answer first, then how it was found."""
    best = sizing.best
    lines = [label(fleet_line(sizing.prepared.plan)), Text(miss_line(workload_of(sizing.prepared)))]
    for line in lines:
        line.stylize("dim")
    console.print(Padding(Group(_answer(sizing, best), *lines), (1, 0, 1, 2)))
    console.print(titled(f"Smallest fleet of each router that keeps {sizing.slo}", _table(sizing)))
    tried = [f"{t.router} {t.workers}{'✓' if t.met else '✗'}" for t in sizing.tried]
    told = f"{count(len(tried))} fleets tried (✓ kept, ✗ broken): {', '.join(tried)}"
    console.print(titled("What was tried", label_long(told)))
    notes = [
        "between fleets that were tried nothing is known; the load stays as it is, so an answer "
        "holds for this trace and no other",
        *sizing.prepared.sending.notes,
        *sizing.prepared.plan.notes,
    ]
    shown = Group(*(label(f"• {note}") for note in notes))
    console.print(titled("Before you quote a number", shown))


def label_long(text: str) -> Text:
    """A text of our own, which may be longer than a label."""
    return Text(text)


def _answer(sizing: Sizing, best: Found | None) -> Text:
    if best is None or best.workers is None:
        text = f"no fleet of up to {sizing.most_workers:,} workers keeps {sizing.slo}"
        return Text(text, style="bold red")
    answer = Text(f"{best.workers:,} workers with router {best.router}", style="bold green")
    gpus = sizing.gpus_per_worker
    if gpus is not None:
        answer.append(f" ({gpus * best.workers:,} GPUs)", "")
    price = sizing.usd_per_hour(best.workers)
    if price is not None:
        answer.append(f", {usd(price)} an hour", "")
    answer.append(f", {percent(None if best.cell is None else best.cell.hit_rate)} hit rate", "")
    return answer


def _table(sizing: Sizing) -> Group:
    shown = table("router<", "workers", "USD an hour", "hit rate", "goodput", "bounds~")
    for found in sizing.found:
        if found.workers is None or found.cell is None:
            shown.add_row(found.router, f"> {sizing.most_workers}", "–", "–", "–", "")
            continue
        goodput = found.cell.goodput
        assert goodput is not None
        bounds = ", ".join(f"{b.statistic} {_value(b.value_s)}" for b in goodput.bounds)
        more = "; one worker more breaks it" if found.not_monotone else ""
        shown.add_row(
            found.router,
            count(found.workers),
            usd(sizing.usd_per_hour(found.workers)),
            percent(found.cell.hit_rate),
            "–" if goodput.per_s is None else f"{number(goodput.per_s)}/s",
            Text(bounds + more, style="dim"),
            style="bold" if found is sizing.best else "",
        )
    return Group(shown)


def _value(value: float | None) -> str:
    if value is None:
        return "–"
    return short_time(value) if math.isfinite(value) else "never"
