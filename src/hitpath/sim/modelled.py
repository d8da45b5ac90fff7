"""A trace served by models of a real engine: the same record as the LRU fleet's, with the rungs."""

from collections.abc import Sequence

import numpy as np

from hitpath.core import Setting, SettingError
from hitpath.sim.events import ARRIVAL, Events
from hitpath.sim.fleet import FleetOutcome
from hitpath.sim.models.from_trace import arrivals_of
from hitpath.sim.models.named import default_block_size as default_block_size
from hitpath.sim.models.named import make_model, read_engine
from hitpath.sim.models.replay import Arrival, replay
from hitpath.traces.table import Ints, Trace


def check_engine(setting: Setting) -> None:
    """Raise SettingError for an engine that is not modelled as it was typed."""
    if setting.is_modelled:
        assert setting.capacity_tokens is not None  # Setting sees to it
        make_model(setting.engine, setting.capacity_tokens, setting.block_size)


def _most_tokens(setting: Setting, arrivals: Sequence[Arrival]) -> int | None:
    """All whole blocks that the arrivals could fill if they shared nothing; None where drafts take
    more than their tokens."""
    if "lookahead" in setting.engine:
        return None
    size = setting.block_size or default_block_size(setting.engine)
    return sum(
        (len(one.request.tokens) + len(one.output)) // size * size + 2 * size for one in arrivals
    )


def told_engine(setting: Setting) -> str | None:
    """The engine with all its settings, as it could have been typed; None for a plain cache."""
    return read_engine(setting.engine).told() if setting.is_modelled else None


def simulate_models(
    trace: Trace, setting: Setting, events: Events, roots: Ints, given: Ints, block_size: int
) -> FleetOutcome:
    """Serve every request, on the worker that `given` names. `block_size`: of the analysis.

    Raises SettingError where the router would have to see what the workers hold.
    """
    if np.any(given < 0):
        raise SettingError("--router prefix", f"cannot be used with --engine {setting.engine}")
    assert setting.capacity_tokens is not None  # Setting sees to it
    rows = events.request[events.kind == ARRIVAL]
    keep = setting.outputs == "insert"
    arrivals = arrivals_of(trace, roots, given, keep, rows.tolist())
    make = make_model(
        setting.engine, setting.capacity_tokens, setting.block_size, _most_tokens(setting, arrivals)
    )
    num_workers = int(given.max(initial=0)) + 1
    out = replay(arrivals, make, num_workers)
    granted = np.zeros((4, len(trace)), dtype=np.int64)
    best_worker = np.zeros(len(trace), dtype=np.int64)
    # A request that is larger than its worker was never admitted: it hits nothing.
    granted[:, rows] = np.maximum([out.hit, out.resident, out.in_flight, out.anywhere], 0)
    best_worker[rows] = np.maximum(out.best_worker, 0)
    # What is being computed was computed at once here: it is there, though in no kept state yet.
    granted[1] = granted[2]
    resident, best = granted[0] // block_size, granted[3] // block_size
    host = np.zeros(len(trace), dtype=np.int64)
    host[rows] = np.maximum(out.host, 0)
    return FleetOutcome(given, resident, best, best_worker, num_workers, granted, host)
