"""With an unlimited cache and steps that take no time the simulator is `analyze`: the same hits for
every request, the same ladder, on real traces."""

import numpy as np
import pytest

from hitpath.core import Setting
from hitpath.serving_spine import servable, simulate_trace
from hitpath.sim.serving_file import FleetFile, Load, RouterPart, Worker
from hitpath.spine import analyze_trace
from hitpath.traces import read_trace
from hitpath.traces.synthetic import demo_rows
from support import shared_data, trace_of_rows

INSTANT = Worker(unlimited=True, step_s=0.0, token_s=0.0, max_running=8192)
READ = Setting()


def served(trace, **changed):
    load = Load() if trace.common_clock else Load(arrivals="constant", rate_per_s=1.0)
    load = Load(**{**{f: getattr(load, f) for f in load.__struct_fields__}, "output_tokens": 1})
    file = FleetFile(**{"worker": INSTANT, "load": load, **changed})
    return simulate_trace(servable(trace, READ), READ, file)


def by_id(trace, column):
    return dict(zip(trace.ids, column.tolist(), strict=True))


@pytest.mark.parametrize(
    "name", ["mooncake/conversation_trace.jsonl", "coding_agent_sessions", "ragpulse_sample"]
)
def test_on_real_traces(name):
    trace = read_trace([str(shared_data(name))])
    simulation = served(trace)
    analysis = simulation.analysis
    size = analysis.engine.block_size
    plain = analyze_trace(trace, Setting(last_token=True, block_size=size))
    ours, theirs = (by_id(a.trace, a.ledger.hit) for a in (analysis, plain))
    assert len(ours) == simulation.serving.whole.num_sent
    assert all(theirs[id_] == hit for id_, hit in ours.items())
    rungs = [a.ledger.rungs.model.sum(axis=1).tolist() for a in (analysis, plain)]
    assert rungs[0] == rungs[1]
    causes = [a.ledger.causes.sum(axis=1).tolist() for a in (analysis, plain)]
    assert causes[0] == causes[1]


def test_replies_are_kept_as_analyze_keeps_them(tmp_path):
    """But for a reply's last token, which an engine samples and never computes: where it completes
    a block, that block is not cached."""
    rows = [{**row, "finish_s": row["arrival_s"]} for row in demo_rows(0)[:150]]
    trace = trace_of_rows(tmp_path, rows)
    simulation = served(trace, outputs="insert")
    plain = analyze_trace(trace, Setting(last_token=True, outputs="insert"))
    ours, theirs = (by_id(a.trace, a.ledger.hit) for a in (simulation.analysis, plain))
    less = {id_: theirs[id_] - hit for id_, hit in ours.items() if theirs[id_] != hit}
    assert less
    assert set(less.values()) == {16}
    ends_a_block = (trace.prompt_tokens + trace.output_tokens) % 16 == 0
    sessions = {trace.session.of(i) for i in np.flatnonzero(ends_a_block)}
    assert {id_.split("/")[0] for id_ in less} <= sessions


@pytest.mark.parametrize("router", ["random", "least-loaded", "llmd-approx", "prefix-hash"])
def test_with_one_worker_every_router_gives_the_same_hits(tmp_path, router):
    trace = trace_of_rows(tmp_path, demo_rows(0)[:120])
    worker = Worker(capacity_tokens=60_000, step_s=0.02, token_s=1e-5)
    one, other = (
        served(trace, worker=worker, router=RouterPart(name=name)).served.outcome
        for name in ("round-robin", router)
    )
    assert np.array_equal(one.hit_tokens, other.hit_tokens)
    assert np.array_equal(one.finish_s, other.finish_s, equal_nan=True)
