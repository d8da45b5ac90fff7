"""`hitpath doctor`: parse, then one call."""

import shlex
import sys
from typing import Annotated

import typer

from hitpath.cli_options import (
    BlockSize,
    CapacityGiB,
    CapacityTokens,
    Efficiency,
    Engine,
    GpuHour,
    Json,
    KeepOutputs,
    KVDtype,
    LastToken,
    Map,
    Router,
    Seed,
    SkipBadRows,
    SplitModels,
    Tokenizer,
    Tp,
    Weights,
    Workers,
)


def doctor(
    ctx: typer.Context,
    traces: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TRACE...]", help="Files, folders, globs, or - (.gz, .zst)."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(metavar="FILE|FOLDER", help="Check a chat template instead of a trace."),
    ] = None,
    engine: Engine = "unlimited",
    capacity_tokens: CapacityTokens = None,
    capacity_gib: CapacityGiB = None,
    block_size: BlockSize = None,
    last_token: LastToken = False,
    outputs: KeepOutputs = "ignore",
    workers: Workers = None,
    router: Router = None,
    seed: Seed = 0,
    split_models: SplitModels = False,
    tokenizer: Tokenizer = None,
    fields: Map = None,
    model: Annotated[str | None, typer.Option(help="Built-in name or config.json.")] = None,
    hardware: Annotated[
        str | None, typer.Option(help="Price what was lost on this hardware; needs --model.")
    ] = None,
    tp: Tp = 1,
    weights: Weights = "bf16",
    kv_dtype: KVDtype = "bf16",
    efficiency: Efficiency = "ideal",
    gpu_hour: GpuHour = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(metavar="[MODEL=]PROVIDER/MODEL", help="Price what was lost as billed."),
    ] = None,
    skip_bad_rows: SkipBadRows = False,
    json_file: Json = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Put a row for every request into --json.")
    ] = False,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE.html", help="One page, opens offline; holds text."),
    ] = None,
    sarif: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="The defects for code scanning.")
    ] = None,
    fix: Annotated[
        str | None, typer.Option(metavar="FILE.jsonl", help="Write the trace as it should be.")
    ] = None,
    no_content: Annotated[
        bool, typer.Option("--no-content", help="Lengths and hashes only, no text of prompts.")
    ] = False,
) -> None:
    """Which text broke the prefix, who put it there, and what fixing it is worth."""
    from hitpath.core import Setting, SettingError

    if template is not None:
        _refuse_others(ctx)
        from hitpath.report.doctor_template import run_template

        if not run_template(template, json_file):
            raise typer.Exit(1)
        return
    if not traces:
        raise SettingError("TRACE", "missing: what should be looked at?")
    if rows and json_file is None:
        raise SettingError("--rows", "needs --json FILE, where they are put")
    from hitpath.report.doctor_job import DoctorJob, run_doctor
    from hitpath.report.pricing import Asked, asked_prices, asked_pricing, capacity_of, kv_of

    asked = Asked(
        model=model,
        kv_dtype=kv_dtype,
        hardware=hardware,
        tp=tp,
        weights=weights,
        efficiency=efficiency,
        gpu_hour_usd=gpu_hour,
    )
    if model is not None and hardware is None and capacity_gib is None:
        raise SettingError("--model", "needs --hardware or --capacity-gib: nothing else uses it")
    kv_model = None if capacity_gib is None else kv_of(asked, needed=True)
    run_doctor(
        DoctorJob(
            traces=traces,
            setting=Setting(
                engine=engine,
                last_token=last_token,
                outputs=outputs,  # type: ignore[arg-type]
                block_size=block_size,
                capacity_tokens=capacity_of(capacity_gib, capacity_tokens, kv_model),
                workers=workers,
                router=router,  # type: ignore[arg-type]
                seed=seed,
                split_models=split_models,
                tokenizer=tokenizer,
            ),
            mapping=fields or (),
            skip_bad_rows=skip_bad_rows,
            json=json_file,
            rows=rows,
            html=html,
            sarif=sarif,
            fix=fix,
            content=not no_content,
            pricing=asked_pricing(asked),
            prices=asked_prices(prices or ()),
            command=shlex.join(["hitpath", *sys.argv[1:]]),
        )
    )


def _refuse_others(ctx: typer.Context) -> None:
    """A template has a document of its own and nothing else."""
    from hitpath.core import SettingError

    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and param.name == "traces":
            raise SettingError("--template", "checks a template, not a trace: give one of them")
        if is_given and param.name not in ("template", "json_file"):
            raise SettingError(param.opts[0], "is for a trace; --template goes with --json alone")
