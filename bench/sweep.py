"""How a sweep uses the cores: the cells of a grid on one thread and on two, by turns.

    python bench/sweep.py

Wall times are of a machine that may be busy with other work, so the share of a cell's CPU time that
is spent in kernels, which hold no lock of the interpreter, is told beside them: what is left can
only run on one core at a time. Goal: 1.6 times as many cells a second on two threads.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import TYPE_CHECKING, Any

from _measure import machine, trace
from hitpath.core import Setting
from hitpath.serving_spine import prepare, read_for_serving
from hitpath.serving_spine.cells import measure
from hitpath.sim.serving import loop, simulate
from hitpath.sim.serving_file import FleetFile, RouterPart, Worker

if TYPE_CHECKING:
    from hitpath.serving_spine.run import Prepared

ROUTERS = ("round-robin", "llmd-precise", "hitpath", "dynamo")
WORKERS = (4, 8)
BLOCK = 512
GOAL = 1.6


def cells(num_requests: int) -> list[Prepared]:
    """Ready to run; they share their forests."""
    path, _ = trace(num_requests, BLOCK, 7)
    read = read_for_serving([str(path)], Setting())
    made: list[Prepared] = []
    for router, count in product(ROUTERS, WORKERS):
        worker = Worker(
            model="llama-3.1-8b", hardware="h100-sxm", count=count, capacity_tokens=1_000_000
        )
        file = FleetFile(worker=worker, router=RouterPart(name=router))
        made.append(prepare(read, Setting(), file, [one.inputs for one in made]))
    return made


def kernel_share(grid: list[Prepared]) -> float:
    """Of the CPU time of all cells, one after the other."""
    in_kernel, run = 0.0, loop.run

    def timed(*given: Any) -> int:
        nonlocal in_kernel
        begun = time.thread_time()
        code: int = run(*given)
        in_kernel += time.thread_time() - begun
        return code

    begun = time.thread_time()
    simulate.loop.run = timed
    try:
        for cell in grid:
            measure(cell, {})
    finally:
        simulate.loop.run = run
    return in_kernel / (time.thread_time() - begun)


def wall_s(grid: list[Prepared], threads: int) -> float:
    """As `hitpath simulate --sweep` runs them."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda cell: measure(cell, {}), grid))
    return time.perf_counter() - begun


def main() -> int:
    """The exit code does not depend on time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    grid = cells(options.requests)
    for cell in grid:
        measure(cell, {})  # compiled
    share = kernel_share(grid)
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(options.rounds):
        for threads, found in times.items():
            found.append(wall_s(grid, threads))
    one, two = (statistics.median(times[threads]) for threads in (1, 2))
    print(f"{share:.1%} of the CPU time in kernels; two threads are {one / two:.2f}x one")
    found = {
        "cells": len(grid),
        "requests": options.requests,
        "kernel_share": round(share, 3),
        "wall_s": {str(threads): [round(s, 2) for s in found] for threads, found in times.items()},
        "ratio": round(one / two, 2),
        "goal": GOAL,
        "load_average": [round(value, 1) for value in os.getloadavg()],
        "machine": machine(),
    }
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
