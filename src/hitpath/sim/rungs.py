"""The nine rungs of every request, from the state of the caches at its arrival.

0 hit          cap(resident on its worker)            5 token by token, no cap
1 states       not modelled by these engines          6 under other salts and adapters
2 in flight    not modelled by these engines          7 in canonical form, token by token
3 elsewhere    cap(resident on the best worker)       8 the whole prompt
4 ever         cap(ever computed anywhere)

Rung 7 is known where somebody brings it (doctor.rung): it needs the prompts' text.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hitpath.accounting.ledger import Rungs
from hitpath.core import NUM_RUNGS, HitpathError, Setting
from hitpath.index.forest import match_by_label
from hitpath.sim.engines import Engine
from hitpath.sim.events import ARRIVAL, Events, symbols_ever_computed
from hitpath.sim.fleet import FleetOutcome
from hitpath.traces.blocking import Blocks
from hitpath.traces.table import Context, Ints, Trace

NO_STATES = "this engine model has no state rules"
NO_FLIGHTS = "this engine model computes a prompt at once"
NO_CANONICAL = "needs the canonical form of the prompts' text"
KEYS_CARRY_CONTEXT = "block ids of different contexts cannot be compared"
FIELDS = ("salt", "adapter", "media_salt", "several")


def root_codes(trace: Trace, split_models: bool) -> Ints:
    """A dense code for (id scope, context): KV is shared only within one."""
    return _codes(trace, trace.isolating_contexts(split_models))


def _codes(trace: Trace, contexts: tuple[Context, ...]) -> Ints:
    known: dict[Context, int] = {}
    merged = np.array([known.setdefault(c, len(known)) for c in contexts], dtype=np.int64)
    pairs = trace.scope * len(known) + merged[trace.context]
    codes: Ints = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return codes


@dataclass(frozen=True, slots=True)
class _Reach:
    """How far, in tokens, anything earlier matches each prompt: `ever` in its own context,
    `by_field` with that field of the context free (None: cannot be known)."""

    ever: Ints
    by_field: dict[str, Ints] | None


def _reach(trace: Trace, split_models: bool, blocks: Blocks, events: Events, roots: Ints) -> _Reach:
    by_field: dict[str, Ints] | None = {}
    variants = _relaxed_roots(trace, trace.isolating_contexts(split_models), roots)
    if trace.block_size is None:
        sequences = blocks.own_sequences
        ever = symbols_ever_computed(trace, sequences, roots)
        by_field = {
            field: symbols_ever_computed(trace, sequences, codes)
            for field, codes in variants.items()
        }
        by_key = np.minimum(events.ever_computed(), blocks.whole)
        if not np.array_equal(by_key, ever // blocks.block_size):
            raise HitpathError("two different prefixes have one 64-bit block key; try another size")
    elif blocks.block_size == trace.block_size:
        ever = blocks.tokens_of(events.ever_computed())
    else:
        matched = symbols_ever_computed(trace, blocks.own_sequences, roots)
        whole = np.minimum(trace.prompts.lengths, trace.prompt_tokens // trace.block_size)
        complete = matched > whole
        ever = np.where(
            complete, trace.prompt_tokens, np.minimum(matched, whole) * trace.block_size
        )
    if trace.block_size is not None and variants:
        by_field = None
    return _Reach(ever, by_field)


def _relaxed_roots(trace: Trace, contexts: tuple[Context, ...], roots: Ints) -> dict[str, Ints]:
    """Codes of contexts with one field (or all of FIELDS) left out, where that joins any."""
    if all(c.salt is c.adapter is c.media_salt is None for c in contexts):
        return {}
    free = {
        "salt": [replace(c, salt=None) for c in contexts],
        "adapter": [replace(c, adapter=None) for c in contexts],
        "media_salt": [replace(c, media_salt=None) for c in contexts],
        "several": [replace(c, salt=None, adapter=None, media_salt=None) for c in contexts],
    }
    joined = {}
    for name, relaxed in free.items():
        codes = _codes(trace, tuple(relaxed))
        if len(np.unique(codes)) < len(np.unique(roots)):
            joined[name] = codes
    return joined


def make_rungs(
    trace: Trace,
    setting: Setting,
    engine: Engine,
    blocks: Blocks,
    events: Events,
    fleet: FleetOutcome,
    roots: Ints,
    canonical: Callable[[Ints], Ints] | None = None,
) -> Rungs:
    """All rungs, with the reasons inside `evicted`, `rounding` and `isolated`. canonical: from rung
    6 of each request to the tokens that rung 7 adds; None where it is not known."""
    prompt, size = trace.prompt_tokens, engine.block_size
    limit = engine.limit(prompt)
    reach = _reach(trace, setting.split_models, blocks, events, roots)
    model = np.zeros((NUM_RUNGS, len(trace)), dtype=np.int64)
    model[0:3] = np.minimum(fleet.resident, limit) * size
    model[3] = np.minimum(fleet.best, limit) * size
    if fleet.granted is not None:
        model[0:4] = fleet.granted
    model[4] = np.maximum(model[3], engine.cap(reach.ever, prompt))
    model[5] = np.maximum(model[4], reach.ever)
    model[6] = model[5]
    unknown = {
        "ineligible": NO_STATES,
        "in_flight": NO_FLIGHTS,
        "diverged": NO_CANONICAL,
    }
    if fleet.granted is not None:
        del unknown["ineligible"]
    by_field = reach.by_field
    if by_field is None:
        unknown["isolated"] = KEYS_CARRY_CONTEXT
        by_field = {}
    if "several" in by_field:  # the freest: it joins whatever another field joins
        model[6] = np.maximum(model[6], by_field["several"])
    model[7] = model[6]
    if canonical is not None:
        model[7] += canonical(model[6])
        del unknown["diverged"]
    model[8] = prompt
    splits = {
        "evicted": (
            ("capacity", _stored(setting, trace, events, engine)),
            ("not_stored", model[4]),
        ),
        "rounding": (("last_token", reach.ever // size * size), ("block", model[5])),
        "isolated": tuple((name, by_field.get(name, model[5])) for name in FIELDS),
    }
    return Rungs(model, trace.reported_hit, ~trace.counted, splits, unknown)


def _stored(setting: Setting, trace: Trace, events: Events, engine: Engine) -> Ints:
    """What the engine would have granted had nothing that it stored ever been dropped."""
    if setting.outputs == "insert" or not np.any(trace.has_output):
        blocks_stored = events.ever_computed()
    else:
        arrivals = events.kind == ARRIVAL
        ends = events.lookup_end[arrivals]
        matched = match_by_label(events.forest, ends, np.zeros(len(ends), dtype=np.int64))
        blocks_stored = np.zeros(len(trace), dtype=np.int64)
        blocks_stored[events.request[arrivals]] = matched
    limit = engine.limit(trace.prompt_tokens)
    return np.minimum(blocks_stored, limit) * engine.block_size
