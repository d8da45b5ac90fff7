"""The highest hit rate, and one of the worst waits: a router that ignores load makes a worker hot.

A popular assistant (a prefix of 6,000 tokens) has 60 % of the traffic, forty small ones share the
rest. Always going where most of the prompt is cached finds nearly everything, on one worker. The
weights that llm-d's benchmark gave its precise scheduler in 2025 do the same here.

$ python examples/hot_worker.py
"""

import numpy as np
from small_fleet import Prompt, SmallFleet, hit_rate

ROUTERS = ("longest-prefix", "hitpath", "llmd-precise", "dynamo", "least-loaded", "random")
FLEET = SmallFleet(num_workers=8, kv_tokens=400_000)
RATE, SECONDS, OUTPUT_TOKENS = 60, 60, 200


def traffic(seed: int = 1) -> tuple[list[Prompt], np.ndarray]:
    """(prompts, Poisson arrivals in s)."""
    rng = np.random.default_rng(seed)
    n = RATE * SECONDS
    prompts: list[Prompt] = []
    for number in range(n):
        small = int(rng.integers(40))
        first = ("popular", 6000) if rng.random() < 0.6 else (f"assistant {small}", 3000)
        prompts.append([first, (f"question {number}", int(rng.integers(100, 400)))])
    return prompts, np.cumsum(rng.exponential(1 / RATE, n))


def figures(router: str, seed: int = 1) -> tuple[float, float, float, float]:
    """(hit rate, TTFT p50, p99 in s, the busiest worker's share of the requests)."""
    prompts, arrival_s = traffic(seed)
    outcome = FLEET.serve(prompts, arrival_s, OUTPUT_TOKENS, router, seed)
    p50, p99 = np.percentile(outcome.ttft_s, [50, 99])
    most = np.bincount(outcome.worker, minlength=FLEET.num_workers).max() / len(prompts)
    return hit_rate(outcome, prompts), float(p50), float(p99), float(most)


if __name__ == "__main__":
    print(f"{'router':16}{'hit rate':>10}{'TTFT p50, s':>14}{'p99, s':>10}{'busiest':>10}")
    for name in ROUTERS:
        rate, p50, p99, most = figures(name)
        print(f"{name:16}{rate:>10.1%}{p50:>14.3f}{p99:>10.3f}{most:>10.1%}")
