"""The commands about costs: price, rules, calibrate. Each parses, then makes one call."""

import shlex
import sys
from typing import Annotated

import typer

from hitpath.cli_options import Chunk, Efficiency, GpuHour, Json, Mla, Tp, Weights


def price(
    model: Annotated[str, typer.Option(help="Built-in name or config.json.")],
    hardware: Annotated[str, typer.Option(help="Built-in name or a measured hardware file.")],
    tp: Tp = 1,
    prompt: Annotated[int, typer.Option(help="Prompt tokens.")] = 4096,
    cached: Annotated[
        int | None, typer.Option(help="Of them cached [default: all but 64].")
    ] = None,
    batch: Annotated[int, typer.Option(help="Equal requests at once.")] = 1,
    chunk: Chunk = None,
    weights: Weights = "bf16",
    kv: Annotated[str, typer.Option("--kv", help="bf16, fp16, fp8, int8, int4, fp4.")] = "bf16",
    output: Annotated[int, typer.Option(help="Output tokens.")] = 256,
    efficiency: Efficiency = "ideal",
    mla: Mla = "faster",
    fit: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Fit the efficiency to measured TTFT and TPOT rows."),
    ] = None,
    lookup_s: Annotated[float, typer.Option(help="Seconds to look a prefix up.")] = 0.0,
    queue_s: Annotated[float, typer.Option(help="Seconds of waiting before a step.")] = 0.0,
    host_gb_s: Annotated[
        float | None, typer.Option(help="Host memory to a GPU [default: the hardware's link].")
    ] = None,
    disk_gb_s: Annotated[float, typer.Option(help="Disk to the GPUs, assumed.")] = 7.0,
    network_gb_s: Annotated[float, typer.Option(help="Network to the GPUs, assumed.")] = 12.5,
    load_latency_s: Annotated[float, typer.Option(help="Seconds before a load begins.")] = 0.0,
    gpu_hour: GpuHour = None,
    tier_usd_hour: Annotated[
        float | None, typer.Option(help="USD of a cache tier an hour.")
    ] = None,
    prompt_tokens_per_s: Annotated[
        float | None, typer.Option(help="Prompt tokens a second that the tier would serve.")
    ] = None,
    sweep: Annotated[
        str | None, typer.Option(help="Draw a curve: cached, prompt, batch or hit-rate.")
    ] = None,
    json_file: Json = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE.html", help="Both paths on the roofline.")
    ] = None,
) -> None:
    """What a hit is worth: both paths' FLOPs, bytes and seconds, and where it begins to pay."""
    from hitpath.report.price import PriceJob, run_price

    run_price(
        PriceJob(
            model=model,
            hardware=hardware,
            tp=tp,
            prompt=prompt,
            cached=cached,
            batch=batch,
            chunk=chunk,
            weights=weights,
            kv=kv,
            output=output,
            efficiency=efficiency,
            fit=fit,
            mla=mla,
            lookup_s=lookup_s,
            queue_s=queue_s,
            host_gb_s=host_gb_s,
            disk_gb_s=disk_gb_s,
            network_gb_s=network_gb_s,
            load_latency_s=load_latency_s,
            gpu_hour_usd=gpu_hour,
            tier_usd_per_hour=tier_usd_hour,
            prompt_tokens_per_s=prompt_tokens_per_s,
            sweep=sweep,
            json=json_file,
            plot=plot,
            command=shlex.join(["hitpath", *sys.argv[1:]]),
        )
    )


def rules(
    prices: Annotated[
        str, typer.Argument(metavar="PROVIDER/MODEL", help="As anthropic/claude-opus-4-5.")
    ],
    prompt: Annotated[int, typer.Option(help="Prompt tokens.")] = 60_000,
    cached: Annotated[
        int | None, typer.Option(help="Of them in the cached prefix [default: nine tenths].")
    ] = None,
    output: Annotated[int, typer.Option(help="Output tokens.")] = 500,
    requests: Annotated[int, typer.Option(help="Requests that follow a change.")] = 10,
    edit_at: Annotated[
        int | None, typer.Option(help="An edit of the prompt: its first changed token.")
    ] = None,
    remove: Annotated[int | None, typer.Option(help="Tokens that the edit takes out.")] = None,
    keep: Annotated[
        int | None, typer.Option(help="A compaction: leading tokens that it keeps.")
    ] = None,
    summary: Annotated[int | None, typer.Option(help="Tokens of its summary.")] = None,
    date: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="Prices at noon UTC of that day [default: now]."),
    ] = None,
    json_file: Json = None,
) -> None:
    """A provider's cache: what a write, a lapse, an edit or a compaction costs; when it pays."""
    from hitpath.report.rules import RulesJob, run_rules

    run_rules(
        RulesJob(
            prices=prices,
            prompt=prompt,
            cached=prompt * 9 // 10 if cached is None else cached,
            output=output,
            requests=requests,
            edit_at=edit_at,
            remove=remove,
            keep=keep,
            summary=summary,
            date=date,
            json=json_file,
        )
    )


def calibrate(
    out: Annotated[str, typer.Option("--out", metavar="FILE|-", help="The hardware file.")],
    dtype: Annotated[
        str | None,
        typer.Option(metavar="fp32,bf16", help="Types [default: both; fp32 without torch]."),
    ] = None,
    seconds: Annotated[float, typer.Option(help="About how long to measure.")] = 20.0,
    device: Annotated[
        str | None, typer.Option(metavar="cpu|cuda", help="[default: cuda where there is one].")
    ] = None,
) -> None:
    """Measure this machine: memory, matrix products, attention; for price --hardware FILE."""
    from hitpath.report.calibration import run_calibrate

    run_calibrate(out, dtype, seconds, device)
