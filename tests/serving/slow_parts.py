"""What the slow simulator is made of: requests, workers with their blocks, and steps."""

from dataclasses import dataclass, field
from math import inf


@dataclass
class Job:
    """A request. prompt_path, full_path: names of its whole blocks, without and with its reply."""

    row: int
    prompt: int
    output: int
    prompt_path: list
    full_path: list
    router_path: list
    session: int = 0
    prefix_hash: int = 0
    expected: int = 0
    stage: int = -1
    state: str = "unsent"
    worker: int = -1
    target: int = -1
    handed: bool = False
    emitted: int = 0
    computed: int = 0
    goal: int = 0
    chunk: int = 0
    own: int = 0
    shared: int = 0
    copies: int = 0
    farthest: int = 0
    uncached: int = 0
    order: int = 0
    flying: bool = False
    out: dict = field(default_factory=dict)


class Worker:
    """blocks: name -> rows that use it. idle: names, released first first."""

    def __init__(self, group, alive):
        self.settings, self.steps, self.role = group.settings, group.steps, group.role
        self.alive = alive
        self.blocks, self.idle = {}, []
        self.host = []
        self.own = 0
        self.waiting, self.running, self.moving = [], [], []
        self.busy_until, self.busy = None, 0.0
        self.num_steps = self.computed = self.output = self.evicted = self.peak = 0
        self.preemptions = self.longest = 0
        self.step_decodes = []
        self.late, self.late_ended = [], []
        self.integrals = [0.0, 0.0, 0.0]
        self.sent = 0
        self.left, self.told = 0, (0, 0, 0)  # what the last step left waiting; what was told
        self.believed = {}
        self.epoch = 0
        self.ready = False

    @property
    def used(self):
        return sum(1 for users in self.blocks.values() if users) + self.own

    @property
    def capacity(self):
        most = self.settings.capacity_blocks
        return inf if most is None else most

    def match(self, path):
        n = 0
        while n < len(path) and path[n] in self.blocks:
            n += 1
        return n


def common(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def most_recent(order, names, capacity):
    """Names (a path) become the most recent of a list, tail first; the oldest beyond go."""
    for name in reversed(names):
        if name in order:
            order.remove(name)
        order.append(name)
    while len(order) > capacity:
        order.pop(0)


def common_held(path, store):
    n = 0
    while n < len(path) and path[n] in store:
        n += 1
    return n


class Step:
    """What a step runs. chunks: (tokens behind which, how many, whether a token comes out)."""

    def __init__(self, most):
        self.most, self.tokens = most, 0
        self.decodes, self.chunks = [], []
        self.load_s = self.lookup_s = 0.0

    def seconds(self, worker):
        model = worker.steps
        emits = len(self.decodes) + sum(emits for _, _, emits in self.chunks)
        seconds = model.linear_s[self.tokens] + model.head_s[emits] + model.overhead_s
        seconds += model.link_s_per_token * self.tokens + self.lookup_s
        batches = [[(job.computed, 1) for job in self.decodes]]
        batches += [[(cached, new)] for cached, new, _ in self.chunks]
        for batch in batches:
            if batch:
                seconds += attention_s(model.attention, batch)
        return float(seconds)


def attention_s(table, batch):
    """One call of a kernel for sequences (cached, new): each kind of layer in its faster form."""
    times = {}
    for row in table:
        group, _, window, by_pairs, by_cached, by_new, *traffic = row
        flops = moved = 0.0
        for cached, new in batch:
            sees = [min(cached + i + 1, window or inf) for i in range(new)]
            read = min(cached, window - 1) if window else cached
            flops += by_pairs * sum(sees) + by_cached * cached + by_new * new
            amounts = (cached, read, new, 1, min(cached, 1))
            moved += sum(a * b for a, b in zip(traffic, amounts, strict=True))
        times.setdefault(group, []).append(max(flops, moved))
    return sum(min(forms) for forms in times.values())
