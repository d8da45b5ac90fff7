"""Each mechanism of the engine, switched on and off: what it saves.

    python bench/engine_effects.py [--model small] [--rounds 5] [--threads N] [--cpu-time]
                                   [SECTION ...]

lookup    keys, match and block mapping of a 32,000-token hit, content compared: microseconds, and
          their share of such a hit's TTFT
two       cache on and off x own attention, torch's, plain: TTFT of 2,016 tokens (2,000 shared)
pages     TTFT of a hit whose 2,000 tokens stand in one run of memory (read in place) and in blocks
          that lie anywhere (copied by block in order to be read)
cascade   8 decoding sharers of 4,096 tokens: time and KV bytes read a step, with and without
chunks    inter-token latency of one request while a 4,096-token miss arrives, with and without
int8      tokens that the same bytes hold; TTFT of a hit; change of logits and of greedy tokens
parts     miss and hit by part (linear, attention, rest), each as a share of its roofline: the
          longer of its arithmetic at the rate of a matrix product and its bytes at the rate of
          reading memory, both measured here

bfloat16. Variants alternate within a round; a figure is the median over rounds. --cpu-time, with
--threads 1: the processor's time of the thread, for a machine that has other work as well. Tables
for people; the last line is one JSON object.
"""

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
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
from hitpath.engine.records import GenerationRequest, SamplingParams, Tokens, token_array
from hitpath.engine.sequence import Clocks, Sequence
from hitpath.engine.settings import EngineSettings
from hitpath.keys import block_keys

ONE = SamplingParams(max_tokens=1, temperature=0, ignore_eos=True)
RNG = random.Random(7)


def ids(count: int) -> list[int]:
    return [RNG.randrange(300, 8192) for _ in range(count)]


class Clock:
    """Seconds; `main` may choose another one."""

    now = time.perf_counter


def milliseconds(call: Callable[[], object]) -> float:
    started = Clock.now()
    call()
    return 1e3 * (Clock.now() - started)


def medians(rounds: int, variants: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Alternating; the first round only warms up."""
    found: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds + 1):
        for name, measure in variants.items():
            found[name].append(measure())
    return {name: round(statistics.median(each[1:]), 3) for name, each in found.items()}


def waiting(tokens: Tokens) -> Sequence:
    request = GenerationRequest("r", tokens, ONE)
    return Sequence(request, 0, 0, len(tokens) + 1, Clocks(0.0), salt_root(None))


def filled(cache: PrefixCache, tokens: Tokens, num_tokens: int) -> Sequence:
    """The first `num_tokens` can be found from now on, whatever stands in their KV."""
    sequence = waiting(tokens)
    sequence.extend_keys(cache.block_size)
    assert cache.admit(sequence, cache.lookup(sequence))
    sequence.num_computed = num_tokens
    cache.store(sequence)
    cache.release(sequence)
    return sequence


class Bench:
    def __init__(self, model: str, rounds: int, threads: int) -> None:
        self.model = model
        self.rounds = rounds
        self.threads = threads

    def engine(self, folder: Path | None = None, **settings: Any) -> Engine:
        values = {"dtype": "bfloat16", "kv_cache_bytes": 1 << 29, "max_batch_tokens": 8192}
        values |= {"num_threads": self.threads}
        folder = folder or model_folder(self.model)
        engine = load_engine(str(folder), EngineSettings(**{**values, **settings}))
        engine._clock = engine._scheduler._clock = Clock.now
        return engine

    # ---- sections

    def lookup(self) -> dict[str, float]:
        num_tokens, size = 32_000, 16
        tokens = np.array(ids(num_tokens + 16), dtype=np.uint32)
        shape = CacheShape(4 * num_tokens // size, size, "blocks", "lru", True)
        cache = PrefixCache(shape, time.perf_counter, lambda record: None)

        def new() -> Sequence:
            return waiting(tokens)

        first = filled(cache, tokens, num_tokens)

        def keys() -> float:
            return 1e3 * milliseconds(lambda: block_keys(tokens, size, first.root))

        def match_and_map() -> float:
            sequence = new()
            sequence.extend_keys(size)
            started = Clock.now()
            assert cache.admit(sequence, cache.lookup(sequence))
            taken = Clock.now() - started
            assert sequence.num_computed == num_tokens
            cache.release(sequence)
            return 1e6 * taken

        def match() -> float:
            assert isinstance(cache.index, BlockIndex)
            most = num_tokens // size
            return 1e3 * milliseconds(lambda: cache.index.match(None, tokens, first.keys, most))

        variants = {"keys_us": keys, "match_us": match, "match_and_map_us": match_and_map}
        return medians(50 * self.rounds, variants) | self.lookup_share(num_tokens)

    def lookup_share(self, num_tokens: int) -> dict[str, float]:
        """Of a hit with so many cached tokens, through the engine: its own timings, and the keys
        timed apart. `lookup_s` of an answer is both. The KV that is read is noise: computing it
        would take minutes, and reading it takes the same."""
        folder = model_folder(self.model, 2 * num_tokens)
        engine = self.engine(folder, kv_cache_bytes=1 << 29)
        engine._model.kv._all.normal_()
        shared = ids(num_tokens)
        filled(engine.cache, token_array([*shared, 0]), num_tokens)
        root, found = salt_root(None), []
        for _ in range(self.rounds + 1):
            prompt = shared + ids(16)
            done = engine.generate([prompt], ONE)[0]
            assert done.usage.cached_tokens == num_tokens
            tokens = token_array(prompt)
            keys_us = 1e3 * milliseconds(lambda tokens=tokens: block_keys(tokens, 16, root))
            found.append((done.timings.ttft_s, done.timings.lookup_s, 1e-6 * keys_us))
        ttft, lookup, keys = (statistics.median(each) for each in zip(*found[1:], strict=True))
        return {
            "hit of 32,000 cached tokens: TTFT ms": round(1e3 * ttft, 2),
            "its lookup, keys included: us": round(1e6 * lookup, 1),
            "keys, share of TTFT, %": round(100 * keys / ttft, 3),
            "match and mapping, share of TTFT, %": round(100 * (lookup - keys) / ttft, 3),
        }

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

    def pages(self) -> dict[str, float]:
        engines = {"one run": self.engine(), "anywhere": self.engine()}
        free = engines["anywhere"].cache.pool.full
        np.random.default_rng(1).shuffle(free._stack[: free.num_free])
        shared, copied = ids(2_000), {}
        for engine in engines.values():
            engine.generate([shared], ONE)

        def ttft(name: str) -> float:
            engine = engines[name]
            before = engine.stats().kv_gathered_bytes
            taken = milliseconds(lambda: engine.generate([shared + ids(16)], ONE))
            gathered = engine.stats().kv_gathered_bytes - before
            copied[f"{name}: MB copied"] = round(gathered / 1e6, 2)
            return taken

        found = medians(5 * self.rounds, {n: lambda n=n: ttft(n) for n in engines})
        return {f"{name}: hit ms": ms for name, ms in found.items()} | copied

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
            started = Clock.now()
            out = linear(self, x)
            spent["linear"] += Clock.now() - started
            return out

        def timed_plan(batch: Any) -> Any:
            plan = plan_of(batch)
            attend = plan.attend

            def timed(kind: Any, queries: torch.Tensor) -> torch.Tensor:
                started = Clock.now()
                out = attend(kind, queries)
                spent["attention"] += Clock.now() - started
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
        flop_rate, byte_rate = product_rate(), reading_rate()
        found["machine: GFLOP/s of a bf16 product"] = round(flop_rate / 1e9)
        found["machine: GB/s of reading"] = round(byte_rate / 1e9, 1)
        for path, num_new in (("miss", 2_016), ("hit", 16)):
            floors = floors_ms(engine, num_new, 2_016, flop_rate, byte_rate)
            for part, floor in {**floors, "all": sum(floors.values())}.items():
                share = round(floor / found[f"{path}: {part} ms"], 3)
                found[f"{path}: {part}, share of the roofline"] = share
        return found


def product_rate() -> float:
    """FLOP/s of the best of 20 bf16 products as a prompt's are."""
    a, b = (torch.randn(s, dtype=torch.bfloat16) for s in ((2016, 1024), (2816, 1024)))
    taken = min(milliseconds(lambda: torch.nn.functional.linear(a, b)) for _ in range(20))
    return 2 * 2016 * 1024 * 2816 / taken * 1e3


def reading_rate() -> float:
    """Bytes/s of the best of 5 sums over half a GB, which no cache holds."""
    numbers = torch.ones(1 << 27)
    return 4 * len(numbers) / min(milliseconds(numbers.sum) for _ in range(5)) * 1e3


def floors_ms(
    engine: Engine, num_new: int, context: int, flop_rate: float, byte_rate: float
) -> dict[str, float]:
    """What the parts of one prompt take at least: each operand read once, each result written
    once, in bf16. The head is computed for one token."""
    decoder = engine._model.decoder
    config, weights = decoder.config, decoder._weights
    layers = len(config.layers)
    of_layers = sum(
        part.num_elements
        for layer in weights.layers
        for part in (layer.qkv, layer.out, layer.gate_up, layer.down)
    )
    heads, kv_heads = (n * config.head_dim for n in (config.num_heads, config.num_kv_heads))
    seen = sum(range(context - num_new + 1, context + 1))
    hidden, inner = config.hidden_size, config.intermediate_size
    norms_and_sums, turned, gated = 2 * (2 + 3) * hidden, 2 * (heads + 2 * kv_heads), 3 * inner
    flops_and_bytes = {
        "linear": (2 * num_new * of_layers, 2 * (of_layers + weights.head.num_elements)),
        "attention": (4 * heads * seen * layers, 2 * 2 * kv_heads * context * layers),
        "rest": (0, 2 * num_new * layers * (norms_and_sums + turned + gated)),
    }
    return {
        part: 1e3 * max(flops / flop_rate, num_bytes / byte_rate)
        for part, (flops, num_bytes) in flops_and_bytes.items()
    }


SECTIONS = ("lookup", "two", "pages", "cascade", "chunks", "int8", "parts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--model", choices=SIZES, default="small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--cpu-time", action="store_true", help="with --threads 1")
    options = parser.parse_args()
    if options.cpu_time:
        if options.threads != 1:
            parser.error("--cpu-time needs --threads 1")
        Clock.now = time.thread_time
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
    print(
        json.dumps(
            {
                "bench": "engine_effects",
                "cpu_time": options.cpu_time,
                "machine": machine(),
                "results": results,
            }
        )
    )


if __name__ == "__main__":
    main()
