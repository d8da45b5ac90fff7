"""Random fleets and traffic for the serving simulator, small and full of ties.

All times are multiples of a power of two, so that sums are exact in whatever order they are made,
and two simulators can be held against each other to the bit.
"""

from dataclasses import dataclass, replace

import numpy as np
from slow_parts import Job

from hitpath.core import ABSENT
from hitpath.index.forest import build_forest, node_paths
from hitpath.routing.registry import ROUTERS, make_router
from hitpath.routing.terms import StepTerms
from hitpath.sim.serving.records import (
    REPLIES,
    VISIBLE,
    Arrivals,
    Change,
    FleetSettings,
    Link,
    Requests,
    Tier,
    WorkerGroup,
    WorkerSettings,
)
from hitpath.sim.serving.step_time import NUM_COLUMNS, StepModel, distinct_windows

TICK = 1 / 1024


@dataclass
class Case:
    """What the simulator takes, and `jobs`, the same for the slow one."""

    tree: object
    router_tree: object
    requests: Requests
    arrivals: Arrivals
    fleet: FleetSettings
    jobs: list
    node_of: dict


class Traffic:
    """Prompts and replies as tokens; blocks of two sizes named by all tokens up to their end."""

    def __init__(self, prompts, replies, block, unit):
        self.prompts, self.replies, self.block, self.unit = prompts, replies, block, unit
        self.names = {}

    def path(self, tokens, size, partial):
        ends = list(range(size, len(tokens) + 1, size))
        if partial and len(tokens) % size:
            ends.append(len(tokens))
        return [self.names.setdefault((size, tuple(tokens[:end])), len(self.names)) for end in ends]

    def forest(self, paths):
        lengths = np.array([len(path) for path in paths], dtype=np.int64)
        flat = np.array([name for path in paths for name in path], dtype=np.uint64)
        starts = np.cumsum(lengths) - lengths
        return build_forest(flat, starts, lengths, np.zeros(len(paths), dtype=np.int64))


def requests_of(traffic, hashes=None):
    """(engine forest, router forest, requests, jobs, node of each block name)."""
    prompts, replies, block = traffic.prompts, traffic.replies, traffic.block
    paths = [traffic.path(prompt, block, False) for prompt in prompts]
    fulls = [
        traffic.path(prompt + reply, block, False) if reply is not None else None
        for prompt, (reply, _) in zip(prompts, replies, strict=True)
    ]
    told = [i for i, full in enumerate(fulls) if full is not None]
    forest = traffic.forest(paths + [fulls[i] for i in told])
    router_paths = [traffic.path(prompt, traffic.unit, True) for prompt in prompts]
    router = traffic.forest(router_paths)
    num = len(prompts)
    output_end = np.full(num, ABSENT, dtype=np.int64)
    output_end[told] = forest.end[num:]
    tokens = np.array([len(prompt) for prompt in prompts], dtype=np.int64)
    zeros = np.zeros(num, dtype=np.uint64)
    sessions, prefixes, expected = hashes or (zeros, zeros, np.zeros(num, dtype=np.int64))
    requests = Requests(
        forest.end[:num].copy(),
        tokens,
        tokens // block,
        np.array([count for _, count in replies], dtype=np.int64),
        output_end,
        router.end.copy(),
        sessions,
        prefixes,
        expected,
    )
    jobs = [
        Job(i, len(prompts[i]), replies[i][1], paths[i], fulls[i] or paths[i], router_paths[i])
        for i in range(num)
    ]
    node_of = {}
    offsets, nodes = node_paths(forest, forest.end)
    for s, path in enumerate(paths + [fulls[i] for i in told]):
        for node in nodes[offsets[s] : offsets[s + 1]].tolist():
            depth, length = int(forest.tree.depth[node]), int(forest.tree.length[node])
            for place in range(length):
                node_of[path[depth + place]] = (node, place)
    return forest, router, requests, jobs, node_of


def random_traffic(rng, block, unit):
    """Few tokens, so that much is shared; some prompts go on from an earlier prompt and reply."""
    prompts, replies = [], []
    for _ in range(int(rng.integers(2, 22))):
        longest = int(rng.choice([3, 12, 30]))
        prompt = rng.integers(0, 2, int(rng.integers(1, longest + 1))).tolist()
        if prompts and rng.random() < 0.6:
            i = int(rng.integers(len(prompts)))
            before = prompts[i] + (replies[i][0] or [])
            prompt = (
                before[: int(rng.integers(1, len(before) + 1))] + prompt[: int(rng.integers(4))]
            )
        count = int(rng.choice([1, 2, 5, 14]))
        told = rng.random() < 0.5
        prompts.append(prompt)
        replies.append((rng.integers(0, 2, count).tolist() if told else None, count))
    return Traffic(prompts, replies, block, unit)


def random_steps(rng, most, running):
    """Step times of any shape, in ticks."""
    scale = int(rng.choice([0, 1, 4]))
    linear = np.cumsum(rng.integers(0, 3, most + 1)) * TICK * scale
    head = np.cumsum(rng.integers(0, 2, running + 1)) * TICK * scale
    rows = []
    for group in range(int(rng.integers(0, 3))):
        window = int(rng.choice([0, 0, 3, 9]))
        for _ in range(int(rng.integers(1, 3))):
            amounts = rng.integers(0, 3, NUM_COLUMNS - 3) * TICK / 64 * scale
            rows.append([group, ABSENT, window, *amounts])
    table = np.array(rows, dtype=np.float64).reshape(-1, NUM_COLUMNS)
    for number, window in enumerate(distinct_windows(table)):
        table[table[:, 2] == window, 1] = number
    overhead = float(rng.integers(1, 9)) * TICK
    lookup = float(rng.integers(0, 2)) * TICK
    return StepModel(linear, head, TICK / 32, overhead, table, lookup)


def random_settings(rng, block):
    chunked = bool(rng.random() < 0.8)
    most = int(rng.choice([4, 9, 40])) if chunked else int(rng.choice([20, 64]))
    return WorkerSettings(
        block_size=block,
        capacity_blocks=[None, 8, 14, 30, 60][int(rng.integers(5))],
        max_batch_tokens=most,
        max_running=int(rng.integers(1, min(most, 6) + 1)),
        chunked_prefill=chunked,
        watermark_frac=float(rng.choice([0.0, 0.2])),
        reserve_full_prompt=bool(rng.integers(2)),
        last_token=bool(rng.random() < 0.8),
        visible=VISIBLE[int(rng.integers(3))],
        wait_for_twins=bool(rng.integers(2)),
        cache_outputs=bool(rng.random() < 0.7),
        replies=REPLIES[int(rng.integers(2))],
        mixed=bool(rng.integers(2)),
        free_copies=bool(rng.integers(2)),
        late_results=bool(rng.integers(2)),
    )


def random_groups(rng, block):
    groups = []
    split = rng.random() < 0.25
    for role in ("prefill", "decode") if split else ("both",) * int(rng.integers(1, 3)):
        settings = random_settings(rng, block)
        steps = random_steps(rng, settings.max_batch_tokens, settings.max_running)
        groups.append(WorkerGroup(int(rng.integers(1, 4)), settings, steps, role))
    if split and rng.random() < 0.3:
        groups.insert(0, WorkerGroup(1, groups[0].settings, groups[0].steps))
    return tuple(groups)


def random_arrivals(rng, num):
    ticks = rng.integers(0, int(rng.choice([1, 40, 900])) * num + 1, num)
    follows = np.full(num, ABSENT, dtype=np.int64)
    stage = np.full(num, ABSENT, dtype=np.int64)
    time_s, think_s = ticks * TICK, np.zeros(num)
    drain = bool(rng.random() < 0.3)
    if drain or rng.random() < 0.2:
        num_stages = int(rng.integers(1, min(num, 4) + 1))
        stage = np.sort(rng.integers(0, num_stages, num))
        stage[:num_stages] = np.sort(np.arange(num_stages))
        stage = np.sort(stage)
    for row in range(1, num):
        if rng.random() < 0.25 and (stage[row] < 0 or stage[row] == stage[row - 1]):
            leader = int(rng.integers(row))
            if stage[row] < 0 or stage[leader] == stage[row]:
                follows[row] = leader
                think_s[row] = float(rng.choice([0, 5, 200])) * TICK
    time_s[follows >= 0] = np.nan
    lengths = None
    if drain and rng.random() < 0.5:
        lengths = rng.integers(0, 300, int(stage.max()) + 1) * TICK
    return Arrivals(time_s, follows, think_s, stage.astype(np.int64), drain, lengths)


def random_changes(rng, num_workers):
    changes = []
    for _ in range(int(rng.integers(0, 4)) if rng.random() < 0.3 else 0):
        event = ["fail", "join", "restart"][int(rng.integers(3))]
        when = float(rng.integers(0, 2000)) * TICK
        changes.append(Change(when, int(rng.integers(num_workers)), event))
    return tuple(changes)


TERMS = StepTerms(prefill_s=TICK, pair_s=TICK / 64, context_s=TICK / 512, step_s=TICK)


def random_tier(rng):
    link = Link(float(rng.integers(0, 4)), 1024.0, float(rng.integers(0, 9)) * TICK)
    return Tier([None, 6, 25][int(rng.integers(3))], link)


def random_case(seed, router_name=None):
    rng = np.random.default_rng(seed)
    block = int(rng.choice([1, 2, 3, 4]))
    groups = random_groups(rng, block)
    num_workers = sum(group.count for group in groups)
    name = router_name or str(rng.choice(list(ROUTERS)))
    router = make_router(name, num_workers, int(rng.integers(1000)), TERMS)
    router = with_small_index(rng, router, block)
    unit = router.index.block_tokens or block
    traffic = random_traffic(rng, block, unit)
    num = len(traffic.prompts)
    sessions = rng.integers(1, 5, num).astype(np.uint64)
    prefixes = rng.integers(0, 1 << 63, 4).astype(np.uint64)[sessions.astype(np.int64) - 1]
    expected = rng.integers(0, 9, num)
    forest, router_forest, requests, jobs, node_of = requests_of(
        traffic, (sessions, prefixes, expected)
    )
    arrivals = random_arrivals(rng, num)
    for job in jobs:
        job.stage = int(arrivals.stage[job.row])
        job.session, job.prefix_hash = sessions[job.row], prefixes[job.row]
        job.expected = expected[job.row]
    interval = [0.0, 16 * TICK, 100 * TICK][int(rng.integers(3))]
    fleet = FleetSettings(
        workers=groups,
        router=router,
        scrape_interval_s=interval,
        scrape_age_s=float(rng.integers(0, 60)) * TICK if interval else 0.0,
        index_lag_s=float(rng.choice([0, 0, 30, 400])) * TICK,
        index_loss_frac=float(rng.choice([0.0, 0.0, 0.3])),
        max_in_flight=[None, None, 2, 6][int(rng.integers(4))],
        transfer=Link(float(rng.integers(0, 3)), 1024.0, float(rng.integers(0, 9)) * TICK),
        host=random_tier(rng) if rng.random() < 0.3 else None,
        remote=random_tier(rng) if rng.random() < 0.2 else None,
        load_overlaps=bool(rng.integers(2)),
        changes=random_changes(rng, num_workers),
        sample_s=float(rng.integers(1, 200)) * TICK,
        max_samples=int(rng.integers(2, 40)),
        checked=True,
        seed=int(rng.integers(1000)),
    )
    return Case(forest.tree, router_forest.tree, requests, arrivals, fleet, jobs, node_of)


def with_small_index(rng, router, block):
    """The router with an index of a size that matters here."""
    index = router.index
    if index.source == "resident":
        unit = block * int(rng.integers(1, 3)) if rng.random() < 0.5 else 0
        index = replace(index, block_tokens=unit, max_blocks=int(rng.choice([0, 0, 3])))
    if index.source == "history":
        index = replace(
            index,
            block_tokens=int(rng.choice([0, 2, 5])),
            max_blocks=int(rng.choice([0, 3])),
            capacity_blocks=int(rng.choice([0, 4, 12])),
            ttl_s=float(rng.choice([0, 100, 700])) * TICK,
        )
    return replace(router, index=index)
