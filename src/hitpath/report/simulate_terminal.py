"""A simulated fleet as a page for a terminal."""

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.accounting.rates import ratio
from hitpath.core import CAUSES
from hitpath.report.document import ladder_part, tokens_part, trace_part
from hitpath.report.pages import titled
from hitpath.report.simulate_words import (
    between_line,
    fleet_line,
    load_line,
    miss_line,
    rates_line,
    requests_line,
    requests_of,
    router_line,
    tiers_line,
    workload_of,
)
from hitpath.report.terminal_parts import problems
from hitpath.report.text_parts import bar, count, label, levels, percent, seconds, table
from hitpath.report.units import number, short_time
from hitpath.serving_spine import Simulation
from hitpath.summary.serving_records import (
    Goodput,
    Part,
    Quantiles,
    Serving,
    ServingWindow,
    Spread,
)

MOST_WORKERS = 16
MOST_STAGES = 24
_STYLES = {"hit": "green", "elsewhere": "yellow", "evicted": "red", "cold": "bright_black"}
_BAR = 22


def print_simulation(simulation: Simulation, console: Console) -> None:
    """The whole page."""
    for section in sections(simulation):
        console.print(section)


def sections(simulation: Simulation) -> Iterable[RenderableType]:
    """The page, part by part."""
    serving = simulation.serving
    yield _head(simulation)
    yield from problems(simulation.analysis.trace)
    yield titled("Latency", _latency(serving))
    yield titled("Load", _load(simulation))
    if serving.goodput is not None:
        yield titled(f"SLO {serving.goodput.slo}", _goodput(serving.goodput))
    yield titled("Funnel: where a reusable prefix was lost", _funnel(serving))
    yield titled("Where every prompt token went", _causes(simulation))
    yield titled("Ladder: what would have hit if …", _ladder(simulation))
    if len(serving.per_worker) > 1:
        yield titled("Workers", _workers(simulation))
    if serving.per_stage:
        yield titled("Stages", _stages(simulation))
    if serving.windows:
        yield titled("Over time", _over_time(serving.windows))
    yield titled("Before you quote a number", _notes(simulation))


def _head(simulation: Simulation) -> RenderableType:
    serving, trace = simulation.serving, trace_part(simulation.analysis)
    ttft = serving.whole.latency.ttft_s
    big = Text.assemble(
        (duration(ttft.p90), "bold green"),
        " to the first token at p90 ",
        (f"(p50 {duration(ttft.p50)}, p99 {duration(ttft.p99)})", "dim"),
        ", ",
        (percent(serving.whole.hit_rate), "bold green"),
        " of prompt tokens hit",
    )
    read = (
        f"{trace['format']} trace · {requests_line(serving)} · "
        f"{count(serving.whole.prompt_tokens)} prompt tokens · over "
        f"{seconds(serving.end_s - serving.begin_s)} of virtual time"
    )
    plan = simulation.prepared.plan
    lines = (fleet_line(plan), between_line(plan), router_line(plan), load_line(simulation))
    shown = (Text(line, style="dim") for line in lines if line)
    return Padding(Group(big, label(read), *shown), (1, 0, 1, 2))


def duration(value: float | None) -> str:
    """Seconds in their unit, a dash where there are none."""
    return "–" if value is None else short_time(value)


def _latency(serving: Serving) -> RenderableType:
    shown = table("<", "mean", "p50", "p90", "p99", "what it is~")
    latency = serving.whole.latency
    rows: tuple[tuple[str, Quantiles, str], ...] = (
        ("TTFT", latency.ttft_s, "sent to first token"),
        ("TPOT", latency.tpot_s, "each further token"),
        ("E2E", latency.e2e_s, "sent to last token"),
        ("waited", serving.waited_s, "sent to admitted, within TTFT"),
    )
    for name, found, meaning in rows:
        values = (found.mean, found.p50, found.p90, found.p99)
        shown.add_row(name, *map(duration, values), Text(meaning, style="dim"))
    return shown


def _load(simulation: Simulation) -> RenderableType:
    serving = simulation.serving
    whole = serving.whole
    shown = table("<", "mean", "p90", "max", "what it is~")
    shown.add_row("queue", *_spread(whole.queue, number), _dim("requests waiting on a worker"))
    shown.add_row("KV use", *_spread(whole.kv_use, percent), _dim("of a worker's cache, in use"))
    ended = ", ".join(
        f"{count(num)} {name.replace('_', ' ')}" for name, num in whole.endings.items() if num
    )
    lines = [f"{rates_line(whole)} · {ended}"]
    if serving.num_preemptions:
        lines.append(
            f"{count(serving.num_preemptions)} preemptions, {count(serving.recomputed_tokens)} "
            "tokens computed again"
        )
    lines.append(miss_line(workload_of(simulation.prepared)))
    return Group(shown, *(_dim(line) for line in lines))


def _spread(spread: Spread, shown: Callable[[float | None], str]) -> list[str]:
    return [shown(value) for value in (spread.mean, spread.p90, spread.max)]


def _dim(text: str) -> Text:
    return Text(text, style="dim")


def _goodput(goodput: Goodput) -> RenderableType:
    shown = table("statistic<", "bound", "simulated", "<")
    for bound in goodput.bounds:
        value = "–" if bound.value_s is None else or_never(bound.value_s)
        verdict = Text("kept", "green") if bound.met else Text("broken", "red")
        shown.add_row(bound.statistic, f"< {short_time(bound.below_s)}", value, verdict)
    per_s = "" if goodput.per_s is None else f", goodput {number(goodput.per_s)} requests/s"
    return Group(shown, _dim(f"{count(goodput.num_good)} requests keep them themselves{per_s}"))


def or_never(value: float) -> str:
    """Infinity is a request without an answer."""
    return "never" if value == float("inf") else short_time(value)


def _funnel(serving: Serving) -> RenderableType:
    funnel = serving.funnel
    shown = table("step<", "tokens", "of the prompt", "=", "lost before it~")
    steps = (
        ("prompt", funnel.prompt, ""),
        ("ever computed", funnel.ever, "never computed before"),
        ("on the best worker", funnel.best, "evicted, or cut by block rules"),
        ("on the chosen worker", funnel.chosen, "the router chose another"),
        ("delivered", funnel.delivered, "still in flight there"),
    )
    for name, tokens, lost in steps:
        share = ratio(tokens, funnel.prompt)
        style = "green" if name == "delivered" else "cyan"
        shown.add_row(name, count(tokens), percent(share), bar(share, _BAR, style), _dim(lost))
    share = ratio(funnel.believed, funnel.prompt)
    notes = [tiers_line(serving)]
    if funnel.believed:
        notes.append(
            f"the router believed {count(funnel.believed)} ({percent(share)}) of its choices"
        )
    return Group(shown, *(_dim(note) for note in notes if note))


def _causes(simulation: Simulation) -> RenderableType:
    tokens = tokens_part(simulation.analysis)
    shown = table("label<", "tokens", "share", "=")
    rows = [("hit", tokens["hit"])]
    rows += [(cause, tokens["causes"][cause]) for cause in CAUSES]
    for name, value in rows:
        if value is None:
            continue
        share = ratio(value, tokens["prompt"])
        shown.add_row(
            name.replace("_", " "),
            count(value),
            percent(share),
            bar(share, _BAR, _STYLES.get(name, "magenta")),
            style="" if value else "dim",
        )
        for reason, part in tokens["reasons"].get(name, {}).items():
            if part:
                of_prompt = percent(ratio(part, tokens["prompt"]))
                shown.add_row(f"  {reason.replace('_', ' ')}", count(part), of_prompt, style="dim")
    shown.add_section()
    shown.add_row("prompt", count(tokens["prompt"]), percent(ratio(1, 1)), style="bold")
    return shown


def _ladder(simulation: Simulation) -> RenderableType:
    shown = table("rung<", "tokens", "hit rate", "=")
    for rung in ladder_part(simulation.analysis):
        if rung["tokens"] is not None:
            name = f"{rung['rung']}  {rung['name']}"
            style = "green" if rung["rung"] == 0 else "cyan"
            rate = rung["hit_rate"]
            shown.add_row(name, count(rung["tokens"]), percent(rate), bar(rate, _BAR, style))
    return shown


def _workers(simulation: Simulation) -> RenderableType:
    workers = simulation.serving.per_worker
    shown = table(
        "worker<", "requests", "hit rate", "TTFT p90", "queue", "KV use", "busy", "evicted tokens"
    )
    for number_of, worker in enumerate(workers[:MOST_WORKERS]):
        part = worker.part
        name = worker.name if worker.role == "both" else f"{worker.name}, {worker.role}"
        shown.add_row(
            name,
            count(requests_of(simulation, number_of)),
            percent(part.hit_rate),
            duration(part.latency.ttft_s.p90),
            number(part.queue.mean),
            percent(part.kv_use.mean),
            percent(worker.busy_frac),
            count(worker.evicted_tokens),
        )
    return _with_more(shown, len(workers) - MOST_WORKERS)


def _with_more(shown: RenderableType, more: int) -> RenderableType:
    return Group(shown, _dim(f"… and {more:,} more (--json)")) if more > 0 else shown


def _stages(simulation: Simulation) -> RenderableType:
    shown = table(
        "stage<", "asked/s", "sent", "served", "hit rate", "TTFT mean", "TTFT p90", "tokens/s",
        "queue", "KV use",
    )  # fmt: skip
    stages = simulation.serving.per_stage
    for stage in stages[:MOST_STAGES]:
        part: Part = stage.part
        shown.add_row(
            str(stage.stage),
            number(simulation.prepared.file.load.stages[stage.stage].rate_per_s),
            count(part.num_sent),
            count(part.endings["served"]),
            percent(part.hit_rate),
            duration(part.latency.ttft_s.mean),
            duration(part.latency.ttft_s.p90),
            number(part.throughput.output_tokens_per_s),
            number(part.queue.mean),
            percent(part.kv_use.mean),
        )
    return _with_more(shown, len(stages) - MOST_STAGES)


def _over_time(windows: Sequence[ServingWindow]) -> RenderableType:
    shown = table("<", "<", "lowest", "highest")
    rows = (
        ("hit rate", [w.hit_rate for w in windows], percent, "green"),
        ("TTFT p90", [w.ttft_p90_s for w in windows], duration, "yellow"),
        ("waiting", [w.waiting for w in windows], number, "red"),
        ("running", [w.running for w in windows], number, "cyan"),
        ("KV use", [w.kv_use for w in windows], percent, "magenta"),
        ("output tokens/s", [w.output_tokens_per_s for w in windows], number, "cyan"),
    )
    for name, values, text, style in rows:
        known = [value for value in values if value is not None]
        if known:
            line = Text(levels(values, max(known)), style=style)
            shown.add_row(name, line, text(min(known)), text(max(known)))
    step = short_time(windows[0].end_s - windows[0].begin_s)
    note = f"{len(windows)} windows of {step}; bars from 0 to the highest; waiting and running: "
    return Group(shown, _dim(note + "a worker"))


def _notes(simulation: Simulation) -> RenderableType:
    notes = [
        "a simulation: steps take what the cost model says, and everything else takes no time",
        *simulation.analysis.warnings,
    ]
    return Group(*(label(f"• {note}") for note in notes))
