"""Drive SGLang's own RadixCache and the model side by side, and compare everything after each call.

    python tests/models/fuzz_sglang.py --source UNPACKED_WHEEL --version 0.5.18 --operations 100000

Compared: whether there is room, the hit, the free places, the tree with the locks, hit counts and
priorities of its nodes, and the order in which its leaves would be evicted. Prints one JSON object;
exits 1 at the first difference, with its seed. Needs numpy, and what the wheel's modules import;
`--cache rust` needs torch, and the compiled core in its place in the unpacked wheel.
"""

import argparse
import json
import random
import sys
import time

from hitpath.sim.models.contract import Request
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.sglang_rules import SglangSettings
from models.sglang_oracle import Sglang
from models.sglang_real import RealCache
from models.sglang_unified import UnifiedReal
from models.sglang_unified import load as load_unified

POLICIES = ["lru", "lfu", "slru", "priority"]


class Mismatch(Exception):
    def __init__(self, text, settings):
        super().__init__(text)
        self.settings = settings


def model_tree(node, unified):
    parts = []
    for child in node.children.values():
        locks = child.locks
        if unified:
            locks = (locks, child.host_locks, child.on_device, child.on_host)
        own = (list(child.tokens), locks, child.hits, child.priority)
        parts.append((own, model_tree(child, unified)))
    return sorted(parts, key=repr)


def model_order(tree, leaves):
    order = []
    for node in sorted(leaves, key=lambda n: (tree.rank(n), n)):
        path, at = [], node
        while at.parent is not None:
            path[:0] = at.tokens
            at = at.parent
        order.append(path)
    return order


def model_paths(node, unlocked, path=()):
    """The tokens from the root to each token on the device (that nobody locks)."""
    found = []
    for child in node.children.values():
        whole = (*path, *child.tokens)
        if child.on_device and not (unlocked and child.locks):
            found += [whole[:end] for end in range(len(path) + 1, len(whole) + 1)]
        found += model_paths(child, unlocked, whole)
    return sorted(found)


class Pair:
    """The real cache and the model, in step."""

    def __init__(self, sglang, settings, rng, kind):
        self.real, self.model = kind(sglang, settings), SglangModel(settings)
        self.settings, self.rng = settings, rng
        self.requests, self.running, self.preempted = {}, [], []
        self.left, self.phase = {}, {}
        self.counts = dict.fromkeys(
            ["operations", "admissions", "refused", "hit_tokens", "looked_up_tokens", "evicted"], 0
        )

    def same(self, what, model, real):
        if model != real:
            raise Mismatch(f"{what}: model {model}, SGLang {real}", self.settings)

    def compare(self):
        self.counts["operations"] += 1
        tree = self.model.tree
        self.same("free places", self.model.free_tokens, self.real.pages.free_tokens)
        self.same("evictable", tree.evictable, self.real.cache.evictable_size())
        self.same("protected", tree.protected, self.real.cache.protected_size())
        if hasattr(self.real, "paths"):
            for unlocked in (False, True):
                mine = model_paths(tree.root, unlocked)
                self.same(f"unlocked {unlocked}", mine, self.real.paths(unlocked))
            if self.settings.host_tokens:
                self.same("host", tree.host_cached, self.real.host.used)
            return
        self.same("tree", model_tree(tree.root, tree.unified), self.real.tree())
        self.same("order", model_order(tree, tree.leaves()), self.real.order())
        host = model_order(tree, tree.host_leaves())
        self.same("host order", host, self.real.host_order())
        if self.settings.host_tokens:
            self.same("host", tree.host_cached, self.real.host.used)

    def admit(self, number):
        request = self.requests[number]
        total = len(request.tokens) + len(self.left.get(number, []))
        peeked = self.model.lookup(request).tokens
        new = self.rng.randint(1, total - peeked) if self.rng.random() < 0.4 else None
        if new is not None and new < total - peeked:  # chunks end with a page
            page = self.settings.page_size
            new = max((peeked + new) // page * page - peeked, 0) or None
        hit, real = self.model.admit(request, new), self.real.admit(request, new)
        self.same("hit", None if hit is None else hit.tokens, real)
        if hit is None:
            self.counts["refused"] += 1
            return False
        if not self.settings.host_tokens:  # else what was found may find no room
            self.same("looked up before", peeked, hit.tokens)
        self.counts["admissions"] += 1
        self.counts["hit_tokens"] += hit.tokens
        self.counts["looked_up_tokens"] += total
        self.running.append(number)
        self.phase[number] = total - hit.tokens - (new or total - hit.tokens)
        return True

    def go_on(self, number):
        """The result of what was taken, then a token or the next chunk."""
        self.model.processed(number)
        self.real.processed(number)
        if self.phase[number]:
            new = self.phase[number]
        else:
            token = self.rng.randrange(3)
            self.left.setdefault(number, []).append(token)
            self.model.generate(number, [token])
            self.real.generate(number, [token])
            new = 1
        fits = self.model.extend(number, new)
        self.same("extended", fits, self.real.extend(number, new))
        if fits:
            self.phase[number] = 0
        else:
            self.counts["refused"] += 1
            self.end(number, preempt=True)

    def end(self, number, preempt):
        if not preempt:
            self.model.processed(number)
            self.real.processed(number)
        self.running.remove(number)
        if preempt or self.phase[number]:
            self.model.preempt(number)
            self.real.preempt(number)
            self.preempted.append(number)
        else:
            token = self.rng.randrange(3)
            self.model.generate(number, [token])
            self.real.generate(number, [token])
            self.model.finish(number)
            self.real.finish(number)
            del self.requests[number]


def kind_of(cache):
    if cache.startswith("rust"):
        from models.sglang_rust import RustReal  # needs torch

        return RustReal
    return RealCache if cache == "radix" else UnifiedReal


def load(source, cache):
    if cache.startswith("rust"):
        from models.sglang_rust import load as load_rust

        return load_rust(source)
    return Sglang(source) if cache == "radix" else load_unified(source)


def one_run(sglang, seed, version, policy, operations, cache):
    rng = random.Random(f"{seed} {policy} {version} {cache}")
    page = rng.choice([1, 1, 2, 4, 16])
    settings = SglangSettings(
        capacity_tokens=page * rng.randint(16, 70),
        page_size=page,
        policy=policy,
        version=version,
        as_radix_cache=cache == "radix",
        host_tokens=page * rng.randint(10, 120) if cache.endswith("host") else 0,
        write_policy=rng.choice(["write_through", "write_through_selective"]),
        load_back_tokens=rng.choice([1, 4, 10]),
    )
    pair = Pair(sglang, settings, rng, kind_of(cache))
    stems = [[rng.randrange(3) for _ in range(rng.randint(1, 9) * page)] for _ in range(3)]
    number = 0
    while pair.counts["operations"] < operations:
        pair.model.new_step()
        pair.real.new_step()
        for _ in range(rng.randint(1, 3)):  # a batch: all are matched before room is made
            if len(pair.running) >= 6:
                break
            if pair.preempted and rng.random() < 0.5:
                again = rng.choice(pair.preempted)
                if pair.admit(again):
                    pair.preempted.remove(again)
                continue
            stem = rng.choice(stems)
            tokens = stem[: rng.randint(0, len(stem))]
            tokens = tokens + [rng.randrange(3) for _ in range(rng.randint(1, 3 * page))]
            context = rng.choice([None, None, None, "a", "b"])
            request = Request(
                number, tokens, context, priority=rng.randrange(3), reads_cache=rng.random() > 0.05
            )
            pair.requests[number] = request
            if not pair.admit(number):
                del pair.requests[number]
            number += 1
        pair.model.take_evictions()  # settles
        pair.real.settle()
        pair.compare()
        for _ in range(rng.randint(1, 5)):
            if not pair.running:
                break
            running = rng.choice(pair.running)
            if rng.random() < 0.7:
                pair.go_on(running)
            else:
                pair.end(running, preempt=rng.random() < 0.2)
            pair.counts["evicted"] += sum(e.num_tokens for e in pair.model.take_evictions())
            pair.real.settle()
            pair.compare()
        pair.model.check()
    return pair.counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument(
        "--cache", choices=["radix", "unified", "host", "rust", "rust-host"], default="radix"
    )
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    began = time.monotonic()
    sglang = load(args.source, args.cache)
    results = {}
    for policy in args.policies.split(","):
        total, seed = {}, args.seed
        while total.get("operations", 0) < args.operations:
            try:
                most = min(500, args.operations)
                counts = one_run(sglang, seed, args.version, policy, most, args.cache)
            except Mismatch as error:
                place = {"policy": policy, "seed": seed, "settings": str(error.settings)}
                print(json.dumps({**place, "mismatch": str(error)}))
                return 1
            total = {name: total.get(name, 0) + n for name, n in counts.items()}
            seed += 1
        results[policy] = {**total, "seeds": seed - args.seed, "mismatches": 0}
    took = round(time.monotonic() - began, 1)
    print(
        json.dumps(
            {"engine": f"sglang {args.version} {args.cache}", "seconds": took, "policies": results}
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
