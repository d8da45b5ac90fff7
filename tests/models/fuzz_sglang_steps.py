"""Drive SGLang's own scheduler and the model's side by side, and compare every step.

    python tests/models/fuzz_sglang_steps.py --source UNPACKED_WHEEL --steps 100000

Compared in each step: prefill or decode, which requests get how many tokens and in which order, the
hits, who runs and waits in which order, who was retracted, who finished, the ratio of
output that is expected, free places, the whole tree and the order in which its leaves would go.
Prints one JSON object; exits 1 at the first difference, with its seed.
"""

import argparse
import json
import random
import sys
import time

from hitpath.sim.models.contract import Request
from hitpath.sim.models.sglang_budget import SglangSteps
from hitpath.sim.models.sglang_rules import SglangSettings
from hitpath.sim.models.sglang_steps import SglangScheduler
from models.fuzz_sglang import POLICIES, Mismatch, model_order, model_paths, model_tree
from models.sglang_scheduler import RealScheduler, load

STOP = 9
KINDS = ("overlap", "plain")


def settings_of(rng, kind, crowded, core):
    """`crowded`: many begin because little output is expected, and some are retracted."""
    page = rng.choice([1, 1, 2, 4] if crowded else [1, 1, 1, 2, 4, 16])
    settings = SglangSettings(
        capacity_tokens=page * (rng.randint(90, 300) if crowded else rng.randint(40, 120)),
        page_size=page,
        policy=rng.choice(["lru", "lru", *POLICIES]),
        version="0.5.23",
        as_radix_cache=core == "python" and rng.random() < 0.2,
    )
    steps = SglangSteps(
        max_prefill_tokens=page * rng.choice([16, 60, 400]),
        chunk_tokens=rng.choice([None, page * 5, page * 7, page * 12 + 1, page * 30]),
        max_running=16 if crowded else rng.choice([2, 4, 16]),
        queue=rng.choice(["fcfs", "fcfs", "lpm"]),
        overlap=kind == "overlap",
        conservativeness=0.01 if crowded else rng.choice([0.1, 0.3, 1.0]),
    )
    return settings, steps


class Pair:
    """The real scheduler and the model, in step."""

    def __init__(self, sglang, settings, steps):
        self.settings = (settings, steps)
        self.mine = SglangScheduler(settings, steps)
        self.real = RealScheduler(sglang, settings, steps, STOP)
        names = ["steps", "requests", "hit_tokens", "finished", "stopped", "retracted"]
        self.counts = dict.fromkeys([*names, "prefills", "chunks"], 0)

    def same(self, what, model, real):
        if model != real:
            told = f"step {self.counts['steps']}: {what}: model {model}, SGLang {real}"
            raise Mismatch(told, self.settings)

    def submit(self, request, output, ignores_stops):
        taken = self.mine.submit(request, output, ignores_stops=ignores_stops)
        self.same("taken", taken, self.real.submit(request, output, ignores_stops))
        self.counts["requests"] += 1

    def step(self, rng):
        """Returns whether anything was done."""
        was_waiting = set(self.real.waiting())
        planned, theirs = self.mine.schedule(), self.real.schedule()
        self.counts["steps"] += 1
        mine = None if planned is None else (planned.kind, list(planned.scheduled.items()))
        real = None if theirs is None else (theirs[0], list(theirs[1].items()))
        self.same("scheduled", mine, real)
        if planned is not None:
            for number, hit in planned.admitted.items():
                req = self.real.requests[number]
                if not req.retracted_stain:
                    self.same("cached tokens", hit, req.cached_tokens)
                self.counts["hit_tokens"] += hit
            self.counts["prefills"] += planned.kind == "prefill"
            self.counts["chunks"] += self.mine._chunked is not None
        self.same("waiting", [job.number for job in self.mine.waiting], self.real.waiting())
        retracted = [n for n in self.real.waiting() if n not in was_waiting]
        self.same("retracted", self.mine.retracted, retracted)
        self.counts["retracted"] += len(retracted)
        self.compare()
        due = self.mine.due()
        sampled = {number: self.token(rng) for number in due}
        stopped = [n for n in due if sampled[n] == STOP and not self.ignores(n)]
        finished = self.mine.update(sampled, stopped)
        self.same("finished", finished, self.real.update(sampled))
        self.counts["finished"] += len(finished)
        self.counts["stopped"] += len(set(finished) & set(stopped))
        self.compare()
        self.mine.model.check()
        return planned is not None or bool(due)

    def token(self, rng):
        """Replies end after some 40 pages, if nothing else ends them."""
        return STOP if rng.random() < 0.025 / self.settings[0].page_size else rng.randrange(3)

    def ignores(self, number):
        return self.real.requests[number].sampling_params.ignore_eos

    def compare(self):
        model, real = self.mine.model, self.real
        tree = model.tree
        self.same("running", [job.number for job in self.mine.running], real.running())
        self.same("ratio", self.mine.ratio, real.made.new_token_ratio_tracker.current)
        self.same("free places", model.free_tokens, real.pages.free_tokens)
        self.same("evictable", tree.evictable, real.tree.evictable_size())
        self.same("protected", tree.protected, real.tree.protected_size())
        if hasattr(real.cache, "paths"):
            for unlocked in (False, True):
                mine = model_paths(tree.root, unlocked)
                self.same(f"unlocked {unlocked}", mine, real.cache.paths(unlocked))
            return
        self.same("tree", model_tree(tree.root, tree.unified), real.cache.tree())
        self.same("order", model_order(tree, tree.leaves()), real.cache.order())


def one_run(sglang, seed, kind, num_steps, core):
    rng = random.Random(f"{seed} {kind} sglang steps")
    crowded = rng.random() < 0.5
    settings, steps = settings_of(rng, kind, crowded, core)
    pair, page = Pair(sglang, settings, steps), settings.page_size
    stems = [[rng.randrange(3) for _ in range(rng.randint(1, 14) * page)] for _ in range(3)]
    busy = rng.choice([[0, 0, 1], [0, 1, 2], [0] * 30 + [3]])
    idle = 0
    while pair.counts["steps"] < num_steps and idle < 20:
        crowd = len(pair.mine.waiting) > 140  # 128 are matched at most
        for _ in range(0 if crowd else rng.choice(busy)):
            fixed = not crowded and rng.random() < 0.3
            stem = rng.choice(stems)
            tokens = stem[: rng.randint(0, len(stem))]
            tokens = tokens + [
                rng.randrange(3) for _ in range(rng.randint(1, (3 if crowded else 16) * page))
            ]
            request = Request(
                pair.counts["requests"],
                tokens,
                rng.choice([None, None, None, "a"]),
                priority=rng.randrange(3),
                reads_cache=rng.random() > 0.05,
            )
            pair.submit(
                request, rng.randint(1, (80 if crowded else rng.choice([3, 10, 40])) * page), fixed
            )
        idle = 0 if pair.step(rng) else idle + 1
    return pair.counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--core", choices=["python", "rust"], default="python")
    args = parser.parse_args()
    began, results, sglang = time.monotonic(), {}, load(args.source, args.core)
    for kind in args.kinds.split(","):
        total, seed = {}, args.seed
        while total.get("steps", 0) < args.steps:
            try:
                counts = one_run(sglang, seed, kind, min(200, args.steps), args.core)
            except Mismatch as error:
                place = {"kind": kind, "seed": seed, "settings": str(error.settings)}
                print(json.dumps({**place, "mismatch": str(error)}))
                return 1
            total = {name: total.get(name, 0) + n for name, n in counts.items()}
            seed += 1
        results[kind] = {**total, "seeds": seed - args.seed, "mismatches": 0}
    took = round(time.monotonic() - began, 1)
    engine = f"sglang 0.5.23 steps, core {args.core}"
    print(json.dumps({"engine": engine, "seconds": took, "kinds": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
