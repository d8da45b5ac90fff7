"""The one entry of every rule: `pick(kind, ...)`, for compiled simulation and for `Router`."""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import (
    aibrix,
    cache_aware,
    dynamo,
    hitpath_router,
    kinds,
    kv_aware,
    least_loaded,
    llmd,
    longest_prefix,
    power_of_two,
    preble,
    prefix_aware,
    prefix_hash,
    random_worker,
    ray_affinity,
    round_robin,
    session_hash,
)
from hitpath.routing.view import Ask, Floats, Ints, Ring, View

NUM_COUNTERS = 4
"""Length of the `counter` array: what moves from one decision to the next."""

# A kernel sees module variables, not attributes of modules.
_aibrix, _cache_aware, _dynamo = aibrix.pick, cache_aware.pick, dynamo.pick
_hitpath, _kv_aware, _least_loaded = hitpath_router.pick, kv_aware.pick, least_loaded.pick
_llmd, _longest_prefix, _power_of_two = llmd.pick, longest_prefix.pick, power_of_two.pick
_preble, _prefix_aware, _prefix_hash = preble.pick, prefix_aware.pick, prefix_hash.pick
_random, _ray, _round_robin = random_worker.pick, ray_affinity.pick, round_robin.pick
_session_hash = session_hash.pick

_AIBRIX, _CACHE_AWARE, _DYNAMO = kinds.AIBRIX, kinds.CACHE_AWARE, kinds.DYNAMO
_HITPATH, _KV_AWARE, _LEAST_LOADED = kinds.HITPATH, kinds.KV_AWARE, kinds.LEAST_LOADED
_LLMD, _LONGEST_PREFIX, _POWER_OF_TWO = kinds.LLMD, kinds.LONGEST_PREFIX, kinds.POWER_OF_TWO
_PREBLE, _PREFIX_AWARE, _PREFIX_HASH = kinds.PREBLE, kinds.PREFIX_AWARE, kinds.PREFIX_HASH
_RANDOM, _RAY, _ROUND_ROBIN = kinds.RANDOM, kinds.RAY, kinds.ROUND_ROBIN
_SESSION_HASH = kinds.SESSION_HASH


@kernel
def pick(
    kind: int, params: Floats, ring: Ring, ask: Ask, view: View, counter: Ints, seed: np.uint64
) -> int:
    """The worker for a request. Changes `counter` (int64 [NUM_COUNTERS], zeros at first) and
    nothing else; -1 where no worker is alive or the kind is unknown."""
    if not view.alive.any():
        return -1
    if kind == _RANDOM:
        return _random(ask, view, seed)
    if kind == _ROUND_ROBIN:
        return _round_robin(view, counter)
    if kind == _LEAST_LOADED:
        return _least_loaded(params, ask, view, seed)
    if kind == _POWER_OF_TWO:
        return _power_of_two(ask, view, seed)
    if kind == _SESSION_HASH:
        return _session_hash(ask, view, seed)
    if kind == _PREFIX_HASH:
        return _prefix_hash(params, ring, ask, view)
    if kind == _LONGEST_PREFIX:
        return _longest_prefix(ask, view, seed)
    if kind == _CACHE_AWARE:
        return _cache_aware(params, ask, view, seed)
    if kind == _KV_AWARE:
        return _kv_aware(params, ask, view, seed)
    if kind == _PREFIX_AWARE:
        return _prefix_aware(params, ask, view, seed)
    if kind == _LLMD:
        return _llmd(params, ask, view, counter, seed)
    if kind == _DYNAMO:
        return _dynamo(params, ask, view, seed)
    if kind == _AIBRIX:
        return _aibrix(params, ask, view, seed)
    if kind == _RAY:
        return _ray(params, ask, view, seed)
    if kind == _PREBLE:
        return _preble(params, ask, view)
    if kind == _HITPATH:
        return _hitpath(params, ask, view, seed)
    return -1
