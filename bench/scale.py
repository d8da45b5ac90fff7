"""How hitpath's time and memory grow with the trace: 1 M to 100 M ids, one run each."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from _measure import BenchError, first_line, machine, read_through, rounded, run_process, trace

SIZES = (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
BLOCK_SIZE = 16
SEED = 7
CAPACITY_TOKENS = 524_288  # as in analysis.py
IDS_PER_REQUEST = 9_200 / BLOCK_SIZE + 0.5  # about, of traffic.py: only to choose request counts


def requests_for(num_ids: int) -> int:
    return round(num_ids / IDS_PER_REQUEST)


def exponent(points: list[dict[str, Any]]) -> float | None:
    """Slope of log(wall) over log(ids): 1.0 is linear. Needs two sizes."""
    if len(points) < 2:
        return None
    ids = [math.log(point["num_ids"]) for point in points]
    wall = [math.log(point["wall_s"]) for point in points]
    return round(statistics.linear_regression(ids, wall).slope, 3)


def measure_size(hitpath: list[str], num_ids: int, scratch: Path, discard: bool) -> dict[str, Any]:
    """One run on a trace of about `num_ids` ids."""
    path, written = trace(requests_for(num_ids), BLOCK_SIZE, SEED)
    read_through(path)
    options = {
        "--block-size": str(BLOCK_SIZE),
        "--engine": "lru",
        "--capacity-tokens": str(CAPACITY_TOKENS),
        "--json": str(scratch / "answer.json"),
    }
    flat = [part for pair in options.items() for part in pair]
    run = run_process(
        [*hitpath, "analyze", str(path), *flat], {"NUMBA_CACHE_DIR": str(scratch / "numba")}
    )
    point = {
        "num_requests": written["num_requests"],
        "num_ids": written["num_ids"],
        **rounded(run),
        "ns_per_id": round(run.wall_s * 1e9 / written["num_ids"], 1),
        "file_mb": round(path.stat().st_size / 1e6, 1),
    }
    if discard:
        path.unlink()
        path.with_name(path.name + ".meta.json").unlink()
    return point


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hitpath", required=True, help='the command, e.g. ".venv/bin/hitpath"')
    parser.add_argument("--max-ids", type=int, default=SIZES[-1], help="leave out larger sizes")
    parser.add_argument("--discard", action="store_true", help="delete each trace after its run")
    args = parser.parse_args()
    hitpath = shlex.split(args.hitpath)
    sizes = [size for size in SIZES if size <= args.max_ids]
    if not sizes:
        parser.error(f"--max-ids must be at least {SIZES[0]}")
    about = machine()
    points: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="hitpath-bench-") as scratch:
        try:
            measure_size(hitpath, sizes[0], Path(scratch), discard=False)  # warm-up: compiles
            print(f"{'ids':>12}{'wall s':>10}{'cpu s':>10}{'ns/id':>9}{'peak MB':>10}")
            for size in sizes:
                point = measure_size(hitpath, size, Path(scratch), args.discard)
                points.append(point)
                print(
                    f"{point['num_ids']:>12,}{point['wall_s']:>10.2f}{point['cpu_s']:>10.2f}"
                    f"{point['ns_per_id']:>9.1f}{point['peak_mb']:>10.0f}",
                    flush=True,
                )
        except BenchError as error:
            print(f"scale: {error}", file=sys.stderr)
            return 2
    slope = exponent(points)
    large = [point for point in points if point["num_ids"] > 5_000_000]
    print(
        f"wall ~ ids^{slope or '?'} over all sizes, ids^{exponent(large) or '?'} from 10 M ids on\n"
    )
    record = {
        "bench": "scale",
        "machine": about,
        "versions": {"hitpath": first_line([*hitpath, "--version"])},
        "capacity_tokens": CAPACITY_TOKENS,
        "exponent": slope,
        "exponent_from_10m": exponent(large),
        "points": points,
    }
    print(json.dumps(record))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
