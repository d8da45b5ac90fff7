"""How fast is each reader, in MB of file a second, beside the public readers of the same format?

    python bench/readers.py [--peers-python PATH]... [--formats NAME...] [--rounds 5] [--scale 1]

Each file (20 to 50 MB, made by _formats.py) is read in a process of its own by `read_trace` and,
in the same rounds, by every public reader of its format that one of the given interpreters has.
Readers do not do the same work: what each gives is in the docstrings of _reader_driver.py.
`json.loads` is no reader, but the floor of every reader in plain Python: each line decoded and
thrown away. MB/s and ratios are of CPU time, of all threads; beside it the ratio of wall time,
which a reader with threads lowers where cores are free. A ratio is the median over the rounds of
(the other's time / hitpath's time), so above 1 hitpath is faster; times on a busy machine drift,
ratios within a round much less.
Last line: one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from _formats import FORMATS, Kind
from _measure import DATA, BenchError, machine, read_through

DRIVER = Path(__file__).with_name("_reader_driver.py")
VERSION = 1  # of _formats.py: raise it when it writes other files
SEED = 7
SMALL = 40
PEERS = {
    "mooncake": ("llmtrafficlens", "kvcache-simulator 512", "aiperf mooncake", "guidellm"),
    "qwen-bailian": ("llmtrafficlens", "kvcache-simulator 16", "aiperf bailian"),
    "coding-agent": ("aiperf weka", "guidellm weka"),
    "otel-genai spans": ("guidellm otel",),
    "openai-requests": ("kvlint openai", "cachelint", "aiperf raw_payload"),
    "sharegpt": ("aiperf sharegpt",),
    "sharegpt lines": ("kvlint sharegpt",),
    "aiperf": ("aiperf plot",),
    "tracelab": ("aiperf tracelab",),
    "burstgpt": ("aiperf burstgpt",),
    "baseten": ("aiperf baseten",),
}
"""The public readers of each format; the first word is the package that must be there."""


def files(name: str, kind: Kind, scale: float) -> tuple[Path, Path, int]:
    """(a small one, the file or folder, its bytes), made now if they are not there yet."""
    made = []
    for num in (SMALL, int(kind.num * scale)):
        path = DATA / f"readers-v{VERSION}-{name.replace(' ', '-')}-{num}{kind.ending}"
        if not path.exists():
            draft = path.with_name(f"part-{path.name}")
            subprocess.run(["rm", "-rf", str(draft)], check=True)
            writer = Path(__file__).with_name("_formats.py")
            subprocess.run(
                [sys.executable, str(writer), name, str(num), str(SEED), str(draft)], check=True
            )
            draft.rename(path)
        made.append(path)
    parts = sorted(made[1].iterdir()) if made[1].is_dir() else [made[1]]
    for part in parts:
        read_through(part)
    return made[0], made[1], sum(part.stat().st_size for part in parts)


def timed(
    python: str, reader: str, small: Path, path: Path, mapping: tuple[str, ...]
) -> dict[str, Any]:
    """What the driver says of one reading."""
    command = [python, str(DRIVER), reader, str(small), str(path), *mapping]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{reader} on {path.name}: {done.stderr.strip()[-800:]}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def has(python: str, reader: str) -> bool:
    """Whether an interpreter has the package of a reader."""
    code = f"from importlib.metadata import version; version({reader.split()[0]!r})"
    return not subprocess.run([python, "-c", code], capture_output=True, check=False).returncode


def readers_of(name: str, kind: Kind, pythons: list[str]) -> dict[str, str]:
    """Reader -> the interpreter that has it; hitpath's first."""
    ours = "hitpath statistics" if name == "engine-statistics" else "hitpath"
    found = {ours: sys.executable}
    if kind.ending in (".jsonl",):
        found["json.loads"] = sys.executable
    for reader in PEERS.get(name, ()):
        python = next((python for python in pythons if has(python, reader)), None)
        if python is not None:
            found[reader] = python
    return found


def measure(name: str, kind: Kind, args: argparse.Namespace) -> dict[str, Any]:
    """One format, all its readers, in rounds; each round begins with another reader."""
    small, path, num_bytes = files(name, kind, args.scale)
    readers = readers_of(name, kind, args.peers_python or [])
    runs: dict[str, list[dict[str, Any]]] = {reader: [] for reader in readers}
    order = list(readers)
    for number in range(args.rounds):
        turn = number % len(order)
        for reader in order[turn:] + order[:turn]:
            runs[reader].append(timed(readers[reader], reader, small, path, kind.mapping))
    ours = runs[order[0]]
    told = {"mb": round(num_bytes / 1e6, 1), "rows": ours[0]["num"], "readers": {}}
    for reader, its in runs.items():
        cpu, wall = (
            statistics.median(run[unit] / base[unit] for run, base in zip(its, ours, strict=True))
            for unit in ("cpu_s", "wall_s")
        )
        told["readers"][reader] = {
            "mb_per_s": round(num_bytes / 1e6 / statistics.median(r["cpu_s"] for r in its), 1),
            "ratio": round(cpu, 2),
            "wall_ratio": round(wall, 2),
            "peak_mb": max(run["peak_mb"] for run in its),
            "version": its[0]["version"],
            "num": its[0]["num"],
        }
    return told


def show(name: str, told: dict[str, Any]) -> None:
    print(f"\n{name}: {told['mb']} MB, {told['rows']:,} requests")
    for reader, figures in told["readers"].items():
        print(
            f"  {reader:22} {figures['version']:8} {figures['mb_per_s']:8.1f} MB/s "
            f"{figures['ratio']:7.2f}x (wall {figures['wall_ratio']:5.2f}x)  "
            f"peak {figures['peak_mb']:,} MB  ({figures['num']:,})",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    told = "an interpreter with public readers; several may be given"
    parser.add_argument("--peers-python", action="append", metavar="PATH", help=told)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the files' sizes")
    args = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    found = {}
    for name in args.formats:
        found[name] = measure(name, FORMATS[name], args)
        show(name, found[name])
    behind = sorted(
        (figures["ratio"], name, reader)
        for name, told in found.items()
        for reader, figures in told["readers"].items()
        if figures["ratio"] < 1 and reader != "json.loads"
    )
    print(
        "\nfaster than hitpath: "
        + ("; ".join(f"{r} on {n} ({x}x)" for x, n, r in behind) or "none")
    )
    print(
        json.dumps(
            {
                "rounds": args.rounds,
                "machine": machine(),
                "load": os.getloadavg()[0],
                "formats": found,
            }
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
