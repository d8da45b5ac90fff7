"""A simulated fleet as one JSON document, schema "hitpath.simulation/1": all that `analyze` writes
of the requests as they were admitted, and the fleet's figures. Fields are added, never renamed;
null is "not known" or "there is none", never 0."""

import math
from dataclasses import asdict, fields
from typing import Any

from hitpath.report.document import document
from hitpath.report.document import setting_part as analysis_setting_part
from hitpath.report.simulate_words import workload_of
from hitpath.serving_spine import Simulation
from hitpath.sim.serving_plan import FleetPlan, GroupPlan
from hitpath.summary.serving_records import Funnel, Goodput, Part, Serving, WorkerPart

SCHEMA = "hitpath.simulation/1"


def simulation_document(simulation: Simulation) -> dict[str, Any]:
    """The whole document, ready for JSON."""
    serving = simulation.serving
    whole = serving.whole
    of_tokens = document(simulation.analysis, None)
    return {
        **of_tokens,
        "schema": SCHEMA,
        "setting": _setting_part(simulation),
        "tokens": {**of_tokens["tokens"], "hit_by_tier": dict(serving.hit_tokens_by_tier)},
        "fleet": fleet_part(simulation.prepared.plan),
        "load": load_part(simulation),
        "workload": workload_of(simulation.prepared),
        "requests": {
            "num_sent": whole.num_sent,
            "num_admitted": serving.num_admitted,
            **whole.endings,
            "num_preemptions": serving.num_preemptions,
            "recomputed_tokens": serving.recomputed_tokens,
        },
        "latency": asdict(whole.latency),
        "waited_s": asdict(serving.waited_s),
        "throughput": asdict(whole.throughput),
        "goodput": goodput_part(serving.goodput),
        "queue": asdict(whole.queue),
        "kv_use": asdict(whole.kv_use),
        "funnel": funnel_part(serving.funnel),
        "cost": cost_part(simulation),
        "per_worker": [_worker(worker) for worker in serving.per_worker],
        "per_stage": _stages(serving),
        "timeline": [asdict(window) for window in serving.windows],
    }


def _setting_part(simulation: Simulation) -> dict[str, Any]:
    """As `analyze` has it, with the fleet's own router, engine and number of workers."""
    plan = simulation.prepared.plan
    return {
        **analysis_setting_part(simulation.analysis),
        "engine": plan.groups[0].engine,
        "router": plan.router.text,
        "workers": plan.settings.num_workers,
        "workers_from": "fleet",
        "seed": simulation.prepared.file.seed,
    }


def fleet_part(plan: FleetPlan) -> dict[str, Any]:
    """Workers by group, router, and what lies between."""
    settings = plan.settings
    return {
        "num_workers": settings.num_workers,
        "num_gpus": plan.num_gpus,
        "groups": [_group(group) for group in plan.groups],
        "router": {
            "name": plan.router.text,
            "index": settings.router.index.source,
            "index_block_tokens": plan.router.block_tokens,
            "scrape_interval_s": settings.scrape_interval_s,
            "scrape_age_s": settings.scrape_age_s,
            "index_lag_s": settings.index_lag_s,
            "index_loss_frac": settings.index_loss_frac,
            "max_in_flight": settings.max_in_flight,
        },
        "transfer": None if settings.transfer is None else asdict(settings.transfer),
        "host": None if settings.host is None else asdict(settings.host),
        "remote": None if settings.remote is None else asdict(settings.remote),
        "changes": [asdict(change) for change in settings.changes],
        "ttft_constant_s": settings.ttft_constant_s,
    }


def _group(group: GroupPlan) -> dict[str, Any]:
    replica, settings = group.replica, group.settings
    told = asdict(settings)
    del told["capacity_blocks"]
    return {
        "count": group.count,
        "role": group.role,
        "engine": group.engine,
        "model": None if replica is None else replica.shape.name,
        "hardware": None if replica is None else replica.hardware.name,
        "num_gpus": None if replica is None else replica.num_gpus,
        "efficiency": None if replica is None else replica.roofline.efficiency,
        "capacity_tokens": group.capacity_tokens,
        "capacity_from": group.capacity_from,
        "kv_bytes_per_token": group.kv_bytes_per_token,
        "lookup_s_per_block": group.steps.lookup_s_per_block,
        **told,
    }


def load_part(simulation: Simulation) -> dict[str, Any]:
    """How requests were sent."""
    load = simulation.prepared.file.load
    return {
        "arrivals": load.arrivals,
        "scale": load.scale,
        "rate_per_s": load.rate_per_s,
        "think_s": load.think_s,
        "output_tokens": load.output_tokens,
        "drain": load.drain if load.stages else None,
        "stages": [
            {"rate_per_s": s.rate_per_s, "requests": s.requests, "duration_s": s.duration_s}
            for s in load.stages
        ],
        "outputs": simulation.prepared.file.outputs,
        "begin_s": simulation.serving.begin_s,
        "end_s": simulation.serving.end_s,
    }


def goodput_part(goodput: Goodput | None) -> dict[str, Any] | None:
    """None where no SLO is told; a bound's value is null where it is infinite or there is none."""
    if goodput is None:
        return None
    return {
        "slo": goodput.slo,
        "met": goodput.met,
        "bounds": [
            {
                "statistic": bound.statistic,
                "below_s": bound.below_s,
                "value_s": finite(bound.value_s),
                "met": bound.met,
            }
            for bound in goodput.bounds
        ],
        "num_good": goodput.num_good,
        "requests_per_s": goodput.per_s,
    }


def finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return None if value is None or not math.isfinite(value) else value


def funnel_part(funnel: Funnel) -> dict[str, Any]:
    """Tokens of each step, and their share of all prompt tokens."""

    def step(tokens: int) -> dict[str, Any]:
        return {"tokens": tokens, "frac": tokens / funnel.prompt if funnel.prompt else None}

    return {
        "prompt": step(funnel.prompt),
        "ever_computed": step(funnel.ever),
        "best_worker": step(funnel.best),
        "chosen_worker": step(funnel.chosen),
        "delivered": step(funnel.delivered),
        "router_believed": step(funnel.believed),
    }


def cost_part(simulation: Simulation) -> dict[str, Any] | None:
    """GPU time of the whole fleet over the run; None where steps have constant times."""
    num_gpus = simulation.prepared.plan.num_gpus
    if num_gpus is None:
        return None
    serving, hour = simulation.serving, simulation.prepared.file.gpu_hour_usd
    gpu_hours = num_gpus * (serving.end_s - serving.begin_s) / 3600
    return {
        "num_gpus": num_gpus,
        "gpu_hours": gpu_hours,
        "gpu_hour_usd": hour,
        "usd_per_hour": None if hour is None else num_gpus * hour,
        "usd": None if hour is None else gpu_hours * hour,
    }


def part_of(part: Part) -> dict[str, Any]:
    """The figures that the whole, a worker and a stage share."""
    return {
        "num_sent": part.num_sent,
        **part.endings,
        "prompt_tokens": part.prompt_tokens,
        "hit_tokens": part.hit_tokens,
        "hit_rate": part.hit_rate,
        "latency": asdict(part.latency),
        "throughput": asdict(part.throughput),
        "queue": asdict(part.queue),
        "kv_use": asdict(part.kv_use),
    }


def _worker(worker: WorkerPart) -> dict[str, Any]:
    told = {f.name: getattr(worker, f.name) for f in fields(worker) if f.name != "part"}
    return {**told, **part_of(worker.part)}


def _stages(serving: Serving) -> list[dict[str, Any]] | None:
    if not serving.per_stage:
        return None
    return [
        {"stage": s.stage, "begin_s": s.begin_s, "end_s": s.end_s, **part_of(s.part)}
        for s in serving.per_stage
    ]
