"""What was simulated, in one line each: for the terminal and the page."""

from typing import Any

from hitpath.report.text_parts import count, seconds
from hitpath.report.units import number, short_time
from hitpath.serving_spine import Prepared, Simulation
from hitpath.sim.serving.records import Link, Tier
from hitpath.sim.serving_alone import alone_ttft_s
from hitpath.sim.serving_plan import FleetPlan, GroupPlan
from hitpath.summary.serving_records import Part, Serving


def fleet_line(plan: FleetPlan) -> str:
    """Workers by group; what groups behind each other have in common is told once."""
    told: dict[str, list[str]] = {}
    for group in plan.groups:
        told.setdefault(_rules_words(group), []).append(_count_words(group))
    groups = (" and ".join(counts) + _each(counts, rules) for rules, counts in told.items())
    return "fleet: " + " + ".join(groups)


def _each(counts: list[str], rules: str) -> str:
    return rules if len(counts) == 1 else f", each{rules}"


def group_words(group: GroupPlan) -> str:
    """One group: how many, on what, with which cache and rules."""
    return _count_words(group) + _rules_words(group)


def _count_words(group: GroupPlan) -> str:
    workers = "1 worker" if group.count == 1 else f"{group.count:,} workers"
    return workers if group.role == "both" else f"{workers} for {group.role}"


def _rules_words(group: GroupPlan) -> str:
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
        f"{on}, {cache}, {group.engine} rules, blocks of {settings.block_size:,}, "
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


def between_line(plan: FleetPlan) -> str:
    """What lies between and behind the workers; nothing where there is nothing."""
    settings, words = plan.settings, []
    if settings.transfer is not None:
        words.append(f"KV is handed over at {_link_words(settings.transfer)}")
    for name, tier in (("host tier", settings.host), ("shared store", settings.remote)):
        if tier is not None:
            words.append(f"{name} {_tier_words(tier, settings.block_size)}")
    if settings.changes:
        num = len(settings.changes)
        words.append("1 change of a worker" if num == 1 else f"{num:,} changes of workers")
    if settings.ttft_constant_s:
        words.append(f"client and network {short_time(settings.ttft_constant_s)}")
    return " · ".join(words)


def _tier_words(tier: Tier, block_size: int) -> str:
    blocks = tier.capacity_blocks
    size = "without a bound" if blocks is None else f"of {blocks * block_size:,} tokens"
    return f"{size} at {_link_words(tier.link)}"


def _link_words(link: Link) -> str:
    late = f" and {short_time(link.latency_s)}" if link.latency_s else ""
    return f"{number(link.bytes_per_s / 1e9)} GB/s{late}"


def tiers_line(serving: Serving) -> str:
    """Where the hits were, if not all on the device."""
    tiers = serving.hit_tokens_by_tier
    if tiers["device"] == serving.whole.hit_tokens:
        return ""
    told = (f"{tokens:,} {name}" for name, tokens in tiers.items() if tokens)
    return f"hits by tier: {', '.join(told)}"


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


def requests_line(serving: Serving) -> str:
    """How many requests the sums of tokens are of."""
    sent, admitted = serving.whole.num_sent, serving.num_admitted
    return (
        f"{sent:,} requests" if sent == admitted else f"{admitted:,} of {sent:,} requests admitted"
    )


def requests_of(simulation: Simulation, worker: int) -> int:
    """How many the router sent to a worker, or a prefill worker handed over to it."""
    outcome = simulation.served.outcome
    served = simulation.serving.per_worker[worker]
    if served.role != "decode":
        return served.part.num_sent
    return int((outcome.decode_worker == worker).sum())


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
