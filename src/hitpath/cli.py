"""The command line: parse -> config -> one call -> exit code.

Exit codes: 0 done, 2 the user can mend it (one line on standard error), 130 interrupted; SIGTERM
and SIGHUP end it as they end any process (a shell sees 143 and 129), without half a file.
Imports of the analysis stand inside the commands: `hitpath --help` must not load numba.
"""

import gc
import io
import os
import shlex
import sys
from typing import Annotated, Any

import typer
from typer.main import get_command

from hitpath import __version__
from hitpath.cli_costs import calibrate, price, rules
from hitpath.cli_doctor import doctor
from hitpath.cli_lint import lint
from hitpath.cli_options import (
    BlockSize,
    Canonical,
    CapacityGiB,
    CapacityTokens,
    Chunk,
    Efficiency,
    Engine,
    GpuHour,
    Html,
    Json,
    KeepOutputs,
    KVDtype,
    LastToken,
    LedgerFile,
    Map,
    Mla,
    Model,
    PerRequest,
    Png,
    Router,
    Sample,
    Seed,
    ShowText,
    SkipBadRows,
    SplitModels,
    Svg,
    Tokenizer,
    Tp,
    Traces,
    Weights,
    Workers,
)
from hitpath.cli_providers import providers
from hitpath.cli_serve import serve
from hitpath.cli_simulate import simulate, size
from hitpath.core import (
    HitpathError,
    ReaderGone,
    Setting,
    one_of,
)

app = typer.Typer(
    name="hitpath",
    help="What the prefix-cache hit rate of a trace really is, and why each token missed.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its help pages cost 70 ms of imports
)


def _version(asked: bool) -> None:
    if asked:
        print(f"hitpath {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """What the prefix-cache hit rate of a trace really is, and why each token missed."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def analyze(
    traces: Traces,
    engine: Engine = "unlimited",
    capacity_tokens: CapacityTokens = None,
    capacity_gib: CapacityGiB = None,
    model: Model = None,
    kv_dtype: KVDtype = "bf16",
    block_size: BlockSize = None,
    last_token: LastToken = False,
    outputs: KeepOutputs = "ignore",
    workers: Workers = None,
    router: Router = None,
    seed: Seed = 0,
    split_models: SplitModels = False,
    tokenizer: Tokenizer = None,
    canonical: Canonical = False,
    sample: Sample = None,
    fields: Map = None,
    hardware: Annotated[
        str | None, typer.Option(help="Price prefill by cause on this hardware; needs --model.")
    ] = None,
    tp: Tp = 1,
    weights: Weights = "bf16",
    efficiency: Efficiency = "ideal",
    mla: Mla = "faster",
    chunk: Chunk = None,
    decode_batch: Annotated[
        int, typer.Option(help="Requests that share a decode step, for the bound that it sets.")
    ] = 1,
    gpu_hour: GpuHour = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[MODEL=]PROVIDER/MODEL", help="Recompute the provider's bill from usage."
        ),
    ] = None,
    skip_bad_rows: SkipBadRows = False,
    json_file: Json = None,
    per_request: PerRequest = None,
    ledger: LedgerFile = None,
    svg: Svg = None,
    png: Png = None,
    html: Html = None,
    show_text: ShowText = False,
) -> None:
    """Measure a trace's hit rate under its names, and give every missed token one cause."""
    from hitpath.report.pricing import Asked, asked_prices, asked_pricing, capacity_of, kv_of

    asked = Asked(
        model, kv_dtype, hardware, tp, weights, efficiency, mla, chunk, decode_batch, gpu_hour
    )
    pricing, price_list = asked_pricing(asked), asked_prices(prices or ())
    kv_model = kv_of(asked, needed=capacity_gib is not None)
    capacity_tokens = capacity_of(capacity_gib, capacity_tokens, kv_model)
    setting = _setting(
        engine,
        outputs,
        router,
        last_token=last_token,
        block_size=block_size,
        capacity_tokens=capacity_tokens,
        workers=workers,
        seed=seed,
        split_models=split_models,
        sample_frac=sample,
        tokenizer=tokenizer,
    )
    from hitpath.report.pictures.files import picture_files
    from hitpath.report.run import Job, Outputs, run

    command = shlex.join(["hitpath", *sys.argv[1:]])
    outputs_to = Outputs(
        json_file,
        per_request,
        ledger,
        html,
        command,
        picture_files(svg or (), png or ()),
        show_text,
        (model, hardware),
    )
    run(
        Job(
            traces,
            setting,
            kv_model,
            skip_bad_rows,
            outputs_to,
            fields or (),
            pricing,
            price_list,
            canonical,
        )
    )


@app.command()
def demo(
    out: Annotated[
        str | None, typer.Option(metavar="FILE.jsonl", help="Keep the workload here.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another workload of the same kind.")] = 0,
    svg: Svg = None,
) -> None:
    """Make a small realistic workload and analyse it (chat, agent, retrieval, a clock)."""
    from hitpath.report.demo import run_demo

    run_demo(out, seed, svg or ())


@app.command()
def explain(
    request: Annotated[str, typer.Argument(metavar="ID", help="The request's id.")],
    traces: Traces,
    engine: Engine = "unlimited",
    capacity_tokens: CapacityTokens = None,
    capacity_gib: CapacityGiB = None,
    model: Model = None,
    kv_dtype: KVDtype = "bf16",
    block_size: BlockSize = None,
    last_token: LastToken = False,
    outputs: KeepOutputs = "ignore",
    workers: Workers = None,
    router: Router = None,
    seed: Seed = 0,
    split_models: SplitModels = False,
    tokenizer: Tokenizer = None,
    fields: Map = None,
    skip_bad_rows: SkipBadRows = False,
    json_file: Json = None,
) -> None:
    """One request: its labels, its nearest relative, and the first token that differs."""
    from hitpath.cost.models import load_model
    from hitpath.report.pricing import capacity_of, check_kv_dtype

    check_kv_dtype(model, kv_dtype)
    kv_model = load_model(model, kv_dtype) if model is not None else None
    capacity_tokens = capacity_of(capacity_gib, capacity_tokens, kv_model)
    setting = _setting(
        engine,
        outputs,
        router,
        last_token=last_token,
        block_size=block_size,
        capacity_tokens=capacity_tokens,
        workers=workers,
        seed=seed,
        split_models=split_models,
        tokenizer=tokenizer,
    )
    from hitpath.report.explain import ExplainJob, run_explain

    run_explain(ExplainJob(traces, request, setting, fields or (), skip_bad_rows, json_file))


@app.command()
def convert(
    traces: Traces,
    out: Annotated[
        str,
        typer.Option(metavar="FILE|-", help="Where to: .jsonl (.gz, .zst), .parquet, - for JSONL."),
    ],
    to: Annotated[str, typer.Option(help="hitpath or mooncake.")] = "hitpath",
    redact: Annotated[
        str | None,
        typer.Option(metavar="KEYFILE", help="Keyed hashes instead of prompts; the same answers."),
    ] = None,
    hash_labels: Annotated[
        bool, typer.Option("--hash-labels", help="Hash ids and labels too (--redact).")
    ] = False,
    block_size: Annotated[
        int | None,
        typer.Option(help="Tokens a block of --to mooncake [default: 512 where the trace can]."),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Arrivals for --to mooncake of a trace without times."
        ),
    ] = None,
    tokenizer: Tokenizer = None,
    fields: Map = None,
    skip_bad_rows: SkipBadRows = False,
) -> None:
    """Write any trace as hitpath's own rows, or as Mooncake JSONL for load generators."""
    from hitpath.report.convert.run import TARGETS, Conversion, run_convert

    run_convert(
        Conversion(
            traces=traces,
            out=out,
            to=one_of("--to", to, TARGETS),
            block_size=block_size,
            every_s=every,
            redact=redact,
            hash_labels=hash_labels,
            tokenizer=tokenizer,
            mapping=fields or (),
            skip_bad_rows=skip_bad_rows,
        )
    )


@app.command()
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A trace as for analyze, or a ledger.")],
    b: Annotated[str, typer.Argument(metavar="B", help="What A is compared with.")],
    by: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="tenant, model, worker, session, turn or length [default: what both name].",
        ),
    ] = None,
    engine: Engine = "unlimited",
    capacity_tokens: CapacityTokens = None,
    block_size: BlockSize = None,
    last_token: LastToken = False,
    outputs: KeepOutputs = "ignore",
    workers: Workers = None,
    router: Router = None,
    seed: Seed = 0,
    split_models: SplitModels = False,
    tokenizer: Tokenizer = None,
    fields: Map = None,
    skip_bad_rows: SkipBadRows = False,
    json_file: Json = None,
) -> None:
    """Why the hit rate moved from A to B: cause by cause, mix against behaviour, exact."""
    setting = _setting(
        engine,
        outputs,
        router,
        last_token=last_token,
        block_size=block_size,
        capacity_tokens=capacity_tokens,
        workers=workers,
        seed=seed,
        split_models=split_models,
        tokenizer=tokenizer,
    )
    from hitpath.report.diff import DiffJob, run_diff
    from hitpath.summary.labelled_rows import BY

    label = None if by is None else one_of("--by", by, BY)
    run_diff(DiffJob(a, b, label, setting, fields or (), skip_bad_rows, json_file))


@app.command()
def query(
    ledgers: Annotated[
        str, typer.Argument(metavar="LEDGER", help="A Parquet ledger, a folder or a glob of them.")
    ],
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One statement; the table is ledger.")],
    json_file: Json = None,
) -> None:
    """Ask ledgers (analyze --ledger) questions in SQL."""
    from hitpath.report.query import run_query

    run_query(ledgers, sql, json_file)


for command in (price, rules, calibrate, providers, simulate, size, doctor, lint, serve):
    app.command()(command)


def _setting(engine: str, outputs: str, router: str | None, **rest: Any) -> Setting:
    """A Setting from what was typed. Raises SettingError for a word that is none."""
    words: dict[str, Any] = {"engine": engine, "outputs": outputs, "router": router}
    return Setting(**words, **rest)


def main() -> None:
    """Entry point: errors that a user can mend become one line and exit code 2."""
    gc.disable()  # a command ends before cycles could matter; looking for them costs a tenth
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot draw gets a "?"
    try:
        code = get_command(app)(prog_name="hitpath", standalone_mode=False)
        if code == 130:  # what the command-line library makes of Ctrl-C
            _complain("interrupted", 130)
        sys.exit(code or 0)
    except HitpathError as error:
        _complain(f"error: {error}", 2)
    except MemoryError:
        _complain("error: out of memory (see --sample)", 2)
    except ReaderGone:
        # What is still buffered must not fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted", 130)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        # The command-line library's own complaint about options, without its usage lines.
        _complain(f"error: {error.format_message()} (see --help)", 2)


def _complain(text: str, code: int) -> None:
    if sys.stderr is not None:
        print(f"hitpath: {text}", file=sys.stderr)
    sys.exit(code)
