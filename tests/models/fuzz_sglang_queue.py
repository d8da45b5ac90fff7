"""SGLang's own SchedulePolicy beside the model's waiting queue: the order, and who is put off.

    python tests/models/fuzz_sglang_queue.py --source UNPACKED_WHEEL --queues 10000

Prints one JSON object; exits 1 at the first difference, with its seed.
"""

import argparse
import json
import random
import sys
from array import array
from types import SimpleNamespace

from hitpath.sim.models.contract import Request
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.sglang_queue import order_waiting
from hitpath.sim.models.sglang_rules import SglangSettings
from models.sglang_oracle import REAL, Sglang, key_of
from models.sglang_real import RealCache
from models.sglang_unified import Unset

POLICY = "sglang.srt.managers.schedule_policy"


def _before():
    import sglang.srt.environ as environ
    import sglang.srt.utils as utils

    values = {"SGLANG_PREFILL_TILE_BUDGET": 0, "SGLANG_PREFILL_TILE_BUDGET_MODE": "compact"}

    class Environment(Unset):
        def __getattr__(self, name):
            return SimpleNamespace(get=lambda: values.get(name, False))

    environ.envs = Environment()
    utils.is_hip = lambda: False


def load(source):
    sglang = Sglang(source, REAL | {POLICY}, _before)
    import sglang.srt.managers.schedule_policy as policy

    sglang.policy = policy

    def match(req, tree, ids=None, **_):
        params = sglang.base.MatchPrefixParams(key=key_of(sglang.radix, ids, req.extra_key))
        found = tree.match_prefix(params)
        req.prefix_len = found.device_prefix_len
        req.num_matched_prefix_tokens = min(req.prefix_len, req.most)
        return found

    policy.match_kv_cache = match
    return sglang


def one_queue(sglang, seed):
    rng = random.Random(f"{seed} queue")
    settings = SglangSettings(
        capacity_tokens=4000, page_size=1, version="0.5.23", as_radix_cache=True
    )
    model, real = SglangModel(settings), RealCache(sglang, settings)
    stems = [[rng.randrange(3) for _ in range(rng.randint(8, 90))] for _ in range(3)]

    def request(number):
        stem = rng.choice(stems)
        tokens = stem[: rng.randint(0, len(stem))] + [rng.randrange(3) for _ in range(9)]
        context = rng.choice([None, None, "a"])
        return Request(number, tokens, context, reads_cache=rng.random() > 0.1)

    for number in range(rng.randint(0, 4)):
        warm = request(number)
        model.admit(warm)
        real.admit(warm, None)
        model.processed(number)
        real.processed(number)
    count = rng.choice([2, 5, 12, 130])
    waiting = [request(1000 + i) for i in range(count)]
    mine, put_off = order_waiting(waiting, model, "lpm")
    theirs = [
        SimpleNamespace(
            rid=r.number,
            origin_input_ids=array("q", r.tokens),
            output_ids=array("q"),
            extra_key=r.context,
            cache_salt=None,
            most=len(r.tokens) - 1 if r.reads_cache else 0,
        )
        for r in waiting
    ]
    real.cache.supports_fast_match_prefix = lambda: False
    policy = sglang.policy.SchedulePolicy("lpm", real.cache, False, False, False)
    policy.calc_priority(theirs)
    assert [r.number for r in mine] == [r.rid for r in theirs], f"seed {seed}: the order"
    return count, len(put_off)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--queues", type=int, default=1000)
    args = parser.parse_args()
    sglang = load(args.source)
    requests = put_off = 0
    for seed in range(args.queues):
        count, off = one_queue(sglang, seed)
        requests, put_off = requests + count, put_off + off
    told = {"queues": args.queues, "requests": requests, "put_off": put_off, "mismatches": 0}
    print(json.dumps({"engine": "sglang 0.5.23 queue", **told}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
