"""Whatever the fleet: every request ends once, every token has one label, nothing hits more than
the clairvoyant order, the same fleet gives the same answer; and the records' own checks hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import Setting
from hitpath.routing.registry import RULES
from hitpath.serving_spine import conclude, prepare, servable
from hitpath.serving_spine.cells import measure
from hitpath.sim.serving_file import FleetFile
from hitpath.sim.serving_plan import put_over
from hitpath.traces.synthetic import demo_rows
from support import trace_of_rows

READ = Setting()
FLAGS = st.fixed_dictionaries(
    {
        "worker.count": st.integers(1, 5),
        "router.name": st.sampled_from(sorted(RULES)),
        "worker.capacity_tokens": st.sampled_from([2_000, 30_000, 200_000]),
        "worker.block_size": st.sampled_from([1, 16, 100]),
        "worker.step_s": st.sampled_from([0.0, 0.02]),
        "worker.token_s": st.sampled_from([0.0, 1e-4]),
        "worker.max_batch_tokens": st.sampled_from([64, 2048]),
        "worker.max_running": st.sampled_from([1, 8, 64]),
        "worker.visible": st.sampled_from(["schedule", "processed", "prompt"]),
        "worker.replies": st.sampled_from(["growing", "ended"]),
        "worker.mixed": st.booleans(),
        "worker.free_copies": st.booleans(),
        "worker.late_results": st.booleans(),
        "worker.wait_for_twins": st.booleans(),
        "worker.reserve_full_prompt": st.booleans(),
        "worker.last_token": st.booleans(),
        "load.scale": st.sampled_from([1.0, 50.0, 1e6]),
        "outputs": st.sampled_from(["insert", "ignore"]),
        "router.index_lag_s": st.sampled_from([0.0, 0.5]),
        "router.index_loss_frac": st.sampled_from([0.0, 0.5]),
        "router.max_in_flight": st.sampled_from([None, 7]),
        "slo": st.just("ttft_p90<1,tpot_mean<1"),
        "seed": st.integers(0, 3),
    }
)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    rows = demo_rows(0)[:60]
    return servable(trace_of_rows(tmp_path_factory.mktemp("t"), rows), READ)


@given(FLAGS)
@settings(max_examples=120)
def test_any_fleet_keeps_its_books(trace, flags):
    prepared = prepare(trace, READ, put_over(FleetFile(), flags))
    outcome = prepared.run()
    cell = measure(prepared, {})
    assert cell.num_sent == len(trace)
    for spread in (cell.queue, cell.kv_use):
        if spread.max is not None:
            assert spread.p90 <= spread.max
            assert spread.mean <= spread.max * (1 + 1e-9)
    again = prepared.run()
    for name in ("sent_s", "finish_s", "worker", "hit_tokens", "ending"):
        first, second = getattr(outcome, name), getattr(again, name)
        assert np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    if np.all(np.isnan(outcome.admit_s)):
        return
    simulation = conclude(prepared, outcome)
    ledger, serving = simulation.analysis.ledger, simulation.serving
    assert ledger.total(ledger.hit) == serving.whole.hit_tokens == cell.hit_tokens
    assert serving.funnel.delivered == serving.whole.hit_tokens
    assert sum(serving.whole.endings.values()) == len(trace)
    assert serving.whole.latency == cell.latency
