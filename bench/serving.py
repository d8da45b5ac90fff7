"""Serving in virtual time, hitpath beside NVIDIA Dynamo's replay (ai-dynamo-runtime), in one run.

The trace of traffic.py in blocks of 512 tokens, eight workers, each tool once a round by turns:
round-robin, and Dynamo's KV router (in hitpath the router of that name, over the same figures).
Dynamo's own wall time of a replay leaves reading out; so does hitpath's here, and both are also
told with reading. Where the rules are the same (an unlimited cache: whatever was computed before
is a hit) the reused tokens must be equal, or the exit code is 1; it never depends on time.

    python bench/serving.py --peers-python PATH

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BLOCK = 512
WORKERS = 8
CAPACITY_BLOCKS = 8192
UNLIMITED_BLOCKS = 1_000_000
MAX_BATCH_TOKENS = 8192
MAX_RUNNING = 256
ROUTERS = {"round_robin": "round-robin", "kv_router": "dynamo"}
GOAL = 5.0
SPREAD_OUT = 0.05
"""Arrivals so much slower where hits are compared: no two prompts of a session are in flight."""


@dataclass(frozen=True)
class Replay:
    """What a tool tells: seconds of the replay alone, seconds with reading, tokens not computed."""

    simulated_s: float
    whole_s: float
    reused_tokens: int


# ---- under the other interpreter ---------------------------------------------------------------


def replay_with_dynamo(path: str, mode: str, blocks: int, workers: int, speedup: float) -> None:
    """Print one JSON line."""
    import dynamo._core as core

    engine = {
        "block_size": BLOCK,
        "num_gpu_blocks": blocks,
        "max_num_batched_tokens": MAX_BATCH_TOKENS,
        "max_num_seqs": MAX_RUNNING,
    }
    start = time.perf_counter()
    result = core.run_mocker_trace_replay(
        [path],
        extra_engine_args={"engine": engine},
        num_workers=workers,
        router_mode=mode,
        router_config=core.KvRouterConfig() if mode == "kv_router" else None,
        trace_block_size=BLOCK,
        arrival_speedup_ratio=speedup,
    )
    whole_s = time.perf_counter() - start
    summary = result.summary
    reused = summary["total_input_tokens"] - summary["committed_prefill_tokens"]
    print(json.dumps([summary["wall_time_ms"] / 1e3, whole_s, reused]))


class Dynamo:
    """Its replays, each in a process of its own; the clock runs inside it."""

    def __init__(self, python: str, path: Path) -> None:
        self._python, self._path = python, path

    def version(self) -> str:
        code = "import importlib.metadata as m; print(m.version('ai-dynamo-runtime'))"
        return subprocess.run(
            [self._python, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()

    def replay(
        self, mode: str, blocks: int, workers: int = WORKERS, speedup: float = 1.0
    ) -> Replay:
        options = [str(self._path), mode, str(blocks), str(workers), str(speedup)]
        done = subprocess.run(
            [self._python, str(Path(__file__).resolve()), "--replay", *options],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "DYN_LOG": "error"},
        )
        return Replay(*json.loads(done.stdout.splitlines()[-1]))


# ---- hitpath -----------------------------------------------------------------------------------


class Hitpath:
    """The same in this process."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def replay(
        self, mode: str, blocks: int, workers: int = WORKERS, speedup: float = 1.0
    ) -> Replay:
        start = time.perf_counter()
        inputs = self._read()
        built = time.perf_counter()
        from hitpath.sim.serving.simulate import simulate_serving

        arrivals = _arrivals(inputs, speedup)
        fleet = _fleet(mode, None if blocks == UNLIMITED_BLOCKS else blocks, workers)
        outcome = simulate_serving(inputs.tree.tree, None, inputs.requests, arrivals, fleet)
        end = time.perf_counter()
        outcome.check(inputs.requests)
        assert bool(outcome.served.all()), "not every request was served"
        return Replay(end - built, end - start, int(outcome.hit_tokens.sum()))

    def _read(self) -> Any:
        import numpy as np

        from hitpath.sim.serving_inputs import Shapes, serving_inputs
        from hitpath.traces import read_trace

        trace = read_trace([str(self._path)], block_size=BLOCK)
        shapes = Shapes(BLOCK, 0, BLOCK, keep_outputs=False, output_tokens=None)
        return serving_inputs(trace, np.arange(len(trace)), shapes)


def _arrivals(inputs: Any, speedup: float) -> Any:
    from hitpath.sim.serving.records import Arrivals

    arrival_s = inputs.trace.arrival_s
    return Arrivals.at((arrival_s - arrival_s.min()) / speedup)


def _fleet(mode: str, capacity_blocks: int | None, workers: int) -> Any:
    """Eight times Llama-3.1-8B on an H100; Dynamo has step times of its own, of the same order."""
    from hitpath.cost.pricing import load_pricing
    from hitpath.routing.registry import make_router
    from hitpath.sim.serving.records import FleetSettings, WorkerGroup, WorkerSettings
    from hitpath.sim.serving.step_time import step_model

    replica = load_pricing("llama-3.1-8b", "h100-sxm").replica
    settings = WorkerSettings(
        block_size=BLOCK,
        capacity_blocks=capacity_blocks,
        max_batch_tokens=MAX_BATCH_TOKENS,
        max_running=MAX_RUNNING,
    )
    steps = step_model(replica, MAX_BATCH_TOKENS, MAX_RUNNING)
    router = make_router(ROUTERS[mode], workers, 0)
    return FleetSettings((WorkerGroup(workers, settings, steps),), router)


# ---- both --------------------------------------------------------------------------------------


def compare_hits(ours: Hitpath, theirs: Dynamo) -> dict[str, Any]:
    """Reused tokens with an unlimited cache, on one worker and by turns on eight."""
    checks = {}
    for workers in (1, WORKERS):
        found = [
            tool.replay("round_robin", UNLIMITED_BLOCKS, workers, SPREAD_OUT).reused_tokens
            for tool in (ours, theirs)
        ]
        checks[f"unlimited, {workers} workers"] = {
            "hitpath": found[0],
            "dynamo": found[1],
            "equal": found[0] == found[1],
        }
    return checks


def race(
    ours: Hitpath, theirs: Dynamo, mode: str, num_requests: int, rounds: int
) -> dict[str, Any]:
    """Medians of alternating rounds, in requests a second."""
    times: dict[str, list[Replay]] = {"hitpath": [], "dynamo": []}
    ours.replay(mode, CAPACITY_BLOCKS)  # compiled, and the file is in memory
    for index in range(rounds):
        tools = [("hitpath", ours), ("dynamo", theirs)]
        for name, tool in tools if index % 2 == 0 else tools[::-1]:
            replay = tool.replay(mode, CAPACITY_BLOCKS)
            times[name].append(replay)
            times_s = f"{replay.simulated_s:8.3f} s, {replay.whole_s:8.3f} s with reading"
            print(f"{mode:<12} {name:<8} {times_s}")
    result: dict[str, Any] = {"reused_tokens": {}}
    for part in ("simulated_s", "whole_s"):
        rates = {
            name: num_requests / statistics.median(getattr(replay, part) for replay in replays)
            for name, replays in times.items()
        }
        result[part.replace("_s", "_requests_per_s")] = {k: round(v, 1) for k, v in rates.items()}
        result[part.replace("_s", "_ratio")] = round(rates["hitpath"] / rates["dynamo"], 2)
    for name, replays in times.items():
        result["reused_tokens"][name] = replays[-1].reused_tokens
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers-python", metavar="PATH", help="has ai-dynamo-runtime")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--replay", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.replay:
        path, mode, blocks, workers, speedup = args.replay
        replay_with_dynamo(path, mode, int(blocks), int(workers), float(speedup))
        return 0
    if not args.peers_python:
        parser.error("--peers-python is needed: an interpreter that has ai-dynamo-runtime")
    from _measure import machine, trace

    path, written = trace(args.requests, BLOCK, 7)
    ours, theirs = Hitpath(path), Dynamo(args.peers_python, path)
    hits = compare_hits(ours, theirs)
    races = {mode: race(ours, theirs, mode, args.requests, args.rounds) for mode in ROUTERS}
    held = all(check["equal"] for check in hits.values())
    fast = all(result["simulated_ratio"] >= GOAL for result in races.values())
    print(f"hits are equal: {held}; at least {GOAL:g} times as fast: {fast}")
    result = {
        "trace": {"requests": args.requests, "prompt_tokens": written["prompt_tokens"]},
        "workers": WORKERS,
        "dynamo": theirs.version(),
        "machine": machine(),
        "hits": hits,
        "races": races,
    }
    print(json.dumps(result))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
