"""The options that several commands share, each with its words and its help."""

from typing import Annotated

import typer

Traces = Annotated[
    list[str], typer.Argument(metavar="TRACE...", help="Files, folders, globs, or - (.gz, .zst).")
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME[@VERSION][:...]",
        help="unlimited, lru, or an engine's own rules: vllm, sglang, trtllm, llamacpp, hitpath; "
        "settings behind a colon (docs/exactness.md).",
    ),
]
CapacityTokens = Annotated[int | None, typer.Option(help="Cache of each worker, in tokens.")]
CapacityGiB = Annotated[
    float | None, typer.Option("--capacity-gib", help="The same in GiB; needs --model.")
]
Model = Annotated[
    str | None, typer.Option(help="Built-in name or config.json: bytes of KV a token.")
]
KVDtype = Annotated[str, typer.Option("--kv-dtype", help="bf16, fp16, fp8, int8, fp4 or int4.")]
BlockSize = Annotated[
    int | None, typer.Option(help="Tokens a block [default: the trace's own, else 16].")
]
LastToken = Annotated[
    bool, typer.Option("--last-token", help="At least a prompt's last token is computed.")
]
KeepOutputs = Annotated[
    str,
    typer.Option(
        "--outputs", help="insert: generated tokens stay in the cache; ignore: they do not."
    ),
]
Workers = Annotated[int | None, typer.Option(help="Workers, if the trace names none.")]
Router = Annotated[
    str | None, typer.Option(help="round-robin (the default), random, session or prefix.")
]
Seed = Annotated[int, typer.Option(help="Seed of --router and --sample.")]
SplitModels = Annotated[bool, typer.Option("--split-models", help="Ids never match across models.")]
Canonical = Annotated[
    bool,
    typer.Option(
        "--canonical", help="Also find tokens that only diverged: the text is taken a second time."
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        metavar="FILE|FOLDER|mistral:NAME",
        help="For text: a tokenizer.json, a model folder, or one bundled [default: bytes].",
    ),
]
Sample = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Keep this share of the blocks; estimates, with errors."),
]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="List bad rows instead of stopping.")
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="OURS=THEIRS[:UNIT]",
        help="A column of any CSV or Parquet, or a field of JSON rows; once for each field.",
    ),
]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Everything, as JSON.")]
PerRequest = Annotated[str | None, typer.Option(metavar="FILE.jsonl", help="A row a request.")]
LedgerFile = Annotated[
    str | None,
    typer.Option("--ledger", metavar="FILE.parquet", help="The ledger, one row a request."),
]
Html = Annotated[
    str | None,
    typer.Option("--html", metavar="FILE.html", help="One page with pictures, opens offline."),
]
ShowText = Annotated[
    bool, typer.Option("--show-text", help="Let --html show the text of prompts (it is content).")
]
Svg = Annotated[
    list[str] | None,
    typer.Option(
        "--svg",
        metavar="[NAME=]FILE",
        help="A picture: page (the default), waterfall, curve, over-time, gaps, lengths or icicle.",
    ),
]
Png = Annotated[
    list[str] | None, typer.Option("--png", metavar="[NAME=]FILE", help="The same as PNG.")
]
Tp = Annotated[int, typer.Option("--tp", help="GPUs that serve it together.")]
Chunk = Annotated[int | None, typer.Option(help="New tokens of a request a step [default: all].")]
Weights = Annotated[str, typer.Option(help="bf16, fp16, fp8, int8, int4, fp4, fp32.")]
Efficiency = Annotated[
    str, typer.Option(help="ideal, achievable, or compute=,memory=,link=,overhead_s=.")
]
Mla = Annotated[str, typer.Option(help="Latent attention: faster, absorbed or unabsorbed.")]
GpuHour = Annotated[float | None, typer.Option(help="USD of a GPU-hour.")]
