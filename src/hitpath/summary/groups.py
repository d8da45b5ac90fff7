"""Tables by label, by turn, and where hits come from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.ledger import Ledger
from hitpath.accounting.rates import Group, group_by
from hitpath.core import ABSENT
from hitpath.sim.events import Events
from hitpath.sim.reuse import shared_with
from hitpath.traces.blocking import Blocks
from hitpath.traces.table import Ints, Labels, Trace

_TURN_EDGES = (1, 2, 3, 4, 5, 9, 17, 33, 65)
_TURN_NAMES = ("1", "2", "3", "4", "5-8", "9-16", "17-32", "33-64", "65+")


@dataclass(frozen=True, slots=True)
class Origin:
    """Modelled hit tokens by the nearest relation that had brought them before, on any worker.

    other_tenant: None where the trace names no tenants (then it is in other_session).
    no_session: hits of requests without a session.
    """

    same_session: int
    other_session: int
    other_tenant: int | None
    no_session: int


def origin_of_hits(
    trace: Trace, events: Events, blocks: Blocks, ledger: Ledger
) -> tuple[Origin | None, str]:
    """(Origin, "") or (None, why it cannot be known)."""
    if not trace.session.known:
        return None, "the trace names no sessions"
    hit = np.where(ledger.counted, ledger.rungs.model[0], 0)
    in_session = trace.session.codes != ABSENT

    def shared(labels: Labels) -> Ints:
        tokens: Ints = blocks.tokens_of(shared_with(events, blocks, labels.codes))
        least: Ints = np.minimum(hit, tokens)
        return least

    same_session = shared(trace.session)
    rest = np.where(in_session, hit - same_session, 0)
    no_session = int(hit[~in_session].sum())
    if not trace.tenant.known:
        return Origin(int(same_session.sum()), int(rest.sum()), None, no_session), ""
    other_session = np.minimum(rest, np.maximum(shared(trace.tenant) - same_session, 0))
    other_tenant = int((rest - other_session).sum())
    return Origin(int(same_session.sum()), int(other_session.sum()), other_tenant, no_session), ""


def turn_numbers(trace: Trace) -> Ints:
    """The turn that the trace gives, else the request's place in its session, from 1."""
    if np.any(trace.turn != ABSENT) or not trace.session.known:
        return trace.turn
    codes = trace.session.codes
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    place = np.arange(len(codes)) - np.repeat(begins, np.diff(np.r_[begins, len(codes)]))
    turns = np.empty(len(codes), dtype=np.int64)
    turns[order] = place + 1
    return np.where(codes == ABSENT, ABSENT, turns)


def label_groups(
    labels: Labels, rows: NDArray[np.bool_], prompt: Ints, hit: Ints, possible: Ints | None
) -> list[Group]:
    """One table: the sums over each name of one label."""
    return group_by(labels.codes, list(labels.names), rows, prompt, hit, possible)


def turn_groups(
    trace: Trace, rows: NDArray[np.bool_], prompt: Ints, hit: Ints, possible: Ints | None
) -> list[Group]:
    """The same by steps of turns, in their order."""
    turns = turn_numbers(trace)
    steps = np.searchsorted(_TURN_EDGES, turns, side="right") - 1
    steps = np.where(turns == ABSENT, ABSENT, np.maximum(steps, 0))
    groups = label_groups(Labels(steps, _TURN_NAMES), rows, prompt, hit, possible)
    in_order = {group.name: group for group in groups}
    return [in_order[name] for name in _TURN_NAMES if name in in_order]


def all_groups(trace: Trace, workers: Labels, ledger: Ledger) -> dict[str, list[Group]]:
    """Tables that the trace can fill: tenant, session, model, worker, turn."""
    tokens = (ledger.prompt, ledger.hit, np.maximum(ledger.hit, ledger.rungs.model[4]))
    named = {
        "tenant": trace.tenant,
        "session": trace.session,
        "model": trace.model,
        "worker": workers,
    }
    groups = {name: label_groups(labels, ledger.counted, *tokens) for name, labels in named.items()}
    if len(workers.names) == 1:
        groups["worker"] = []
    return {**groups, "turn": turn_groups(trace, ledger.counted, *tokens)}
