"""A sampled trace's estimates: the same JSON schema with what sampling can tell, and a page.

What is not estimated is null, with the reason; per-request outputs do not exist.
"""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.accounting.rates import HitRates, ratio
from hitpath.core import CAUSES, RUNG_NAMES
from hitpath.cost.models import ModelKV
from hitpath.report.document import SCHEMA, capacity_for, curve_capacities
from hitpath.report.text_parts import count, label, percent, table
from hitpath.summary import Estimate, Estimated

WHY = "not estimated under --sample"


def _rates(estimated: Estimated) -> dict[str, Any]:
    names = dict.fromkeys(HitRates.__dataclass_fields__)
    return {**names, "token_weighted": estimated.rate, "error_95": estimated.error_95}


def sampled_document(estimate: Estimate, model: ModelKV | None) -> dict[str, Any]:
    """The document of a sampled trace, ready for JSON."""
    trace, setting = estimate.trace, estimate.setting
    assert trace.thinned is not None
    prompt = int(trace.prompt_tokens[trace.counted].sum())
    return {
        "schema": SCHEMA,
        "trace": {
            "format": trace.format,
            "num_requests": len(trace),
            "prompt_tokens": prompt,
            "output_tokens": None,
            "block_size": estimate.engine.block_size,
            "identity": trace.identity,
            "num_skipped_rows": trace.skipped.num,
            "num_excluded_rows": len(trace.excluded),
            "first_arrival_s": float(trace.arrival_s.min()) if trace.has_times else None,
            "last_arrival_s": float(trace.arrival_s.max()) if trace.has_times else None,
        },
        "setting": {
            "engine": setting.engine,
            "last_token": setting.last_token,
            "outputs": setting.outputs,
            "capacity_tokens": setting.capacity_tokens,
            "workers": 1,
            "router": None,
            "seed": setting.seed,
        },
        "sample": {
            "one_in": trace.thinned.one_in,
            "num_blocks": estimate.num_blocks,
            "num_kept_blocks": estimate.num_kept,
            "error": "half width of the 95 % interval for the choice of blocks",
        },
        "hit_rate": _rates(estimate.hit_rate),
        "steady": _rates(estimate.steady),
        "tokens": _tokens(estimate, prompt),
        "ladder": _ladder(estimate, prompt),
        "curve": _curve(estimate, prompt),
        "capacity_for": capacity_for(estimate.curve),
        "capacity_for_gib": None
        if model is None
        else {
            share: None if tokens is None else model.gib(tokens)
            for share, tokens in capacity_for(estimate.curve).items()
        },
        "warnings": list(estimate.warnings),
    }


def _estimated_tokens(estimated: Estimated, prompt: int) -> int | None:
    return None if estimated.rate is None else round(estimated.rate * prompt)


def _tokens(estimate: Estimate, prompt: int) -> dict[str, Any]:
    hit = _estimated_tokens(estimate.hit_rate, prompt)
    ever = _estimated_tokens(estimate.ceiling, prompt)
    causes: dict[str, int | None] = dict.fromkeys(CAUSES)
    if hit is not None and ever is not None:
        causes["evicted"] = max(0, ever - hit)
        causes["cold"] = prompt - max(hit, ever)
    return {
        "prompt": prompt,
        "hit": hit,
        "hit_by_tier": {"device": hit},
        "causes": causes,
        "reasons": {},
        "evicted_split": None,
        "unexplained": None,
        "excess": None,
        "not_known": {name: WHY for name, value in causes.items() if value is None},
    }


def _ladder(estimate: Estimate, prompt: int) -> list[dict[str, Any]]:
    rates = {0: estimate.hit_rate, 4: estimate.ceiling}
    rungs = []
    for i, name in enumerate(RUNG_NAMES):
        estimated = rates.get(i)
        tokens = None if estimated is None else _estimated_tokens(estimated, prompt)
        rate = None if estimated is None else estimated.rate
        if i == len(RUNG_NAMES) - 1:
            tokens, rate = prompt, ratio(prompt, prompt)
        rungs.append({"rung": i, "name": name, "tokens": tokens, "hit_rate": rate})
    return rungs


def _rate_at(estimate: Estimate, blocks: int, prompt: int) -> float | None:
    curve = estimate.curve
    return curve.at(blocks) * estimate.scale * curve.block_size / prompt if prompt else None


def _curve(estimate: Estimate, prompt: int) -> dict[str, Any]:
    curve = estimate.curve
    marks = [tokens // curve.block_size for tokens in capacity_for(curve).values() if tokens]
    return {
        "policy": "lru",
        "scope": "one cache for all requests, estimated",
        "points": [
            {
                "capacity_tokens": int(blocks) * curve.block_size,
                "hit_rate": _rate_at(estimate, int(blocks), prompt),
            }
            for blocks in curve_capacities(curve, marks)
        ],
    }


def print_sampled(estimate: Estimate, model: ModelKV | None, console: Console) -> None:
    """The page of a sampled trace."""
    for part in _page(estimate, model):
        console.print(Padding(part, (1, 0, 0, 2)))


def _plus_minus(estimated: Estimated) -> str:
    if estimated.rate is None or estimated.error_95 is None:
        return "–"
    return f"{percent(estimated.rate)} ± {estimated.error_95 * 100:.2f}"


def _page(estimate: Estimate, model: ModelKV | None) -> Iterable[RenderableType]:
    trace = estimate.trace
    assert trace.thinned is not None
    yield Group(
        Text.assemble(
            (_plus_minus(estimate.hit_rate), "bold green"),
            " of prompt tokens hit (estimate, 95 % interval)",
        ),
        Text(
            f"{trace.format} trace · {count(len(trace))} requests · one block in "
            f"{trace.thinned.one_in} kept: {count(estimate.num_kept)} of "
            f"{count(estimate.num_blocks)}",
        ),
    )
    rates = table("token-weighted hit rate<", "estimate, 95 % interval")
    rates.add_row("this cache", _plus_minus(estimate.hit_rate))
    rates.add_row("second half", _plus_minus(estimate.steady))
    rates.add_row("unlimited cache", _plus_minus(estimate.ceiling))
    yield rates
    columns = ["of the ceiling<", "smallest cache, tokens (estimate)"]
    sizes = table(*columns, *([f"GiB, {model.name} {model.kv_dtype}"] if model else []))
    for share, tokens in capacity_for(estimate.curve).items():
        gib = [] if model is None else ["–" if tokens is None else f"{model.gib(tokens):,.1f}"]
        sizes.add_row(f"{float(share):.0%}", count(tokens), *gib)
    yield sizes
    yield Text("causes, rows and tables need the whole trace: leave out --sample", style="dim")
    if estimate.warnings:
        yield Group(*(label(f"• {note}") for note in estimate.warnings))
