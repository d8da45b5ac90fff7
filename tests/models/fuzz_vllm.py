"""Drive vLLM's own manager and the model side by side, and compare everything after each call.

    python tests/models/fuzz_vllm.py --source UNPACKED_WHEEL --version 0.32 --operations 100000

Compared: whether there is room, the hit, the block table of each group, the whole free queue, and
which blocks have a name. Prints one JSON object; exits 1 at the first difference, with its seed.
Needs only what the wheel's scheduler needs (see docs/exactness.md), and no torch.
"""

import argparse
import json
import random
import sys
import time

from hitpath.sim.models.contract import Media, Request
from hitpath.sim.models.vllm import VllmModel
from hitpath.sim.models.vllm_rules import LayerGroup, VllmSettings, rules_of
from models.vllm_oracle import Vllm, free_queue, named_blocks


class Mismatch(Exception):
    def __init__(self, text, settings):
        super().__init__(text)
        self.settings = settings


def random_groups(rng, kind):
    size = rng.choice([2, 4, 16])
    window = rng.choice([size, 2 * size, 2 * size + 1, 3 * size - 1, 5 * size])
    full = LayerGroup("full", size)
    if kind == "full":
        return (full,)
    if kind == "one-window":
        return (LayerGroup("window", size, window),)
    if kind == "window":
        return (full, LayerGroup("window", size, window))
    if kind == "sizes":
        other = rng.choice([1, 2, 4]) * size
        pair = [LayerGroup("full", other), LayerGroup("window", size, window)]
        return tuple(pair) if rng.random() < 0.5 else tuple(reversed(pair))
    if kind == "gemma":
        return tuple([full] + [LayerGroup("window", size, window)] * rng.choice([2, 3]))
    if kind == "two-windows":
        return (full, LayerGroup("window", size, window), LayerGroup("window", size, 2 * window))
    if kind == "state":
        return (full, LayerGroup("state", size))
    if kind == "states":
        return (full, LayerGroup("state", size), LayerGroup("state", size))
    raise ValueError(kind)


class Pair:
    """The manager and the model, in step."""

    def __init__(self, vllm, settings, rng):
        self.vllm, self.settings, self.rng = vllm, settings, rng
        self.manager, self.model = vllm.make_manager(settings), VllmModel(settings)
        self.rules = rules_of(settings.version)
        self.requests = {}  # number -> (model's, vLLM's)
        self.running, self.preempted = [], []
        self.counts = dict.fromkeys(
            ["operations", "admissions", "refused", "lookups", "hit_tokens", "looked_up_tokens"], 0
        )

    def same(self, what, model, real):
        if model != real:
            raise Mismatch(f"{what}: model {model}, vLLM {real}", self.settings)

    def compare(self):
        self.counts["operations"] += 1
        self.same("free queue", self.model.pool.queue(), free_queue(self.manager))
        named = {
            b for b in range(1, self.settings.num_blocks) if self.model.pool.name_of(b) is not None
        }
        self.same("named blocks", named, named_blocks(self.manager))
        for number in self.running:
            mine = [group.tables.get(number, []) for group in self.model.groups]
            real = [list(ids) for ids in self.manager.get_block_ids(str(number))]
            self.same("tables", mine, real)

    def find(self, number):
        request, real = self.requests[number]
        found = self.manager.get_computed_blocks(real)
        real.shared_prefix_boundary = found[2] if len(found) > 2 else 0
        self.counts["lookups"] += 1
        self.counts["hit_tokens"] += found[1]
        self.counts["looked_up_tokens"] += real.num_tokens
        self.same("hit", self.model.lookup(request).tokens, found[1])
        return found

    def chunk(self, start, left):
        """Tokens of the next chunk; state layers need chunks that end on a block's edge."""
        new = self.rng.randint(1, left)
        step = self.settings.alignment
        if any(group.kind == "state" for group in self.settings.groups) and new < left:
            new = max((start + new) // step * step - start, 0) or left
        return new

    def admit(self, number):
        request, real = self.requests[number]
        found = self.find(number)
        new = self.chunk(found[1], real.num_tokens - found[1])
        extra, fits = {}, True
        if hasattr(self.manager, "can_fit_full_sequence"):  # 0.19
            fits = self.manager.can_fit_full_sequence(real, found[1], found[0])
        else:
            extra["full_sequence_must_fit"] = True
        alone = not self.running
        if self.rules.has_watermark:
            extra["has_scheduled_reqs"] = not alone
        lookahead = {"num_lookahead_tokens": self.settings.num_lookahead}
        allocated = None
        if fits:
            allocated = self.manager.allocate_slots(
                real, new, found[1], found[0], **lookahead, **extra
            )
        hit = self.model.admit(request, new, alone=alone)
        self.same("admitted", hit is not None, allocated is not None)
        if hit is None:
            self.counts["refused"] += 1
            return False
        self.counts["admissions"] += 1
        real.num_computed_tokens = found[1] + new
        real.status = self.vllm.request.RequestStatus.RUNNING
        self.running.append(number)
        return True

    def extend(self, number):
        _, real = self.requests[number]
        left = real.num_tokens - real.num_computed_tokens
        if left == 0:
            token = self.rng.randrange(3)
            real.append_output_token_ids(token)
            self.model.generate(number, [token])
            left = 1
        new = self.chunk(real.num_computed_tokens, left)
        allocated = self.manager.allocate_slots(
            real, new, num_lookahead_tokens=self.settings.num_lookahead
        )
        fits = self.model.extend(number, new)
        self.same("extended", fits, allocated is not None)
        if fits:
            real.num_computed_tokens += new
        else:
            self.counts["refused"] += 1

    def end(self, number, preempt):
        _, real = self.requests[number]
        self.manager.free(real)
        self.running.remove(number)
        if preempt:
            self.model.preempt(number)
            real.num_computed_tokens = 0
            real.status = self.vllm.request.RequestStatus.PREEMPTED
            real.num_preemptions += 1
            self.preempted.append(number)
        else:
            self.model.finish(number)
            del self.requests[number]


def random_request(rng, number, stems, size, media=True):
    stem = rng.choice(stems)
    tokens = stem[: rng.randint(0, len(stem))]
    tokens = tokens + [rng.randrange(3) for _ in range(rng.randint(1, 3 * size))]
    context, items = None, ()
    if rng.random() < 0.2:
        context = (rng.choice([None, "s", "t"]), rng.choice([None, "a"]))
        context = context if any(context) else None
    if media and rng.random() < 0.15:
        first = rng.randrange(len(tokens))
        items = (Media(rng.choice("xy"), first, min(rng.randint(1, size), len(tokens) - first)),)
    return Request(number, tokens, context, items, reads_cache=rng.random() > 0.05)


def one_run(vllm, seed, version, kind, operations):
    rng = random.Random(f"{seed} {kind} {version}")
    groups = random_groups(rng, kind)
    step = max(group.block_size for group in groups)
    least = 8 if kind == "full" else 16
    settings = VllmSettings(
        num_blocks=rng.randint(least, 70),
        groups=groups,
        version=version,
        drops_last_block=rng.random() < 0.3 and "state" not in kind,
        num_lookahead=rng.choice([0, 0, 0, 1, 3]) if "state" not in kind else 0,
        watermark_frac=rng.choice([0, 0, 0.1]) if rules_of(version).has_watermark else 0,
        retention_interval=(
            rng.choice([None, None, 2 * step])
            if rules_of(version).retention_interval == 0 and len(groups) > 1
            else None
        ),
        max_in_flight_tokens=rng.choice([None, step, 4 * step]) if kind != "full" else None,
    )
    pair = Pair(vllm, settings, rng)
    stems = [[rng.randrange(3) for _ in range(rng.randint(1, 12) * step)] for _ in range(3)]
    number = 0
    while pair.counts["operations"] < operations:
        pair.manager.new_step_starts()
        pair.model.new_step()
        for _ in range(rng.randint(1, 4)):
            draw = rng.random()
            if draw < 0.35 and len(pair.running) < 6:
                if pair.preempted and rng.random() < 0.5:
                    again = rng.choice(pair.preempted)
                    if pair.admit(again):
                        pair.preempted.remove(again)
                else:
                    request = random_request(rng, number, stems, step)
                    real = vllm.make_request(str(number), request, settings.hash_size)
                    pair.requests[number] = (request, real)
                    if not pair.admit(number):
                        del pair.requests[number]
                    number += 1
            elif draw < 0.75 and pair.running:
                pair.extend(rng.choice(pair.running))
            elif draw < 0.93 and pair.running:
                pair.end(rng.choice(pair.running), preempt=rng.random() < 0.2)
            elif draw < 0.94:
                pair.same("cleared", pair.model.clear(), pair.manager.reset_prefix_cache())
            else:
                continue
            pair.compare()
        pair.model.check()
    return pair.counts


KINDS = ["full", "one-window", "window", "sizes", "gemma", "two-windows", "state", "states"]


def fuzz(run, unit):
    """Read the command line, make runs of each kind until it has so many `unit`s, and print what
    was compared, or the first difference with its seed. Returns the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument(f"--{unit}", dest="most", type=int, default=10_000)
    parser.add_argument("--kinds", default="full")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    vllm, began = Vllm(args.source), time.monotonic()
    results = {}
    for kind in KINDS if args.kinds == "all" else args.kinds.split(","):
        total, seed = {}, args.seed
        while total.get(unit, 0) < args.most:
            try:
                counts = run(vllm, seed, args.version, kind, min(500, args.most))
            except Mismatch as error:
                place = {"kind": kind, "seed": seed, "settings": str(error.settings)}
                print(json.dumps({**place, "mismatch": str(error)}))
                return 1
            total = {name: total.get(name, 0) + n for name, n in counts.items()}
            seed += 1
        results[kind] = {**total, "seeds": seed - args.seed, "mismatches": 0}
    took = round(time.monotonic() - began, 1)
    print(json.dumps({"engine": f"vllm {args.version}", "seconds": took, "kinds": results}))
    return 0


if __name__ == "__main__":
    sys.exit(fuzz(one_run, "operations"))
