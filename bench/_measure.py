"""Run whole processes and account for them; know the machine. Shared by the benches here.

Nothing heavy is imported: what a child held before its `exec` counts in its peak memory, so the
parent stays small, and data are generated in a process of their own.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BENCH = Path(__file__).resolve().parent
DATA = BENCH / "data"
TRAFFIC_VERSION = 1  # of traffic.py, checked against what it wrote


class BenchError(Exception):
    """A run that cannot count: the message is for the person who started it."""


@dataclass(frozen=True)
class Run:
    """One process from start to exit, its waited-for children included.

    `peak_mb` is the largest resident set of any one process of the tree (1 MB = 10^6 bytes), as
    `wait4` reports it; `cpu_s` is user + system time.
    """

    wall_s: float
    cpu_s: float
    peak_mb: float


def run_process(command: Sequence[str], env: Mapping[str, str] | None = None) -> Run:
    """Run `command`, its output kept from the terminal; raise if it fails.

    Byte code may be written, as it is for most users, whatever this environment says.
    """
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        try:
            child = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**inherited, **(env or {})},
            )
        except OSError as error:
            raise BenchError(f"cannot start {command[0]}: {error.strerror}") from error
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            output.seek(0)
            tail = output.read()[-2_000:].decode(errors="replace")
            raise BenchError(f"{' '.join(command)}\nexit code {child.returncode}\n{tail}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1_024 / 1e6)


def median(runs: Sequence[Run]) -> Run:
    """The median of each figure on its own."""
    return Run(
        statistics.median(run.wall_s for run in runs),
        statistics.median(run.cpu_s for run in runs),
        statistics.median(run.peak_mb for run in runs),
    )


def rounded(run: Run) -> dict[str, float]:
    return {
        "wall_s": round(run.wall_s, 3),
        "cpu_s": round(run.cpu_s, 3),
        "peak_mb": round(run.peak_mb, 1),
    }


def trace(num_requests: int, block_size: int, seed: int) -> tuple[Path, dict[str, int]]:
    """The generated file and what is in it; generated now if it is not there yet."""
    name = f"traffic-v{TRAFFIC_VERSION}-b{block_size}-n{num_requests}-s{seed}.jsonl"
    path = DATA / name
    meta = DATA / f"{name}.meta.json"
    if not (path.exists() and meta.exists()):
        print(f"writing {path}", flush=True)
        options = {"--requests": num_requests, "--block": block_size, "--seed": seed}
        flat = [str(part) for pair in options.items() for part in pair]
        run_process([sys.executable, str(BENCH / "traffic.py"), *flat, str(path)])
    written: dict[str, int] = json.loads(meta.read_text(encoding="ascii"))
    if written["version"] != TRAFFIC_VERSION:
        raise BenchError("traffic.py and _measure.py disagree on the traffic's version")
    return path, written


def read_through(path: Path) -> None:
    """Bring the file into the page cache, so that no tool pays for the disk."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 22):
            pass


def first_line(command: Sequence[str]) -> str:
    """What a command prints first, or "unknown"."""
    try:
        done = subprocess.run(list(command), capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = done.stdout.strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else "unknown"


def machine() -> dict[str, Any]:
    """Enough to tell whether two results may be compared."""
    cpu = platform.processor() or "unknown"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        cpu = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), cpu)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9, 1),
        "system": platform.platform(),
        "load_1min": round(os.getloadavg()[0], 2),
        "commit": first_line(["git", "-C", str(BENCH), "rev-parse", "--short", "HEAD"]),
    }
