"""`hitpath demo`: write the demo workload, analyse it as any trace, say what to look at."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from hitpath.core import Setting
from hitpath.cost.models import load_model
from hitpath.report.output import is_stdout, write_whole
from hitpath.report.pages import page_console
from hitpath.report.pictures.files import picture_files
from hitpath.report.run import Job, Outputs, check_outputs, run
from hitpath.report.temporary import removed_if_ended
from hitpath.traces.synthetic import demo_rows

CAPACITY_TOKENS = 120_000
OPTIONS = (
    f"--engine lru --capacity-tokens {CAPACITY_TOKENS} --outputs insert "
    "--workers 2 --router round-robin --model llama-3.1-8b"
)
_SETTING = Setting(
    engine="lru",
    capacity_tokens=CAPACITY_TOKENS,
    outputs="insert",
    workers=2,
    router="round-robin",
)


def run_demo(out: str | None, seed: int, svg: Sequence[str]) -> None:
    """Make the workload (kept at `out` if given), analyse it and print the page, unless the
    workload went to standard output. What is analysed is a copy: `out` may be a pipe."""
    model = load_model("llama-3.1-8b", "bf16")
    outputs = Outputs(pictures=picture_files(svg, ()))
    check_outputs([*outputs.files(), *([] if out is None else [out])], [])
    folder = tempfile.TemporaryDirectory()
    with removed_if_ended(folder.cleanup), folder:
        if out is not None:
            write_whole(out, lambda file: _write_rows(file, seed))
            if is_stdout(out):
                return
        path = str(Path(folder.name) / "demo.jsonl")
        write_whole(path, lambda file: _write_rows(file, seed))
        run(Job([path], _SETTING, model, False, outputs))
    me = "hitpath" if shutil.which("hitpath") else sys.argv[0]
    page_console(soft_wrap=True).print(
        "This is a made-up hour of four applications (chat, coding agent, retrieval, and forms "
        "with the time of day in front).\n"
        f"Keep it and look closer:  {me} demo --out demo.jsonl && "
        f"{me} analyze demo.jsonl {OPTIONS}"
    )


def _write_rows(file: IO[bytes], seed: int) -> None:
    for row in demo_rows(seed):
        file.write(msgspec.json.encode(row) + b"\n")
