"""Every router's rule once more, in plain Python, written from the formulas in docs/routers.md.

`expected(rule, params, ring, ask, view, counter, seed)` gives the workers that may be chosen,
with the one that the draws decide; `counter` moves as the rule says. Views are dicts of lists.
"""

import math

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def draw(seed, row, number):
    state = (mix((seed + STEP) & MASK) + row * STEP) & MASK
    return mix((mix(state) + (number + 1) * STEP) & MASK)


def place(seed, worker, point):
    return mix((mix((mix((seed + STEP) & MASK) + worker * STEP) & MASK) + point * STEP) & MASK)


def rank(seed, key, worker):
    return mix((mix(seed ^ mix((key + STEP) & MASK)) + (worker + 1) * STEP) & MASK)


class Fleet:
    """One request before the fleet: lists of the workers alive, and figures by name."""

    def __init__(self, ask, view, seed):
        self.ask, self.view, self.seed = ask, view, seed
        self.alive = [w for w, alive in enumerate(view["alive"]) if alive]

    def __getattr__(self, name):
        return self.view[name]

    def one_of(self, workers, number=0):
        return workers[draw(self.seed, self.ask["row"], number) % len(workers)]

    def highest(self, score, among=None, number=0):
        """(all within rounding of the highest, the one that the draw picks)."""
        among = self.alive if among is None else among
        best = max(score[w] for w in among)
        equal = [w for w in among if score[w] == best]
        near = [w for w in among if score[w] >= best - 1e-9 * max(1.0, abs(best))]
        return near, self.one_of(equal, number) if near == equal else None

    def least_loaded(self, key=None):
        return min(self.alive, key=key or (lambda w: (self.in_flight[w], w)))

    def longest(self):
        most = max(self.match[w] for w in self.alive)
        return most, [w for w in self.alive if self.match[w] == most]

    def loads(self):
        return [self.in_flight[w] for w in self.alive]


def only(worker):
    return [worker], worker


def random_(f, p, ring, counter):
    return only(f.one_of(f.alive))


def round_robin(f, p, ring, counter):
    turn = counter[0]
    worker = next(w for w in [*range(turn, len(f.view["alive"])), *range(turn)] if w in f.alive)
    counter[0] = (worker + 1) % len(f.view["alive"])
    return only(worker)


def least_loaded(f, p, ring, counter):
    load = {
        0: f.in_flight,
        1: f.active_tokens,
        2: [a + b for a, b in zip(f.waiting, f.running, strict=True)],
    }[p["load"]]
    return f.highest([-x for x in load])


def power_of_two(f, p, ring, counter):
    n = len(f.alive)
    a = draw(f.seed, f.ask["row"], 0) % n
    if n == 1:
        return only(f.alive[0])
    b = (a + 1 + draw(f.seed, f.ask["row"], 1) % (n - 1)) % n
    a, b = f.alive[a], f.alive[b]
    return only(a if f.in_flight[a] <= f.in_flight[b] else b)


def session_hash(f, p, ring, counter):
    if f.ask["session"] == 0:
        return f.highest([-x for x in f.in_flight])
    return only(min(f.alive, key=lambda w: rank(f.seed, f.ask["session"], w)))


def prefix_hash(f, p, ring, counter):
    places = sorted(
        (place(f.seed, w, i), w) for w in range(len(f.view["alive"])) for i in range(150)
    )
    behind = [w for at, w in places if at >= f.ask["prefix_hash"]]
    owner = next(w for w in [*behind, *(w for _, w in places)] if w in f.alive)
    total = sum(f.loads())
    mean = (total + 1) / len(f.alive)
    limit = max(mean * p["load_factor"], mean + p["abs"])
    fits = [w for w in f.alive if f.in_flight[w] <= limit]
    if total == 0 or owner in fits or not fits:
        return only(owner)
    return only(min(fits, key=lambda w: (f.in_flight[w], w)))


def longest_prefix(f, p, ring, counter):
    return f.highest([-x for x in f.in_flight], f.longest()[1])


def cache_aware(f, p, ring, counter):
    loads, spill = f.loads(), p["gate"] == 1
    apart = max(loads) - min(loads)
    if not spill and apart > p["abs"] and max(loads) > p["rel"] * min(loads):
        return only(f.least_loaded())
    least = f.least_loaded((lambda w: (f.in_flight[w], f.sent[w], w)) if spill else None)
    longest, holders = f.longest()
    if longest / max(1, f.ask["prompt_tokens"]) <= p["threshold"]:
        smallest = min(f.alive, key=lambda w: (f.index_tokens[w], w))
        return only(smallest if p["miss"] == 1 else least)
    if not spill:
        return only(min(holders, key=lambda w: rank(f.seed, f.ask["prefix_hash"], w)))
    _, holder = f.highest([-x for x in f.in_flight], holders)
    mean = sum(loads) / len(loads)
    margin = min(p["abs"], max(4, 2 * math.sqrt(mean))) if p["cap"] else p["abs"]
    load = f.in_flight[holder]
    over = load > mean * p["rel"] and load > mean + margin
    return only(least if over else holder)


def kv_aware(f, p, ring, counter):
    score = [a + p["host"] * (b - a) for a, b in zip(f.match, f.match_host, strict=True)]
    best = max(score[w] for w in f.alive)
    if best == 0:
        return only(f.least_loaded())
    if p["temperature"]:
        return softmax(f, [-x for x in score], p["temperature"])
    return only(max(w for w in f.alive if score[w] == best))


def softmax(f, cost, temperature):
    if temperature == 0:
        return f.highest([-c for c in cost])
    lowest, highest = min(cost[w] for w in f.alive), max(cost[w] for w in f.alive)
    if lowest == highest:
        return f.highest([-c for c in cost])
    weight = {w: math.exp((lowest - cost[w]) / ((highest - lowest) * temperature)) for w in f.alive}
    target = (draw(f.seed, f.ask["row"], 0) >> 11) / 2**53 * sum(weight.values())
    sums = {w: sum(weight[v] for v in f.alive if v <= w) for w in f.alive}
    near = [w for w in f.alive if sums[w] - weight[w] - 1e-9 <= target <= sums[w] + 1e-9]
    return near, near[0] if len(near) == 1 else None


def prefix_aware(f, p, ring, counter):
    longest, owners = f.longest()
    if longest < p["min"]:
        return only(min(f.alive, key=lambda w: (f.sent[w], w)))
    return only(f.one_of(owners))


def llmd_scores(f, p):
    held = [a + p["host"] * (b - a) for a, b in zip(f.match, f.match_host, strict=True)]
    fewest, most = (g(f.waiting[w] for w in f.alive) for g in (min, max))
    some = [held[w] for w in f.alive if held[w] > 0]
    block, prompt = p["block"], f.ask["prompt_tokens"]
    total = prompt
    if block:
        blocks = prompt // block
        total = block * (min(blocks, p["max_blocks"]) if p["max_blocks"] else blocks)
    score = {}
    for w in f.alive:
        queue = (most - f.waiting[w]) / (most - fewest) if most > fewest else 1.0
        if p["normalise"] == 1:
            prefix = 0.0
            if held[w] > 0:
                spread = max(some) - min(some)
                prefix = (held[w] - min(some)) / spread if spread else 1.0
        elif total:
            long = min(1.0, held[w] / p["length_tokens"])
            share = min(1.0, held[w] / total)
            prefix = p["length"] * long * long + (1.0 - p["length"]) * share
        else:
            prefix = 0.0
        score[w] = p["prefix"] * prefix + p["kv"] * (1 - f.kv_use[w]) + p["queue"] * queue
    return score


def llmd(f, p, ring, counter):
    score = llmd_scores(f, p)
    if p["ties"] == 0:
        return f.highest(score)
    best = max(score.values())
    equal = [w for w in f.alive if score[w] == best]
    near = [w for w in f.alive if score[w] >= best - 1e-9]
    if near != equal:
        return near, None
    if len(equal) == 1:
        return only(equal[0])
    worker = equal[counter[0] % len(equal)]
    counter[0] = 0 if counter[0] + 1 >= len(equal) else counter[0] + 1
    return only(worker)


def dynamo(f, p, ring, counter):
    block, prompt = p["cost_block"], f.ask["prompt_tokens"]
    fewest = min(f.prefill_tokens[w] for w in f.alive)
    request_blocks = max(1, math.ceil(prompt / block))
    cost = [0.0] * len(f.view["alive"])
    for w in f.alive:
        backlog = (f.prefill_tokens[w] - fewest) / block / request_blocks
        credit = p["overlap"] / (1 + p["decay"] * backlog) * (f.match[w] / block)
        credit += p["host"] * ((f.match_host[w] - f.match[w]) / block)
        prefill = max(0.0, (f.prefill_tokens[w] + prompt) / block - credit)
        if p["unique"] and f.active_unique[w] >= 0 and f.active_shared[w] >= 0:
            new = max(0.0, prompt // block - f.active_shared[w] / block)
            decode = f.active_unique[w] / block + new
        else:
            decode = f.active_tokens[w] / block + prompt // block
        cost[w] = p["prefill_scale"] * prefill + decode
        cost[w] += p["requests"] * f.in_flight[w]
    return softmax(f, cost, p["temperature"])


def aibrix(f, p, ring, counter):
    loads = f.loads()
    mean = sum(loads) / len(loads)
    apart = max(loads) - min(loads)
    if p["gate"] == 0:
        overloaded = apart > p["gap"]
    else:
        overloaded = max(loads) > p["factor"] * (mean + 1) and apart >= p["gap"]
    candidates = [w for w in f.alive if not overloaded or f.in_flight[w] == min(loads)]
    deviation = 0.0
    if len(loads) > 1:
        deviation = math.sqrt(sum((x - mean) ** 2 for x in loads) / (len(loads) - 1))
    limit = mean + p["deviations"] * deviation
    held = [w for w in candidates if f.match[w] > 0 and f.in_flight[w] <= limit]
    if not held:
        return f.highest([-x for x in f.in_flight])
    key = {w: (-(100 * f.match[w] // max(1, f.ask["prompt_tokens"])), f.in_flight[w]) for w in held}
    best = min(key.values())
    return only(f.one_of([w for w in held if key[w] == best]))


def ray(f, p, ring, counter):
    loads = f.loads()
    if max(loads) - min(loads) > p["imbalanced"]:
        return power_of_two(f, p, ring, counter)
    longest, chosen = f.longest()
    if longest / max(1, f.ask["prompt_tokens"]) < p["rate"]:
        smallest = min(f.index_tokens[w] for w in f.alive)
        chosen = [w for w in f.alive if f.index_tokens[w] == smallest]
    return f.highest([-x for x in f.in_flight], chosen)


def preble(f, p, ring, counter):
    prompt, output = f.ask["prompt_tokens"], f.ask["expected_output_tokens"]
    request = 1000.0 * p["decode_ms"] * output
    load = {w: p["prefill_us"] * f.prefill_tokens[w] + request * f.in_flight[w] for w in f.alive}
    longest, holders = f.longest()
    if longest > prompt - longest:
        chosen = min(holders, key=lambda w: (load[w], w))
        heaviest = min(f.alive, key=lambda w: (-load[w], w))
        lightest = min(f.alive, key=lambda w: (load[w], w))
        apart = load[heaviest] > p["rebalance"] * load[lightest]
        return only(lightest if p["rebalance"] and apart and chosen == heaviest else chosen)
    cost = {
        w: load[w] + p["prefill_us"] * (1 + p["evict"]) * (prompt - f.match[w]) for w in f.alive
    }
    best = min(cost.values())
    near = [w for w in f.alive if cost[w] <= best + 1e-9 * max(1.0, best)]
    equal = [w for w in f.alive if cost[w] == best]
    return near, equal[0] if near == equal else None


def hitpath_costs(f, p):
    ask, cost = f.ask, {}
    prompt, output = ask["prompt_tokens"], ask["expected_output_tokens"]
    rate = 0.0
    if ask["time_s"] > 0:
        rate = sum(f.sent[w] for w in f.alive) / len(f.alive) / ask["time_s"]
    for w in f.alive:
        decoding = f.decoding[w] if f.decoding[w] >= 0 else f.running[w]
        held = max(f.match_host[w], f.active_shared[w]) if p["active"] else f.match_host[w]
        held = min(held, prompt - 1)
        u = prompt - held
        h = max(0, min(f.match_host[w], held) - f.match[w])
        own = u * p["prefill_us"] * 1e-6 + u * (held + u / 2) * p["pair_ns"] * 1e-9
        own += h * p["load_us"] * 1e-6
        step = p["step_ms"] * 1e-3 + decoding * p["sequence_us"] * 1e-6
        step += f.decoding_context[w] * p["context_ns"] * 1e-9
        queued = f.prefill_tokens[w]
        steps = math.ceil((queued + u) / max(1.0, p["batch"] - decoding))
        busy = queued * p["prefill_us"] * 1e-6 + own + steps * step
        cost[w] = busy
        used = f.kv_use[w] * p["memory"]
        coming = output * (1 + f.in_flight[w] / 2)
        missing = u + coming + queued - (p["memory"] - used)
        if p["memory"] and missing > 0 and used > 0:
            cost[w] += missing / used * max(1, output) * step
        cost[w] += p["decode_price"] * own * decoding + p["queue_price"] * own * rate * busy
        longer = p["sequence_us"] * 1e-6 + (prompt + output / 2) * p["context_ns"] * 1e-9
        cost[w] += p["load_price"] * 2 * output * longer * f.in_flight[w]
        if p["memory"] and f.index_tokens[w] + u + coming > p["memory"]:
            cost[w] += p["evict_price"] * u * p["prefill_us"] * 1e-6
    return cost


def hitpath(f, p, ring, counter):
    cost = hitpath_costs(f, p)
    return f.highest({w: -c for w, c in cost.items()})


RULES = {
    "random": random_,
    "round-robin": round_robin,
    "least-loaded": least_loaded,
    "power-of-two": power_of_two,
    "session-hash": session_hash,
    "prefix-hash": prefix_hash,
    "longest-prefix": longest_prefix,
    "sglang": cache_aware,
    "sglang-old": cache_aware,
    "vllm": cache_aware,
    "smg": cache_aware,
    "vllm-kv": kv_aware,
    "production-stack": prefix_aware,
    "llmd-load": llmd,
    "llmd-approx": llmd,
    "llmd-precise": llmd,
    "llmd-approx-2026": llmd,
    "llmd-precise-2026": llmd,
    "dynamo": dynamo,
    "aibrix": aibrix,
    "ray": ray,
    "preble": preble,
    "hitpath": hitpath,
}
