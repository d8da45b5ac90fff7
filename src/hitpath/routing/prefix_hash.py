"""`prefix-hash`: consistent hashing of the first tokens, with a bound on the load.

Formula (load = requests in flight, mean = (sum of loads + 1) / workers alive):
    owner = the first worker alive on the ring at or behind hash(first 256 tokens)
    a worker is not overloaded while load <= max(mean * load_factor, mean + abs); always where
        nothing is in flight
    owner if not overloaded, else the least loaded of those that are not, else owner
Ties of the least loaded go to the lowest number. A fall-back of shallower `cache_boundaries` is
off by default there and not modelled.
"""

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.hashes import ring_owner
from hitpath.routing.rule import Option, Rule
from hitpath.routing.view import Ask, Floats, Ring, View

RULE = Rule(
    "prefix-hash",
    kinds.PREFIX_HASH,
    "ring owner of the first 256 tokens; overloaded (over mean * 1.25 and mean + 10): least loaded",
    "SMG 1.13.0, model_gateway/src/policies/prefix_hash.rs at e18af5a; ring of 150 points a worker",
    (
        Option("load_factor", 1.25, "times the mean load", low=1.0, high=1e6),
        Option("abs", 10, "requests over the mean load", whole=True),
    ),
    ring_points=150,
    prefix_tokens=256,
)


@kernel
def pick(params: Floats, ring: Ring, ask: Ask, view: View) -> int:
    """No draw: every step is decided."""
    owner = ring_owner(ring, ask.prefix_hash, view.alive)
    total, alive = 0, 0
    for w in range(len(view.alive)):
        if view.alive[w]:
            total += view.in_flight[w]
            alive += 1
    if owner < 0 or total == 0:
        return owner
    mean = (total + 1) / alive
    most = max(mean * params[0], mean + params[1])
    if view.in_flight[owner] <= most:
        return owner
    best = -1
    for w in range(len(view.alive)):
        fits = view.alive[w] and view.in_flight[w] <= most
        if fits and (best < 0 or view.in_flight[w] < view.in_flight[best]):
            best = w
    return best if best >= 0 else owner
