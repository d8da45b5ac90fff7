"""`session-hash`: a session stays on one worker, whatever its load.

Formula: rendezvous hashing: the worker alive with the smallest hash of (seed, session, worker).
Only the sessions of a worker that leaves move. A request without a session goes to the worker
with the fewest requests in flight, equals at random.

vllm-router's rendezvous_hash (vllm-project/router src/policies/rendezvous_hash.rs) is the same
rule with other hash values; its consistent_hash and production-stack's `session` keep a ring (160
points a worker; uhashring), which places sessions differently and as evenly. Production-stack
sends requests without a session by the lowest rate of requests.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import any_best
from hitpath.routing.hashes import first_choice
from hitpath.routing.rule import Rule
from hitpath.routing.view import Ask, View

RULE = Rule(
    "session-hash",
    kinds.SESSION_HASH,
    "the worker with the smallest hash of (session, worker)",
    "vllm-project/router policies/rendezvous_hash.rs at 292889e (other hash values)",
)


@kernel
def pick(ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0 breaks ties of requests without a session."""
    if ask.session == 0:
        return any_best(-view.in_flight.astype(np.float64), view.alive, seed, ask.row, 0)
    return first_choice(seed, ask.session, view.alive)
