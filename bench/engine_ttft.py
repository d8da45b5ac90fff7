"""Miss and hit TTFT and 64 sharers of one prefix, in-process, beside OpenVINO GenAI.

    python bench/engine_ttft.py [--models small big] [--rounds 3] [--threads N]
                                [--peer-python PATH]

2,000 shared tokens + 16 of each prompt's own. TTFT: one prompt, one token, cold and with the prefix
cached; 64 sharers: all at once, prefix warm, 16 tokens each. bfloat16; --threads: all cores.
A round is a process of each engine, one after the other, so that both see the same minutes; every
figure is a median over a process, the table shows medians over rounds, and the ratios are medians
of the rounds' own ratios. --peer-python: a Python that has openvino-genai (and the GGUF files of
engine_models.py --gguf). Its block is 32 tokens, so its hit computes 32 of the prompt, ours 16; its
KV is 8-bit; neither has HTTP or a tokenizer in the time. Last line: one JSON object.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _measure import DATA, BenchError, machine
from engine_models import SIZES, model_folder

SHARED, OWN, SHARERS, OUTPUT = 2_000, 16, 64, 16
PAIRS, BATCHES = 7, 4
FIGURES = ("miss_ms", "hit_ms", "sharers_per_s")
Generate = Callable[[list[list[int]], int], object]


def measure(generate: Generate) -> dict[str, float]:
    """The three figures of one process; shapes are warmed up first."""
    rng = random.Random(1)

    def ids(count: int) -> list[int]:
        return [rng.randrange(300, 8192) for _ in range(count)]

    def timed(prompts: list[list[int]], num_tokens: int) -> float:
        started = time.perf_counter()
        generate(prompts, num_tokens)
        return time.perf_counter() - started

    warm = ids(SHARED)
    for _ in range(2):
        timed([warm + ids(OWN)], 1)
    miss, hit = [], []
    for _ in range(PAIRS):
        shared = ids(SHARED)
        miss.append(timed([shared + ids(OWN)], 1))
        hit.append(timed([shared + ids(OWN)], 1))
    shared = ids(SHARED)
    timed([shared + ids(OWN)], 1)
    batches = [timed([shared + ids(OWN) for _ in range(SHARERS)], OUTPUT) for _ in range(BATCHES)][
        1:
    ]
    return {
        "miss_ms": 1e3 * statistics.median(miss),
        "hit_ms": 1e3 * statistics.median(hit),
        "sharers_per_s": SHARERS / statistics.median(batches),
    }


def ours(name: str, threads: int) -> Generate:
    from hitpath.engine.load import load_engine
    from hitpath.engine.records import SamplingParams
    from hitpath.engine.settings import EngineSettings

    settings = EngineSettings(
        dtype="bfloat16",
        kv_cache_bytes=1 << 29,
        max_batch_tokens=4096,
        num_threads=threads,
    )
    engine = load_engine(str(model_folder(name)), settings)

    def generate(prompts: list[list[int]], num_tokens: int) -> object:
        params = SamplingParams(max_tokens=num_tokens, temperature=0, ignore_eos=True)
        return engine.generate(prompts, params)

    return generate


def openvino(name: str, threads: int) -> Generate:
    import numpy as np
    import openvino as ov
    import openvino_genai as genai

    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True
    scheduler.cache_size = 1
    scheduler.max_num_batched_tokens = 4096
    scheduler.max_num_seqs = SHARERS
    path = str(DATA / f"engine-{name}.gguf")
    pipeline = genai.ContinuousBatchingPipeline(
        path, scheduler, "CPU", {"INFERENCE_NUM_THREADS": threads}
    )

    def generate(prompts: list[list[int]], num_tokens: int) -> object:
        config = genai.GenerationConfig()
        config.max_new_tokens = num_tokens
        config.ignore_eos = True
        config.do_sample = False
        inputs = [ov.Tensor(np.array([prompt], dtype=np.int64)) for prompt in prompts]
        return pipeline.generate(inputs, [config] * len(prompts))

    return generate


def run_child(python: str, engine: str, name: str, threads: int) -> dict[str, float]:
    command = [python, str(Path(__file__).resolve()), "--child", engine, name, str(threads)]
    # Two settings of the C library that keep big buffers mapped between requests (both engines).
    env = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 32)}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
    if done.returncode:
        raise BenchError(f"{engine} {name}:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def compare(name: str, rounds: int, threads: int, peer: str | None) -> dict[str, Any]:
    runs: dict[str, list[dict[str, float]]] = {"hitpath": [], "openvino": []}
    for _ in range(rounds):
        runs["hitpath"].append(run_child(sys.executable, "hitpath", name, threads))
        if peer:
            runs["openvino"].append(run_child(peer, "openvino", name, threads))
    result: dict[str, Any] = {
        engine: {f: round(statistics.median(run[f] for run in each), 2) for f in FIGURES}
        for engine, each in runs.items()
        if each
    }
    if peer:
        pairs = list(zip(runs["hitpath"], runs["openvino"], strict=True))
        result["ratio"] = {
            f: round(statistics.median(one[f] / other[f] for one, other in pairs), 3)
            for f in FIGURES
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-python", help="a Python with openvino-genai")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        engine, name, threads = options.child
        make = {"hitpath": ours, "openvino": openvino}[engine]
        print(json.dumps(measure(make(name, int(threads)))))
        return
    results = {}
    for name in options.models:
        model_folder(name)
        results[name] = compare(name, options.rounds, options.threads, options.peer_python)
        print(f"{name:6} {'':9} {'miss ms':>9} {'hit ms':>8} {'64 sharers, requests/s':>23}")
        for engine, figures in results[name].items():
            cells = [
                f"{figures[f]:.3f}" if engine == "ratio" else f"{figures[f]:.1f}" for f in FIGURES
            ]
            print(f"{'':6} {engine:9} {cells[0]:>9} {cells[1]:>8} {cells[2]:>23}", flush=True)
    print(json.dumps({"bench": "engine_ttft", "machine": machine(), "results": results}))


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(str(error))
