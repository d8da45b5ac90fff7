"""The command `providers`: it parses, then makes one call."""

from typing import Annotated

import typer

from hitpath.cli_options import BlockSize, Json, Map, SkipBadRows, Tokenizer, Traces


def providers(
    traces: Traces,
    provider: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="openai, openai-breakpoints, anthropic, gemini, deepseek, bedrock [default: all].",
        ),
    ] = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]PROVIDER/MODEL", help="Bill it, as anthropic=anthropic/claude-opus-4-5."
        ),
    ] = None,
    bytes_per_token: Annotated[
        float | None,
        typer.Option(help="Of text [default: what the reported prompts come to]."),
    ] = None,
    tokenizer: Tokenizer = None,
    block_size: BlockSize = None,
    mapping: Map = None,
    skip_bad_rows: SkipBadRows = False,
    json_file: Json = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE.parquet", help="A row a provider and request."),
    ] = None,
) -> None:
    """What providers' caches would read, write and charge for a trace, beside what it reports."""
    from hitpath.report.providers import ProvidersJob, run_providers

    run_providers(
        ProvidersJob(
            traces=traces,
            providers=provider or (),
            prices=prices or (),
            tokenizer=tokenizer,
            bytes_per_token=bytes_per_token,
            block_size=block_size,
            mapping=mapping or (),
            skip_bad_rows=skip_bad_rows,
            json=json_file,
            out=out,
        )
    )
