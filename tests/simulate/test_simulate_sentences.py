"""What a page advises fits the fleet: routers that there are, workers of one role, notes that a
reader needs before quoting a number."""

import re
from itertools import pairwise

import pytest

from hitpath.core import Setting
from hitpath.report.html.serving import render_serving, serving_view
from hitpath.report.html.serving_sentences import elsewhere, funnel, workers
from hitpath.report.simulate_words import requests_of
from hitpath.routing.registry import RULES
from hitpath.serving_spine import servable, simulate_trace
from hitpath.sim.serving_file import FleetFile, Link, Load, RouterPart, Stage, Worker
from hitpath.summary.serving_records import (
    Funnel,
    Latency,
    Part,
    Quantiles,
    Spread,
    Throughput,
    WorkerPart,
)
from hitpath.traces.synthetic import demo_rows
from support import trace_of_rows

READ = Setting()
STEADY = Worker(count=4, capacity_tokens=150_000, step_s=0.01, kv_bytes_per_token=1000.0)
LLAMA = {"model": "llama-3.1-8b", "hardware": "h100-sxm", "capacity_tokens": 150_000}
NONE = Quantiles(None, None, None, None)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return servable(trace_of_rows(tmp_path_factory.mktemp("t"), demo_rows(0)[:150]), READ)


def run(trace, **changed):
    return simulate_trace(trace, READ, FleetFile(**{"worker": STEADY, **changed}))


def worker(name, num_sent, role="both"):
    part = Part(
        num_sent, {}, 0, 0, Latency(NONE, NONE, NONE), Throughput(None, None),
        Spread(None, None, None), Spread(None, None, None),
    )  # fmt: skip
    return WorkerPart(name, role, part, None, 0, 0, 0, 0, 0, None)


def routers_in(text):
    return re.findall(r"--router ([a-z-]+)|(?:, | or )([a-z]+-[a-z]+)", text)


def test_advice_names_routers_that_there_are(trace):
    view = serving_view(run(trace, router=RouterPart(name="random")), "cmd")
    assert "is “elsewhere”" in view.waterfall.note.shows
    assert view.waterfall.note.do == view.funnel_note.do == elsewhere(False)
    names = {name for pair in routers_in(view.waterfall.note.do) for name in pair if name}
    assert names == {"hitpath", "llmd-precise", "longest-prefix"}
    assert names <= set(RULES)
    assert "--router prefix" not in render_serving(run(trace), "cmd").decode()


def test_a_router_with_an_index_is_not_advised_to_be_one(trace):
    found = Funnel(prompt=100, ever=90, best=80, chosen=10, delivered=10, believed=0)
    simulation = run(trace, router=RouterPart(name="llmd-precise:prefix=0,queue=1", index_lag_s=9))
    advice = serving_view(simulation, "cmd").waterfall.note.do
    assert "--router" not in elsewhere(True)
    assert funnel(found, elsewhere(True)).do == elsewhere(True)
    assert "--router" not in advice


def test_a_hot_worker_is_hot_within_its_role():
    """136 of 250 prompts over two prefill workers, with two more that only decode."""
    parts = [
        worker("worker 0", 114, "prefill"),
        worker("worker 1", 136, "prefill"),
        worker("worker 2", 0, "decode"),
        worker("worker 3", 0, "decode"),
    ]
    note = workers(parts)
    assert "136 requests, 1.088x the mean of 125 of the workers that take prompts" in note.shows
    assert note.do == ""
    hot = workers([worker("worker 0", 190), worker("worker 1", 10)])
    assert "190 requests, 1.900x the mean of 100." in hot.shows
    assert "hot" in hot.do
    assert "only one" in workers([parts[0], parts[2]]).shows


def test_decode_workers_have_the_requests_that_they_decode(trace):
    groups = (Worker(count=2, role="prefill"), Worker(count=2, role="decode"))
    simulation = run(trace, workers=groups, transfer=Link(bytes_per_s=1e9))
    counts = [requests_of(simulation, number) for number in range(4)]
    assert counts[0] + counts[1] == counts[2] + counts[3] == 150
    assert min(counts) > 0
    table = serving_view(simulation, "cmd").workers.table
    assert [row[1] for row in table.rows] == [str(num) for num in counts]


def test_the_page_says_of_how_many_the_tokens_are(trace):
    load = Load(arrivals="poisson", rate_per_s=1e6)
    simulation = run(trace, load=load, router=RouterPart(max_in_flight=5))
    facts = {fact.name: fact.value for fact in serving_view(simulation, "cmd").facts}
    assert facts["requests"] == "150"
    assert facts["of them admitted"] == str(simulation.serving.num_admitted)
    names = [fact.name for fact in serving_view(run(trace), "cmd").facts]
    assert "of them admitted" not in names


def test_workers_that_only_decode_are_no_warning(trace):
    groups = (Worker(count=1, role="prefill"), Worker(count=3, role="decode"))
    simulation = run(trace, workers=groups, transfer=Link(bytes_per_s=1e9))
    assert not any("would spread that load" in note for note in simulation.analysis.warnings)


@pytest.mark.parametrize(
    ("rates", "labels"),
    [
        ((2, 20, 2000), ["2", "20", "2000"]),
        ((10, 10.2, 60, 61), ["10", "61"]),
        ((3, 10, 15, 20, 22), ["3", "10", "15", "20", "22"]),
    ],
)
def test_rates_of_stages_have_room_on_their_axis(trace, rates, labels):
    stages = tuple(Stage(rate_per_s=rate, requests=150 // len(rates)) for rate in rates)
    simulation = run(trace, load=Load(arrivals="constant", stages=stages))
    (plot,) = serving_view(simulation, "cmd").stages.plots
    assert [tick.label for tick in plot.x_ticks] == labels
    places = [tick.at for tick in plot.x_ticks]
    assert (places[0], places[-1]) == (0, pytest.approx(100))
    assert min(b - a for a, b in pairwise(places)) >= 3
    assert ("logarithmic" in plot.x_title) == (rates[-1] > 10 * rates[0])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"worker": Worker(**LLAMA)}, "efficiency ideal is a bound"),
        ({"worker": Worker(**{**LLAMA, "model": "gpt-oss-20b"})},
         "gpt-oss-20b has sliding windows or states"),
        ({"worker": Worker(**{**LLAMA, "model": "qwen3-next-80b-a3b"})}, "windows or states"),
        ({"workers": (Worker(count=1), Worker(capacity_tokens=90_000))}, "the groups of workers"),
        ({"workers": (Worker(count=1), Worker(step_s=0.02))}, "the groups of workers differ"),
        ({"router": RouterPart(name="random", index_loss_frac=0.5)},
         "random follows no KV events: index_loss_frac changes nothing"),
        ({"router": RouterPart(name="round-robin", scrape_interval_s=0.5)},
         "round-robin reads none of the engines' metrics"),
    ],
)  # fmt: skip
def test_what_a_reader_must_know_is_noted_once(trace, changed, told):
    notes = [note for note in run(trace, **changed).analysis.warnings if told in note]
    assert len(notes) == 1


def test_nothing_is_noted_where_there_is_nothing(trace):
    worker = Worker(**LLAMA, efficiency="achievable")
    router = RouterPart(name="llmd-precise", index_lag_s=0.1, scrape_interval_s=0.1)
    groups = (Worker(count=1), Worker(count=2))
    notes = run(trace, worker=worker, workers=groups, router=router).prepared.plan.notes
    assert notes == ()
