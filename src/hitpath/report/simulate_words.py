"""What was simulated, in one line each: for the terminal and the page."""

from typing import Any

from hitpath.report.text_parts import count, seconds
from hitpath.report.units import number, short_time
from hitpath.serving_spine import Prepared, Simulation
from hitpath.sim.serving_alone import alone_ttft_s
from hitpath.sim.serving_plan import FleetPlan, GroupPlan
from hitpath.summary.serving_records import Part


def fleet_line(plan: FleetPlan) -> str:
    """Workers by group."""
    return "fleet: " + " + ".join(map(group_words, plan.groups))


def group_words(group: GroupPlan) -> str:
    """One group: how many, on what, with which cache and rules."""
    workers = "1 worker" if group.count == 1 else f"{group.count:,} workers"
    if group.role != "both":
        workers += f" for {group.role}"
    replica = group.replica
    on = ""
    if replica is not None:
        on = f" of {replica.num_gpus} x {replica.hardware.name} with {replica.shape.name}"
        on += f" (efficiency {replica.roofline.efficiency})"
    cache = (
        "unlimited cache"
        if group.capacity_tokens is None
        else f"{count(group.capacity_tokens)} KV tokens each ({_FROM[group.capacity_from]})"
    )
    settings = group.settings
    return (
        f"{workers}{on}, {cache}, {group.engine} rules, blocks of {settings.block_size:,}, "
        f"{settings.max_batch_tokens:,} tokens a step"
    )


_FROM = {"given": "as given", "memory": "what memory leaves"}


def router_line(plan: FleetPlan) -> str:
    """The router, and how old and how true what it sees is."""
    settings = plan.settings
    words = [f"router {plan.router.text}, seed {settings.seed}"]
    if settings.scrape_interval_s:
        age = short_time(settings.scrape_age_s)
        words.append(f"metrics every {short_time(settings.scrape_interval_s)}, {age} old")
    if settings.index_lag_s:
        words.append(f"events {short_time(settings.index_lag_s)} late")
    if settings.index_loss_frac:
        words.append(f"{settings.index_loss_frac:.2%} of them lost")
    if settings.max_in_flight is not None:
        words.append(f"{settings.max_in_flight:,} requests in flight at most")
    return " · ".join(words)


def load_line(simulation: Simulation) -> str:
    """How requests were sent."""
    load, file = simulation.prepared.file.load, simulation.prepared.file
    match load.arrivals:
        case "trace":
            words = "arrivals of the trace"
            if load.scale is not None:
                words += f", {load.scale:g} times as fast"
        case "closed":
            think = "as in the trace" if load.think_s is None else seconds(load.think_s)
            words = f"closed loop by session, think time {think}"
        case kind:
            words = f"{kind} arrivals"
    if load.rate_per_s is not None:
        words += f" at {load.rate_per_s:g}/s"
    if load.stages:
        rates = [stage.rate_per_s for stage in load.stages]
        drained = "drained, " if load.drain else ""
        words += f" in {len(rates)} stages, {drained}{min(rates):g} to {max(rates):g}/s"
    kept = "replies are not reused"
    if file.outputs == "insert":
        has_tokens = bool(simulation.prepared.inputs.trace.has_output.any())
        kept = "replies stay cached" if has_tokens else "the trace has no replies to cache"
    return f"load: {words} · {kept}"


def rates_line(part: Part) -> str:
    """Throughput, or that there is none."""
    found = part.throughput
    if found.output_tokens_per_s is None:
        return "everything at one moment: no throughput"
    return (
        f"{number(found.output_tokens_per_s)} output tokens/s, "
        f"{number(found.requests_per_s)} requests/s"
    )


def workload_of(prepared: Prepared) -> dict[str, Any]:
    """What any gain is to be read beside: the requests, and what a miss costs. miss_ttft_s: a
    prompt of the mean length, alone on an idle worker of the first group, nothing cached."""
    requests, plan = prepared.inputs.requests, prepared.plan
    group = plan.groups[0]
    mean_prompt = float(requests.prompt_tokens.mean())
    alone = alone_ttft_s(group.steps, group.settings, max(1, round(mean_prompt)))
    return {
        "num_requests": len(requests),
        "mean_prompt_tokens": mean_prompt,
        "mean_output_tokens": float(requests.output_tokens.mean()),
        "miss_ttft_s": alone + plan.settings.ttft_constant_s,
    }


def miss_line(workload: dict[str, Any]) -> str:
    """What any gain is to be read beside."""
    return (
        f"a mean request: {workload['mean_prompt_tokens']:,.0f} prompt and "
        f"{workload['mean_output_tokens']:,.0f} output tokens; such a prompt alone, nothing "
        f"cached: {short_time(workload['miss_ttft_s'])} to the first token"
    )
