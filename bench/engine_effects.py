"""Each mechanism of the engine, switched on and off: what it saves.

    python bench/engine_effects.py [--model small] [--rounds 5] [--threads N] [SECTION ...]

lookup    keys, match and block mapping of a 32,000-token hit, content compared: microseconds
two       cache on and off x own attention, torch's, plain: TTFT of 2,016 tokens (2,000 shared)
cascade   8 decoding sharers of 4,096 tokens: time and KV bytes read a step, with and without
chunks    inter-token latency of one request while a 4,096-token miss arrives, with and without
int8      tokens that the same bytes hold; TTFT of a hit; change of logits and of greedy tokens
parts     miss and hit by part (linear, attention, rest) beside the machine's own matrix product

bfloat16. Variants alternate within a round; a figure is the median over rounds. Tables for people;
the last line is one JSON object.
"""

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from _measure import machine
from engine_models import SIZES, model_folder
from hitpath.engine.block_index import BlockIndex
from hitpath.engine.cache import CacheShape, PrefixCache, salt_root
from hitpath.engine.engine import Engine
from hitpath.engine.layers import Linear
from hitpath.engine.load import load_engine
from hitpath.engine.records import GenerationRequest, SamplingParams, token_array
from hitpath.engine.sequence import Clocks, Sequence
from hitpath.engine.settings import EngineSettings
from hitpath.keys import block_keys

ONE = SamplingParams(max_tokens=1, temperature=0, ignore_eos=True)
RNG = random.Random(7)


def ids(count: int) -> list[int]:
    return [RNG.randrange(300, 8192) for _ in range(count)]


def milliseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - started)


def medians(rounds: int, variants: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Alternating; the first round only warms up."""
    found: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds + 1):
        for name, measure in variants.items():
            found[name].append(measure())
    return {name: round(statistics.median(each[1:]), 3) for name, each in found.items()}


class Bench:
    def __init__(self, model: str, rounds: int, threads: int) -> None:
        self.folder = str(model_folder(model))
        self.rounds = rounds
        self.threads = threads

    def engine(self, **settings: Any) -> Engine:
        values = {"dtype": "bfloat16", "kv_cache_bytes": 1 << 29, "max_batch_tokens": 8192}
        values |= {"num_threads": self.threads}
        return load_engine(self.folder, EngineSettings(**{**values, **settings}))

    # ---- sections

    def lookup(self) -> dict[str, float]:
        num_tokens, size = 32_000, 16
        tokens = np.array(ids(num_tokens + 16), dtype=np.uint32)
        shape = CacheShape(4 * num_tokens // size, size, "blocks", "lru", True)
        cache = PrefixCache(shape, time.perf_counter, lambda record: None)

        def new() -> Sequence:
            request = GenerationRequest("r", tokens, ONE)
            return Sequence(request, 0, 0, len(tokens) + 1, Clocks(0.0), salt_root(None))

        first = new()
        first.extend_keys(size)
        assert cache.admit(first, cache.lookup(first))
        first.num_computed = num_tokens
        cache.store(first)
        cache.release(first)

        def keys() -> float:
            return 1e3 * milliseconds(lambda: block_keys(tokens, size, first.root))

        def match_and_map() -> float:
            sequence = new()
            sequence.extend_keys(size)
            started = time.perf_counter()
            assert cache.admit(sequence, cache.lookup(sequence))
            taken = time.perf_counter() - started
            assert sequence.num_computed == num_tokens
            cache.release(sequence)
            return 1e6 * taken

        def match() -> float:
            assert isinstance(cache.index, BlockIndex)
            most = num_tokens // size
            return 1e3 * milliseconds(lambda: cache.index.match(None, tokens, first.keys, most))

        variants = {"keys_us": keys, "match_us": match, "match_and_map_us": match_and_map}
        return medians(50 * self.rounds, variants)

    def two(self) -> dict[str, float]:
        engines = {
            f"cache {'on' if cache else 'off'}, {attention}": self.engine(
                prefix_cache=cache, attention=attention
            )
            for cache in (True, False)
            for attention in ("folded", "sdpa", "plain")
        }
        shared = ids(2_000)
        for engine in engines.values():
            engine.generate([shared + ids(16)], ONE)

        def ttft(engine: Engine) -> float:
            return milliseconds(lambda: engine.generate([shared + ids(16)], ONE))

        return medians(self.rounds, {n: lambda e=e: ttft(e) for n, e in engines.items()})

    def cascade(self) -> dict[str, float]:
        num_shared, sharers, steps = 4_096, 8, 16
        params = SamplingParams(max_tokens=steps + 1, temperature=0, ignore_eos=True)
        engines = {"with": self.engine(), "without": self.engine(cascade=False)}
        engines["torch's attention"] = self.engine(attention="sdpa")
        read: dict[str, float] = {}
        shared = ids(num_shared)

        def step_ms(name: str) -> float:
            engine = engines[name]
            engine.generate([shared], ONE)
            for i in range(sharers):
                prompt = token_array(shared + ids(16))
                engine.submit(GenerationRequest(str(i), prompt, params))
            engine.step()
            before = engine.stats()
            taken = milliseconds(lambda: [engine.step() for _ in range(steps)])
            moved = engine.stats().kv_read_bytes - before.kv_read_bytes
            read[f"{name}: MB read a step"] = round(moved / steps / 1e6, 2)
            while engine.has_work:
                engine.step()
            return taken / steps

        found = medians(self.rounds, {n: lambda n=n: step_ms(n) for n in engines})
        return {f"{name}: ms a step": ms for name, ms in found.items()} | read

    def chunks(self) -> dict[str, float]:
        longest: dict[str, list[float]] = {}

        def itl(name: str, **settings: Any) -> float:
            """The longest wait for a token, and the median as the figure of the round."""
            engine = self.engine(**settings)
            talk = SamplingParams(max_tokens=60, temperature=0, ignore_eos=True)
            engine.submit(GenerationRequest("talks", token_array(ids(64)), talk))
            for _ in range(10):
                engine.step()
            engine.submit(GenerationRequest("miss", token_array(ids(4_096)), ONE))
            waits = []
            while engine.has_work:
                waits.append(milliseconds(engine.step))
            longest.setdefault(name, []).append(max(waits))
            return statistics.median(waits)

        variants = {
            "chunks of 256": {"max_batch_tokens": 256},
            "whole prompt": {"chunked_prefill": False},
        }
        medians(self.rounds, {n: lambda n=n, s=s: itl(n, **s) for n, s in variants.items()})
        return {
            f"{name}: longest ITL ms": round(statistics.median(each[1:]), 2)
            for name, each in longest.items()
        }

    def int8(self) -> dict[str, float]:
        engines = {"full": self.engine(), "int8": self.engine(int8_shared=True)}
        shared = ids(2_000)
        for engine in engines.values():
            engine.generate([shared], ONE)

        def ttft(engine: Engine) -> float:
            return milliseconds(lambda: engine.generate([shared + ids(16)], ONE))

        found = medians(
            self.rounds, {f"{n}: hit ms": lambda e=e: ttft(e) for n, e in engines.items()}
        )
        for name, engine in engines.items():
            found[f"{name}: tokens held"] = engine.stats().total_blocks * 16
        prompts = [shared + ids(16) for _ in range(16)]
        params = SamplingParams(max_tokens=32, temperature=0, ignore_eos=True, logprobs=20)
        full, rough = (engine.generate(prompts, params) for engine in engines.values())
        changes, agree = [], 0
        for one, other in zip(full, rough, strict=True):
            first = [dict(c.choices[0].logprobs[0].top) for c in (one, other)]
            changes += [abs(first[0][t] - first[1][t]) for t in first[0].keys() & first[1].keys()]
            pairs = zip(one.choices[0].token_ids, other.choices[0].token_ids, strict=True)
            agree += sum(a == b for a, b in pairs)
        return found | {
            "largest change of a log-probability": round(max(changes), 4),
            "greedy tokens that agree, of 512": agree,
        }

    def parts(self) -> dict[str, float]:
        engine = self.engine()
        shared = ids(2_000)
        spent = {"linear": 0.0, "attention": 0.0}
        linear, plan_of = Linear.__call__, engine._model.decoder._attention.plan

        def timed_linear(self: Linear, x: torch.Tensor) -> torch.Tensor:
            started = time.perf_counter()
            out = linear(self, x)
            spent["linear"] += time.perf_counter() - started
            return out

        def timed_plan(batch: Any) -> Any:
            plan = plan_of(batch)
            attend = plan.attend

            def timed(kind: Any, queries: torch.Tensor) -> torch.Tensor:
                started = time.perf_counter()
                out = attend(kind, queries)
                spent["attention"] += time.perf_counter() - started
                return out

            plan.attend = timed
            return plan

        Linear.__call__ = timed_linear
        engine._model.decoder._attention.plan = timed_plan
        figures: dict[str, list[float]] = {}
        for _ in range(self.rounds + 1):
            shared = ids(2_000)
            for path in ("miss", "hit"):
                spent |= dict.fromkeys(spent, 0.0)
                prompt = shared + ids(16)
                total = milliseconds(lambda prompt=prompt: engine.generate([prompt], ONE))
                row = {"all": total, **{part: 1e3 * s for part, s in spent.items()}}
                row["rest"] = total - row["linear"] - row["attention"]
                for part, ms in row.items():
                    figures.setdefault(f"{path}: {part} ms", []).append(ms)
        Linear.__call__ = linear
        found = {name: round(statistics.median(each[1:]), 2) for name, each in figures.items()}
        a, b = (torch.randn(s, dtype=torch.bfloat16) for s in ((2016, 1024), (2816, 1024)))
        product = min(milliseconds(lambda: torch.nn.functional.linear(a, b)) for _ in range(20))
        peak = 2 * 2016 * 1024 * 2816 / product / 1e6
        config = engine._model.decoder.config
        layers = len(config.layers)
        weights = sum(
            part.num_elements
            for layer in engine._model.decoder._weights.layers
            for part in (layer.qkv, layer.out, layer.gate_up, layer.down)
        )
        causal = 2 * config.num_heads * config.head_dim * 2016 * 2017 * layers
        found["machine: GFLOP/s of a bf16 product"] = round(peak)
        found["miss: linear share of that"] = round(
            2 * weights * 2016 / 1e6 / peak / found["miss: linear ms"], 3
        )
        found["miss: attention share of that"] = round(
            causal / 1e6 / peak / found["miss: attention ms"], 3
        )
        return found


SECTIONS = ("lookup", "two", "cascade", "chunks", "int8", "parts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--model", choices=SIZES, default="small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}")
    torch.set_num_threads(options.threads)
    bench = Bench(options.model, options.rounds, options.threads)
    results = {}
    for section in options.sections or SECTIONS:
        results[section] = getattr(bench, section)()
        print(section)
        for name, value in results[section].items():
            print(f"  {name:44} {value:>12,}", flush=True)
    print(json.dumps({"bench": "engine_effects", "machine": machine(), "results": results}))


if __name__ == "__main__":
    main()
