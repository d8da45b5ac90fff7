"""Head to head: one trace, LRU at one size, hitpath against two PyPI peers as whole processes.

Exit code 1 if the answers disagree, 2 if a run failed, never because of time.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _measure import (
    BenchError,
    Run,
    first_line,
    machine,
    median,
    read_through,
    rounded,
    run_process,
    trace,
)

BLOCK_SIZE = 16
BUDGET_GIB = 64
MODEL = "llama-3.1-8b"
BYTES_PER_TOKEN = 131_072  # of MODEL in bf16, checked against the peer's own table below
CAPACITY_TOKENS = BUDGET_GIB * 2**30 // BYTES_PER_TOKEN
WARM_UP_REQUESTS = 200

HITPATH = "hitpath"
SIMULATOR = "kvcache-simulator"
LENS = "llmtrafficlens"

EXACT = 1e-9  # both print whole floats; one block more or less in the default trace is 1.7e-7
FOUR_DIGITS = 5.1e-5  # llmtrafficlens rounds to four digits


@dataclass(frozen=True)
class Tools:
    """How each tool is started, and where its answer goes."""

    hitpath: list[str]
    peers_python: Path
    scratch: Path

    def answer(self, tool: str) -> Path:
        return self.scratch / f"{tool}.json"

    def command(self, tool: str, path: Path) -> list[str]:
        out, bin_dir = str(self.answer(tool)), self.peers_python.parent
        block = ["--block-size", str(BLOCK_SIZE)]
        if tool == HITPATH:
            size = ["--engine", "lru", "--capacity-tokens", str(CAPACITY_TOKENS)]
            return [*self.hitpath, "analyze", str(path), *block, *size, "--json", out]
        if tool == SIMULATOR:
            size = ["--model", MODEL, "--budgets-gib", str(BUDGET_GIB), "--policies", "lru"]
            output = ["--no-progress", "--format", "json", "--output", out]
            return [str(bin_dir / SIMULATOR), "run", "--trace", str(path), *block, *size, *output]
        form = ["--format", "mooncake", "--out", str(self.scratch / LENS)]
        return [str(bin_dir / LENS), "profile", str(path), *form, *block]

    def run(self, tool: str, path: Path) -> Run:
        env = {"NUMBA_CACHE_DIR": str(self.scratch / "numba")} if tool == HITPATH else None
        return run_process(self.command(tool, path), env)

    def versions(self) -> dict[str, str]:
        code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
        peers = {
            name: first_line([str(self.peers_python), "-c", code, name])
            for name in (SIMULATOR, LENS)
        }
        return {HITPATH: first_line([*self.hitpath, "--version"]), **peers}


@dataclass(frozen=True)
class Check:
    """Two figures that must be equal, and the names of both."""

    left: str
    left_value: float
    right: str
    right_value: float
    tolerance: float

    @property
    def holds(self) -> bool:
        return abs(self.left_value - self.right_value) <= self.tolerance

    def as_dict(self) -> dict[str, Any]:
        sides = {self.left: self.left_value, self.right: self.right_value}
        return {**sides, "tolerance": self.tolerance, "holds": self.holds}


def number(document: Any, dotted: str, tool: str) -> float:
    """The number at a dotted path of a tool's JSON."""
    value = document
    for part in dotted.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BenchError(f"{tool}'s JSON has no number at {dotted}")
    return float(value)


def compare(tools: Tools) -> tuple[list[Check], float]:
    """The agreement of the answers on disk, and hitpath's rate over the whole trace."""
    ours, simulator, lens = (
        json.loads(tools.answer(tool).read_text(encoding="utf-8"))
        for tool in (HITPATH, SIMULATOR, LENS)
    )
    if not simulator["points"]:
        raise BenchError(f"{SIMULATOR} gives no rate: the cache does not fill in half the trace")
    point = simulator["points"][0]
    if point["cacheBlocks"] * BLOCK_SIZE != CAPACITY_TOKENS:
        raise BenchError(f"{SIMULATOR} simulated {point['cacheBlocks']} blocks: not our capacity")
    lru = point["results"]["lru"]
    checks = [
        Check(
            f"{HITPATH} steady.token_weighted",
            number(ours, "steady.token_weighted", HITPATH),
            f"{SIMULATOR} lru hitRate (last half)",
            lru["hitTokens"] / lru["totalTokens"],
            EXACT,
        ),
        Check(
            f"{LENS} ceiling (last half)",
            number(lens, "reuse_potential.ceiling", LENS),
            f"{SIMULATOR} hitRateCeiling (last half)",
            number(simulator, "hitRateCeiling", SIMULATOR),
            FOUR_DIGITS,
        ),
    ]
    return checks, number(ours, "hit_rate.token_weighted", HITPATH)


def warm_up(tools: Tools, path: Path) -> Run:
    """Compile, import and cache everything once; returns hitpath's cold run on the whole trace."""
    head = tools.scratch / "head.jsonl"
    with path.open("rb") as source, head.open("wb") as target:
        target.writelines(line for line, _ in zip(source, range(WARM_UP_REQUESTS), strict=False))
    for peer in (SIMULATOR, LENS):
        tools.run(peer, head)
    first_line([*tools.hitpath, "--version"])  # byte code
    read_through(path)
    return tools.run(HITPATH, path)


def alternate(tools: Tools, path: Path, rounds: int) -> dict[str, list[Run]]:
    """Every tool once a round, each round in another order."""
    names = [HITPATH, SIMULATOR, LENS]
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for index in range(rounds):
        turn = index % len(names)
        for name in names[turn:] + names[:turn]:
            run = tools.run(name, path)
            runs[name].append(run)
            print(f"round {index + 1}: {name:<18} {run.wall_s:8.2f} s", flush=True)
    return runs


def show(medians: dict[str, Run], cold: Run, checks: list[Check], whole: float) -> None:
    """The table for people."""
    ours = medians[HITPATH].wall_s
    print(f"\n{'median of rounds':<24}{'wall s':>9}{'cpu s':>9}{'peak MB':>10}{'wall ratio':>12}")
    rows = [*medians.items(), (f"{HITPATH}, no cache", cold)]
    for name, run in rows:
        print(
            f"{name:<24}{run.wall_s:>9.2f}{run.cpu_s:>9.2f}{run.peak_mb:>10.0f}"
            f"{run.wall_s / ours:>11.1f}x"
        )
    print("(no cache: one run with an empty NUMBA_CACHE_DIR)\n")
    for check in checks:
        verdict = "agree" if check.holds else "DISAGREE"
        print(f"{verdict}: {check.left} {check.left_value:.12g}")
        print(f"{'':>{len(verdict)}}  {check.right} {check.right_value:.12g}")
    print(f"{HITPATH} over the whole trace: {whole:.6f}\n")


def measure(tools: Tools, num_requests: int, rounds: int, seed: int) -> bool:
    """Run, print, and say whether the answers agree."""
    path, written = trace(num_requests, BLOCK_SIZE, seed)
    about = machine()
    cold = warm_up(tools, path)
    runs = alternate(tools, path, rounds)
    medians = {name: median(list_) for name, list_ in runs.items()}
    checks, whole = compare(tools)
    show(medians, cold, checks, whole)
    agrees = all(check.holds for check in checks)
    ours = medians[HITPATH].wall_s
    record = {
        "bench": "analysis",
        "machine": about,
        "versions": tools.versions(),
        "trace": {"file": path.name, **written},
        "capacity_tokens": CAPACITY_TOKENS,
        "rounds": rounds,
        "median": {name: rounded(run) for name, run in medians.items()},
        "hitpath_cold": rounded(cold),
        "wall_ratio": {peer: round(medians[peer].wall_s / ours, 2) for peer in (SIMULATOR, LENS)},
        "wall_s": {name: [round(run.wall_s, 3) for run in list_] for name, list_ in runs.items()},
        "agreement": [check.as_dict() for check in checks],
        "agrees": agrees,
    }
    print(json.dumps(record))
    return agrees


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hitpath", required=True, help='the command, e.g. ".venv/bin/hitpath"')
    parser.add_argument(
        "--peers-python", required=True, type=Path, help="python of the venv made from peers.txt"
    )
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    with tempfile.TemporaryDirectory(prefix="hitpath-bench-") as scratch:
        # Not resolved: a venv's python is a link, and its tools stand beside the link.
        python = args.peers_python.absolute()
        tools = Tools(shlex.split(args.hitpath), python, Path(scratch))
        try:
            return 0 if measure(tools, args.requests, args.rounds, args.seed) else 1
        except BenchError as error:
            print(f"analysis: {error}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    raise SystemExit(main())
