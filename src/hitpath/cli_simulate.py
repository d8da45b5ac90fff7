"""The commands of the serving simulator: simulate, size. Each parses, then makes one call."""

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from hitpath.cli_options import (
    Html,
    Json,
    KeepOutputs,
    LedgerFile,
    Map,
    SkipBadRows,
    SplitModels,
    Tokenizer,
    Traces,
)

Fleet = Annotated[
    str | None, typer.Option(metavar="FILE.toml", help="The fleet; options go over it.")
]
Workers = Annotated[int | None, typer.Option(help="Workers [default: 1].")]
Router = Annotated[
    str | None,
    typer.Option(metavar="NAME[:OPTION=VALUE,...]", help="As llmd-precise:prefix=3,queue=2."),
]
Model = Annotated[str | None, typer.Option(help="Built-in name or config.json.")]
Hardware = Annotated[str | None, typer.Option(help="Built-in name or a measured hardware file.")]
Tp = Annotated[int | None, typer.Option("--tp", help="GPUs of a worker.")]
Weights = Annotated[str | None, typer.Option(help="Type of the weights [default: bf16].")]
KVDtype = Annotated[str | None, typer.Option("--kv-dtype", help="Type of KV [default: bf16].")]
Efficiency = Annotated[
    str | None, typer.Option(help="ideal, achievable, or compute=,memory=,link=,overhead_s=.")
]
Fit = Annotated[
    str | None, typer.Option(metavar="FILE", help="Measured rows that tell the efficiency.")
]
Engine = Annotated[
    str | None, typer.Option(help="Rules of vllm (the default), sglang, trtllm or hitpath.")
]
CapacityTokens = Annotated[
    int | None, typer.Option(help="KV cache of a worker [default: what memory leaves].")
]
Unlimited = Annotated[bool, typer.Option("--unlimited", help="No bound on the KV cache.")]
MemoryFrac = Annotated[float | None, typer.Option(help="Of a GPU's memory that is used.")]
BlockSize = Annotated[int | None, typer.Option(help="Tokens a block.")]
MaxBatchTokens = Annotated[int | None, typer.Option(help="Tokens a step.")]
MaxRunning = Annotated[int | None, typer.Option(help="Requests a step.")]
Arrivals = Annotated[
    str | None, typer.Option(help="trace (the default), poisson, constant or closed.")
]
Scale = Annotated[float | None, typer.Option(help="How many times as fast as the trace.")]
Rate = Annotated[float | None, typer.Option(help="Requests (closed: sessions) a second.")]
ThinkS = Annotated[
    float | None, typer.Option(help="closed: seconds between a reply and what follows it.")
]
OutputTokens = Annotated[
    int | None, typer.Option(help="Output of requests that do not tell theirs.")
]
Slo = Annotated[
    str | None, typer.Option(metavar="ttft_p90<0.5,...", help="ttft, tpot, e2e; mean or p; s.")
]
Seed = Annotated[int | None, typer.Option(help="Of arrivals, routers and lost events.")]
GpuHour = Annotated[float | None, typer.Option(help="USD of a GPU-hour.")]
IndexLag = Annotated[float | None, typer.Option(help="Seconds that KV events come late.")]
IndexLoss = Annotated[float | None, typer.Option(help="Share of the KV events that is lost.")]
ScrapeIntervalS = Annotated[float | None, typer.Option(help="Between two looks at metrics.")]
ScrapeAgeS = Annotated[float | None, typer.Option(help="How old metrics are at a choice.")]
MaxInFlight = Annotated[int | None, typer.Option(help="Requests beyond fail at once.")]

_AXIS = re.compile(r"[a-z_]+=.")


def simulate(
    traces: Traces,
    fleet: Fleet = None,
    workers: Workers = None,
    router: Router = None,
    model: Model = None,
    hardware: Hardware = None,
    tp: Tp = None,
    weights: Weights = None,
    kv_dtype: KVDtype = None,
    efficiency: Efficiency = None,
    fit: Fit = None,
    engine: Engine = None,
    capacity_tokens: CapacityTokens = None,
    unlimited: Unlimited = False,
    memory_frac: MemoryFrac = None,
    block_size: BlockSize = None,
    max_batch_tokens: MaxBatchTokens = None,
    max_running: MaxRunning = None,
    arrivals: Arrivals = None,
    scale: Scale = None,
    rate: Rate = None,
    think_s: ThinkS = None,
    output_tokens: OutputTokens = None,
    outputs: KeepOutputs = "",
    slo: Slo = None,
    scrape_interval_s: ScrapeIntervalS = None,
    scrape_age_s: ScrapeAgeS = None,
    index_lag: IndexLag = None,
    index_loss: IndexLoss = None,
    max_in_flight: MaxInFlight = None,
    seed: Seed = None,
    gpu_hour: GpuHour = None,
    split_models: SplitModels = False,
    tokenizer: Tokenizer = None,
    fields: Map = None,
    skip_bad_rows: SkipBadRows = False,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS=A,B...", help="A grid: router, workers, capacity, block_size, rate, ..."
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="What the best cell is best by [default: ttft_p90; goodput with --slo]."),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Of a sweep [default: all cores].")] = None,
    json_file: Json = None,
    ledger: LedgerFile = None,
    html: Html = None,
    perfetto: Annotated[
        str | None, typer.Option(metavar="FILE.json", help="A Chrome trace, for Perfetto.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="FILE.csv|.parquet", help="A sweep's cells, a row each.")
    ] = None,
    svg: Annotated[str | None, typer.Option(metavar="FILE.svg", help="A picture.")] = None,
) -> None:
    """Serve a trace on a simulated fleet: latency, throughput, hits, and where they were lost."""
    flags = _flags(
        {
            "worker.count": workers,
            "router.name": router,
            "worker.model": model,
            "worker.hardware": hardware,
            "worker.tp": tp,
            "worker.weights": weights,
            "worker.kv_dtype": kv_dtype,
            "worker.efficiency": efficiency,
            "worker.fit": fit,
            "worker.engine": engine,
            "worker.capacity_tokens": capacity_tokens,
            "worker.unlimited": unlimited or None,
            "worker.memory_frac": memory_frac,
            "worker.block_size": block_size,
            "worker.max_batch_tokens": max_batch_tokens,
            "worker.max_running": max_running,
            "load.arrivals": arrivals,
            "load.scale": scale,
            "load.rate_per_s": rate,
            "load.think_s": think_s,
            "load.output_tokens": output_tokens,
            "outputs": outputs or None,
            "slo": slo,
            "router.scrape_interval_s": scrape_interval_s,
            "router.scrape_age_s": scrape_age_s,
            "router.index_lag_s": index_lag,
            "router.index_loss_frac": index_loss,
            "router.max_in_flight": max_in_flight,
            "seed": seed,
            "gpu_hour_usd": gpu_hour,
        }
    )
    paths, axes = _axes_apart(traces, sweep or [])
    from hitpath.report.simulate import SimulateJob, run_simulate

    run_simulate(
        SimulateJob(
            traces=paths,
            fleet=fleet,
            flags=flags,
            tokenizer=tokenizer,
            split_models=split_models,
            mapping=fields or (),
            skip_bad_rows=skip_bad_rows,
            json=json_file,
            ledger=ledger,
            html=html,
            perfetto=perfetto,
            svg=svg,
            table=table,
            sweep=axes,
            objective=objective,
            threads=threads,
            command=_command(),
        )
    )


def size(
    slo: Slo = None,
    traces: Annotated[
        list[str] | None, typer.Option("--trace", metavar="TRACE", help="As for simulate.")
    ] = None,
    model: Model = None,
    hardware: Hardware = None,
    tp: Tp = None,
    weights: Weights = None,
    kv_dtype: KVDtype = None,
    efficiency: Efficiency = None,
    fit: Fit = None,
    engine: Engine = None,
    fleet: Fleet = None,
    routers: Annotated[
        list[str] | None, typer.Option("--router", metavar="NAME", help="To try; once for each.")
    ] = None,
    max_workers: Annotated[int, typer.Option(help="No larger fleet is tried.")] = 64,
    capacity_tokens: CapacityTokens = None,
    block_size: BlockSize = None,
    arrivals: Arrivals = None,
    scale: Scale = None,
    rate: Rate = None,
    think_s: ThinkS = None,
    output_tokens: OutputTokens = None,
    outputs: KeepOutputs = "",
    seed: Seed = None,
    gpu_hour: GpuHour = None,
    split_models: SplitModels = False,
    tokenizer: Tokenizer = None,
    fields: Map = None,
    skip_bad_rows: SkipBadRows = False,
    json_file: Json = None,
) -> None:
    """The smallest fleet that keeps an SLO on a trace, and the best router for it."""
    flags = _flags(
        {
            "slo": slo,
            "worker.model": model,
            "worker.hardware": hardware,
            "worker.tp": tp,
            "worker.weights": weights,
            "worker.kv_dtype": kv_dtype,
            "worker.efficiency": efficiency,
            "worker.fit": fit,
            "worker.engine": engine,
            "worker.capacity_tokens": capacity_tokens,
            "worker.block_size": block_size,
            "load.arrivals": arrivals,
            "load.scale": scale,
            "load.rate_per_s": rate,
            "load.think_s": think_s,
            "load.output_tokens": output_tokens,
            "outputs": outputs or None,
            "seed": seed,
            "gpu_hour_usd": gpu_hour,
        }
    )
    from hitpath.report.simulate import SimulateJob, run_size

    run_size(
        SimulateJob(
            traces=traces or [],
            fleet=fleet,
            flags=flags,
            tokenizer=tokenizer,
            split_models=split_models,
            mapping=fields or (),
            skip_bad_rows=skip_bad_rows,
            json=json_file,
            routers=routers or (),
            most_workers=max_workers,
            command=_command(),
        )
    )


def _flags(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was typed."""
    return {name: value for name, value in typed.items() if value is not None}


def _axes_apart(traces: list[str], sweep: list[str]) -> tuple[list[str], list[str]]:
    """Words behind `--sweep A=1,2 B=3,4` are axes, unless there is such a file."""
    if not sweep:
        return traces, sweep
    axes = [word for word in traces if _AXIS.match(word) and not Path(word).exists()]
    return [word for word in traces if word not in axes], [*sweep, *axes]


def _command() -> str:
    return shlex.join(["hitpath", *sys.argv[1:]])
