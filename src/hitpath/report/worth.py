"""GPU time and money of an analysis as parts of its JSON document."""

from dataclasses import asdict
from typing import Any

from hitpath.summary.billed import Billed
from hitpath.summary.decode_bound import DecodeBound
from hitpath.summary.hit_classes import HitClass
from hitpath.summary.priced import Priced, Worth

TTFT_NOTE = "of the prefill alone, from the cost model: no queue, no other request in its steps"


def price_part(priced: Priced | None) -> dict[str, Any] | None:
    """Prefill by label; None where it was not asked for."""
    if priced is None:
        return None
    pricing = priced.pricing
    replica = pricing.replica
    return {
        "model": replica.shape.name,
        "hardware": replica.hardware.name,
        "num_gpus": replica.num_gpus,
        "weights": replica.formats.weights,
        "kv": replica.formats.kv,
        "efficiency": replica.roofline.efficiency,
        "gpu_hour_usd": pricing.gpu_hour_usd,
        "chunk_tokens": pricing.chunk_tokens,
        "num_requests": len(priced.requests.rows),
        "num_left_out": priced.left_out,
        "hit_rate": priced.hit_rate,
        "span_s": priced.span_s,
        "miss": _worth(priced, priced.miss),
        "served": _worth(priced, priced.served),
        "avoided": _worth(priced, priced.avoided),
        "wasted": {
            name: None if worth is None else _worth(priced, worth)
            for name, worth in priced.labels.items()
        },
        "floor": _worth(priced, priced.floor),
        "ttft": {
            "note": TTFT_NOTE,
            "classes": {found.name: _class(found) for found in priced.ttft},
        },
        "decode": None if priced.decode is None else decode_part(priced.decode),
    }


def _worth(priced: Priced, worth: Worth) -> dict[str, Any]:
    return {**asdict(worth), "gpu_hours_per_day": priced.gpu_hours_per_day(worth)}


def _class(found: HitClass) -> dict[str, Any]:
    told = asdict(found)
    del told["name"]
    return told


def decode_part(decode: DecodeBound) -> dict[str, Any]:
    """The bound, with the workload and the miss cost that any speed-up needs beside it."""
    return {
        **asdict(decode),
        "hit_rate": decode.hit_tokens / decode.prompt_tokens,
        "prompt_per_output_token": decode.prompt_tokens / decode.output_tokens,
        "prefill_frac": decode.prefill_frac,
        "gained": decode.gained,
        "ceiling": decode.ceiling,
    }


def bill_part(billed: Billed | None) -> dict[str, Any] | None:
    """The provider's bill; None where it was not asked for."""
    if billed is None:
        return None
    bill = billed.bill
    apart = billed.difference
    return {
        "prices": [{**asdict(used), "notes": list(used.notes)} for used in billed.used],
        "num_requests": bill.num_rows,
        "buckets": {name: asdict(bucket) for name, bucket in bill.buckets.items()},
        "total_usd": bill.total_usd,
        "known_usd": bill.known_usd,
        "without_cache_usd": billed.without_cache_usd,
        "saved_usd": billed.saved_usd,
        "missed_usd": dict(billed.missed_usd),
        "read_frac": billed.read_frac,
        "break_even_read_frac": _finite(billed.break_even_read_frac),
        "reported": None
        if apart is None
        else {
            "num_requests": apart.num_rows,
            "num_left_out": apart.num_rows_left_out,
            "recomputed_usd": apart.recomputed_usd,
            "reported_usd": apart.reported_usd,
            "difference_usd": apart.difference_usd,
            "num_differing": apart.num_rows_differing,
            "farthest_id": billed.farthest_id,
        },
        "not_known": list(bill.reasons),
        "notes": list(billed.notes),
    }


def _finite(value: float | None) -> float | None:
    """None for "never": a read saves nothing."""
    return None if value is None or value == float("inf") else value
