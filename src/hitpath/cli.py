"""The command line: parse -> config -> one call -> exit code.

Exit codes: 0 done, 2 the user can mend it (one line on standard error), 130 interrupted.
Imports of the analysis stand inside the commands: `hitpath --help` must not load numba.
"""

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from hitpath import __version__
from hitpath.core import HitpathError, Setting, SettingError

app = typer.Typer(
    name="hitpath",
    help="What the prefix-cache hit rate of a trace really is, and why each token missed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its help pages cost 70 ms of imports
)

Traces = Annotated[
    list[str], typer.Argument(metavar="TRACE...", help="Files, folders, globs, or - (.gz, .zst).")
]
EngineOption = Annotated[str, typer.Option("--engine", help="unlimited or lru.")]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Everything, as JSON.")
]
SvgOption = Annotated[
    str | None, typer.Option("--svg", metavar="FILE", help="The page as a picture.")
]


def _version(asked: bool) -> None:
    if asked:
        print(f"hitpath {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """What the prefix-cache hit rate of a trace really is, and why each token missed."""


@app.command()
def analyze(
    traces: Traces,
    engine: EngineOption = "unlimited",
    capacity_tokens: Annotated[
        int | None, typer.Option(help="Cache of each worker, in tokens (--engine lru).")
    ] = None,
    capacity_gib: Annotated[
        float | None, typer.Option(help="The same in GiB; needs --model.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Built-in name or config.json: bytes of KV a token.")
    ] = None,
    kv_dtype: Annotated[str, typer.Option(help="bf16, fp16, fp8, int8, fp4 or int4.")] = "bf16",
    block_size: Annotated[
        int | None, typer.Option(help="Tokens a block [default: the trace's own, else 16].")
    ] = None,
    last_token: Annotated[
        bool, typer.Option("--last-token", help="At least a prompt's last token is computed.")
    ] = False,
    outputs: Annotated[
        str, typer.Option(help="insert: generated tokens stay in the cache; ignore: they do not.")
    ] = "ignore",
    workers: Annotated[
        int | None, typer.Option(help="Workers, if the trace names none.")
    ] = None,
    router: Annotated[
        str | None, typer.Option(help="round-robin (the default), random, session or prefix.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of --router and --sample.")] = 0,
    split_models: Annotated[
        bool, typer.Option("--split-models", help="Ids never match across models.")
    ] = False,
    sample: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Keep this share of the blocks; estimates with their error."
        ),
    ] = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="List bad rows instead of stopping.")
    ] = False,
    json_file: JsonOption = None,
    per_request: Annotated[
        str | None, typer.Option(metavar="FILE.jsonl", help="A row a request.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="FILE.parquet", help="The ledger, one row a request.")
    ] = None,
    svg: SvgOption = None,
) -> None:
    """Measure a trace's hit rate under its names, and give every missed token one cause."""
    from hitpath.cost.models import load_model

    kv_model = load_model(model, kv_dtype) if model is not None else None
    if capacity_gib is not None:
        if kv_model is None:
            raise SettingError("--capacity-gib", "needs --model, to know the bytes of a token")
        if capacity_tokens is not None:
            raise SettingError("--capacity-gib", "and --capacity-tokens are the same; give one")
        capacity_tokens = kv_model.tokens(capacity_gib)
    setting = Setting(
        engine=_one_of("--engine", engine, ("unlimited", "lru")),
        last_token=last_token,
        outputs=_one_of("--outputs", outputs, ("insert", "ignore")),
        block_size=block_size,
        capacity_tokens=capacity_tokens,
        workers=workers,
        router=None
        if router is None
        else _one_of("--router", router, ("random", "round-robin", "session", "prefix")),
        seed=seed,
        split_models=split_models,
        sample_frac=sample,
    )
    from hitpath.report.run import Outputs, run_analysis

    run_analysis(
        traces, setting, kv_model, skip_bad_rows, Outputs(json_file, per_request, ledger, svg)
    )


@app.command()
def demo(
    out: Annotated[
        str | None, typer.Option(metavar="FILE.jsonl", help="Keep the workload here.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another workload of the same kind.")] = 0,
    svg: SvgOption = None,
) -> None:
    """Make a small realistic workload and analyse it (chat, agent, retrieval, a clock)."""
    from hitpath.report.demo import run_demo

    run_demo(out, seed, svg)


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise SettingError(f"{option} {value}", f"not one of {', '.join(allowed)}")
    return value


def main() -> None:
    """Entry point: errors that a user can mend become one line and exit code 2."""
    _guarded(app)


def _guarded(run: Callable[[], Any]) -> None:
    try:
        run()
    except HitpathError as error:
        print(f"hitpath: error: {error}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        print("hitpath: error: out of memory (see --sample)", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has gone (head, less): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        print("hitpath: interrupted", file=sys.stderr)
        sys.exit(130)
