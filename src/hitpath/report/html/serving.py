"""A simulated fleet as one self-contained page: what its template is filled with."""

from dataclasses import dataclass
from typing import Any, ClassVar

from hitpath import __version__
from hitpath.accounting.rates import ratio
from hitpath.report.document import setting_part, tokens_part
from hitpath.report.html import render_page
from hitpath.report.html import serving_sentences as sentences
from hitpath.report.html.measures import capacity_view
from hitpath.report.html.repeat import parted
from hitpath.report.html.sentences import Note
from hitpath.report.html.sentences import unknown as unknown_sentence
from hitpath.report.html.serving_figures import latency_plot, stage_plot, time_plots
from hitpath.report.html.tables import group_tables, problems
from hitpath.report.html.view import (
    Command,
    Fact,
    GroupTable,
    Part,
    Picture,
    Problems,
    Rate,
    Table,
    Waterfall,
)
from hitpath.report.html.waterfall import waterfall_view
from hitpath.report.html.words import TOKENS, Unit, pct
from hitpath.report.simulate_words import (
    between_line,
    fleet_line,
    group_words,
    load_line,
    miss_line,
    rates_line,
    requests_of,
    router_line,
    tiers_line,
    workload_of,
)
from hitpath.report.text_parts import count, seconds
from hitpath.report.units import number, short_time
from hitpath.serving_spine import Simulation
from hitpath.summary.serving_records import Goodput, Serving, Spread

MOST_WORKERS = 200


@dataclass(frozen=True, slots=True)
class ServingPage:
    """Everything between <html> and </html>."""

    template: ClassVar[str] = "serving.html.j2"
    title: str
    unit: Unit
    rate: str
    rate_text: str
    rate_name: str
    steady: str
    beside: tuple[str, ...]
    whole: tuple[Part, ...]
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]
    latency: Picture
    slo_note: Note | None
    slo: Table | None
    load: Table
    load_foot: str
    funnel_note: Note
    funnel: tuple[Part, ...]
    funnel_foot: str
    waterfall: Waterfall
    rates: tuple[Rate, ...]
    capacity: Picture | None
    time: Picture | None
    stages: Picture | None
    workers: Picture | None
    groups: tuple[GroupTable, ...]
    unknown_text: str
    unknown: tuple[Fact, ...]
    problems: tuple[Problems, ...]
    settings: tuple[Fact, ...]
    command: Command
    version: str
    holds_text: bool = False


def render_serving(simulation: Simulation, command: str) -> bytes:
    """The page. The same simulation and command give the same bytes."""
    return render_page(serving_view(simulation, command))


def serving_view(simulation: Simulation, command: str) -> ServingPage:
    """Everything that the template needs."""
    serving, analysis = simulation.serving, simulation.analysis
    tokens = tokens_part(analysis)
    slo = serving.goodput
    plan = simulation.prepared.plan
    advice = sentences.elsewhere(plan.router.router.index.source != "none")
    return ServingPage(
        title="hitpath simulate",
        unit=TOKENS,
        rate=pct(serving.whole.hit_rate),
        rate_text=sentences.headline(serving),
        rate_name="token-weighted hit rate of the simulated fleet",
        steady=pct(analysis.steady.token_weighted),
        beside=tuple(filter(None, (fleet_line(plan), between_line(plan), router_line(plan)))),
        whole=_whole(tokens),
        facts=_facts(simulation),
        warnings=analysis.warnings,
        latency=_latency(simulation),
        slo_note=None if slo is None else sentences.slo(slo),
        slo=None if slo is None else _slo(slo),
        load=_load(serving),
        load_foot=f"{miss_line(workload_of(simulation.prepared)).capitalize()}.",
        funnel_note=sentences.funnel(serving.funnel, advice),
        funnel=_funnel(serving),
        funnel_foot=tiers_line(serving).capitalize(),
        waterfall=waterfall_view(analysis, {"elsewhere": advice}),
        rates=_rates(simulation),
        capacity=capacity_view(analysis, None),
        time=_time(serving),
        stages=_stages(simulation),
        workers=_workers(simulation),
        groups=group_tables({**analysis.groups, "worker": []}, TOKENS),
        unknown_text=unknown_sentence(list(tokens["not_known"]), TOKENS),
        unknown=tuple(
            Fact(name.replace("_", " "), why) for name, why in tokens["not_known"].items()
        ),
        problems=problems(analysis.trace),
        settings=_settings(simulation),
        command=parted(command),
        version=__version__,
    )


def _whole(tokens: dict[str, Any]) -> tuple[Part, ...]:
    from hitpath.report.html.charts import stacked

    prompt, hit, cold = tokens["prompt"], tokens["hit"], tokens["causes"]["cold"] or 0
    named = (
        ("hit", "hit", hit),
        ("lost", "could have hit", prompt - hit - cold),
        ("floor", "cold", cold),
    )
    places = stacked([value for _, _, value in named])
    return tuple(
        Part(css, name, count(value), pct(ratio(value, prompt)), left, width)
        for (css, name, value), (left, width) in zip(named, places, strict=True)
    )


def _facts(simulation: Simulation) -> tuple[Fact, ...]:
    serving, plan = simulation.serving, simulation.prepared.plan
    whole = serving.whole
    facts = [Fact("requests", count(whole.num_sent))]
    if serving.num_admitted < whole.num_sent:
        facts.append(Fact("of them admitted", count(serving.num_admitted)))
    facts += [
        Fact("prompt tokens", count(whole.prompt_tokens)),
        Fact("TTFT p50", duration(whole.latency.ttft_s.p50)),
        Fact("TTFT p90", duration(whole.latency.ttft_s.p90)),
        Fact("output tokens/s", number(whole.throughput.output_tokens_per_s)),
        Fact("workers", count(plan.settings.num_workers)),
    ]
    if plan.num_gpus is not None:
        facts.append(Fact("GPUs", count(plan.num_gpus)))
    facts.append(Fact("virtual time", seconds(serving.end_s - serving.begin_s)))
    return tuple(facts)


def duration(value: float | None) -> str:
    """Seconds in their unit, on one line; a dash where there are none."""
    return "–" if value is None else short_time(value).replace(" ", "\u00a0")


def _latency(simulation: Simulation) -> Picture:
    serving = simulation.serving
    latency = serving.whole.latency
    rows = (
        ("time to first token (TTFT)", latency.ttft_s, "sent to first token"),
        ("per output token (TPOT)", latency.tpot_s, "each token behind the first"),
        ("whole request (E2E)", latency.e2e_s, "sent to last token"),
        ("waiting", serving.waited_s, "sent to admitted, within TTFT"),
    )
    table = Table(
        "Latency",
        ("<", "mean", "p50", "p90", "p99", "what it is<"),
        tuple(
            (name, *map(duration, (q.mean, q.p50, q.p90, q.p99)), meaning)
            for name, q, meaning in rows
        ),
    )
    plot = latency_plot(simulation.served)
    foot = f"{rates_line(serving.whole).capitalize()}. Percentiles are of the served requests."
    return Picture(sentences.latency(serving), () if plot is None else (plot,), table, foot)


def _slo(goodput: Goodput) -> Table:
    rows = []
    for bound in goodput.bounds:
        value = "–" if bound.value_s is None else duration(bound.value_s)
        value = "never" if bound.value_s == float("inf") else value
        verdict = "kept" if bound.met else "broken"
        rows.append((bound.statistic, f"< {duration(bound.below_s)}", value, verdict))
    return Table("The SLO", ("statistic<", "bound", "simulated", "verdict<"), tuple(rows))


def _load(serving: Serving) -> Table:
    whole = serving.whole

    def cells(spread: Spread, shown: Any) -> tuple[str, ...]:
        return tuple(shown(value) for value in (spread.mean, spread.p90, spread.max))

    ended = ", ".join(
        f"{count(num)} {name.replace('_', ' ')}" for name, num in whole.endings.items() if num
    )
    rows = (
        ("queue", *cells(whole.queue, number), "requests that wait on a worker"),
        ("KV in use", *cells(whole.kv_use, pct), "share of a worker's cache"),
        ("requests", count(whole.num_sent), "", "", ended),
        (
            "preempted",
            count(serving.num_preemptions),
            "",
            "",
            f"{count(serving.recomputed_tokens)} tokens computed again"
            if serving.num_preemptions
            else "",
        ),
    )
    return Table("Queue and memory", ("<", "mean or number", "p90", "max", "what it is<"), rows)


def _funnel(serving: Serving) -> tuple[Part, ...]:
    funnel = serving.funnel
    steps = (
        ("all", "prompt", funnel.prompt, ""),
        ("o2", "ever computed", funnel.ever, "somewhere, by an earlier request"),
        ("o2", "on the best worker", funnel.best, "still there, or in flight there"),
        ("o2", "on the chosen worker", funnel.chosen, "where the router sent it"),
        ("hit", "delivered", funnel.delivered, "hit"),
    )
    return tuple(
        Part(
            css,
            name,
            count(tokens),
            pct(ratio(tokens, funnel.prompt)),
            0.0,
            100 * (ratio(tokens, funnel.prompt) or 0.0),
            plain,
        )
        for css, name, tokens, plain in steps
    )


def _rates(simulation: Simulation) -> tuple[Rate, ...]:
    analysis = simulation.analysis
    names = {
        "token_weighted": ("token-weighted", "hit tokens / prompt tokens"),
        "request_mean_token_full": ("request mean", "each request's share, averaged"),
        "block_weighted": ("block-weighted", "hit blocks / blocks"),
    }
    rates = []
    for name, (label, meaning) in names.items():
        whole, steady = getattr(analysis.hit_rate, name), getattr(analysis.steady, name)
        main = name == "token_weighted"
        rates.append(Rate(label, meaning, pct(whole), pct(steady), 100 * (whole or 0), main))
    return tuple(rates)


def _time(serving: Serving) -> Picture | None:
    plots = time_plots(serving.windows)
    if not plots:
        return None
    rows = tuple(
        (
            f"+{seconds(window.begin_s - serving.begin_s)}",
            count(window.num_sent),
            duration(window.ttft_p90_s),
            pct(window.hit_rate),
            number(window.waiting),
            number(window.running),
            pct(window.kv_use),
            number(window.output_tokens_per_s),
        )
        for window in serving.windows
    )
    columns = (
        "window<", "sent", "TTFT p90", "hit rate", "waiting", "running", "KV use", "tokens/s",
    )  # fmt: skip
    return Picture(
        sentences.over_time(serving.windows), plots, Table("Windows of equal width", columns, rows)
    )


def _stages(simulation: Simulation) -> Picture | None:
    serving = simulation.serving
    if not serving.per_stage:
        return None
    rates = [stage.rate_per_s for stage in simulation.prepared.file.load.stages]
    rows = tuple(
        (
            str(stage.stage),
            number(rates[stage.stage]),
            count(stage.part.num_sent),
            count(stage.part.endings["served"]),
            pct(stage.part.hit_rate),
            duration(stage.part.latency.ttft_s.mean),
            duration(stage.part.latency.ttft_s.p90),
            number(stage.part.throughput.output_tokens_per_s),
            number(stage.part.queue.mean),
            pct(stage.part.kv_use.mean),
        )
        for stage in serving.per_stage
    )
    columns = (
        "stage<", "asked/s", "sent", "served", "hit rate", "TTFT mean", "TTFT p90", "tokens/s",
        "queue", "KV use",
    )  # fmt: skip
    plot = stage_plot(serving.per_stage, rates)
    plots = () if plot is None else (plot,)
    return Picture(
        sentences.stages(serving.per_stage, rates), plots, Table("Stages", columns, rows)
    )


def _workers(simulation: Simulation) -> Picture | None:
    serving = simulation.serving
    if len(serving.per_worker) < 2:
        return None
    rows = tuple(
        (
            worker.name if worker.role == "both" else f"{worker.name}, {worker.role}",
            count(requests_of(simulation, number_of)),
            pct(worker.part.hit_rate),
            duration(worker.part.latency.ttft_s.p90),
            number(worker.part.queue.mean),
            pct(worker.part.kv_use.mean),
            pct(worker.busy_frac),
            count(worker.evicted_tokens),
        )
        for number_of, worker in enumerate(serving.per_worker[:MOST_WORKERS])
    )
    columns = (
        "worker<", "requests", "hit rate", "TTFT p90", "queue", "KV use", "busy", "evicted tokens",
    )  # fmt: skip
    more = len(serving.per_worker) - MOST_WORKERS
    foot = f"… and {more:,} more (--json)." if more > 0 else ""
    table = Table("Workers", columns, rows)
    return Picture(sentences.workers(serving.per_worker), (), table, foot)


def _settings(simulation: Simulation) -> tuple[Fact, ...]:
    plan, setting = simulation.prepared.plan, setting_part(simulation.analysis)
    facts = [Fact(group.name, group_words(group)) for group in plan.groups]
    between = between_line(plan)
    if between:
        facts.append(Fact("between and behind them", between))
    facts += [
        Fact("router", router_line(plan).removeprefix("router ")),
        Fact("load", load_line(simulation).removeprefix("load: ")),
        Fact("last token always computed", "yes" if setting["last_token"] else "no"),
        Fact("trace format", simulation.analysis.trace.format),
    ]
    return tuple(facts)
