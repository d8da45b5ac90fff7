"""The ladder's arithmetic on made-up states: all nine rungs, every max, excess, unexplained."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.accounting.ledger import Rungs, attribute, split_by_reach
from hitpath.core import ABSENT, CAUSES


def ledger_of(*rows, reported=None, excluded=None, **rest):
    """rows: the nine rungs of each request."""
    model = np.array(rows, dtype=np.int64).T
    told = [ABSENT] * len(rows) if reported is None else reported
    out = np.zeros(len(rows), dtype=bool) if excluded is None else np.array(excluded)
    return attribute(Rungs(model, np.array(told, dtype=np.int64), out, **rest))


def test_every_rung_gives_its_cause():
    ledger = ledger_of([10, 21, 33, 46, 60, 75, 91, 108, 200])
    assert ledger.hit.tolist() == [10]
    assert ledger.causes[:, 0].tolist() == [11, 12, 13, 14, 15, 16, 17, 92]
    assert (ledger.unexplained[0], ledger.excess[0]) == (0, 0)
    ledger.check()


def test_reported_below_the_model_is_unexplained_and_causes_do_not_move():
    modelled = ledger_of([10, 21, 33, 46, 60, 75, 91, 108, 200])
    ledger = ledger_of([10, 21, 33, 46, 60, 75, 91, 108, 200], reported=[4])
    assert (ledger.hit[0], ledger.unexplained[0], ledger.excess[0]) == (4, 6, 0)
    assert ledger.causes.tolist() == modelled.causes.tolist()
    ledger.check()


@pytest.mark.parametrize(
    ("reported", "causes"),
    [
        (15, [6, 12, 13, 14, 15, 16, 17, 92]),
        (40, [0, 0, 6, 14, 15, 16, 17, 92]),
        (100, [0, 0, 0, 0, 0, 0, 8, 92]),
        (200, [0, 0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_reported_above_the_model_is_excess_and_eats_causes(reported, causes):
    ledger = ledger_of([10, 21, 33, 46, 60, 75, 91, 108, 200], reported=[reported])
    assert (ledger.hit[0], ledger.unexplained[0]) == (reported, 0)
    assert ledger.excess[0] == reported - 10
    assert ledger.causes[:, 0].tolist() == causes
    ledger.check()


def test_a_reported_zero_is_not_an_absent_one():
    told = ledger_of([10, 10, 10, 10, 10, 10, 10, 10, 20], reported=[0])
    silent = ledger_of([10, 10, 10, 10, 10, 10, 10, 10, 20], reported=[ABSENT])
    assert (told.hit[0], told.unexplained[0]) == (0, 10)
    assert (silent.hit[0], silent.unexplained[0]) == (10, 0)


def test_excluded_rows_leave_the_sums():
    rows = [[4] * 8 + [10], [4] * 8 + [10]]
    ledger = ledger_of(*rows, reported=[ABSENT, 99], excluded=[False, True])
    assert ledger.total(ledger.prompt) == 10
    assert ledger.total(ledger.hit) == 4
    ledger.check()


def test_reasons_cut_a_cause_in_order_and_follow_the_hit():
    splits = {
        "evicted": (("capacity", np.array([30])), ("not_stored", np.array([40]))),
        "rounding": (("last_token", np.array([44])), ("block", np.array([50]))),
    }
    rungs = [20, 20, 20, 20, 40, 50, 50, 50, 60]
    ledger = ledger_of(rungs, splits=splits)
    assert {k: v.tolist() for k, v in ledger.reasons["evicted"].items()} == {
        "capacity": [10],
        "not_stored": [10],
    }
    assert {k: v.tolist() for k, v in ledger.reasons["rounding"].items()} == {
        "last_token": [4],
        "block": [6],
    }
    ledger.check()
    above = ledger_of(rungs, reported=[35], splits=splits)
    assert {k: v.tolist() for k, v in above.reasons["evicted"].items()} == {
        "capacity": [0],
        "not_stored": [5],
    }
    above.check()
    parts = split_by_reach(ledger, "evicted", (("policy", np.array([25])), ("capacity", rungs[4])))
    assert [p.tolist() for p in parts.values()] == [[5], [15]]


def test_a_falling_rung_is_caught():
    with pytest.raises(AssertionError):
        ledger_of([10, 9, 33, 46, 60, 75, 91, 108, 200]).check()


def test_an_unknown_rung_must_add_nothing():
    with pytest.raises(AssertionError):
        ledger_of([1, 2, 2, 2, 2, 2, 2, 2, 9], unknown={"ineligible": "why"}).check()
    ledger_of([1, 1, 2, 2, 2, 2, 2, 2, 9], unknown={"ineligible": "why"}).check()


steps = st.lists(st.integers(0, 50), min_size=9, max_size=9)


@given(
    st.lists(st.tuples(steps, st.one_of(st.none(), st.integers(0, 600))), min_size=1, max_size=8)
)
def test_conservation(rows):
    model = np.array([np.cumsum(s) for s, _ in rows], dtype=np.int64).T
    told = np.array([ABSENT if r is None else r for _, r in rows], dtype=np.int64)
    excluded = told > model[8]
    bound = np.minimum(model[3] + 7, model[4])
    splits = {"evicted": (("capacity", bound), ("not_stored", model[4]))}
    ledger = attribute(Rungs(model, told, excluded, splits))
    ledger.check()
    for i in np.flatnonzero(~excluded):
        hit = model[0, i] if told[i] == ABSENT else told[i]
        labels = {name: int(ledger.causes[c, i]) for c, name in enumerate(CAUSES)}
        # Token by token, as the definition says: the first rung that covers a token is its cause.
        expected = dict.fromkeys(CAUSES, 0)
        for token in range(max(hit, int(model[0, i])), int(model[8, i])):
            rung = next(r for r in range(9) if token < model[r, i])
            expected[CAUSES[rung - 1]] += 1
        assert labels == expected
