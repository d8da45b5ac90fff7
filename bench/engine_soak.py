"""Does memory stay flat? 10,000 requests of every kind through one small engine.

    python bench/engine_soak.py [--requests 10000] [--seed 0]

The tiny model, a small cache under pressure: shared and cold prompts, salts that come once and
never again, choices, stop strings, cancellations, clears, pins. Resident memory is read every 500
requests; the check is that it grows by less than 8 MB from a tenth of the way on. Conservation is
checked as often. Exit code 1 if it grows. Last line: one JSON object.
"""

import argparse
import json
import os
import random
import sys
import time
from pathlib import Path

from _measure import machine
from hitpath.engine.errors import Overloaded
from hitpath.engine.load import tiny_engine
from hitpath.engine.records import SamplingParams
from hitpath.engine.settings import EngineSettings

MOST_GROWTH_MB = 8.0


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    settings = EngineSettings(
        num_blocks=120, max_model_len=256, max_waiting=40, max_running=16, num_threads=1
    )
    engine = tiny_engine(settings)
    shared = [[rng.randrange(256) for _ in range(100)] for _ in range(6)]
    started, sizes, submitted = time.perf_counter(), [], 0
    while submitted < options.requests:
        for _ in range(rng.randrange(1, 8)):
            prompt = rng.choice(shared)[: rng.randrange(1, 100)]
            prompt = prompt + [rng.randrange(256) for _ in range(rng.randrange(1, 12))]
            params = SamplingParams(
                max_tokens=rng.randrange(1, 10),
                temperature=rng.choice([0, 1]),
                n=rng.choice([1, 1, 1, 2]),
                stop=rng.choice([(), ("ab", "c")]),
                logprobs=rng.choice([None, None, 2]),
            )
            salt = rng.choice([None, None, "tenant", f"once {submitted}"])
            try:
                engine.submit(engine.request_of(prompt, params, f"r{submitted}", salt))
            except Overloaded:
                break
            submitted += 1
            if submitted % 500 == 0:
                engine.check()
                sizes.append(round(resident_mb(), 1))
        if rng.random() < 0.1:
            engine.abort(f"r{rng.randrange(max(0, submitted - 20), submitted)}")
        if rng.random() < 0.002:
            engine.clear_cache()
        engine.unpin(engine.pin(rng.choice(shared)[:32])[0])
        engine.step()
    while engine.has_work:
        engine.step()
    engine.check()
    settled = sizes[len(sizes) // 10 :]
    growth = round(settled[-1] - settled[0], 1)
    stats = engine.stats()
    rate = stats.hit_tokens / stats.prompt_tokens
    print(f"{submitted} requests in {time.perf_counter() - started:.0f} s, hit rate {rate:.2f}")
    print(f"resident MB every 500: {' '.join(map(str, sizes))}")
    print(f"grown by {growth} MB (at most {MOST_GROWTH_MB})")
    result = {"requests": submitted, "resident_mb": sizes, "growth_mb": growth}
    print(json.dumps({"bench": "engine_soak", "machine": machine(), "results": result}))
    sys.exit(growth > MOST_GROWTH_MB)


if __name__ == "__main__":
    main()
