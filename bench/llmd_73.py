"""How long the 57x experiment takes: four schedulers, nine seeds, two threads. Goal: under 30 s.

    python bench/llmd_73.py

The first run of each scheduler (compiling, loading from the cache) is not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from _measure import machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from llmd_73.measured import read_measured
from llmd_73.settings import load_experiment
from llmd_73.simulate import run_all, run_scheduler

GOAL_S = 30.0


def main() -> int:
    """Exit code 1 where the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    experiment, measured = load_experiment(), read_measured()
    steps = {}
    for name in experiment.schedulers:
        outcome = run_scheduler(experiment, name, 0, measured).outcome
        steps[name] = int(outcome.per_worker.num_steps.sum())
    begun = time.perf_counter()
    run_all(experiment, measured, options.seeds, num_threads=options.threads)
    wall_s = time.perf_counter() - begun
    runs = options.seeds * len(experiment.schedulers)
    found = {
        "runs": runs,
        "threads": options.threads,
        "wall_s": round(wall_s, 2),
        "s_per_run": round(wall_s / runs, 3),
        "steps_of_one_run": steps,
        "goal_s": GOAL_S,
        "machine": machine(),
    }
    print(json.dumps(found, indent=2))
    return 0 if wall_s < GOAL_S else 1


if __name__ == "__main__":
    sys.exit(main())
