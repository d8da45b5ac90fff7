"""The command line under test: in this process where it can be, in its own where it must."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from hitpath.cli import main

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


def call(*arguments: object, stdin: bytes = b"") -> Ended:
    """`hitpath ARGUMENTS` in this process. What `main` does not catch is not caught here."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.StringIO()
    code: Any = 0
    keyboard = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with (
        mock.patch.object(sys, "argv", ["hitpath", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", keyboard),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    assert isinstance(out.buffer, io.BytesIO)
    return Ended(code, out.buffer.getvalue(), err.getvalue())


def process(command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A line of bash in which `hitpath` is the command, run in a process of its own."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    settings = {**inherited, "PYTHONPATH": str(ROOT / "src"), **environment}
    script = f'set -o pipefail\nhitpath() {{ "{sys.executable}" -m hitpath "$@"; }}\n{command}'
    return subprocess.run(
        ["bash", "-c", script], cwd=cwd, env=settings, capture_output=True, timeout=120, check=False
    )


def is_one_line(err: str) -> bool:
    """Whether standard error holds exactly one line of ours, free of control characters."""
    printable = all(c.isprintable() for c in err.rstrip("\n"))
    return err.startswith("hitpath: error: ") and err.endswith("\n") and printable
