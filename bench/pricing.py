"""How long do prices take on top of an analysis of a million requests?

    python bench/pricing.py [--rows 1000000] [--rounds 5]

Rows are drawn with a fixed seed: prompts of 1 to 32,768 tokens with a hit, tokens evicted, lost to
rounding and cold, so that every rung that can move does. `price_analysis` prices all of them at
every rung, with the TTFT classes and the decode bound; `hitpath price` is timed as a process of its
own. The goals: 0.5 s and 0.3 s. Last line: one JSON object.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np

from _measure import machine
from hitpath.accounting.ledger import Rungs, attribute
from hitpath.core import ABSENT
from hitpath.cost.pricing import load_pricing
from hitpath.summary.priced import price_analysis

MODELS = ("llama-3.1-70b", "qwen3-32b", "deepseek-v3", "gpt-oss-120b", "qwen3-next-80b-a3b")


def ledger_of(num_rows: int, seed: int = 7):
    """A ledger and the trace's columns that prices look at."""
    rng = np.random.default_rng(seed)
    prompt = rng.integers(1, 32_769, num_rows)
    hit = (prompt * rng.random(num_rows)).astype(np.int64) // 16 * 16
    evicted = hit + ((prompt - hit) * rng.random(num_rows) * 0.5).astype(np.int64) // 16 * 16
    rounded = np.minimum(evicted + rng.integers(0, 16, num_rows), prompt)
    reach = [hit, hit, hit, hit, evicted, rounded, rounded, rounded, prompt]
    none = np.full(num_rows, ABSENT, dtype=np.int64)
    rungs = Rungs(
        np.stack(reach),
        none,
        np.zeros(num_rows, dtype=np.bool_),
        unknown={"ineligible": "", "in_flight": "", "diverged": ""},
    )
    trace = SimpleNamespace(
        prompt_tokens=prompt,
        output_tokens=rng.integers(1, 1000, num_rows),
        ttft_s=np.full(num_rows, np.nan),
        arrival_s=np.sort(rng.random(num_rows) * 86_400),
        common_clock=True,
    )
    return SimpleNamespace(
        ledger=attribute(rungs), trace=trace, engine=SimpleNamespace(block_size=16)
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=5)
    asked = options.parse_args()
    analysis = ledger_of(asked.rows)
    seconds: dict[str, list[float]] = {name: [] for name in MODELS}
    cold_s: list[float] = []
    command = [sys.executable, "-m", "hitpath", "price", "--model", "llama-3.1-70b"]
    command += ["--hardware", "h100-sxm", "--tp", "8"]
    for _ in range(asked.rounds):
        for name in MODELS:
            pricing = load_pricing(name, "h100-sxm", num_gpus=8, gpu_hour_usd=2.5)
            began = time.perf_counter()
            price_analysis(analysis, pricing)
            seconds[name].append(time.perf_counter() - began)
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        cold_s.append(time.perf_counter() - began)
    for name, told in seconds.items():
        print(f"{name:20}  median {statistics.median(told):.3f} s  least {min(told):.3f} s")
    print(
        f"{'hitpath price':20}  median {statistics.median(cold_s):.3f} s  least {min(cold_s):.3f} s"
    )
    print(
        json.dumps(
            {
                "bench": "pricing",
                "rows": asked.rows,
                "rounds": asked.rounds,
                "price_analysis_s": {n: statistics.median(t) for n, t in seconds.items()},
                "hitpath_price_s": statistics.median(cold_s),
                "machine": machine(),
            }
        )
    )


if __name__ == "__main__":
    main()
