"""Drive vLLM's own Scheduler and the model's side by side, and compare every step.

    python tests/models/fuzz_vllm_steps.py --source UNPACKED_WHEEL --version 0.32 --steps 100000

Compared in each step: which requests get how many tokens and in which order, who runs, who was
preempted, the block tables, the whole free queue, who finished, and the hit-rate counters.
Prints one JSON object; exits 1 at the first difference, with its seed.
"""

import random
import sys

from hitpath.sim.models.vllm_rules import VllmSettings, rules_of
from hitpath.sim.models.vllm_steps import StepSettings, VllmScheduler
from models.fuzz_vllm import Mismatch, fuzz, random_groups, random_request
from models.vllm_oracle import free_queue
from models.vllm_scheduler import RealScheduler


def one_run(vllm, seed, version, kind, num_steps):
    rng = random.Random(f"{seed} {kind} {version} steps")
    groups = random_groups(rng, kind)
    step = max(group.block_size for group in groups)
    settings = VllmSettings(
        num_blocks=rng.randint(20, 40) * len(groups),
        groups=groups,
        version=version,
        watermark_frac=rng.choice([0, 0, 0.1]) if rules_of(version).has_watermark else 0,
        reserves_whole_prompt=rng.random() < 0.7,
        drops_last_block=False,
        max_model_tokens=20 * step,
    )
    steps = StepSettings(
        max_tokens=rng.choice([step, 2 * step, 5 * step, 40 * step]),
        max_running=rng.choice([2, 4, 16]),
        policy=rng.choice(["fcfs", "fcfs", "priority"]),
    )
    mine, real = VllmScheduler(settings, steps), RealScheduler(vllm, settings, steps)
    stems = [[rng.randrange(3) for _ in range(rng.randint(1, 9) * step)] for _ in range(3)]
    counts = dict.fromkeys(["steps", "requests", "finished", "preempted", "queries", "hits"], 0)

    def same(what, model, vllms):
        if model != vllms:
            raise Mismatch(f"step {counts['steps']}: {what}: model {model}, vLLM {vllms}", settings)

    idle = 0
    while counts["steps"] < num_steps and idle < 20:
        for _ in range(rng.choice([0, 0, 1, 1, 2])):
            request = random_request(rng, counts["requests"], stems, step, media=False)
            output, priority = rng.randint(1, 5 * step), rng.randrange(3)
            mine.submit(request, output, priority)
            real.submit(request, output, priority)
            counts["requests"] += 1
        planned, theirs = mine.schedule(), real.schedule()
        counts["steps"] += 1
        idle = 0 if planned.scheduled else idle + 1
        tokens = {int(name): n for name, n in theirs.num_scheduled_tokens.items()}
        same("scheduled", list(planned.scheduled.items()), list(tokens.items()))
        same("running", [job.number for job in mine.running], real.running())
        preempted = sorted(int(name) for name in theirs.preempted_req_ids or ())
        same("preempted", sorted(planned.preempted), preempted)
        counts["preempted"] += len(preempted)
        same("free queue", mine.model.pool.queue(), free_queue(real.manager))
        for number in real.running():
            tables = [group.tables.get(number, []) for group in mine.model.groups]
            same("tables", tables, [list(ids) for ids in real.manager.get_block_ids(str(number))])
        before = (mine.counters.queries, mine.counters.hits)
        told = (before[0] - counts["queries"], before[1] - counts["hits"])
        same("counters", told, real.counters())
        counts["queries"], counts["hits"] = before
        sampled = {number: [rng.randrange(3)] for number in mine.due(planned)}
        finished = sorted(mine.update(planned, sampled))
        same("finished", finished, real.update(theirs, sampled))
        counts["finished"] += len(finished)
        mine.model.check()
    return counts


if __name__ == "__main__":
    sys.exit(fuzz(one_run, "steps"))
