"""`hitpath price --json`: schema "hitpath.price/1". Fields are added, never renamed."""

import math
from typing import Any

from hitpath.cost.break_even import Crossover
from hitpath.cost.kv import kv_elements_per_token, state_elements
from hitpath.cost.parameters import (
    active_parameters,
    head_parameters,
    linear_parameters,
    num_parameters,
)
from hitpath.cost.paths import Part, Path, Replica
from hitpath.cost.quote import Quote, TierQuote
from hitpath.cost.sweep import SweepPoint

SCHEMA = "hitpath.price/1"

TPOT_WHY = (
    "after the first token both paths have the same tokens in the cache and run the same steps: "
    "a prefix cache shortens prefill only"
)


def price_document(
    quote: Quote, axis: str | None, points: list[SweepPoint], gpu_hour_usd: float | None
) -> dict[str, Any]:
    """The whole document, ready for JSON."""
    faster = quote.speedup
    return {
        "schema": SCHEMA,
        "model": _model(quote),
        "hardware": _hardware(quote.replica),
        "setting": _setting(quote),
        "miss": _path(quote.miss),
        "hit": _path(quote.hit),
        "speedup": faster.ttft,
        "speedup_ceiling": faster.ttft_ceiling,
        "request": {
            "hit_rate": faster.hit_rate,
            "decode_s": faster.decode_s,
            "prefill_frac": faster.prefill_frac,
            "speedup": faster.request,
            "speedup_ceiling": _finite(faster.request_ceiling),
        },
        "tpot_s": faster.tpot_s,
        "tpot_why": TPOT_WHY,
        "break_even": _break_even(quote),
        "sweep": None
        if axis is None
        else {"by": axis, "points": [_point(point, gpu_hour_usd) for point in points]},
        "notes": list(quote.notes),
    }


def _model(quote: Quote) -> dict[str, Any]:
    shape, formats = quote.replica.shape, quote.replica.formats
    return {
        "name": shape.name,
        "source": shape.source,
        "params": num_parameters(shape),
        "active_params": active_parameters(shape),
        "linear_params": linear_parameters(shape),
        "head_params": head_parameters(shape),
        "weight_bytes": num_parameters(shape) * formats.weight_bytes,
        "kv_bytes_per_token": kv_elements_per_token(shape) * formats.kv_bytes,
        "state_elements": state_elements(shape),
        "prefix_kv_bytes": quote.prefix_bytes,
    }


def _hardware(replica: Replica) -> dict[str, Any]:
    hardware, roofline = replica.hardware, replica.roofline
    return {
        "name": hardware.name,
        "title": hardware.title,
        "source": hardware.source,
        "num_gpus": roofline.num_gpus,
        "efficiency": roofline.efficiency,
        "efficiency_origin": roofline.origin,
        "matrix_type": roofline.matrix_type,
        "attention_type": roofline.attention_type,
        "matrix_flops_per_s": roofline.matrix_flops_per_s,
        "attention_flops_per_s": roofline.attention_flops_per_s,
        "memory_bytes_per_s": roofline.memory_bytes_per_s,
        "link_bytes_per_s": roofline.link_bytes_per_s,
        "step_overhead_s": roofline.step_overhead_s,
        "ridge": roofline.matrix_ridge,
        "attention_ridge": roofline.attention_ridge,
        "notes": list(hardware.notes),
    }


def _setting(quote: Quote) -> dict[str, Any]:
    q, formats = quote.question, quote.replica.formats
    return {
        "prompt_tokens": q.prompt_tokens,
        "cached_tokens": q.cached_tokens,
        "output_tokens": q.output_tokens,
        "batch": q.batch,
        "chunk_tokens": q.chunk_tokens,
        "weights": formats.weights,
        "kv": formats.kv,
        "lookup_s": q.lookup_s,
        "queue_s": q.queue_s,
    }


def _path(path: Path) -> dict[str, Any]:
    return {
        "tokens_computed": path.tokens_computed,
        "tokens_cached": path.tokens_cached,
        "num_steps": path.num_steps,
        "flops": path.flops,
        "intensity": path.intensity,
        "parts": {name: _part(name, part) for name, part in path.parts.items()},
        "compute_s": path.compute_s,
        "overhead_s": path.overhead_s,
        "lookup_s": path.lookup_s,
        "queue_s": path.queue_s,
        "ttft_s": path.ttft_s,
    }


def _part(name: str, part: Part) -> dict[str, Any]:
    told = {
        "flops": part.flops,
        "weight_bytes": part.weight_bytes,
        "kv_bytes": part.kv_bytes,
        "other_bytes": part.other_bytes,
        "sent_bytes": part.sent_bytes,
        "intensity": part.intensity,
        "intensity_all_bytes": part.intensity_all_bytes,
        "bound": part.bound,
        "time_s": part.time_s,
    }
    if name == "attention":
        told["flops_per_layer"] = part.flops_per_layer
        told["layers"] = part.layers
    return told


def _break_even(quote: Quote) -> dict[str, Any]:
    return {
        "compute_bound_new_tokens": quote.compute_bound_new_tokens,
        "saved_s": quote.saved_s,
        "lookup": {
            "lookup_s": quote.question.lookup_s,
            **_crossover(quote.lookup),
            "hit_share_needed": quote.hit_share_needed,
        },
        "tiers": {tier.tier.name: _tier(tier) for tier in quote.tiers},
    }


def _tier(found: TierQuote) -> dict[str, Any]:
    return {
        "bytes_per_s": found.tier.bytes_per_s,
        "per_gpu": found.tier.per_gpu,
        "latency_s": found.tier.latency_s,
        "load_s": found.load_s,
        "ttft_s": found.ttft_s,
        **_crossover(found.crossover),
        "rate_needed_bytes_per_s": found.rate_needed_bytes_per_s,
        "hit_rate_needed": found.hit_rate_needed,
    }


def _crossover(found: Crossover) -> dict[str, int | None]:
    return {
        "from_tokens": found.from_tokens,
        "always_from_tokens": found.always_from_tokens,
    }


def _point(point: SweepPoint, gpu_hour_usd: float | None) -> dict[str, Any]:
    hours = point.gpu_s_per_mtok / 3600
    return {
        "prompt_tokens": point.prompt_tokens,
        "cached_tokens": point.cached_tokens,
        "batch": point.batch,
        "hit_rate": point.hit_rate,
        "miss_ttft_s": point.miss_ttft_s,
        "hit_ttft_s": point.hit_ttft_s,
        "speedup": point.speedup,
        "hit_flops": point.hit_flops,
        "gpu_s_per_mtok": point.gpu_s_per_mtok,
        "usd_per_mtok": None if gpu_hour_usd is None else hours * gpu_hour_usd,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
