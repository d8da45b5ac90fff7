"""The results of the Python functions: the same figures as the command's files."""

import pytest

from hitpath.core import InputError, Setting, SettingError
from hitpath.report.simulate_result import Simulated, Sized, Swept, fleet_with
from hitpath.traces.synthetic import demo_rows
from support import trace_of_rows

OPTIONS = {"model": "llama-3.1-8b", "hardware": "h100-sxm", "capacity_tokens": 150_000}
READ = Setting()


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return trace_of_rows(tmp_path_factory.mktemp("t"), demo_rows(0)[:100])


@pytest.fixture(scope="module")
def result(trace):
    fleet = {"workers": [{"count": 2}], "router": {"name": "least-loaded"}, "outputs": "insert"}
    return Simulated.of(trace, READ, fleet, scale=60.0, **OPTIONS)


def test_a_result_has_the_document_s_figures(result):
    assert result.hit_rate == result.document["hit_rate"]["token_weighted"]
    assert result.latency == result.document["latency"]
    assert len(result.ledger) == 100
    assert result.workers["num_sent"].to_pylist() == [
        worker["num_sent"] for worker in result.document["per_worker"]
    ]
    assert "100 requests" in repr(result)
    assert "hitpath simulate" in result.html()


def test_options_go_over_a_fleet():
    file = fleet_with({"seed": 3, "worker": {"tp": 2}}, {"tp": 4, "workers": 5, "slo": None})
    assert (file.seed, file.worker.tp, file.worker.count) == (3, 4, 5)


def test_what_is_typed_takes_the_place_of_its_rival():
    told = {"worker": {"unlimited": True, "step_s": 0.1}, "load": {"scale": 2.0}}
    file = fleet_with(told, {"capacity_tokens": 99, "model": "llama-3.1-8b", "rate": 3.0})
    assert (file.worker.unlimited, file.worker.capacity_tokens) == (None, 99)
    assert (file.worker.step_s, file.load.scale, file.load.rate_per_s) == (None, None, 3.0)


@pytest.mark.parametrize(
    ("fleet", "options", "error"),
    [
        (None, {"colour": 1}, SettingError),
        (None, {"workers": "two"}, SettingError),
        ({"colour": 1}, {}, InputError),
        ("no-such.toml", {}, InputError),
        (7, {}, SettingError),
    ],
)
def test_what_is_no_fleet_is_refused(fleet, options, error):
    with pytest.raises(error):
        fleet_with(fleet, options)


def test_a_grid_and_a_size(trace):
    axes = {"router": ["random", "llmd-precise:prefix=3,queue=2"], "workers": [1, 2]}
    swept = Swept.of(trace, READ, None, axes, None, scale=60.0, **OPTIONS)
    assert len(swept.cells) == 4
    assert swept.best in [cell["at"] for cell in swept.document["cells"]]
    sized = Sized.of(trace, READ, None, ("random",), 4, slo="ttft_p90<30", scale=60.0, **OPTIONS)
    assert sized.workers == sized.document["best"]["workers"]
    assert sized.router == "random"
